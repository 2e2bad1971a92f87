#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumemctl_bench.sh - npumemctl bench pack: output, files, exit statuses.
#
# usage: test_npumemctl_bench.sh NPUMEMCTL
#
# TAP. Messages and outputs are compared as a whole.

ctl=$(realpath "$1")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

# Times, and what depends on them.
normalize() {
	sed -i -E 's/[0-9]+\.[0-9]{6} s/T s/; s/"seconds":[^,]*/"seconds":T/
		/many/s/bound [0-9]+/bound L/; /many/s/work [0-9]+/work W/' "$1"
}

printf 'id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n' >five.csv
printf 'id,lower,upper,size\nb1,0,3,0\n' >bad.csv
usage="Try \`npumemctl bench pack --help' or \`npumemctl bench pack --usage' for more
information."

check 'a line a file' gives 0 \
	'five.csv: 5 buffers, lower bound 12, top 12 (1.0000), optimal, T s, work 14' '' \
	"$ctl" bench pack five.csv
# shellcheck disable=SC2016 # the inner shell expands it
check 'offsets are appended' gives 0 '' '' \
	sh -c '"$1" bench pack -o packed.csv five.csv >/dev/null && cut -d, -f1-4 packed.csv |
		cmp - five.csv && head -n 1 packed.csv | grep -q ",offset$"' sh "$ctl"
check 'what is packed is a problem with fixed offsets' gives 0 \
	'packed.csv: 5 buffers, lower bound 12, top 12 (1.0000), optimal, T s, work 6' '' \
	"$ctl" bench pack packed.csv
check 'JSON' gives 0 '{"files":[{"name":"five.csv","n":5,"lower_bound":12,"top":12,'\
'"status":"optimal","ended_by":null,"seconds":T,"work":14}]}' '' "$ctl" bench pack -j five.csv
check 'a capacity that is too small' gives 3 \
	'five.csv: 5 buffers, lower bound 12, infeasible, T s, work 0' '' \
	"$ctl" bench pack --capacity 11 five.csv
check 'no packer of that name' gives 1 '' "npumemctl: five.csv: there is no packer 'none'" \
	"$ctl" bench pack --packer none five.csv
check 'a malformed file' gives 1 '' 'npumemctl: bad.csv: line 2: size is 0' "$ctl" bench pack bad.csv
check 'a line without an end' gives 1 '' 'npumemctl: /dev/zero: line 1: the line is longer than 1048576 bytes' \
	"$ctl" bench pack /dev/zero
check 'a file that is not there' gives 1 '' 'npumemctl: absent.csv: No such file or directory' \
	"$ctl" bench pack absent.csv
check 'no file' gives 2 '' "npumemctl bench pack: a FILE is needed
$usage" "$ctl" bench pack
check 'one output for two files' gives 2 '' "npumemctl bench pack: --output takes one FILE, not 2
$usage" "$ctl" bench pack -o packed.csv five.csv five.csv
check 'two outputs' gives 2 '' "npumemctl bench pack: --output - and --json both need standard output
$usage" "$ctl" bench pack -j -o - five.csv
check 'an alignment of 3' gives 2 '' "npumemctl bench pack: --align: 3 is not a power of two up to 64KiB
$usage" "$ctl" bench pack --align 3 five.csv
check 'an output that cannot be written' gives 1 \
	'five.csv: 5 buffers, lower bound 12, top 12 (1.0000), optimal, T s, work 14' \
	'npumemctl: nowhere/packed.csv: No such file or directory' \
	"$ctl" bench pack -o nowhere/packed.csv five.csv
# shellcheck disable=SC2016 # the inner shell expands it
check 'standard input' gives 0 \
	'-: 5 buffers, lower bound 12, top 12 (1.0000), optimal, T s, work 14' '' \
	sh -c '"$1" bench pack - <five.csv' sh "$ctl"
# shellcheck disable=SC2016
check 'malformed standard input' gives 1 '' 'npumemctl: standard input: line 2: size is 0' \
	sh -c '"$1" bench pack - <bad.csv' sh "$ctl"
