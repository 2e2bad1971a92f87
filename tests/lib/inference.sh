# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# inference.sh - models in TensorFlow Lite by npumem-tflite, each inference compared with the plain
# runtime, and a line of a table for each model; in any POSIX shell, on the host and in the guest.
# Source check.sh first. INFERENCE is the program with its runtime, PLANNED what else it takes to
# have the delegate, RUNS and SEED say which inferences there are, WITH what tests are to be told
# apart by.
: "${INFERENCE:?}" "${PLANNED=}" "${RUNS:?}" "${SEED:?}" "${WITH=}"

# How many models were run, and which of them have a larger arena than TensorFlow Lite gives them.
INFERRED=0 LARGER=

# value KEY N: the N-th value that the last run's JSON has for KEY; "-" if there is none. What
# npumem has comes first, what the plain runtime has after it.
value() { value_of inference.json "$1" "$2"; }
value_of() { # FILE KEY N
	found=$(grep -o "\"$2\": *\"\{0,1\}[^,\"}]*" "$1" | sed -n "$3{s/^[^:]*: *\"\{0,1\}//;p}")
	echo "${found:--}"
}
# plain_value KEY: what the plain runtime has, of the last run or, where it was compared with something
# else, of the run before all (runs).
plain_value() {
	compared=$(value "$1" 2)
	[ "$compared" != - ] || compared=$(value_of plain.json "$1" 1)
	echo "$compared"
}

ms() { awk '{ if ($1 == "-") print "-"; else printf "%.3f\n", $1 / 1e6 }'; }

# All lines of the table are comments of the TAP.
table_head() {
	printf '# inferences of seeds %s to %s each; bytes, and median milliseconds\n' "$SEED" \
		$((SEED + RUNS - 1))
	printf '# %-38s %9s %8s %8s %8s %8s %5s %9s %9s\n' model operators arena TFLite\'s bound \
		spilled equal time plain
}
table_line() { # NAME
	printf '# %-38s %9s %8s %8s %8s %8s %5s %9s %9s\n' "$1" \
		"$(value claimed 1)/$(value operators 1)" "$(value arena_bytes 1)" \
		"$(plain_value arena_bytes)" "$(value lower_bound 1)" "$(value spilled_bytes 1)" \
		"$(value equal 1)" "$(value median_ns 1 | ms)" "$(plain_value median_ns | ms)"
}

# runs MODEL: the plain runtime does run it; some models are for other runtimes.
runs() {
	# shellcheck disable=SC2086 # words
	$INFERENCE -d none -j -n 2 -s "$SEED" "$1" >plain.json 2>plain.err
}

# equal_to_plain BY MODEL: all inferences equal the plain runtime's, operators were claimed, and BY, the
# driver or this process, has enforced the plan.
equal_to_plain() {
	rm -f inference.json
	# shellcheck disable=SC2086 # words
	$INFERENCE $PLANNED -j -c -n "$RUNS" -s "$SEED" "$2" >inference.json 2>inference.err || {
		cat inference.err
		grep -o '"difference": .*' inference.json
		return 1
	}
	[ "$(value equal 1)" = true ] && [ "$(value runs 1)" = "$RUNS" ] &&
		[ "$(value claimed 1)" -gt 0 ] && [ "$(value enforced_by 1)" = "$1" ] && return
	cat inference.err inference.json
	return 1
}

