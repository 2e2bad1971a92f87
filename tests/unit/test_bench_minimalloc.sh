#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_bench_minimalloc.sh - the comparison with MiniMalloc, with a stand-in for its program.
#
# usage: test_bench_minimalloc.sh MINIMALLOC.SH NPUMEMCTL
#
# TAP. The stand-in takes MiniMalloc's options, insists on them, and appends offsets.

script=$(realpath "$1") ctl=$(realpath "$2")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../lib/command.sh"

printf 'id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\n' >three.csv
cp three.csv again.csv
cat >fake <<'END'
#!/bin/sh
case $1,$2,$3 in
--capacity=8,--input=*.csv,--output=*.csv) ;;
*) echo "fake: $*" >&2; exit 3 ;;
esac
[ -e silent ] && exit 0
awk -F, -v OFS=, -v third="$(cat third)" 'NR == 1 { print $0, "offset" }
	NR > 1 { print $0, NR == 4 ? third : 0 }' "${2#--input=}" >"${3#--output=}"
END
chmod +x fake
echo 4 >third

run() { sh "$script" "$@" >out 2>err; }
pairs() {
	run ./fake "$ctl" 8 three.csv again.csv &&
		[ "$(awk '{ print $1, NF, ($2 > 0), ($3 > 0), ($4 > 0) }' out | tr '\n' ';')" = \
			'three.csv 4 1 1 1;again.csv 4 1 1 1;total 4 1 1 1;' ]
}
check 'a line a file, and the sum' pairs
collides() {
	echo 2 >third
	! run ./fake "$ctl" 8 three.csv && [ ! -s out ] &&
		grep -q '^minimalloc.sh: ./fake: no packing of three.csv within 8$' err
}
check 'what collides is no packing' collides
too_high() {
	echo 5 >third
	! run ./fake "$ctl" 8 three.csv && [ ! -s out ] &&
		grep -q '^minimalloc.sh: ./fake: no packing of three.csv within 8$' err
}
check 'nor is what is above the capacity' too_high
fails() { ! run ./fake "$ctl" 9 three.csv && [ ! -s out ] && grep -q '^fake: --capacity=9 ' err; }
check 'a program that fails' fails
silent() {
	touch silent
	! run ./fake "$ctl" 8 three.csv && [ ! -s out ]
}
check 'a program that writes nothing' silent
usage() { run ./fake "$ctl" 8; [ $? = 2 ] && grep -q '^usage: minimalloc.sh' err; }
check 'no file' usage
check_plan
