#!/bin/bash
# brace sql and brace latency: sqlhist's statements over programs (tests/targets/handoffs.c, sizes.c), whose counts and waits are
# known; what brace makes of a statement is what libtracefs makes of it; trees take it; what cannot be has a sentence and a caret.
. "$(dirname "$0")/lib.sh"
J=$FIXTURES/handoffs
P=$FIXTURES/sizes
printf '%s\n' 100 l5 q >"$T/jobs"

# ask COMMAND OPTION...: over the jobs; its answer in $T/answer.
ask() {
	local command=$1
	shift
	timeout -k 5 "$LIMIT" "$BRACE" "$command" --mode block -o "$T/answer" "$@" -- "$J" <"$T/jobs" >"$T/out" 2>"$T/err"
}
# total NAME: of the first histogram.
total() { sed -n "s/^    $1: //p" "$T/answer" | head -n 1; }

# --- two events, the talk's way
ask sql -n wait 'SELECT began.name AS who, woken.job, woken.prio, (began.TIMESTAMP_USECS - woken.TIMESTAMP_USECS) AS lat
	FROM jobs.woken JOIN jobs.began ON woken.job = began.job'
[ $? -eq 0 ] && [ "$(head -n 1 "$T/out")" = ready ]
result "a program's records are joined" $? "$T/err"
/usr/bin/python3 - "$T/answer" >"$T/got" <<'END'
import re, sys
seen = {}
for line in open(sys.argv[1]):
    m = re.search(r': wait: who=(\S+) job=(\d+) prio=(-?\d+) lat=(\d+)$', line)
    if m:
        seen[int(m[2])] = int(m[4])
print(len(seen), [j for j in seen if j % 4 == 0 and seen[j] < 2000][:9])
sys.exit(sorted(seen) != list(range(1, 101)) or any(seen[j] < 2000 for j in seen if j % 4 == 0))
END
result "100 jobs, each once, every fourth 2 ms late: what nobody woke is not there" $? "$T/got" "$T/answer"
ask sql "SELECT w.job FROM jobs:woken w JOIN jobs:began b ON w.job = b.job WHERE w.job > 10 AND NOT (w.job = 20 OR w.job = 0x1f), b.job != -1"
[ "$(grep -c ': Anonymous: job=[0-9]*$' "$T/answer")" -eq 88 ] && ! grep -qE 'job=(20|31|10)$' "$T/answer"
result "conditions on both, with words, negative and hexadecimal numbers" $? "$T/answer" "$T/err"
ask sql -m lat -s name 'SELECT (b.TIMESTAMP - w.TIMESTAMP) AS lat FROM jobs.woken w JOIN jobs.began b ON w.job = b.job'
[ $? -eq 0 ] && ! grep -q Anonymous "$T/answer"
result "-m with -s makes no event" $? "$T/err"
ask sql -c prio -T -s name 'SELECT w.prio, b.job FROM jobs.woken w JOIN jobs.began b ON w.job = b.job'
[ "$(grep -c ': Anonymous: prio=[1-6] ' "$T/answer")" -eq 86 ] && ! grep -q 'prio=0' "$T/answer"
result "-c with -T makes it where the value changes: from 0, of each key" $? "$T/answer" "$T/err"

# --- one event
ask sql 'SELECT name, CAST(job AS _COUNTER_) FROM jobs.began WHERE job <= 100'
sums=$(sed -n 's/^{ name: .* } hitcount: *[0-9]*  job: *//p' "$T/answer" | awk '{ n += $1 } END { print n }')
[ "$(total Hits)" -ge 100 ] && [ "$sums" -ge 5050 ]
result "one event: keys and sums ($sums)" $? "$T/answer" "$T/err"
timeout "$LIMIT" "$BRACE" sql --json -o "$T/answer" 'SELECT name FROM take WHERE size > 2000' -- "$P" 3000 >"$T/out" 2>"$T/err"
[ $? -eq 5 ] && [ "$(grep -c '"name":"\(few\|most\)"' "$T/answer")" -eq 2 ]
result "a function as an event, in JSON" $? "$T/answer" "$T/err"

