#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumemctl_concat.sh - npumemctl plan --concat and --concats: what is planned, that a plan says
# it, what is said of each input, and refusals.
#
# usage: test_npumemctl_concat.sh NPUMEMCTL GRAPHS_FOLDER
#
# TAP. Every message and exit status of a refusal is compared as a whole.

ctl=$(realpath "$1") graphs=$(realpath "$2")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

net=$graphs/squeezenet1_1.fused.json
dense=$graphs/densenet121.fused.json

# A plan says how concats were done: whoever reads it needs no options. options...
planner=(--planner auto)
round_trip() {
	"$ctl" plan "${planner[@]}" "$@" "$net" -o plan.json --blob plan.bin >/dev/null &&
		grep -q '"concat":"join"' plan.json &&
		"$ctl" verify "$net" plan.json &&
		"$ctl" verify "$@" "$net" plan.bin &&
		"$ctl" show --graph "$net" plan.json >drawn && [ -s drawn ]
}
for layout in nhwc nchw nc32hw; do
	check "joined, $layout" round_trip --concat join --layout $layout
	check "joined in tiles, $layout" round_trip --concat join --onchip 256KiB --layout $layout
done
planner=(--planner tile-scheduled)
check 'joined in rows, tile-scheduled' round_trip --concat join --rows 1
planner=(--planner cosma --budget 1MiB)
check 'joined, cosma' round_trip --concat join --inputs host

# Eight concats of two inputs each: none of them is a step.
said() {
	"$ctl" plan -j --concats --concat "$1" "$net" >said.json && python3 -c '
import json, sys
r = json.load(open("said.json"))
assert r["steps"] == 30, r["steps"]
assert len(r["concats"]) == 16, r["concats"]
for c in r["concats"]:
    assert c["joined"] and c["said"] == "is part of the output", c
    # Half of the channels of each pixel.
    assert c["stride"] == 2 * c["run"] and c["first"] in (0, c["run"]), c
'
}
check 'what is said, as JSON' said join
check 'what is said of the best' said best
check 'what is said' prints 'concats      16 of 16 inputs are parts of outputs' \
	"$ctl" plan --concats --concat join "$net"
check 'what is said of an input' prints \
	'  features.3: features.3.expand3x3.conv2d is part of the output: 64 bytes every 128, from byte 64 of features.3.cat' \
	"$ctl" plan --concats --concat join "$net"
check 'the joined operators move nothing' prints \
	'features.3                                   joined       0          0            0            0            0            0   1.00' \
	"$ctl" plan --tiles --concat join "$net"

arena() { "$ctl" plan -j "$@" | python3 -c 'import json, sys; print(json.load(sys.stdin)["arena"])'; }
# DenseNet's blocks are one tensor each.
less() {
	copied=$(arena --layout nchw "$dense") joined=$(arena --layout nchw --concat join "$dense")
	best=$(arena --layout nchw --concat best "$dense")
	[ "$joined" -lt "$copied" ] && [ "$best" = "$joined" ]
}
check 'joined takes less' less

# What is early made, and late needed, had better not wait in its place: by, big, then a; cat(by, a).
cat >early.json <<'END'
{"name": "early", "dtype_bytes": 1, "tensors": [
{"id": 0, "name": "in", "shape": [1, 1, 1, 4], "bytes": 4, "kind": "input"},
{"id": 1, "name": "by", "shape": [1, 1, 1, 4], "bytes": 4, "kind": "activation"},
{"id": 2, "name": "big", "shape": [1, 25, 1, 4], "bytes": 100, "kind": "activation"},
{"id": 3, "name": "small", "shape": [1, 1, 1, 4], "bytes": 4, "kind": "activation"},
{"id": 4, "name": "a", "shape": [1, 15, 1, 4], "bytes": 60, "kind": "activation"},
{"id": 5, "name": "cat", "shape": [1, 16, 1, 4], "bytes": 64, "kind": "output"}],
"ops": [
{"id": 0, "name": "by", "type": "conv2d", "inputs": [0], "outputs": [1]},
{"id": 1, "name": "big", "type": "conv2d", "inputs": [0], "outputs": [2]},
{"id": 2, "name": "small", "type": "conv2d", "inputs": [2], "outputs": [3]},
{"id": 3, "name": "a", "type": "conv2d", "inputs": [3], "outputs": [4]},
{"id": 4, "name": "cat", "type": "cat", "inputs": [1, 4], "outputs": [5], "attrs": {"dim": 1}}]}
END
best_fits() {
	"$ctl" plan --concat best early.json -o best.json >/dev/null &&
		grep -q '"concat":"fit"' best.json && "$ctl" verify early.json best.json &&
		[ "$(arena --concat copy early.json)" = 128 ] &&
		[ "$(arena --concat join early.json)" = 153 ] &&
		[ "$(arena --concat fit early.json)" = 108 ] &&
		[ "$(arena --concat best early.json)" = 108 ]
}
check 'the best may be what fits' best_fits
check 'what does not fit is said' prints \
	"cat: by is copied: the output's room would be kept for too long" \
	"$ctl" plan --concats --concat fit early.json

