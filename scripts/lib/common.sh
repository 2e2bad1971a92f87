# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# common.sh - what every script here needs: places, messages, atomic caching.
# Source it from a bash script that has "set -euo pipefail".

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# BUILD holds what `make clean` may delete; CACHE holds what costs a download
# or minutes of compiling, and is shared by all checkouts of one user.
BUILD=${NPUMEM_BUILD:-$TOP/build}
CACHE=${NPUMEM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/npumem}
LOGS=$BUILD/logs
JOBS=${NPUMEM_JOBS:-$(nproc)}
# Variables for the scripts that source this file.
export TOP BUILD CACHE LOGS JOBS

# The triplet, tool prefix and kernel name of the guest's architecture.
GUEST_TRIPLET=aarch64-linux-gnu
CROSS=$GUEST_TRIPLET-
export GUEST_TRIPLET CROSS

say() { echo "${0##*/}: $*" >&2; }
die() { say "error: $*"; exit 2; }

# usage FILE: the header comment of a script, without its comment marks.
usage() { sed -n '3,/^[^#]/{s/^# \{0,1\}//p}' "$1"; }

# lock NAME, unlock: hold the cache's lock NAME, so that two checks on one
# machine do the slow thing once.  One lock at a time; ends with the script.
lock() {
	mkdir -p "$CACHE/locks"
	exec {LOCK_FD}>"$CACHE/locks/$1"
	flock "$LOCK_FD"
}
unlock() { exec {LOCK_FD}>&-; }

# publish TMP FINAL: move a finished directory or file into place at once.
# What FINAL was before, if anything, is replaced.
publish() {
	local tmp=$1 final=$2
	if [ -d "$final" ] && [ ! -L "$final" ]; then
		rm -rf "$final.old"
		mv "$final" "$final.old"
	fi
	mv -T "$tmp" "$final"
	rm -rf "$final.old"
}

# newer_than STAMP PATH...: true if STAMP is missing or older than any file
# under the paths.
newer_than() {
	local stamp=$1
	shift
	[ -e "$stamp" ] || return 0
	[ -n "$(find "$@" -type f -newer "$stamp" -print -quit 2>/dev/null)" ]
}
