#!/bin/sh
# SPDX-License-Identifier: MIT
#
# inference.sh - real models in TensorFlow Lite, with memory that npumemd plans and the driver
# enforces: all of /opt/npumem/inference. `make inference` and the lane of that name run it. Then
# faults are planted: beside what npumem does is told what merely reused memory makes of them.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2086,SC2015
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

INFERENCE=npumem-tflite PLANNED='-o fallback=error' RUNS=5 SEED=1
# Inputs of each model on the engine: `make inference SEEDS=N` says how many, here as there.
ENGINE_RUNS=2 LONG_RUNS=300
if [ -s /opt/npumem/inference/seeds ]; then
	ENGINE_RUNS=$(cat /opt/npumem/inference/seeds) RUNS=$ENGINE_RUNS
fi
NPUMEM_WORD=/opt/npumem/e2e/npumem_word
# shellcheck source=tests/lib/inference.sh
. /opt/npumem/e2e/inference_table.sh

# on_engine MODEL OPTION...: npumem-engine computes, through the driver, what its kernels make of whole
# operators in this process: of that the unit tests know that it is what TensorFlow Lite's reference
# kernels make, which the plain runtime's optimised ones do not always.
on_engine() {
	on_engine_model=$1
	shift
	rm -f inference.json
	{
		$INFERENCE -o device=none -o engine=engine -n "$ENGINE_RUNS" -s "$SEED" \
			--output whole.out --all "$on_engine_model" >whole.txt &&
			$INFERENCE -o fallback=error -o engine=engine "$@" -j -n "$ENGINE_RUNS" -s "$SEED" \
				--output engine.bytes --all "$on_engine_model" >inference.json
	} 2>inference.err || { cat inference.err; return 1; }
	[ "$(value enforced_by 1)" = driver ] && [ "$(value claimed 1)" -gt 0 ] &&
		[ "$(value runs 1)" = "$ENGINE_RUNS" ] && cmp whole.out engine.bytes &&
		echo '"equal": true' >>inference.json
}
# row HOW MODEL OPTION...: one test, and its line of the table.
row() {
	row_name="${2##*/}, $1"
	shift
	check "$row_name: outputs are the reference's" on_engine "$@"
	[ ! -s inference.json ] || table_line "$row_name, $ENGINE_RUNS inputs"
}
# least MODEL: sets budget to the bytes that each step needs; no plan can do with less. Nothing where
# there is no plan.
least() {
	$INFERENCE -o fallback=error -o engine=engine -o planner=cosma -o bands=4 -o budget=1 -n 1 "$1" \
		>least.out 2>&1
	budget=$(sed -n 's/.*needs \([0-9]*\) bytes.*/\1/p' least.out | sed -n 1p)
	[ -n "$budget" ] || cat least.out
	[ -n "$budget" ]
}
# ways MODEL: whole, in bands, tile-scheduled, and with as little memory as there can be, spilled.
ways() {
	runs "$1" || return 0
	row 'on the engine' "$1"
	row 'in bands' "$1" -o bands=4
	row 'tile-scheduled' "$1" -o planner=tile-scheduled -o rows=2
	check "${1##*/}, least memory: it is said" least "$1"
	[ -z "$budget" ] || row 'least memory' "$1" -o planner=cosma -o bands=4 -o budget="$budget"
}
# A job is slow here, and tiles are many: all models only where make inference wants it.
engine_computes() {
	check 'npumem-engine starts' start_engine
	for model in /opt/npumem/inference/*.tflite; do
		case ${model##*/} in
		hello_world_int8.tflite | mlptiny_kws_ref_model.tflite) ways "$model" ;;
		*) [ ! -e /opt/npumem/inference/engine ] || ways "$model" ;;
		esac
	done
	# One interpreter for long: a model without a state, and one with.
	for model in hello_world_int8 trained_lstm_int8; do
		model=/opt/npumem/inference/$model.tflite
		[ -e "$model" ] && runs "$model" || continue
		few=$ENGINE_RUNS ENGINE_RUNS=$LONG_RUNS
		row 'on the engine' "$model"
		ENGINE_RUNS=$few
	done
	check 'npumem-engine ends' stop_engine
}

# Models whose state lasts, as those that hear wake words, and how many inferences they run.
WAKE_WORDS=/opt/npumem/wake-words STEPS=300

