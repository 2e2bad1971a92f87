#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumemctl_placing.sh - what npumemctl plan is told of single tensors:
# external, fixed, aliases; the peak's report; plans for TensorFlow Lite Micro.
#
# usage: test_npumemctl_placing.sh NPUMEMCTL TFLITE_MODEL
#
# TAP. Every message and exit status of a refusal is compared as a whole.
# TFLITE_MODEL: tests/fuzz/corpus/tflite/offline.tflite: in 192 -> c 32 -> out 32
# bytes, with an offline plan in, c, out at 0, 192, 0.

ctl=$(realpath "$1") model=$(realpath "$2")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

# refuses TEXT COMMAND...: exit status 1, and all of standard error
refuses() { says 1 "npumemctl: $1" "${@:2}"; }

# in 4 -> a 10 -> b 6 -> out 2; part: bytes 2 to 5 of b; two tensors named "twin"
cat >chain.json <<'EOF'
{"name": "chain", "tensors": [
 {"id": 0, "name": "in", "shape": [], "bytes": 4, "kind": "input"},
 {"id": 1, "name": "a", "shape": [], "bytes": 10, "kind": "activation"},
 {"id": 2, "name": "b", "shape": [], "bytes": 6, "kind": "activation", "align": 2},
 {"id": 3, "name": "out", "shape": [], "bytes": 2, "kind": "output"},
 {"id": 4, "name": "part", "shape": [], "bytes": 4, "kind": "activation",
  "alias_of": 2, "alias_offset": 2},
 {"id": 5, "name": "w", "shape": [], "bytes": 4, "kind": "parameter"},
 {"id": 6, "name": "twin", "shape": [], "bytes": 1, "kind": "parameter"},
 {"id": 7, "name": "twin", "shape": [], "bytes": 1, "kind": "parameter"}],
"ops": [
 {"id": 0, "name": "f", "type": "f", "inputs": [0, 5, 6, 7], "outputs": [1]},
 {"id": 1, "name": "g", "type": "g", "inputs": [1], "outputs": [2]},
 {"id": 2, "name": "h", "type": "h", "inputs": [4], "outputs": [3]}]}
EOF

# is PYTHON OPTION...: the expression holds of the summary s and of the plan JSON p
is() {
	local test=$1
	shift
	"$ctl" plan -j -o plan.json "$@" >summary.json || return 1
	python3 -c '
import json, sys
s, p = json.load(open("summary.json")), json.load(open("plan.json"))
at = {x["tensor"]: x["offset"] for x in p["placements"]}
assert eval("(" + sys.argv[1] + ")"), (s, p)' "$test"
}

# ------------------------------------------------ TFLite models with control flow
folder=$(dirname "$model")
flows() {
	local f
	for f in while while_nested while_state if call streaming; do
		"$ctl" plan "$folder/$f.tflite" -o p.json && "$ctl" verify "$folder/$f.tflite" p.json &&
			"$ctl" show --graph "$folder/$f.tflite" p.json >text || return 1
	done
}
check 'loops, branches, calls and variables of TFLite models: planned and verified' flows
imports() {
	"$ctl" import "$folder/while.tflite" >text &&
		grep -qx 'subgraphs    3; the others stand in the graph 2 times: 1 loops, 0 branches' text &&
		"$ctl" import -j "$folder/streaming.tflite" |
		grep -q '"instances":0,"loops":0,"branches":0,"variables":1,'
}
check 'import says what of them there is' imports
check "plan --emit-tflite of several subgraphs" refuses "$folder/call.tflite: --emit-tflite: the model has 2 subgraphs: TensorFlow Lite Micro would apply the offsets to each of them" \
	"$ctl" plan "$folder/call.tflite" --emit-tflite out.tflite

# ---------------------------------------------------------------- aliases
check 'a plan places the base of an alias' is 'sorted(at) == [0, 1, 2, 3]' chain.json
verified() { "$ctl" plan chain.json -o p.json && "$ctl" verify chain.json p.json; }
check 'such a plan verifies' verified
shown() {
	"$ctl" plan chain.json -o p.json && "$ctl" show --graph chain.json p.json >text &&
		grep -q '^  (id=4): bytes 2 to 5 of b: part$' text
}
check 'show says where an alias is' shown

# in 4 -> x 8 -> relu, in place: y 8
cat >relu.json <<'EOF'
{"name": "relu", "tensors": [
 {"id": 0, "name": "in", "shape": [], "bytes": 4, "kind": "input"},
 {"id": 1, "name": "x", "shape": [], "bytes": 8, "kind": "activation"},
 {"id": 2, "name": "y", "shape": [], "bytes": 8, "kind": "output"}],
"ops": [
 {"id": 0, "name": "f", "type": "f", "inputs": [0], "outputs": [1]},
 {"id": 1, "name": "g", "type": "relu", "inputs": [1], "outputs": [2],
  "attrs": {"inplace": true}}]}
