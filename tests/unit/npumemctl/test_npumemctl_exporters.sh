#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumemctl_exporters.sh - graphs as other exporters write them: what is not
# understood is said, counted, and in nobody's way; with --strict it is refused.
#
# usage: test_npumemctl_exporters.sh NPUMEMCTL GRAPHS_FOLDER
#
# TAP.

ctl=$(realpath "$1") graphs=$(realpath "$2")/exporters
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"
cp "$graphs"/*.json .

# field NAME of the JSON on standard input, as Python writes it
field() { python3 -c 'import json, sys; print(eval("json.load(sys.stdin)" + sys.argv[1]))' "$1"; }

ignored='is not known here (names that begin with "x_" are ignored)'

# warned GRAPH COUNT STRICT_MESSAGE: planned in all ways, warned COUNT times in all; strict
# readers refuse it; what import writes of it is strict
warned() {
	local graph=$1 total=$2 message=$3 command way
	for way in '' '--bands 4' '--rows 1' '--rows 1 --planner tile-scheduled' \
		'--rows 2 --planner taa' '--planner nnc' '--params --planner greedy'; do
		# shellcheck disable=SC2086 # words
		"$ctl" plan $way -o plan.json "$graph.json" >/dev/null 2>said || {
			cat said
			return 1
		}
		grep -q "^npumemctl: $graph.json: warning: " said || return 1
		"$ctl" verify "$graph.json" plan.json >/dev/null 2>said || {
			cat said
			return 1
		}
	done
	[ "$("$ctl" import -j "$graph.json" 2>/dev/null | field '["warnings"]["total"]')" = "$total" ] &&
		[ "$("$ctl" plan -j "$graph.json" 2>/dev/null | field '["warnings"]["total"]')" = "$total" ] &&
		[ "$("$ctl" verify -j "$graph.json" plan.json 2>/dev/null |
			field '["warnings"]["total"]')" = "$total" ] || return 1
	for command in import plan "verify - plan.json" "show --graph" run; do
		# shellcheck disable=SC2086 # words
		case $command in
		verify*) set -- verify "$graph.json" plan.json ;;
		show*) set -- show --graph "$graph.json" plan.json ;;
		*) set -- $command "$graph.json" ;;
		esac
		says 1 "npumemctl: $graph.json: $message" "$ctl" "$@" --strict || return 1
	done
	"$ctl" import "$graph.json" -o strict-"$graph.json" 2>/dev/null &&
		says 0 '' "$ctl" plan --strict --bands 3 strict-"$graph.json"
}
check 'adaptive pool: output_size' warned adaptive_pool 1 \
	"\$.ops[1].attrs: \"output_size\" $ignored"
check 'dtype and note' warned dtype_and_note 7 "\$: \"producer\" $ignored"
check 'padding SAME' warned padding_same 3 '$.ops[0].attrs.padding: must be a list'
check 'a folded view' warned folded_view 1 "\$.ops[0].attrs: operator 0 'conv_then_view' (conv2d): \
window, stride and padding make 96 elements of 96 along spatial dimension 1, but its output has 56"
check 'mixed layouts' warned mixed_layouts 2 "\$.ops[0].attrs: operator 0 'conv' (conv2d): \
window, stride and padding make 0 elements of 3 along spatial dimension 1, but its output has 8"
check 'mixed element sizes' warned mixed_elements 4 \
	"\$.tensors[2].bytes: is 32, but shape times dtype_bytes is 8 for tensor 2 'bias'"
check 'symbolic dimensions' warned symbolic_shape 4 \
	'$.tensors[0].shape[0]: must be an integer from 1 to 2147483647'
check 'numbers for lists' warned scalar_windows 4 '$.ops[0].attrs.kernel: must be a list'
check 'names of ONNX' warned onnx_names 3 "\$.ops[0].attrs: \"axis\" $ignored"
check 'no names' warned no_names 6 '$.name: must be a string'
check 'unknown layout' warned unknown_layout 1 '$.layout: "NCDHW" is neither NCHW nor NHWC'
check 'attributes elsewhere' warned attributes_elsewhere 4 "\$.tensors[0]: \"quantization\" $ignored"
check 'transposed with SAME' warned transposed_same 2 '$.ops[0].attrs.padding: must be a list'

# Loops are planned by the planners that know them.
check 'a loop: warned' says 0 "npumemctl: loop_with_notes.json: warning: attribute \"hidden\" is \
not understood, 1 time, operators planned whole: \$.ops[0].body[0].attrs: \"hidden\" $ignored
npumemctl: loop_with_notes.json: warning: attribute \"alpha\" is not understood, 1 time, operators \
planned whole: \$.ops[1].attrs: \"alpha\" $ignored" "$ctl" plan loop_with_notes.json
sed 's/"type":"loop"/"type":"loop","trip_count":7/' loop_with_notes.json >trips.json
check 'what a loop does is not guessed' says 1 \
	"npumemctl: trips.json: \$.ops[0]: \"trip_count\" $ignored" "$ctl" plan trips.json
check 'nothing odd: nothing said' says 0 '' "$ctl" plan --strict strict.json
check 'nothing odd: without --strict' says 0 '' "$ctl" plan strict.json
no_warnings() {
	[ "$("$ctl" import -j strict.json | field '["warnings"]')" = "{'total': 0, 'unlisted': 0, 'list': []}" ]
}
check 'nothing odd: counted' no_warnings

# The operator that is not understood is one step; --tile says why it is not cut.
steps() { "$ctl" plan -j --tiles --rows 1 "$1" 2>/dev/null |
	field "[\"tiles\"][$2][\"steps\"]"; }
never_cut() {
	[ "$(steps adaptive_pool.json 1)" = 1 ] && [ "$(steps adaptive_pool.json 0)" = 14 ] &&
		[ "$(steps padding_same.json 0)" = 16 ] && [ "$(steps folded_view.json 0)" = 1 ]
}
check 'never cut' never_cut
not_to_be_cut() {
	local err
	err=$("$ctl" plan --tile pool=2 adaptive_pool.json 2>&1 >/dev/null)
	[ $? = 1 ] && [ "${err##*$'\n'}" = "npumemctl: adaptive_pool.json: operator pool: it is planned \
whole, since what a part of it needs is not known" ]
}
check '--tile of it is refused' not_to_be_cut

# What has no name is called by its id.
no_names() {
	local out drawn
	out=$("$ctl" plan -o plan.json no_names.json 2>/dev/null) &&
		drawn=$("$ctl" show --graph no_names.json plan.json 2>/dev/null) || return 1
	echo "$out"
	echo "$drawn"
	[[ $out == *"(no name)"* && $out == *"tensor 0 64 + tensor 1 64"* &&
		$drawn == *" operator 1"* ]]
}
check 'names of what has none' no_names
# A tensor that is only read through an alias is a tensor all the same.
cat >alias.json <<'EOF'
{"name":"alias","dtype_bytes":1,"tensors":[
{"id":0,"name":"in","shape":[64],"bytes":64,"kind":"input"},
{"id":1,"name":"view","shape":[8,8],"bytes":64,"kind":"activation","alias_of":0},
{"id":2,"name":"out","shape":[8,8],"bytes":64,"kind":"output"}],
"ops":[{"id":0,"name":"r","type":"relu","inputs":[1],"outputs":[2]}]}
EOF
bytes_of_aliases() {
	[ "$("$ctl" plan -j alias.json | field '["tensor_bytes"]')" = 128 ] &&
		"$ctl" plan alias.json | grep '^all tensors  128 bytes: 1.00 times the arena'
}
check 'all tensors: by whatever alias they are read' bytes_of_aliases

# Two plans are of one graph, of which all is said once.
said_once() {
	"$ctl" plan -o plan.json adaptive_pool.json 2>/dev/null >/dev/null &&
		"$ctl" show --html page.html --graph adaptive_pool.json plan.json plan.json 2>said &&
		[ "$(grep -c warning said)" = 1 ]
}
check 'show warns once' said_once
# A name that moves the cursor does not.
printf '{"name":"c","tensors":[{"id":0,"name":"i","shape":[1],"bytes":1,"kind":"input"},\n' >cursor.json
printf '{"id":1,"name":"o","shape":[1],"bytes":1,"kind":"output","\\u001b[2J":1}],\n' >>cursor.json
printf '"ops":[{"id":0,"name":"r","type":"relu","inputs":[0],"outputs":[1]}]}\n' >>cursor.json
check 'control characters' says 0 "npumemctl: cursor.json: warning: field \"\\x1b[2J\" is not \
known, 1 time, passed over: \$.tensors[1]: \"\\x1b[2J\" $ignored" "$ctl" plan cursor.json

check_plan
