#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumemctl_help.sh - manual page and completion know every option that --help
# lists; every value that is completed is one.
#
# usage: test_npumemctl_help.sh NPUMEMCTL SOURCE_FOLDER
#
# TAP.

ctl=$(realpath "$1")
page=$(realpath "$2")/npumemctl.1
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

# What --help lists, but itself; a word of a sentence is no option.
options_of() { # COMMAND...
	"$ctl" "$@" --help | sed -nE 's/^ {2,6}(-[A-Za-z?], )*(--[a-z-]+).*/\2/p' |
		grep -vxE -e '--(help|usage|version)'
}

# complete_words WORD...: what the last one is completed to
complete_words() {
	"$ctl" --complete "$@" | cut -f 1
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

for command in devices device graph history import plan verify run cache show 'bench pack'; do
	# shellcheck disable=SC2086 # two words are two words
	check "$command: manual page" in_page $command
	# shellcheck disable=SC2086
	check "$command: completion" in_completion $command
done
# Each of them is taken, so that what is missing is the graph: "no such file", no usage.
values_taken() { # COMMAND OPTION
	local value said none=1 beside
	for value in $(complete_words "$1" "$2" ''); do
		none=0
		beside=()
		[ "$value" != time ] || beside=(--budget 12 --compute 1 --copy-bandwidth 1)
		said=$("$ctl" "$1" --planner cosma "$2" "$value" "${beside[@]}" missing.json 2>&1)
		[ $? = 1 ] && [ "$said" = 'npumemctl: missing.json: No such file or directory' ] && continue
		echo "$2 $value: $said"
		return 1
	done
	return $none
}
for option in --objective --schedule --budget --arena-budget --inputs --layout; do
	check "plan $option: completed values are taken" values_taken plan $option
done
for option in --objective --external --inputs --layout; do
	check "run $option: completed values are taken" values_taken run $option
done
check "plan --external: run's values are not completed" completes '' plan --external ''
greedy=$("$ctl" plan --list-planners | sed -nE 's/^ *(greedy[^ ]*).*/--planner=\1 /p' | tr -d '\n')
check 'there are greedy planners' [ -n "$greedy" ]
check 'plan --planner=gr' completes "$greedy" plan --planner=gr
check 'files are completed' completes ':files ' plan --output ''
check 'options that take no value complete none' completes '' plan --params=
help_is() { # COMMAND...: help COMMAND and COMMAND -h are COMMAND --help
	local help
	help=$("$ctl" "$@" --help) && [ -n "$help" ] && [ "$("$ctl" "$@" -h)" = "$help" ] &&
		[ "$("$ctl" help "$@")" = "$help" ]
}
for command in devices device graph history import plan verify run cache show bench 'bench pack'; do
	# shellcheck disable=SC2086 # two words are two words
	check "help $command, $command -h" help_is $command
done
no_such_help() {
	local err
	err=$("$ctl" help frobnicate 2>&1)
	[ $? = 2 ] && [ "$err" = "npumemctl: no command 'frobnicate'; see npumemctl --help" ]
}
check 'help of no command' no_such_help
all_of_them() { [ "$("$ctl" help)" = "$("$ctl" --help)" ] && [ -n "$("$ctl" help)" ]; }
check 'help' all_of_them
lists_all() {
	local command
	for command in devices device graph history import plan verify run cache show bench help; do
		"$ctl" --help | grep -q "^  $command " || return 1
	done
	[ "$("$ctl" help help)" = "$("$ctl" --help)" ]
}
check 'help names every command, itself too' lists_all
statuses() {
	local status
	for status in 0 1 2 3 4 5; do
		"$ctl" --help | sed -n '/^Exit status/,$p' | grep -qw "$status" || return 1
	done
}
check 'help names every exit status' statuses
# Lost help is a failure, as any output is that is lost.
lost() { # COMMAND...
	local err
	err=$("$ctl" "$@" 2>&1 >/dev/full)
	[ $? = 1 ] || return 1
	# Of what does not fit into a buffer it is not known any more why.
	[ "$err" = 'npumemctl: standard output: No space left on device' ] ||
		{ [ "$err" = 'npumemctl: standard output: not all could be written' ] &&
			[ "$("$ctl" "$@" | wc -c)" -gt 8192 ]; }
}
for words in 'plan --help' 'help plan' 'plan --usage' 'plan -V' 'bench pack --list-packers' \
	'bench pack --help' '--help' '-V' 'plan --list-planners'; do
	# shellcheck disable=SC2086
	check "$words, on a full disk" lost $words
done
nothing_lost() { "$ctl" plan missing.json 2>/dev/full >&-; [ $? = 1 ]; }
check 'where nothing is printed nothing is lost' nothing_lost
check 'nothing is completed after help COMMAND' completes '' help plan ''
check 'layouts are completed' completes 'nhwc nchw nc32hw ' plan --layout ''
check 'engines are completed' completes 'rings search ilp paper belady greedy ' plan --engine ''
help_has() { "$ctl" plan --help | tr -s ' \n' '  ' | grep -qF -e "$1"; }
check 'help names every engine' help_has '"tile-scheduled" has "rings"'
help_stands_alone() { ! "$ctl" plan --help | tr -s ' \n' '  ' | grep -oE '.{20} The same.{20}'; }
check 'help of each option stands alone' help_stands_alone

check_plan