EOF
check 'an operator works in place' is 'at[1] == at[2] and s["arena"] == 12 == s["lower_bound"]' relu.json
# Of the two of them one has the bytes: no "!" for bytes that two tensors have.
drawn() {
	"$ctl" plan relu.json -o p.json && "$ctl" verify relu.json p.json &&
		"$ctl" show --graph relu.json --width 8 p.json >text && cat text &&
		grep -q '^    1: .*2222.* (1k) g$' text && ! grep -q '!' text
}
check 'show draws what works in place' drawn

# --------------------------------------------------------------- external
check '--external leaves tensors out' \
	is 'at.keys() == {2, 3} and s["arena"] == 6 and p["external"] == [0, 1]' \
	--external a --external in chain.json
check '--external takes ids' is 'at.keys() == {0, 2, 3}' --external 1 chain.json
external_names() { "$ctl" plan --external a chain.json | grep -q '^external     a$'; }
check 'external tensors are named' external_names
external_blob() {
	"$ctl" plan --external a chain.json --graph-blob g.bin --blob p.bin &&
		"$ctl" verify g.bin p.bin
}
check 'external tensors in blobs' external_blob
# The plan says what is external, so it fits the model that does not say it.
external_json() {
	"$ctl" plan --external a chain.json -o e.json && "$ctl" verify chain.json e.json &&
		"$ctl" show --graph chain.json e.json >shown && grep -q 'external.*: a$' shown
}
check 'external tensors in plan JSON' external_json
check 'external and fixed' refuses \
	"chain.json: --fix: 'a' cannot be both external and at a fixed offset of the arena" \
	"$ctl" plan --external a --fix a=0 chain.json
sed 's/"name": "a", /&"fixed_offset": 0, /' chain.json >fixed.json
check 'external, and fixed by the graph' refuses \
	"fixed.json: --external: 'a' cannot be both external and at a fixed offset of the arena" \
	"$ctl" plan --external a fixed.json
check 'an alias is not external' refuses "chain.json: --external: 'part' is part of 'b', which has the bytes" \
	"$ctl" plan --external part chain.json
check 'no such tensor' refuses "chain.json: --external: no tensor has the name or id 'x'" \
	"$ctl" plan --external x chain.json
check 'no such id' refuses "chain.json: --external: no tensor has the name or id '8'" \
	"$ctl" plan --external 8 chain.json
check 'two of one name' refuses \
	"chain.json: --external: tensors 6 and 7 are both named 'twin': give the id" \
	"$ctl" plan --external twin chain.json

# ------------------------------------------------------------------ fixed
check '--fix' is 'at[1] == 32 and at[3] == 64 and s["arena"] == 66 == s["lower_bound"]' \
	--fix a=32 --fix out=64 chain.json
check 'fixed offsets of the graph' is 'at[1] == 0' fixed.json
check '--fix without offset' refuses "chain.json: --fix: 'a' is not NAME=OFFSET" \
	"$ctl" plan --fix a chain.json
check '--fix with a bad offset' refuses "chain.json: --fix: 'a=-1' is not NAME=OFFSET" \
	"$ctl" plan --fix a=-1 chain.json
check '--fix of no tensor' refuses "chain.json: --fix: no tensor has the name or id 'x'" \
	"$ctl" plan --fix x=0 chain.json
check '--fix not aligned' refuses \
	"chain.json: --fix: 3 is not a multiple of the alignment of 'b', 2" \
	"$ctl" plan --fix b=3 chain.json
check '--fix of a parameter' refuses \
	"chain.json: --fix: 'w' is a parameter, which only --params places" \
	"$ctl" plan --fix w=0 chain.json
check '--fix of a parameter that is placed' is 'at[5] == 40' --params --fix w=40 chain.json
check '--fix against the graph' refuses "fixed.json: --fix: 'a' has fixed offset 0 already, not 8" \
	"$ctl" plan --fix a=8 fixed.json
check '--fix of an alias' refuses "chain.json: --fix: 'part' is part of 'b', which has the bytes" \
	"$ctl" plan --fix part=0 chain.json
check 'two fixed ones that are live together' refuses \
	"chain.json: fixed offsets collide: a at 0, 10 bytes, and b at 8, 6 bytes, are live at once" \
	"$ctl" plan --fix a=0 --fix b=8 chain.json
