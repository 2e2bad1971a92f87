#!/bin/sh
# SPDX-License-Identifier: MIT
#
# follow_tflite.sh - real models in TensorFlow Lite, which go on running while npumemd looks for a
# better plan, and take it between two inferences: outputs stay the same, byte for byte. The lane
# "inference" runs it.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

TFLITE=${TFLITE:-/opt/npumem/tflite}
SEED=1

improving() {
	stop_daemon
	rm -rf plans
	printf '[cache]\nfolder = %s/plans\n[improve]\ntime = 60\nfirst-answer = 1\n' "$PWD" \
		>improve.conf
	start_daemon --config improve.conf
}

# swapped FILE: what npumem-tflite has said of a run that follows.
swapped() {
	grep 'a better plan' follow.err && [ "$(field swaps "$1")" -ge 1 ] &&
		[ "$(field enforced_by "$1")" = driver ] && [ "$(field cached "$1")" = false ] && return
	cat "$1" follow.err daemon.log
	return 1
}

# borrowed MODEL RUNS: beside the plain runtime. First plans of whole operators are the best ones at
# once, so npumemd has a planner that is not as good, until it is told otherwise.
borrowed() {
	stop_daemon
	printf '[planner]\ndefault = shared-objects\n' >planner.conf
	start_daemon --config planner.conf || return 1
	npumem-tflite -o fallback=error -o follow=1 -o verbose=1 -j -c -s "$SEED" -n "$2" "$1" \
		>follow.json 2>follow.err &
	borrowing=$!
	until_true 60 grep -q 'planner shared-objects' follow.err
	printf '[planner]\ndefault = auto\n' >planner.conf
	kill -HUP "$DAEMON"
	wait "$borrowing" || { cat follow.json follow.err; return 1; }
	swapped follow.json && [ "$(field equal follow.json)" = true ] &&
		echo "$(field runs follow.json) inferences, all equal to plain ones"
}

# computed MODEL RUNS OPTION...: the same, whole and in this process, says what is right.
computed() {
	computed_model=$1 computed_runs=$2
	shift 2
	improving || return 1
	npumem-tflite -o device=none -o engine=engine -n "$computed_runs" -s "$SEED" --output whole.out \
		--all "$computed_model" >whole.txt 2>follow.err || { cat follow.err; return 1; }
	npumem-tflite -o fallback=error -o follow=1 -o verbose=1 -o engine=engine "$@" -j \
		-n "$computed_runs" -s "$SEED" --output follow.out --all "$computed_model" \
		>follow.json 2>follow.err || { cat follow.json follow.err; return 1; }
	swapped follow.json && cmp whole.out follow.out &&
		echo "$(field runs follow.json) inferences, all equal to those of whole operators"
}

# row WHAT HOW MODEL ARGUMENT...
row() {
	row_what=$1 row_how=$2 row_model=$TFLITE/$3.tflite
	shift 3
	if [ -e "$row_model" ]; then
		shown "$row_what" "$row_how" "$row_model" "$@"
	else
		skipped "$row_what" "${row_model##*/} is not here"
	fi
}

row "the runtime's kernels: the better plan is taken, all outputs equal" \
	borrowed mlptiny_vww_96_int8 60
row "the runtime's kernels, with variables: the better plan is taken, all outputs equal" \
	borrowed trained_lstm_int8 1000
check 'npumem-engine starts' start_engine
row 'on the engine, in bands: the better plan is taken, all outputs equal' \
	computed mlptiny_kws_ref_model 40 -o bands=4
check 'npumem-engine ends' stop_engine
finish
