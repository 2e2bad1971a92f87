#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumemctl_cache.sh - npumemctl cache: plans are listed, shown, made, copied and dropped.
#
# usage: test_npumemctl_cache.sh NPUMEMCTL GRAPHS
#
# TAP.

ctl=$(realpath "$1") graphs=$(realpath "$2")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

cache() { "$ctl" cache --folder plans "$@"; }
of_json() { # FIELD of the only plan
	cache list -j | python3 -c 'import json, sys
plans = json.load(sys.stdin)["plans"]
print(plans[0][sys.argv[1]] if len(plans) == 1 else len(plans))' "$1"
}
is() { # VALUE COMMAND...: it prints just that
	local value=$1
	shift
	gives 0 "$value" '' "$@"
}
mkdir models
cp "$graphs/mobilenet_v2.fused.json" models/a.json
cp "$graphs/squeezenet1_1.fused.json" models/b.json
echo 'no model' >models/README
mobilenet='mobilenet_v2.fused: 64 steps, 65 placements, arena 1505280 bytes, lower bound 1505280'

# ------------------------------------------------------------------------------ usage
one_of='list, show, warm, export'
check 'no action' usage_says "npumemctl cache: one of $one_of, drop is needed" cache
check 'unknown action' usage_says "npumemctl cache: 'prune' is not $one_of or drop" cache prune
check 'list takes nothing' usage_says 'npumemctl cache: list takes nothing' cache list x
check 'show takes keys' usage_says 'npumemctl cache: show takes KEY...' cache show
check 'warm takes models' usage_says \
	'npumemctl cache: warm takes MODEL..., or folders of them' cache warm
check 'export takes a folder' usage_says 'npumemctl cache: export takes FOLDER [KEY...]' cache export
check 'drop takes something' usage_says 'npumemctl cache: drop: either keys or --all' cache drop
check 'drop takes one of both' usage_says \
	'npumemctl cache: drop: either keys or --all' cache drop --all abcd
check '--all is of drop' usage_says 'npumemctl cache: list does not take --all' cache list --all
check '--json is not of drop' usage_says 'npumemctl cache: drop does not take --json' cache drop --all -j
check 'a limit is of what writes' usage_says 'npumemctl cache: drop does not take --size-limit' \
	cache drop --all --size-limit 4M
for option in 'planner cosma' 'arena-budget 1M' 'deadline 1' 'bands 4' 'rows 2' 'onchip 1M' 'layout nhwc' \
	'tile a=1' 'params' 'inputs host' 'concat join' 'strict' 'dim N=1'; do
	# shellcheck disable=SC2086 # two words
	check "--${option% *} is of warm" usage_says "npumemctl cache: export does not take --${option% *}" \
		cache export device --$option
done
check 'nor does drop take what is of warm' usage_says 'npumemctl cache: drop does not take --bands' \
	cache drop --bands 4 --all
# Else it would be refused for its planner.
check '--objective is of warm' usage_says 'npumemctl cache: list does not take --objective' \
	cache list --objective traffic
check 'an objective needs its planner' usage_says \
	'npumemctl cache: --objective traffic needs a planner that moves tensors, like cosma' \
	cache warm --objective traffic --planner greedy models/a.json
check 'no folder' says 1 'npumemctl: plans: No such file or directory' cache list
actions() { "$ctl" --complete cache "$1" | cut -f 1 | tr '\n' ' '; }
check 'actions are completed' is 'list show warm export drop ' actions ''
check 'an action is completed' is 'export ' actions e

completed() { "$ctl" --complete cache "$@" | cut -f 1; }
check 'models are files' is :files completed warm ''
check 'so is where to export' is :files completed --folder plans export ''
check 'a cache is a folder' is :files completed --folder ''
check 'list takes no words' is '' completed list ''
check 'no folder has no keys' is '' completed --folder none show ''

