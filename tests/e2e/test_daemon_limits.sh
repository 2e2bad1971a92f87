#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Limits of the service, as MemoryMax= and CPUWeight= of npumemd(8) set them: where its memory ends,
# the planning process goes and its request is told; the daemon and all others go on.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

CGROUP=/sys/fs/cgroup
SERVICE=$CGROUP/npumemd.service

# oom_kills: of the service, since it began.
oom_kills() { awk '$1 == "oom_kill" { print $2 }' "$SERVICE"/memory.events; }

# Three times what a daemon with a small request has (2 MiB), and less than what the large one has before its search
# begins (9 MiB): the slowest guest gets there, whatever time its planning is given.
starts_within() {
	echo '+memory +cpu' >"$CGROUP"/cgroup.subtree_control && mkdir "$SERVICE" &&
		echo 6M >"$SERVICE"/memory.max && echo 20 >"$SERVICE"/cpu.weight || return 1
	# From its first page on.
	sh -c "echo \$\$ >$SERVICE/cgroup.procs && exec npumemd --foreground" >daemon.log 2>&1 &
	DAEMON=$!
	until_true 300 has_daemon
}
small() { npumemctl run -j "$@" "$GRAPHS/squeezenet1_1.fused.json" >run.json && equal run.json; }
large() { npumemctl run -j --planner cosma --bands 16 "$GRAPHS/inception_v4.fused.json" >large.json 2>large.err; }
# What plans is in it, too, so its weight is the worker's.
was_within() { [ "$(wc -l <"$SERVICE"/cgroup.procs)" = 2 ] || [ "$(oom_kills)" -gt 0 ]; }
# Somebody else's, meanwhile. The kernel takes what has most, and then another one if a request for memory comes before
# that one's pages are free again: who is told so asks once more.
else_planned() {
	small --align 512 2>small.err && return
	cat small.err
	grep -q "$KILLED" small.err && [ "$(oom_kills)" -gt 1 ] && small --align 512
}
KILLED='the planning process was killed, as the kernel does where memory ends'
killed_alone() {
	large &
	client=$!
	until_true 60 was_within || { cat "$SERVICE"/cgroup.procs daemon.log; return 1; }
	else_planned || return 1
	! wait "$client" || return 1
	cat large.err
	grep -q "$KILLED" large.err && [ "$(oom_kills)" -gt 0 ] &&
		kill -0 "$DAEMON" && small --align 1024
}
# Given the memory, the same request is no trouble; it is stopped then, for it takes a while.
has_enough() {
	echo max >"$SERVICE"/memory.max
	killed=$(oom_kills)
	large &
	client=$!
	until_true 120 takes_more && kill "$client" && ! wait "$client" && [ "$(oom_kills)" = "$killed" ] && small --align 2048
}
takes_more() { [ "$(cat "$SERVICE"/memory.current)" -gt 8000000 ]; }
# The last worker may still be giving its memory back.
ends() { stop_daemon && until_true 60 rmdir "$SERVICE" && echo '-memory -cpu' >"$CGROUP"/cgroup.subtree_control; }

check "npumemd starts within its limits" starts_within
check "and plans" small
shown "a planning process that needs more is killed, and others get answers" killed_alone
check "without the limit it is not" has_enough
check "it ends" ends
finish
