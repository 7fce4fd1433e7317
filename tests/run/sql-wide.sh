#!/bin/bash
# brace sql beyond sqlhist: groups, functions, arithmetic, three and more tables, calls and spans as tables, EVERY, EXPIRE, WITHIN. The
# answers are those of sqlite3 over the recorded events, or what the program (tests/targets/spans.c) does by its own account.
. "$(dirname "$0")/lib.sh"
P=$FIXTURES/sizes
S=$FIXTURES/spans
J=$FIXTURES/handoffs
N=1000

# ask STATEMENT [OPTION]... -- PROGRAM...: its answer in $T/answer.
ask() { timeout -k 5 "$LIMIT" "$BRACE" sql --mode block -o "$T/answer" "$@" >"$T/out" 2>"$T/err" </dev/null; }
# rows: the answer's rows without the heading, columns parted by one blank.
rows() { sed 1d "$T/answer" | tr -s ' ' | sed 's/^ //'; }
# same NAME STATEMENT WANTED: the rows are these.
same() {
	local name=$1 wanted=$3
	ask "$2" -- "$4" "$N"
	rows >"$T/rows"
	[ "$(cat "$T/rows")" = "$wanted" ]
	result "$name" $? "$T/answer" "$T/err"
}

# --- groups, against sqlite3 over the records
"$BRACE" record -q --mode block -o "$T/trace" -e 'p:take take size=$arg1:u64 name=+0($arg2):string' -- "$P" $N >/dev/null 2>"$T/err"
"$BRACE" query --csv "$T/trace" "SELECT s.int_value AS size, n.string_value AS name FROM ftrace_event e JOIN args s USING (arg_set_id)
	JOIN args n USING (arg_set_id) WHERE e.name = 'take' AND s.key = 'size' AND n.key = 'name'" >"$T/records" 2>>"$T/err"
# recount SELECT...: over the table take of the records.
recount() {
	/usr/bin/python3 - "$T/records" "$1" <<'END'
import csv, sqlite3, sys
db = sqlite3.connect(":memory:")
db.execute("CREATE TABLE take (size, name)")
with open(sys.argv[1]) as f:
    next(f)
    db.executemany("INSERT INTO take VALUES (?, ?)", ((int(size), name) for size, name in csv.reader(f)))
for row in db.execute(sys.argv[2]):
    print(*row)
END
}
statements=(
	'SELECT name, count(*) AS n, sum(size), min(size), max(size), avg(size) FROM take GROUP BY name ORDER BY n DESC'
	'SELECT size / 1000 AS thousands, count(*), sum(size * 2 + 1) FROM take WHERE size > 50 GROUP BY thousands ORDER BY thousands'
	'SELECT size, count(*) AS n FROM take GROUP BY size HAVING n > 2 AND size < 300 AND NOT size = 75 ORDER BY size DESC LIMIT 7'
	"SELECT name, (size - 1) / 500 AS part, count(*) FROM take WHERE name = 'few' OR size > 3000 GROUP BY name, part ORDER BY name, part"
	'SELECT sum(size) / count(*) AS mean, max(size) - min(size) AS width, (count(*) + 1) * 2 AS more FROM take'
	'SELECT (size + 7) * -2 AS low, count(*) FROM take WHERE size < 200 GROUP BY low ORDER BY 1'
)
for statement in "${statements[@]}"; do
	recount "$statement" >"$T/wanted" 2>"$T/err"
	ask "$statement" -- "$P" $N
	rows | sed -E 's/^18446744073709551[0-9]*/-/' >"$T/rows"
	sed -E 's/^(-)[0-9]* /\1 /' "$T/wanted" >"$T/wanted2"
	[ -s "$T/wanted" ] && cmp -s "$T/rows" "$T/wanted2"
	result "as sqlite3 over the records: $statement" $? "$T/rows" "$T/wanted2" "$T/err"
