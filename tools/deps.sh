#!/usr/bin/env bash
# Installs what the build, the lab and the linters need from Debian, and nothing else.
#
# A machine that has it all is left alone, and then no root is needed. While
# packages are installed, a policy-rc.d forbids their services to start: the lab
# brings its own daemons, and nobody asked for a slurmctld on this machine.
set -euo pipefail

packages=(
  # building: C++ for libhostccl, Slurm's headers for the plugin
  gcc g++ libc6-dev make git ca-certificates libslurm-dev libgloo-dev
  # the lab: a real Slurm, and ip, tc, nsenter, mount and ps to make nodes of it
  slurm-client slurmctld slurmd munge iproute2 util-linux mount procps
  # linting
  cppcheck shellcheck mandoc
)

policy=/usr/sbin/policy-rc.d
saved=$policy.before-preflight
mark='slurm-preflight: no service starts while its packages are installed'

say() { printf 'deps: %s\n' "$*"; }
die() {
  printf 'deps: %s\n' "$*" >&2
  exit 1
}

# An interrupted run (kill -9, power) may have left our policy behind.
restore_policy() {
  if grep -qsF "$mark" "$policy"; then rm -f "$policy"; fi
  if [[ -e $saved || -L $saved ]]; then mv "$saved" "$policy"; fi
}

forbid_services() {
  restore_policy
  if [[ -e $policy || -L $policy ]]; then mv "$policy" "$saved"; fi
  trap restore_policy EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  printf '#!/bin/sh\n# %s\nexit 101\n' "$mark" >"$policy"
  chmod 0755 "$policy"
}

missing_packages() {
  local name
  for name in "${packages[@]}"; do
    if ! grep -qxF "$name" <<<"$installed"; then echo "$name"; fi
  done
}

apt_install() {
  DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
    install --no-install-recommends "$@" </dev/null
}

# Debian enables what it installs, so that it would start with the next boot.
disable_services() {
  local name
  command -v systemctl >/dev/null || return 0
  for name in munge slurmctld slurmd; do
    if [[ " ${missing[*]} " == *" $name "* ]]; then systemctl --quiet disable "$name"; fi
  done
}

command -v dpkg-query >/dev/null ||
  die "this is not a Debian system. Install the counterparts of these packages yourself: ${packages[*]}"

# One dpkg-query for all; it fails when it does not know one of them, which is no error here.
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null |
  sed -n 's/^installed //p') || true
mapfile -t missing < <(missing_packages)

if ((EUID == 0)); then restore_policy; fi
if ((${#missing[@]} == 0)); then exit 0; fi
if ((EUID != 0)); then
  die "these packages are missing: ${missing[*]}. Installing them needs root: run \`make deps\` as root once."
fi

say "installing ${missing[*]}"
forbid_services
# Package lists are refreshed only where they are missing or too old to serve.
apt-get -qq --simulate install "${missing[@]}" >/dev/null 2>&1 || apt-get -q update
apt_install "${missing[@]}" || { apt-get -q update && apt_install "${missing[@]}"; }
disable_services
say "installed; none of their services was started or enabled"
