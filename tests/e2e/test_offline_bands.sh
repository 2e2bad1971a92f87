#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The same as test_offline_whole.sh, each operator cut into 8 row bands: tiles
# with halos, and lives of their own.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119,SC2086
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

offline_trips 8
finish
