#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_tflite_preload.sh - programs that know nothing of npumem have its delegate, by LD_PRELOAD.
#
# usage: test_tflite_preload.sh SOURCE_FOLDER PRELOAD UNMODIFIED HOST LIBRARY OLD
#
# HOST loads LIBRARY, which is UNMODIFIED as a library; OLD is a TensorFlow Lite 2.8.4 that does
# nothing. TAP. The model is one of $NPUMEM_SHARED/models/tflite.

top=$(realpath "$1") preload=$(realpath "$2") program=$(realpath "$3")
host=$(realpath "$4") library=$(realpath "$5") old=$(realpath "$6")
here=$(realpath "$(dirname "$0")")
# shellcheck source=tests/lib/command.sh
. "$here/../../lib/command.sh"

skip() {
	skipped "unmodified programs" "$1"
	check_plan
	exit
}
model=${NPUMEM_SHARED:-$top/../shared}/models/tflite/mlptiny_kws_ref_model.tflite
rc=0
runtime=$("$top/scripts/fetch-tflite") || rc=$?
path=$(dirname "${runtime:-.}")
[ $rc != 4 ] || skip "there is no TensorFlow Lite, see scripts/fetch-tflite"
check "TensorFlow Lite is fetched" [ $rc = 0 ]
[ -e "$model" ] || skip "no models: NPUMEM_SHARED is not here"

# The preloaded library has no sanitizer, but what it is linked with has one that comes too late.
export ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0:detect_leaks=0"
options="device:none;verbose:1"
# plain ARGUMENT..., planned ARGUMENT...: the program's output
plain() { LD_PRELOAD=$runtime "$program" "$@" 2>said; }
planned() { NPUMEM_TFLITE_OPTIONS=$options LD_PRELOAD="$preload $runtime" "$program" "$@" 2>said; }
# What they are linked with has the runtime's name, and is passed over where that is seen first.
plain_host() { LD_LIBRARY_PATH=$path "$host" "$library" "$@" 2>said; }
planned_host() {
	NPUMEM_TFLITE_OPTIONS=$options LD_PRELOAD=$preload LD_LIBRARY_PATH=$path \
		"$host" "$library" "$@" 2>said
}
plain_python() { python3 "$here/../../lib/tflite/unmodified.py" "$runtime" "$model" 2>said; }
planned_python() {
	NPUMEM_TFLITE_OPTIONS=$options LD_PRELOAD="$preload" \
		python3 "$here/../../lib/tflite/unmodified.py" "$runtime" "$model" 2>said
}
# claimed COUNT: so many interpreters have said that all operators are claimed
claimed() {
	cat said
	[ "$(grep -c 'npumem: 13 of 13 operators.*enforced by process' said)" = "$1" ]
}
# alone LINE COUNT COMMAND...: without a delegate as well; the line is said so often
alone() {
	local line=$1 count=$2
	shift 2
	"$@" || return 1
	cat said
	[ "$(grep -cx "npumem: $line" said)" = "$count" ] && ! grep -q 'operators, arena' said
}
# equal COMMAND COMMAND: both succeed, and print the same
equal() {
	local one='' two=''
	one=$($1) && two=$($2) && [ -n "$one" ] && [ "$one" = "$two" ] && return
	echo "$one"
	echo "$two"
	cat said
	return 1
}
plain_null() { plain "$model"; }
planned_null() { planned "$model"; }
plain_options() { plain "$model" options; }
planned_options() { planned "$model" options; }
plain_resize() { plain "$model" resize; }
planned_resize() { planned "$model" resize; }
plain_threads() { plain "$model" threads options resize; }
planned_threads() { planned "$model" threads options resize; }
plain_looked_up_threads() { plain_host "$model" threads resize dlopen "$runtime"; }
planned_looked_up_threads() { planned_host "$model" threads resize dlopen "$runtime"; }
plain_local() { plain_host "$model"; }
planned_local() { planned_host "$model"; }
plain_thread() { plain_host "$model" thread; }
planned_thread() { planned_host "$model" thread; }
plain_looked_up() { plain_host "$model" resize dlopen "$runtime"; }
planned_looked_up() { planned_host "$model" resize dlopen "$runtime"; }
planned_second() { planned_host "$model" resize dlopen "$runtime" "$old"; }
bare_options() { planned_host "$model" bare-options dlopen "$runtime"; }
bare_interpreter() { planned_host "$model" bare-interpreter dlopen "$runtime"; }
# fails_with LINE COMMAND...: it fails, and the line says why
fails_with() {
	local line=$1
	shift
	! "$@" || return 1
	cat said
	grep -qx "npumem: $line" said
}
refused() {
	options=$1
	fails_with "$2" planned "$model"
}