# Halves of what is made are read where they are.
cat >split.json <<'END'
{"name": "split", "dtype_bytes": 1, "layout": "NCHW", "tensors": [
{"id": 0, "name": "in", "shape": [1, 2, 1, 4], "bytes": 8, "kind": "input"},
{"id": 1, "name": "x", "shape": [1, 16, 1, 4], "bytes": 64, "kind": "activation"},
{"id": 2, "name": "a", "shape": [1, 8, 1, 4], "bytes": 32, "kind": "activation"},
{"id": 3, "name": "b", "shape": [1, 8, 1, 4], "bytes": 32, "kind": "activation"},
{"id": 4, "name": "of_a", "shape": [1, 8, 1, 4], "bytes": 32, "kind": "output"},
{"id": 5, "name": "of_b", "shape": [1, 8, 1, 4], "bytes": 32, "kind": "output"}],
"ops": [
{"id": 0, "name": "make", "type": "conv2d", "inputs": [0], "outputs": [1]},
{"id": 1, "name": "split", "type": "split", "inputs": [1], "outputs": [2, 3], "attrs": {"dim": 1}},
{"id": 2, "name": "of_a", "type": "conv2d", "inputs": [2], "outputs": [4]},
{"id": 3, "name": "of_b", "type": "conv2d", "inputs": [3], "outputs": [5]}]}
END
joined_thrice() {
	"$ctl" plan --concat "$1" thrice.json -o thrice.plan >/dev/null &&
		"$ctl" verify thrice.json thrice.plan
}
split() {
	"$ctl" plan --concat join split.json -o split.plan >/dev/null &&
		"$ctl" verify split.json split.plan &&
		[ "$(arena --layout nchw --concat copy split.json)" = 128 ] &&
		[ "$(arena --layout nchw --concat join split.json)" = 96 ]
}
check 'a split without a copy' split
# What cannot be joined of a concat of one tensor, three times, is two steps of a whole operator.
cat >thrice.json <<'END'
{"name": "thrice", "dtype_bytes": 1, "layout": "NCHW", "tensors": [
{"id": 0, "name": "in", "shape": [1, 4, 4, 4], "bytes": 64, "kind": "input"},
{"id": 1, "name": "x", "shape": [1, 4, 4, 4], "bytes": 64, "kind": "activation"},
{"id": 2, "name": "out", "shape": [1, 12, 4, 4], "bytes": 192, "kind": "output"}],
"ops": [
{"id": 0, "name": "a", "type": "relu", "inputs": [0], "outputs": [1]},
{"id": 1, "name": "c", "type": "cat", "inputs": [1, 1, 1], "outputs": [2], "attrs": {"dim": 1}}]}
END
for how in join fit; do
	check "one tensor joined, and copied twice, $how" joined_thrice $how
done
check 'how many outputs are joined' prints 'splits       2 of 2 outputs are parts of inputs' \
	"$ctl" plan --concats --concat join split.json
check 'what is said of an output' prints \
	'  split: b is part of the input: 8 bytes every 16, from byte 8 of x' \
	"$ctl" plan --concats --concat join --layout nhwc split.json
said_of_split() {
	"$ctl" plan -j --concats --concat join split.json >said.json && python3 -c '
import json, sys
said = [(c["tensor"], c["joined"], c["said"], c["base"]) for c in json.load(open("said.json"))["concats"]]
assert said == [(t, True, "is part of the input", 1) for t in (2, 3)], said
'
}
check 'what is said of outputs, as JSON' said_of_split

# Joined it needs 153 bytes.
within() {
	[ "$(arena --concat best --arena-budget 120 early.json)" = 108 ]
}
check 'the best within a budget that is too small for all to be joined' within
none() {
	local status
	"$ctl" plan --concat best --arena-budget 100 early.json 2>said.err
	status=$?
	[ "$status" = "$("$ctl" plan --concat join --arena-budget 100 early.json 2>join.err; echo $?)" ] &&
		[ "$status" != 0 ] && cmp said.err join.err
}
check 'a budget that is too small for any' none
check 'another word' usage_says \
	"npumemctl plan: --concat: 'move' is not copy, join, fit or best" "$ctl" plan --concat move "$net"
check 'best of verify' usage_says \
	'npumemctl verify: --concat best is of plan, which tries all' \
	"$ctl" verify --concat best "$net" plan.json
check 'nothing is joined that could be told' usage_says \
	'npumemctl plan: --concats is of --concat join, fit and best' "$ctl" plan --concats "$net"
check 'TensorFlow Lite Micro' usage_says \
	"npumemctl plan: --emit-tflite: TensorFlow Lite Micro's concats copy: leave out --concat" \
	"$ctl" plan --concat join --emit-tflite out.tflite "$net"
check 'best of a list' usage_says \
	'npumemctl plan: --concat best compares plans: not with --pareto, --emit-lp or a budget by name' \
	"$ctl" plan --planner tile-scheduled --concat best --pareto "$net"
check 'joined by npumemd' usage_says \
	'npumemctl run: --concat join: where npumemd cuts, concats copy: leave out --daemon-cuts' \
	"$ctl" run --concat join --daemon-cuts "$net"
other() {
	"$ctl" plan "$net" -o copied.json >/dev/null &&
		says 1 'npumemctl: copied.json: tiling: the graph was tiled with other concat' \
			"$ctl" verify --concat join "$net" copied.json
}
check 'a plan of copies for a graph without' other
sed 's/"parameters":false/"parameters":false,"concat":"move"/' copied.json >bad.json
check 'a plan with another word' says 1 \
	'npumemctl: bad.json: tiling.concat: must be copy, join or fit' "$ctl" verify "$net" bad.json
check_plan
