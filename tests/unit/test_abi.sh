#!/bin/sh
# SPDX-License-Identifier: MIT
#
# test_abi.sh - the uapi is what tests/abi says, and no change of it goes by unnoticed.
#
# usage: test_abi.sh SOURCE_FOLDER
#
# TAP.
set -u

top=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
n=0 failed=0

# report WHAT STATUS: the next test, and what scripts/abi said of it
report() {
	n=$((n + 1))
	if [ "$2" = 0 ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		sed 's/^/# /' "$tmp/log"
		failed=1
	fi
}

# same WHAT FOLDER [OPTION...]: the folder's headers are what is frozen
same() {
	what=$1
	shift
	"$top/scripts/abi" "$@" >"$tmp/log" 2>&1
	report "$what" $?
}

# spoilt WHAT HEADER SED WORDS: a change is noticed, and named by these words
spoilt() {
	rm -rf "$tmp/uapi"
	cp -r "$top/uapi" "$tmp/uapi"
	sed -i "$3" "$tmp/uapi/$2"
	"$top/scripts/abi" "$tmp/uapi" >"$tmp/log" 2>&1
	status=$?
	if cmp -s "$top/uapi/$2" "$tmp/uapi/$2"; then
		echo "the header is as it was" >"$tmp/log"
		status=2
	fi
	[ $status = 1 ] && grep -q -e "$4" "$tmp/log"
	report "$1" $?
}

same "headers are what is frozen" "$top/uapi"
same "so are the copies that tests/selftests/npumem_abi.c is built with" "$top/tests/abi/2.0"
if [ "$(uname -m)" = x86_64 ]; then
	same "32-bit programs see the same" "$top/uapi" -m32 \
		-isystem /usr/include/x86_64-linux-gnu
else
	n=$((n + 1))
	echo "ok $n - 32-bit programs see the same # SKIP no 32-bit compiler here"
fi
rm -rf "$tmp/uapi"
cp -r "$top/uapi" "$tmp/uapi"
sed -i 's/^ \* npumem: ioctls/ * npumem: all ioctls/' "$tmp/uapi/npumem_drm.h"
same "a comment is no change" "$tmp/uapi"

spoilt "a field moves" npumem_drm.h \
	'/^struct drm_npumem_array {/,/^};/ { s/__u32 stride/__u32 x/; s/__u32 count/__u32 stride/; s/__u32 x/__u32 count/ }' \
	'^+	0 4 count __u32$'
spoilt "a field has another name" npumem_drm.h 's/__s64 deadline_ns;/__s64 timeout_ns;/' \
	'^+	.* timeout_ns __s64$'
spoilt "a field has another type" npumem_drm.h 's/__s64 deadline_ns;/__u64 deadline_ns;/' \
	'^+	.* deadline_ns __u64$'
spoilt "a field is larger" npumem_plan.h \
	'/^struct npumem_verdict {/,/^};/ s/reserved\[4\]/reserved[5]/' '^+struct npumem_verdict 88$'
spoilt "a field is new" npumem_graph.h '/^struct npumem_carry {/ a __u64 weight;' \
	'^+	0 8 weight __u64$'
spoilt "a struct is gone" npumem_graph.h \
	'/^struct npumem_carry {/,/^};/ d' '^-struct npumem_carry 8$'
spoilt "an enumerator has another value" npumem_plan.h \
	's/NPUMEM_RULE_FORMAT = 64/NPUMEM_RULE_FORMAT = 8/' '^+	8 NPUMEM_RULE_FORMAT$'
spoilt "an enumerator is gone" npumem_drm.h '/NPUMEM_QUERY_HOLDERS = / d' \
	'^-	6 NPUMEM_QUERY_HOLDERS$'
spoilt "an ioctl has another number" npumem_drm.h \
	's/DRM_NPUMEM_SUBMIT = 0x0e/DRM_NPUMEM_SUBMIT = 0x1e/' '^+DRM_IOCTL_NPUMEM_SUBMIT '
spoilt "a macro has another value" npumem_drm.h \
	's/\(NPUMEM_JOB_EDGE *\)(1u << 0)/\1(1u << 1)/' '^+NPUMEM_JOB_EDGE 2$'
spoilt "a text is another" npumem_drm.h 's/NPUMEM_DRIVER_NAME "npumem"/NPUMEM_DRIVER_NAME "npu"/' \
	'^+NPUMEM_DRIVER_NAME "npu"$'
spoilt "a field of an engine's task moves" npumem_engine.h \
	'/^struct npumem_engine_next {/,/^};/ { /__u32 flags;/ d }' '^-	20 4 flags __u32$'
spoilt "an attribute of netlink has another number" npumem_netlink.h \
	'/NPUMEM_A_UPCALL_FD,/ d' '^+	2 NPUMEM_A_UPCALL_REQUEST$'
echo "1..$n"
exit $failed
