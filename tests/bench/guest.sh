#!/bin/sh
# SPDX-License-Identifier: MIT
#
# guest.sh - the driver's part of `make bench`, run in the guest.
echo "driver, Linux $(uname -r) $(uname -m), emulated: compare ratios, not times"
echo
exec /opt/npumem/selftests/npumem/npumem_bench
