#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Plans made offline need no daemon, and are trusted no more for it: the same
# verifier, the same enforcement. Whole operators.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119,SC2086
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

offline_trips 1
finish
