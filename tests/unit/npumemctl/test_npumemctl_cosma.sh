#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumemctl_cosma.sh - npumemctl plan --planner cosma: budgets, orders, where
# inputs start, what there is when there is no plan, and what is refused.
#
# usage: test_npumemctl_cosma.sh NPUMEMCTL GRAPHS
#
# TAP. Every message and exit status of a refusal is compared as a whole.
# GRAPHS: tests/graphs.

ctl=$(realpath "$1") graphs=$(realpath "$2")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

# is PYTHON OPTION...: the expression holds of the summary s and of the plan JSON p
is() {
	local test=$1
	shift
	"$ctl" plan -j -o plan.json --planner cosma "$@" >summary.json || return 1
	python3 -c '
import json, sys
s, p = json.load(open("summary.json")), json.load(open("plan.json"))
t = s["transfers"]
kinds = [next(iter(x)) for x in p["schedule"]]
assert eval("(" + sys.argv[1] + ")"), (s, p)' "$test"
}

# in 4 -> a 4, b 4; a -> c 6; b, c -> out 1: M_R 12, M_P 14. w 2: b's alone
cat >diamond.json <<'JSON'
{"name": "diamond", "tensors": [
 {"id": 0, "name": "in", "shape": [], "bytes": 4, "kind": "input"},
 {"id": 1, "name": "a", "shape": [], "bytes": 4, "kind": "activation"},
 {"id": 2, "name": "b", "shape": [], "bytes": 4, "kind": "activation"},
 {"id": 3, "name": "c", "shape": [], "bytes": 6, "kind": "activation"},
 {"id": 4, "name": "out", "shape": [], "bytes": 1, "kind": "output"},
 {"id": 5, "name": "w", "shape": [], "bytes": 2, "kind": "parameter"}],
"ops": [
 {"id": 10, "name": "make_a", "type": "f", "inputs": [0], "outputs": [1]},
 {"id": 11, "name": "make_b", "type": "f", "inputs": [0, 1, 5], "outputs": [2]},
 {"id": 12, "name": "make_c", "type": "f", "inputs": [1], "outputs": [3]},
 {"id": 13, "name": "join", "type": "f", "inputs": [2, 3], "outputs": [4]}]}
JSON

# ---------------------------------------------------------------- plans
check 'least traffic within M_R' is 't["spill"] == t["fill"] == 4 and t["compulsory"] == 5 and
 t["lower_bound"] == 8 and t["gap"] == 0 and s["status"] == "optimal" and s["arena"] == 12 and
 p["traffic"] == {"spill": 4, "fill": 4, "compulsory": 5, "lower_bound": 8} and
 p["tiling"]["inputs"] == "host" and kinds.count("spill") == kinds.count("fill") == 1' \
	--budget MR diamond.json
check 'within M_H as well' is 't["spill"] + t["fill"] == 8 and s["arena"] <= 13' \
	--budget MH diamond.json
check 'none within M_P' is 't["spill"] + t["fill"] == 0 and s["arena"] == 14' \
	--budget MP diamond.json
check 'a budget in bytes, by its other name' is 't["spill"] + t["fill"] == 8' \
	--arena-budget 12 diamond.json
check 'parameters are loaded' is 's["arena"] == 14 and t["compulsory"] == 7 and
 {"load": 5}.items() <= p["schedule"][kinds.index("load", kinds.index("load") + 1)].items()' \
	--params --budget MR diamond.json
check 'resident inputs are not' is '"load" not in kinds and p["tiling"]["inputs"] == "resident"' \
	--inputs resident --budget MR diamond.json
check 'least peak' is 's["arena"] == 14 and t["spill"] == 0' --objective peak diamond.json
check 'a fixed schedule' is '[x["op"] for x in p["schedule"] if "op" in x] == [10, 11, 12, 13]' \
	--fixed-schedule --budget MR diamond.json
check 'the order of least peak' is 't["spill"] + t["fill"] >= 8' --schedule mpmf --budget MR \
	diamond.json
