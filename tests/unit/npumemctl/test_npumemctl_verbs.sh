#!/bin/bash
# SPDX-License-Identifier: MIT
#
# npumemctl device, graph, plan and run with the verbs list and show: command lines, and their
# completion. What they say of a device is in tests/e2e/test_objects.sh.
#
# usage: test_npumemctl_verbs.sh NPUMEMCTL

ctl=$(realpath "$1")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

completes() { # TEXT WORD...
	local text=$1 got
	shift
	got=$("$ctl" --complete "$@" | cut -f 1 | tr '\n' ' ')
	[ "$got" = "$text" ] && return
	echo "$got"
	return 1
}

for noun in graph plan run; do
	check "$noun show: which" usage_says "npumemctl $noun: show which ID?" "$ctl" $noun show
	check "$noun list: no more words" usage_says "npumemctl $noun: one word too many: 4:1" \
		"$ctl" $noun list 4:1
	check "$noun show: one ID" usage_says "npumemctl $noun: one word too many: 4:2" \
		"$ctl" $noun show 4:1 4:2
	check "$noun list: no device of that name" says 1 \
		'npumemctl: /dev/accel/none: cannot open /dev/accel/none: No such file or directory' \
		"$ctl" $noun list -d /dev/accel/none
	check "$noun list -j: that is JSON, too" gives 1 "{\"${noun}s\":[],\"hidden\":0}" \
		'npumemctl: /dev/null: /dev/null is not an npumem device' "$ctl" $noun list -j -d /dev/null
	check "$noun show -j: one that cannot be looked for" gives 1 '' \
		'npumemctl: /dev/null: /dev/null is not an npumem device' \
		"$ctl" $noun show -j 4:1 -d /dev/null
	check "$noun list: another driver's device" says 1 \
		'npumemctl: /dev/null: /dev/null is not an npumem device' "$ctl" $noun list -d /dev/null
	check "$noun list: options are completed" completes '--device --json --help --version ' \
		$noun list --
done
for noun in device graph; do
	check "$noun: which verb" usage_says "npumemctl $noun: list or show?" "$ctl" $noun
	check "$noun: no such verb" usage_says "npumemctl $noun: 'plans' is neither list nor show" \
		"$ctl" $noun plans
	check "$noun: verbs are completed" completes 'list show ' $noun ''
	check "$noun: a verb is completed" completes 'show ' $noun s
done
check 'device list -j: that is JSON, too' gives 1 '{"devices":[]}' \
	'npumemctl: /dev/null: /dev/null is not an npumem device' "$ctl" device list -j -d /dev/null
check 'device show: another driver' says 1 'npumemctl: /dev/null: /dev/null is not an npumem device' \
	"$ctl" device show /dev/null
for noun in plan run; do
	check "$noun: a model is what completes at first" completes ':files ' $noun ''
	check "$noun: a verb begins so" completes 'list ' $noun li
	check "$noun: list.json is a model" says_first 1 \
		'npumemctl: list.json: No such file or directory' "$ctl" $noun list.json
	check "$noun: ./list is one" says_first 1 'npumemctl: ./list: No such file or directory' \
		"$ctl" $noun ./list
done
touch list.json
check 'plan: a file begins so, too' completes ':files ' plan li
check_plan
