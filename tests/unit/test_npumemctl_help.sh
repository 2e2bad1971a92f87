#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumemctl_help.sh - manual page and bash completion know every option that
# --help lists.
#
# usage: test_npumemctl_help.sh NPUMEMCTL SOURCE_FOLDER
#
# TAP.
set -uo pipefail

ctl=$(realpath "$1")
page=$2/npumemctl.1 completion=$2/npumemctl.bash-completion
count=0 failed=0

check() { # NAME COMMAND...: one test
	local name=$1 log
	shift
	count=$((count + 1))
	if log=$("$@" 2>&1); then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		printf '%s\n' "$log" | sed 's/^/# /'
		failed=$((failed + 1))
	fi
}

# What --help lists, but itself; a word of a sentence is no option.
options_of() { # COMMAND...
	"$ctl" "$@" --help | sed -nE 's/^ {2,6}(-[A-Za-z?], )*(--[a-z-]+).*/\2/p' |
		grep -vxE -e '--(help|usage|version)'
}

# complete WORD...: what the last one is completed to
complete_words() {
	bash -c '
		words=("$@") cword=$(($# - 1)) cur=${words[cword]} prev=${words[cword - 1]}
		_init_completion() { :; }
		complete() { :; }
		_filedir() { :; }
		. "$0"
		# bash-completion sets what the function declares; here it is set already.
		eval "$(declare -f _npumemctl | sed "s/^ *local cur prev words cword/local/")"
		_npumemctl
		printf "%s\n" "${COMPREPLY[@]}"' "$completion" npumemctl "$@"
}

in_page() { # COMMAND [SUBCOMMAND]
	local option missing=0 text
	text=$(sed 's/\\-/-/g; s/\\f.//g' "$page")
	[ -n "$(options_of "$@")" ] || return 1
	for option in $(options_of "$@"); do
		grep -qE -e "(^|[^a-z-])$option([^a-z-]|$)" <<<"$text" && continue
		echo "$option is not in the manual page"
		missing=1
	done
	return $missing
}

in_completion() { # COMMAND [SUBCOMMAND]
	local option missing=0 known
	known=$(complete_words "$@" --)
	[ -n "$(options_of "$@")" ] || return 1
	for option in $(options_of "$@"); do
		grep -qxF -e "$option" <<<"$known" && continue
		echo "$option is not completed after $*"
		missing=1
	done
	return $missing
}

completes() { # TEXT WORD...
	local text=$1 got
	shift
	got=$(complete_words "$@" | tr '\n' ' ')
	[ "$got" = "$text" ] && return
	echo "$got"
	return 1
}

for command in devices import plan verify run show 'bench pack'; do
	# shellcheck disable=SC2086 # two words are two words
	check "$command: manual page" in_page $command
	# shellcheck disable=SC2086
	check "$command: completion" in_completion $command
done
check 'layouts are completed' completes 'nhwc nchw nc32hw ' plan --layout ''
check 'engines are completed' completes 'paper search ilp belady greedy rings ' plan --engine ''
help_has() { "$ctl" plan --help | tr -s ' \n' '  ' | grep -qF -e "$1"; }
check 'help names every engine' help_has '"tile-scheduled" has "rings"'
help_stands_alone() { ! "$ctl" plan --help | tr -s ' \n' '  ' | grep -oE '.{20} The same.{20}'; }
check 'help of each option stands alone' help_stands_alone

echo "1..$count"
[ $failed = 0 ]
