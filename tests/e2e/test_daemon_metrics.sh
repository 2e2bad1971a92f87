#!/bin/sh
# SPDX-License-Identifier: MIT
#
# npumemd's metrics: npumemctl status and the file say what was asked and how it ended; the socket is
# as the configuration has it, after a reload, too, and gone with the daemon.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

configured() { # KEY...
	printf '[cache]\nfolder = %s/plans\n[metrics]\n' "$PWD" >metrics.conf
	printf '%s\n' "$@" >>metrics.conf
}
status() { npumemctl status -s "$PWD/socket" "$@"; }
# in_file SAMPLE VALUE: it has that value in the file, which is written every 15 seconds.
in_file() { grep -qxF "$1 $2" npumemd.prom; }

starts() {
	configured "socket = $PWD/socket" "textfile = $PWD/npumemd.prom"
	start_daemon --config metrics.conf || return 1
	status || return 1
	status | grep -qx 'npumemd  *[0-9.]*, registered with the driver' &&
		status | grep -qx 'requests   0 of 2 places taken, 0 wait; 0 planned, 0 answered with kept plans, 0 failed, 0 refused by the driver, 0 given up'
}
counts() {
	npumemctl run "$MOBILENET" && npumemctl run "$MOBILENET" || return 1
	npumemctl run --arena-budget 1M "$MOBILENET" && return 1
	until_true 60 counted_all && status || return 1
	status -j >status.json && grep -q '"npumemd_registered"' status.json || return 1
	until_true 60 in_file 'npumemd_requests_total{planner="auto",outcome="kept"}' 1 || return 1
	in_file 'npumemd_request_failures_total{errno="ENOSPC"}' 1
}
# The driver's verdict comes a moment after the client has its plan.
counted_all() {
	status >status.txt && grep -q '; 1 planned, 1 answered with kept plans, 1 failed,' status.txt &&
		grep -qx 'failures   ENOSPC 1' status.txt
}
# Without the socket it goes on, and with another one.
reloads() {
	configured "socket = $PWD/other" 'mode = 600'
	kill -HUP "$DAEMON"
	until_true 60 npumemctl status -s "$PWD/other" || return 1
	[ "$(stat -c %a other)" = 600 ] && [ ! -e socket ] || return 1
	npumemctl status -s "$PWD/other" | grep -q '; 1 planned,' || return 1
	fails 1 "npumemctl: $PWD/socket: No such file or directory" status
}
ends() {
	stop_daemon && [ ! -e other ]
}
# Whoever else answers there is not believed.
other_answers() {
	fails 1 'npumemctl: /dev/null: this is no socket' npumemctl status -s /dev/null
}

check "the daemon tells that nothing was asked" starts
shown "what was planned, kept and refused is counted" counts
check "a reload moves the socket, and counts go on" reloads
check "it is gone with the daemon" ends
check "what is no socket is said" other_answers
check_plan
