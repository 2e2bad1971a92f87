#!/bin/sh
# SPDX-License-Identifier: MIT
#
# guest.sh - the driver's part of `make bench`, run in the guest.
echo "driver, Linux $(uname -r) $(uname -m), emulated: compare ratios, not times"
echo
/opt/npumem/selftests/npumem/npumem_bench || exit
echo
echo "transfers beside steps; 12 s of steps and 8 s of transfers on engines of set speeds"
mkdir -p /tmp/overlap && cd /tmp/overlap || exit
STEPS_MS=12000 TRANSFERS_MS=8000 exec sh /opt/npumem/e2e/test_overlap.sh