# tiled ORDER WITHIN TEST: single rows of a network in this order, verified; bytes moved are MOVED
tiled() {
	local model=$graphs/mobilenet_v1_025.fused.json
	is "s['arena'] <= $2 and ($3)" --rows 1 --budget "$2" --work 20000000 --schedule "$1" "$model" &&
		"$ctl" verify "$model" plan.json
}
# What is between two layers is spilled, or rows take turns; in less than these need less is.
check 'rows in layers move' tiled default 65536 't["spill"] + t["fill"] > 850000'
check 'rows that take turns do not' tiled tiled 40960 't["spill"] + t["fill"] == 0 and
 s["optimal"] == "no plan in this order of the steps moves less within the budget"'
check 'but where they need more' tiled tiled 24576 '0 < t["spill"] + t["fill"] < 400000'
tiled_again() {
	cp plan.json first.json && tiled tiled 24576 True && cmp plan.json first.json
}
check 'the same bytes again' tiled_again
for engine in belady greedy; do
	check "engine $engine" is "s['planner'] == 'cosma-$engine' and t['spill'] + t['fill'] >= 8" \
		--engine $engine --budget MR diamond.json
done
search() {
	is 's["planner"] == "cosma"' --engine search --budget MR diamond.json &&
		mv plan.json search.json && is 'True' --budget MR diamond.json &&
		cmp plan.json search.json
}
check 'engine search is its own; the same input gives the same bytes' search
verified() {
	"$ctl" plan --planner cosma --budget MR --params diamond.json -o plan.json --blob plan.bin \
		--graph-blob graph.bin &&
		"$ctl" verify diamond.json plan.json && "$ctl" verify graph.bin plan.bin &&
		"$ctl" verify --params --inputs host diamond.json plan.bin
}
check 'such plans verify, as JSON and as blob' verified
# Of tiles with gaps each run of bytes is aligned; what is moved is their bytes alone.
aligned() {
	"$ctl" plan --planner cosma --align 64 --rows 7 --columns 14 --work 100000 "$@" \
		"$graphs/mobilenet_v1_025.fused.json" -o aligned.json >/dev/null &&
		"$ctl" verify "$graphs/mobilenet_v1_025.fused.json" aligned.json
}
check 'tiles with gaps, each run of bytes aligned' aligned
check 'the same, with spills' aligned --budget MR
shown() {
	"$ctl" show --graph diamond.json plan.json >show.txt && grep -q ' store out$' show.txt &&
		"$ctl" show --html plan.html --graph diamond.json plan.json && [ -s plan.html ]
}
check 'and are drawn' shown
of_blob() {
	"$ctl" plan -j --planner cosma --budget 14 graph.bin >summary.json &&
		grep -q '"status":"optimal"' summary.json
}
check 'a graph blob is planned without its model' of_blob
report() {
	"$ctl" plan --planner cosma --budget MR diamond.json >report.txt &&
		grep -qx 'transfers    8 bytes: 4 spilled, 4 filled; lower bound 8, gap 0.00 %' report.txt &&
		grep -qx '  moved      b: spilled 4, filled 4 bytes' report.txt
}
check 'the report says what moves' report
program() {
	"$ctl" plan --planner cosma --budget MR --emit-lp p.lp diamond.json && grep -qx Minimize p.lp &&
		grep -qx End p.lp
}
check '--emit-lp' program

# ------------------------------- parts of a tensor that are no multiples of its alignment
# As a whole y takes 8 bytes; its parts, bytes 0 to 5 and 6 to 7, 12 if each is aligned.
cat >parts.json <<'JSON'
{"name": "parts", "tensors": [
 {"id": 0, "name": "x", "shape": [], "bytes": 4, "kind": "input"},
 {"id": 1, "name": "y", "shape": [], "bytes": 8, "kind": "activation", "align": 4},
 {"id": 2, "name": "part", "shape": [], "bytes": 6, "kind": "activation", "alias_of": 1, "alias_offset": 0},
 {"id": 3, "name": "z", "shape": [], "bytes": 4, "kind": "activation", "align": 4},
 {"id": 4, "name": "out", "shape": [], "bytes": 4, "kind": "output", "align": 4}],
"ops": [
 {"id": 0, "name": "f", "type": "f", "inputs": [0], "outputs": [1]},
 {"id": 1, "name": "g", "type": "f", "inputs": [2], "outputs": [3]},
 {"id": 2, "name": "h", "type": "f", "inputs": [1, 3], "outputs": [4]}]}