# --- the talk's own lines, over the switches of the program's threads
"$BRACE" sql --mode block -o "$T/answer" -n wakeup_lat 'SELECT end.next_comm AS name, start.pid,
    (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS latency
    FROM sched_waking AS start JOIN sched_switch AS end ON start.pid = end.next_pid' -- "$J" <"$T/jobs" >"$T/out" 2>"$T/err"
status=$?
if grep -q 'perf' "$T/err"; then
	skip "the talk's wakeup_lat" "the kernel does not tell of switches here"
else
	[ $status -eq 0 ] && grep -qE ' wakeup_lat: name=handoffs pid=[0-9]+ latency=[0-9]+$' "$T/answer"
	result "the talk's wakeup_lat" $? "$T/answer" "$T/err"
fi

# --- latency
ask latency jobs:woken jobs:began by job
late=$(sed -n 's/^{ nsecs: ~ 2^\([0-9]*\) *} hitcount: *\([0-9]*\) .*/\1 \2/p' "$T/answer" | awk '$1 >= 21 { n += $2 } END { print n + 0 }')
[ "$(total Hits)" -eq 100 ] && [ "$late" -ge 25 ]
result "latency: 100 times, at least 25 of 2 ms or more ($late)" $? "$T/answer" "$T/err"
timeout "$LIMIT" "$BRACE" latency --mode block -o "$T/answer" take rest -- "$P" 1000 >"$T/out" 2>"$T/err"
[ "$(total Hits)" -eq 4000 ]
result "between functions, by thread, in threads and processes" $? "$T/answer" "$T/err"
timeout "$LIMIT" "$BRACE" latency --mode block -o "$T/answer" rest rest%return -- "$P" 1000 >"$T/out" 2>"$T/err"
[ "$(total Hits)" -eq 4000 ]
result "from a function's begin to its return" $? "$T/answer" "$T/err"
"$BRACE" latency --explain sys_enter_read sys_exit_read -- "$P" >"$T/got" 2>"$T/err"
[ "$(grep -c '^echo ' "$T/got")" -eq 4 ] && grep -q "^echo 's:latency u64 nsecs; s32 common_pid;' >> " "$T/got" && grep -q 'onmatch(syscalls.sys_enter_read).trace(latency,' "$T/got"
result "--explain tells the synthetic event and the histograms" $? "$T/got" "$T/err"

# --- what libtracefs makes of the same, over the same tree
statements=(
	'SELECT start.filename, end.ret FROM sys_enter_openat AS start JOIN sys_exit_openat AS end ON start.common_pid = end.common_pid'
	'SELECT start.id, end.ret FROM sys_enter AS start JOIN sys_exit AS end ON start.common_pid = end.common_pid WHERE end.ret == 2'
	'SELECT CAST(id AS SYSCALL), CAST(common_pid AS EXECNAME) FROM sys_enter WHERE id != 3 && (id < 10 || id == 100)'
	'SELECT common_pid AS p, CAST(id AS _COUNTER_) FROM sys_enter'
	'SELECT start.common_pid, end.ret, start.fd AS f, (end.TIMESTAMP - start.TIMESTAMP) AS lat FROM sys_enter_read AS start
	 JOIN sys_exit_read AS end ON start.common_pid = end.common_pid WHERE start.fd > 2 && end.ret > 0'
	'SELECT end.ret, start.id, (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS lat FROM sys_enter start JOIN sys_exit end
	 ON start.id = end.id, start.common_pid = end.common_pid WHERE start.id & 3, !(end.ret < 5)'
	'SELECT CAST(id AS LOG2), CAST(common_pid AS HEX) FROM raw_syscalls.sys_enter WHERE id = 0x10'
	'SELECT start.id FROM sys_enter start JOIN sys_exit end ON start.common_pid = end.common_pid
	 WHERE (start.id < 3 || start.id > 5) && start.id != 0, end.ret = 010 || end.ret == 1, start.common_pid > 1'
	'SELECT id FROM sys_enter WHERE id > 1 && id < 9 && !(id = 4)'
	'SELECT (end.id + start.id) AS twice FROM sys_enter start JOIN sys_exit end ON start.common_pid = end.common_pid'
)
refused_too=(
	'SELECT common_pid FROM nothing'
	'SELECT common_pid, FROM sys_enter'
	'SELECT start.foo FROM sys_enter start JOIN sys_exit end ON start.common_pid = end.common_pid'
)
plain() { sed -E 's/_[0-9]+_([0-9]+)/_N_\1/g'; }
export -f plain
compare() { # STATUS STATEMENT: equal lines, or both refuse
	"$FIXTURES/sqlhist" made "$2" >"$T/theirs" 2>"$T/theirs.err" </dev/null
	local theirs=$?
	[ $theirs -eq "$1" ] || { echo "libtracefs: $theirs"; cat "$T/theirs.err"; return 1; }
	"$BRACE" sql -n made "$2" >"$T/ours" 2>"$T/ours.err" </dev/null
	local ours=$?
	[ $theirs -eq 0 ] || { [ $ours -eq 125 ]; return; }
	cmp <(plain <"$T/theirs") <(plain <"$T/ours")
}
export -f compare
export T BRACE FIXTURES
if [ ! -x "$FIXTURES/sqlhist" ]; then
	skip "libtracefs" "it is not installed"
elif ! timeout "$LIMIT" "$BRACE" shell --run "$P 1" -- true >/dev/null 2>"$T/err" </dev/null; then
	skip "libtracefs" "brace shell cannot work here"
else
	for statement in "${statements[@]}"; do
		timeout "$LIMIT" "$BRACE" shell --run "$P 1" -- bash -c 'compare 0 "$1"' - "$statement" >"$T/got" 2>&1 </dev/null
		result "as libtracefs: ${statement//[$'\n\t']/ }" $? "$T/got"
	done
	for statement in "${refused_too[@]}"; do
		timeout "$LIMIT" "$BRACE" shell --run "$P 1" -- bash -c 'compare 1 "$1"' - "$statement" >"$T/got" 2>&1 </dev/null
		result "as libtracefs, refused: $statement" $? "$T/got"
	done
	# The talk's two statements, the second over the event of the first; scheduling has no events without root.
	timeout "$LIMIT" "$BRACE" shell --run "$P 1" -- bash -c '"$BRACE" sql -e -n opened "SELECT start.filename, end.ret, start.common_pid AS who
			FROM sys_enter_openat AS start JOIN sys_exit_openat AS end ON start.common_pid = end.common_pid WHERE end.ret >= 0" &&
		"$BRACE" sql -e -n closed "SELECT o.ret AS fd, (c.TIMESTAMP_USECS - o.TIMESTAMP_USECS) AS lat FROM opened AS o
			JOIN sys_exit_close AS c ON o.who = c.common_pid" &&
		"$BRACE" sql -e "SELECT fd, CAST(lat AS _COUNTER_) FROM closed" &&
		cat /sys/kernel/tracing/synthetic_events /sys/kernel/tracing/events/synthetic/*/trigger' >"$T/got" 2>"$T/err" </dev/null
	[ $? -eq 0 ] && grep -q '^opened	u64 filename; s64 ret; s32 who$' "$T/got" && grep -q '^closed	s64 fd; u64 lat$' "$T/got" &&
		grep -q '^hist:keys=fd:vals=hitcount,lat:' "$T/got" && grep -q '^hist:keys=who:vals=hitcount:' "$T/got"
	result "-e: two statements and a histogram, the second over the event of the first" $? "$T/got" "$T/err"
	# "What system calls block the longest?", as on the slides.
	timeout "$LIMIT" "$BRACE" shell --run "$P 1" -- bash -c '"$BRACE" sql -e -n sysname "SELECT start.id, end.prev_pid FROM sys_enter AS start
			JOIN sched_switch AS end ON start.common_pid = end.prev_pid WHERE end.prev_state == 2" &&
		"$BRACE" sql -e -n offcpu "SELECT start.id, end.next_comm AS comm, end.next_pid AS pid,
			(end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS lat FROM sysname AS start
			JOIN sched_switch AS end ON start.prev_pid = end.next_pid" && cd /sys/kernel/tracing &&
		echo "hist:keys=id.syscall,comm,pid:vals=lat" >events/synthetic/offcpu/trigger && cat events/synthetic/offcpu/trigger' >"$T/got" 2>"$T/err" </dev/null
	[ $? -eq 0 ] && grep -q '^hist:keys=id.syscall,comm,pid:vals=hitcount,lat:' "$T/got"
	result "the talk's two statements and its histogram" $? "$T/got" "$T/err"
fi

# --- what cannot be
refused() { # NAME SENTENCE COLUMN STATEMENT [OPTION]...
	local name=$1 sentence=$2 column=$3 statement=$4
	shift 4
	"$BRACE" sql "$@" "$statement" -- "$P" 1 >"$T/out" 2>"$T/err" </dev/null
	[ $? -eq 125 ] && [ ! -s "$T/out" ] && grep -qF -- "$sentence" "$T/err" &&
		[ "$(awk '/^ *\^$/ { print index($0, "^") - 3 }' "$T/err")" = "$column" ]
	result "refused: $name" $? "$T/err"
}
refused "nothing" 'the statement ends where a field' 6 'SELECT'
refused "no SELECT" 'where SELECT is expected' 0 'id FROM sys_enter'
refused "no such event" 'neither an event nor a function' 15 'SELECT id FROM nothing'
refused "no such field, in its line" 'has no such field' 6 $'SELECT id FROM sys_enter\nWHERE idd = 3'
refused "LEFT JOIN" 'only matched events' 25 'SELECT id FROM sys_enter LEFT JOIN sys_exit ON id=id'
refused "a nested SELECT" 'in a second statement' 15 'SELECT id FROM (SELECT id FROM sys_enter)'
refused "a condition on both" 'on fields of one event' 75 'SELECT a.id FROM sys_enter a JOIN sys_exit b ON a.id=b.id WHERE (a.id=1 || b.ret=2)'
refused "a field without its event" 'of which event' 7 'SELECT id FROM sys_enter a JOIN sys_exit b ON a.id=b.id'
refused "both of one event" 'both are of one event' 53 'SELECT a.id FROM sys_enter a JOIN sys_exit b ON a.id=a.common_pid'
refused "a cast that is none" 'there are HEX' 18 'SELECT CAST(id AS WORD) FROM sys_enter'
refused "a quote that stays open" 'where a number or a string' 36 'SELECT id FROM sys_enter WHERE id = "x'
refused "a value that is not selected" 'no selected value has this name' '' 'SELECT a.id FROM sys_enter a JOIN sys_exit b ON a.id=b.id' -m lat
refused "-s alone" 'need a value' '' 'SELECT a.id FROM sys_enter a JOIN sys_exit b ON a.id=b.id' -s id
refused "a number that is none" 'is no number' 36 'SELECT id FROM sys_enter WHERE id = 12ab'
refused "a name" 'letters, digits and _' 0 'SELECT a.id FROM sys_enter a JOIN sys_exit b ON a.id=b.id' -n a-b
# brace latency's own words.
refused_latency() { # NAME SENTENCE COLUMN WORD...
	"$BRACE" latency "${@:4}" -- "$P" 1 >"$T/out" 2>"$T/err" </dev/null
	[ $? -eq 125 ] && [ ! -s "$T/out" ] && grep -qF -- "$2" "$T/err" &&
		[ "$(awk '/^ *\^$/ { print index($0, "^") - 3 }' "$T/err")" = "$3" ]
	result "refused: latency, $1" $? "$T/err"
}
refused_latency "one moment" 'from which moment to which?' 5 take
refused_latency "no key" 'from which moment to which?' 13 take rest by
refused_latency "no by" 'from which moment to which?' 10 take rest bx job
refused_latency "two keys" 'unexpected argument: job' '' take rest by job job
refused_latency "a span and a moment" 'from which moment to which?' 13 'take ~~ rest' rest by
refused_latency "a depth that is none" 'a number of levels, 1 to 255' 4 --within take:x take rest
refused_latency "depth 0" 'reaches 1 to 255 levels' 4 --within take:0 take rest
refused_latency "a depth in the kernel's files" 'WITHIN FUNCTION, without a depth' 0 --explain --within take:2 take rest
refused_latency "no such function" 'there is no function `tkae`' 0 --within tkae take rest
finish
