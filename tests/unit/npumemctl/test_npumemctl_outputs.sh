#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumemctl_outputs.sh - files written: none over an input, no two into one, each
# whole or as it was.
#
# usage: test_npumemctl_outputs.sh NPUMEMCTL GRAPHS_FOLDER
#
# TAP. Every refusal is compared as a whole.

ctl=$(realpath "$1") graphs=$(realpath "$2")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

cp "$graphs/squeezenet1_1.fused.json" net.json
cp net.json kept.json
mkdir folder
ln -s net.json link.json
ln net.json hard.json
ln -s ../new.json folder/dangling.json
"$ctl" plan net.json -o plan.json --blob plan.bin >/dev/null || exit 1
cp plan.json old.json

# ------------------------------------------------------ what is read stays
# refuses OUTPUT INPUT COMMAND...: and the graph is as it was
over() {
	local out=$1 in=$2
	shift 2
	says_first 2 "npumemctl $1: $out would overwrite $in" "$ctl" "$@" && cmp net.json kept.json &&
		cmp plan.json old.json
}
check 'plan -o its graph' over '-o net.json' 'GRAPH net.json' plan net.json -o net.json
check 'plan -o another path of its graph' over '-o folder/../net.json' 'GRAPH net.json' \
	plan net.json -o folder/../net.json
check 'plan -o a symbolic link to its graph' over '-o link.json' 'GRAPH net.json' \
	plan net.json -o link.json
check 'plan of a symbolic link to what it writes' over '-o net.json' 'GRAPH link.json' \
	plan link.json -o net.json
check 'plan -o a hard link of its graph' over '-o hard.json' 'GRAPH net.json' \
	plan net.json -o hard.json
check 'plan --blob its graph' over '--blob net.json' 'GRAPH net.json' plan net.json --blob net.json
check 'plan --graph-blob its graph' over '--graph-blob net.json' 'GRAPH net.json' \
	plan net.json --graph-blob net.json
check 'plan --emit-tflite its graph' over '--emit-tflite net.json' 'GRAPH net.json' \
	plan net.json --emit-tflite net.json
check 'plan --emit-lp its graph' over '--emit-lp net.json' 'GRAPH net.json' \
	plan --planner cosma net.json --emit-lp net.json
# shellcheck disable=SC2094 # that it is the same file is the point
from_stdin() {
	local err
	err=$("$ctl" plan - -o net.json 2>&1 >/dev/null <net.json)
	[ $? = 2 ] && [ "${err%%$'\n'*}" = 'npumemctl plan: -o net.json would overwrite GRAPH -' ] &&
		cmp net.json kept.json
}
check 'plan -o what standard input is' from_stdin
check 'import -o its file' over '-o ./net.json' 'FILE net.json' import net.json -o ./net.json
check 'show --html its graph' over '--html net.json' '--graph net.json' \
	show --graph net.json plan.json --html net.json
check 'show --svg its plan' over '--svg plan.json' 'PLAN plan.json' \
	show --graph net.json plan.json --svg plan.json
printf 'lower,upper,size\n0,2,4\n1,3,4\n' >net.csv
cp net.csv kept.csv
csv() {
	says_first 2 'npumemctl bench pack: -o ./net.csv would overwrite FILE net.csv' \
		"$ctl" bench pack net.csv -o ./net.csv && cmp net.csv kept.csv &&
		"$ctl" bench pack net.csv -o out.csv && [ "$(wc -l <out.csv)" = 3 ]
}
check 'bench pack -o its file' csv
check 'run -o its graph' over '-o net.json' 'GRAPH net.json' run net.json -o net.json
check 'run -o its plan' over '-o plan.json' '--plan plan.json' \
	run --plan plan.json net.json -o plan.json

cp net.json $'net\e[31m.json'
check 'a path with control characters' over '-o net\x1b[31m.json' 'GRAPH net\x1b[31m.json' \
	plan $'net\e[31m.json' -o $'net\e[31m.json'

# --------------------------------------------------- no two into one file
twice() { # FIRST SECOND COMMAND...: and neither is there
	local first=$1 second=$2
	shift 2
	says_first 2 "npumemctl $1: $first and $second are the same file" "$ctl" "$@" && [ ! -e q ] &&
		[ ! -e new.json ]
}
check 'plan -o and --blob' twice '-o q' '--blob q' plan net.json -o q --blob q
check 'plan -o and --blob by two paths' twice '-o q' '--blob folder/../q' \
	plan net.json -o q --blob folder/../q
check 'plan -o and --graph-blob through a dangling link' twice '-o new.json' \
	'--graph-blob folder/dangling.json' plan net.json -o new.json --graph-blob folder/dangling.json
check 'plan --blob and --graph-blob' twice '--blob q' '--graph-blob ./q' \
	plan net.json --blob q --graph-blob ./q
check 'show --html and --svg' twice '--html q' '--svg ./q' \
	show --graph net.json plan.json --html q --svg ./q