# infer BY MODEL: one test, and its line of the table.
infer() {
	model_name=${2##*/}
	if ! runs "$2"; then
		skipped "$model_name$WITH" 'plain TensorFlow Lite does not run it'
		return
	fi
	INFERRED=$((INFERRED + 1))
	check "$model_name$WITH: inferences equal plain ones, byte for byte" equal_to_plain "$1" "$2"
	[ -s inference.json ] || return 0
	table_line "$model_name$WITH"
	[ "$(value arena_bytes 1)" -le "$(value arena_bytes 2)" ] || LARGER="$LARGER $model_name"
}

# infer_folder BY FOLDER: all models of a folder.
infer_folder() {
	table_head
	for model in "$2"/*.tflite; do
		[ ! -e "$model" ] || infer "$1" "$model"
	done
}

# inferred LEAST: at least so many models were run.
inferred() {
	echo "$INFERRED models were run"
	[ "$INFERRED" -ge "$1" ]
}

# none_larger: no arena is larger than TensorFlow Lite's own.
none_larger() {
	echo "larger:$LARGER"
	[ -z "$LARGER" ]
}

# What 300 inferences from seed 1 on of a model that hears a wake word make, one after the other:
# SHA-256 of all outputs of plain TensorFlow Lite 2.9.0 on x86 (npumem_steps), whose kernels round
# as the reference's do; those of 64-bit Arm do not. Of a model "tapped" the output is what its
# last layer reads (npumem_tap): a word's probability is nearly always 0.
wake_digest() {
	case $1 in
	alexa) echo d13d4a8b3b8add19b5970157f09d00c12cbda4fed4d74d8493156523f7069b66 ;;
	hey_jarvis) echo a8a8dfb185659c64ddf95b8421e9cd0ecabfc476bea20a39bb3130a3aa21c879 ;;
	hey_mycroft) echo 5ea0d04caf29278e7a5a3e2fdc4fa9d7e055585526e7df6a6212fba22e2bfff1 ;;
	okay_nabu) echo d13d4a8b3b8add19b5970157f09d00c12cbda4fed4d74d8493156523f7069b66 ;;
	tapped_alexa) echo 94cd0e2fb87e1a6d38c308f2b2cac69db7a2708062217d6f62078f26d3d67ea8 ;;
	tapped_hey_jarvis) echo a589b8998810f995bc4cd5af193c50e2a9e52629047a2cd52bad8d2ba7d60256 ;;
	tapped_hey_mycroft) echo 48fc68a13960cd6c20e8120769317df7eaf3684655306bfd50490d46238fca5d ;;
	tapped_okay_nabu) echo 2f116635009c350b337545520db8066d813cfc78b16941f307325bbca4dc96ea ;;
	esac
}

# What mlptiny_kws_ref_model tells apart, in its order, and where the second word of a recording of
# scripts/fetch-sample begins, in milliseconds.
WORDS='down go left no off on right stop up yes silence unknown' SECOND_WORD=680

# heard WORD BY MODEL SOUND: of the second word of a recording the model is sure that it is WORD;
# NPUMEM_WORD is the program that makes its input, npumem_word.
heard() {
	# shellcheck disable=SC2086 # words
	printf '%s\n' $WORDS >words.txt
	"$NPUMEM_WORD" "$4" $SECOND_WORD >word.raw || return 1
	# shellcheck disable=SC2086 # words
	$INFERENCE $PLANNED -j -c -n 1 -i word.raw -l words.txt "$3" >inference.json || return 1
	echo "heard: $(value label 1), $(value score 1) sure; $(value claimed 1) of" \
		"$(value operators 1) operators in an arena of $(value arena_bytes 1) bytes"
	[ "$(value label 1)" = "$1" ] && value score 1 | awk '{ exit !($1 >= 0.75) }' &&
		[ "$(value equal 1)" = true ] && [ "$(value enforced_by 1)" = "$2" ]
}
# unheard WHY SOUND MS: npumem_word refuses it.
unheard() {
	if "$NPUMEM_WORD" "$2" "$3" >unheard.raw 2>unheard.err; then
		echo 'it is taken'
		return 1
	fi
	cat unheard.err
	grep -qF "$1" unheard.err && [ ! -s unheard.raw ]
}

# hear BY MODELS SOUNDS: words in real recordings, where both are here.
hear() {
	hear_model=$2/mlptiny_kws_ref_model.tflite
	if [ ! -e "$hear_model" ] || [ ! -e "$3/left.wav" ]; then
		skipped "words in recordings" 'the recordings or the model are not here'
		return
	fi
	for word in left right; do
		check "\"front $word\" in a recording: \"$word\" is heard, as without the delegate" \
			heard $word "$1" "$hear_model" "$3/$word.wav"
		sed 's/^/#     /' "$CHECK_OUT"
	done
	check "\"front center\" in a recording: none of the words that the model knows" \
		heard unknown "$1" "$hear_model" "$3/center.wav"
	check 'a recording that is over: refused' unheard 'silence from 2000 ms on' "$3/left.wav" 2000
	check 'no recording: refused' unheard 'not a WAV file' words.txt 0
	check 'no number of milliseconds: refused' unheard 'MS, which are 0 to 10000' "$3/left.wav" 1s
}
