#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Whole trips: npumemctl asks the driver, the driver npumemd, and the plan comes
# back, verified, and runs.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119,SC2086
# shellcheck source=tests/e2e/lib.sh
. /opt/npumem/e2e/lib.sh

same_bytes() {
	npumemctl plan "$1" "$2" -o offline.json "$MOBILENET" &&
		npumemctl run "$1" "$2" -o daemon.json "$MOBILENET" &&
		cmp offline.json daemon.json
}

# A second inference in the same run: other inputs, other outputs.
repeated() {
	npumemctl run -j --repeat 3 "$MOBILENET" >run.json && equal run.json &&
		[ "$(grep -o '"equal": *true' run.json | wc -l)" = 4 ]
}

second_daemon() {
	fails 3 'another daemon' timeout 300 npumemd --foreground
}

check "no daemon: said so, with what to do" \
	fails 1 'start npumemd' npumemctl run "$MOBILENET"
check "npumemd registers" start_daemon
check "a second npumemd is refused" second_daemon
check "MobileNetV2, whole operators: outputs equal" whole_trip
check "MobileNetV2, 8 bands: outputs equal" whole_trip --bands 8
check "the daemon's plan is, byte for byte, the offline one" same_bytes --bands 1
check "the same in 8 bands" same_bytes --bands 8
check "three inferences in one run" repeated
check "SIGTERM: exit 0" stop_daemon
finish