JSON
unaligned() { # BUDGET OPTION...: there is a plan that has y whole; none is refuted
	local budget=$1
	shift
	"$ctl" plan --planner exact --budget "$budget" "$@" parts.json -o exact.json >/dev/null &&
		"$ctl" verify parts.json exact.json || return 1
	says_first 4 "npumemctl: parts.json: unknown: there is no plan within $budget bytes ($budget B) that \
aligns each part of a tensor which steps use apart; others are not searched" \
		"$ctl" plan --planner cosma --budget "$budget" "$@" parts.json
}
check 'parts that are not aligned: nothing is infeasible' unaligned 16
check 'nor the least peak' is \
	's["arena"] > 16 and s["lower_bound"] == 0 and s["status"] == "feasible" and t["spill"] == 0' \
	--objective peak parts.json
cat >moved.json <<'JSON'
{"name": "moved", "tensors": [
 {"id": 0, "name": "x", "shape": [], "bytes": 1, "kind": "input"},
 {"id": 1, "name": "y", "shape": [], "bytes": 2, "kind": "activation"},
 {"id": 2, "name": "z", "shape": [], "bytes": 3, "kind": "activation"},
 {"id": 3, "name": "u", "shape": [], "bytes": 1, "kind": "activation"},
 {"id": 4, "name": "out", "shape": [], "bytes": 1, "kind": "output"},
 {"id": 5, "name": "part", "shape": [], "bytes": 1, "kind": "activation", "alias_of": 1, "alias_offset": 1}],
"ops": [
 {"id": 0, "name": "f", "type": "f", "inputs": [0], "outputs": [1]},
 {"id": 1, "name": "g", "type": "f", "inputs": [5, 0], "outputs": [2]},
 {"id": 2, "name": "h", "type": "f", "inputs": [0, 1, 2], "outputs": [3], "attrs": {"inplace": true}},
 {"id": 3, "name": "k", "type": "f", "inputs": [0, 3, 1], "outputs": [4], "attrs": {"inplace": true}}]}
JSON
in_nine() { "$ctl" plan --align 2 --budget 9 moved.json; }
check 'there is a plan that moves nothing' in_nine
check 'optimal is none that does' is \
	't["spill"] > 0 and s["status"] == "feasible" and "gap" not in t and s["lower_bound"] == 0' \
	--inputs resident --align 2 --budget 9 moved.json
check 'parts that are aligned: proved' is 's["arena"] == 16 and s["status"] == "optimal"' \
	--objective peak <(sed '/"part"/s/"bytes": 6/"bytes": 4/' parts.json)

# ---------------------------------------------------------------- no plan
infeasible() {
	rm -f plan.json
	says_first 3 'npumemctl: diamond.json: infeasible: make_b needs 12 bytes (12 B), the budget is 11 (11 B)' \
		"$ctl" plan -j --planner cosma --budget 11 diamond.json -o plan.json &&
		[ ! -e plan.json ] &&
		[ "$(cat said.out)" = '{"graph":"diamond","planner":"cosma","status":"infeasible","budget":11,"needed":12,"needed_by":{"op":11,"name":"make_b"},"ended_by":null}' ]
}
check 'infeasible: status 3, what needs most, nothing written' infeasible
no_peak() {
	rm -f plan.json
	says_first 3 'npumemctl: diamond.json: without spilling 14 bytes are needed, the budget is 13, the lower bound 14' \
		"$ctl" plan -j --planner cosma --objective peak --budget 13 diamond.json -o plan.json &&
		[ ! -e plan.json ] &&
		[ "$(cat said.out)" = '{"graph":"diamond","planner":"cosma","status":"infeasible","budget":13,"needed":14,"needed_by":null,"ended_by":null}' ]
}
check 'least peak above the budget: status 3' no_peak
# Linear allocation finds no place for y, and there is no memory to search.
cat >gap.json <<'JSON'
{"name": "gap", "tensors": [
 {"id": 0, "name": "x", "shape": [], "bytes": 1, "kind": "input"},
 {"id": 1, "name": "y", "shape": [], "bytes": 8, "kind": "input", "align": 8},
 {"id": 2, "name": "z", "shape": [], "bytes": 1, "kind": "output"}],
"ops": [{"id": 0, "name": "f", "type": "f", "inputs": [0, 1], "outputs": [2]}]}
JSON
unknown() {
	rm -f plan.json
	says_first 4 'npumemctl: gap.json: unknown: no plan within 10 bytes was found before the limits of work, memory or time' \
		"$ctl" plan -j --planner cosma --budget MR --memory 1 gap.json -o plan.json &&
		[ ! -e plan.json ] &&
		[ "$(cat said.out)" = '{"graph":"gap","planner":"cosma","status":"unknown","budget":10,"ended_by":"memory"}' ]
}
check 'unknown: status 4, nothing written' unknown
check 'a search that is ended at once has one' prints 'cosma, optimal' \
	"$ctl" plan --planner cosma --budget MR --work 1 gap.json
