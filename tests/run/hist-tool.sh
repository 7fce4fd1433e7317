#!/bin/bash
# brace hist: counts in one line. The program (tests/targets/sizes.c) tells how often it called its function with which sizes, in
# three threads and a forked process; a recount of recorded events and strace tell the same.
. "$(dirname "$0")/lib.sh"
ANSWERS=kin
. "$(dirname "$0")/answers-lib.sh"
P=$FIXTURES/sizes
N=3000

# hist OPTIONS...: its answer in $T/answer, the program's own output in $T/out.
hist() {
	timeout -k 5 "$LIMIT" "$BRACE" hist -o "$T/answer" "$@" >"$T/out" 2>"$T/err" </dev/null
}
# powers: "POWER N" of each row of $T/answer, JSON, of ranges that end with a power of two.
powers() {
	/usr/bin/python3 -c '
import json, sys
for line in open(sys.argv[1]):
    row = json.loads(line)
    for key, value in row.items():
        if isinstance(value, dict) and "to" in value:
            print(value["to"].bit_length() - 1, row["hitcount"])' "$T/answer"
}
# number NAME: a figure of the last line of $T/answer.
number() { /usr/bin/python3 -c 'import json, sys; print(json.loads(open(sys.argv[1]).readlines()[-1])[sys.argv[2]])' "$T/answer" "$1"; }
# refused NAME WORD OPTIONS...: with status 125, a sentence with the word, and the program does not run.
refused() {
	local name=$1 word=$2 status
	shift 2
	rm -f "$T/answer"
	hist "$@"
	status=$?
	[ $status -eq 125 ] && grep -qF -- "$word" "$T/err" && [ ! -s "$T/out" ]
	result "$name" $? "$T/err"
}

"$P" $N >"$T/plain"
sed -n 's/^\([0-9]* [0-9]*\)$/\1/p' "$T/plain" >"$T/wanted"
calls=$(sed -n 's/^calls //p' "$T/plain")
opens=$(sed -n 's/^opens //p' "$T/plain")

# --- a function's parameter, over threads and processes
hist --mode block --json 'take size.log2' -- "$P" $N
[ $? -eq 5 ] && cmp -s "$T/out" "$T/plain"
result "the program does what it does, and its status is passed on" $? "$T/err"
powers >"$T/got"
[ -s "$T/wanted" ] && cmp -s "$T/got" "$T/wanted"
result "each size as often as the program says" $? "$T/got"
[ "$(number hits)" -eq "$calls" ] && [ "$(number dropped)" -eq 0 ]
result "$calls hits, none dropped" $? "$T/answer"
hist --json 'take size.log2' -- "$P" 100000
[ $(($(number hits) + $(number dropped))) -eq 400000 ]
status=$?
result "in a storm hits and drops are all calls ($(number hits), $(number dropped))" "$status" "$T/answer"

# --- eight threads on one key (tests/targets/storm.c)
hist --mode block --json 'step common_type vals=n.max' -- "$FIXTURES/storm" 2000
[ "$(number hits)" -eq 16000 ] && [ "$(number dropped)" -eq 0 ] && [ "$(number entries)" -eq 1 ] && [ "$(grep -c '"hitcount":16000\b' "$T/answer")" -eq 1 ]
result "eight threads on one key: all hits" $? "$T/answer" "$T/err"
ACCOUNT=$T/account "$BRACE" record -q --mode block -o "$T/eight" -e 'p:step step' -- "$FIXTURES/storm" 2000 >/dev/null 2>"$T/err"
[ "$("$BRACE" query --csv "$T/eight" "SELECT count(*), count(DISTINCT utid) FROM ftrace_event WHERE name = 'step'" 2>>"$T/err" | tail -n 1)" = 16000,8 ]
result "as many as their records" $? "$T/err"

# --- the same numbers from records
"$BRACE" record -q --mode block -o "$T/trace" -e 'p:take take size=$arg1:u64' -- "$P" $N >/dev/null 2>"$T/err"
"$BRACE" query --csv "$T/trace" "SELECT a.int_value FROM ftrace_event e JOIN args a USING (arg_set_id) WHERE e.name = 'take' AND a.key = 'size'" 2>"$T/err" |
	/usr/bin/python3 -c '
