#!/bin/sh
# SPDX-License-Identifier: MIT
#
# npumemd's policies: what a user, a group and a unit may ask for, by what the driver says of who
# opened the device; a reload changes it for the next request.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

UNIT=/sys/fs/cgroup/system.slice/words.service

configured() { # LINE...
	printf '[cache]\nfolder = %s/plans\n' "$PWD" >policy.conf
	printf '%s\n' "$@" >>policy.conf
}
reloaded() { # LINE...
	configured "$@"
	lines=$(grep -c 'configuration read again' daemon.log)
	kill -HUP "$DAEMON"
	until_true 60 read_again "$lines"
}
read_again() { [ "$(grep -c 'configuration read again' daemon.log)" -gt "$1" ]; }
by_nobody() { su -s /bin/sh nobody -c "npumemctl run $*"; }
# by_unit ARGUMENT...: in a control group as systemd makes them.
by_unit() {
	mkdir -p "$UNIT/worker" || return 1
	sh -c 'echo $$ >/sys/fs/cgroup/system.slice/words.service/worker/cgroup.procs && exec npumemctl run "$@"' \
		sh "$@"
	rc=$?
	rmdir "$UNIT/worker" "$UNIT" /sys/fs/cgroup/system.slice
	return "$rc"
}

starts() {
	chmod 666 /dev/accel/accel* /dev/dri/renderD* 2>/dev/null
	chmod 755 .
	configured '[user nobody]' 'plans = no'
	start_daemon --config policy.conf
}
user_is_refused() {
	fails 1 '[user nobody] of npumemd.conf allows no plans' by_nobody "$MOBILENET" &&
		grep -q 'request [0-9]* failed after .*\[user nobody\] of npumemd.conf allows no plans' daemon.log
}
others_are_not() { npumemctl run "$MOBILENET"; }
planner_is_refused() {
	reloaded '[user nobody]' 'planners = greedy-size, nnc' || return 1
	fails 1 'planner cosma is none of those that [user nobody] of npumemd.conf allows: greedy-size, nnc' \
		by_nobody --planner cosma "$MOBILENET" || return 1
	by_nobody -j "$MOBILENET" >nobody.json && [ "$(field planner nobody.json)" = greedy-size ] &&
		npumemctl run --planner cosma "$MOBILENET"
}
# Also where the plan is kept for whom it is allowed.
arena_is_refused() {
	reloaded '[group nogroup]' 'arena-limit = 1M' || return 1
	npumemctl run "$MOBILENET" &&
		fails 1 '([group nogroup] of npumemd.conf allows 1048576 bytes)' by_nobody "$MOBILENET"
}
unit_is_refused() {
	reloaded '[unit words.service]' 'plans = no' '[others]' 'nice = 5' || return 1
	fails 1 '[unit words.service] of npumemd.conf allows no plans' by_unit "$MOBILENET" &&
		npumemctl run "$MOBILENET" && by_nobody "$MOBILENET"
}
quota_is_used_up() {
	reloaded '[cache]' 'size-limit = 0' '[user nobody]' 'cpu-quota = 1' || return 1
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
		by_nobody --planner auto "$GRAPHS/squeezenet1_1.fused.json" >quota.txt 2>&1 || break
	done
	cat quota.txt
	echo "refused at $i"
	grep -q 'planning for user [0-9]* has used up its 1 % of a processor, the cpu-quota of \[user nobody\] of npumemd.conf: again in [0-9]* s' \
		quota.txt && npumemctl run "$MOBILENET"
}

check "the daemon starts with a policy" starts
check "a user who may not plan is told so" user_is_refused
check "others may" others_are_not
check "a planner that a policy does not allow" planner_is_refused
check "an arena that a policy does not allow" arena_is_refused
check "a unit that may not plan" unit_is_refused
shown "processor time is used up" quota_is_used_up
finish
