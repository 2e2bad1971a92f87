#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumemctl_takes.sh - what each planner takes: every cell of the table in docs/planners.md.
#
# usage: test_npumemctl_takes.sh NPUMEMCTL GRAPHS DOCUMENT

ctl=$(realpath "$1")
graphs=$(realpath "$2")
document=$(realpath "$3")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

mobilenet=$graphs/mobilenet_v1_025.fused.json
squeezenet=$graphs/squeezenet1_1.fused.json

# A sum of the input and the state, which is updated by it.
cat >state.json <<'EOF'
{"name": "stateful",
 "tensors": [{"id": 0, "name": "x", "shape": [64], "bytes": 64, "kind": "input"},
             {"id": 1, "name": "s", "shape": [64], "bytes": 64, "kind": "state"},
             {"id": 2, "name": "t", "shape": [64], "bytes": 64, "kind": "activation"},
             {"id": 3, "name": "y", "shape": [64], "bytes": 64, "kind": "output"}],
 "ops": [{"id": 0, "name": "sum", "type": "add", "inputs": [0, 1], "outputs": [2]},
         {"id": 1, "name": "update", "type": "add", "inputs": [2, 1], "outputs": [1]},
         {"id": 2, "name": "last", "type": "relu", "inputs": [2], "outputs": [3]}]}
EOF
# x * 2 and its relu can have the same bytes, and have.
cat >inplace.json <<'EOF'
{"name": "inplace",
 "tensors": [{"id": 0, "name": "x", "shape": [64], "bytes": 64, "kind": "input"},
             {"id": 1, "name": "a", "shape": [64], "bytes": 64, "kind": "activation"},
             {"id": 2, "name": "b", "shape": [64], "bytes": 64, "kind": "activation"},
             {"id": 3, "name": "y", "shape": [64], "bytes": 64, "kind": "output"}],
 "ops": [{"id": 0, "name": "one", "type": "add", "inputs": [0, 0], "outputs": [1]},
         {"id": 1, "name": "two", "type": "relu", "inputs": [1], "outputs": [2], "attrs": {"inplace": true}},
         {"id": 2, "name": "three", "type": "relu", "inputs": [2], "outputs": [3], "attrs": {"inplace": true}}]}
EOF

# The graph, and the options, of a row of the table: to what.
what_of() {
	case $1 in
	'whole operators') what=("$squeezenet") ;;
	bands) what=(--bands 4 "$mobilenet") ;;
	'tiles for on-chip memory') what=(--onchip 64KiB "$mobilenet") ;;
	'concats joined') what=(--concat join "$squeezenet") ;;
	'parameters placed') what=(--params "$mobilenet") ;;
	'inputs and outputs external') what=(--external-io "$squeezenet") ;;
	'operators in place') what=(inplace.json) ;;
	state) what=(state.json) ;;
	'a loop') what=("$graphs/loop_conv.json") ;;
	'a loop in bands') what=(--bands 2 "$graphs/loop_conv.json") ;;
	'loops in loops') what=("$graphs/loop_nested.json") ;;
	branches) what=("$graphs/case_of.json") ;;
	'a tensor at a fixed offset') what=(--fix features.0.conv2d=4096 "$squeezenet") ;;
	'a budget below the peak: spills') what=(--arena-budget 1600KiB "$graphs/densenet121.fused.json") ;;
	'a budget below the peak of a loop') what=(--arena-budget 61440 "$graphs/loop_body.json") ;;
	'break nodes') what=(--break 10 "$squeezenet") ;;
	'several cores') what=(--cores 'a=1MiB,b=1MiB' --assign "10=b" --assign '*=a' "$squeezenet") ;;
	'two banks') what=(--banks '512KiB@1000,2MiB@100' "$mobilenet") ;;
	'two banks and state') what=(--banks '128@1000,256@100' state.json) ;;
	*) return 1 ;;
	esac
}
# takes ROW PLANNER CELL: what the cell says is so
takes() {
	local cell=$3 got
	what_of "$1" || { echo "no graph for $1"; return 1; }
	"$ctl" plan --planner "$2" "${what[@]}" -o plan.json >out 2>err
	got=$?
	if [ "$cell" = yes ]; then
		[ $got = 0 ] && grep -q '"offset"' plan.json && return
	else
		[ $got != 0 ] && grep -qF -e "$cell" err && return
	fi
	echo "exit $got:"
	cat err
	return 1
}

rows=0 heads=()
while IFS='|' read -r -a cells; do
	# Cells have a space on each side, and the first one is what is before the line's first bar.
	cells=("${cells[@]:1}")
	cells=("${cells[@]# }")
	cells=("${cells[@]% }")
	case ${cells[0]} in
	'graph or request') heads=("${cells[@]:1}"); continue ;;
	---*) continue ;;
	esac
	rows=$((rows + 1))
	for i in "${!heads[@]}"; do
		cell=${cells[$((i + 1))]}
		[ -n "$cell" ] || continue
		IFS=', ' read -r -a planners <<<"${heads[$i]}"
		for planner in "${planners[@]}"; do
			check "${cells[0]}, $planner: $cell" takes "${cells[0]}" "$planner" "$cell"
		done
	done
done < <(sed -n '/^## What each planner takes/,/^## tile-scheduled/p' "$document" | grep '^|')
check 'all rows were read' [ "$rows" = 19 ]
check_plan