# Alignments leave a gap that the bound does not know.
cat >gaps.json <<'JSON'
{"name": "gaps", "tensors": [
 {"id": 0, "name": "x", "shape": [], "bytes": 1, "kind": "input", "align": 8},
 {"id": 1, "name": "y", "shape": [], "bytes": 1, "kind": "input", "align": 8},
 {"id": 2, "name": "z", "shape": [], "bytes": 1, "kind": "output", "align": 8}],
"ops": [{"id": 0, "name": "f", "type": "f", "inputs": [0, 1], "outputs": [2]}]}
JSON
peak_unknown() {
	says_first 4 'npumemctl: gaps.json: without spilling 17 bytes are needed, the budget is 16, the lower bound 3' \
		"$ctl" plan -j --planner cosma --objective peak --budget 16 gaps.json &&
		[ "$(cat said.out)" = '{"graph":"gaps","planner":"cosma","status":"unknown","budget":16,"ended_by":null}' ]
}
check 'least peak above the budget, and that is not proved: status 4' peak_unknown
check 'it is there without the limit' is 's["arena"] == 10 and s["status"] == "optimal"' \
	--budget MR gap.json

# ---------------------------------------------------------------- time
# takes MAKESPAN COMPUTE COPY BOUND OPTION...: of steps of 1 byte a us, transfers of 2
takes() {
	local wants="$1 $2 $3 $4"
	shift 4
	"$ctl" plan -j --chip-bandwidth 1 --copy-bandwidth 2 "$@" >summary.json || return 1
	python3 -c '
import json, sys
s = json.load(open("summary.json"))
t = s["time"]
got = " ".join(str(t[k] / 1000000) for k in ("makespan", "compute", "copy", "lower_bound"))
assert got == sys.argv[1], (got, sys.argv[1])
assert t["stall"] == t["makespan"] - t["compute"] and t["gap"] >= 0' "$wants"
}
# make_a 8, make_b 12, make_c 10, join 11
check 'a plan without transfers takes its steps' takes 41.0 41.0 0.0 41.0 diamond.json
# What is loaded first, and stored last, takes 2.5; c is made where b was, and b comes back behind it
check 'transfers beside steps' takes 47.5 41.0 6.5 43.5 --planner cosma --budget MR diamond.json
check 'no room for earlier ones' takes 47.5 41.0 6.5 43.5 --planner cosma --budget MR \
	--objective time diamond.json