check 'bench of nothing' gives 2 '' 'Usage: npumemctl bench pack [OPTION...] FILE.csv...
See npumemctl bench pack --help.' "$ctl" bench
# 20,000 buffers that a search is not soon through with; status and what ended it.
awk 'BEGIN { print "id,lower,upper,size"; x = 7
	for (i = 0; i < 20000; i++) {
		x = (x * 16807) % 2147483647; a = x % 20000
		x = (x * 16807) % 2147483647; b = x % 600
		x = (x * 16807) % 2147483647
		print "b" i "," a "," a + b + 1 "," 1 + x % 100003 } }' >many.csv
# ended SIGNAL: by a signal without a terminal, soon; a whole packing is written
ended() {
	"$ctl" bench pack -j --work 18446744073709551614 -o out.csv many.csv >said 2>words </dev/null &
	pid=$!
	# The first packing takes a tenth of a second of CPU time; a signal comes after three.
	until [ "$(awk '{ print ($14 >= 300) }' "/proc/$pid/stat" || echo 1)" = 1 ]; do
		sleep 0.1
	done
	kill -"$1" $pid
	wait $pid
	[ $? = 5 ] && grep -q '"ended_by":"interrupt"' said && [ "$(wc -l <out.csv)" = 20001 ] &&
		grep -q 'interrupted: the best found so far' words
}
check 'interrupt gives the best so far, without a terminal' gives 0 '' '' ended INT
check 'SIGTERM gives the best so far, without a terminal' gives 0 '' '' ended TERM
# The soft limit is reached after two seconds of CPU time, and again every second.
limited() {
	(ulimit -St 2 && exec "$ctl" bench pack -j --work 18446744073709551614 -o out.csv many.csv) \
		>said 2>words
	[ $? = 5 ] && grep -q '"ended_by":"interrupt"' said && [ "$(wc -l <out.csv)" = 20001 ]
}
rm out.csv
check 'a soft limit of CPU time gives the best so far' gives 0 '' '' limited
# shellcheck disable=SC2016 # the inner shell expands it
check 'a limit of work is what ended it' gives 0 '1' '' \
	sh -c '"$1" bench pack -j --work 20000000 many.csv | grep -c "\"ended_by\":\"work\""' sh "$ctl"
check 'a limit of memory before any packing' gives 4 \
	'five.csv: 5 buffers, lower bound 0, unknown, T s, work 0, ended by the limit of memory' '' \
	"$ctl" bench pack --memory 1 five.csv
check 'and in JSON' gives 4 '{"files":[{"name":"five.csv","n":5,"lower_bound":0,"top":null,'\
'"status":"unknown","ended_by":"memory","seconds":T,"work":0}]}' '' \
	"$ctl" bench pack -j --memory 1 five.csv
# shellcheck disable=SC2016
check 'a limit of memory that has room for one packing' gives 0 '20001' '' \
	sh -c '"$1" bench pack --memory 5MiB -o out.csv many.csv | grep -q "feasible.*, ended by the limit of memory$" &&
		wc -l <out.csv' sh "$ctl"
# shellcheck disable=SC2016
check 'and for it and a search' gives 0 '1' '' \
	sh -c '"$1" bench pack -j --memory 256MiB --work 20000000 many.csv | grep -c "\"ended_by\":\"work\""' sh "$ctl"
echo 'id,lower,upper,size' >none.csv
check 'no buffers need no bytes' gives 0 'none.csv: 0 buffers, lower bound 0, top 0, optimal, T s, work 1' '' \
	"$ctl" bench pack none.csv
check 'and in JSON, with offsets of none' gives 0 '{"files":[{"name":"none.csv","n":0,"lower_bound":0,"top":0,'\
'"status":"optimal","ended_by":null,"seconds":T,"work":1}]}' '' "$ctl" bench pack -j -o none.out none.csv
check 'which are a header' gives 0 'id,lower,upper,size,offset' '' cat none.out
check 'memory of no bytes' gives 2 '' "npumemctl bench pack: --memory: '0' is not a number of bytes; give one like 1572864 or 1.5MiB
$usage" "$ctl" bench pack --memory 0 five.csv
check 'a limit before any packing' gives 4 \
	'many.csv: 20000 buffers, lower bound L, unknown, T s, work W' '' \
	"$ctl" bench pack --packer greedy-size --work 1 many.csv
check_plan
