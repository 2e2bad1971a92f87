#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumemctl_digest.sh - a plan is of the graph that its digest says, whatever files
# and tensors are called.
#
# usage: test_npumemctl_digest.sh NPUMEMCTL MODEL.tflite GRAPHS_FOLDER
#
# TAP.

ctl=$(realpath "$1") model=$(realpath "$2") graphs=$(realpath "$3")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"
cp "$model" a.tflite

digest_of() { sed -n 's/^"digest": "\(sha256:[0-9a-f]*\)",$/\1/p' "$1"; }
short() { digest_of "$1" | cut -c 1-19; }

"$ctl" plan a.tflite -o a.json >/dev/null
cp a.tflite b.tflite
check 'the same file' says 0 '' "$ctl" verify a.tflite a.json
check 'a copy by another name' says 0 '' "$ctl" verify b.tflite a.json
check 'standard input' says 0 '' "$ctl" verify - a.json <b.tflite
check 'the plan from standard input' says 0 '' "$ctl" verify b.tflite - <a.json
check 'show takes the copy' says 0 '' "$ctl" show --graph b.tflite a.json
converted() { "$ctl" import b.tflite -o c.json && says 0 '' "$ctl" verify c.json a.json; }
check 'the same model as graph JSON' converted
same_bytes() {
	"$ctl" plan b.tflite -o b.json >/dev/null && [ "$(digest_of b.json)" = "$(digest_of a.json)" ] &&
		[ "$(digest_of a.json | wc -c)" = 72 ]
}
check 'one digest for both' same_bytes

# A graph to change: relu of the input, then both joined.
cat >g.json <<'EOF'
{"name":"g","dtype_bytes":1,"layout":"NHWC","tensors":[
{"id":5,"name":"x","shape":[1,8,8,2],"bytes":128,"kind":"input"},
{"id":7,"name":"y","shape":[1,8,8,2],"bytes":128,"kind":"activation"},
{"id":9,"name":"z","shape":[1,8,8,4],"bytes":256,"kind":"output"}],
"ops":[
{"id":3,"name":"act","type":"relu","inputs":[5],"outputs":[7],"attrs":{}},
{"id":4,"name":"join","type":"cat","inputs":[5,7],"outputs":[9],"attrs":{"dim":3}}]}
EOF
"$ctl" plan g.json -o p.json >/dev/null

# The numbers of docs/formats.md, hashed by somebody else.
recomputed() {
	local expected
	expected=$(python3 - <<'EOF'
import hashlib, struct
none = 2**64 - 1
numbers = [3, 2, 1, 0]                          # tensors, steps, blocks, edges
for id, size, kind in (5, 128, 1), (7, 128, 0), (9, 256, 2):
    numbers += [id, size, 1, kind, 0, none, 0]  # align, flags, alias of, alias offset
whole = lambda mode, tensor, size: [mode, none, tensor, 0, size] + [1, 0] * 3
numbers += [3, 0, 0, 2] + whole(1, 0, 128) + whole(2, 1, 128)
numbers += [4, 0, 0, 3] + whole(1, 0, 128) + whole(1, 1, 128) + whole(2, 2, 256)
numbers += [2]                                  # steps of the block
print("sha256:" + hashlib.sha256(b"npumem1\0" + struct.pack("<%dQ" % len(numbers), *numbers)).hexdigest())
EOF
	)
	[ "$(digest_of p.json)" = "$expected" ] && return
	echo "$(digest_of p.json), not $expected"
	return 1
}
check 'the digest is what the documentation says' recomputed

renamed() { # SED: only names change
	sed "$1" g.json >h.json && ! cmp -s g.json h.json && says 0 '' "$ctl" verify h.json p.json
}
check 'another name of the graph' renamed 's/"name":"g"/"name":"other"/'
check 'other names of tensors' renamed 's/"name":"[xyz]"/"name":"t"/'
check 'other names of operators' renamed 's/"name":"act"/"name":"relu_1"/'
check 'another type, which does the same' renamed 's/"relu"/"sigmoid"/'
check 'a field for people' renamed 's/^"ops"/"source":"elsewhere","ops"/'

