#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The daemon's workers: each sees its own client's graph only, and is gone when the
# request is.
# Functions are called by name, through check.
# shellcheck disable=SC2317
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

CLIENT=${CLIENT:-/opt/npumem/e2e/npumem_plan_client}

# No limit but the deadline's hour: nothing ends by itself.
printf '[worker]\ncpu-limit = 0\ntime-limit = 0\n' >npumemd.conf

goes_on() { npumemctl run -j "$GRAPHS/squeezenet1_1.fused.json" >run.json && equal run.json; }

said_so() {
	[ "$(grep -c 'its planning is stopped: the requester gave the request up' daemon.log)" = 2 ]
}

# npumemd, started by a program that ignores SIGCHLD. No shell can be one: a trap for it is none.
start_ignoring() {
	/opt/npumem/e2e/npumem_ignoring npumemd --foreground "$@" >daemon.log 2>&1 &
	DAEMON=$!
	until_true 300 has_daemon || { cat daemon.log; return 1; }
}

check "npumemd registers" start_daemon --config npumemd.conf
shown "a worker has no other client's graph in memory" "$CLIENT" neighbours
check "SIGTERM: exit 0" stop_daemon
check "npumemd registers again" start_daemon --config npumemd.conf
check "a request given up ends its worker" "$CLIENT" given-up
check "the daemon says so" said_so
check "and plans for others" goes_on
shown "a small request" "$CLIENT" latency 10
check "SIGTERM: exit 0" stop_daemon
check "npumemd registers where its parent ignores SIGCHLD" start_ignoring --config npumemd.conf
check "and hears of its workers' ends" goes_on
check "SIGTERM: exit 0" stop_daemon
finish
