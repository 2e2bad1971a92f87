#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Whole trips: npumemctl asks the driver, the driver npumemd, and the plan comes
# back, verified, and runs. And what must not stop that: bad requests, bad
# daemons' ends, two clients at once.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119,SC2086
# shellcheck source=tests/e2e/lib.sh
. /opt/npumem/e2e/lib.sh

whole_trip() {
	npumemctl run -j "$@" "$MOBILENET" >run.json || return 1
	equal run.json || return 1
	[ "$(field plan_from run.json)" = daemon ] || return 1
	[ "$(field arena run.json)" -ge "$(field lower_bound run.json)" ] || return 1
	[ "$(field arena run.json)" -lt "$(field tensor_bytes run.json)" ]
}

same_bytes() {
	npumemctl plan "$1" "$2" -o offline.json "$MOBILENET" &&
		npumemctl run "$1" "$2" -o daemon.json "$MOBILENET" &&
		cmp offline.json daemon.json
}

# A second inference in the same run: other inputs, other outputs.
repeated() {
	npumemctl run -j --repeat 3 "$MOBILENET" >run.json && equal run.json &&
		[ "$(grep -o '"equal": *true' run.json | wc -l)" = 4 ]
}

two_at_once() {
	npumemctl run -j --seed 11 --repeat 2 "$MOBILENET" >one.json &
	one=$!
	npumemctl run -j --seed 22 --repeat 2 --bands 4 "$MOBILENET" >two.json
	rc=$?
	wait $one && [ $rc = 0 ] && equal one.json && equal two.json
}

eight_at_once() {
	pids='' rc=0
	for i in 1 2 3 4 5 6 7 8; do
		npumemctl run -j --seed $i "$GRAPHS/squeezenet1_1.fused.json" >"c$i.json" &
		pids="$pids $!"
	done
	for pid in $pids; do wait "$pid" || rc=1; done
	for i in 1 2 3 4 5 6 7 8; do equal "c$i.json" || rc=1; done
	return $rc
}

second_daemon() {
	fails 3 'another daemon' timeout 20 npumemd --foreground
}

terminated() {
	start_daemon || return 1
	stop_daemon
	rc=$?
	cat daemon.log
	[ $rc = 0 ] && ! has_daemon
}

# The plan has come, inferences are under way: now the daemon dies.
goes_on_without() {
	rm -f plan.json
	npumemctl run -j --repeat 8 -o plan.json "$MOBILENET" >run.json &
	run=$!
	until_true 60 test -s plan.json || return 1
	kill_daemon || return 1
	kill -0 $run || { echo "it had ended before the daemon did"; return 1; }
	wait $run || return 1
	equal run.json && [ "$(field inferences run.json)" = 8 ]
}

check "no daemon: said so, with what to do" \
	fails 1 'start npumemd' npumemctl run "$MOBILENET"
check "npumemd registers" start_daemon
check "a second npumemd is refused" second_daemon
check "MobileNetV2, whole operators: outputs equal" whole_trip
check "MobileNetV2, 8 bands: outputs equal" whole_trip --bands 8
check "the daemon's plan is, byte for byte, the offline one" same_bytes --bands 1
check "the same in 8 bands" same_bytes --bands 8
check "three inferences in one run" repeated
check "two clients at once" two_at_once
check "eight clients at once" eight_at_once
check "a budget that cannot be met is refused with numbers" \
	fails 1 'lower bound' npumemctl run --arena-budget 1MiB "$MOBILENET"
check "an unknown planner is refused by name" \
	fails 1 'no-such-planner' npumemctl run --planner no-such-planner "$MOBILENET"
check "the daemon has survived both" whole_trip
check "daemon killed: the plan goes on running" goes_on_without
check "npumemd can be started again" start_daemon
check "and plans" whole_trip
check "SIGTERM: exit 0, unregistered" stop_daemon
check "once more" terminated
finish
