#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumemctl_table1.sh - Table 1 of the paper of TAA (docs/taa.md): peaks of intermediate tensors,
# in layer order, cut for on-chip memory, input and output bound.
#
# usage: test_npumemctl_table1.sh NPUMEMCTL GRAPHS_FOLDER
#
# TAP. What is compared is what the document says, to the byte; it would be wrong otherwise.

ctl=$(realpath "$1") graphs=$(realpath "$2")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

# peak BYTES PLANNER GRAPH OPTION...
peak() {
	local bytes=$1 planner=$2 graph=$3
	shift 3
	"$ctl" plan -j --external-io --planner "$planner" "$@" "$graphs/$graph.fused.json" >peak.json || return 1
	[ "$(python3 -c 'import json; print(json.load(open("peak.json"))["arena"])')" = "$bytes" ] && return
	cat peak.json
	return 1
}
row() { check "$3, ${*:4}: $2 needs $1" peak "$@"; }

thin=(mobilenet_v1_025 --onchip 64KiB)
row 301056 shared-objects "${thin[@]}"
row 217728 taa-paper "${thin[@]}"
row 200704 taa "${thin[@]}"

blocks=(--layout nc32hw)
super=(fsrcnn_x2_512 "${blocks[@]}" --onchip 512KiB)
row 25165824 shared-objects "${super[@]}"
row 16891904 taa-paper "${super[@]}"
row 16777216 taa "${super[@]}"

# What the paper gives as Shared Objects is first fit here.
joined=(inception_v4 "${blocks[@]}" --onchip 2MiB --concat join)
row 2235616 greedy-size "${joined[@]}"
row 2510016 shared-objects "${joined[@]}"
row 2765952 taa-paper "${joined[@]}"
row 1820512 taa "${joined[@]}"
row 1724032 taa inception_v4 "${blocks[@]}" --onchip 2MiB
check_plan
