#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Plans that move tensors between the arena and host memory: verified, enforced,
# executed by the engine's copy, the outputs compared with those of a reference that
# uses no memory twice, and the traffic that the driver counted with the plan's.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119,SC2086
# shellcheck source=tests/e2e/lib.sh
. /opt/npumem/e2e/lib.sh

SPILL=${SPILL:-/opt/npumem/e2e/spill}

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
	[ "$(field load run.json)" = 10000 ] && [ "$(field spill run.json)" = 5000 ] &&
		[ "$(field store run.json)" = 5000 ] && [ "$(field fill run.json)" = 10000 ]
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

check "a plan made by hand: three inferences, outputs and traffic equal" by_hand
check "a plan that claims other traffic fails" wrong_claim
check "filling what was not spilled is refused: V5" refused \
	'bytes [1777, 2000) have no valid copy' 's/{"spill": 2, "first": 1777}/{"spill": 2, "first": 2000}/'
check "filling what was never there is refused: V5" refused \
	'never been in the arena' 's/{"load": 0}/{"fill": 0}/'
finish
