#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A runtime that goes on running takes the better plan that npumemd has found meanwhile, between two
# inferences; outputs are those of one that keeps its first plan.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

CLIENT=/opt/npumem/e2e/npumem_follow

# The first answer comes after a millisecond, and the search for a better one has this many seconds.
improving() { # SECONDS
	stop_daemon
	rm -rf plans
	printf '[cache]\nfolder = %s/plans\n[improve]\ntime = %s\nfirst-answer = 1\n' "$PWD" "$1" \
		>improve.conf
	start_daemon --config improve.conf
}

# same_outputs A B: as far as both have gone.
same_outputs() {
	sizes="$(wc -c <"$1") $(wc -c <"$2")"
	least=${sizes% *}
	[ "$least" -le "${sizes#* }" ] || least=${sizes#* }
	echo "outputs of $((least / 8)) inferences compared"
	[ "$least" -gt 0 ] && cmp -n "$least" "$1" "$2"
}

# smaller FILE: its arena is smaller now than at first.
smaller() { [ "$(field arena "$1")" -lt "$(field first_arena "$1")" ]; }

# follow_and_keep RUNS OPTION...: two runtimes of one model; the second one does not follow, and runs
# as long as the first one does.
follow_and_keep() {
	runs=$1
	shift
	rm -f stop
	$CLIENT "$@" -w stop kept.digests >kept.json 2>kept.err &
	kept=$!
	$CLIENT "$@" -f 50 -s 1 -r "$runs" followed.digests >followed.json 2>followed.err
	rc=$?
	: >stop
	wait "$kept" || rc=1
	cat followed.json kept.json followed.err kept.err
	[ "$rc" = 0 ] || { cat daemon.log; return 1; }
	same_outputs followed.digests kept.digests || return 1
	[ "$(field swaps followed.json)" -ge 1 ] && [ "$(field before_swap followed.json)" -gt 0 ] &&
		[ ! -s followed.err ] && [ "$(field swaps kept.json)" = 0 ] &&
		[ "$(field arena kept.json)" = "$(field first_arena kept.json)" ]
}

thousands() {
	improving 60 && follow_and_keep 2000 && smaller followed.json && grep "a better plan was found" daemon.log
}

# graph_of NAME OPTION...: a network's graph with its weights, as a blob.
graph_of() {
	name=$1
	shift
	npumemctl plan --params "$@" "$GRAPHS/$name.fused.json" --graph-blob "$name.blob" >/dev/null
}

# The better plan moves less between arena and host memory.
traffic() {
	graph_of mobilenet_v2 --planner cosma --arena-budget MR && improving 120 &&
		follow_and_keep 2 -p cosma -b -g mobilenet_v2.blob &&
		[ "$(field moved followed.json)" -lt "$(field first_moved followed.json)" ]
}

# Weights are in the arena, are written once, and move with the rest. The carveout has room for two
# such arenas and no third one, so the runtime that does not follow runs before. Inferences of a real
# network take their time in an emulator.
large() {
	graph_of inception_v3 && improving 60 &&
		$CLIENT -r 4 -g inception_v3.blob -p greedy-size kept.digests >kept.json &&
		$CLIENT -f 50 -s 1 -r 2 -g inception_v3.blob followed.digests >followed.json || return 1
	cat kept.json followed.json
	same_outputs followed.digests kept.digests && smaller followed.json &&
		[ "$(field before_swap followed.json)" -gt 0 ]
}

# Who comes later has the better plan from the beginning, and the same outputs.
later() {
	$CLIENT -r 1000 later.digests >later.json || return 1
	cat later.json
	[ "$(field first_arena later.json)" = "$(field arena followed.json)" ] &&
		same_outputs later.digests followed.digests
}

# There is no room for two arenas at a time: the old plan goes on, and says so. The runtime is stopped
# until all room is taken.
no_room() {
	improving 60 || return 1
	rm -f stop
	$CLIENT -f 50 -w stop crowded.digests >crowded.json 2>crowded.err &
	crowded=$!
	until_true 60 test -s crowded.digests && kill -STOP "$crowded"
	/opt/npumem/e2e/npumem_hold >hold.out 2>&1 &
	hold=$!
	until_true 60 grep -q held hold.out
	kill -CONT "$crowded"
	until_true 200 grep -q 'No space left' crowded.err
	rc=$?
	: >stop
	wait "$crowded" || rc=1
	kill "$hold"
	wait "$hold" 2>/dev/null
	cat crowded.json crowded.err
	[ "$rc" = 0 ] && [ "$(field swaps crowded.json)" = 0 ] &&
		same_outputs crowded.digests followed.digests
}

# The search runs at idle priority, and so does what is left of it end when npumemd is killed.
die_and_come_back() {
	kill -KILL "$DAEMON"
	wait "$DAEMON"
	DAEMON=
	until_true 60 no_daemon && usleep 500000 && start_daemon --config improve.conf
}
no_daemon() { ! has_daemon; }

# npumemd goes away and comes back, while a runtime asks again and again.
daemon_gone() {
	improving 60 || return 1
	$CLIENT -f 20 -s 1 -r 1000 gone.digests >gone.json 2>gone.err &
	gone=$!
	until_true 60 test -s gone.digests && die_and_come_back
	rc=$?
	wait "$gone" || rc=1
	cat gone.json gone.err
	[ "$rc" = 0 ] && same_outputs gone.digests followed.digests
}

shown "thousands of inferences: the better plan is taken, outputs are equal" thousands
shown "a runtime that comes later begins with the better plan" later
shown "no room for two arenas: the old plan goes on" no_room
shown "npumemd is killed meanwhile: the runtime goes on, and follows the next one" daemon_gone
shown "a large network: the better plan is taken, outputs are equal" large inception_v3
shown "less traffic: the better plan is taken, outputs are equal" traffic
finish
