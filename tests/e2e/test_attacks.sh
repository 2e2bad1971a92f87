#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Attacks are changes of the plan and the order of jobs of a real model.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119,SC2086
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

for bands in 1 8; do
	# That the plan as it is loads and runs, each attack tests itself.
	check "MobileNetV2 in $bands bands: planned" offline_blobs "$MOBILENET" $bands
	for attack in overlap retired order; do
		check "attack refused in $bands bands: $attack" \
			"$ATTACK" $attack graph.blob plan.blob
	done
done
check "attack refused in 8 bands: overwrite" "$ATTACK" overwrite graph.blob plan.blob
finish
