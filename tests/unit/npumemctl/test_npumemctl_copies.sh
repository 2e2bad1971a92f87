#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumemctl_copies.sh - npumemctl plan --carry-copies and --instances: what is copied, that
# verify and show take the plan, and every refusal.
#
# usage: test_npumemctl_copies.sh NPUMEMCTL RINGS
#
# TAP. RINGS is a loop whose values rotate with cycles of 2, 3, 5, 7, 11 and 13.

ctl=$(realpath "$1")
rings=$(realpath "$2")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

# refuses STATUS TEXT COMMAND...: exit status, and what the first line of standard error has after the
# name of the program
refuses() { says_first "$1" "npumemctl$2" "${@:3}"; }

cp "$rings" rings.json
# a <- b, b <- a
cat >swap.json <<'EOF2'
{"name": "swap", "tensors": [
 {"id": 0, "name": "in", "shape": [], "bytes": 4, "kind": "input"},
 {"id": 1, "name": "a0", "shape": [], "bytes": 4, "kind": "activation"},
 {"id": 2, "name": "b0", "shape": [], "bytes": 4, "kind": "activation"},
 {"id": 3, "name": "a", "shape": [], "bytes": 4, "kind": "activation"},
 {"id": 4, "name": "b", "shape": [], "bytes": 4, "kind": "activation"},
 {"id": 5, "name": "t", "shape": [], "bytes": 1, "kind": "activation"},
 {"id": 6, "name": "out", "shape": [], "bytes": 1, "kind": "output"}],
"ops": [
 {"id": 0, "name": "first", "type": "f", "inputs": [0], "outputs": [1]},
 {"id": 1, "name": "second", "type": "f", "inputs": [0], "outputs": [2]},
 {"id": 2, "name": "loop", "type": "loop", "carries": [
  {"to": 3, "init": 1, "from": 4}, {"to": 4, "init": 2, "from": 3}],
  "body": [{"id": 3, "name": "look", "type": "f", "inputs": [3, 4], "outputs": [5]}]},
 {"id": 4, "name": "last", "type": "f", "inputs": [3, 4], "outputs": [6]}]}
EOF2

needed() {
	"$ctl" plan rings.json -o rings.plan >said &&
		grep -q '^copies       2 of values that edges carry: 16 bytes if each is taken once; without there is no such plan$' said &&
		[ "$(grep -c '^  copied     what edge [0-9]* carries to v1[13]\.[0-9]*: 8 bytes$' said)" = 2 ] &&
		grep -q '"carry_copies":\[{"edge":[0-9]*,"tensor":[0-9]*},{"edge":[0-9]*,"tensor":[0-9]*}\]' rings.plan
}
check "values are copied where there would be no plan" needed

reads_back() {
	"$ctl" verify rings.json rings.plan && "$ctl" show --graph rings.json rings.plan >/dev/null &&
		"$ctl" plan rings.json -j -o again.plan >said.json && cmp again.plan rings.plan
}
check "verify and show read the plan; the same plan the second time" reads_back

by_all() {
	for planner in nnc cosma; do
		"$ctl" plan --planner $planner rings.json -o other.plan >/dev/null &&
			"$ctl" verify rings.json other.plan || return 1
	done
	"$ctl" plan --bands 2 rings.json -o other.plan >/dev/null && "$ctl" verify rings.json other.plan
}
check "by other planners, and in bands" by_all

as_json() {
	"$ctl" plan swap.json -j >swap.said &&
		"$ctl" plan --instances 4 swap.json -j >copied.said &&
		python3 - <<'EOF2'
import json
said = json.load(open("said.json"))["carry_copies"]
assert said["copies"] == 2 and said["bytes"] == 16 and said["arena_without"] is None, said
assert 420 <= said["instances"] <= 4096, said
assert "carry_copies" not in json.load(open("swap.said"))
said = json.load(open("copied.said"))["carry_copies"]
assert said == {"copies": 3, "bytes": 12, "instances": 4, "arena_without": None}, said
EOF2
}
check "in JSON; and where fewer instances are asked for" as_json

