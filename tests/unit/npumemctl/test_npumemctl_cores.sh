#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumemctl_cores.sh - npumemctl plan --cores and --break: what is planned, that verify and show
# take it, and every refusal.
#
# usage: test_npumemctl_cores.sh NPUMEMCTL
#
# TAP. Messages and exit statuses of refusals are compared as a whole.

ctl=$(realpath "$1")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

refuses() { says_first "$1" "npumemctl$2" "${@:3}"; }

# in 1 -> a 4 -> b 1, in -> c 4 -> d 1; b, d -> out 1
cat >chains.json <<'EOF'
{"name": "chains", "tensors": [
 {"id": 0, "name": "in", "shape": [], "bytes": 1, "kind": "input"},
 {"id": 1, "name": "a", "shape": [], "bytes": 4, "kind": "activation"},
 {"id": 2, "name": "b", "shape": [], "bytes": 1, "kind": "activation"},
 {"id": 3, "name": "c", "shape": [], "bytes": 4, "kind": "activation"},
 {"id": 4, "name": "d", "shape": [], "bytes": 1, "kind": "activation"},
 {"id": 5, "name": "out", "shape": [], "bytes": 1, "kind": "output"}],
"ops": [
 {"id": 0, "name": "make_a", "type": "f", "inputs": [0], "outputs": [1]},
 {"id": 1, "name": "make_b", "type": "f", "inputs": [1], "outputs": [2]},
 {"id": 2, "name": "make_c", "type": "f", "inputs": [0], "outputs": [3]},
 {"id": 3, "name": "make_d", "type": "f", "inputs": [3], "outputs": [4]},
 {"id": 4, "name": "join", "type": "f", "inputs": [2, 4], "outputs": [5]}]}
EOF
plan=("$ctl" plan --planner cosma)
cores=("${plan[@]}" --cores "one=6,two=5")
printf '# the second chain\nmake_c=two\n\n3=two\n' >two.txt

# ------------------------------------------------------------------- cores

two() {
	"${cores[@]}" --assign two.txt --assign '*=one' chains.json -o cores.json >said &&
		grep -q '^planner      cosma, optimal: no plan with these copies moves less, in any order$' said &&
		grep -q '^core         two: 5 bytes; 0 spilled, 0 filled, lower bound 0; a step needs 5 at most$' said &&
		grep -q '^links        2 bytes in 2 copies from core to core$' said &&
		grep -q '"link_copies":\[{"tensor":0,"readers":\[2\]},{"tensor":4,"readers":\[4\]}\]' cores.json &&
		grep -q '^"cores": \[{"name":"one","size":6},{"name":"two","size":5}\],$' cores.json
}
check "two cores" two
reads_back() {
	"$ctl" verify chains.json cores.json && "$ctl" show --graph chains.json cores.json >/dev/null &&
		"${cores[@]}" --assign '*=one' --assign 2=two --assign make_d=two chains.json -o - | cmp - cores.json
}
check "verify and show read the plan; the same plan the second time" reads_back
as_json() {
	"${cores[@]}" --assign two.txt --assign '*=one' chains.json -j >said.json && python3 - <<'EOF'
import json
said = json.load(open("said.json"))
cores = said["cores"]
assert cores["copies"] == 2 and cores["link_bytes"] == 2, cores
assert cores["cores"][1] == {"name": "two", "size": 5, "needed": 5, "spill": 0, "fill": 0, "lower_bound": 0}
assert said["breaks"] is None
EOF
}
check "with -j" as_json
check "a core that is too small" refuses 3 ": chains.json: infeasible: make_c needs 5 bytes (5 B), core 'two' has 4 (4 B)" \
	"${plan[@]}" --cores one=6,two=4 --assign two.txt --assign '*=one' chains.json

check "no sizes" refuses 2 " plan: --cores: 'one,two=5' is not NAME=BYTES,NAME=BYTES, like a=256KiB,b=1MiB, with names of up to 15 bytes" \
	"${plan[@]}" --cores one,two=5 --assign '*=one' chains.json
check "no name" refuses 2 " plan: --cores: '=5' is not NAME=BYTES,NAME=BYTES, like a=256KiB,b=1MiB, with names of up to 15 bytes" \
	"${plan[@]}" --cores =5 --assign '*=one' chains.json
