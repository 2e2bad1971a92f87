#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumemctl_again.sh - npumemctl plan --recompute and --banks: what is planned,
# that verify and show take it, and every refusal.
#
# usage: test_npumemctl_again.sh NPUMEMCTL
#
# TAP. Messages and exit statuses of refusals are compared as a whole.

ctl=$(realpath "$1")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

# refuses STATUS TEXT COMMAND...: exit status, and what the first line of standard error has after the
# name of the program
refuses() { says_first "$1" "npumemctl$2" "${@:3}"; }

# in 1 -> big 8 -> m 2 -> n 8 -> k 2; big, k -> out 1: MR is 11 bytes
cat >shortcut.json <<'EOF'
{"name": "shortcut", "tensors": [
 {"id": 0, "name": "in", "shape": [], "bytes": 1, "kind": "input"},
 {"id": 1, "name": "big", "shape": [], "bytes": 8, "kind": "activation"},
 {"id": 2, "name": "m", "shape": [], "bytes": 2, "kind": "activation"},
 {"id": 3, "name": "n", "shape": [], "bytes": 8, "kind": "activation"},
 {"id": 4, "name": "k", "shape": [], "bytes": 2, "kind": "activation"},
 {"id": 5, "name": "out", "shape": [], "bytes": 1, "kind": "output"}],
"ops": [
 {"id": 0, "name": "make_big", "type": "f", "inputs": [0], "outputs": [1]},
 {"id": 1, "name": "make_m", "type": "f", "inputs": [1], "outputs": [2]},
 {"id": 2, "name": "make_n", "type": "f", "inputs": [2], "outputs": [3]},
 {"id": 3, "name": "make_k", "type": "f", "inputs": [3], "outputs": [4]},
 {"id": 4, "name": "join", "type": "f", "inputs": [1, 4], "outputs": [5]}]}
EOF
plan=("$ctl" plan --planner cosma)

again() {
	"${plan[@]}" --budget 12 --recompute shortcut.json -o again.json >said &&
		grep -q '^recomputed   1 operators run again: 38.10 % more operations' said &&
		grep -q '^  again      make_big, for 1 reader$' said &&
		grep -q '^transfers    0 bytes' said &&
		grep -q '"clones":\[{"op":0,"readers":\[4\]}\]' again.json
}

by_name() {
	"${plan[@]}" --budget MR --recompute=1 shortcut.json -j >said.json &&
		python3 - <<'EOF'
import json
said = json.load(open("said.json"))
assert said["recompute"]["operators"] <= 1, said["recompute"]
assert said["transfers"]["spill"] + said["transfers"]["fill"] <= said["recompute"]["traffic_without"]
assert said["arena"] <= 11
EOF
}

reads_back() {
	"$ctl" verify shortcut.json again.json && "$ctl" show --graph shortcut.json again.json >/dev/null &&
		"${plan[@]}" --budget 12 --recompute shortcut.json -o - | cmp - again.json
}

check "an operator runs again" again
check "budgets by name, and at most so many operators" by_name
check "verify and show read the plan; the same plan the second time" reads_back

# edited TEXT SED_PROGRAM: verify refuses the edited plan
edited() {
	sed "$2" again.json >edited.json
	cmp -s again.json edited.json && { echo "nothing was edited"; return 1; }
	refuses 1 ": edited.json: $1" "$ctl" verify shortcut.json edited.json
}
check "clones: no array" edited "tiling.clones: must be a list" 's/"clones":\[.*\]}\]/"clones":1/'
check "clones: no operator" edited "tiling.clones[0].op: missing" 's/{"op":0,"readers"/{"readers"/'
check "clones: no readers" edited "tiling.clones[0].readers: missing" 's/,"readers":\[4\]//'
check "clones: readers are no array" edited "tiling.clones[0].readers: must be a list" \
	's/"readers":\[4\]/"readers":4/'
check "clones: readers are no ids" edited "tiling.clones[0].readers: must be an integer" \
	's/"readers":\[4\]/"readers":["x"]/'
check "clones: unknown field" edited "tiling.clones[0].x: unknown field" \
	's/"readers":\[4\]/"readers":[4],"x":1/'
clone_error() {
	local text=$1
	sed "$2" again.json >edited.json
	refuses 1 ": shortcut.json: $text" "$ctl" verify shortcut.json edited.json
}
check "clones: no such operator" clone_error "there is no operator 9" 's/{"op":0,"readers"/{"op":9,"readers"/'
check "clones: who is no reader" clone_error "operator 3 reads nothing of operator 0" \
	's/"readers":\[4\]/"readers":[3]/'
check "clones: for nobody" clone_error "operator 0 is to run again for nobody" \
	's/"readers":\[4\]/"readers":[]/'
check "clones: beside operators cut in their own way" clone_error \
	"where operators run again, none is cut in a way of its own" \
	's/"clones":/"onchip":4096,"clones":/;s/"bands":1,//'

check "infeasible" refuses 3 ": shortcut.json: infeasible: join needs 11 bytes, the budget is 9, and\
 running operators again changes nothing of that" "${plan[@]}" --budget 9 --recompute shortcut.json
check "without a budget" refuses 2 " plan: --recompute needs a --budget to save traffic in" \
	"${plan[@]}" --recompute shortcut.json
