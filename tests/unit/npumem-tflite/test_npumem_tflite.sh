#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumem_tflite.sh - what npumem-tflite does, and says of what it refuses, with a runtime and
# a delegate that compute nothing.
#
# usage: test_npumem_tflite.sh NPUMEM_TFLITE RUNTIME DELEGATE DELEGATE_WITHOUT_STATS RUNTIME_REFERENCE
#
# RUNTIME_REFERENCE has reference kernels, too. TAP.

program=$(realpath "$1") runtime=$(realpath "$2") delegate=$(realpath "$3") silent=$(realpath "$4")
reference=$(realpath "$5")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

# Type 3 is uint8, 1 float32, 9 int8, 7 int16.
echo 'fake 3 0 0 ok 1 4 4 3' >picture.model
echo 'fake 1 0 0 ok 1 4 4 3' >float.model
echo 'fake 7 0 0 ok 1 100' >sound.model
echo 'fake 9 0.5 3 ok 1 7' >classes.model
echo 'fake 9 0.5 3 dynamic 1 7' >dynamic.model
for fault in create allocate invoke silent input nowhere output string through; do
	echo "fake 3 0 0 $fault 1 4 4 3" >$fault.model
done
python3 - <<'PYTHON'
import struct, zlib
def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
def png(width, height, rows):
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
def wav(samples, channels=1):
    data = struct.pack(f"<{len(samples)}h", *samples)
    return (b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " +
            struct.pack("<IHHIIHH", 16, 1, channels, 16000, 32000, 2, 16) + b"data" +
            struct.pack("<I", len(data)) + data)
picture = png(2, 2, b"\0" + bytes(range(6)) + b"\0" + bytes(range(6, 12)))
open("good.png", "wb").write(picture)
open("cut.png", "wb").write(picture[:50])
open("none.png", "wb").write(b"no picture at all")
open("huge.png", "wb").write(png(100000, 100000, b""))
open("good.wav", "wb").write(wav(range(60)))
open("stereo.wav", "wb").write(wav(range(60), 2))
open("cut.wav", "wb").write(wav(range(60))[:100])
open("none.wav", "wb").write(b"no sound at all")
open("good.raw", "wb").write(bytes(48))
open("short.raw", "wb").write(bytes(47))
open("labels", "w").write("".join(f"class {i}\n" for i in range(7)))
open("few", "w").write("one\ntwo")
open("none", "w").write("")
open("classes.raw", "wb").write(bytes([0, 10, 255, 127, 3, 128, 9]))
PYTHON

run() { "$program" --runtime "$runtime" -d "$delegate" "$@"; }
plain() { "$program" --runtime "$runtime" -d none "$@"; }

