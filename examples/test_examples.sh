#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_examples.sh - the examples run, and say what they are meant to show.
#
# usage: test_examples.sh PACK_BUFFERS PLAN_MODEL BUILD_GRAPH GRAPHS
#
# TAP.

pack=$(realpath "$1") plan=$(realpath "$2") build=$(realpath "$3") graphs=$(realpath "$4")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../tests/lib/command.sh"

# ends STATUS LAST_LINE COMMAND...: exit status, and the last line of both outputs
ends() {
	local status=$1 last=$2 text got
	shift 2
	text=$("$@" 2>&1)
	got=$?
	compared $got "$status" "${text##*$'\n'}" "$last"
}

check 'buffers are packed' ends 0 'arena: 5120 bytes' "$pack"
check 'a graph is built by hand' ends 0 'graph: 720 bytes, plan: 696 bytes, arena: 12288 bytes' "$build"
check 'a model is planned' ends 0 'arena: 800 bytes, at least 400' "$plan" "$graphs/loop_conv.json"
check 'a model that is not there' ends 1 'none.json: No such file or directory' "$plan" none.json
check 'no model' ends 2 '' "$plan"
check_plan
