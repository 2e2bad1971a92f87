#!/bin/sh
# SPDX-License-Identifier: MIT
#
# test_examples.sh - the examples run, and say what they are meant to show.
#
# usage: test_examples.sh PACK_BUFFERS PLAN_MODEL GRAPHS
#
# TAP.
set -u

pack=$1 plan=$2 graphs=$3
n=0 failed=0

# says NAME STATUS LAST_LINE COMMAND...: one test
says() {
	name=$1 status=$2 last=$3
	shift 3
	n=$((n + 1))
	text=$("$@" 2>&1)
	if [ $? = "$status" ] && [ "$(echo "$text" | tail -n 1)" = "$last" ]; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		echo "$text" | sed 's/^/# /'
		failed=1
	fi
}

says 'buffers are packed' 0 'arena: 5120 bytes' "$pack"
says 'a model is planned' 0 'arena: 800 bytes, at least 400' "$plan" "$graphs/loop_conv.json"
says 'a model that is not there' 1 'none.json: No such file or directory' "$plan" none.json
says 'no model' 2 '' "$plan"
echo "1..$n"
exit $failed
