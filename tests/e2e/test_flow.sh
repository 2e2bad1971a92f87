#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Loops, branches, aliases, in-place operators and external tensors: planned here,
# verified and enforced by the driver on many paths, and each output compared with
# what comes out if no memory is ever used twice.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119,SC2086
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

FLOW=${FLOW:-/opt/npumem/e2e/flow}
PLANS=${PLANS:-/opt/npumem/e2e/flow_plans}
SEEDS=${SEEDS:-8}

# planned GRAPH OPTION...: plan.json and plan.blob, verified here.
planned() {
	graph=$1
	shift
	npumemctl plan "$@" "$graph" -o plan.json --blob plan.blob || return 1
	npumemctl verify "$graph" plan.json
}

# runs GRAPH OPTION...: with the plan there is; in run.json.
runs() {
	graph=$1
	shift
	npumemctl run -j --plan plan.json "$@" "$graph" >run.json && equal run.json
}

# random_paths GRAPH: as many, each in a run of its own, then all in one run.
random_paths() {
	i=1
	while [ $i -le "$SEEDS" ]; do
		runs "$1" --seed $i || return 1
		i=$((i + 1))
	done
	runs "$1" --repeat "$SEEDS" --seed 100 --max-iterations 7
}

for graph in "$FLOW"/*.json "$FLOW"/*.tflite; do
	name=$(basename "$graph" .json)
	# Of a thousand instances it is planned once, below.
	[ "$name" != rings ] || continue
	check "$name: planned and verified" planned "$graph"
	check "$name: random paths, all outputs equal" random_paths "$graph"
	check "$name: planned in row bands" planned "$graph" --bands 3
	check "$name: random paths in bands, all outputs equal" random_paths "$graph"
done

# Choice 0 at the end of the loop is another iteration.
long_loop() {
	planned "$FLOW/loop.json" && runs "$FLOW/loop.json" --path '0*499,1' || return 1
	[ "$(field blocks_run run.json)" -ge 500 ]
}
check "loop: 500 iterations" long_loop

# Cycles that no plan could tell apart without copies; those that there are close after 420 iterations.
copies() {
	planned "$FLOW/rings.json" && grep -q '"carry_copies":' plan.json &&
		runs "$FLOW/rings.json" --path '0*499,1' && [ "$(field blocks_run run.json)" -ge 1000 ]
}
check "rings: 500 iterations, between which values are copied" copies

every_arm() {
	planned "$FLOW/branch.json" || return 1
	for arm in 0 1 2; do
		runs "$FLOW/branch.json" --path $arm || return 1
	done
	fails 1 'choice 3 at block' \
		npumemctl run --plan plan.json --path 3 "$FLOW/branch.json"
}
check "branch: every arm, and none that is not there" every_arm

# in KIND: external tensors in a buffer of that kind, over several inferences.
external() {
	planned "$FLOW/external.json" &&
		runs "$FLOW/external.json" --external "$1" --repeat 3
}
# All of them are, and the arena has no bytes.
outside() {
	echo '{"name": "outside", "tensors": [
		{"id": 0, "name": "x", "shape": [4], "bytes": 4, "kind": "input", "external": true},
		{"id": 1, "name": "y", "shape": [4], "bytes": 4, "kind": "output", "external": true}],
		"ops": [{"id": 0, "name": "f", "type": "relu", "inputs": [0], "outputs": [1]}]}' >outside.json &&
		planned outside.json && grep -q '"arena": *0,' plan.json || return 1
	for where in system carveout; do
		runs outside.json --external $where --repeat 3 || return 1
	done
}
check "a graph whose tensors are all external" outside
check "external tensors in system memory" external system
check "external tensors in the carveout" external carveout

# less GRAPH BUDGET: too little without transfers; random paths.
less() {
	planned "$1" --planner cosma --budget "$2" && random_paths "$1" || return 1
	[ "$(field planner run.json)" = cosma ] && [ "$(field arena run.json)" -le "$2" ]
}
# counts GRAPH PATH BYTES: that come back from host memory on the way.
counts() {
	runs "$1" --path "$2" && [ "$(counted fill run.json)" = "$3" ]
}
nested_moves() {
	less "$FLOW/nested.json" 1919 && [ "$(counted fill run.json)" -gt 0 ]
}
check "nested loops that move tensors to host memory: outputs and traffic equal" nested_moves
# One arm of two moves something.
arm_moves() {
	less "$FLOW/branch_in_loop.json" 2015 && counts "$FLOW/branch_in_loop.json" 0,1 384 &&
		counts "$FLOW/branch_in_loop.json" 1,1 0 && counts "$FLOW/branch_in_loop.json" 0,0,0,1 768
}
check "branches in a loop, likewise" arm_moves

# Each iteration moves one tensor away and back.
each_iteration() {
	planned "$GRAPHS/loop_body.json" --planner cosma --budget 61440 &&
		runs "$GRAPHS/loop_body.json" --path '0*9,1' || return 1
	[ "$(counted spill run.json)" = 81920 ] && [ "$(counted fill run.json)" = 81920 ] &&
		fails 3 'infeasible: reduce needs 61440 bytes, the budget is 61439' \
			npumemctl plan --planner cosma --budget 61439 "$GRAPHS/loop_body.json"
}
check "loop: ten iterations move ten times as much" each_iteration

# A plan made by hand: parts of a tensor read under other names.
aliases() {
	cp "$PLANS/alias.plan.json" plan.json &&
		npumemctl verify "$PLANS/alias.json" plan.json && runs "$PLANS/alias.json" --repeat 3
}
check "aliases: verified, run, equal" aliases

# With the daemon, who is given the graph as a blob.
by_daemon() {
	start_daemon || return 1
	for graph in loop branch external; do
		npumemctl run -j "$FLOW/$graph.json" >run.json && equal run.json || return 1
		[ "$(field plan_from run.json)" = daemon ] || return 1
	done
	npumemctl run -j outside.json >run.json && equal run.json && stop_daemon
}
check "planned by the daemon" by_daemon

finish