# ------------------------------------------------------------ what it prints
whole() { # the line with the version, the input, the output, and all figures
	run picture.model -n 3 -s 5 >out || return 1
	cat out
	[ "$(head -n 3 out)" = "picture.model: TensorFlow Lite 2.9.0-fake; npumem has 3 of 4 operators in \
2 partitions, enforced by process, plan from the cache
input 0 'input' uint8[1,4,4,3]: random, seed 5 to 7
output 0 'out?put' uint8[1,4,4,3]" ] &&
		grep -q '^arena  *5000 B$' out && grep -q '^lower bound  *4000 B$' out &&
		grep -q '^tensors, sum  *6096 B$' out && grep -q "^  beside, TFLite's  *96 B$" out && grep -q '^  of it, plan  *7.000 ms$' out &&
		grep -q '^spilled  *80 B$' out && grep -q '^median  *[0-9.]* ms$' out
}
check 'a model with a delegate' whole
compared_table() {
	run -c picture.model >out || return 1
	cat out
	grep -q '^  *npumem  *plain$' out && grep -q '^arena  *5000 B  *96 B$' out &&
		grep -q "^  beside, TFLite's  *96 B  *-$" out &&
		grep -q '^10 inferences equal those of the plain runtime, byte for byte$' out
}
check '--compare: equal' compared_table
no_stats() {
	"$program" --runtime "$runtime" -d "$silent" -c picture.model >out || return 1
	cat out
	grep -q '^  *delegate  *plain$' out && grep -q '^arena  *-  *96 B$' out
}
check 'a delegate of others, without figures' no_stats
differs() {
	says 1 '' run -c -s 7 -o spoil=3 picture.model || return 1
	cat said.out
	grep -qE "^inference 0, seed 7: output 0 'out\?put' differs: byte 2 of 48 is [0-9]+, and plain [0-9]+$" \
		said.out && ! grep -q equal said.out
}
check '--compare: the first difference' differs
differs_json() {
	says 1 '' run -j -c -o spoil=3 picture.model || return 1
	python3 - <<-'PYTHON'
		import json
		said = json.load(open("said.out"))
		assert said["equal"] is False and "byte 2 of 48" in said["difference"], said
		assert said["runs"] == 1, said
	PYTHON
}
check '-j --compare: the first difference' differs_json
json() {
	run -j -c -n 4 -s 9 -l labels classes.model -i classes.raw >out || return 1
	python3 - <<-'PYTHON'
		import json
		said = json.load(open("out"))
		assert said["equal"] is True and "difference" not in said, said
		assert (said["seed"], said["runs"], said["claimed"], said["operators"]) == (9, 4, 3, 4), said
		assert said["enforced_by"] == "process" and said["cached"] is True, said
		assert said["npumem"]["arena_bytes"] == 5000 and said["npumem"]["plan_ns"] == 7000000, said
		assert said["npumem"]["runtime_bytes"] == 14 and "runtime_bytes" not in said["plain"], said
		assert said["plain"]["arena_bytes"] == 14 and "plan_ns" not in said["plain"], said
		assert said["inputs"] == [{"name": "input", "type": "int8", "shape": [1, 7], "bytes": 7,
		                           "random": False}], said
		assert [b["label"] for b in said["best"]] == ["class 3", "class 1", "class 6", "class 4",
		                                              "class 0"], said
		assert said["best"][0]["score"] == 62, said
	PYTHON
}
check '-j' json
best() {
	plain -l labels classes.model -i classes.raw >out || return 1
	cat out
	[ "$(grep class\  out)" = ' 62.0000  class 3
  3.5000  class 1
  3.0000  class 6
  0.0000  class 4
 -1.5000  class 0' ]
}
check '--labels: the five best' best
output() { # the fake runtime's output is its input
	plain -n 2 -i classes.raw --output out.raw classes.model >out && cmp out.raw classes.raw
}
check '--output: the bytes of the outputs' output
all_outputs() { # of inferences with a seed each, one behind the other
	local seed
	plain -n 3 -s 4 --output all.out --all classes.model >out || return 1
	for seed in 4 5 6; do
		plain -n 1 -s $seed --output one.out classes.model >out && cat one.out >>ones.out || return 1
	done
	cmp all.out ones.out && [ "$(stat -c %s all.out)" = $((3 * $(stat -c %s one.out))) ] &&
		! cmp -s -n "$(stat -c %s one.out)" one.out all.out
}
check '--output --all: those of all inferences' all_outputs
# shellcheck disable=SC2120 # untouched() has none
turned() { # the fake reference kernels turn all bits round, with the delegate and without
	"$program" --runtime "$reference" -d "$delegate" -n 1 -i classes.raw --output out.raw "$@" \
		classes.model >out && python3 - <<-'PYTHON'
		same, turned = open("classes.raw", "rb").read(), open("out.raw", "rb").read()
		assert turned == bytes(b ^ 255 for b in same), turned
	PYTHON
}
check '--reference: the reference kernels compute' turned --reference
check '--compare --reference: both do' turned -c --reference
untouched() {
	! turned 2>/dev/null && cmp out.raw classes.raw
}
check 'without it the others do' untouched
picture() { # the seed plays no part
	plain -i good.png picture.model >out || return 1
	cat out
	grep -q "^input 0 'input' uint8\[1,4,4,3\]: good.png$" out
}
check 'a picture' picture
sound() {
	plain -i good.wav sound.model >out || return 1
	cat out
	grep -q "^input 0 'input' int16\[1,100\]: good.wav, 60 samples of 100$" out
}
check 'a sound' sound
check 'bytes as they are' prints 'good.raw' plain -i good.raw picture.model
same_seed() { # two runs that differ would not be found equal by --compare of a third
	plain -j -s 3 -n 1 picture.model >one && plain -j -s 3 -n 1 picture.model >two || return 1
	python3 -c 'import json; a, b = (json.load(open(f)) for f in ("one", "two"))
assert a["seed"] == b["seed"] == 3 and a["inputs"] == b["inputs"]'
}
check 'the seed is told' same_seed
full() {
	local err
	err=$(run picture.model 2>&1 >/dev/full)
	[ $? = 1 ] && [ "$err" = 'npumem-tflite: standard output: No space left on device' ] && return
	echo "$err"
	return 1
}
check 'to a full disk' full

# ---------------------------------------------------------------- what it refuses
refuses() { # NAME MESSAGE COMMAND...
	check "refused: $1" says 1 "npumem-tflite: $2" "${@:3}"
}
refuses 'no runtime' "./missing.so: no TensorFlow Lite: ./missing.so: cannot open shared object file: \
No such file or directory" "$program" --runtime ./missing.so picture.model
refuses 'no runtime is installed' 'no runtime: no TensorFlow Lite is installed as libtensorflowlite_c.so or '\
'libtensorflow-lite.so.2.14.1; --runtime says where it is' "$program" picture.model
refuses 'a library that is no runtime' "$delegate: the runtime has no TfLiteTensorCopyToBuffer()" \
	"$program" --runtime "$delegate" picture.model
refuses 'reference kernels that are not shown' "$runtime: the runtime does not show its reference \
kernels: no TfLiteInterpreterOptionsSetOpResolver" run --reference picture.model
refuses 'no delegate' './missing.so: no delegate: ./missing.so: cannot open shared object file: '\
'No such file or directory' "$program" --runtime "$runtime" -d ./missing.so picture.model
refuses 'a library that is no delegate' \
	"$runtime: the library is not of a delegate: no tflite_plugin_create_delegate()" \
	"$program" --runtime "$runtime" -d "$runtime" picture.model
refuses 'an option, by the delegate' "$delegate: the delegate does not begin: colour: no?such option" \
	run -o refuse=$'colour: no\tsuch option' picture.model
refuses 'an option, without a word' "$delegate: the delegate does not begin: it does not say why" \
	run -o refuse= picture.model
refuses 'a delegate that does not prepare' 'picture.model: TensorFlow Lite does not take the model '\
'with the delegate: it does not say why' run -o prepare=fails picture.model
refuses 'a delegate without figures' 'picture.model: the delegate does not tell its figures: '\
'No data available' run -o stats=fail picture.model
refuses 'no model' 'missing.model: No such file or directory' run missing.model
refuses 'a folder' '.: not a file' run .
refuses 'not a model' 'good.png: not a model that TensorFlow Lite reads' run good.png
check 'a model with tensors of unknown size' plain dynamic.model
check 'refused: a model, by the runtime' says 1 $'fake: create?fails\nfake: so it ends
npumem-tflite: create.model: TensorFlow Lite does not take the model: fake: create?fails' \
	plain create.model
check 'refused: memory' says 1 $'fake: allocate?fails\nfake: so it ends
npumem-tflite: allocate.model: TensorFlow Lite does not get memory for the model\'s tensors: fake: allocate?fails' \
	plain allocate.model
check 'an inference that fails' says 1 $'fake: invoke?fails\nfake: so it ends
npumem-tflite: invoke.model: the inference fails: fake: invoke?fails' plain invoke.model
refuses 'an inference that fails without a word' \
	'silent.model: the inference fails: TensorFlow Lite does not say why' plain silent.model
check 'an input that cannot be set' says 1 $'fake: input?fails\nfake: so it ends
npumem-tflite: input.model: input \'input\' cannot be set' plain input.model
refuses 'an input without memory' "nowhere.model: input 'input' has no memory: inputs=bound is for programs that have a dma-buf for it" \
	plain nowhere.model
refuses 'an output that is an input, whose bytes are used again' 'through.model: output 0 is an input, too, whose bytes inputs=reuse gives to others' \
	run through.model -o inputs=reuse
check 'an output that is an input' plain through.model
check 'an output that cannot be read' says 1 $'fake: output?fails\nfake: so it ends
npumem-tflite: output.model: output \'out?put\' cannot be read' plain output.model
refuses 'an input of strings' "string.model: input 'input' has no fixed size: string[1,4,4,3]" \
	plain string.model
refuses 'one input too many' 'picture.model: 2 inputs were given, and the model takes 1' \
	plain picture.model -i good.raw -i good.raw
refuses 'no file' 'missing.raw: No such file or directory' plain picture.model -i missing.raw
refuses 'bytes too few' "short.raw: 47 bytes, and input 'input' takes 48, uint8[1,4,4,3]" \
	plain picture.model -i short.raw
refuses 'a picture that is none' 'none.png: not a PNG file' plain picture.model -i none.png
check 'refused: a picture cut short' says_first 1 \
	'npumem-tflite: cut.png: damaged PNG file: read beyond end of data' plain picture.model -i cut.png
refuses 'a picture too large' 'huge.png: 100000 x 100000 pixels are too many, of 67108864 at most' \
	plain picture.model -i huge.png
refuses 'a picture for another model' 'good.png: the model takes no picture, which is '\
'[1,height,width,1 or 3] of float32, int8 or uint8, but int16[1,100]' plain sound.model -i good.png
refuses 'a sound that is none' 'none.wav: not a WAV file' plain sound.model -i none.wav
refuses 'a sound cut short' "cut.wav: damaged WAV file: chunk 'data' has 120 bytes, and the file 56 more" \
	plain sound.model -i cut.wav
refuses 'a sound of two channels' 'stereo.wav: a WAV file of format 1, 2 channels and 16 bits; 1 (PCM), '\
'1 and 16 are what is read' plain sound.model -i stereo.wav
refuses 'outputs to nowhere' 'missing/out: No such file or directory' \
	plain picture.model --output missing/out
refuses 'outputs to a full disk' '/dev/full: No space left on device' \
	plain picture.model --output /dev/full
refuses 'all outputs to nowhere' 'missing/out: No such file or directory' \
	plain picture.model --output missing/out --all
refuses 'all outputs to a full disk' '/dev/full: No space left on device' \
	plain picture.model --output /dev/full --all
refuses 'no labels' 'none: no labels, of which each has a line' plain picture.model -l none
refuses 'no file of labels' 'missing: No such file or directory' plain picture.model -l missing
refuses 'labels of another model' "few: 2 labels, and output 'out?put' has 7 values" \
	plain classes.model -l few

# ------------------------------------------------------------------ wrong usage
usage() { # MESSAGE ARGUMENT...
	check "usage: $1" usage_says "npumem-tflite: $1" "$program" "${@:2}"
}
usage 'no MODEL is given'
usage 'b: there is a model already' a b
usage '--all without --output: there is nowhere to write them' --all a
usage '--runs 0: not a number from 1 to 1000000' -n 0 a
usage '--runs x: not a number from 1 to 1000000' -n x a
usage '--seed -1: not a number from 0 to 18446744073708551615' -s -1 a
usage '--threads 257: not a number from 1 to 256' --threads 257 a
usage '--pixels 1..2: not -1..1, 0..1 or 0..255' --pixels 1..2 a
usage '--option planner: not KEY=VALUE' -o planner a
usage '--option =exact: not KEY=VALUE' -o =exact a
usage '--compare with --delegate none: both would be the plain runtime' -c -d none a
usage '--option with --delegate none: there is no delegate to tell' -o a=b -d none a
# shellcheck disable=SC2046 # words
usage '--option k33=v: more than 32 options' $(printf -- '-o k%d=v ' $(seq 33)) a
# shellcheck disable=SC2046 # words
usage '--input f33: more than 32 inputs' $(printf -- '-i f%d ' $(seq 33)) a
check '--version' prints 'npumem-tflite ' "$program" --version
check_plan
