#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumemctl_said.sh - what npumemctl says, and how: names that are not to be
# trusted, causes of errors, what fits a terminal.
#
# usage: test_npumemctl_said.sh NPUMEMCTL GRAPHS_FOLDER
#
# TAP.

ctl=$(realpath "$1") graphs=$(realpath "$2")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"
unset COLUMNS
export TERM=xterm


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
check 'plan: letters stay' no_marks '\x9bé: arena' "$ctl" plan --report marks.json
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

# --------------------------------------------------- what a summary says
# Names as fused TFLite models have them, forty tensors at the peak.
python3 - <<'PYTHON'
import json

name = "model/block_{0}/conv2d/Relu;model/block_{0}/conv2d/BiasAdd/ReadVariableOp/é" * 4
tensors = [{"id": 0, "name": "in", "shape": [1, 8, 4, 4], "bytes": 128, "kind": "input"}]
ops = []
for i in range(1, 41):
    tensors.append({"id": i, "name": name.format(i), "shape": [1, 8, 4, 4], "bytes": 128,
                    "kind": "activation"})
    ops.append({"id": i, "name": name.format(i), "type": "conv", "inputs": [0], "outputs": [i]})
tensors.append({"id": 41, "name": "out", "shape": [1, 8, 4, 4], "bytes": 128, "kind": "output"})
ops.append({"id": 41, "name": name.format(41), "type": "concat", "inputs": list(range(1, 41)),
            "outputs": [41]})
json.dump({"name": "long", "tensors": tensors, "ops": ops}, open("long.json", "w"))
PYTHON
peak_line() {
	"$ctl" plan --planner greedy long.json >out || return 1
	"$ctl" plan -j --planner greedy long.json >out.json || return 1
	grep '^peak' out
	python3 - <<-'PYTHON'
		import json, re
		line = next(l for l in open("out", encoding="utf-8") if l.startswith("peak"))
		assert len(line) < 240, len(line)
		named = [n for n in re.findall(r"[: +] \S+ (\d+)(?= \+)", line)]
		more = re.search(r" \+ (\d+) more (\d+) bytes$", line)
		tensors = json.load(open("out.json"))["peak"]["tensors"]
		assert named and len(named) + int(more[1]) == len(tensors) == 41, line
		assert sum(map(int, named)) + int(more[2]) == sum(t["bytes"] for t in tensors), line
		assert sum(len(t["name"]) > 200 for t in tensors) == 40
	PYTHON
}
check 'plan: the line of the peak' peak_line
line_is() { # LINE COMMAND...: it prints this line
	local line=$1
	shift
	"$@" >out || return 1
	cat out
	grep -qxF -e "$line" out
}
check 'plan --budget MR says its bytes' line_is 'budget       MR: 982144 bytes (959.1 KiB)' \
	"$ctl" plan --planner cosma --budget MR net.json
check 'plan --budget says its bytes' line_is 'budget       1677721600 bytes (1.6 GiB)' \
	"$ctl" plan --budget 1600MiB net.json
check 'plan -j --budget MR' grep -q '"budget":982144,' <("$ctl" plan -j --planner cosma --budget MR net.json)
check 'plan -j without a budget' grep -q '"budget":null,' <("$ctl" plan -j net.json)
check 'optimal: in this order' line_is \
	'planner      auto, optimal: no plan in this order of the steps needs less' "$ctl" plan net.json
check 'optimal: traffic, any order' line_is \
	'planner      cosma, optimal: no plan in any order of the steps moves less within the budget' \
	"$ctl" plan --planner cosma --budget 16MiB net.json
check 'optimal: traffic, in this order' line_is \
	'planner      cosma, optimal: no plan in this order of the steps moves less within the budget' \
	"$ctl" plan --planner cosma --budget 16MiB --fixed-schedule net.json
check 'optimal: peak, any order' line_is \
	'planner      cosma, optimal: no plan in any order of the steps needs less without moving' \
	"$ctl" plan --planner cosma --objective peak net.json
check 'feasible claims nothing' line_is 'planner      greedy-start, feasible' \
	"$ctl" plan --planner greedy-start "$graphs/densenet121.fused.json"
