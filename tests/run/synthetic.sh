#!/bin/bash
# Synthetic events over a running program, in the mounted tree: the talk's session. The time between
# two events of the program becomes an event, whose values are those of a recount of both events in
# the trace; another event is made of that one; onmax and onchange save and take snapshots. The
# program (tests/targets/handoffs.c) does a number of jobs that the test chooses.
. "$(dirname "$0")/lib.sh"
ANSWERS=handoffs
. "$(dirname "$0")/answers-lib.sh"
D=$T/tree
J=$D/events/jobs
S=$D/events/synthetic
mkdir "$D"
# writes NAME FILE LINE...
writes() {
	local line status=0
	for line in "${@:3}"; do echo "$line" >>"$D/$2" || status=1; done 2>"$T/err"
	result "$1" $status "$D/error_log"
}
# total EVENT-DIRECTORY NAME: of its first histogram.
total() { sed -n "s/^    $2: //p" "$1/hist" | head -n 1; }

start_program
[ "$SAID" = ready ] || not_ok "the program runs"
"$BRACE" mount "$D" -p "$PID" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D")
echo 1 >"$D/options/block"

# --- a latency as an event
writes "two synthetic events" synthetic_events \
	'wakeup_lat u64 lat; int job; int prio; char name[]; char fixed[16]' 'total u64 both; int job; unsigned long cost'
writes "the first event keeps its time" events/jobs/woken/trigger 'hist:keys=job:ts0=common_timestamp.usecs'
writes "the second one makes a record" events/jobs/began/trigger \
	'hist:keys=job:wakeup_lat=common_timestamp.usecs-$ts0:onmatch(jobs.woken).wakeup_lat($wakeup_lat,job,prio,name,common_comm)'
for e in jobs/woken jobs/began synthetic/wakeup_lat; do echo 1 >"$D/events/$e/enable"; done
writes "a histogram of the latencies" events/synthetic/wakeup_lat/trigger 'hist:keys=name:vals=lat:sort=name'
tell 200
cp "$D/trace" "$T/trace"
[ "$(grep -c ' wakeup_lat: ' "$T/trace")" -eq 200 ] && [ "$(total "$J/began" Hits)" -eq 200 ] && [ "$(total "$S/wakeup_lat" Hits)" -eq 200 ]
result "200 jobs are 200 matches, 200 records, and 200 hits of their histogram" $? "$D/events/jobs/began/hist"
/usr/bin/python3 - "$T/trace" "$S/wakeup_lat/hist" >"$T/recount" <<'END'
import re, sys
woken, began, prio, names, seen, sums, wrong = {}, {}, {}, {}, {}, {}, []
for line in open(sys.argv[1]):
    m = re.search(r' (\d+)\.(\d{6}): (\w+): (.*)', line)
    if not m:
        continue
    t, event = int(m[1]) * 1000000 + int(m[2]), m[3]
    f = dict(x.split('=', 1) for x in m[4].split(' '))
    job = int(f['job'])
    if event == 'woken':
        woken[job], prio[job] = t, int(f['prio'])
    elif event == 'began':
        began[job], names[job] = t, f['name']
    elif event == 'wakeup_lat':
        seen[job] = f
        sums[f['name']] = sums.get(f['name'], 0) + int(f['lat'])
for job, f in seen.items():
    if abs(int(f['lat']) - (began[job] - woken[job])) > 1 or int(f['prio']) != prio[job] or f['name'] != names[job]:
        wrong.append(f'{job}: {f}, not {began[job] - woken[job]} {prio[job]} {names[job]}')
    if job % 4 == 0 and int(f['lat']) < 2000:
        wrong.append(f'{job}: {f}: it waited 2 ms')
    if f['fixed'] != 'handoffs':
        wrong.append(f'{job}: {f}')
