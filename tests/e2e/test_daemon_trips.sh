#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Whole trips: npumemctl asks the driver, the driver npumemd, and the plan comes
# back, verified, and runs.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119,SC2086
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

same_bytes() {
	npumemctl plan "$@" -o offline.json "$MOBILENET" &&
		npumemctl run "$@" -o daemon.json "$MOBILENET" &&
		cmp offline.json daemon.json
}

# A second inference in the same run: other inputs, other outputs.
repeated() {
	npumemctl run -j --repeat 3 "$MOBILENET" >run.json && equal run.json &&
		[ "$(grep -o '"equal": *true' run.json | wc -l)" = 4 ]
}

# Planned by the daemon as it is said, run, and compared; whole is what it was without cutting.
asked() {
	npumemctl run -j --timeout 1000 "$@" "$MOBILENET" >run.json && equal run.json &&
		[ "$(field plan_from run.json)" = daemon ]
}
# What cuts the graph, npumemctl or npumemd, is the same to the plan.
cut_alike() {
	asked "$@" && arena=$(field arena run.json) && jobs=$(field jobs run.json) &&
		sum=$(field sha256 run.json) && asked --daemon-cuts "$@" &&
		[ "$(field arena run.json)" = "$arena" ] && [ "$(field jobs run.json)" = "$jobs" ] &&
		[ "$(field sha256 run.json)" = "$sum" ]
}
# Of a model npumemd knows which steps are one operator's, as npumemctl does offline.
by_tiles() {
	npumemctl plan -j --planner tile-scheduled --rows 4 --work 20000 --traffic-factor 2 \
		"$MOBILENET" >plan.json &&
		asked --daemon-cuts --planner tile-scheduled --rows 4 --work 20000 \
			--traffic-factor 2 &&
		[ "$(field arena run.json)" = "$(field arena plan.json)" ]
}
within_budget() {
	npumemctl plan -j --planner cosma --budget MH --work 2000 "$MOBILENET" >plan.json &&
		asked --planner cosma --budget MH --work 2000 &&
		[ "$(field arena run.json)" = "$(field arena plan.json)" ] &&
		[ "$(field traffic run.json)" = "$(field traffic plan.json)" ]
}
again() {
	npumemctl plan -j --planner cosma --budget MR --work 2000 --recompute=1 "$MOBILENET" \
		>plan.json &&
		asked --planner cosma --budget MR --work 2000 --recompute=1 &&
		[ "$(field traffic run.json)" = "$(field traffic plan.json)" ] &&
		[ "$(field jobs run.json)" -gt 0 ]
}
# Of a loop whose values change places; what npumemctl plans by itself offline it asks for here.
copied() {
	swap=$GRAPHS/while_swap.json
	npumemctl plan -j --planner greedy --instances 5 "$swap" >plan.json &&
		npumemctl run -j --timeout 1000 --planner greedy --carry-copies needed \
			--instances 5 "$swap" >run.json && equal run.json &&
		[ "$(field plan_from run.json)" = daemon ] &&
		[ "$(field arena run.json)" = "$(field arena plan.json)" ] &&
		fails 1 'the graph has 5 blocks: a plan has at most 4 instances' npumemctl run \
			--timeout 1000 --planner greedy --carry-copies needed --instances 4 "$swap"
}

second_daemon() {
	fails 3 'another daemon' timeout 300 npumemd --foreground
}

check "no daemon: said so, with what to do" \
	fails 1 'start npumemd' npumemctl run "$MOBILENET"
check "npumemd registers" start_daemon
check "a second npumemd is refused" second_daemon
check "MobileNetV2, whole operators: outputs equal" whole_trip
check "MobileNetV2, 8 bands: outputs equal" whole_trip --bands 8
check "the daemon's plan is, byte for byte, the offline one" same_bytes --bands 1
check "the same in 8 bands" same_bytes --bands 8
check "the same patch by patch" same_bytes --patches 0..4=28x28
check "the same with partial sums" same_bytes --onchip 64KiB --partial-sums
check "the best patches, planned by the daemon: outputs equal" whole_trip --patches best
check "three inferences in one run" repeated
check "npumemd cuts into bands as npumemctl does" cut_alike --bands 8
check "npumemd cuts for on-chip memory, with parameters, in another layout" \
	cut_alike --onchip 512KiB --double-buffer --layout nc32hw
check "npumemd cuts into tiles of rows and columns" cut_alike --rows 8 --columns 28
check "npumemd cuts into rows for planner tile-scheduled, as offline" by_tiles
check "npumemd finds a budget by its name, as offline" within_budget
check "npumemd has operators run again, as offline" again
check "npumemd has values of a loop copied, as offline" copied
check "the least peak beside a budget" asked --objective peak --arena-budget 16MiB --work 2000
check "two banks" asked --planner cosma --banks 2MiB@8000,8MiB@2000 --work 2000
check "a budget by name is of planners that move tensors: refused" \
	fails 1 'option 3 (budget) is of planners that move tensors, and greedy does not' \
	npumemctl run --planner greedy --budget MR "$MOBILENET"
check "what does not fit on chip: refused" \
	fails 1 'no plan was made: cut: ' npumemctl run --timeout 300 --daemon-cuts --onchip 100 \
	"$GRAPHS/mobilenet_v1_025.fused.json"
check "SIGTERM: exit 0" stop_daemon
finish
