#!/bin/sh
# SPDX-License-Identifier: MIT
#
# npumemctl monitor while plans and jobs are refused: who did it, and the names of what they are of.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2086
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

# A process that has ended by the time that its event is read has no name any more.
plan_refused() {
	offline_blobs "$MOBILENET" 1 && monitor 1 || return 1
	"$ATTACK" overlap graph.blob plan.blob || return 1
	monitor_ends || return 1
	cat events.txt
	grep -qE '^..:..:.. device [0-9]+, pid [0-9]+ \((npumem_attack)?\): plan refused: V4 write: step [0-9]+ .features' \
		events.txt
}
job_refused() {
	monitor 1 || return 1
	"$ATTACK" order graph.blob plan.blob || return 1
	monitor_ends || return 1
	cat events.txt
	grep -qE "run [0-9]+, pid [0-9]+ \((npumem_attack)?\): job refused: read of a tile that is not live: step [0-9]+ '.*', tensor [0-9]+ '.*'; step [0-9]+ '.*', tensor [0-9]+ '.*', position [0-9]+, bytes" \
		events.txt
}
as_json() {
	monitor 2 -j || return 1
	"$ATTACK" overlap graph.blob plan.blob && "$ATTACK" order graph.blob plan.blob || return 1
	monitor_ends || return 1
	cat events.txt
	[ "$(wc -l <events.txt)" = 2 ] && head -n 1 events.txt >first.json || return 1
	tail -n 1 events.txt >second.json
	[ "$(field event first.json)" = plan ] && [ "$(field event second.json)" = job ] || return 1
	[ "$(field rule first.json)" = 'V4 write' ] && [ "$(field pid first.json)" -gt 0 ]
}
not_for_others() {
	fails 1 'npumemctl: monitor: who is told of refusals needs CAP_NET_ADMIN' \
		su -s /bin/sh nobody -c 'npumemctl monitor'
}

# A monitor that runs for years outlives drivers.
driver_reloaded() {
	monitor 1 && rmmod npumem && until_true 60 said_of_driver 'is gone; it is waited for' || return 1
	insmod /guest/modules/*-npumem.ko && until_true 60 said_of_driver 'is there again' || return 1
	until_true 60 npumemctl devices && "$ATTACK" overlap graph.blob plan.blob && monitor_ends || return 1
	cat monitor.err events.txt
	[ "$(wc -l <monitor.err)" = 2 ] && grep -q 'plan refused: V4 write' events.txt
}
said_of_driver() { grep -q "^npumemctl: monitor: the driver $1\$" monitor.err; }

shown "a refused plan is told, with its names" plan_refused
shown "a refused job is told, with its names" job_refused
shown "both as JSON" as_json
shown "a driver that goes and comes is listened to again" driver_reloaded
# Others need it, whatever came of that.
[ -d /sys/module/npumem ] || insmod /guest/modules/*-npumem.ko
check "others are not told" not_for_others
check_plan
