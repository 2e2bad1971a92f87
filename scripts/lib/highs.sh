# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# highs.sh - where the tests find the ILP solver HiGHS.  Source common.sh first.

# highs_flags: what to tell meson.  Nothing where the release has HiGHS
# (scripts/deps installs it); else an unpacked root that has it.
highs_flags() {
	local root
	[ ! -e /usr/include/highs/interfaces/highs_c_api.h ] || return 0
	root=$("$TOP/scripts/fetch" highs) || return
	echo "-Dhighs_root=$root"
}

# highs_configure DIR: tell an older build directory, too.
highs_configure() {
	local dir=$1 flags
	flags=$(highs_flags) || return
	[ "$flags" != "$(cat "$dir/.highs" 2>/dev/null)" ] || return 0
	# shellcheck disable=SC2086 # one word or none
	meson configure "$dir" ${flags:--Dhighs_root=} || return
	echo "$flags" >"$dir/.highs"
}
