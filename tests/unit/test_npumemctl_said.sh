#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumemctl_said.sh - what npumemctl says, and how: names that are not to be
# trusted, causes of errors, what fits a terminal.
#
# usage: test_npumemctl_said.sh NPUMEMCTL GRAPHS_FOLDER
#
# TAP.
set -uo pipefail

ctl=$(realpath "$1") graphs=$(realpath "$2")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
count=0 failed=0
cd "$tmp" || exit 1
unset COLUMNS

# check NAME COMMAND...: one test
check() {
	local name=$1
	shift
	count=$((count + 1))
	if "$@" >"$tmp/log" 2>&1; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		sed 's/^/# /' "$tmp/log"
		failed=$((failed + 1))
	fi
}

# says STATUS TEXT COMMAND...: exit status, and all of standard error
says() {
	local status=$1 text=$2 got err
	shift 2
	err=$("$@" 2>&1 >/dev/null </dev/null)
	got=$?
	[ $got = "$status" ] && [ "$err" = "$text" ] && return
	echo "status $got, expected $status; standard error: $err"
	echo "expected: $text"
	return 1
}

usage_says() { # TEXT COMMAND...: exit status 2, and the first line
	local text=$1 got err
	shift
	err=$("$@" 2>&1 >/dev/null </dev/null)
	got=$?
	[ $got = 2 ] && [ "${err%%$'\n'*}" = "$text" ] && return
	echo "status $got: $err"
	return 1
}

cp "$graphs/squeezenet1_1.fused.json" net.json
"$ctl" plan net.json -o plan.json --blob plan.bin >/dev/null || exit 1

# ------------------------------------------------ characters in names
# Every mark, embedding, override and isolate of direction, and U+009B.
python3 - <<'PYTHON'
import json

marks = "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u009b"
graph = {"name": "g" + marks, "tensors": [
    {"id": 0, "name": "x" + marks + "é", "shape": [1, 4, 4, 1], "bytes": 16, "kind": "input"},
    {"id": 1, "name": "y" + marks, "shape": [1, 4, 4, 1], "bytes": 16, "kind": "output"}],
    "ops": [{"id": 0, "name": "f" + marks, "type": "relu", "inputs": [0], "outputs": [1], "attrs": {}}]}
json.dump(graph, open("marks.json", "w"))
PYTHON
"$ctl" plan --planner greedy marks.json -o marks.plan.json >/dev/null || exit 1
cp marks.json $'marks\u202e\x1b[1m.json'
no_marks() { # TEXT COMMAND...: all output has the text, and no such character
	local text=$1
	shift
	"$@" >out 2>&1
	cat -v out
	grep -qF -e "$text" out && python3 -c '
import sys, unicodedata
text = open("out", encoding="utf-8").read()
sys.exit(any(unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") and c != "\n" for c in text))'
}
check 'import: direction of names' no_marks 'g\xd8\x9c\xe2\x80\x8e' "$ctl" import marks.json
check 'plan: direction of names' no_marks 'y\xd8\x9c' "$ctl" plan --report marks.json
check 'plan: letters stay' no_marks '\x9bé 16' "$ctl" plan marks.json
check 'show: direction of names' no_marks 'f\xd8\x9c' "$ctl" show --graph marks.json marks.plan.json
check 'verify: direction of names' no_marks 'of g\xd8\x9c' "$ctl" verify marks.json marks.plan.json
check 'errors: direction of names' no_marks "'x\xd8\x9c" "$ctl" plan --fix 0=3000000000000 \
	--external 0 marks.json
check 'verify: names of files' no_marks 'is a valid plan' "$ctl" verify marks.json \
	<(cat marks.plan.json)
check 'errors: names of files' no_marks 'marks\xe2\x80\xae\x1b[1m.json:' "$ctl" plan --bands 2 --tile q=1 \
	$'marks\u202e\x1b[1m.json'
bytes_that_are_none() {
	local err
	err=$("$ctl" plan $'a\x9b\xff\xe2\x80.json' 2>&1)
	[ "$err" = 'npumemctl: a\x9b\xff\xe2\x80.json: No such file or directory' ] && return
	cat -v <<<"$err"
	return 1
}
check 'bytes that are no characters' bytes_that_are_none

# ---------------------------------------------------- causes of errors
full() { # COMMAND...: to a full standard output
	local err
	err=$("$@" 2>&1 >/dev/full)
	[ $? = 1 ] && [ "$err" = 'npumemctl: standard output: No space left on device' ] && return
	echo "$err"
	return 1
}
check 'show to a full disk' full "$ctl" show --graph net.json plan.json
check 'show of many steps to a full disk' full "$ctl" show --graph "$graphs/densenet121.fused.json" \
	<("$ctl" plan --planner greedy "$graphs/densenet121.fused.json" -o -)
check 'show --html - to a full disk' full "$ctl" show --graph net.json plan.json --html -
# More than standard output keeps before it is written.
check 'plan --tiles to a full disk' full "$ctl" plan --planner greedy --tiles --bands 4 \
	"$graphs/densenet121.fused.json"
check 'plan -j --tiles to a full disk' full "$ctl" plan --planner greedy -j --tiles --bands 4 \
	"$graphs/densenet121.fused.json"
check 'plan --budget: the option that was typed' usage_says \
	"npumemctl plan: --budget: '1.5x' is not a number of bytes; give one like 1572864 or 1.5MiB" \
	"$ctl" plan --budget 1.5x net.json
check 'plan --arena-budget: the option that was typed' usage_says \
	"npumemctl plan: --arena-budget MR is planner cosma's; others take bytes" \
	"$ctl" plan --arena-budget MR net.json
check 'plan --banks and --budget' usage_says 'npumemctl plan: --banks and --budget exclude each other' \
	"$ctl" plan --planner cosma --banks 1KiB@1,1KiB@1 --budget 1KiB net.json
check 'plan --banks and --arena-budget' usage_says \
	'npumemctl plan: --banks and --arena-budget exclude each other' \
	"$ctl" plan --planner cosma --banks 1KiB@1,1KiB@1 --arena-budget 1KiB net.json
verify_json() { # TEXT FILE: verify -j says so of a plan that is none
	"$ctl" verify -j net.json "$2" >out 2>err
	[ $? = 1 ] && python3 - "$1" <<-'PYTHON'
		import json, sys
		verdict = json.load(open("out"))
		assert verdict["accepted"] is False and sys.argv[1] in verdict["error"], verdict
		assert verdict["error"] in open("err").read()
	PYTHON
}
head -c 1000 plan.json >cut.json
head -c 500 plan.bin >cut.bin
check 'verify -j of JSON that ends too early' verify_json 'premature end of input' cut.json
check 'verify -j of a blob that ends too early' verify_json '' cut.bin
check 'verify -j of no file' verify_json 'No such file' missing.json
swapped() { # GRAPH PLAN COMMAND...: the last line
	local err
	err=$("$@" 2>&1 >/dev/null)
	[ $? = 1 ] && [ "${err##*$'\n'}" = "npumemctl: $swapped_as: this is a plan, where a graph is expected" ] &&
		return
	echo "$err"
	return 1
}
swapped_as=plan.json
check 'verify of PLAN GRAPH' swapped "$ctl" verify plan.json net.json
check 'show of PLAN GRAPH' swapped "$ctl" show --graph plan.json net.json
swapped_as=plan.bin
check 'verify of a blob and its GRAPH' swapped "$ctl" verify plan.bin net.json

echo "1..$count"
[ $failed = 0 ]
