#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Two devices: the module is loaded once more, with a software carveout beside
# the real one; npumem_foreign passes dma-bufs between the two, npumem_fence has
# jobs of the one wait for jobs of the other. The module file is looked for where
# the test guest has it (/guest/modules), else modprobe is asked.
load() {
	for ko in /guest/modules/*-npumem.ko; do
		[ -e "$ko" ] && { insmod "$ko" "$@"; return; }
	done
	modprobe npumem "$@"
}

if rmmod npumem && load software_mib=8; then
	./npumem_fence
	rc=$?
	# Last: it takes the second device away.
	./npumem_foreign || rc=1
else
	echo "TAP version 13"
	echo "1..1"
	echo "not ok 1 the module with a second device"
	rc=1
fi
rmmod npumem && load || rc=1
exit $rc