never() {
	refuses 1 ": rings.json: block 1 (from turn): its carried tensors (h, v2.0, v2.1, v3.0) rotate\
 through more places than 4096 instances of blocks, or 1048576 positions, or 262144 tensors of all\
 instances, can tell apart" "$ctl" plan --carry-copies never rings.json
}
check "never" never
check "operators that are cut in ways of their own: nothing is copied" refuses 1 ": rings.json: block 1\
 (from turn[0/4]): its carried tensors (h, v2.0, v2.1, v3.0) rotate through more places than 4096 instances\
 of blocks, or 1048576 positions, or 262144 tensors of all instances, can tell apart" \
	"$ctl" plan --tile turn=1 rings.json
check "as few instances as blocks, but no block for the copies" refuses 1 ": swap.json: block 2 (from\
 last): its carried tensors (a, b) rotate through more places than 3 instances of blocks, or 1048576\
 positions, or 262144 tensors of all instances, can tell apart" "$ctl" plan --instances 3 swap.json
check "fewer instances than blocks" refuses 1 ": swap.json: the graph has 3 blocks: a plan has at most 2\
 instances of blocks" "$ctl" plan --instances 2 swap.json

smaller() {
	"$ctl" plan --carry-copies smaller swap.json >said && ! grep -q ^copies said
}
check "smaller: a plan at its bound has no copies" smaller
check "smaller: a graph blob" refuses 1 ": swap.blob: --carry-copies smaller needs a model: a graph blob is\
 cut into steps already" \
	sh -c "'$ctl' plan swap.json --graph-blob swap.blob >said && '$ctl' plan --carry-copies smaller swap.blob"
check "smaller: with --onchip" refuses 1 ": swap.json: --carry-copies smaller is of operators that are cut\
 alike: not with --tile, --patches and --onchip" "$ctl" plan --carry-copies smaller --onchip 4096 swap.json
check "smaller: with --pareto" refuses 2 " plan: --carry-copies smaller compares plans: not with --pareto,\
 --emit-lp or a budget by name" \
	"$ctl" plan --planner tile-scheduled --pareto --carry-copies smaller swap.json
check "never, and instances" refuses 2 " plan: --instances has values copied, --carry-copies never forbids it" \
	"$ctl" plan --carry-copies never --instances 9 swap.json
check "too many instances" refuses 2 " plan: --instances: '4097' is not a number from 1 to 4096" \
	"$ctl" plan --instances 4097 swap.json

"$ctl" plan --instances 4 swap.json -o swap.plan >/dev/null || exit 1
# edited TEXT SED_PROGRAM: verify refuses the edited plan
edited() {
	sed "$2" swap.plan >edited.json
	cmp -s swap.plan edited.json && { echo "nothing was edited"; return 1; }
	refuses 1 ": $1" "$ctl" verify swap.json edited.json
}
check "copies: no array" edited "edited.json: tiling.carry_copies: must be a list" \
	's/"carry_copies":\[[^]]*\]/"carry_copies":1/'
check "copies: no edge" edited "edited.json: tiling.carry_copies[0].edge: missing" \
	's/"carry_copies":\[{"edge":[0-9]*,/"carry_copies":[{/'
check "copies: no tensor" edited "edited.json: tiling.carry_copies[0].tensor: missing" \
	's/\("carry_copies":\[{"edge":[0-9]*\),"tensor":[0-9]*/\1/'
check "copies: unknown field" edited "edited.json: tiling.carry_copies[0].x: unknown field" \
	's/"carry_copies":\[{/"carry_copies":[{"x":1,/'
check "copies: no such edge" edited "swap.json: there is no edge 77, which would carry to tensor 9" \
	's/"carry_copies":\[{"edge":[0-9]*,"tensor":[0-9]*/"carry_copies":[{"edge":77,"tensor":9/'
check "copies: no such carry" edited "swap.json: edge 1 carries nothing to a tensor with id 0" \
	's/"carry_copies":\[{"edge":[0-9]*,"tensor":[0-9]*/"carry_copies":[{"edge":1,"tensor":0/'
check "copies: beside operators cut in their own way" edited "swap.json: where what edges carry is copied,\
 no operator is cut in a way of its own, or runs again" \
	's/"carry_copies":/"onchip":4096,"carry_copies":/;s/"bands":1,//'

check_plan