check "a long name" refuses 2 " plan: --cores: '1234567890123456=5' is not NAME=BYTES,NAME=BYTES, like a=256KiB,b=1MiB, with names of up to 15 bytes" \
	"${plan[@]}" --cores 1234567890123456=5 --assign '*=one' chains.json
check "no bytes" refuses 2 " plan: --cores: 'one=0' is not NAME=BYTES,NAME=BYTES, like a=256KiB,b=1MiB, with names of up to 15 bytes" \
	"${plan[@]}" --cores one=0 --assign '*=one' chains.json
check "one name twice" refuses 2 " plan: --cores: there are two named 'one'" \
	"${plan[@]}" --cores one=6,one=5 --assign '*=one' chains.json
check "nine cores" refuses 2 " plan: --cores: there are more than 8" \
	"${plan[@]}" --cores a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1 --assign '*=a' chains.json
check "nothing assigned" refuses 2 " plan: --cores: which one runs which operator? --assign is needed" \
	"${cores[@]}" chains.json
check "assigned to no cores" refuses 2 " plan: --assign needs --cores" "${plan[@]}" --assign '*=one' chains.json
check "another planner" refuses 2 " plan: --cores needs --planner cosma" \
	"$ctl" plan --planner greedy --cores one=6 --assign '*=one' chains.json
check "another engine" refuses 2 " plan: --cores is of engine search, not of engine ilp" \
	"${cores[@]}" --engine ilp --assign '*=one' chains.json
check "cores and a budget" refuses 2 " plan: --cores and --arena-budget exclude each other" \
	"${cores[@]}" --arena-budget 9 --assign '*=one' chains.json
check "cores and banks" refuses 2 " plan: --cores and --banks exclude each other" \
	"${cores[@]}" --banks 4@1,4@2 --assign '*=one' chains.json
check "cores and breaks" refuses 2 " plan: --cores and --break exclude each other" \
	"${cores[@]}" --break make_a --assign '*=one' chains.json
check "cores and operators that run again" refuses 2 " plan: --cores and --recompute exclude each other" \
	"${cores[@]}" --recompute --assign '*=one' chains.json
check "cores and an integer program" refuses 2 " plan: --cores is of the search: not with --emit-lp" \
	"${cores[@]}" --emit-lp x.lp --assign '*=one' chains.json
check "cores and the best way to do concats" refuses 2 " plan: --cores is of one graph: not with --concat best" \
	"${cores[@]}" --concat best --assign '*=one' chains.json
check "cores and the least peak" refuses 2 \
	" plan: --cores are planned for the least traffic, not for --objective peak" \
	"${cores[@]}" --objective peak --assign '*=one' chains.json
check "cores and the least time" refuses 2 \
	" plan: --cores are planned for the least traffic, not for --objective time" \
	"${cores[@]}" --objective time --compute 1 --copy-bandwidth 1 --assign '*=one' chains.json
for order in mpmf tiled; do
	check "cores and --schedule $order" refuses 2 \
		" plan: --cores are planned in a free order, or the graph's: not with --schedule $order" \
		"${cores[@]}" --schedule $order --assign '*=one' chains.json
done
check "tiles" refuses 1 ": chains.json: --cores is of whole operators: leave out what says how to cut" \
	"${cores[@]}" --bands 2 --assign '*=one' chains.json
"$ctl" plan chains.json --graph-blob graph.blob >/dev/null
check "a graph blob" refuses 1 ": graph.blob: --cores needs a model: of a graph blob's steps it is not known which operator they are" \
	"${cores[@]}" --assign '*=one' graph.blob
check "an operator without a core" refuses 1 ": chains.json: --assign: operator 'make_a' has no core" \
	"${cores[@]}" --assign two.txt chains.json
check "a core that runs nothing" refuses 1 ": chains.json: core 'two' runs no operator" \
	"${cores[@]}" --assign '*=one' chains.json
check "no such operator" refuses 1 ": chains.json: --assign: no operator has the name or id 'x'" \
	"${cores[@]}" --assign x=one chains.json
