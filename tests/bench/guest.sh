#!/bin/sh
# SPDX-License-Identifier: MIT
#
# guest.sh - the driver's part of `make bench`, run in the guest.
echo "== driver in the guest, Linux $(uname -r) $(uname -m), emulated: compare ratios, not times"
/opt/npumem/selftests/npumem/npumem_bench || exit
echo "== transfers beside steps in the guest: 12 s of steps, 8 s of transfers, engines of set speeds"
mkdir -p /tmp/overlap && cd /tmp/overlap || exit
STEPS_MS=12000 TRANSFERS_MS=8000 sh /opt/npumem/e2e/test_overlap.sh >overlap.out
code=$?
grep -E '^(not )?ok|one engine' overlap.out
exit $code
