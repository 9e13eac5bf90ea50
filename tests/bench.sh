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

# difference COUNT WITH WITHOUT: the median of what WITH takes longer. The two
# take turns, so that a machine that slows down slows both.
difference() {
  local with without
  for ((i = 0; i < $1; i++)); do
    with=$(microseconds "$2")
    without=$(microseconds "$3")
    echo $((with - without))
  done | middle
}

# report NAME VALUE UNIT BUDGET
report() {
  local verdict=ok
  if awk "BEGIN { exit !($2 > $4) }"; then verdict=over over=1; fi
  printf 'bench %s %s %s budget %s %s\n' "$1" "$2" "$3" "$4" "$verdict"
}

calculate() { awk "BEGIN { printf \"%.3f\", $1 }"; }

# A program that loads the plugin as slurmstepd does, against the same without the plugin.
loaded() { "$scratch/loader" context=remote step=batch "load=$build/lib/spank_preflight.so" init; }
unloaded() { "$scratch/loader" context=remote step=batch; }
plugin_load() {
  cc -O1 -D_GNU_SOURCE -rdynamic -o "$scratch/loader" tests/loader/host/loader.c tests/loader/host/host.c
  local cost
  cost=$(difference 200 loaded unloaded)
  report plugin.load "$(calculate "$cost / 1000")" ms 1
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
    "exec $build/bin/gloo-bench \$SLURM_PROCID $nodes $meet $bytes 2 $iters"
}

# From launch to verdict; both are timed with the same job around them.
gate() {
  local measured=0 bare=0 empty=0
  make -s -C cgo/hostccl/lib bench "OUT=$build/lib" >&2
  empty=$(median 5 user srun "-N$nodes" true)
  measured=$(median 3 user srun "-N$nodes" "--nccl-validate=allreduce,size=$bytes,iters=$iters" true)
  bare=$(median 3 bare_gloo)
  report gate.allreduce "$(calculate "($measured - $empty) / $bare")" x 1.3
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
gate
((over == 0))
