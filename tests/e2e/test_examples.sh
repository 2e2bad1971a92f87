#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The examples that need a device: what docs/runtime.md walks through, with driver and daemon.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119,SC2086
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

EXAMPLES=${EXAMPLES:-/opt/npumem/e2e/examples}

# prints TEXT NAME ARGUMENT...: the example prints that, and nothing else.
prints() {
	text=$1 name=$2
	shift 2
	"$EXAMPLES/$name" "$@" >out.txt
	rc=$?
	cat out.txt
	[ $rc = 0 ] && [ "$(cat out.txt)" = "$text" ]
}

# looped ITERATIONS TEXT: the text, turned as often; and the value takes turns.
looped() {
	"$EXAMPLES/run_loop" npumem "$1" >out.txt || { cat out.txt; return 1; }
	[ "$(tail -n 1 out.txt)" = "$2" ] && [ "$(grep -c ^iteration out.txt)" = "$1" ] || return 1
	[ "$1" -lt 3 ] && return
	[ "$(sed 's/.*value from//' out.txt | sed -n '1p;3p' | uniq | wc -l)" = 1 ] &&
		[ "$(sed 's/.*value from//' out.txt | sed -n '1,2p' | uniq | wc -l)" = 2 ]
}

# Where /dev/udmabuf is not there, the same program copies.
without_udmabuf() {
	mv /dev/udmabuf /dev/udmabuf.not || return 1
	prints 'copied: a picture' share_memory 'a picture'
	copied=$?
	mv /dev/udmabuf.not /dev/udmabuf
	return $copied
}

# Which of two processes is first does not matter; what each says does.
turns() {
	"$EXAMPLES/take_turns" here there >out.txt || { cat out.txt; return 1; }
	cat out.txt
	[ "$(sort out.txt)" = 'here, inference 0
here, inference 1
there, inference 0
there, inference 1' ]
}

no_daemon() {
	fails 1 'no planning daemon is registered' "$EXAMPLES/run_graph" word
}

check "without a daemon there is no plan" no_daemon
check "the daemon is there" start_daemon
check "run_graph: two inferences" prints 'first
second' run_graph first second
check "run_loop: one iteration" looped 1 pumemn
check "run_loop: two iterations" looped 2 umemnp
check "run_loop: ten iterations, the value takes turns" looped 10 emnpum
check "share_memory: an imported dma-buf, and memory by udmabuf" \
	prints 'shared: a picture' share_memory 'a picture'
check "share_memory: without udmabuf the memory is copied" without_udmabuf
check "own_engine: computed by the program itself" prints 'ifmmp' own_engine hello 1
check "own_engine: and by nobody else's" prints 'khoor' own_engine hello 3
check "take_turns: two models that the carveout cannot hold together" turns
finish
