#!/usr/bin/env bash
# Checks the Go, shell and C code. Every checker runs, so that one run shows all
# there is to mend; the last line is `lint: passed` or `lint: FAILED`.
# usage: lint.sh DIRECTORY_OF_GOLANGCI_LINT
set -euo pipefail

golangci=$1/golangci-lint
failed=0

check() {
  local name=$1
  shift
  printf 'lint: %s\n' "$name"
  "$@" || failed=1
}

# Files that belong to the tree, committed or about to be.
tree() { git -c safe.directory='*' ls-files --cached --others --exclude-standard --deduplicate "$@"; }

existing() {
  local file
  while read -r file; do
    if [[ -f $file ]]; then echo "$file"; fi
  done
}

mapfile -t scripts < <(tree | existing | xargs -r -d '\n' grep -lE -m1 '^#!.*\b(ba|da)?sh\b' --)
mapfile -t test_c < <(tree 'tests/*.c' 'tests/*.cc' | existing)

check golangci-lint "$golangci" run ./...
check shellcheck shellcheck "${scripts[@]}"
check 'cppcheck of the plugin' make -s -C spank check
check 'cppcheck of libhostccl' make -s -C cgo/hostccl/lib check
if ((${#test_c[@]})); then
  check 'cppcheck of the tests' cppcheck --quiet --enable=warning,performance,portability \
    --inline-suppr --suppress=missingIncludeSystem --error-exitcode=1 "${test_c[@]}"
fi
check 'mandoc of the manual pages' mandoc -T lint -W warning docs/man/*

if ((failed)); then
  echo 'lint: FAILED'
  exit 1
fi
echo 'lint: passed'
