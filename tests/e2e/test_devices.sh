#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A second device comes, goes and comes back while npumemd runs and a client works on the first: who
# has it is planned for, who has the other one is not disturbed, and nobody gets what is the other's.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

DRIVER=/sys/bus/platform/drivers/npumem-sim
SPARE=/sys/bus/platform/devices/spare-npu
CLIENT=

nodes() { npumemctl devices -j | grep -o '"path": *"[^"]*"' | sed 's/.*"\([^"]*\)"/\1/'; }
comes() {
	echo npumem-sim >"$SPARE"/driver_override && echo spare-npu >"$DRIVER"/bind || return 1
	SECOND=$(nodes | grep -vx "$FIRST") && [ "$(nodes | wc -l)" = 2 ]
}
goes() { echo spare-npu >"$DRIVER"/unbind && [ "$(nodes)" = "$FIRST" ]; }

# on NODE [OPTION...]: a planned inference, in run.json.
on() {
	node=$1
	shift
	npumemctl run -j --device "$node" "$@" "$MOBILENET" >run.json && equal run.json &&
		[ "$(field plan_from run.json)" = daemon ]
}
only_one() { FIRST=$(nodes) && [ "$(nodes | wc -l)" = 1 ] && start_daemon && on "$FIRST"; }

# What the client of the first device has done so far; it never ends by itself.
jobs_done() {
	npumemctl top -j -n 1 --delay 0.1 -d "$FIRST" >top.json &&
		sed 's/{"client":/\n&/g' top.json | grep "\"pid\":$CLIENT," >client.json && field jobs client.json
}
works() {
	before=$(jobs_done) || return 1
	until_true 60 has_done_more
}
has_done_more() { [ "$(jobs_done)" != "$before" ]; }
start_client() {
	npumemctl run -j --device "$FIRST" --repeat 1000000 --timeout 3000 "$MOBILENET" >client.out 2>client.err &
	CLIENT=$!
	until_true 300 jobs_done && works
}
undisturbed() { kill -0 "$CLIENT" && works; }

# The daemon is registered with the driver, so with both.
listed() {
	npumemctl devices -j >devices.json || return 1
	cat devices.json
	[ "$(grep -o '"daemon": *true' devices.json | wc -l)" = 2 ] || return 1
	for node in "$FIRST" "$SECOND"; do
		npumemctl devices -d "$node" -j | grep -o '"size": *[0-9]*'
	done >sizes
	[ "$(sort -u sizes | wc -l)" = 2 ]
}
planned_there() { on "$SECOND" --align 512 && grep 'planned by auto' daemon.log | tail -n 1 && undisturbed; }
beside_each_other() {
	npumemctl run -j --device "$FIRST" --repeat 3 "$MOBILENET" >one.json &
	one=$!
	npumemctl run -j --device "$SECOND" --repeat 3 "$MOBILENET" >other.json &
	wait "$one" && wait $! && equal one.json && equal other.json
}
# More than the second one's carveout has, and less than the first one's.
too_large() {
	fails 1 'No space left on device' npumemctl run --device "$SECOND" "$LARGE" || return 1
	npumemctl run -j --device "$FIRST" "$LARGE" >run.json && equal run.json
}
# What is alive is shown of the device that it is on.
shown_apart() {
	npumemctl run list -j -d "$FIRST" >first.json && grep -q "\"pid\": *$CLIENT," first.json || return 1
	npumemctl run list -j -d "$SECOND" >second.json && ! grep -q "\"pid\": *$CLIENT," second.json || return 1
	npumemctl run list -j | tr '{' '\n' | grep "\"pid\": *$CLIENT," >mine.json && [ "$(field device mine.json)" = "$FIRST" ]
}
torn_out() {
	npumemctl run -j --device "$SECOND" --repeat 1000000 --timeout 3000 "$MOBILENET" >torn.out 2>&1 &
	torn=$!
	until_true 300 busy_there || return 1
	goes && ! wait "$torn" || return 1
	cat torn.out
	grep -q 'No such device' torn.out && undisturbed && kill -0 "$DAEMON"
}
busy_there() { npumemctl run list -j -d "$SECOND" | grep -q "\"pid\": *$torn,"; }
not_there() { fails 1 "npumemctl: $SECOND: " npumemctl run --device "$SECOND" "$MOBILENET"; }
back() { comes && on "$SECOND" && undisturbed; }
# A request that is under way when its device goes is the daemon's to forget.
torn_while_planning() {
	kill -STOP "$DAEMON"
	npumemctl run -j --device "$SECOND" --planner cosma --bands 8 "$MOBILENET" >torn.out 2>&1 &
	torn=$!
	until_true 60 pending_there
	pending=$?
	goes
	went=$?
	kill -CONT "$DAEMON"
	! wait "$torn" || return 1
	cat torn.out
	[ "$pending$went" = 00 ] && grep -q 'No such device' torn.out || return 1
	comes && on "$SECOND" --planner nnc && undisturbed
}
pending_there() {
	npumemctl plan list -j -d "$SECOND" | tr '{' '\n' | grep "\"pid\": *$torn," | grep -q '"state": *"pending"'
}
next_daemon() { kill_daemon && start_daemon && on "$FIRST" --align 1024 && on "$SECOND" --align 1024 && undisturbed; }
ends() { kill "$CLIENT" && ! wait "$CLIENT" && goes && stop_daemon; }

LARGE=$GRAPHS/fsrcnn_x2_512.fused.json
check "one device, and npumemd" only_one
check "a client works on it" start_client
check "a second device comes" comes
shown "both are listed, with the daemon" listed
shown "who has the second one gets plans; the client of the first goes on" planned_there
check "planned for beside each other: outputs equal" beside_each_other
check "what does not fit into the second is refused there only" too_large
check "what is alive is listed with its device" shown_apart
shown "it goes while a client runs on it, which is told; the other one goes on" torn_out
check "it is not there" not_there
check "it comes back" back
shown "it goes while a plan for it is made" torn_while_planning
check "the next daemon plans for both" next_daemon
check "all end" ends
# Nothing is left for others, whatever came of it.
kill "$CLIENT" 2>/dev/null
echo spare-npu >"$DRIVER"/unbind 2>/dev/null
finish
