#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Several clients at once, and requests that cannot be met: the daemon serves the
# one and survives the other.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119,SC2086
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

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
		npumemctl run -j --timeout 1000 --seed $i "$GRAPHS/squeezenet1_1.fused.json" >"c$i.json" &
		pids="$pids $!"
	done
	for pid in $pids; do wait "$pid" || rc=1; done
	for i in 1 2 3 4 5 6 7 8; do equal "c$i.json" || rc=1; done
	return $rc
}

held_by() {
	npumemctl devices >devices.txt
	grep -q "holder .* pid $1 (npumemctl): .* of bank 0, for [0-9]* s\$" devices.txt
}

# While a client runs, and not any more when it has ended.
shows_holder() {
	npumemctl run -j --repeat 1000 "$MOBILENET" >/dev/null 2>&1 &
	pid=$!
	until_true 300 held_by $pid
	rc=$?
	kill $pid
	wait $pid
	[ $rc = 0 ] && until_true 60 not held_by $pid
}

not() {
	! "$@"
}

shows_slot() {
	npumemctl devices >devices.txt
	grep -q '^  engine 2   process, version 0: transfers, process$' devices.txt
}

hides_holders() {
	chmod 666 /dev/accel/accel* /dev/dri/renderD* 2>/dev/null
	su -s /bin/sh nobody -c 'npumemctl devices && npumemctl devices -j' >devices.txt || return 1
	grep -q '^  holders  *not shown: that needs CAP_SYS_ADMIN' devices.txt &&
		grep -q '"holders":null' devices.txt && ! grep -q ' pid ' devices.txt
}

check "npumemd registers" start_daemon
check "two clients at once" two_at_once
check "eight clients at once" eight_at_once
check "an administrator is shown who holds the carveout" shows_holder
check "others are not" hides_holders
check "a slot for an engine in a process is shown as one" shows_slot
check "a budget that cannot be met is refused with numbers" \
	fails 1 'lower bound' npumemctl run --arena-budget 1MiB "$MOBILENET"
check "an unknown planner is refused by name" \
	fails 1 'no-such-planner' npumemctl run --planner no-such-planner "$MOBILENET"
check "a planner's name is plain text, whatever bytes it has" \
	fails 1 'unknown planner x??' npumemctl run --planner "$(printf 'x\233\377')" "$MOBILENET"
check "the daemon has survived all" whole_trip
check "SIGTERM: exit 0" stop_daemon
finish