changed() { # SED: another graph, of the same tiling
	sed "$1" g.json >h.json && ! cmp -s g.json h.json && "$ctl" plan h.json -o q.json >/dev/null &&
		says 1 "npumemctl: p.json: digest: the plan is for g, $(short p.json), the graph at \
hand is g, $(short q.json)" "$ctl" verify h.json p.json &&
		says 1 "npumemctl: q.json: digest: the plan is for g, $(short q.json), the graph at \
hand is g, $(short p.json)" "$ctl" verify g.json q.json
}
check 'an alignment' changed 's/"bytes":256/"bytes":256,"align":64/'
check 'a kind' changed '/"id":7/s/"activation"/"output"/'
check 'the order of the inputs' changed 's/"inputs":\[5,7\]/"inputs":[7,5]/'
check 'an operator in place' changed 's/"attrs":{}/"attrs":{"inplace":true}/'
check "a tensor's id" changed 's/"id":7/"id":8/; s/\[7\]/[8]/; s/\[5,7\]/[5,8]/'
check "an operator's id" changed 's/"id":3/"id":2/'
in_host() {
	sed 's/"kind":"input"/"kind":"input","host":true/' g.json >h.json &&
		"$ctl" plan --planner cosma --inputs resident h.json -o q.json >/dev/null &&
		[ "$(digest_of q.json)" != "$(digest_of p.json)" ] &&
		says 0 '' "$ctl" verify h.json q.json
}
check 'an input in host memory' in_host
smaller() {
	sed 's/8,8/4,4/g; s/128/32/; s/128/32/; s/256/64/' g.json >h.json &&
		"$ctl" plan h.json -o q.json >/dev/null &&
		says 1 "npumemctl: p.json: digest: the plan is for g, $(short p.json), the graph at \
hand is g, $(short q.json)" "$ctl" verify h.json p.json
}
check 'smaller tensors' smaller
other_model() {
	says 1 "npumemctl: p.json: digest: the plan is for g, $(short p.json), the graph at hand is a, \
$(short a.json)" "$ctl" verify a.tflite p.json
}
check 'another model: both names, both digests' other_model

# What the command line adds is in the plan, or nothing to the graph.
cp g.json copy.json
planned_with() {
	"$ctl" plan "$@" g.json -o r.json >/dev/null && says 0 '' "$ctl" verify copy.json r.json
}
check '--bands' planned_with --bands 4
check '--rows' planned_with --rows 1
check '--tile' planned_with --tile join=2x2
check '--params' planned_with --params
check '--layout' planned_with --layout nchw --bands 2
check '--external' planned_with --external x
check '--external-io' planned_with --external-io
check '--fix' planned_with --fix y=256
check '--inputs host' planned_with --planner cosma --inputs host
networks() {
	local network
	for network in "$graphs"/*.json; do
		cp "$network" network.json
		"$ctl" plan --planner greedy "$network" -o n.json >/dev/null &&
			says 0 '' "$ctl" verify network.json n.json || return 1
	done
}
check 'all networks' networks
blob() {
	"$ctl" plan g.json --graph-blob g.bin >/dev/null && "$ctl" plan g.bin -o bin.json >/dev/null &&
		cp g.bin h.bin && says 0 '' "$ctl" verify h.bin bin.json
}
check 'a graph blob' blob

# Without a digest there is the name; and what is none is said.
grep -v '^"digest"' p.json >old.json
sed 's/"name":"g"/"name":"h"/' g.json >h.json
check 'no digest: a warning' says 0 "npumemctl: old.json: warning: the plan has no digest: that it is of \
this graph only the name 'g' and its structure say" "$ctl" verify g.json old.json
check 'no digest, another name' says 1 'npumemctl: old.json: graph: the plan is for g, the graph is h, and the plan has no digest that says more than names' \
	"$ctl" verify h.json old.json
malformed() { # SED
	sed "$1" p.json >bad.json && ! cmp -s p.json bad.json &&
		says 1 'npumemctl: bad.json: digest: must be "sha256:" and 64 small hexadecimal digits' \
			"$ctl" verify g.json bad.json
}
check 'a digest of another kind' malformed 's/sha256:/sha512:/'
check 'a short digest' malformed 's/^\("digest": "sha256:[0-9a-f]*\)[0-9a-f]"/\1"/'
check 'a long digest' malformed 's/^\("digest": "sha256:[0-9a-f]*\)"/\10"/'
check 'capital digits' malformed '/^"digest"/s/[0-9a-f]",$/F",/'
check 'a digest that is no text' malformed 's/^"digest": .*/"digest": 7,/'
forged() {
	sed "s/$(digest_of p.json)/sha256:$(printf 'ab%.0s' {1..32})/" p.json >bad.json &&
		says 1 "npumemctl: bad.json: digest: the plan is for g, sha256:abababababab, the graph at \
hand is g, $(short p.json)" "$ctl" verify g.json bad.json
}
check 'a digest of something else' forged

check_plan
