#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_tflite_preload.sh - programs that know nothing of npumem have its delegate, by LD_PRELOAD.
#
# usage: test_tflite_preload.sh SOURCE_FOLDER PRELOAD UNMODIFIED
#
# TAP. The model is one of $NPUMEM_SHARED/models/tflite.

top=$(realpath "$1") preload=$(realpath "$2") program=$(realpath "$3")
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
[ $rc != 4 ] || skip "there is no TensorFlow Lite, see scripts/fetch-tflite"
check "TensorFlow Lite is fetched" [ $rc = 0 ]
[ -e "$model" ] || skip "no models: NPUMEM_SHARED is not here"

# The preloaded library has no sanitizer, but what it is linked with has one that comes too late.
export ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0:detect_leaks=0"
options="device:none;verbose:1"
# plain ARGUMENT..., planned ARGUMENT...: the program's output
plain() { LD_PRELOAD=$runtime "$program" "$@" 2>said; }
planned() { NPUMEM_TFLITE_OPTIONS=$options LD_PRELOAD="$preload $runtime" "$program" "$@" 2>said; }
plain_python() { python3 "$here/unmodified.py" "$runtime" "$model" 2>said; }
planned_python() {
	NPUMEM_TFLITE_OPTIONS=$options LD_PRELOAD="$preload" \
		python3 "$here/unmodified.py" "$runtime" "$model" 2>said
}
# claimed COUNT: so many interpreters have said that all operators are claimed
claimed() {
	cat said
	[ "$(grep -c 'npumem: 13 of 13 operators.*enforced by process' said)" = "$1" ]
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
refused() {
	options=$1
	! planned "$model" || return 1
	cat said
	grep -qx "npumem: $2" said
}

check "a C program without options" equal plain_null planned_null
check "both of its interpreters have a delegate" claimed 2
check "a C program with options" equal plain_options planned_options
check "both of its interpreters have a delegate, too" claimed 2
check "an option that is none" refused "devise:none" 'there is no option "devise"'
check "an option without a value" refused "device" 'option 0 has no key or no value'
check "too many options" refused "$(printf 'strict:0;%.0s' {1..40})" \
	'NPUMEM_TFLITE_OPTIONS has more than 32 options'
options="device:none;verbose:1;"
if grep -q __asan_init "$(dirname "$preload")/../libnpumem-tflite.so"; then
	skipped "a Python program, by ctypes" "Python has no sanitizer"
else
	check "a Python program, by ctypes" equal plain_python planned_python
	check "its interpreter has a delegate" claimed 1
	check "a program without TensorFlow Lite is not disturbed" \
		env LD_PRELOAD="$preload" python3 -c 'import ctypes; ctypes.CDLL(None).getpid'
fi
check_plan