check "no such core" refuses 1 ": chains.json: --assign: there is no core 'x' in --cores" \
	"${cores[@]}" --assign '*=x' chains.json
check "an operator twice" refuses 1 ": chains.json: --assign: 'make_c' is assigned twice" \
	"${cores[@]}" --assign two.txt --assign 2=one chains.json
check "all others twice" refuses 1 ": chains.json: --assign: '*' is assigned twice" \
	"${cores[@]}" --assign '*=one' --assign '*=two' chains.json
check "no such file" refuses 1 ": missing.txt: No such file or directory" \
	"${cores[@]}" --assign missing.txt chains.json
check "a folder" refuses 1 ": .: Is a directory" "${cores[@]}" --assign . chains.json
echo nothing >bad.txt
check "a line that is none" refuses 1 ": chains.json: --assign: 'nothing' is not OP=CORE" \
	"${cores[@]}" --assign bad.txt chains.json
sed 's/make_d/make_c/' chains.json >same.json
check "one name of two operators" refuses 1 \
	": same.json: --assign: operators 2 and 3 are both named 'make_c': give the id" \
	"${cores[@]}" --assign make_c=one same.json

# edited TEXT SED_PROGRAM: verify refuses the edited plan
edited() {
	sed "$2" cores.json >edited.json
	cmp -s cores.json edited.json && { echo "nothing was edited"; return 1; }
	refuses 1 ": $1" "$ctl" verify chains.json edited.json
}
check "copies: no array" edited "edited.json: tiling.link_copies: must be a list" \
	's/"link_copies":\[.*\]}\]/"link_copies":1/'
check "copies: no tensor" edited "edited.json: tiling.link_copies[0].tensor: missing" 's/{"tensor":0,/{/'
check "copies: no readers" edited "edited.json: tiling.link_copies[0].readers: missing" 's/,"readers":\[2\]//'
check "copies: readers are no ids" edited "edited.json: tiling.link_copies[1].readers: must be an integer" \
	's/"readers":\[4\]/"readers":["x"]/'
check "copies: unknown field" edited "edited.json: tiling.link_copies[0].x: unknown field" \
	's/"readers":\[2\]/"readers":[2],"x":1/'
check "copies: no such tensor" edited "chains.json: there is no tensor 9" 's/{"tensor":0,/{"tensor":9,/'
check "copies: who is no reader" edited "chains.json: operator 3 does not read tensor 0" 's/"readers":\[2\]/"readers":[3]/'
check "copies: beside clones" edited \
	"chains.json: where what other cores read is copied, no operator is cut in a way of its own, or runs again, and no carry is copied" \
	's/"link_copies"/"clones":[{"op":0,"readers":[1]}],"link_copies"/'
check "cores: no list" edited "edited.json: cores: must be a list of 1 to 8" 's/^"cores": .*/"cores": 1,/'
check "cores: none" edited "edited.json: cores: must be a list of 1 to 8" 's/^"cores": .*/"cores": [],/'
check "cores: no name" edited "edited.json: cores[0].name: missing" 's/"name":"one",//'
check "cores: an empty name" edited "edited.json: cores[0].name: must have 1 to 15 bytes" 's/"name":"one"/"name":""/'
check "cores: a long name" edited "edited.json: cores[0].name: must have 1 to 15 bytes" \
	's/"name":"one"/"name":"1234567890123456"/'
check "cores: no size" edited "edited.json: cores[1].size: missing" 's/,"size":5//'
check "cores: no bytes" edited "edited.json: cores[1].size: must be an integer from 1 to 1152921504606846975" \
	's/"size":5/"size":0/'
