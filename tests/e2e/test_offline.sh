#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Plans made offline need no daemon, and are trusted no more for it: the same
# verifier, the same enforcement. The attacks change a real model's plan.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119,SC2086
# shellcheck source=tests/e2e/lib.sh
. /opt/npumem/e2e/lib.sh

plan_and_run() {
	npumemctl plan --bands "$2" "$1" -o plan.json --blob plan.blob --graph-blob graph.blob &&
		npumemctl verify "$1" plan.json && npumemctl run -j --plan plan.json "$1" >run.json &&
		equal run.json && [ "$(field plan_from run.json)" = file ]
}

for graph in "$GRAPHS"/*.json; do
	name=$(basename "$graph" .json)
	case $name in
	# Larger than the guest's carveout.
	fsrcnn_*) continue ;;
	esac
	for bands in 1 8; do
		check "$name in $bands bands: planned, verified, run, equal" \
			plan_and_run "$graph" $bands
	done
done

for bands in 1 8; do
	check "blobs of MobileNetV2 in $bands bands" plan_and_run "$MOBILENET" $bands
	for attack in overlap retired order; do
		check "attack refused in $bands bands: $attack" \
			"$ATTACK" $attack graph.blob plan.blob
	done
done
check "attack refused in 8 bands: overwrite" "$ATTACK" overwrite graph.blob plan.blob
finish