check "a C program without options" equal plain_null planned_null
check "both of its interpreters have a delegate" claimed 2
check "a C program with options" equal plain_options planned_options
check "both of its interpreters have a delegate, too" claimed 2
check "a C program that resizes inputs, and has a delegate" equal plain_resize planned_resize
check "both of its interpreters have a delegate, and again when they have other sizes" claimed 4
check "four threads" equal plain_threads planned_threads
check "all of their interpreters have a delegate, and again when they have other sizes" claimed 80
check "four threads, and functions that are looked up" \
	equal plain_looked_up_threads planned_looked_up_threads
check "all of their interpreters have a delegate, and again when they have other sizes" claimed 80
check "what looks for the next function finds it" planned "$model" next
check "a library that alone sees the runtime" equal plain_local planned_local
check "both of its interpreters have a delegate" claimed 2
check "a function that nothing of the library calls" equal plain_thread planned_thread
check "all interpreters have a delegate" claimed 2
check "functions that are looked up" equal plain_looked_up planned_looked_up
check "all interpreters have a delegate, and again when they have other sizes" claimed 4
check "a second runtime that is looked up" equal plain_looked_up planned_second
check "the first has a delegate" claimed 4
check "of the second a line says that it has none" grep -qx \
	'npumem: a second TensorFlow Lite was loaded: its interpreters have no delegate' said
made='an interpreter has no delegate:'
by='by another function than'
check "options that are made past the preloaded library" alone \
	"$made its options were made $by TfLiteInterpreterOptionsCreate()" 2 bare_options
check "interpreters that are made past it" alone \
	"$made it was made $by TfLiteInterpreterCreate()" 2 bare_interpreter
check "a runtime that is too old" fails_with \
	'TensorFlow Lite 2.8.4 has other structs than 2.9 and later' \
	planned_host "$model" dlopen "$old"
check "an option that is none" refused "devise:none" 'there is no option "devise"'
check "an option without a value" refused "device" 'option 0 has no key or no value'
check "too many options" refused "$(printf 'strict:0;%.0s' {1..40})" \
	'NPUMEM_TFLITE_OPTIONS has more than 32 options'
check "inputs that it cannot bind" refused "inputs:bound" \
	'NPUMEM_TFLITE_OPTIONS: inputs:bound is for programs that bind them, and this one knows nothing of it'
options="device:none;verbose:1;"
if grep -q __asan_init "$(dirname "$preload")/../libnpumem-tflite.so"; then
	skipped "a Python program, by ctypes" "Python has no sanitizer"
else
	check "a Python program, by ctypes" equal plain_python planned_python
	check "its interpreter has a delegate" claimed 1
	check "a program without TensorFlow Lite is not disturbed" \
		env LD_PRELOAD="$preload" python3 -c 'import ctypes; ctypes.CDLL(None).getpid'
	check "and is not told that it has it" env LD_PRELOAD="$preload" python3 -c \
		'import ctypes, sys; sys.exit(hasattr(ctypes.CDLL(None), "TfLiteInterpreterCreate"))'
fi
check_plan