# ------------------------------------------------------------------------------- warm
check 'a model is planned' is "models/a.json: $mobilenet" cache warm models/a.json
check 'it is listed' prints "  $mobilenet" cache list
for field in planner:auto objective:arena arena_budget:0 cost:1505280 counts:arena given_us:None final:True version:0.1.0; do
	check "it has ${field%:*}" is "${field#*:}" of_json "${field%:*}"
done
key=$(of_json key)
history_lines() { cache show "${key:0:4}" | grep -c ' UTC, warm in .* s: 1505280 bytes (1.4 MiB) of arena$'; }
shows_history() {
	[ "$(history_lines)" = 2 ] &&
		cache show "${key:0:4}" | grep -q '^  history    20..-..-.. ..:..:.. UTC, warm in'
}
check 'whose it is' prints "counts as  user $(id -u)'s" cache show "${key:0:4}"
check 'it is shown' prints 'arena      1505280 bytes (1.4 MiB), lower bound 1505280 bytes' \
	cache show "${key:0:4}"
plans_before() { cache show -j "${key:0:4}" | python3 -c 'import json, sys
past = json.load(sys.stdin)["plans"][0]["history"]
print([(one["cost"], one["by"], one["seconds"] > 0) for one in past], past[-1]["made_ns"] > 15 * 10**17)'; }
check 'it has no plan before it' is "[(1505280, 'warm', True)] True" plans_before
# rated FILE COST GIVEN FINAL: what a plan says of itself, with the digest that this has.
rated() {
	python3 -c 'import hashlib, struct, sys
name, cost, given, final = sys.argv[1], *map(int, sys.argv[2:])
file = bytearray(open(name, "rb").read())
struct.pack_into("=QQ", file, 120, cost, given)
struct.pack_into("=I", file, 156, final)
data = 424 + 32 + struct.unpack_from("=Q", file, 136)[0]
old = bytes(file[424:456])
file[424:456] = bytes(32)
file[424:456] = hashlib.sha256(file[:data]).digest()
if file[data:]:
    file[-32:] = bytes(32)
    file[-32:] = hashlib.sha256(file[424:456] + file[data:]).digest()
open(name, "wb").write(file)' "$@"
}
of_plan() { # FOLDER: what the only plan of it costs, could take, and whether that is all
	"$ctl" cache --folder "$1" list -j | python3 -c 'import json, sys
(plan,) = json.load(sys.stdin)["plans"]
print(*(plan[key] for key in ("cost", "given_us", "final")))'
}
stays='; kept from before: the new one is no better'
check 'planned again it stays' gives 0 "models/a.json: $mobilenet$stays" '' cache warm models/a.json
check 'with the plans that were before it' is "[(1505280, 'warm', True)] True" plans_before
# Nothing is better than no bytes.
empty_stays() {
	local warm=(cache --folder empty warm outside.json) before
	outside_graph >outside.json && before=$("${warm[@]}") &&
		gives 0 "$before$stays" '' "${warm[@]}"
}
check 'and so does a plan of no bytes' empty_stays
# No traffic is a cost, too, of a planner that moves tensors.
no_traffic_stays() {
	local warm=(cache --folder still warm --planner cosma --inputs resident --arena-budget 1505280)
	"${warm[@]}" models/a.json >/dev/null && "${warm[@]}" --deadline 0.000001 models/a.json >out || return 1
	grep -q 'kept from before: the new one is no better$' out && [[ $(of_plan still) == '0 '*' True' ]]
}
check 'and a plan without traffic' no_traffic_stays
# Though arena is what was asked for.
says_traffic() {
	local key
	key=$("$ctl" cache --folder still list | cut -c 1-8)
	"$ctl" cache --folder still show "$key" | grep -q ' UTC, warm in .* s: 0 bytes moved$'
}
counts() { # FOLDER: of what costs of its only plan are bytes
	"$ctl" cache --folder "$1" list -j | python3 -c 'import json, sys
(plan,) = json.load(sys.stdin)["plans"]
print(plan["objective"], plan["counts"])'
}
check 'what a planner counts that moves tensors is what is moved' says_traffic
check 'in JSON, too' is 'arena traffic' counts still
warm_counts() { cache warm -j --planner cosma --objective "$1" --arena-budget 2M models/a.json | python3 -c 'import json, sys
(model,) = json.load(sys.stdin)["models"]
print(model["counts"], model["cost"] == model["arena_bytes"])'; }
warm_peak() { is 'arena True' warm_counts peak && cache drop "$(cache list | cut -c 1-12 | head -n 1)"; }
check 'but for the least peak' warm_peak
of_another_npumem() { # the version that a file says is that of another
	rm -rf foreign
	cp -r still foreign
	python3 - foreign/*.plan <<'EOF'
import hashlib, struct, sys
file = bytearray(open(sys.argv[1], "rb").read())
version = file.index(b"0.1.0\0", 0, 424)
file[version:version + 5] = b"0.0.9"
data = 424 + 32 + struct.unpack_from("=Q", file, 136)[0]
file[424:456] = bytes(32)
file[424:456] = hashlib.sha256(file[:data]).digest()
file[-32:] = bytes(32)
file[-32:] = hashlib.sha256(file[424:456] + file[data:]).digest()
open(sys.argv[1], "wb").write(file)
EOF
	is 'arena None' counts foreign &&
		"$ctl" cache --folder foreign show "$("$ctl" cache --folder foreign list | cut -c 1-8)" |
		grep -q ' UTC, warm in .* s: 0 bytes$'
}
check 'what another npumem counts is not claimed' of_another_npumem
better_stays() { # its deadline stays the longer one, and what ended by itself is known to have
	rated "plans/$key.plan" 1000000 9000000 0
	gives 0 "models/a.json: $mobilenet$stays" '' cache warm --deadline 5 models/a.json &&
		is '1000000 9000000 True' of_plan plans
}
check 'a better one stays' better_stays
better_with_more_time() {
	rated "plans/$key.plan" 1000000 1000000 1
	cache warm --deadline 5 models/a.json >out && is '1000000 5000000 True' of_plan plans
}
check 'and is known to have had the time that the new one had' better_with_more_time
said_kept() { cache warm "$@" -j models/a.json | python3 -c 'import json, sys
(model,) = json.load(sys.stdin)["models"]
print(*(model[key] for key in ("kept", "cost", "final", "arena_bytes")))'; }
check 'JSON says so' is 'before 1000000 True 1505280' said_kept
worse_goes() {
	rated "plans/$key.plan" 2000000 1000000 0
	gives 0 "models/a.json: $mobilenet" '' cache warm --deadline 0.5 models/a.json &&
		is '1505280 1000000 True' of_plan plans
}
check 'a worse one goes' worse_goes
check 'and the new one says what was before' is "[(1505280, 'warm', True), (1505280, 'warm', True)] True" plans_before
check 'to people, too' shows_history
worse_said() { rated "plans/$key.plan" 2000000 1 0 && is 'new 1505280 True 1505280' said_kept; }
check 'JSON says that the new one is kept' worse_said
unknown_goes() { # as a delegate writes it
	rated "plans/$key.plan" 18446744073709551615 1 1 && is 'None 1 True' of_plan plans && is 'arena None' counts plans &&
		is 'new 1505280 True 1505280' said_kept
}
check 'one that says no cost goes' unknown_goes
for _ in {1..6}; do
	rated "plans/$key.plan" 2000000 1 0
	cache warm models/a.json >/dev/null
done
check 'the last eight are known' is 8 history_lines
# Whatever the deadline leaves time for.
hurried() {
	local one=("$ctl" cache --folder hurried warm --planner cosma --objective traffic --arena-budget 1605632)
	"${one[@]}" --deadline 2 "$graphs/densenet121.fused.json" >out && is_kept=$(of_plan hurried) &&
		"${one[@]}" --deadline 0.01 "$graphs/densenet121.fused.json" >out && is "$is_kept" of_plan hurried
}
check 'with less time nothing is lost' hurried
# What is said is what run asks for, and run adds what a planner has by default.
count_of() { "$ctl" cache --folder "$1" list | wc -l; }
by_default() { # FOLDER MODEL OPTIONS, of which the last two say the default
	"$ctl" cache --folder "$1" warm "${@:3:$#-4}" "$2" && [ "$(count_of "$1")" = 1 ] &&
		"$ctl" cache --folder "$1" warm "${@:3}" "$2" && [ "$(count_of "$1")" = 1 ]
}
check 'planner cosma loads its inputs' by_default loaded models/a.json --planner cosma --arena-budget 2M \
	--inputs host
check 'tile scheduling has rows' by_default rows "$graphs/mobilenet_v1_025.fused.json" \
	--planner tile-scheduled --rows 1
# npumemd chooses it then, and nothing is loaded.
objective() {
	set -- --objective traffic --arena-budget 2M models/a.json
	"$ctl" cache --folder objective warm "$@" && [ "$(count_of objective)" = 1 ] &&
		"$ctl" cache --folder objective warm --planner cosma --inputs resident "$@" &&
		[ "$(count_of objective)" = 1 ]
}
check 'an objective has a planner' objective
check 'keys are completed' is "$key" completed --folder plans show "${key:0:3}"
check 'of the folder that the line names' is "$key" completed --folder=plans drop ''
check 'behind others, too' is "$key" completed show abcd --folder plans -j ''
check 'and behind the folder of an export' is "$key" completed export device --folder plans ''
check 'with what they are' prints "$mobilenet" "$ctl" --complete cache --folder plans show "${key:0:3}"
check 'no key begins so' is '' completed --folder plans show x
check 'there is one' is "$key" of_json key
check 'another planner, another plan' cache warm --planner greedy models/a.json
check 'there are two' is 2 of_json key
check 'a budget that it does not fit into' says_first 1 \
	'npumemctl: models/a.json: needs 1.4 MiB, budget 1000 B, lower bound 1.4 MiB, peak at step 4: '\
'features.2.conv.0.0.conv2d + features.2.conv.1.0.conv2d; no plan in this order fits' \
	cache warm --arena-budget 1000 models/a.json
lines() { "$@" | wc -l; }
check 'a folder' is 2 lines "$ctl" cache --folder all warm models
check 'a folder without models' says 1 \
	'npumemctl: plans: no file here ends in .tflite, .onnx or .json' cache warm plans
other_is_planned() {
	! cache warm models/README models/b.json >out 2>err &&
		grep -q '^npumemctl: models/README: neither graph JSON ' err && grep -q '^models/b.json' out
}
check 'a model that is none does not keep the others from it' other_is_planned
check 'there are three' is 3 of_json key
pipe_is_not_read() {
	mkdir pipes && mkfifo pipes/a.json && cp models/b.json pipes/ && cp models/b.json pipes/.c.json || return 1
	! timeout 60 "$ctl" cache --folder piped warm pipes >out 2>err &&
		[ "$(cat err)" = 'npumemctl: pipes/a.json: is no regular file' ] && [ "$(wc -l <out)" = 1 ]
}
check 'nor does a pipe, and what is hidden is left alone' pipe_is_not_read

# ------------------------------------------------------------------------ text from outside
named() { # NAME: a model of that name, for Python
	python3 -c 'import json, sys
graph = json.load(open(sys.argv[1]))
graph["name"] = eval(sys.argv[2])
json.dump(graph, open("named.json", "w"))' "$graphs/squeezenet1_1.fused.json" "$1"
}
figures=$(cache --folder figures warm models/b.json)
figures=${figures#*: *: }
named "'a\x1b[31mb\x9bc\u202ed\n'"
check 'control characters of a name are printed as such' is \
	"named.json: a\\x1b[31mb\\xc2\\x9bc\\xe2\\x80\\xaed\\x0a: $figures" cache --folder evil warm named.json
check 'and listed as such' prints "  a\\x1b[31mb\\xc2\\x9bc\\xe2\\x80\\xaed\\x0a: $figures" \
	cache --folder evil list
named "'x' + 40 * '\u00e4'"
listed_text() { cache --folder long list -j | python3 -c 'import json, sys
print(json.load(sys.stdin)["plans"][0]["text"])'; }
long=$(printf '\xc3\xa4%.0s' {1..31})
check 'a long name' is "named.json: x$long: $figures" cache --folder long warm named.json
check 'is cut between characters' is "x$long: $figures" listed_text
odd=$(printf 'odd\xff.json')
cp models/b.json "$odd"
odd_folder() { # COMMAND MEMBER
	"$ctl" cache --folder "$odd.d" "$1" -j ${3:+"$3"} | python3 -c 'import json, sys
said = json.load(sys.stdin)
print(said["folder"], len(said[sys.argv[1]]))' "$2"
}
check 'a folder whose name is no UTF-8 is said' is 'odd\xff.json.d 1' odd_folder warm models models/b.json
check 'and listed' is 'odd\xff.json.d 1' odd_folder list plans
check 'and shown' is 'odd\xff.json.d 1' odd_folder show plans "$("$ctl" cache --folder "$odd.d" list | cut -c 1-8)"
odd_path() { cache --folder odd warm -j "$odd" | python3 -c 'import json, sys
print(json.load(sys.stdin)["models"][0]["model"])'; }
check 'a path that is no UTF-8 is in JSON, too' is 'odd\xff.json' odd_path

# ------------------------------------------------------------------------------- keys
check 'no such key' says 1 'npumemctl: ffffffff: no plan has such a key' cache show ffffffff
check 'a key too short' says 1 'npumemctl: abc: a key has at least 4 digits here' cache drop abc
two_that_begin_so() {
	local name file
	file=plans/$key.plan
	name=${key:0:8}$(printf '%056d' 0)
	cp "$file" "plans/$name.plan"
	says 1 "npumemctl: ${key:0:8}: several plans have keys that begin so" cache drop "${key:0:8}"
}
check 'two keys that begin so' two_that_begin_so
damaged=${key:0:8}$(printf '%056d' 0)
check 'a damaged file is said' says 1 "npumemctl: $damaged: the file is damaged" cache show "$damaged"
check 'it is still there: who looks removes nothing' [ -e "plans/$damaged.plan" ]
check 'it can be dropped' gives 0 '' '' cache drop "$damaged"

# ------------------------------------------------------------------------ room and time
# 16 KiB hold both, and one of them put again.
again_in_its_place() {
	"$ctl" cache --folder again warm "$graphs/loop_conv.json" models/a.json &&
		"$ctl" cache --folder again --size-limit 16K warm models/a.json &&
		[ "$(find again -name '*.plan' | wc -l)" = 2 ]
}
check 'a plan put again counts once' again_in_its_place
# A disk of 20 KiB, in a mount namespace of its own: nothing goes for a plan that does not fit.
full_disk() {
	# shellcheck disable=SC2016 # of the inner shell
	unshare -rm bash -c 'mount -t tmpfs -o size=20k none disk && cp again/*.plan disk || exit 9
		"$1" cache --folder disk --size-limit 40960 warm "$2/inception_v3.fused.json" "$2/densenet121.fused.json"
		echo "status $?"; ls disk | wc -l' - "$ctl" "$graphs" 2>&1
}
mkdir disk
if unshare -rm mount -t tmpfs none disk 2>/dev/null; then
	full='No space left on device'
	few_inodes() { # [OPTION...]: a folder and five files: of seven plans the last five are kept
		# shellcheck disable=SC2016 # of the inner shell
		unshare -rm bash -c 'mount -t tmpfs -o size=16M,nr_inodes=6 none disk || exit 9
			for budget in 2000001 2000002 2000003 2000004 2000005 2000006 2000007; do
				"$1" cache --folder disk warm --arena-budget $budget "${@:3}" "$2/loop_conv.json" >/dev/null || exit 1
			done; ls disk | wc -l' - "$ctl" "$graphs" "$@" 2>&1
	}
	check 'a disk without free inodes keeps the last plans' is 5 few_inodes --size-limit 1M
	one_inode() { # a folder and a file: the first goes for the second, and not for the limit
		# shellcheck disable=SC2016 # of the inner shell
		unshare -rm bash -c 'mount -t tmpfs -o size=16M,nr_inodes=2 none disk || exit 9
			"$1" cache --folder disk --size-limit 1M warm models >/dev/null; echo "status $?"
			ls disk | wc -l' - "$ctl" 2>&1
	}
	check 'what has gone on a full disk is said' is 'npumemctl: disk: plan of models/a.json: no room for it on the disk
status 1
1' one_inode
	check 'or those that are there, without a limit' gives 1 \
		"npumemctl: disk: plan of $graphs/loop_conv.json: $full" '' few_inodes
	exported_to_full_disk() { # what is there stays, and each that has no room is said
		# shellcheck disable=SC2016 # of the inner shell
		unshare -rm bash -c 'mount -t tmpfs -o size=16k none disk && cp again/*.plan disk && ls disk >before || exit 9
			"$1" cache --folder all export disk 2>full; echo "status $?"
			sed "s/: [0-9a-f]*: /: KEY: /" full | sort -u; ls disk | cmp - before' - "$ctl" 2>&1
	}
	check 'no plan goes for an export' is "status 1
npumemctl: disk: KEY: $full" exported_to_full_disk
	there_on_full_disk() { # COMMAND...: with what is there on a disk that is filled up to its last block
		# shellcheck disable=SC2016 # of the inner shell
		unshare -rm bash -c 'mount -t tmpfs -o size=16k none disk && cp again/*.plan disk || exit 9
			ls disk >before; cat /dev/zero >disk/filled 2>/dev/null
			"$@" 2>&1; echo "status $?"; ls disk | grep -vx filled | cmp - before' - "$@"
	}
	kept_on_full_disk() {
		there_on_full_disk "$@" | sed 's/"key": *"[^"]*", *//g' | tr -d ' '
	}
	check 'what is there already needs no room' is "status 0" there_on_full_disk "$ctl" cache --folder again export disk
	check 'and JSON says that it was there' is '{"folder":"disk","plans":[{"kept":"before"},{"kept":"before"}]}
status0' kept_on_full_disk "$ctl" cache --folder again export -j disk
	check 'nor does one that is planned again' is "models/a.json: $mobilenet$stays
status 0" there_on_full_disk "$ctl" cache --folder disk warm models/a.json
	check 'a full disk loses no plan' is "npumemctl: disk: plan of $graphs/inception_v3.fused.json: $full
npumemctl: disk: plan of $graphs/densenet121.fused.json: $full
status 1
2" full_disk
else
	skipped 'a full disk loses no plan' 'no mount namespaces here'
fi
in_400_years() {
	cp -r again years && touch -d 2400-01-01 years/*.plan && "$ctl" cache --folder years list
}
check 'times are of any year' prints '  in the future ' in_400_years

# ----------------------------------------------------------------------- export, drop
mkdir -p device && ln -s plans link
check 'not to itself' usage_says \
	'npumemctl cache: FOLDER ./plans would overwrite --folder plans' cache export ./plans
check 'under no other name' usage_says \
	'npumemctl cache: FOLDER link would overwrite --folder plans' cache --size-limit 8K export link
check 'all are still there' [ "$(find plans -name '*.plan' | wc -l)" = 3 ]
rmdir device
check 'one is exported' gives 0 '' '' cache export device "$key"
same() { cmp "plans/$key.plan" "device/$key.plan" && [ "$(find device -type f | wc -l)" = 1 ]; }
check 'it is the same there' same
check 'all are exported' gives 0 '' '' cache export device
check 'all are there' [ "$(find device -name '*.plan' | wc -l)" = 3 ]
copied() { # COST GIVEN FINAL of the copy, then the same of what stands there before
	rm -rf from to
	mkdir from to
	cp "plans/$key.plan" from
	cp "plans/$key.plan" to
	rated "from/$key.plan" "${@:1:3}"
	rated "to/$key.plan" "${@:4:3}"
}
export_to() { "$ctl" cache --folder from export "$@" to "$key"; }
worse_is_not_copied() {
	copied 2000 5000 0 1000 3000 1
	gives 0 "$key: a better plan is there, and stays" '' export_to && is '1000 5000 True' of_plan to
}
check 'a better plan is not replaced by a copy' worse_is_not_copied
better_is_copied() {
	copied 1000 3000 0 2000 5000 1
	gives 0 '' '' export_to && is '1000 5000 False' of_plan to
}
check 'a worse one is' better_is_copied
kept_json() { export_to -j | python3 -c 'import json, sys
said = json.load(sys.stdin)
(plan,) = said["plans"]
print(said["folder"], len(plan["key"]), plan["kept"])'; }
check 'JSON says that it stays' is 'to 64 before' kept_json
new_json() { copied 1000 1 0 2000 1 0 && is 'to 64 new' kept_json; }
check 'or that it is new' new_json
damaged_there() {
	truncate -s 1000 "to/$key.plan"
	gives 0 '' '' export_to && is '1000 1 False' of_plan to
}
check 'a damaged one goes' damaged_there
# Four plans of a block each, that were used one after the other: d last.
mkdir four
keys_of() { "$ctl" cache --folder "$1" list -j | python3 -c 'import json, sys
print(*(plan["key"] for plan in json.load(sys.stdin)["plans"]))'; }
four_plans() {
	local budget
	for budget in 2000001 2000002 2000003 2000004; do
		"$ctl" cache --folder four warm --arena-budget $budget "$graphs/loop_conv.json" >out || return 1
	done
	four=$(keys_of four)
	[ "$(wc -w <<<"$four")" = 4 ]
}
check 'four plans' four_plans
read -r fourth third second first <<<"$four"
same_order() { gives 0 '' '' "$ctl" cache --folder four export all-four && is "$four" keys_of all-four; }
check 'copies are used in the order of the plans' same_order
named_order() {
	gives 0 '' '' "$ctl" cache --folder four export named "$fourth" "$first" "$third" "$first" &&
		is "$fourth $third $first" keys_of named
}
check 'whatever order they are named in' named_order
block=$("$ctl" cache --folder four list -j | python3 -c 'import json, sys
print(json.load(sys.stdin)["plans"][0]["bytes"])')
no_room="no room for it in $((2 * block)) bytes ($((2 * block / 1024)).0 KiB)"
what_fits() {
	gives 1 '' "npumemctl: two: $first: $no_room
npumemctl: two: $second: $no_room" "$ctl" cache --folder four --size-limit $((2 * block)) export two &&
		is "$fourth $third" keys_of two
}
check 'what was used last has room, and what has none is said' what_fits
what_fits_json() {
	"$ctl" cache --folder four --size-limit $((2 * block)) -j export two-json 2>/dev/null | python3 -c 'import json, sys
print(*(plan["key"] + " " + plan["kept"] for plan in json.load(sys.stdin)["plans"]), sep="\n")'
	[ "${PIPESTATUS[*]}" = '1 0' ]
}
check 'JSON says so' is "$first none
$second none
$third new
$fourth new" what_fits_json
# A limit that is below any plan.
nothing_fits() {
	"$ctl" cache --folder four --size-limit $((block - 1)) -j export none-json 2>said | python3 -c 'import json, sys
print(*(plan["key"] + " " + plan["kept"] for plan in json.load(sys.stdin)["plans"]), sep="\n")'
	[ "${PIPESTATUS[*]}" = '1 0' ] && [ "$(grep -c ': no room for it in ' said)" = 4 ]
}
check 'of plans that are larger than the limit, too' is "$first none
$second none
$third none
$fourth none" nothing_fits
warmed() { # FOLDER BYTES [OPTION...]: two models, of which there is room for so much
	"$ctl" cache --folder "$1" --size-limit "$2" "${@:3}" warm "$graphs/loop_conv.json" models/a.json
}
warm_what_fits() { # the first has to go for the second
	warmed warm-two 12K >said 2>full
	is "1 2 npumemctl: warm-two: plan of $graphs/loop_conv.json: no room for it in 12288 bytes (12.0 KiB)" \
		echo $? "$(wc -l <said)" "$(cat full)" && [ "$(find warm-two -name '*.plan' | wc -l)" = 1 ]
}
check 'models whose plans had to go again are said' warm_what_fits
warm_json() { # FOLDER BYTES
	warmed "$@" -j 2>/dev/null | python3 -c 'import json, sys
print(*(model["kept"] for model in json.load(sys.stdin)["models"]))'
	[ "${PIPESTATUS[*]}" = '1 0' ]
}
check 'in JSON, too' is 'none new' warm_json warm-json 12K
check 'one that is larger than the limit is said with the limit' gives 1 '' \
	'npumemctl: warm-none: plan of models/a.json: no room for it in 4096 bytes (4.0 KiB)' \
	"$ctl" cache --folder warm-none --size-limit 4K warm models/a.json
check 'and is none in JSON' is 'new none' warm_json warm-none 4K
larger_than_before() { # a worse plan of the same request is there, and stays
	copied 1000 1 0 2000 1 0
	truncate -s 100 "to/$key.plan"
	gives 1 '' "npumemctl: to: $key: no room for it in 4096 bytes (4.0 KiB)" export_to --size-limit 4K
}
check 'one that is there before is not taken for a larger one' larger_than_before
mkdir small
cp "plans/$key.plan" small
# More than npumemd keeps by default, as its configuration may allow.
for digit in a b; do truncate -s 40M "small/$(printf '%064d' 0 | tr 0 $digit).plan"; done
large_stay() { "$ctl" cache --folder small warm models/b.json && [ "$(find small -name '*.plan' | wc -l)" = 4 ]; }
check 'without a limit none goes' large_stay
# A thousand plans are more than a pipe holds: when its reader has a line, all names are known, and
# not all files read.
thousand() {
	rm -rf many
	mkdir many
	python3 -c 'import hashlib, struct, sys
file = open(sys.argv[1], "rb").read()
size, = struct.unpack_from("=Q", file, 136)
for i in range(1000):
    key = hashlib.sha256(b"%d" % i).digest()
    one = bytearray(file[:456 + size])
    one[8:40] = key
    one[424:456] = bytes(32)
    one[424:456] = hashlib.sha256(one).digest()
    open("many/%s.plan" % key.hex(), "wb").write(one)' "$1"
}
while_they_go() { # COMMAND...: its exit status, and whether it printed less than $most lines
	local lines
	lines=$({ "$@" 2>gone; echo "status $?"; } | { read -r _ && rm many/*.plan && cat; })
	tail -n 1 <<<"$lines"
	[ "$(wc -l <<<"$lines")" -lt "$most" ]
}
listed_while_they_go() {
	most=999
	thousand "plans/$key.plan" && is 'status 0' while_they_go "$ctl" cache --folder many list && [ ! -s gone ]
}
check 'plans that go meanwhile are not listed' listed_while_they_go
named_while_they_go() {
	local names=(many/*.plan)
	names=("${names[@]#many/}")
	while_they_go "$ctl" cache --folder many show "${names[@]%.plan}" && grep -v ': No such file or directory$' gone
}
shown_while_they_go() {
	most=8000
	thousand "plans/$key.plan"
	[ "$(named_while_they_go)" = 'status 1' ] && [ -s gone ]
}
check 'who has named one hears that it is gone' shown_while_they_go
check 'one is dropped' gives 0 '' '' cache drop "$key"
check 'two are left' is 2 of_json key
check 'all are dropped' gives 0 '' '' cache drop --all
check 'none is left' gives 0 '' '' cache list

check_plan