each_has_a_purpose() {
	"$ctl" plan --list-planners=all >out && cat out && [ "$(wc -l <out)" -ge 20 ] &&
		[ "$(grep -cE '^[a-z-]+ +[a-z].{10,}$' out)" = "$(wc -l <out)" ] &&
		! grep -qE '.{86}' out
}
check 'plan --list-planners says what each is for' each_has_a_purpose
# What is there to compare with is named, but not offered.
published_are_apart() {
	"$ctl" plan --list-planners >short && "$ctl" plan --list-planners=all >all &&
		! grep -q '^taa-paper ' short && grep -q '^taa-paper ' all && grep -q '^exact ' short &&
		"$ctl" bench pack --list-packers >short && "$ctl" bench pack --list-packers=all >all &&
		! grep -q '^tflm ' short && grep -q '^tflm ' all && grep -q '^greedy-size ' short
}
check 'lists leave out what is there to compare with' published_are_apart
check 'plan --list-planners=some' usage_says "npumemctl plan: --list-planners: 'some' is not \"all\"" \
	"$ctl" plan --list-planners=some
help_has() { "$ctl" plan --help | tr -s ' \n' '  ' | grep -qF -e "$1"; }
check 'help: the alignment by default' help_has 'a power of two up to 64KiB (1: none but'
check "help: what TFLM's arena holds besides" help_has 'come on top of the plan'
emitted() {
	"$ctl" plan "$graphs/../fuzz/corpus/tflite/offline.tflite" --emit-tflite out.tflite >out && cat out &&
		grep -qE "^tflite +out.tflite: besides these 224 bytes, TFLM's arena holds 0 bytes of variables" out
}
check "plan --emit-tflite: what TFLM's arena holds besides" emitted

# --------------------------------------------------- what fits a terminal
fits() { # WIDTH FILE: no line of a file is wider, one is as wide
	python3 - "$@" <<-'PYTHON'
		import sys
		lengths = [len(line.rstrip("\r\n")) for line in open(sys.argv[2], encoding="utf-8", newline="\n")]
		assert max(lengths) == int(sys.argv[1]), max(lengths)
	PYTHON
}
columns() {
	COLUMNS=72 "$ctl" show --graph net.json plan.json >out && fits 72 out &&
		COLUMNS=200 "$ctl" show --graph net.json plan.json >wide && ! cmp -s out wide
}
check 'show fits COLUMNS' columns
# on_terminal WIDTH COMMAND...: standard output and error are a terminal so wide
on_terminal() {
	local width=$1
	shift
	script -qec "stty cols $width; $(printf '%q ' "$@")" /dev/null </dev/null
}
window() { on_terminal 64 "$ctl" show --graph net.json plan.json >out && fits 64 out; }
check 'show fits its terminal' window
elsewhere() {
	"$ctl" show --graph net.json plan.json >out && grep -q 'arena .* 47 columns of ' out &&
		! grep -q '\.\.\.$' out &&
		[ "$(grep -cE '^ +[0-9]+: [0-9a-z.]{47} \([0-9]+k\) ' out)" = \
			"$(python3 -c 'import json; print(len(json.load(open("plan.json"))["schedule"]))')" ]
}
check 'show elsewhere: for 80 characters, nothing cut' elsewhere
asked_width() { COLUMNS=30 "$ctl" show --width 100 --graph net.json plan.json >out && grep -qE ': [0-9a-z.]{100} \(' out; }
check 'show --width is what it says' asked_width
for width in 0 513; do
	check "show --width $width" usage_says \
		"npumemctl show: --width: '$width' is not a number from 1 to 512" \
		"$ctl" show --width $width --graph net.json plan.json
done
# Each drawing begins with a carriage return.
progress() { # WIDTH COMMAND...: it is drawn, and fits
	local width=$1
	shift
	# shellcheck disable=SC2016 # another shell expands these
	on_terminal "$width" sh -c '"$0" "$@" >/dev/null' "$@" >out
	python3 - "$width" <<-'PYTHON'
		import re, sys
		text = open("out", encoding="utf-8", newline="").read()
		drawn = re.findall(r"\r\x1b\[K([^\r\n\x1b]+)", text)
		assert drawn, repr(text[:500])
		assert all(len(line) < int(sys.argv[1]) for line in drawn), drawn
		assert not any("bound 0 bytes" in line for line in drawn), drawn
	PYTHON
}
check 'progress fits a narrow terminal' progress 30 "$ctl" plan --planner exact --work 1000000 net.json
check 'progress fits a usual terminal' progress 80 "$ctl" plan --planner exact --work 1000000 \
	--deadline 100000 net.json
dumb() {
	TERM=dumb on_terminal 80 "$ctl" plan --planner exact net.json >out || return 1
	cat -v out
	grep -q '^planner' out && ! grep -q $'\x1b' out && ! grep -q ' gap ' out
}
check 'no progress where no line can be drawn anew' dumb

check_plan