check 'fixed beyond the budget: no planner finds a plan' says 3 \
	"npumemctl: chain.json: a: 10 bytes at fixed offset 32 are beyond the budget of 40 bytes" \
	"$ctl" plan --fix a=32 --arena-budget 40 chain.json
check 'fixed against --align' refuses \
	"chain.json: a: fixed offset 8 is not a multiple of the alignment 16" \
	"$ctl" plan --fix a=8 --align 16 chain.json

# ------------------------------------------------------------------- peak
check 'the peak' is '[(t["name"], t["bytes"]) for t in s["peak"]["tensors"]] == [("a", 10), ("b", 6)]
	and all("if_external" not in t for t in s["peak"]["tensors"])' chain.json
# Without a: b and out, 6, since only part of b lives with out; without b: in and a, 14.
check '--report' is '[t["if_external"] for t in s["peak"]["tensors"]] ==
	[{"arena": 6, "lower_bound": 6}, {"arena": 14, "lower_bound": 14}]' --report chain.json
report() {
	"$ctl" plan --report chain.json >text && cat text &&
		grep -q '^peak         position 1 (g): a 10 + b 6 bytes$' text &&
		grep -q '^  if external  a: arena 6 bytes, 10 bytes less; lower bound 10 bytes less$' text
}
check '--report for people' report

# ----------------------------------------------------------------- TFLite
# offsets FILE: of the model's offline plan, as its fixed offsets
offsets() {
	"$ctl" import "$1" -o - | python3 -c '
import json, sys
print(*[t.get("fixed_offset", -1) for t in json.load(sys.stdin)["tensors"]])'
}
kept() {
	[ "$(offsets "$model")" = '0 -1 -1 192 0' ] || return 1
	"$ctl" plan "$model" --emit-tflite out.tflite && cmp out.tflite "$model"
}
check 'an offline plan is honoured, and written as it was' kept
# The metadata loses its name, so that the model has no plan.
sed 's/OfflineMemoryAllocation/XfflineMemoryAllocation/' "$model" >bare.tflite
added() {
	[ "$(offsets bare.tflite)" = '-1 -1 -1 -1 -1' ] || return 1
	"$ctl" plan bare.tflite -j -o plan.json --emit-tflite new.tflite >summary.json || return 1
	python3 - "$(offsets new.tflite)" <<-'EOF' || return 1
		import json, sys
		at = {p["tensor"]: p["offset"] for p in json.load(open("plan.json"))["placements"]}
		assert [at.get(i, -1) for i in range(5)] == [int(x) for x in sys.argv[1].split()]
		assert all(o % 16 == 0 for o in at.values()) and len(at) == 3, at
		assert json.load(open("summary.json"))["alignment"] == 16
	EOF
	"$ctl" plan new.tflite --emit-tflite again.tflite && cmp new.tflite again.tflite
}
check 'a plan is added to a model, and kept' added
tensors() { "$ctl" import "$1" -o - | sed 's/"fixed_offset":[0-9]*,//; s/,"fixed_offset":[0-9]*//'; }
same() { tensors bare.tflite >a && sed 's/"name":"new"/"name":"bare"/' <(tensors new.tflite) | cmp - a; }
check 'all else of the model is the same' same
external_tflite() {
	"$ctl" plan bare.tflite --external c --emit-tflite e.tflite &&
		[ "$(offsets e.tflite)" = '0 -1 -1 -1 0' ]
}
check 'external tensors are left to TensorFlow Lite Micro' external_tflite
check '--emit-tflite of graph JSON' refuses \
	'chain.json: --emit-tflite: this is graph JSON, not a TFLite model' \
	"$ctl" plan chain.json --emit-tflite x.tflite
whole_only='--emit-tflite: TensorFlow Lite Micro runs whole operators and keeps parameters outside the arena: leave out --params and what says how to cut'
check '--emit-tflite with bands' refuses "bare.tflite: $whole_only" \
	"$ctl" plan bare.tflite --bands 2 --emit-tflite x.tflite
check '--emit-tflite with parameters' refuses "bare.tflite: $whole_only" \
	"$ctl" plan bare.tflite --params --emit-tflite x.tflite
check '--emit-tflite to a full disk' refuses '/dev/full: No space left on device' \
	"$ctl" plan bare.tflite --emit-tflite /dev/full
check 'a fixed offset that TensorFlow Lite Micro cannot have' refuses \
	'bare.tflite: c: fixed offset 8 is not a multiple of the alignment 16' \
	"$ctl" plan bare.tflite --fix c=8 --emit-tflite x.tflite

check_plan