rows = {m[1]: int(m[2]) for m in re.finditer(r'{ name: (\S+) +} hitcount: +\d+  lat: +(\d+)', open(sys.argv[2]).read())}
print('\n'.join(wrong[:9]), rows if rows != sums else '', sums if rows != sums else '')
sys.exit(bool(wrong) or rows != sums or len(seen) != 200)
END
result "each has the time between its two events, their fields, and the sums are the histogram's" $? "$T/recount"
[ "$(sed -n 's/^# trigger info: //p' "$J/woken/hist")" = "hist:keys=job:vals=hitcount:synthetic_prio=prio:sort=hitcount:size=2048 [active]
hist:keys=job:vals=hitcount:ts0=common_timestamp.usecs:sort=hitcount:size=2048:clock=global [active]" ] && [ "$(grep -c 'Hits: 200$' "$J/woken/hist")" -eq 2 ]
s=$?; grep -n "trigger info\|Hits" "$J/woken/hist" >"$T/got"; result "a field that another event asks for is shown as the kernel shows it" $s "$T/got"
tell l30
[ "$(total "$J/began" Hits)" -eq 200 ] && [ "$(total "$J/began" Unmatched)" -eq 30 ]
result "what nobody woke is counted as unmatched" $? "$J/began/hist"

! (echo 'hist:keys=job:x=job:onmatch(jobs.woken).total(prio+1,job,job)' >>"$J/ended/trigger") 2>"$T/err" &&
	grep -q 'Of another event a param is a plain field' "$D/error_log"
result "an expression of another event's fields is refused" $? "$D/error_log"

# --- in use
! (echo '!wakeup_lat' >>"$D/synthetic_events") 2>"$T/err" && grep -q busy "$T/err"
result "an event that a histogram makes is not removed" $? "$T/err"
! (echo '!hist:keys=job:ts0=common_timestamp.usecs' >>"$J/woken/trigger") 2>"$T/err" && grep -q busy "$T/err"
result "a histogram whose variable is read is not removed" $? "$T/err"
: >"$J/woken/trigger"
grep -q ts0 "$J/woken/trigger"
result "nor by >" $? "$J/woken/trigger"

# --- one made of another
for e in jobs/woken jobs/began synthetic/wakeup_lat; do echo 0 >"$D/events/$e/enable"; done
: >"$D/trace"
writes "a variable of the synthetic event" events/synthetic/wakeup_lat/trigger 'hist:keys=job:lat1=lat'
writes "an event of it and of a third one" events/jobs/ended/trigger \
	'hist:keys=job:both=$lat1+cost:onmatch(synthetic.wakeup_lat).total($both,job,cost)'
echo 1 >"$S/total/enable"
echo 'both > 1000000000 || cost == 100' >"$S/total/filter"
tell 40
[ "$(grep -c ' total: both=[0-9]* job=10 cost=100$' "$D/trace")" -eq 1 ] && [ "$(grep -c ' total: ' "$D/trace")" -eq 1 ]
result "its filter lets one through" $? "$D/trace"
[ "$(total "$J/ended" Hits)" -eq 40 ]
result "40 jobs match along the chain" $? "$J/ended/hist"

# --- onmax, onchange
writes "onmax and onchange" events/jobs/ended/trigger \
	'hist:keys=common_pid:c=cost:onmax($c).save(job,common_comm)' \
	'hist:keys=common_comm:d=cost:onchange($d).snapshot() if cost == 70'
tell 9
grep -qE '^	max: +90  job: +9  common_comm: handoffs {24}$' "$J/ended/hist"
result "the largest one, and what is saved with it" $? "$J/ended/hist"
grep -qE 'triggering value \{ onchange\(\$d\) \}: +70	triggered by event with key: \{ common_comm: handoffs +\}$' "$J/ended/hist"
result "the snapshot and its reason" $? "$J/ended/hist"
[ "$(grep -c ' total: ' "$D/snapshot")" -eq 1 ]
result "the snapshot has what was recorded before" $? "$D/snapshot"

# --- a marker's text, with and without a newline; a histogram with fewer keys
writes "an event of two markers" synthetic_events 'span u64 lat; int n'
writes "the first one keeps its time" events/ftrace/print/trigger 'hist:keys=common_pid:begin=common_timestamp if buf == "begin"'
writes "the second one has a key more" events/ftrace/print/trigger \
	'hist:keys=common_pid,common_cpu:span=common_timestamp-$begin:onmatch(ftrace.print).span($span,common_pid) if buf == "end"'
writes "a histogram of the spans" events/synthetic/span/trigger 'hist:keys=n'
(for text in begin end begin; do printf %s "$text" >"$D/trace_marker"; done; echo end >"$D/trace_marker")
[ "$(total "$S/span" Hits)" -eq 2 ] && grep -q 'Entries: 1$' "$S/span/hist"
result "two spans of one thread" $? "$S/span/hist"
: >"$S/span/trigger"
writes "no spans any more" events/ftrace/print/trigger \
	'!hist:keys=common_pid,common_cpu:span=common_timestamp-$begin:onmatch(ftrace.print).span($span,common_pid) if buf == "end"'
: >"$D/events/ftrace/print/trigger"

# --- removal, in order
writes "who reads goes first" events/jobs/ended/trigger '!hist:keys=job:both=$lat1+cost:onmatch(synthetic.wakeup_lat).total($both,job,cost)' \
	'!hist:keys=common_pid:c=cost:onmax($c).save(job,common_comm)' '!hist:keys=common_comm:d=cost:onchange($d).snapshot() if cost == 70'
: >"$S/wakeup_lat/trigger"
: >"$J/began/trigger"
: >"$J/woken/trigger"
echo 0 >"$S/total/enable"
: >"$D/synthetic_events"
result "nothing is in use any more" $? "$D/error_log"
[ ! -e "$S" ]
result "the directory is gone" $?
check "umount" "$BRACE" umount "$D"
end_program
[ "$STATUS" -eq 0 ]
result "the program ends as it should" $?
finish