done
ask --json 'SELECT name, p50(size) AS half, p99(size) AS most FROM take GROUP BY name ORDER BY name' -- "$P" $N
/usr/bin/python3 - "$T/answer" "$T/records" >"$T/got" <<'END'
import csv, json, sys
rows = [json.loads(line) for line in open(sys.argv[1])][1:]
sizes = {}
for size, name in list(csv.reader(open(sys.argv[2])))[1:]:
    sizes.setdefault(name, []).append(int(size))
bad = [r["name"] for r in rows]
for r in rows:
    of = sorted(sizes[r["name"]])
    exact = [of[-(-len(of) * p // 100) - 1] for p in (50, 99)]
    print(r, exact)
    if all(abs(r[k] - v) <= v / 128 for k, v in zip(("half", "most"), exact)):
        bad.remove(r["name"])
sys.exit(len(rows) != len(sizes) or bool(bad))
END
result "percentiles of groups within 1/128, in JSON" $? "$T/got"

# --- calls and spans
same "recursive calls have their own arguments and results" \
	'SELECT count(*), max(f.retval - f.n * 2), min(f.retval - f.n * 2) FROM calls.fall AS f' "10000 0 0" "$S"
same "a call that longjmp left meets no other's return" \
	'SELECT count(*), max(f.retval - f.n), min(f.retval - f.n) FROM calls.leap AS f WHERE f.n > -1' "2000 1000 1000" "$S"
same "spans nest" 'SELECT count(*), max(s.end.id - s.start.id), min(s.end.id - s.start.id) FROM begin_job ~~ end_job AS s' "10000 0 0" "$S"
same "WITHIN a call" 'SELECT count(*), min(f.n) FROM calls.inner AS f WITHIN outer' "4000 0" "$S"
same "and without" 'SELECT count(*), min(f.n) FROM calls.inner AS f' "6000 -1" "$S"
same "conditions on a call's arguments, result and duration" \
	'SELECT f.n, count(*) FROM calls.fall AS f WHERE f.n > 1 AND (f.retval = 4 OR f.retval = 8) AND f.duration > 0 GROUP BY f.n ORDER BY f.n' \
	$'2 2000\n4 2000' "$S"
ask -n spent 'SELECT f.duration, f.n AS level, f.retval FROM calls.fall AS f WHERE f.n >= 3' -- "$S" 100
awk '/: spent: duration=[0-9]+ level=[34] retval=[68]$/ { n++; split($0, a, "level="); split(a[2], b, " retval="); if (b[2] != 2 * b[1]) bad++ }
	END { print n, bad + 0; exit n != 400 || bad }' "$T/answer" >"$T/got"
result "records of calls" $? "$T/got" "$T/answer" "$T/err"
ask 'SELECT f.n FROM calls.fall AS f LIMIT 7' -- "$S" 100
[ $? -eq 0 ] && [ "$(grep -c 'Anonymous: n=' "$T/answer")" -eq 7 ] && grep -q '^falls 1000 ' "$T/out"
result "LIMIT ends the records, not the program" $? "$T/answer" "$T/err"
timeout "$LIMIT" "$BRACE" latency --mode block -o "$T/answer" 'begin_job ~~ end_job' -- "$S" $N >"$T/out" 2>"$T/err"
[ "$(sed -n 's/^    Hits: //p' "$T/answer")" = 10000 ]
result "latency of spans" $? "$T/answer" "$T/err"
timeout "$LIMIT" "$BRACE" latency --mode block --within outer -o "$T/answer" inner inner%return -- "$S" $N >"$T/out" 2>"$T/err"
[ "$(sed -n 's/^    Hits: //p' "$T/answer")" = 4000 ]
result "latency --within" $? "$T/answer" "$T/err"

# --- three tables, and what expires
same "three events" 'SELECT count(*), sum(a.id), max(c.id - a.id) FROM begin_job a JOIN end_job b ON a.common_pid = b.common_pid AND a.id = b.id
	JOIN begin_job c ON b.common_pid = c.common_pid WHERE a.id != 3' "1998 4985010 5" "$S"
printf '%s\n' 100 l5 q >"$T/jobs"
jobs() { timeout -k 5 "$LIMIT" "$BRACE" sql --mode block -o "$T/answer" "$@" -- "$J" <"$T/jobs" >"$T/out" 2>"$T/err"; }
jobs 'SELECT count(*), max(b.TIMESTAMP_USECS - w.TIMESTAMP_USECS) AS most FROM jobs.woken w JOIN jobs.began b ON w.job = b.job'
read -r all most < <(rows)
jobs 'SELECT count(*), max(b.TIMESTAMP_USECS - w.TIMESTAMP_USECS) AS most FROM jobs.woken w JOIN jobs.began b ON w.job = b.job EXPIRE 2ms'
read -r early least < <(rows)
[ "$all" -eq 100 ] && [ "$most" -ge 2000 ] && [ "$early" -le 75 ] && [ "${least:-0}" -le 2000 ]
result "what took longer than EXPIRE is no match ($early of $all)" $? "$T/answer" "$T/err"
jobs 'SELECT name, count(*) FROM jobs.began GROUP BY name HAVING count(*) > 1000000 EVERY 1ms'
[ "$(grep -c '^name' "$T/answer")" -ge 1 ] && ! grep -qv '^name\|^$' "$T/answer"
result "EVERY shows the answer again and again" $? "$T/answer" "$T/err"

ask 'SELECT filename, count(*) AS n FROM sys_enter_openat WHERE flags = 0 GROUP BY filename ORDER BY filename' -- /usr/bin/python3 -c '
import os
for i in range(7):
    os.close(os.open("/etc/passwd", os.O_RDONLY)) # with O_CLOEXEC
libc = __import__("ctypes").CDLL(None)
for i in range(5):
    libc.close(libc.open(b"/etc/group", 0))'
[ "$(rows | grep '^/etc/' | tr '\n' ' ')" = '/etc/group 5 ' ]
result "a system call's string is meant, not its address" $? "$T/answer" "$T/err"
ask 'SELECT e.filename, x.ret FROM sys_enter_openat e JOIN sys_exit_openat x ON e.common_pid = x.common_pid WHERE x.ret < 0 EXPIRE 10s' -- \
	/usr/bin/python3 -c 'import os; print(os.path.exists("/none/at/all") or open("/none/such"))'
grep -q ': Anonymous: age=[0-9]* filename=/none/such ret=-2$' "$T/answer"
result "and in records" $? "$T/answer" "$T/err"

# --- what it becomes
"$BRACE" sql --explain 'SELECT name, count(*) AS n, p99(size) FROM take GROUP BY name HAVING n > 3 ORDER BY n DESC LIMIT 2 EVERY 1s' -- "$P" >"$T/got" 2>"$T/err"
tail -n 3 "$T/got" | cmp -s - <(printf '%s\n' "echo 'hist:keys=name:vals=size.p99:size=131072' >> /sys/kernel/tracing/events/uprobes/take/trigger" \
	'# its rows are the table answer: keys k0, k1, ...; hitcount n; values v0, v1, ...' \
	'# SELECT k0 AS "name", n AS "n", v0 AS "p99(size)" FROM answer WHERE (n > 3) ORDER BY n DESC LIMIT 2, every 1 s')
result "--explain tells the histogram and the SELECT over it" $? "$T/got" "$T/err"
if timeout "$LIMIT" "$BRACE" shell --run "$S 1" -- true >/dev/null 2>"$T/err" </dev/null; then
	timeout "$LIMIT" "$BRACE" shell --run "$S 1" -- sh -c '"$0" sql -e "SELECT id, max(id) FROM sys_enter GROUP BY id LIMIT 3" &&
		"$0" sql -e -n span "SELECT s.duration, s.id FROM sys_enter ~~ sys_exit AS s WHERE s.duration > 100" &&
		cd /sys/kernel/tracing && cat synthetic_events events/synthetic/span/filter events/raw_syscalls/sys_enter/trigger' "$BRACE" \
		>"$T/got" 2>"$T/err" </dev/null
	[ $? -eq 0 ] && grep -q '^span	u64 duration; s64 id$' "$T/got" && grep -qx 'duration > 100' "$T/got" && grep -q ':nested:' "$T/got" &&
		grep -q '^hist:keys=id:vals=hitcount,id.max:' "$T/got" && grep -q 'LIMIT and EVERY are only for' "$T/err"
	result "-e writes it to a tree, and says what is not of it" $? "$T/got" "$T/err"
else
	skip "-e" "brace shell cannot work here"
fi
cat >"$T/names.c" <<'END'
static volatile int kept;
__attribute__((noinline)) void named(const char *name) { for (int i = 0; name[i]; i++) kept += name[i]; }
int main(void) { named("x'); DROP TABLE answer; --"); named("\033[2J\"\n"); named("%s%n"); return 0; }
END
if cc -g -O1 -o "$T/names" "$T/names.c" 2>"$T/err"; then
	ask --json 'SELECT name, count(*) FROM named GROUP BY name ORDER BY name' -- "$T/names"
	[ $? -eq 0 ] && [ "$(grep -c '"count(\*)":1' "$T/answer")" -eq 3 ] && grep -qF "x'); DROP TABLE answer; --" "$T/answer"
	result "what a program chose is no SQL" $? "$T/answer" "$T/err"
else
	skip "what a program chose is no SQL" "there is no compiler"
fi

# --- what cannot be
refused() { # NAME SENTENCE COLUMN STATEMENT [OPTION]...
	local name=$1 sentence=$2 column=$3 statement=$4
	shift 4
	"$BRACE" sql "$@" "$statement" -- "$S" 1 >"$T/out" 2>"$T/err" </dev/null
	[ $? -eq 125 ] && [ ! -s "$T/out" ] && grep -qF -- "$sentence" "$T/err" &&
		[ "$(awk '/^ *\^$/ { print index($0, "^") - 3 }' "$T/err")" = "$column" ]
	result "refused: $name" $? "$T/err"
}
refused "a function that is none" 'there are count, sum, min' 7 'SELECT median(id) FROM sys_enter'
refused "a field of many values" 'neither in GROUP BY nor in a function' 7 'SELECT id, count(*) FROM sys_enter GROUP BY common_pid'
refused "a text's sum" 'has no sum' 11 'SELECT sum(COMM) FROM sys_enter'
refused "ORDER BY of records" 'as they are made' 85 'SELECT a.id FROM sys_enter a JOIN sys_exit b ON a.common_pid = b.common_pid ORDER BY a.id'
refused "a call's result in ON" 'known too late' 56 'SELECT f.n FROM sys_enter a JOIN calls.fall f ON a.id = f.retval'
refused "no such function to call" 'neither an event nor a function' 22 'SELECT f.n FROM calls.nothing f'
refused "too many operators" 'at most 3 operators' 7 'SELECT id + 1 + 2 + 3 + 4 FROM sys_enter'
refused "a time that is none" 'a time (1s, 500ms)' 43 'SELECT id FROM sys_enter GROUP BY id EVERY fast'
refused "an event with itself" 'meets itself' 38 'SELECT count(*) FROM sys_enter a JOIN sys_enter b ON a.id = b.id'
refused "a value without a name" 'needs a name' 7 'SELECT f.n + 1 FROM calls.fall f'
refused "a depth" 'without a depth' 37 'SELECT f.n FROM calls.inner f WITHIN outer:3'
refused "WITHIN across threads" 'is open on a thread' 92 'SELECT count(*) FROM sys_enter_read a JOIN sys_exit_read b ON a.__syscall_nr = b.ret WITHIN outer'
refused "options of sqlhist" 'are for sqlhist' '' 'SELECT f.n FROM calls.fall f' -m n
refused "GROUP without BY" 'where BY is expected' 31 'SELECT id FROM sys_enter GROUP id'
refused "a call in GROUP BY" 'makes no group' 7 'SELECT count(*) AS n FROM sys_enter GROUP BY n'
finish