# Three operators of 12, each with weights that take 4
cat >chain.json <<'JSON'
{"name": "chain", "tensors": [
 {"id": 0, "name": "in", "shape": [], "bytes": 2, "kind": "input"},
 {"id": 1, "name": "a", "shape": [], "bytes": 2, "kind": "activation"},
 {"id": 2, "name": "b", "shape": [], "bytes": 2, "kind": "activation"},
 {"id": 3, "name": "out", "shape": [], "bytes": 2, "kind": "output"},
 {"id": 4, "name": "u", "shape": [], "bytes": 8, "kind": "parameter"},
 {"id": 5, "name": "v", "shape": [], "bytes": 8, "kind": "parameter"},
 {"id": 6, "name": "w", "shape": [], "bytes": 8, "kind": "parameter"}],
"ops": [
 {"id": 10, "name": "f", "type": "f", "inputs": [0, 4], "outputs": [1]},
 {"id": 11, "name": "g", "type": "f", "inputs": [1, 5], "outputs": [2]},
 {"id": 12, "name": "h", "type": "f", "inputs": [2, 6], "outputs": [3]}]}
JSON
prefetched() {
	takes 42.0 36.0 14.0 42.0 --planner cosma --params --budget 20 --objective time chain.json &&
		python3 -c 'import json; s = json.load(open("summary.json"))
assert s["status"] == "optimal" and s["optimal"] == "no plan within the budget takes less time", s'
}
check 'weights that wait for room' takes 50.0 36.0 14.0 42.0 --planner cosma --params --budget 20 \
	chain.json
check 'weights that are prefetched' prefetched
time_said() {
	"$ctl" plan --planner cosma --params --budget 20 --objective time --chip-bandwidth 1 \
		--copy-bandwidth 2 chain.json | grep -A1 '^time' | diff - <(
			echo 'time         42.000 us: steps 36.000, no step runs 6.000; transfers 14.000; one after the other 50.000'
			echo 'least time   42.000 us, gap 0.00 %'
		)
}
check 'time is said for people' time_said
timed=(--planner cosma --budget MR --compute 1 --copy-bandwidth 2 --objective time)
loops() {
	cp "$graphs/loop_body.json" . || return 1
	says_first 1 "npumemctl: loop_body.json: $1" "$ctl" plan "${@:2}" loop_body.json
}

# ---------------------------------------------------------------- refused
check 'time of a loop' loops 'how long loops and branches take depends on the path' \
	--compute 1 --copy-bandwidth 2
check 'least time of a loop' loops 'the least time is planned of graphs without loops and branches' \
	--planner cosma --budget 69632 --compute 1 --copy-bandwidth 2 --objective time
check 'turns in a loop' loops 'operators take turns in graphs without loops and branches' \
	--planner cosma --budget 61440 --schedule tiled
for planner in greedy taa; do
	check "turns by planner $planner" says_first 1 \
		"npumemctl: diamond.json: planner $planner does not take the schedules of planner cosma" \
		"$ctl" plan --planner $planner --schedule tiled diamond.json
done
for order in mpmf tiled; do
	check "operators again in order $order" says_first 1 \
		"npumemctl: diamond.json: operators run again in a free order, or the graph's" \
		"$ctl" plan --planner cosma --budget MR --recompute --schedule $order diamond.json
done
check 'least time of another engine' says_first 1 \
	"npumemctl: diamond.json: the least time is planned by planner cosma's search" \
	"$ctl" plan "${timed[@]}" --engine belady diamond.json
sed -E 's/"bytes": [0-9]+/"bytes": 1099511627776/' diamond.json >long.json
check 'more than 53 days' says_first 1 'npumemctl: long.json: the plan takes more than 53 days' \
	"$ctl" plan --chip-bandwidth 1 --copy-bandwidth 1 long.json
usage() { # TEXT OPTION...
	local text=$1
	shift
	says_first 2 "npumemctl plan: $text" "$ctl" plan "$@" diamond.json
}
size="is not a number of bytes; give one like 1572864 or 1.5MiB"
check 'budget 0' usage "--budget: '0' $size" --planner cosma --budget 0
check 'budget -1' usage "--budget: '-1' $size" --planner cosma --budget=-1
check 'budget beyond 2^64' usage "--budget: '99999999999999999999' $size" \
	--planner cosma --budget 99999999999999999999
check 'budget M_R of another planner' usage "--budget MR is planner cosma's; others take bytes" \
	--budget MR
