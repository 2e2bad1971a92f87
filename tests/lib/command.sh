# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# command.sh - what the tests of npumemctl share: a folder of their own, and commands' exit
# statuses and messages compared as a whole. Take the absolute paths of arguments, then source
# this; end with check_plan.
set -uo pipefail

# shellcheck source=tests/lib/check.sh
. "$(dirname "${BASH_SOURCE[0]}")/check.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# Messages name files as they were given: so without folders.
cd "$tmp" || exit 1
# What reads standard input finds nothing, unless a test gives something.
exec </dev/null

# compared GOT-STATUS STATUS GOT TEXT: are they equal, and what differs.
compared() {
	[ "$1" = "$2" ] && [ "$3" = "$4" ] && return
	printf 'status %s, expected %s; it said:\n%s\nexpected:\n%s\n' "$@"
	return 1
}

# says STATUS TEXT COMMAND...: exit status and all of standard error; the output is in said.out
says() {
	local status=$1 text=$2 err
	shift 2
	err=$("$@" 2>&1 >said.out)
	compared $? "$status" "$err" "$text"
}

# says_first STATUS TEXT COMMAND...: exit status and the first line of standard error
says_first() {
	local status=$1 text=$2 err got
	shift 2
	err=$("$@" 2>&1 >said.out)
	got=$?
	compared $got "$status" "${err%%$'\n'*}" "$text"
}

# usage_says TEXT COMMAND...: exit status 2, and the first line of standard error
usage_says() { says_first 2 "$@"; }

# prints TEXT COMMAND...: status 0, and standard output has the text
prints() {
	local text=$1 out
	shift
	out=$("$@") || return 1
	[[ $out == *"$text"* ]] && return
	echo "$out"
	return 1
}

# normalize FILE: takes out of an output what no two runs have in common. Tests may replace it.
normalize() { :; }

# gives STATUS OUTPUT ERRORS COMMAND...: exit status, and all of both outputs
gives() {
	local status=$1 output=$2 errors=$3 got
	shift 3
	"$@" >out 2>err
	got=$?
	normalize out
	[ $got = "$status" ] && [ "$(cat out)" = "$output" ] && [ "$(cat err)" = "$errors" ] && return
	cat out err
	echo "status $got, expected $status"
	return 1
}

# outside_graph: graph JSON of nothing but external tensors, so that its arena has no bytes
outside_graph() {
	cat <<'EOF'
{"name": "outside", "tensors": [
{"id": 0, "name": "x", "shape": [4], "bytes": 4, "kind": "input", "external": true},
{"id": 1, "name": "y", "shape": [4], "bytes": 4, "kind": "output", "external": true}],
"ops": [{"id": 0, "name": "f", "type": "relu", "inputs": [0], "outputs": [1]}]}
EOF
}
