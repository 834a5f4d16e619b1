# SPDX-License-Identifier: BSD-3-Clause
# Shared by the scripts beside it (sourced, not run): where things are, and how progress is told.
# shellcheck shell=bash

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# What is slow to make lives outside the checkout, so that a fresh clone does not pay for it again.
cache=${LONGHAUL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/longhaul}

# The Debian package that the user-mode kernel is built from, and its tarball.
kernel_package=linux-source-6.1

say() { printf '[%s] %s\n' "${0##*/}" "$*" >&2; }
die() { say "error: $*"; exit 1; }

# The comment block at the head of the calling script is its --help text.
usage() { sed -n '3,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0"; }

# watch PID MESSAGE...: says MESSAGE and the time spent every ten seconds until PID ends; returns its exit code.
# MESSAGE is a command line when a function of that name exists, so that it can count something.
watch() {
  local pid=$1 start=$SECONDS rc=0
  shift
  while kill -0 "$pid" 2>/dev/null; do
    sleep 1
    (( (SECONDS - start) % 10 == 9 )) || continue
    if declare -F "$1" >/dev/null; then say "$("$@") ($((SECONDS - start)) s)"; else say "$* ($((SECONDS - start)) s)"; fi
  done
  wait "$pid" || rc=$?
  return "$rc"
}
