#!/usr/bin/env bash
# Shows a newcomer what a user sees: one job on a healthy network, and one on a
# network with a slow link, on a real Slurm cluster of four nodes that this script
# starts and removes. It checks what it shows, and ends with `demo: passed`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

lab=build/bin/lab
name=demo$$
output='' ended='' # of the last job
bold='' plain=''
if [[ -t 1 ]]; then bold=$'\e[1m' plain=$'\e[0m'; fi

title() { printf '\n%s== %s%s\n\n' "$bold" "$*" "$plain"; }
shown() {
  printf '$ %s\n' "$*"
  "$@"
}
die() {
  printf 'demo: FAILED: %s\n' "$*" >&2
  exit 1
}
user() { "$lab" run --name "$name" --chdir /home/user -- "$@"; }
end() {
  local code=$?
  trap '' INT TERM HUP
  "$lab" down --name "$name" || true
  exit "$code"
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

fact() { user scontrol --oneliner show job "$1" | grep -oE "\b$2=[^ ]+" | cut -d= -f2; }

# Submits train.sh, waits for its end and shows its output and its end.
submit() {
  local job state deadline=$((SECONDS + 120))
  printf '$ sbatch -N4 --nccl-validate=allreduce train.sh\n'
  job=$(user sbatch -N4 --nccl-validate=allreduce --parsable --output=train-%j.out train.sh)
  printf 'Submitted batch job %s\n' "$job"
  until
    state=$(fact "$job" JobState)
    [[ $state != @(PENDING|CONFIGURING|RUNNING|COMPLETING) ]]
  do
    ((SECONDS < deadline)) || die "job $job is still $state after two minutes"
    sleep 0.2
  done
  printf '$ cat train-%s.out\n' "$job"
  output=$(user cat "train-$job.out")
  printf '%s\n' "$output"
  ended="$state $(fact "$job" ExitCode)"
  printf '\nJob %s ended: %s\n' "$job" "$ended"
}

expect() {
  [[ $ended == "$1" ]] || die "the job should have ended $1"
  [[ $output == 'preflight: allreduce on 4 nodes'* ]] || die "the job's output should begin with the gate's table"
  case $2 in
    trains) [[ $output == *'training'* ]] || die 'the program should have run' ;;
    stops) [[ $output != *'training'* ]] || die 'the program should not have run' ;;
  esac
  if user sinfo --noheader --format=%T | grep -q drain; then die 'no node should be drained'; fi
}

title 'A Slurm cluster of four nodes, each with a link of 1 Gbit/s and a floor of 0.080 GB/s'
shown "$lab" up --name "$name" --nodes 4 --rate 1gbit --set gate.min.allreduce=0.080
user tee train.sh >/dev/null <<'JOB'
#!/bin/sh
echo "training on $SLURM_JOB_NODELIST"
JOB

title 'A healthy network: the job is measured, then it runs'
submit
expect 'COMPLETED 0:0' trains

title 'One slow link: the job stops before it wastes its hours, and no node is drained'
shown "$lab" link --name "$name" n3 200mbit
submit
expect 'FAILED 75:0' stops

title 'The link mended: the next job runs'
shown "$lab" link --name "$name" n3 up
submit
expect 'COMPLETED 0:0' trains

printf '\ndemo: passed\n'
