#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The daemon dies, by SIGKILL and by SIGTERM: verified plans go on running, and
# the next daemon plans.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119,SC2086
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

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
	npumemctl run -j --repeat 4 -o plan.json "$MOBILENET" >run.json &
	run=$!
	until_true 300 test -s plan.json || return 1
	kill_daemon || return 1
	kill -0 $run || { echo "it had ended before the daemon did"; return 1; }
	wait $run || return 1
	equal run.json && [ "$(field inferences run.json)" = 4 ]
}

check "npumemd registers" start_daemon
check "daemon killed: the plan goes on running" goes_on_without
check "npumemd can be started again" start_daemon
check "and plans" whole_trip
check "SIGTERM: exit 0" stop_daemon
check "once more: exit 0, unregistered" terminated
finish
