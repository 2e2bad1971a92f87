#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Transfers of a plan beside its steps: the time of a network that is spilled, on one engine
# and on two whose speeds are set, beside what the hazards of the plan let one expect.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2154
# shellcheck source=tests/e2e/lib.sh
. /opt/npumem/e2e/lib.sh

OVERLAP=${OVERLAP:-/opt/npumem/e2e/npumem_overlap}

# speed ENGINE/KNOB RATE: bytes a second, 0 for as fast as it is.
speed() {
	for knob in /sys/kernel/debug/accel/*/"$1" /sys/kernel/debug/dri/*/"$1"; do
		[ ! -e "$knob" ] || echo "$2" >"$knob"
	done
}

# took OPTION...: ms of a run of plan.json, whose outputs are equal; in $ms.
took() {
	npumemctl run -j --plan plan.json "$@" "$graph" >run.json && equal run.json || return 1
	ms=$(awk "BEGIN { print int(1000 * $(field run_seconds run.json)) }")
}

# within MEASURED EXPECTED: not less, and at most a quarter more. Jobs cost a little themselves.
within() {
	[ "$1" -ge $(($2 * 99 / 100)) ] && [ "$1" -le $(($2 * 5 / 4)) ] || {
		echo "$1 ms, not about $2"
		return 1
	}
}

# overlap GRAPH BUDGET STEPS-MS TRANSFERS-MS OPTION...
overlap() {
	graph=$1 budget=$2 steps=$3 transfers=$4
	shift 4
	npumemctl plan --planner cosma --budget "$budget" "$@" "$graph" -o plan.json \
		--blob plan.blob --graph-blob graph.blob || return 1
	"$OVERLAP" graph.blob plan.blob "$steps" "$transfers" >speeds || return 1
	eval "$(cat speeds)"
	speed sim/bytes_per_second "$steps_rate"
	speed sim/transfer_bytes_per_second "$transfers_rate"
	speed sim-copy/bytes_per_second "$transfers_rate"
	took --one-engine || return 1
	one=$ms
	took || return 1
	two=$ms
	speed sim/bytes_per_second 0
	speed sim/transfer_bytes_per_second 0
	speed sim-copy/bytes_per_second 0
	echo "one engine: $one ms, expected $one_ms; two: $two ms, expected $two_ms"
	within "$one" "$one_ms" && within "$two" "$two_ms" && [ "$two" -lt "$one" ]
}

# The less there is to spare in the arena, the sooner a transfer's place is needed by a step.
densenet=$GRAPHS/densenet121.fused.json
shown "DenseNet-121, M_R: transfers beside steps" overlap "$densenet" MR 12000 8000
shown "DenseNet-121, 1.9 MB: transfers beside steps" overlap "$densenet" 1900000 12000 8000
finish
