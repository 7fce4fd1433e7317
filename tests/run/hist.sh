#!/bin/bash
# Histograms over a running program, in the mounted tree. The program (tests/targets/kin.c) says how
# often each of its threads and processes has emitted its event: the hit counts are those numbers,
# and those that a recount of the recorded events gives.
. "$(dirname "$0")/lib.sh"
ANSWERS=kin
. "$(dirname "$0")/answers-lib.sh"
D=$T/tree
E=$D/events/kin/met
mkdir "$D"
# rows: "KEY COUNT" of each row of the hist file with one key, sorted.
rows() { sed -n 's/^{ [a-z_]*: *\([^ ]*\) } hitcount: *\([0-9]*\).*/\1 \2/p' "$E/hist" | sort; }
# told: the same of what the program said last: " TID=N".
told() { tr ' ' '\n' <<<"$SAID" | sed -n 's/^\([0-9]*\)=\([0-9]*\)$/\1 \2/p' | sort; }
# total NAME: of the last histogram.
total() { sed -n "s/^    $1: //p" "$E/hist" | tail -n 1; }
# same NAME: $T/got and $T/wanted, which is not empty.
same() {
	cmp -s "$T/wanted" "$T/got" && [ -s "$T/wanted" ]
	result "$1" $? "$T/got"
}
# writes NAME LINE...
writes() {
	local line status=0
	for line in "${@:2}"; do echo "$line" >>"$E/trigger" || status=1; done 2>"$T/err"
	result "$1" $status "$D/error_log"
}

start_program
[ "${SAID%% *}" = ready ] || not_ok "the program runs"
"$BRACE" mount "$D" -p "$PID" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D")
# The program waits rather than lose a record.
echo 1 >"$D/options/block"

# --- threads and processes, each row against the program's own count
[ "$(cat "$E/hist" | wc -c)" -eq 0 ]
result "no histogram, no text" $?
writes "a histogram" hist:keys=common_pid
[ "$(cat "$E/enable")" = "0*" ]
result "it does not enable the event" $?
tell t3000
told >"$T/wanted"
rows >"$T/got"
same "threads and a forked process: each has its number of hits"
[ "$(wc -l <"$T/got")" -eq 3 ] && [ "$(total Hits)" -eq 9000 ] && [ "$(total Dropped)" -eq 0 ]
result "3 rows, 9000 hits, none dropped" $? "$T/got"
! grep -q 'met:' "$D/trace"
result "nothing is recorded for it" $? "$D/trace"

# --- the same numbers as a recount of the recorded events, with tracing on and off
writes "clear" hist:keys=common_pid:clear
echo 1 >"$E/enable"
tell o500
sed -n 's/^.*-\([0-9]*\) .* met: .*/\1/p' "$D/trace" | sort | uniq -c | sed 's/^ *\([0-9]*\) \([0-9]*\)$/\2 \1/' | sort >"$T/wanted"
rows >"$T/got"
same "as many as the trace has"
echo 0 >"$D/tracing_on"
tell 100
echo 1 >"$D/tracing_on"
[ "$(total Hits)" -eq "$(($(awk '{ n += $2 } END { print n }' "$T/wanted") + 100))" ]
result "it counts while recording is off" $? "$E/hist"
echo 0 >"$E/enable"

# --- pause, continue, filters, sums
writes "pause" hist:keys=common_pid:pause
before=$(total Hits)
tell 50
grep -q '\[paused\]' "$E/trigger" && [ "$(total Hits)" -eq "$before" ]
result "a paused one does not count" $? "$E/trigger"
writes "continue" hist:keys=common_pid:cont
tell 50
[ "$(total Hits)" -eq $((before + 50)) ]
result "a continued one does" $? "$E/hist"
: >"$E/trigger"
[ "$(sed -n 2p "$E/trigger")" = "# traceon traceoff snapshot stacktrace enable_event disable_event enable_hist disable_hist hist" ]
result "> removes it" $? "$E/trigger"
writes "a filter and a sum" 'hist:keys=common_comm:vals=n if n < 10'
tell 100
want=$(printf '{ common_comm: %-50s } hitcount:         10  n:         45' kin)
grep -qxF "$want" "$E/hist"
result "what passes is counted and summed" $? "$E/hist"
writes "!hist" '!hist:keys=common_comm:vals=n if n < 10'

# --- a table that is full; stacks; two at once
writes "a small one, and stacks" hist:keys=n:size=128 hist:keys=stacktrace
tell 1000
[ "$(grep -c '^{ n: ' "$E/hist")" -eq 128 ] && grep -qx '    Dropped: 872' "$E/hist" && grep -qx '    Hits: 128' "$E/hist"
result "a full table counts what it drops" $? "$E/hist"
grep -q '^{ common_stacktrace:$' "$E/hist" && grep -q '^         main+0x' "$E/hist" && [ "$(total Hits)" -eq 1000 ]
result "a stack is a key" $? "$E/hist"
: >"$E/trigger"

# --- another event's trigger pauses it
echo 'disable_hist:kin:met if n == 9' >>"$D/events/kin/met/trigger"
writes "by a trigger" hist:keys=common_pid
tell 100
[ "$(total Hits)" -eq 9 ] && grep -q '\[paused\]' "$E/trigger"
result "disable_hist pauses, from its record on" $? "$E/hist"
: >"$E/trigger"

# --- what cannot be
! { echo hist:keys=n:sort=m >>"$E/trigger"; } 2>/dev/null
result "refused" $?
tail -n 3 "$D/error_log" | sed '1s/^\[ *[0-9.]*\] //' >"$T/got"
printf '%s\n' 'hist:kin:met: error: Sort field must be a key or a val' '  Command: hist:keys=n:sort=m' "$(printf '%28s^' '')" >"$T/wanted"
same "error_log says why"
end_program
[ "$STATUS" -eq 0 ]
result "the program ended as it would have" $?
check "umount" "$BRACE" umount "$D"
finish