check "another planner" refuses 2 " plan: --recompute and --banks need --planner cosma" \
	"$ctl" plan --planner cosma-belady --budget 12 --recompute shortcut.json
check "another engine" refuses 2 " plan: --recompute and --banks are of engine search, not of engine belady" \
	"${plan[@]}" --engine belady --budget 12 --recompute shortcut.json
check "banks of another engine" refuses 2 " plan: --recompute and --banks are of engine search, not of engine ilp" \
	"${plan[@]}" --engine ilp --banks 4@10,12@2 shortcut.json
check "a number that is none" refuses 2 " plan: --recompute: '0' is not a number from 1 to 4294967295" \
	"${plan[@]}" --budget 12 --recompute=0 shortcut.json
check "tiles" refuses 1 ": shortcut.json: --recompute is of whole operators: leave out what says how to cut" \
	"${plan[@]}" --budget 12 --bands 2 --recompute shortcut.json
"$ctl" plan shortcut.json --graph-blob graph.blob >/dev/null
check "a graph blob" refuses 1 ": graph.blob: --recompute needs a model: of a graph blob's steps it is\
 not known what they compute" "${plan[@]}" --budget 12 --recompute graph.blob

banks() {
	"${plan[@]}" --banks 4@10,12@2 shortcut.json -o banks.json >said &&
		grep -q '^bank 0       4 bytes at 10 bytes/us: [1-9]' said &&
		grep -q '"banks": \[{"size":4,"bandwidth":10},{"size":12,"bandwidth":2}\]' banks.json &&
		"$ctl" verify shortcut.json banks.json && "$ctl" show --graph shortcut.json banks.json >/dev/null
}
check "two banks" banks

# bad TEXT SED_PROGRAM
bad() {
	sed "$2" banks.json >edited.json
	cmp -s banks.json edited.json && { echo "nothing was edited"; return 1; }
	refuses 1 ": edited.json: $1" "$ctl" verify shortcut.json edited.json
}
check "banks: one only" bad "banks: must be a list of 2" 's/,{"size":12,"bandwidth":2}//'
check "banks: no size" bad "banks[1].size: missing" 's/"size":12,//'
check "banks: no bytes" bad "banks[0].size: must be an integer from 1 to 9223372036854775807" 's/"size":4/"size":0/'
check "banks: no bandwidth" bad "banks[0].bandwidth: must be an integer from 1 to 9223372036854775807" 's/"bandwidth":10/"bandwidth":0/'
check "banks: unknown field" bad "banks[0].x: unknown field" 's/"size":4/"size":4,"x":1/'
check "banks: too small" bad "banks: the arena is larger than both of them" 's/"size":12/"size":1/'
straddles() {
	sed 's/"size":4/"size":5/' banks.json >edited.json
	! "$ctl" verify shortcut.json edited.json 2>err &&
		grep -q '^npumemctl: edited.json: banks: placements\[[0-9]*\] lies in both of them$' err
}
check "banks: a tensor in both" straddles

check "banks: malformed" refuses 2 " plan: --banks: '4@10' is not BYTES@MBPS,BYTES@MBPS, like 256KiB@8000,2MiB@2000" \
	"${plan[@]}" --banks 4@10 shortcut.json
check "banks: bandwidth 0" refuses 2 " plan: --banks: '4@0,12@2' is not BYTES@MBPS,BYTES@MBPS, like 256KiB@8000,2MiB@2000" \
	"${plan[@]}" --banks 4@0,12@2 shortcut.json
check "banks: bandwidth 2^63" refuses 2 \
	" plan: --banks: '4@9223372036854775808,12@2' is not BYTES@MBPS,BYTES@MBPS, like 256KiB@8000,2MiB@2000" \
	"${plan[@]}" --banks 4@9223372036854775808,12@2 shortcut.json
check "banks: size 2^63" refuses 2 \
	" plan: --banks: '4@10,9223372036854775808@2' is not BYTES@MBPS,BYTES@MBPS, like 256KiB@8000,2MiB@2000" \
	"${plan[@]}" --banks 4@10,9223372036854775808@2 shortcut.json
most() {
	"${plan[@]}" --banks 4@9223372036854775807,12@2 shortcut.json -o most.json >/dev/null &&
		"$ctl" verify shortcut.json most.json
}
check "banks: bandwidth 2^63 - 1" most
check "banks and a budget" refuses 2 " plan: --banks and --budget exclude each other" \
	"${plan[@]}" --banks 4@10,12@2 --budget 12 shortcut.json
check "banks: a tensor larger than either" refuses 3 ": shortcut.json: infeasible: make_big has a tensor\
 of 8 bytes (8 B), and no bank has room for it" "${plan[@]}" --banks 7@10,7@2 shortcut.json
check "banks: an operator larger than both" refuses 3 ": shortcut.json: infeasible: join needs 11 bytes\
 (11 B), the budget is 9 (9 B)" "${plan[@]}" --banks 8@10,1@2 shortcut.json
check "banks: least peak" refuses 1 ": shortcut.json: two banks are planned for least traffic, by planner\
 cosma" "${plan[@]}" --banks 4@10,12@2 --objective peak shortcut.json

check_plan