check 'two paths with control characters' twice '-o q\x1b[31m' '--blob ./q\x1b[31m' \
	plan net.json -o $'q\e[31m' --blob $'./q\e[31m'
two_names() {
	"$ctl" plan net.json -o q --blob folder/q >/dev/null && [ -s q ] && [ -s folder/q ] && rm q
}
check 'one name in two folders is two files' two_names
check 'a device takes both' "$ctl" plan net.json -o /dev/null --blob /dev/null

# ------------------------------------------------------- where things go
linked() {
	"$ctl" plan net.json -o folder/dangling.json >/dev/null && [ -L folder/dangling.json ] &&
		cmp new.json old.json && "$ctl" plan net.json --bands 2 -o folder/dangling.json &&
		[ -L folder/dangling.json ] && ! cmp -s new.json old.json
}
check 'a symbolic link stays one' linked
modes() {
	(umask 027 && "$ctl" plan net.json -o fresh.json) && [ "$(stat -c %a fresh.json)" = 640 ] &&
		chmod 604 fresh.json && "$ctl" plan net.json --bands 2 -o fresh.json &&
		[ "$(stat -c %a fresh.json)" = 604 ]
}
check 'modes are the umask'"'"'s, and then kept' modes
piped() {
	"$ctl" plan net.json -o /dev/stdout | cmp - old.json &&
		mkfifo fifo && { cat fifo >through.json & } &&
		"$ctl" plan net.json -o fifo >/dev/null && wait && cmp through.json old.json && [ -p fifo ]
}
check 'pipes are written to' piped
# shellcheck disable=SC2094
redirected() {
	"$ctl" plan net.json -o /dev/stdout >redirected.json && cmp redirected.json old.json &&
		"$ctl" plan net.json -o both.json >both.json && cmp both.json old.json
}
check 'standard output by its file'"'"'s name' redirected
same_stdout() {
	local err
	err=$("$ctl" plan -j net.json -o /dev/stdout 2>&1 >out.json)
	[ $? = 2 ] && [ "${err%%$'\n'*}" = 'npumemctl plan: -j and -o - both want standard output' ]
}
check '-j and -o /dev/stdout' same_stdout
read_only() {
	cp old.json locked.json && chmod 444 locked.json && mkdir closed && cp old.json closed/ &&
		chmod 555 closed
	# Root may write anywhere, but for what allows it to.
	[ "$(id -u)" != 0 ] || set -- setpriv --bounding-set -dac_override,-dac_read_search
	says_first 1 'npumemctl: locked.json: Permission denied; what was there is still there' \
		"$@" "$ctl" plan net.json -o locked.json &&
		says_first 1 'npumemctl: closed/old.json: Permission denied; what was there is still there' \
			"$@" "$ctl" plan net.json -o closed/old.json && cmp locked.json old.json &&
		cmp closed/old.json old.json
}
check 'a file that may not be written' read_only

# ---------------------------------------------------------- a full disk
no_rest() { # FOLDER: no temporary file is left
	[ -z "$(find "$1" -name '.npumemctl-*')" ]
}
limited() {
	cp old.json full.json
	(
		ulimit -f 1
		says_first 1 'npumemctl: full.json: File too large; what was there is still there' \
			"$ctl" plan net.json --bands 4 -o full.json
	) && cmp full.json old.json && no_rest .
}
check 'a file that may not grow' limited
# The blob fits, the JSON before it does not: neither is replaced.
together() {
	cp old.json pair.json && cp plan.bin pair.bin
	(
		ulimit -f 8
		says_first 1 'npumemctl: pair.json: File too large; what was there is still there' \
			"$ctl" plan net.json --bands 4 --blob pair.bin -o pair.json
	) && cmp pair.json old.json && cmp pair.bin plan.bin && no_rest . || return 1
	# And the other way round: what was staged first is given up.
	"$ctl" plan net.json -o small.json --blob folder/../missing/x.bin 2>err && return 1
	[ "$(cat err)" = 'npumemctl: folder/../missing/x.bin: No such file or directory' ] &&
		[ ! -e small.json ] && no_rest .
}
check 'all outputs or none' together
# shellcheck disable=SC2016 # another shell expands these
on_full_disk='mount -t tmpfs -o size=64k none "$1" && cp "$2" "$1/plan.json" || exit 9
	size=$(($(stat -f -c "%a * %S" "$1") - 4096))
	head -c "$size" /dev/zero >"$1/ballast" || exit 9
	"$3" plan "$4" --bands 4 -o "$1/plan.json" 2>err >/dev/null
	[ $? = 1 ] && [ "$(cat err)" = "npumemctl: $1/plan.json: No space left on device; what was there is still there" ] &&
		cmp "$2" "$1/plan.json" && [ -z "$(find "$1" -name ".npumemctl-*")" ]'
mkdir disk
if unshare -rm mount -t tmpfs none disk 2>/dev/null; then
	check 'a full disk' unshare -rm bash -c "$on_full_disk" full disk plan.bin "$ctl" net.json
else
	skipped 'a full disk' 'no tmpfs can be mounted here'
fi

check_plan
