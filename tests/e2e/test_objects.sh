#!/bin/sh
# SPDX-License-Identifier: MIT
#
# npumemctl graph, plan and run, each with list and show: what a client has in the driver, who may
# see it, and that it goes with the client.
# Functions are called by name, through check.
# shellcheck disable=SC2317
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

SPILL=${SPILL:-/opt/npumem/e2e/spill}
RUN=

# named NOUN: what the client that runs has of it, in NOUN.json; one ID, which is said.
named() {
	npumemctl "$1" list -j >all.json || return 1
	tr '{' '\n' <all.json | grep "\"pid\": *$RUN," >"$1.json"
	[ "$(wc -l <"$1.json")" = 1 ] && field id "$1.json"
}
started() { named run >/dev/null && [ "$(field state run.json)" = busy ]; }
start_run() {
	npumemctl run -j --timeout 3000 --repeat 1000000 --plan "$SPILL/spilled.plan.json" \
		"$SPILL/spilled.json" >run.out 2>&1 &
	RUN=$!
	until_true 300 started
}
listed() {
	graph=$(named graph) && plan=$(named plan) && run=$(named run) || return 1
	echo "graph $graph, plan $plan, run $run"
	[ "$(field graph plan.json)" = "$graph" ] && [ "$(field state plan.json)" = ready ] || return 1
	[ "$(field graph run.json)" = "$graph" ] && [ "$(field plan run.json)" = "$plan" ] || return 1
	# Whole units of the bank.
	[ "$(field arena run.json)" -ge "$(field arena plan.json)" ] || return 1
	[ "$(field plans graph.json)" = 1 ] && [ "$(field runs graph.json)" = 1 ] || return 1
	for noun in graph plan run; do
		npumemctl $noun list | grep -q " $RUN .* npumemctl\$" || return 1
	done
}
shown_one() {
	for noun in graph plan run; do
		id=$(named $noun) && npumemctl $noun show "$id" >one.txt || return 1
		cat one.txt
		[ "$(head -n 1 one.txt)" = "$noun $id" ] || return 1
		npumemctl $noun show -j "$id" >one.json && [ "$(field id one.json)" = "$id" ] || return 1
	done
	# The plan's own words; its file was made by hand.
	npumemctl plan show -j "$(named plan)" >one.json || return 1
	cat one.json
	[ "$(field planner one.json)" = "$(field planner "$SPILL/spilled.plan.json")" ] || return 1
	fails 1 'npumemctl: 9999:1: there is no such run, or not for this user to see' \
		npumemctl run show 9999:1
}
# Another user may not look into it, and is told that there is something.
by_others() {
	chmod a+rw /dev/accel/accel* /dev/dri/renderD* 2>/dev/null
	su -s /bin/sh nobody -c 'npumemctl run list -j' >other.json || return 1
	! grep -q "\"pid\": *$RUN," other.json && [ "$(field hidden other.json)" -gt 0 ]
}
# All but for how long somebody has held some of it.
devices_too() {
	npumemctl device list >one.out && npumemctl devices >other.out || return 1
	sed 's/, for [0-9]* s$//' one.out >one.txt && sed 's/, for [0-9]* s$//' other.out >other.txt
	cat one.txt
	cmp one.txt other.txt
}
# Nobody holds the file who has only looked at it.
gone() {
	kill -KILL "$RUN" || return 1
	wait "$RUN"
	until_true 60 nothing_held && ! named run
}
nothing_held() {
	npumemctl devices -j >devices.json && grep -q '"holders": *\[\]' devices.json
}

check "a client runs" start_run
shown "its graph, plan and run are listed" listed
shown "and shown" shown_one
check "another user does not see them" by_others
check "device list is devices" devices_too
check "they go with the client" gone
check_plan
