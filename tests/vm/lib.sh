# SPDX-License-Identifier: MIT
# shellcheck shell=dash disable=SC2154,SC2012,SC2034
# Sourced by the guest's scripts, which set $brace: TAP, and a directory to work in.
export NO_COLOR=1
tracing=/sys/kernel/tracing
n=0
failed=0
as_wanted=1
mkdir work
cd work || exit 1
chmod 755 /vm . 2>/dev/null

ok() { n=$((n + 1)); echo "ok $n - $1"; }
not_ok() {
	n=$((n + 1))
	failed=1
	echo "not ok $n - $1"
	head -n 40 out | sed 's/^/# /'
}
# check NAME COMMAND...: it succeeds, and brace has ended as `run` wanted it: a text that is to lack something lacks it, too, if
# brace has said nothing but an error.
check() {
	local name=$1
	shift
	if [ $as_wanted = 1 ] && "$@"; then ok "$name"; else not_ok "$name"; fi
}
has() { grep -q -- "$1" "${2:-out}"; }
# holding OUTER INNER [FILE]: how many calls whose line has the text OUTER have a line with INNER before their end. A thread may
# sleep or be preempted anywhere, so that lines of the switch and of other tasks can come between the two.
holding() {
	awk -v outer="$1" -v inner="$2" '
	{ call = $0; sub(/^[^|]*\|/, "", call); depth = match(call, /[^ ]/) }
	within && depth == at && call ~ /^ *}/ { within = 0 }
	within == 1 && index($0, inner) { holding++; within = 2 }
	index(call, outer) { within = 1; at = depth }
	END { print holding + 0 }' "${3:-out}"
}
# missed [FILE]: how many calls brace says that it may not have seen: the sum of its three counters.
missed() {
	tr -d , <"${1:-out}" | sed -n 's/^brace: lost: \([0-9]*\) events .*full) \([0-9]*\) calls .*kernel) \([0-9]*\) calls.*/\1 \2 \3/p' |
		awk '{ n += $1 + $2 + $3 } END { print n + 0 }'
}
# only FILE OTHER: the lines of FILE that OTHER lacks, each as often as it lacks it. busybox has no comm.
only() { awk 'FILENAME == ARGV[1] { n[$0]++; next } n[$0]-- <= 0' "$2" "$1"; }
# whole FILE MISSED: JSON lines of brace follow have a return for each call, but for what was missed.
whole() {
	local calls returns
	calls=$(grep -c '"is_return":false' "$1") returns=$(grep -c '"is_return":true' "$1")
	[ "$calls" -gt 0 ] && [ $((calls - returns)) -le "$2" ] && [ $((returns - calls)) -le "$2" ]
}
# run STATUS ARGUMENT...: brace's output in `out`, and whether it has this status
run() {
	local wanted=$1
	shift
	"$brace" "$@" >out 2>&1
	local status=$?
	as_wanted=1
	[ "$status" = "$wanted" ] || { echo "status $status" >>out; as_wanted=0; return 1; }
}
nothing_left() { [ -z "$(ls $tracing/instances)" ] && [ "$(cat $tracing/max_graph_depth)" = 0 ] &&
	grep -q '^#### all functions enabled' $tracing/set_graph_function; }
setuidgid_nobody() { start-stop-daemon -S -c 65534:65534 -x "$brace" -- "$@"; }