check "cores: unknown field" edited "edited.json: cores[1].x: unknown field" 's/"size":5/"size":5,"x":1/'
check "cores: too small" edited "edited.json: cores: the arena is larger than all of them" 's/"arena": 11/"arena": 12/'
straddles() {
	sed 's/"size":6/"size":9/' cores.json >edited.json
	! "$ctl" verify chains.json edited.json 2>err &&
		grep -q '^npumemctl: edited.json: cores: placements\[[0-9]*\] is not in one of them$' err
}
check "cores: a tensor in two" straddles
# One of two bytes, in pieces of one, of which the second lies in the other core.
strided() {
	sed 's/"bytes": 1, "kind": "input"/"bytes": 2, "kind": "input"/' chains.json >two.json &&
		"${plan[@]}" --cores "one=16,two=16" --assign two.txt --assign '*=one' two.json \
			-o strided.json >/dev/null && python3 - <<'EOF' &&
import json
plan = json.load(open("strided.json"))
piece = next(p for p in plan["placements"] if p["tensor"] == 0)
piece["region"] = {"offset": 0, "length": 1, "count": [2, 1, 1], "stride": [1, 0, 0]}
piece["stride"] = [16 - piece["offset"], 0, 0]
plan["arena"] = max(plan["arena"], 17)
json.dump(plan, open("strided.json", "w"))
EOF
		! "$ctl" verify two.json strided.json 2>err &&
		grep -q '^npumemctl: strided.json: cores: placements\[[0-9]*\] is not in one of them$' err
}
check "cores: a tensor in pieces in two" strided
check "cores: one name twice" edited "edited.json: cores: there are two cores 'one'" \
	's/"name":"two"/"name":"one"/'
check "cores: and banks" edited "edited.json: cores: excludes banks" \
	's/^"cores"/"banks": [{"size":6,"bandwidth":1},{"size":5,"bandwidth":1}],\n"cores"/'
check "a name that JSON has no place for" refuses 1 ": chains.json: core 0: a name is of letters, digits and _-." \
	"${plan[@]}" --cores $'\xff=6,two=5' --assign two.txt --assign $'*=\xff' chains.json
check "an id behind a blank" refuses 1 ": chains.json: --assign: no operator has the name or id ' 3'" \
	"${cores[@]}" --assign ' 3=one' chains.json
check "an id without end" refuses 1 \
	": chains.json: --assign: no operator has the name or id '99999999999999999999'" \
	"${cores[@]}" --assign 99999999999999999999=one chains.json

# ------------------------------------------------------------------- breaks

breaks() { # NAMES: the second chain comes first
	"${plan[@]}" --budget 7 --break "$1" chains.json -o breaks.json >said &&
		grep -q '^breaks       1 break node' said &&
		[ "$(grep -o '"op":[0-9]' breaks.json | head -2 | tr -d '\n')" = '"op":2"op":3' ] &&
		"$ctl" verify chains.json breaks.json
}
check "a break node by name" breaks make_d
check "by id" breaks 3
check "by a tensor" breaks d
several() {
	"${plan[@]}" --budget 7 --break make_c,make_d chains.json -o one.json >said &&
		"${plan[@]}" --budget 7 --break d --break 2 chains.json -o - | cmp - one.json &&
		grep -q '^breaks       2 break nodes' said
}
check "two of them, in either way and order" several
sed 's/"name": "b"/"name": "d"/' chains.json >twice.json
check "a tensor whose name two operators write" refuses 1 \
	": twice.json: --break: operators 1 and 3 both write a tensor named 'd': give the operator's id" \
	"${plan[@]}" --budget 7 --break d twice.json
check "one whose name only one does" prints "breaks       1 break node" \
	"${plan[@]}" --budget 7 --break a twice.json
# in 1 -> b 4, a 4 -> c 1; b, c -> d 2; c, d -> out 1
cat >wide.json <<'EOF'
{"name": "wide", "tensors": [
 {"id": 0, "name": "in", "shape": [], "bytes": 1, "kind": "input"},
 {"id": 1, "name": "a", "shape": [], "bytes": 4, "kind": "activation"},
 {"id": 2, "name": "b", "shape": [], "bytes": 4, "kind": "activation"},
 {"id": 3, "name": "c", "shape": [], "bytes": 1, "kind": "activation"},
 {"id": 4, "name": "d", "shape": [], "bytes": 2, "kind": "activation"},
 {"id": 5, "name": "out", "shape": [], "bytes": 1, "kind": "output"}],
"ops": [
 {"id": 0, "name": "make_b", "type": "f", "inputs": [0], "outputs": [2]},
 {"id": 1, "name": "make_a", "type": "f", "inputs": [0], "outputs": [1]},
 {"id": 2, "name": "make_c", "type": "f", "inputs": [1], "outputs": [3]},
 {"id": 3, "name": "make_d", "type": "f", "inputs": [2, 3], "outputs": [4]},
 {"id": 4, "name": "join", "type": "f", "inputs": [3, 4], "outputs": [5]}]}
