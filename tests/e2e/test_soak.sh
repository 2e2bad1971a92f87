#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A minute of what `make soak` does for an hour: each disturbance comes once.
SOAK_SECONDS=60
# shellcheck source=tests/e2e/soak.sh
. /opt/npumem/e2e/soak.sh
