#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_pytorch_graphs.sh - the graphs that npumem-export writes of small models are read without a
# doubt, planned in several ways, and the plans verified.  Needs no PyTorch.
#
# usage: test_pytorch_graphs.sh NPUMEMCTL FOLDER
#
# TAP.

ctl=$(realpath "$1") graphs=$(realpath "$2")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

# planned GRAPH OPTION...
planned() {
	local graph=$1
	shift
	"$ctl" plan --strict "$@" "$graph" -o plan.json && "$ctl" verify --strict "$graph" plan.json
}

count=0
for graph in "$graphs"/*.json; do
	name=$(basename "$graph" .json)
	check "$name: planned whole" planned "$graph"
	check "$name: planned in rows, with its weights" planned "$graph" --rows 1 --params
	count=$((count + 1))
done
check 'there were some' [ $count -ge 10 ]
check_plan