EOF
proves() {
	"${plan[@]}" --budget 7 --break make_b wide.json >said &&
		grep -q '^planner      cosma, feasible$' said &&
		grep -q '^breaks       1 break node: no plan whose order is divided there moves less$' said &&
		"${plan[@]}" --budget 7 --break make_b wide.json -j >said.json && python3 - <<'EOF'
import json
said = json.load(open("said.json"))
assert said["breaks"] == {"count": 1, "lower_bound": 8}, said["breaks"]
assert said["status"] == "feasible" and said["optimal"] is None
assert said["cores"] is None
EOF
}
check "what is proved is of orders that are divided there" proves
bound() {
	"${plan[@]}" --budget MR --params --objective time --compute 1 --copy-bandwidth 1 --break make_b \
		wide.json >said && grep -q '^breaks       1 break node' said
}
check "the least time" bound

check "break nodes of another planner" refuses 2 " plan: --break needs --planner cosma" \
	"$ctl" plan --planner cosma-ilp --break make_a chains.json
check "break nodes of another engine" refuses 2 " plan: --break is of engine search, not of engine belady" \
	"${plan[@]}" --engine belady --break make_a chains.json
check "break nodes of a given order" refuses 2 \
	" plan: --break divides an order that the planner chooses: not with --schedule" \
	"${plan[@]}" --fixed-schedule --break make_a chains.json
check "break nodes and banks" refuses 2 " plan: --break and --banks exclude each other" \
	"${plan[@]}" --banks 4@1,4@2 --break make_a chains.json
check "break nodes and operators that run again" refuses 2 " plan: --break and --recompute exclude each other" \
	"${plan[@]}" --budget 9 --recompute --break make_a chains.json
check "break nodes and an integer program" refuses 2 " plan: --break is of the search: not with --emit-lp" \
	"${plan[@]}" --emit-lp x.lp --break make_a chains.json
check "break nodes and the best way to do concats" refuses 2 \
	" plan: --break is of one graph: not with --concat best" "${plan[@]}" --concat best --break make_a chains.json
check "no such node" refuses 1 \
	": chains.json: --break: no operator has the name or id 'x', and none writes a tensor of that name" \
	"${plan[@]}" --break make_a,x chains.json
check "an input" refuses 1 \
	": chains.json: --break: no operator has the name or id 'in', and none writes a tensor of that name" \
	"${plan[@]}" --break in chains.json
check "one name of two nodes" refuses 1 \
	": same.json: --break: operators 2 and 3 are both named 'make_c': give the id" \
	"${plan[@]}" --break make_c same.json
check "a node twice" refuses 1 ": chains.json: break node 'make_a' is given twice" \
	"${plan[@]}" --break make_a,a chains.json
check "nodes that do not depend on one another" refuses 1 \
	": chains.json: break nodes 'make_b' and 'make_d' do not depend on one another: what runs between them is not said" \
	"${plan[@]}" --break make_b,make_d chains.json
check "the last node" refuses 1 ": chains.json: nothing runs behind break node 'join'" \
	"${plan[@]}" --break join chains.json
cat >rows.json <<'EOF'
{"name": "rows", "dtype_bytes": 1, "tensors": [
 {"id": 0, "name": "in", "shape": [1, 2, 4, 4], "bytes": 32, "kind": "input"},
 {"id": 1, "name": "x", "shape": [1, 2, 4, 4], "bytes": 32, "kind": "activation"},
 {"id": 2, "name": "out", "shape": [1, 2, 4, 4], "bytes": 32, "kind": "output"}],
"ops": [
 {"id": 0, "name": "first", "type": "relu", "inputs": [0], "outputs": [1]},
 {"id": 1, "name": "second", "type": "relu", "inputs": [1], "outputs": [2]}]}
EOF
check "tiles of a node" refuses 1 ": rows.json: --break: operator 'first' is 2 steps: break nodes are one" \
	"${plan[@]}" --bands 2 --break first rows.json

check_plan
