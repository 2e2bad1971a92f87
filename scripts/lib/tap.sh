# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# tap.sh - a lane's own tests, as TAP.  Source common.sh first; end with check_plan.

# shellcheck source=tests/lib/check.sh
. "$TOP/tests/lib/check.sh"
CHECK_OUT=$LOGS/tap-${0##*/}.out

# check_why: the lines that say why a test has failed, or the last ones.  head may end before
# they do: no error.
check_why() {
	{ grep -E -A 6 '([Ee]rror|ERROR|warning|FAILED):' "$CHECK_OUT" || tail -n 40 "$CHECK_OUT"; } |
		sed 's/^/# /' | head -n "${TAP_LINES:-60}" || true
}

apart() { ("$@"); }

# tap NAME COMMAND...: runs one test, in a shell of its own.
tap() {
	mkdir -p "$LOGS"
	check "$1" apart "${@:2}"
}

# tracked PATTERN...: the project's files, tracked or about to be, not deleted.
tracked() {
	git -C "$TOP" ls-files -co --exclude-standard --deduplicate -- "$@" |
		while read -r f; do
			[ ! -f "$TOP/$f" ] || echo "$f"
		done
}