import collections, sys
n = collections.Counter((int(line) - 1).bit_length() for line in list(sys.stdin)[1:])
for power in sorted(n):
    print(power, n[power])' >"$T/recount"
[ -s "$T/recount" ] && cmp -s "$T/recount" "$T/wanted"
result "as many as a recount of the records" $? "$T/recount"

# --- percentiles, against those of the records' sorted values
"$BRACE" query --csv "$T/trace" "SELECT a.int_value FROM ftrace_event e JOIN args a USING (arg_set_id) WHERE e.name = 'take' AND a.key = 'size'" 2>"$T/err" |
	sed 1d | sort -n >"$T/sizes"
hist --mode block --json 'take common_cpu*0 vals=size.p50,size.p90,size.p99,size.min,size.max' -- "$P" $N
/usr/bin/python3 - "$T/answer" "$T/sizes" >"$T/got" <<'END'
import json, sys
row = json.loads(open(sys.argv[1]).readlines()[1])
sizes = [int(line) for line in open(sys.argv[2])]
exact = {"size.p%d" % p: sizes[-(-len(sizes) * p // 100) - 1] for p in (50, 90, 99)}
print(row, exact)
sys.exit(row["hitcount"] != len(sizes) or row["size.min"] != sizes[0] or row["size.max"] != sizes[-1] or
         any(abs(row[name] - value) > value / 128 for name, value in exact.items()))
END
result "percentiles within 1/128 of the records'" $? "$T/got"

# --- other keys
hist --mode block 'take name if size > 2000' -- "$P" $N
few=$(sed -n 's/^{ name: few  *} hitcount: *//p' "$T/answer") most=$(sed -n 's/^{ name: most  *} hitcount: *//p' "$T/answer")
want=$(awk -v n=$N 'BEGIN { for (i = 0; i < n; i++) if (i * 37 % 4000 + 1 > 2000) i % 4 ? m++ : f++; print 4 * f, 4 * m }')
[ "$few $most" = "$want" ] && [ "$(grep -c '^{' "$T/answer")" -eq 2 ] && grep '^{' "$T/answer" | head -n 1 | grep -q most
result "strings, with a filter, the most frequent first ($few $most)" $? "$T/answer"
hist --mode block 'take stacktrace' 'take $arg1 vals=arg1 sort=arg1 size=8192' -- "$P" $N
[ "$(grep -c '^# event histogram' "$T/answer")" -eq 2 ] && [ "$(grep -c "^    Hits: $calls\$" "$T/answer")" -eq 2 ] &&
	grep -q '^{ arg1: *1 } hitcount: *4  arg1: *4$' "$T/answer"
result "an argument by its number, sums; two questions at once" $? "$T/answer"
hist --mode block 'rest $retval.buckets=1000' -- "$P" $N
[ "$(sed -n 's/^{ retval: ~ \([0-9]*-[0-9]*\) } hitcount: *\([0-9]*\) .*/\1 \2/p' "$T/answer" | tr '\n' ' ')" = "0-999 $calls " ]
result "what a function returns" $? "$T/answer" "$T/err"
hist --mode block 'take' -- "$P" $N
[ "$(grep -c "^{ common_pid: sizes .*\] } hitcount: *$N\$" "$T/answer")" -eq 4 ]
result "without a key: by thread" $? "$T/answer"

# --- events
hist --mode block 'sys_enter_openat filename if filename ~ "*sizes"' -- "$P" 1
[ "$(sed -n "s|^{ __filename_val: $P  *} hitcount: *||p" "$T/answer")" = "$opens" ]
result "a system call's string: $opens" $? "$T/answer"
command -v strace >/dev/null && strace -f -e trace=openat -o "$T/strace" "$P" 1 >/dev/null 2>&1
if grep -q openat "$T/strace" 2>/dev/null; then
	[ "$(grep -c "openat(.*\"$P\"" "$T/strace")" -eq "$opens" ]
	result "as strace counts it" $? "$T/strace"
else
	skip "as strace counts it" "strace cannot trace here"
fi

# --- durations
hist --mode block --json -d 'take' -- "$P" $N
/usr/bin/python3 - "$T/answer" "$calls" <<'END' >"$T/got"
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
take = [r for r in rows if r.get('function') == 'take']
well = len(take) == 1 and take[0]['calls'] == int(sys.argv[2]) == sum(p['calls'] for p in take[0]['powers'])
well = well and take[0]['min_ns'] <= take[0]['p50_ns'] <= take[0]['p90_ns'] <= take[0]['p99_ns'] <= take[0]['max_ns'] <= take[0]['total_ns']
well = well and take[0]['powers'][0]['from_ns'] <= take[0]['min_ns'] <= take[0]['powers'][0]['to_ns']
well = well and take[0]['powers'][-1]['from_ns'] <= take[0]['max_ns'] <= take[0]['powers'][-1]['to_ns']
print(take, rows[-1])
sys.exit(not well or rows[-1]['lost'] != 0)
END
result "-d: each call is in one power of two" $? "$T/got"
hist --mode block -d 'pthread_*' -- "$P" 1
grep -q '^pthread_create \[.*\]: 3 calls, total ' "$T/answer" && grep -q '^pthread_join \[.*\]: 3 calls' "$T/answer" && grep -q -- ' -> .*: [0-9]* *|\*' "$T/answer"
result "-d: each function of a library by itself" $? "$T/answer"
hist -d pthread_cancel -- "$P" 1
[ "$(cat "$T/answer")" = "no calls" ]
result "-d: a function that is not called" $? "$T/answer" "$T/err"

rm -f "$T/enough" "$T/answer"
timeout "$LIMIT" "$BRACE" hist --mode block -d getppid --top -o "$T/answer" -- /usr/bin/python3 -c '
import os, sys, time
n = 0
while not os.path.exists(sys.argv[1]):
    os.getppid()
    n += 1
    time.sleep(0.005)
print(n)' "$T/enough" >"$T/out" 2>"$T/err" &
brace=$!
twice() { [ "$(grep -s '^getppid \[' "$T/answer" | wc -l)" -ge 2 ]; }
until_is twice
touch "$T/enough"
wait $brace
[ $? -eq 0 ] && [ "$(grep '^getppid \[' "$T/answer" | tail -n 1 | sed 's/.*: \([0-9]*\) calls.*/\1/')" = "$(cat "$T/out")" ]
result "-d --top prints again and again, and all calls at the end" $? "$T/answer" "$T/err"

# --- attached, and growing
start_program
[ "${SAID%% *}" = ready ] || not_ok "the program runs"
"$BRACE" hist --mode block --top -o "$T/answer" -p "$PID" 'kin:met common_pid' >"$T/out" 2>"$T/err" &
brace=$!
until_is grep -q '^# event histogram' "$T/answer"
result "--top prints again and again" $? "$T/err"
tell t700
tr ' ' '\n' <<<"$SAID" | sed -n 's/^\([0-9]*\)=\([0-9]*\)$/\1 \2/p' | sort >"$T/wanted"
tail_rows() { awk '/^# event histogram/ { n = 0 } /^\{/ { row[n++] = $3 " " $6 } END { for (i = 0; i < n; i++) print row[i] }' "$T/answer" | sort >"$T/got"; }
grown() { tail_rows; cmp -s "$T/got" "$T/wanted" && [ -s "$T/got" ]; }
until_is grown
result "an attached program's rows, while it runs" $? "$T/got"
end_program
wait $brace
[ $? -eq 0 ] && grown
result "and at the end" $? "$T/got" "$T/err"
[ "$STATUS" -eq 0 ]
result "the program ended as it would have" $?

# --- what cannot be
refused "no such function" 'neither an event nor a function' 'takes size' -- "$P" 1
refused "no such field" "Couldn't find field" 'take siez' -- "$P" 1
refused "no question" 'count what?' -- "$P" 1
refused "nothing asked" 'an event or a function stands first' ' ' -- "$P" 1
refused "a filter that is not there" 'behind if stands a filter' 'take size if ' -- "$P" 1
refused "no program" 'behind --' 'take size'
refused "no program behind --" 'no program stands behind --' 'take size' --
refused "both" 'not both' -p $$ 'take size' -- "$P" 1
refused "-d and a question" 'no other question' -d take 'take size' -- "$P" 1
finish