check 'unknown objective' usage "--objective: 'fast' is not traffic, peak or time" --objective fast
rates="how long do"
check 'transfers alone take time' usage "--copy-bandwidth says how long transfers take: $rates steps? \
--compute or --chip-bandwidth is needed" --copy-bandwidth 1
check 'computing alone takes time' usage "--compute says how long steps take: $rates transfers? \
--copy-bandwidth is needed" --compute 1
check 'accesses alone take time' usage "--chip-bandwidth says how long steps take: $rates transfers? \
--copy-bandwidth is needed" --chip-bandwidth 1
check 'a latency without a bandwidth' usage '--copy-latency needs --copy-bandwidth' --copy-latency 1
check 'least time without rates' usage "--objective time needs --copy-bandwidth, and --compute or \
--chip-bandwidth" --planner cosma --budget MR --objective time
check 'least time without a budget' usage '--objective time needs a --budget within which to plan' \
	--planner cosma --compute 1 --copy-bandwidth 1 --objective time
check 'least time of two banks' usage \
	'--banks are planned for the least traffic, not for --objective time' --planner cosma \
	--compute 1 --copy-bandwidth 1 --objective time --banks 8@1,8@2
check 'a rate of 0' usage "--compute: '0' is not a number from 1 to 1000000000000" \
	--compute 0 --copy-bandwidth 1
check 'a rate that is too high' usage "--copy-bandwidth: '1000000000001' is not a number from 1 to \
1000000000000" --compute 1 --copy-bandwidth 1000000000001
check 'a latency that is too long' usage "--copy-latency: '1000000001' is not a number from 0 to \
1000000000" --compute 1 --copy-bandwidth 1 --copy-latency 1000000001
check 'unknown schedule' usage "--schedule: 'best' is not default, mpmf or tiled" --schedule best
check 'unknown place of inputs' usage "--inputs: 'moon' is not host or resident" --inputs moon
check 'deadline 0' usage "--deadline: '0' is not a number of seconds up to 1000000" \
	--planner cosma --deadline 0
check 'memory 0' usage "--memory: '0' $size" --planner cosma --memory 0
check '--memory of a planner that takes none' usage "--memory is of planners that search for addresses \
or orders; planner tile-scheduled looks at what fits --work" --planner tile-scheduled --memory 1MiB
check '--emit-lp of another planner' usage "--emit-lp is planner cosma's" --emit-lp p.lp
limits='--emit-lp searches for nothing that --deadline, --work or --memory could end'
check '--emit-lp with --deadline' usage "$limits" --planner cosma --budget 12 --emit-lp p.lp --deadline 1
check '--emit-lp with --work' usage "$limits" --planner cosma --budget 12 --emit-lp p.lp --work 9
check '--emit-lp with --memory' usage "$limits" --planner cosma --budget 12 --emit-lp p.lp --memory 1MiB
check '--emit-lp with -o' usage '--emit-lp makes no plan to write' --planner cosma --emit-lp p.lp \
	-o plan.json
check 'another planner does not load' says_first 1 \
	'npumemctl: diamond.json: in: planner auto does not load from host memory, only cosma does' \
	"$ctl" plan --inputs host diamond.json
check 'unknown engine' says_first 1 'npumemctl: diamond.json: unknown planner cosma-magic' \
	"$ctl" plan --planner cosma --engine magic diamond.json
sed 's/"outputs": \[4\]/"outputs": []/' diamond.json >none.json
check 'an operator without outputs' says_first 1 'npumemctl: none.json: $.ops[3].outputs: must not be empty' \
	"$ctl" plan --planner cosma --budget MR none.json
sed 's/"inputs": \[0\]/"inputs": [0, 3]/' diamond.json >circle.json
check 'a cycle' says_first 1 \
	"npumemctl: circle.json: operator 10 'make_a' (f) reads tensor 3 'c', which operator 12 'make_c' (f) writes only later: operators must be in execution order" \
	"$ctl" plan --planner cosma --budget MR circle.json
sed 's/"bytes": 6/"bytes": 4611686018427387904/' diamond.json >huge.json
check 'sizes that overflow' says_first 1 \
	'npumemctl: huge.json: $.tensors[3].bytes: must be an integer from 1 to 1099511627776' \
	"$ctl" plan --planner cosma --budget MR huge.json

check_plan
