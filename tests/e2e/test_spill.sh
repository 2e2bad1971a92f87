#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Plans that move tensors between the arena and host memory: verified, enforced,
# executed by the engine's copy, the outputs compared with those of a reference that
# uses no memory twice, and the traffic that the driver counted with the plan's.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119,SC2086
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

SPILL=${SPILL:-/opt/npumem/e2e/spill}
DENSENET=$GRAPHS/densenet121.fused.json

# runs GRAPH PLAN OPTION...: in run.json.
runs() {
	graph=$1 plan=$2
	shift 2
	npumemctl run -j --plan "$plan" "$@" "$graph" >run.json && equal run.json
}

# changed SCRIPT: the plan made by hand, with one line changed.
changed() {
	sed "$1" "$SPILL/spilled.plan.json" >plan.json
	! cmp -s plan.json "$SPILL/spilled.plan.json"
}

by_hand() {
	npumemctl verify "$SPILL/spilled.json" "$SPILL/spilled.plan.json" &&
		runs "$SPILL/spilled.json" "$SPILL/spilled.plan.json" --repeat 3 || return 1
	[ "$(counted load run.json)" = 10000 ] && [ "$(counted spill run.json)" = 5000 ] &&
		[ "$(counted store run.json)" = 5000 ] && [ "$(counted fill run.json)" = 10000 ]
}

# What a plan says of its traffic is not believed.
wrong_claim() {
	changed 's/"fill":10000/"fill":10001/' &&
		fails 1 "moved 10000 bytes by fills and 20000 by all else; the plan's traffic is 10001" \
			npumemctl run --plan plan.json "$SPILL/spilled.json"
}

# refused WORDS SCRIPT: by the driver's verifier.
refused() {
	changed "$2" && fails 1 "$1" npumemctl run --plan plan.json "$SPILL/spilled.json"
}

# cosma GRAPH BUDGET OPTION...: planned here, at most that much arena, run, equal.
cosma() {
	graph=$1 budget=$2
	shift 2
	npumemctl plan --planner cosma --budget "$budget" "$@" "$graph" -o plan.json || return 1
	runs "$graph" plan.json || return 1
	[ "$(field planner run.json)" = cosma ] && [ "$(counted load run.json)" -gt 0 ] || return 1
	echo "$(field steps run.json) operators, arena $(field arena run.json)," \
		"moved by load $(counted load run.json), spill $(counted spill run.json)," \
		"store $(counted store run.json), fill $(counted fill run.json) bytes," \
		"$(field tile_states run.json) cells," \
		"verified in $(($(field verify_ns run.json) / 1000000)) ms," \
		"run in $(field run_seconds run.json) s"
}

# The daemon is asked for the least traffic within the arena that DenseNet had above.
by_daemon() {
	npumemctl plan -j --planner cosma --budget MR "$DENSENET" -o plan.json >plan.out || return 1
	budget=$(field arena plan.out)
	start_daemon || return 1
	npumemctl run -j --objective traffic --inputs host --arena-budget "$budget" "$DENSENET" \
		>run.json || return 1
	equal run.json && [ "$(field plan_from run.json)" = daemon ] || return 1
	[ "$(field planner run.json)" = cosma ] || return 1
	[ "$(field arena run.json)" -le "$budget" ] && [ "$(counted fill run.json)" -gt 0 ] || return 1
	echo "arena $(field arena run.json), moved by spill $(counted spill run.json)," \
		"fill $(counted fill run.json) bytes"
	stop_daemon
}

check "a plan made by hand: three inferences, outputs and traffic equal" by_hand
check "a plan that claims other traffic fails" wrong_claim
check "filling what was not spilled is refused: V5" refused \
	'bytes [1777, 2000) have no valid copy' 's/{"spill": 2, "first": 1777}/{"spill": 2, "first": 2000}/'
check "filling what was never there is refused: V5" refused \
	'never been in the arena' 's/{"load": 0}/{"fill": 0}/'
shown "ResNet-50 with parameters, M_R: outputs and traffic equal" \
	cosma "$GRAPHS/resnet50.json" MR --params
shown "DenseNet-121, M_R: outputs and traffic equal" cosma "$DENSENET" MR
shown "transformer, M_H: outputs and traffic equal" \
	cosma "$GRAPHS/transformer_coarse_dropout.json" MH
shown "planned by the daemon for the least traffic" by_daemon
finish
