# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# lib.sh - what the end-to-end tests share: TAP, the daemon, numbers out of
# npumemctl's JSON. Source it; end with "finish".
here=$(dirname "$0")
GRAPHS=${GRAPHS:-/opt/npumem/graphs}
MODELS=${MODELS:-/opt/npumem/models}
MOBILENET=$GRAPHS/mobilenet_v2.fused.json
ATTACK=${ATTACK:-/opt/npumem/selftests/npumem/npumem_attack}
: "$MODELS" "$MOBILENET" "$ATTACK" "$here"

N=0 FAILED=0
# check NAME COMMAND...: one test; what the command says if it fails.
check() {
	name=$1
	shift
	N=$((N + 1))
	if "$@" >check.out 2>&1; then
		echo "ok $N - $name"
	else
		echo "not ok $N - $name"
		sed 's/^/# /' check.out
		FAILED=$((FAILED + 1))
	fi
}

# shown NAME COMMAND...: the same, and what it says is part of the story.
shown() {
	check "$@"
	sed 's/^/#     /' check.out
}

finish() {
	stop_daemon
	echo "1..$N"
	[ "$FAILED" = 0 ]
	exit
}

# field NAME FILE: value of the first key of that name, which is the outermost
# object's where several have it; the JSON is compact.
field() {
	grep -o "\"$1\": *\"\{0,1\}[^,\"}]*" "$2" | head -n 1 | sed 's/^[^:]*: *"\{0,1\}//'
}

# fails CODE WORDS COMMAND...: it exits with that code and says these words.
fails() {
	code=$1 words=$2
	shift 2
	"$@" >fails.out 2>&1
	got=$?
	cat fails.out
	[ $got = "$code" ] || { echo "exit $got, not $code"; return 1; }
	grep -qF -- "$words" fails.out || { echo "did not say: $words"; return 1; }
}

has_daemon() {
	npumemctl devices -j >devices.json && [ "$(field daemon devices.json)" = true ]
}

# until_true SECONDS COMMAND...: ask until it is so.
until_true() {
	end=$(($(date +%s) + $1))
	shift
	until "$@"; do
		[ "$(date +%s)" -lt $end ] || return 1
		usleep 20000
	done
}

DAEMON=
# start_daemon [OPTION...]: npumemd, registered; its log is in daemon.log.
start_daemon() {
	npumemd --foreground "$@" >daemon.log 2>&1 &
	DAEMON=$!
	until_true 20 has_daemon || { cat daemon.log; return 1; }
}

# stop_daemon: SIGTERM; the daemon's exit code.
stop_daemon() {
	[ -n "$DAEMON" ] || return 0
	kill -TERM "$DAEMON" 2>/dev/null
	wait "$DAEMON"
	rc=$?
	DAEMON=
	return $rc
}

kill_daemon() {
	kill -KILL "$DAEMON" || return 1
	wait "$DAEMON"
	DAEMON=
	! has_daemon
}

# equal FILE: the JSON of npumemctl run says that all outputs were as computed.
equal() {
	[ "$(field equal "$1")" = true ] || { cat "$1"; return 1; }
}
