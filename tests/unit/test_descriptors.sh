#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_descriptors.sh - programs that are started without standard descriptors: what they open does
# not get the number of one.
#
# usage: test_descriptors.sh NPUMEMCTL NPUMEMD NPUMEM_ENGINE
#
# TAP. Descriptor 0 is closed, and a program looks itself what is there then.

ctl=$(realpath "$1") daemon=$(realpath "$2") engine=$(realpath "$3")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../lib/command.sh"

at=/proc/self/fd/0
bare() { "$@" <&-; }
check 'npumemctl' says_first 1 \
	"npumemctl: $at: neither graph JSON nor a TFLite model nor an ONNX model nor a graph blob" \
	bare "$ctl" plan "$at"
check 'npumem-engine' says 1 "npumem-engine: $at: $at is not an npumem device" \
	bare "$engine" --device "$at"
check 'npumemd' says 0 '' bare "$daemon" --check-config --config "$at"
# What cannot be written is still a failure, and not lost in /dev/null.
lost() { "$ctl" --version 2>said.err >&-; [ $? = 1 ] && grep -q 'Bad file descriptor' said.err; }
check 'standard output that is closed' lost

check_plan
