#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_examples.sh - the examples run, and say what they are meant to show. Those that need a device
# say that there is none; tests/e2e/test_examples.sh runs them where there is one.
#
# usage: test_examples.sh PACK_BUFFERS PLAN_MODEL BUILD_GRAPH GRAPHS NEEDS_DEVICE...
#
# TAP.

pack=$(realpath "$1") plan=$(realpath "$2") build=$(realpath "$3") graphs=$(realpath "$4")
shift 4
mapfile -t examples < <(realpath "$@")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../tests/lib/command.sh"

none='there is no npumem device below /dev/accel or /dev/dri; is the module npumem loaded?'

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
check 'a model is planned' ends 0 'arena: 800 bytes, at least 480' "$plan" "$graphs/loop_conv.json"
check 'a model that is not there' ends 1 'none.json: No such file or directory' "$plan" none.json
check 'no model' ends 2 '' "$plan"
for example in "${examples[@]}"; do
	name=$(basename "$example")
	# Whatever devices this machine has, the example gets none.
	check "$name: no device" ends 1 "$name: $none" unshare -rm sh -c \
		'mount -t tmpfs none /dev && exec "$@"' sh "$example" word 1
done
check_plan
