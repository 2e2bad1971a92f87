#!/bin/sh
# SPDX-License-Identifier: MIT
#
# After all other tests: the module can go, comes back whole, and leaves no
# memory behind that kmemleak could find.  The module file is looked for where
# the test guest has it (/guest/modules), else modprobe is asked.
n=0 failed=0
result() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		failed=1
	fi
}

load() {
	for ko in /guest/modules/*-npumem.ko; do
		[ -e "$ko" ] && { insmod "$ko"; return; }
	done
	modprobe npumem
}

# The scheduler's module, where it is one.
reload_scheduler() {
	[ -e /sys/module/gpu_sched/initstate ] || return 0
	rmmod gpu_sched || return 1
	for ko in /guest/modules/*-gpu_sched.ko; do
		[ ! -e "$ko" ] || { insmod "$ko"; return; }
	done
	modprobe gpu_sched
}

nodes() {
	find /dev/accel /dev/dri -name 'accel[0-9]*' -o -name 'renderD*' 2>/dev/null | wc -l
}

# leaks: what kmemleak tells, on two scans: it wants to see an object twice.
leaks=/sys/kernel/debug/kmemleak
scan() {
	echo scan >$leaks
	# An object younger than five seconds is never told.
	sleep 6
	echo scan >$leaks
}

echo "TAP version 13"
users=$(cat /sys/module/npumem/refcnt)
result "$users" "nobody holds the module after all the tests ($users users)"
[ ! -e $leaks ] || echo clear >$leaks

before=$(nodes)
i=0 rc=0
while [ $i -lt 5 ]; do
	rmmod npumem || rc=1
	[ ! -e /sys/module/npumem ] || rc=1
	[ "$(nodes)" -lt "$before" ] || rc=1
	load || rc=1
	[ "$(nodes)" = "$before" ] || rc=1
	i=$((i + 1))
done
result $rc "unloaded and loaded five times, the device node with it"

./npumem_isolation >/tmp/npumem_unload.out 2>&1
rc=$?
[ $rc = 0 ] || sed 's/^/# /' /tmp/npumem_unload.out
result $rc "works after that"

# Its device gone, then the module: the order of a driver being replaced.
rc=0
for dev in /sys/bus/platform/drivers/npumem-sim/*/driver_override; do
	dev=$(basename "$(dirname "$dev")")
	echo "$dev" >/sys/bus/platform/drivers/npumem-sim/unbind || rc=1
done
rmmod npumem || rc=1
load || rc=1
[ "$(nodes)" = "$before" ] || rc=1
result $rc "unbound, unloaded and loaded"

# Somebody has a fence still when driver and scheduler are gone, and asks its name.
rc=0
mkfifo /tmp/npumem_unload.go
./npumem_late_fence </tmp/npumem_unload.go >/tmp/npumem_unload.fence 2>&1 &
late=$!
exec 3>/tmp/npumem_unload.go
while kill -0 $late 2>/dev/null && ! grep -q ready /tmp/npumem_unload.fence; do
	sleep 1
done
rmmod npumem || rc=1
reload_scheduler || rc=1
echo >&3
wait $late || rc=1
load || rc=1
[ "$(nodes)" = "$before" ] || rc=1
sed 's/^/# /' /tmp/npumem_unload.fence
result $rc "a fence outlives driver and scheduler"

if [ -e $leaks ]; then
	scan
	cat $leaks >/tmp/npumem_unload.leaks
	rc=0
	[ ! -s /tmp/npumem_unload.leaks ] || rc=1
	[ $rc = 0 ] || sed 's/^/# /' /tmp/npumem_unload.leaks
	result $rc "kmemleak has nothing to tell"
fi
echo "1..$n"
exit $failed
