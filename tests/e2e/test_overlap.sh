#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Transfers of a plan beside its steps: a network that is spilled, on one engine and on two
# whose speeds are set. The driver's trace says what ran while another engine did; how long
# it took is told beside what the hazards of the plan let one expect, and judged by
# `make bench`, which sets STEPS_MS and TRANSFERS_MS.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2154
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

OVERLAP=${OVERLAP:-/opt/npumem/e2e/npumem_overlap}
STEPS_MS=${STEPS_MS:-3000}
TRANSFERS_MS=${TRANSFERS_MS:-2000}
TRACING=/sys/kernel/tracing

# speed ENGINE/KNOB RATE: bytes a second, 0 for as fast as it is.
speed() {
	for knob in /sys/kernel/debug/accel/*/"$1" /sys/kernel/debug/dri/*/"$1"; do
		[ ! -e "$knob" ] || echo "$2" >"$knob"
	done
}

# speeds STEPS TRANSFERS: of both engines.
speeds() {
	speed sim/bytes_per_second "$1"
	speed sim/transfer_bytes_per_second "$2"
	speed sim-copy/bytes_per_second "$2"
}

# took OPTION...: run plan.json, whose outputs are equal; $ms are the time of the run, $beside
# the jobs that began while a job of another engine ran.
took() {
	echo >"$TRACING"/trace
	echo 1 >"$TRACING"/events/npumem/npumem_job_start/enable
	echo 1 >"$TRACING"/events/npumem/npumem_job_end/enable
	npumemctl run -j --plan plan.json "$@" "$graph" >run.json
	code=$?
	echo 0 >"$TRACING"/events/npumem/enable
	[ "$code" = 0 ] || return 1
	equal run.json || return 1
	ms=$(awk "BEGIN { print int(1000 * $(field run_seconds run.json)) }")
	beside=$(awk '
		match($0, / engine=[0-9]+/) {
			engine = substr($0, RSTART + 8, RLENGTH - 8)
			if (/npumem_job_end:/) {
				ends++
				delete runs[engine]
				next
			}
			for (other in runs)
				if (other != engine) {
					beside++
					break
				}
			runs[engine] = 1
		}
		END { print ends ? beside + 0 : "none" }' "$TRACING/trace")
	[ "$beside" != none ] || { echo "the trace has no jobs"; return 1; }
}

# overlap GRAPH BUDGET: no job runs beside another where there is one engine; with two, some
# do, yet none sooner than it may: the time is never below that of the hazards.
overlap() {
	graph=$1 budget=$2
	npumemctl plan --planner cosma --budget "$budget" "$graph" -o plan.json \
		--blob plan.blob --graph-blob graph.blob || return 1
	"$OVERLAP" graph.blob plan.blob "$STEPS_MS" "$TRANSFERS_MS" >speeds || return 1
	eval "$(cat speeds)"
	speeds "$steps_rate" "$transfers_rate"
	took --one-engine && one=$ms one_beside=$beside && took
	code=$?
	two=$ms
	speeds 0 0
	[ "$code" = 0 ] || return 1
	echo "one engine: $one ms, model $one_ms; two: $two ms, model $two_ms, $beside jobs beside others"
	[ "$one_beside" = 0 ] && [ "$beside" -gt 0 ] &&
		[ "$one" -ge $((one_ms * 99 / 100)) ] && [ "$two" -ge $((two_ms * 99 / 100)) ]
}

# The less there is to spare in the arena, the sooner a transfer's place is needed by a step.
densenet=$GRAPHS/densenet121.fused.json
shown "DenseNet-121, M_R: transfers beside steps" overlap "$densenet" MR
shown "DenseNet-121, 1.9 MB: transfers beside steps" overlap "$densenet" 1900000
finish
