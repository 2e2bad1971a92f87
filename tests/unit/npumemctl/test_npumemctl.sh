#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumemctl.sh - the command line tool, all that needs no device.
#
# usage: test_npumemctl.sh NPUMEMCTL GRAPHS_FOLDER
#
# TAP. Every message and exit status of a refusal is compared as a whole.

ctl=$(realpath "$1") graphs=$(realpath "$2")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

round_trip() { # graph bands
	"$ctl" plan --bands "$2" "$1" -o plan.json &&
		"$ctl" plan --bands "$2" "$1" -o again.json --blob plan.bin --graph-blob graph.bin &&
		cmp plan.json again.json &&
		"$ctl" verify "$1" plan.json &&
		"$ctl" verify --bands "$2" "$1" plan.bin &&
		"$ctl" verify graph.bin plan.bin &&
		"$ctl" show --graph "$1" plan.json >drawn &&
		[ -s drawn ] &&
		"$ctl" show --graph "$1" --width 40 - <plan.json >/dev/null
}
for graph in "$graphs"/*.json; do
	for bands in 1 8; do
		check "plan, verify, show: $(basename "$graph" .json), bands $bands" \
			round_trip "$graph" $bands
	done
done

net=$graphs/mobilenet_v2.fused.json
"$ctl" plan "$net" -o plan.json >/dev/null || exit 1

imported() {
	"$ctl" import "$net" -o one.json && "$ctl" import one.json -o two.json &&
		cmp one.json two.json && "$ctl" import - -o - <two.json | cmp - one.json &&
		"$ctl" plan one.json -o of_one.json && "$ctl" verify "$net" of_one.json
}
same_work() {
	"$ctl" plan --work 100000 -o one.json "$net" && "$ctl" plan --work 100000 -o two.json "$net" &&
		cmp <(grep -v '"seconds"' one.json) <(grep -v '"seconds"' two.json)
}
check 'import writes what it reads' imported
check 'import says what is in a file' prints 'operators    64' "$ctl" import "$net"
check 'import -j' prints '"format":"graph JSON","subgraphs":1,"operators":64,' \
	"$ctl" import -j "$net"
check 'plan -j' prints '"planner":"auto"' "$ctl" plan -j "$net"
check 'plan -j: one object' python3 -c '
import json, subprocess, sys
r = json.loads(subprocess.check_output([sys.argv[1], "plan", "-j", sys.argv[2]]))
assert r["arena"] >= r["lower_bound"] > 0, r
assert r["tensor_bytes"] == 7047304 and r["steps"] == 64 and r["bands"] == 1, r
assert sum(t["bytes"] for t in r["peak"]["tensors"]) == r["lower_bound"], r
' "$ctl" "$net"
plan_to_stdout() { "$ctl" plan "$net" -o - | cmp - plan.json; }
check 'plan -o -' plan_to_stdout
check 'plan --align' prints '"alignment":64' "$ctl" plan -j --align 64 "$net"
check 'plan --params plans weights' python3 -c '
import json, subprocess, sys
run = lambda *a: json.loads(subprocess.check_output([sys.argv[1], "plan", "-j", *a, sys.argv[2]]))
assert run("--params")["placements"] > run()["placements"]
' "$ctl" "$net"
check 'plan --list-planners' prints greedy "$ctl" plan --list-planners

# ------------------------------------------- control characters in names
# ESC, a line's end, DEL and CSI, which is one character of C1 and two bytes of UTF-8.
cat >controls.json <<'JSON'
{"name": "g\u001b[2J", "tensors": [
 {"id": 0, "name": "x\u001b[31m\n", "shape": [1, 4, 4, 1], "bytes": 16, "kind": "input"},
 {"id": 1, "name": "y\u007f\u009bé", "shape": [1, 4, 4, 1], "bytes": 16, "kind": "output"}],
"ops": [{"id": 0, "name": "f\u0007", "type": "relu", "inputs": [0], "outputs": [1], "attrs": {}}]}
JSON
plain() { # TEXT STATUS COMMAND...: all output has the text, and no control but ends of lines
	local text=$1 status=$2 got
	shift 2
	"$@" >out 2>&1
	got=$?
	cat -v out
	[ $got = "$status" ] && grep -qF -e "$text" out &&
		python3 -c '
import sys
text = open("out", encoding="utf-8", newline="").read()
sys.exit(any(c != "\n" and (c < " " or "\x7f" <= c < "\xa0") for c in text))'
}
check 'import: names on a terminal' plain 'graph        g\x1b[2J (' 0 "$ctl" import controls.json
check 'plan: names on a terminal' plain 'x\x1b[31m\x0a 16' 0 "$ctl" plan --report controls.json
check 'plan: no other character is touched' plain 'y\x7f\xc2\x9bé 16' 0 "$ctl" plan controls.json
check 'plan --tiles: names on a terminal' plain 'f\x07 ' 0 "$ctl" plan --tiles --bands 2 controls.json
check 'plan --pareto: names on a terminal' plain 'g\x1b[2J: 1 steps' 0 \
	"$ctl" plan --planner tile-scheduled --pareto controls.json
check 'plan: an argument in a usage error' plain "--align: '\x1b[1m' is not a number" 2 \
	"$ctl" plan --align $'\e[1m' controls.json
check 'plan: an option that is none' plain "unrecognized option '--\x1b[1m'" 2 \
	"$ctl" plan $'--\e[1m=\e[2m' controls.json
check 'plan: a value whose name is odd, behind its option' plain '16 ' 0 "$ctl" plan controls.json -o$'\xff.json'
check 'plan: a file whose name is odd' plain 'npumemctl: -\x1b[1m: No such file or directory' 1 \
	"$ctl" plan -- $'-\e[1m'
check 'plan: names in an error' plain "'x\x1b[31m\x0a' is a parameter" 1 \
	"$ctl" plan --fix 0=0 <(sed 's/"input"/"parameter"/' controls.json)
"$ctl" plan controls.json -o controls.plan.json --planner greedy >/dev/null || exit 1
check 'show: names on a terminal' plain 'f\x07' 0 "$ctl" show --graph controls.json controls.plan.json
sed 's/"planner": *"greedy"/"planner": "\\u001b[1m"/' controls.plan.json >planner.json
check "show: a planner's name on a terminal" plain 'planner \x1b[1m' 0 \
	"$ctl" show --graph controls.json planner.json
check 'verify: names on a terminal' plain 'of g\x1b[2J: arena' 0 \
	"$ctl" verify controls.json controls.plan.json
check 'names in JSON are as they were' python3 -c '
import json, subprocess, sys
r = json.loads(subprocess.check_output([sys.argv[1], "plan", "-j", "controls.json"]))
assert r["graph"] == "g\x1b[2J", r
assert {t["name"] for t in r["peak"]["tensors"]} == {"x\x1b[31m\n", "y\x7f\x9b\xe9"}, r
' "$ctl"
# A browser would obey some of them, and drop others.
controls_html() {
	"$ctl" show --html page.html --graph controls.json controls.plan.json &&
		plain 'y\x7f\xc2\x9bé' 0 cat page.html
}
check 'names in HTML are plain text' controls_html

# --------------------------------------------------------------- refusals
# Progress is for people: on a terminal, and only there.
on_terminal() { # on_terminal TEXT COMMAND...: standard error, a terminal, has the text
	local text=$1 out
	shift
	out=$(script -qec "$(printf '%q ' "$@") >/dev/null" /dev/null </dev/null) || return 1
	grep -qF "$text" <<<"$out"
}
check 'plan shows progress on a terminal' on_terminal ', gap 0.00 %, ' \
	"$ctl" plan --planner greedy "$net"
check 'plan says how much time is left' on_terminal ' s left' \
	"$ctl" plan --planner greedy --deadline 60 "$net"
check 'plan shows no progress elsewhere' says 0 '' "$ctl" plan "$net"
check 'plan --work: the same bytes' same_work
check 'plan --work 0' usage_says \
	"npumemctl plan: --work: '0' is not a number from 1 to 18446744073709551614" \
	"$ctl" plan --work 0 "$net"

check 'budget too small' says 3 \
	"npumemctl: $net: needs 1.4 MiB, budget 1.0 MiB, lower bound 1.4 MiB, peak at step 4: \
features.2.conv.0.0.conv2d + features.2.conv.1.0.conv2d; no plan in this order fits" \
	"$ctl" plan --arena-budget 1MiB "$net"
# no_plan STATUS PLANNER ARENA_BUDGET JSON GRAPH: standard output is JSON, nothing is written
no_plan() {
	local got
	rm -f none.json
	"$ctl" plan -j --planner "$2" --arena-budget "$3" "$5" -o none.json >out 2>err
	got=$?
	cat out err
	[ $got = "$1" ] && [ "$(cat out)" = "$4" ] && [ ! -e none.json ]
}
for planner in auto greedy exact taa shared-objects; do
	check "budget below the lower bound: $planner" no_plan 3 $planner 64KiB \
		'{"graph":"mobilenet_v2.fused","planner":"'$planner'","status":"infeasible","budget":65536,"needed":1505280,"needed_by":{"op":4,"name":"features.2.conv.1.0"},"ended_by":null}' \
		"$net"
done
check 'budget below what loops need' no_plan 3 auto 1 \
	'{"graph":"loop_conv","planner":"auto","status":"infeasible","budget":1,"needed":800,"needed_by":null,"ended_by":null}' \
	"$graphs/loop_conv.json"
# y (6 MiB) is above x (4 MiB), where z (8 MiB) then does not fit: 14 MiB and a byte live.
cat >gap.json <<'JSON'
{"name": "gap", "tensors": [
 {"id": 0, "name": "x", "shape": [], "bytes": 4194304, "kind": "input"},
 {"id": 1, "name": "y", "shape": [], "bytes": 6291456, "kind": "input"},
 {"id": 2, "name": "s", "shape": [], "bytes": 1, "kind": "activation"},
 {"id": 3, "name": "z", "shape": [], "bytes": 8388608, "kind": "activation"},
 {"id": 4, "name": "o", "shape": [], "bytes": 1, "kind": "output"}],
"ops": [{"id": 0, "name": "f", "type": "f", "inputs": [0], "outputs": [2]},
 {"id": 1, "name": "g", "type": "f", "inputs": [1, 2], "outputs": [3]},
 {"id": 2, "name": "h", "type": "f", "inputs": [3], "outputs": [4]}]}
JSON
check 'budget above the lower bound: not found is not proved' no_plan 4 greedy-start 17MiB \
	'{"graph":"gap","planner":"greedy-start","status":"unknown","budget":17825792,"ended_by":null}' gap.json
check 'no such file' says 1 'npumemctl: missing.json: No such file or directory' \
	"$ctl" plan missing.json
echo hello >text
check 'not a model' says 1 \
	'npumemctl: text: neither graph JSON nor a TFLite model nor an ONNX model nor a graph blob' "$ctl" import text
# As power loss leaves files, and as /dev/zero never ends.
nothing='the file begins with NULs, as no model and no plan does'
head -c 8 /dev/zero >void
check 'a model of NULs' says 1 "npumemctl: void: $nothing" "$ctl" import void
check 'a model without an end' says 1 'npumemctl: /dev/zero: this is a device' "$ctl" plan /dev/zero
check 'a plan without an end' says 1 'npumemctl: /dev/urandom: this is a device' "$ctl" verify "$net" /dev/urandom
check 'nothing is read as such' says 1 \
	'npumemctl: /dev/null: neither graph JSON nor a TFLite model nor an ONNX model nor a graph blob' "$ctl" plan /dev/null
without_end() { { printf ' {'; cat /dev/zero; } | "$ctl" plan -; }
check 'JSON without an end' says 1 'npumemctl: standard input: the file has more than 268435456 bytes' without_end
check 'a full disk' says 1 'npumemctl: /dev/full: No space left on device' \
	"$ctl" plan "$net" -o /dev/full
list_to_full() { "$ctl" plan --list-planners >/dev/full; }
full_stdout() {
	local err
	err=$(list_to_full 2>&1) && return 1
	[ "$err" = 'npumemctl: standard output: No space left on device' ]
}
check 'standard output is full' full_stdout
check 'both from standard input' says 1 \
	'npumemctl: standard input: graph and plan cannot both come from there' "$ctl" verify - -

# Two live tensors at one address: valid JSON, refused by the verifier.
overlap() {
	python3 - plan.json bad.json <<-'EOF'
		import json, sys
		plan = json.load(open(sys.argv[1]))
		of = {p["tensor"]: p for p in plan["placements"]}
		of[6]["offset"] = of[3]["offset"]
		json.dump(plan, open(sys.argv[2], "w"))
	EOF
	"$ctl" verify "$net" bad.json >out 2>err
	[ $? = 1 ] && [ ! -s out ] || return 1
	cat err
	grep -q '^npumemctl: bad.json: refused by the verifier:$' err && grep -q V4 err &&
		grep -q 'features.1.conv.0.0.conv2d' err || return 1
	"$ctl" verify -j "$net" bad.json >out 2>err
	[ $? = 1 ] && python3 -c '
import json, sys
r = json.load(open("out"))
assert r["accepted"] is False and r["rule"] == 4 and r["length"] > 0 and r["log"], r
'
}
check 'verify names two live tensors that overlap' overlap
check 'verify -j of a good plan' prints '"accepted":true' "$ctl" verify -j "$net" plan.json
truncated() {
	head -c 1000 plan.json >cut.json
	"$ctl" verify "$net" cut.json 2>err
	[ $? = 1 ] && grep -q '^npumemctl: cut.json: ' err
}
check 'a truncated plan' truncated
cut_blob() {
	"$ctl" plan "$net" --blob whole.bin >/dev/null && head -c 500 whole.bin >cut.bin &&
		! "$ctl" verify "$net" cut.bin 2>err && grep -q '^npumemctl: cut.bin: ' err
}
check 'a truncated plan blob' cut_blob
other_graph() {
	! "$ctl" verify "$graphs/mobilenet_v1.fused.json" plan.json 2>err &&
		grep -q '^npumemctl: plan.json: ' err
}
check 'a plan of another graph' other_graph
tiled_twice() {
	"$ctl" plan "$net" --graph-blob graph.bin >/dev/null &&
		says 1 'npumemctl: graph.bin: a graph blob is cut into steps already: leave out --params, --inputs and what says how to cut' \
			"$ctl" plan --bands 2 graph.bin
}
check 'bands of a graph blob' tiled_twice
blob_as_json() {
	says 1 "npumemctl: graph.bin: graph 'mobilenet_v2.fused' has no operators, so graph JSON cannot hold it" \
		"$ctl" import graph.bin -o x.json
}
check 'a graph blob has no operators' blob_as_json

# ------------------------------------------------------------------ usage
check 'no command' usage_says 'Usage: npumemctl COMMAND [OPTION...] [ARGUMENT...]' "$ctl"
check 'unknown command' usage_says \
	"npumemctl: no command 'frobnicate'; see npumemctl --help" "$ctl" frobnicate
check 'no graph' usage_says 'npumemctl plan: which GRAPH?' "$ctl" plan
check 'two graphs' usage_says 'npumemctl plan: only one GRAPH can be planned' "$ctl" plan a b
check 'bad size' usage_says \
	"npumemctl plan: --arena-budget: '1.5x' is not a number of bytes; give one like 1572864 or 1.5MiB" \
	"$ctl" plan --arena-budget 1.5x "$net"
for size in 1.6MiB 0.1K 1.5; do
	check "no whole bytes: $size" usage_says \
		"npumemctl plan: --arena-budget: '$size' makes no whole number of bytes; 1572864 and 1.5MiB do" \
		"$ctl" plan --arena-budget $size "$net"
done
check 'bad alignment' usage_says 'npumemctl plan: --align: 48 is not a power of two up to 64KiB' \
	"$ctl" plan --align 48 "$net"
check 'bad number' usage_says "npumemctl plan: --bands: '0' is not a number from 1 to 65536" \
	"$ctl" plan --bands 0 "$net"
check 'bad seconds' usage_says \
	"npumemctl plan: --deadline: 'soon' is not a number of seconds up to 1000000" \
	"$ctl" plan --deadline soon "$net"
check '-j and -o -' usage_says 'npumemctl plan: -j and -o - both want standard output' \
	"$ctl" plan -j -o - "$net"
check '-j and --blob -' usage_says 'npumemctl plan: -j and --blob - both want standard output' \
	"$ctl" plan -j --blob - "$net"
check '-o - and --blob -' usage_says \
	'npumemctl plan: -o - and --blob - both want standard output' "$ctl" plan -o - --blob - "$net"
check '--blob - and --graph-blob -' usage_says \
	'npumemctl plan: --blob - and --graph-blob - both want standard output' \
	"$ctl" plan --blob - --graph-blob - "$net"
check '--graph-blob - and --emit-tflite -' usage_says \
	'npumemctl plan: --graph-blob - and --emit-tflite - both want standard output' \
	"$ctl" plan --graph-blob - --emit-tflite - "$net"
blob_to_stdout() {
	"$ctl" plan "$net" --blob plan.bin >/dev/null && "$ctl" plan "$net" --blob - | cmp - plan.bin
}
check 'a blob on standard output is nothing else' blob_to_stdout
check 'verify without plan' usage_says 'npumemctl verify: a GRAPH and a PLAN are needed' \
	"$ctl" verify "$net"
check 'show without graph' usage_says \
	'npumemctl show: --graph is needed: a plan alone has no names and sizes' "$ctl" show plan.json
check 'run with plan and planner' usage_says \
	'npumemctl run: --plan loads a plan; --planner asks for one' \
	"$ctl" run --plan plan.json --planner greedy "$net"
check 'run with a planner without a name' usage_says 'npumemctl run: --planner: "" is no planner' \
	"$ctl" run --planner '' "$net"
check 'run with a path that is none' usage_says \
	'npumemctl run: --path 1*x: not of the form EDGE[*COUNT],...' "$ctl" run --path '1*x' "$net"
check 'run with two ways to choose a path' usage_says \
	'npumemctl run: --path is not random; --max-iterations is for random' \
	"$ctl" run --max-iterations 3 --path 0 "$net"
check 'run with an unknown kind of buffer' usage_says \
	"npumemctl run: --external: 'heap' is not system or carveout" "$ctl" run --external heap "$net"
check 'run with a plan and an objective' usage_says \
	'npumemctl run: --plan loads a plan; --objective asks for one' \
	"$ctl" run --plan plan.json --objective traffic "$net"
check 'run with an unknown objective' usage_says \
	"npumemctl run: --objective: 'speed' is not arena, traffic or peak" "$ctl" run --objective speed "$net"
check 'run with a plan and limits' usage_says \
	'npumemctl run: --plan loads a plan; --work asks for one' \
	"$ctl" run --plan plan.json --work 100 "$net"
check 'run with a plan that npumemd is to cut' usage_says \
	'npumemctl run: --plan loads a plan; --daemon-cuts asks for one' \
	"$ctl" run --plan plan.json --daemon-cuts "$net"
check 'run with operators that run again, cut' usage_says \
	'npumemctl run: --recompute is of whole operators, which npumemd cuts anyway: leave out --daemon-cuts' \
	"$ctl" run --recompute --daemon-cuts "$net"
check 'run with copies and operators that run again' usage_says \
	'npumemctl run: --carry-copies and --recompute exclude each other' \
	"$ctl" run --recompute --carry-copies needed "$net"
check 'run with instances and no copies' usage_says \
	'npumemctl run: --instances has values copied: --carry-copies is needed' \
	"$ctl" run --instances 5 "$net"
check 'run with a plan to write that copies' usage_says \
	'npumemctl run: -o: plan JSON cannot say how npumemd cuts a graph: leave out --carry-copies' \
	"$ctl" run --carry-copies smaller -o out.json "$net"
check 'run with a plan to write that npumemd cuts' usage_says \
	'npumemctl run: -o: plan JSON cannot say how npumemd cuts a graph: leave out --daemon-cuts' \
	"$ctl" run --daemon-cuts -o out.json "$net"
check 'run with a plan to write that recomputes' usage_says \
	'npumemctl run: -o: plan JSON cannot say how npumemd cuts a graph: leave out --recompute' \
	"$ctl" run --recompute=2 --budget MR -o out.json "$net"
check 'run with an engine that npumemd cuts for' usage_says \
	'npumemctl run: engine "npumem-engine" computes what npumemctl cuts: leave out --daemon-cuts' \
	"$ctl" run --engine npumem-engine --daemon-cuts "$net"
check 'run with a budget that is none' usage_says \
	"npumemctl run: --budget: 'MX' is not a number of bytes; give one like 1572864 or 1.5MiB" \
	"$ctl" run --budget MX "$net"
check 'run with banks that are none' usage_says \
	"npumemctl run: --banks: '1@2' is not BYTES@MBPS,BYTES@MBPS, like 256KiB@8000,2MiB@2000" \
	"$ctl" run --banks 1@2 "$net"
check 'run with an engine of no name' usage_says \
	"npumemctl run: --engine: an engine's name is not empty" "$ctl" run --engine '' "$net"
check 'run of what nobody can compute' says 1 \
	"npumemctl: $net: engine \"mine\" computes models of TFLite: graph JSON does not say what operators compute" \
	"$ctl" run --engine mine "$net"
check 'devices takes no argument' usage_says \
	"npumemctl devices: 'x': no argument is expected" "$ctl" devices x
for command in devices import plan verify run cache show 'bench pack'; do
	# shellcheck disable=SC2086 # two words are two words
	check "$command --help" prints "Usage: npumemctl $command" "$ctl" $command --help
	# shellcheck disable=SC2086
	check "$command --version" prints 'npumemctl ' "$ctl" $command --version
done
check '--version' prints 'npumemctl ' "$ctl" --version
check '--help' prints 'Exit status: 0 all is well, 1 failure, 2 wrong usage, 3 no plan within the' "$ctl" --help

check_plan