# lasts MODEL OPTION...: on the engine, in one arena, planned by the daemon, or here in another way;
# outputs are those of plain TensorFlow Lite.
lasts() {
	lasting=$1 planned=
	shift
	if [ $# != 0 ]; then
		npumemctl plan --params "$@" "$lasting" -o plan.json >/dev/null || return 1
		planned='--plan plan.json'
	fi
	computes "$lasting" $planned --repeat $STEPS || return 1
	lasting=${lasting##*/}
	[ "$(field sha256 run.json)" = "$(wake_digest "${lasting%.tflite}")" ] ||
		{ field sha256 run.json; return 1; }
}
# lasting_row HOW MODEL OPTION...: one test, and its line of the table.
lasting_row() {
	lasting_name="${2##*/}, $1"
	shift
	rm -f run.json
	check "$lasting_name: $STEPS inferences in one arena, outputs are the reference's" lasts "$@"
	[ ! -s run.json ] || printf '# %-38s %9s %8s %8s %8s %8s %5s %9s %9s\n' "$lasting_name" all \
		"$(field arena run.json)" - "$(field lower_bound run.json)" 0 "$(field equal run.json)" \
		"$(awk "BEGIN { printf \"%.3f\", 1000 * $(field run_seconds run.json) / $STEPS }")" -
}
# lasting_rows MODEL: on the engine, which takes its time: the lane has one model, and not all ways;
# one of them is cut.
lasting_rows() {
	tapped=tapped_${1##*/}
	check "${1##*/}: what its last layer reads" /opt/npumem/e2e/npumem_tap "$1" "$tapped"
	lasting_row 'on the engine' "$tapped"
	[ -e /opt/npumem/inference/engine ] || return 0
	lasting_row 'on the engine' "$1"
	[ "$tapped" = tapped_okay_nabu.tflite ] || return 0
	lasting_row 'in bands' "$tapped" --bands 2
	lasting_row 'tile-scheduled' "$tapped" --planner tile-scheduled --rows 4
	lasting_row 'least memory' "$tapped" --planner cosma --bands 2 --budget MR
}
wake_words() {
	RUNS=$STEPS WITH=", $STEPS times"
	infer_folder driver "$WAKE_WORDS"
	infer driver /opt/npumem/inference/trained_lstm_int8.tflite
	RUNS=5 WITH=
	set -- "$WAKE_WORDS"/*.tflite
	if [ ! -e "$1" ]; then
		skipped 'models that hear wake words' 'they are not here'
		return
	fi
	check 'npumem-engine starts' start_engine
	for wake_word; do
		lasting_rows "$wake_word"
	done
	check 'npumem-engine ends' stop_engine
}

PLANTED_MODEL=/opt/npumem/inference/mlptiny_kws_ref_model.tflite

# planted KIND: by the borrowing delegate, which the driver refuses.
planted() {
	/opt/npumem/e2e/npumem_planted "$1" libtensorflowlite_c.so "$PLANTED_MODEL" \
		fallback=error 2>planted.err || { cat planted.err; return 1; }
}
# overrun: an engine that writes too much. Computed by it, by its client and by the delegate.
overrun() {
	/opt/npumem/e2e/npumem_overrun plain "$PLANTED_MODEL" 64 || return 1
	start_overrun 64 || return 1
	npumemctl run -j --engine npumem-engine --seed "$SEED" "$PLANTED_MODEL" >run.json 2>run.err
	ran=$?
	$COMPARED 1 -o engine=engine "$PLANTED_MODEL" >both.json 2>both.err
	inferred=$?
	stop_engine TERM 2>/dev/null || return 1
	[ $ran != 0 ] && [ ! -s run.json ] || { cat run.json; return 1; }
	[ $inferred != 0 ] || { cat both.json; return 1; }
	names_overrun run.err && names_overrun both.err || return 1
	echo "the same in a process that gets copies of tiles: $(head -n 1 engine.out)"
	cat run.err both.err
}
# both_hold: two processes have an arena now.
both_hold() {
	npumemctl devices >both.out && [ "$(grep -c '(npumem-tflite)' both.out)" = 2 ]
}
one_holds() { npumemctl devices | grep -q '(npumem-tflite)'; }
# right_of FILE: what npumem-tflite has said: all equal, and by the driver.
right_of() {
	[ "$(field equal "$1")" = true ] && [ "$(field enforced_by "$1")" = driver ] && return
	cat "$1"
	return 1
}
# Before how often and what: beside the plain runtime, planned by the daemon and by nobody else.
COMPARED="npumem-tflite -o fallback=error -j -c -s $SEED -n"

# together: two models in one carveout at once. The first one is stopped until the second one has an
# arena, too, so that it does not end too early.
together() {
	$COMPARED 25 "$FIRST" >first.json 2>first.err &
	first=$!
	until_true 60 one_holds && kill -STOP $first || { cat first.err; return 1; }
	$COMPARED 60 "$SECOND" >second.json 2>second.err &
	second=$!
	until_true 60 both_hold
	both=$?
	kill -CONT $first
	if ! wait $first || ! wait $second; then
		cat first.err second.err
		return 1
	fi
	[ $both = 0 ] || { echo 'they never had an arena at the same time'; return 1; }
	grep -E 'bank|holder' both.out
	right_of first.json && right_of second.json &&
		echo "$(field runs first.json) and $(field runs second.json) inferences, all equal to plain ones"
}
# crowded: there is no room for the second one, which says so; the first one goes on. It is
# stopped meanwhile, so that it does not end too early.
crowded() {
	$COMPARED 10 "$FIRST" >first.json 2>first.err &
	first=$!
	until_true 60 one_holds && kill -STOP $first || return 1
	/opt/npumem/e2e/npumem_hold >hold.out 2>&1 &
	hold=$!
	until_true 60 grep -q held hold.out
	$COMPARED 1 "$SECOND" >second.json 2>second.err
	second=$?
	kill -CONT $first
	wait $first
	first=$?
	kill $hold
	wait $hold 2>/dev/null
	cat hold.out first.err second.err
	[ $first = 0 ] && [ $second = 1 ] && grep -q 'No space left' second.err || return 1
	right_of first.json && $COMPARED 2 "$SECOND" >second.json && right_of second.json &&
		echo 'the first one is right, and so is the second one afterwards'
}
two_models() {
	FIRST=/opt/npumem/inference/mlptiny_kws_ref_model.tflite
	SECOND=/opt/npumem/inference/micro_speech_quantized.tflite
	if [ ! -e "$FIRST" ] || [ ! -e "$SECOND" ]; then
		skipped 'two models at once' "${FIRST##*/} and ${SECOND##*/} are not among the models"
		return
	fi
	shown 'two models in one carveout at once: all outputs equal' together
	shown 'no room for the second: it is refused, and the first goes on' crowded
}
# Debian's newest, with its C library, where the lane has brought it.
newest_runtime() {
	if [ ! -e /opt/npumem/tflite-debian.tar ]; then
		skipped 'TensorFlow Lite 2.14.1' 'it is not here'
		return
	fi
	mkdir newest
	check 'TensorFlow Lite 2.14.1 is unpacked' tar -x -f /opt/npumem/tflite-debian.tar -C newest
	INFERENCE="newest/ld-linux-aarch64.so.1 --library-path newest /usr/bin/npumem-tflite"
	INFERENCE="$INFERENCE --runtime libtensorflow-lite.so.2.14.1"
	WITH=' (TensorFlow Lite 2.14.1)' RUNS=2 INFERRED=0
	infer_folder driver /opt/npumem/inference
	check 'models were run by TensorFlow Lite 2.14.1' inferred 1
	# It shows its reference kernels, which npumem-engine has to equal.
	check 'npumem-engine starts again' start_engine
	INFERENCE="$INFERENCE --reference" PLANNED="$PLANNED -o engine=engine" INFERRED=0
	WITH=', npumem-engine and reference kernels' RUNS=$ENGINE_RUNS
	infer_folder driver /opt/npumem/inference
	check 'npumem-engine was compared with reference kernels' inferred 1
	check 'npumem-engine ends again' stop_engine
}

# Inputs in the memory of another process: by libnpumem, and by the delegate.
foreign_inputs() {
	if [ ! -e /dev/udmabuf ]; then
		skipped 'inputs in a dma-buf of another process' 'this kernel has no udmabuf'
		return
	fi
	shown 'inputs in a dma-buf of another process: seen without a copy' \
		/opt/npumem/e2e/npumem_camera 8
	[ ! -e "$PLANTED_MODEL" ] ||
		shown 'inputs of a model in such a dma-buf: outputs equal' /opt/npumem/e2e/npumem_camera 8 \
			libtensorflowlite_c.so libnpumem-tflite.so "$PLANTED_MODEL"
}
planted_faults() {
	[ -e "$PLANTED_MODEL" ] || {
		skipped 'planted faults' "${PLANTED_MODEL##*/} is not among the models"
		return
	}
	shown 'a planner overlaps two tensors: refused' planted overlap
	shown 'operators out of order: refused' planted order
	shown 'an engine writes too much: refused' overrun
}

# A face in a real picture, where scripts/lanes/inference or make inference could get one.
face_found() {
	if [ -d /opt/npumem/pictures ] && [ -e "$MODELS/face_detection_short_range.tflite" ]; then
		shown 'a picture with a face: it is found' face_in /opt/npumem/pictures/face.png
		shown 'a picture without: none is' no_face_in /opt/npumem/pictures/none.png
	else
		skipped 'a face in a picture' 'the picture or the model is not here'
	fi
}

check 'npumemd starts' start_daemon
infer_folder driver /opt/npumem/inference
check 'some model was run' inferred 1
engine_computes
wake_words
hear driver /opt/npumem/inference /opt/npumem/sounds
two_models
newest_runtime
foreign_inputs
planted_faults
face_found
finish
