#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Several clients at once, and requests that cannot be met: the daemon serves the
# one and survives the other.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119,SC2086
# shellcheck source=tests/e2e/lib.sh
. /opt/npumem/e2e/lib.sh

two_at_once() {
	npumemctl run -j --seed 11 "$MOBILENET" >one.json &
	one=$!
	npumemctl run -j --seed 22 --bands 4 "$MOBILENET" >two.json
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

check "npumemd registers" start_daemon
check "two clients at once" two_at_once
check "eight clients at once" eight_at_once
check "a budget that cannot be met is refused with numbers" \
	fails 1 'lower bound' npumemctl run --arena-budget 1MiB "$MOBILENET"
check "an unknown planner is refused by name" \
	fails 1 'no-such-planner' npumemctl run --planner no-such-planner "$MOBILENET"
check "the daemon has survived both" whole_trip
check "SIGTERM: exit 0" stop_daemon
finish
