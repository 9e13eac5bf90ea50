#!/usr/bin/env bash
# Measures the budgets of design 9 that this tree can meet so far, each as a
# comparison within one run. One line each:
#   bench NAME VALUE UNIT budget BUDGET ok|over
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=$PWD/build
lab=$build/bin/lab
name=bench$$
nodes=4 bytes=16777216 iters=10
scratch=$(mktemp -d)
over=0

end() {
  local code=$?
  trap '' INT TERM HUP
  "$lab" down --name "$name" || true
  "$lab" down --name "$name-bare" || true
  rm -rf "$scratch"
  exit "$code"
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

user() { "$lab" run --name "$name" --chdir /home/user -- "$@"; }

# microseconds COMMAND…: how long it took.
microseconds() {
  local begin=${EPOCHREALTIME/./}
  "$@" >/dev/null 2>"$scratch/complaint" </dev/null || {
    cat "$scratch/complaint" >&2
    return 1
  }
  echo $((${EPOCHREALTIME/./} - begin))
}

middle() { sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }

# median COUNT COMMAND…
median() {
  local count=$1
  shift
  for ((i = 0; i < count; i++)); do microseconds "$@"; done | middle
}

# differences COUNT WITH WITHOUT: what WITH takes longer, in microseconds, once a
# line. The two take turns, so that a machine that slows down slows both.
differences() {
  local with without
  for ((i = 0; i < $1; i++)); do
    with=$(microseconds "$2")
    without=$(microseconds "$3")
    echo $((with - without))
  done
}

difference() { differences "$@" | middle; }

# report NAME VALUE UNIT BUDGET
report() {
  local verdict=ok
  if awk "BEGIN { exit !($2 > $4) }"; then verdict=over over=1; fi
  printf 'bench %s %s %s budget %s %s\n' "$1" "$2" "$3" "$4" "$verdict"
}

# within NAME VALUE REFERENCE PERCENT: how far VALUE is from REFERENCE.
within() { report "$1" "$(calculate "100 * ($2 > $3 ? $2 - $3 : $3 - $2) / $3")" % "$4"; }

calculate() { awk "BEGIN { printf \"%.3f\", $1 }"; }

# A program that loads the plugin as slurmstepd does, against the same without the plugin.
loaded() { "$scratch/loader" context=remote step=batch "load=$build/lib/spank_preflight.so" init; }
unloaded() { "$scratch/loader" context=remote step=batch; }
plugin_load() {
  cc -O1 -D_GNU_SOURCE -rdynamic -o "$scratch/loader" tests/loader/host/loader.c tests/loader/host/host.c
  local cost
  cost=$(difference 200 loaded unloaded)
  report plugin.load "$(calculate "$cost / 1000")" ms 1
  report plugin.threads "$("$scratch/loader" context=remote step=batch "load=$build/lib/spank_preflight.so" init report |
    awk '$1 == "Threads:" { print $2 - 1 }')" threads 0
}

plain_step() { user srun -N1 true; }
bare_step() { "$lab" run --name "$name-bare" --chdir /home/user -- srun -N1 true; }
# A whole srun that uses no option, on a lab with the plugin and on one without.
# It varies by 8 ms, so the budget is missed only where the lower end of the 95 %
# confidence interval is above it.
plugin_srun() {
  "$lab" up --name "$name-bare" --nodes 1 >&2
  "$lab" run --name "$name-bare" --root -- sh -c 'echo > /etc/slurm/plugstack.conf'
  local mean half
  read -r mean half < <(differences 100 plain_step bare_step | awk '
    { sum += $1; squares += $1 * $1 }
    END { mean = sum / NR; print mean / 1000, 1.96 * sqrt((squares / NR - mean * mean) / (NR - 1)) / 1000 }')
  printf '# plugin.srun: %.2f ms, 95 %% confidence +/- %.2f ms\n' "$mean" "$half"
  report plugin.srun.lower "$(calculate "$mean - $half")" ms 1
  "$lab" down --name "$name-bare"
}

asked() { user sbatch --hold -N1 --nccl-validate=allreduce --wrap=true; }
unasked() { user sbatch --hold -N1 --wrap=true; }
submission() {
  local cost
  cost=$(difference 30 asked unasked)
  user scancel --user=user
  report submission "$(calculate "$cost / 1000")" ms 20
}

# A step of bare Gloo: the same collective, size, warm-up and iterations, without us.
bare_gloo() {
  local meet
  meet=$(user mktemp -d -p /home/user)
  user srun "-N$nodes" --ntasks-per-node=1 sh -c \
    "exec $build/bin/gloo-bench \$SLURM_PROCID $nodes $meet $bytes 2 $iters" | tee -a "$scratch/bare"
}

gated_step() {
  user srun "-N$nodes" "--nccl-validate=allreduce,size=$bytes,iters=$iters,report=/home/user/gate.json" true
  user grep -oP '"busbw_gbps": \K[0-9.]+' gate.json >>"$scratch/gated"
}

# From launch to verdict, against the bare step; both are timed with the same job
# around them. Then what both say of the network, which lets 0.125 GB/s through.
gate() {
  local measured=0 bare=0 empty=0 busbw bare_busbw
  make -s -C cgo/hostccl/lib bench "OUT=$build/lib" >&2
  empty=$(median 5 user srun "-N$nodes" true)
  measured=$(median 5 gated_step)
  bare=$(median 5 bare_gloo)
  report gate.allreduce "$(calculate "($measured - $empty) / $bare")" x 1.3
  report gate.overhead "$(calculate "($measured - $empty - $bare) / 1000")" ms "$(calculate "0.3 * $bare / 1000")"
  busbw=$(middle <"$scratch/gated")
  bare_busbw=$(calculate "2 * ($nodes - 1) / $nodes * $bytes / $(grep -E '^[0-9.]+$' "$scratch/bare" | middle) / 1e9")
  within gate.busbw.bare "$busbw" "$bare_busbw" 5
  within gate.busbw.rate "$busbw" 0.125 10
}

# The whole command of a conductor with 1,024 nodes of 8 ranks, which measure in no
# time, behind real pipes: what remains is its own work.
conductor() {
  local microseconds kilobytes many=$scratch/many
  mkdir -p "$many/home"
  go build -o "$many/manynodes" ./tests/bench/manynodes
  ln -s manynodes "$many/srun"
  ln -s manynodes "$many/scontrol"
  read -r microseconds kilobytes < <(env PATH="$many:$PATH" HOME="$many/home" SLURM_JOB_ID=1 \
    "$many/manynodes" "$build/bin/preflight" gate --plugstack "$many/none" allreduce,backend=host)
  report conductor.seconds "$(calculate "$microseconds / 1000000")" s 3
  report conductor.memory "$(calculate "$kilobytes / 1024")" MB 512
}

plugin_load
conductor
"$lab" up --name "$name" --nodes "$nodes" --rate 1gbit >&2
submission
plugin_srun
gate
((over == 0))
