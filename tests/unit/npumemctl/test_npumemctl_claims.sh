#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumemctl_claims.sh - npumemctl verify: what a plan file says of itself.
#
# usage: test_npumemctl_claims.sh NPUMEMCTL GRAPH.json SPILLED.json
#
# TAP. GRAPH is planned at its bound, in its order; SPILLED with spills, at MR.

ctl=$(realpath "$1") graph=$(realpath "$2") spilled=$(realpath "$3")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

# changed EXPRESSION: plan.json changed by Python into bad.json
changed() {
	python3 -c 'import json, sys
p = json.load(open(sys.argv[2]))
exec(sys.argv[1])
json.dump(p, open("bad.json", "w"))' "$1" "${2:-plan.json}"
}

refused() { # NAME EXPRESSION MESSAGE
	changed "$2" "${4:-plan.json}"
	check "$1" gives 1 '' "npumemctl: bad.json: $3" "$ctl" verify "${5:-$graph}" bad.json
}

"$ctl" plan -o plan.json "$graph" >/dev/null || exit 1
arena=$(python3 -c 'import json; print(json.load(open("plan.json"))["arena"])')
valid() { "$ctl" verify "$graph" "$1" | tail -n +2; }
check 'all claims of an honest plan' gives 0 \
	'claims checked: lower_bound, status, traffic, alignment' '' valid plan.json
changed 'for k in ("lower_bound", "status", "traffic", "alignment"): p.pop(k, None)'
check 'nothing is claimed' gives 0 '' '' valid bad.json
refused 'a bound above the plan' 'p["lower_bound"] += 1' \
	"lower_bound: $((arena + 1)), but the plan itself needs $arena bytes"
refused 'a bound above the plan, in a larger arena' 'p["lower_bound"] += 1; p["arena"] += 4096' \
	"lower_bound: $((arena + 1)), but the plan itself needs $arena bytes"
# Rows of pieces and rings lie apart: the last one's end is the plan's.
"$ctl" plan --planner tile-scheduled --rows 1 -o pieces.json "$graph" >/dev/null || exit 1
pieces=$(python3 -c 'import json
p = json.load(open("pieces.json"))
assert any("row_stride" in q for q in p["placements"]) and p["lower_bound"] == p["arena"]
print(p["arena"])') || exit 1
verified() { "$ctl" verify "$graph" "$1" >/dev/null; }
check 'a bound that rows lying apart reach' gives 0 '' '' verified pieces.json
refused 'a bound above rows lying apart' 'p["lower_bound"] += 1' \
	"lower_bound: $((pieces + 1)), but the plan itself needs $pieces bytes" pieces.json
refused 'optimal, but above its bound' 'p["lower_bound"] -= 1; p["arena"] += 64' \
	"status: optimal, but the arena is $((arena + 64)) and the lower bound $((arena - 1))"
refused 'fills that there are none of' 'p["traffic"] = {"fill": 4096}' \
	'traffic: 4096 bytes filled, but the schedule fills 0'
refused 'spills that there are none of' 'p["traffic"] = {"spill": 4096}' \
	'traffic: 4096 bytes spilled, but the schedule spills 0'
refused 'loads that there are none of' 'p["traffic"] = {"compulsory": 4096}' \
	'traffic: 4096 bytes compulsory, but the schedule loads and first stores 0'
refused 'a bound of traffic above the traffic' 'p["traffic"] = {"lower_bound": 1}' \
	'traffic: lower_bound 1, but the plan itself moves 0 bytes'
refused 'optimal, in an arena that it does not need' 'del p["lower_bound"]; p["arena"] += 1' \
	"status: optimal, but the arena is $((arena + 1)) and the plan itself needs $arena bytes"
# Where all tensors are outside there is nothing to be below.
outside_graph >outside.json
outside() {
	"$ctl" plan -o empty.json outside.json >text && grep -qx 'arena        0 bytes' text &&
		! grep '^peak' text && "$ctl" verify outside.json empty.json
}
check 'all claims of an empty arena' gives 0 'empty.json is a valid plan of outside: arena 0 bytes
claims checked: lower_bound, status, traffic, alignment' '' outside
# What is spilled and what is compulsory: of outputs, inputs in host memory and in the arena.
for inputs in host resident; do
	"$ctl" plan --planner cosma --budget MR --inputs $inputs -o spills.json "$spilled" \
		>/dev/null || exit 1
	read -r spill fill < <(python3 -c 'import json
t = json.load(open("spills.json"))["traffic"]
assert t["spill"] > 4 and t["compulsory"] > 4
print(t["spill"], t["fill"])') || exit 1
	claims() { "$ctl" verify "$spilled" "$1" | grep '^claims'; }
	check "what planning anew would show, inputs $inputs" gives 0 'claims checked: traffic, alignment
claims not checked: lower_bound, status, traffic.lower_bound' '' claims spills.json
	refused "spills that are said to be compulsory, inputs $inputs" \
		't = p["traffic"]; t["spill"] -= 4; t["compulsory"] += 4; t["lower_bound"] = 0' \
		"traffic: $((spill - 4)) bytes spilled, but the schedule spills $spill" \
		spills.json "$spilled"
	refused "stores of outputs that are said to be spills, inputs $inputs" \
		't = p["traffic"]; t["spill"] += 4; t["compulsory"] -= 4' \
		"traffic: $((spill + 4)) bytes spilled, but the schedule spills $spill" \
		spills.json "$spilled"
	refused "a bound above what is moved, inputs $inputs" \
		't = p["traffic"]; t["lower_bound"] = t["spill"] + t["fill"] + 1' \
		"traffic: lower_bound $((spill + fill + 1)), but the plan itself moves $((spill + fill)) bytes" \
		spills.json "$spilled"
done
changed 'p["alignment"] = 65536'
misaligned() {
	"$ctl" verify "$graph" bad.json 2>&1 >/dev/null |
		grep -Eo 'alignment: placement [0-9]+, of .* is at [0-9]+, which is no multiple of 65536' |
		grep -c alignment
}
check 'an alignment that placements do not keep' gives 1 1 '' misaligned
changed 'p["lower_bound"] -= 1; p["status"] = "feasible"'
check 'a bound below what is found anew is true' gives 0 \
	'claims checked: lower_bound, status, traffic, alignment' '' valid bad.json
"$ctl" plan --planner greedy-start -o loose.json "$graph" >/dev/null || exit 1
changed 'p["lower_bound"] = p["arena"]; p["status"] = "optimal"' loose.json
if [ "$(python3 -c 'import json; print(json.load(open("loose.json"))["arena"])')" -gt "$arena" ]; then
	check 'what would take planning anew is said not to be checked' gives 0 \
		'claims checked: traffic, alignment
claims not checked: lower_bound, status' '' valid bad.json
else
	check 'greedy-start is above the bound' gives 0 '' '' false
fi
said() { "$ctl" verify -j "$graph" "$1" | python3 -c 'import json, sys; r = json.load(sys.stdin)
print(r["accepted"], r.get("claims", r.get("error")))'; }
check '-j says which were checked' gives 0 "True {'lower_bound': 'checked', 'status': 'checked', \
'traffic': 'checked', 'traffic.lower_bound': None, 'alignment': 'checked'}" '' said plan.json
changed 'p["traffic"] = {"fill": 1}'
check '-j refuses a false claim' gives 1 'False traffic: 1 bytes filled, but the schedule fills 0' \
	'npumemctl: bad.json: traffic: 1 bytes filled, but the schedule fills 0' said bad.json
check_plan
