# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# tap.sh - a lane's own tests, as TAP.  Source common.sh first.

TAP_N=0 TAP_FAILED=0

# tap NAME COMMAND...: one test; its output becomes comments if it fails.
tap() {
	local name=$1 out rc=0
	shift
	TAP_N=$((TAP_N + 1))
	out=$("$@" 2>&1) || rc=$?
	if [ $rc = 0 ]; then
		echo "ok $TAP_N - $name"
	else
		TAP_FAILED=$((TAP_FAILED + 1))
		echo "not ok $TAP_N - $name"
		# The lines that say why, or the last ones.  head may end
		# before they do: no error.
		{ grep -E -A 6 '([Ee]rror|ERROR|warning|FAILED):' <<<"$out" ||
			tail -n 40 <<<"$out"; } |
			sed 's/^/# /' | head -n "${TAP_LINES:-60}" || true
	fi
}

# tap_done: the plan, and the lane's exit code.
tap_done() {
	echo "1..$TAP_N"
	[ $TAP_FAILED = 0 ]
}

# tracked PATTERN...: the project's files, tracked or about to be, not deleted.
tracked() {
	git -C "$TOP" ls-files -co --exclude-standard --deduplicate -- "$@" |
		while read -r f; do
			[ ! -f "$TOP/$f" ] || echo "$f"
		done
}
