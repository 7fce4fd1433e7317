# shellcheck shell=bash
# A part of a finished trace: every choice of calls is recounted from the text of the whole trace
# (excerpt_truth.py), a range that holds everything is the whole trace to the byte, and a choice that
# cannot be meant or leaves nothing says so.
. "$(dirname "$0")/lib.sh"

FULL='-O funcgraph-abstime -O funcgraph-proc'
record --mode block -- "$FIXTURES/parts"
nothing_lost "a program of three threads" 150
# shellcheck disable=SC2086 # words
"$BRACE" replay $FULL "$T/trace" >"$T/full"
read -r FROM TO < <(/usr/bin/python3 "$HERE/excerpt_truth.py" "$T/full" times)

cp "$T/trace" "$T/parted"

# --- each choice, recounted
: >"$T/excerpts"
n=0
while IFS='|' read -r name options; do
	n=$((n + 1))
	# shellcheck disable=SC2086 # words
	eval "\"$BRACE\" replay $FULL $options \"$T/trace\"" >"$T/part.$n" 2>"$T/err" || diag "$T/err"
	echo "$name|$T/part.$n|$options" >>"$T/excerpts"
done <<END
-l|-l fibonacci
-l, twice|-l leaf -l 'fib*'
-n|-n leaf
-l and -n|-l '*step*' -n 'short*'
-g|-g long_step
-g of what calls itself|-g fibonacci
-g with -l of other functions|-g long_step -l leaf
--callers-of|--callers-of short_step
--callers-of, where two lead there|--callers-of leaf -n short_step
--max-graph-depth|--max-graph-depth 2
--max-graph-depth of a graph|-g round_of --max-graph-depth 3 -n fibonacci
--min-duration|--min-duration 2000ns
--min-duration and a graph|--min-duration 300ns -g round_of
--thread by name|--thread odd
--thread by pattern|--thread 'e*' --thread odd
--cpu|--cpu $(sed -nE 's/^[^|]*\| *([0-9]+)\).*fibonacci.*/\1/p' "$T/full" | tail -n 1)
--from|--from $FROM
--to|--to $TO
--from and --to|--from $FROM --to $TO
--from with -l|--from $FROM -l round_of
--from and --to of a thread|--from $FROM --to $TO --thread parts --min-duration 10ns
END
/usr/bin/python3 "$HERE/excerpt_truth.py" "$T/full" <"$T/excerpts" >"$T/recounted"
while read -r line; do
	case $line in
	'ok - '*) ok "${line#ok - }" ;;
	'not ok - '*) not_ok "${line#not ok - }" ;;
	*) echo "$line" ;;
	esac
done <"$T/recounted"
[ "$(grep -c '^ok\|^not ok' "$T/recounted")" -eq "$n" ]
result "all of them were compared" $? "$T/recounted"

# --- calls that are open
"$BRACE" replay --from "$FROM" "$T/trace" >"$T/part"
grep -q '^# [1-9][0-9]* calls\? w[a-z]* open at --from$' "$T/part"
result "calls that are open at --from are told apart" $? "$T/part"

# --- everything is chosen
for program in parts jumps contexts switches threads; do
	record --mode block -- "$FIXTURES/$program"
	for options in '' '-O funcgraph-retaddr -O funcgraph-tail'; do
		# shellcheck disable=SC2086 # words
		cmp <("$BRACE" replay $options "$T/trace") <("$BRACE" replay --from +0 $options "$T/trace") >"$T/differs" 2>&1
		result "$program${options:+, with places}: all of the range is all of the trace" $? "$T/differs"
	done
done
for options in '-t function' '--threshold 100ns' '--args --retval' '-O nosleep-time'; do
	# shellcheck disable=SC2086 # words
	record --mode block $options -- "$FIXTURES/parts"
	cmp <("$BRACE" replay "$T/trace") <("$BRACE" replay --from +0 "$T/trace") >"$T/differs" 2>&1
	result "$options: all of the range is all of the trace" $? "$T/differs"
done

# --- a file of several packets: reading begins at --from, and finds what was open there; of a file that was
# cut it begins with the first record
record --mode block -- /usr/bin/python3 -Sc 'for i in range(40000): str(i).find("7")'
nothing_lost "a trace of several packets" 200000
head -c -1 "$T/trace" >"$T/cut"
for options in "--from 30%" "--from 70%" "--from 99.9%" "--from 45% --min-duration 20us" "--from 60% -O funcgraph-abstime"; do
	eval "\"$BRACE\" replay $options \"$T/trace\"" >"$T/part"
	eval "\"$BRACE\" replay $options \"$T/cut\"" >"$T/all" 2>/dev/null
	# main() may have returned by 99.9% of the time: the process's end takes long on a busy machine.
	{ [ "$options" = "--from 99.9%" ] || grep -q 'open at --from$' "$T/part"; } &&
		[ -s "$T/part" ] && cmp "$T/part" "$T/all" >"$T/differs" 2>&1
	result "replay $options of a whole file is that of one that has to be read from its beginning" $? "$T/differs"
done
cmp <("$BRACE" report --json --from 55% "$T/trace") <("$BRACE" report --json --from 55% "$T/cut" 2>/dev/null) >"$T/differs" 2>&1
result "report --from 55%, too" $? "$T/differs"
cmp <("$BRACE" report --json "$T/trace") <("$BRACE" report --json "$T/cut" 2>/dev/null) >"$T/differs" 2>&1
result "report of a long thread in parts is that of one core" $? "$T/differs"

# --- other tracers' records
record --mode block -t function -- "$FIXTURES/parts"
want=$("$BRACE" replay "$T/trace" | grep -c ': leaf ')
[ "$want" -gt 0 ] && [ "$("$BRACE" replay -l leaf "$T/trace" | grep -vc '^#')" -eq "$want" ]
result "of the tracer function, -l leaves $want lines" $?
record --mode block --threshold 1us -- "$FIXTURES/parts"
want=$("$BRACE" replay "$T/trace" | grep -c ' leaf')
[ "$want" -gt 0 ] && [ "$("$BRACE" replay -l leaf "$T/trace" | grep -c ' leaf')" -eq "$want" ]
result "of long calls alone, -l leaves $want lines" $?

# --- what cannot be meant
refuses() { # NAME PATTERN OPTION...
	local name=$1 pattern=$2
	shift 2
	"$BRACE" replay "$@" >"$T/out" 2>"$T/err"
	[ $? -eq 125 ] && grep -qE "$pattern" "$T/err"
	result "$name" $? "$T/err"
}
refuses "a threshold's trace has no graphs" '^brace: -g needs all calls' -g leaf "$T/trace"
record --mode block -t function -- "$FIXTURES/parts"
refuses "the tracer function has no ends" '^brace: --min-duration needs the ends of calls' --min-duration 1us "$T/trace"
record --mode block -- "$FIXTURES/parts"
# A thread whose calls stay open, without a record in the range: whoever reads thread by thread has
# what the merged threads have.
"$BRACE" record -q --mode block -n pause -o "$T/lingering" -- "$FIXTURES/lingering" 2>"$T/err"
result "a thread that stays in its function" $? "$T/err"
names_of() { # names and calls of JSON rows, sorted
	sed -nE 's/.*"name":"([^"]*)".*"calls":([0-9]+).*/\1 \2/p' | sort
}
shown_in() { # the same of a graph: calls that begin or are open there
	grep -E '\(\)( \{|;)' | sed -E 's/.*\|  *//; s/\(\).*//' | sort | uniq -c | awk '{ print $2, $1 }' | sort
}
for range in "--from 50%" "--from 50% --to 60%" "--from 50% -l wait_*" "--from 99%"; do
	# shellcheck disable=SC2086
	set -f; "$BRACE" report --json $range "$T/lingering" | names_of >"$T/rows" 2>"$T/err"
	# shellcheck disable=SC2086
	"$BRACE" replay -O nofuncgraph-tail $range "$T/lingering" | shown_in >"$T/shown"; set +f
	grep -q '^wait_for_end 1$' "$T/rows" && cmp "$T/rows" "$T/shown" >"$T/err" 2>&1
	result "report $range has the calls that replay shows" $? "$T/err"
done
"$BRACE" report --json --from 50% "$T/lingering" | grep -q '"name":"wait_for_end".*"calls":1,"total_ns":0,'
result "no part of the time of a thread without records in it" $?

# A thread's open calls end at its last record, whatever other threads do meanwhile: formats that add
# calls up have the report's sums.
cat >"$T/sums.py" <<'P'
import json, subprocess, sys
brace, trace, *options = sys.argv[1:]
def lines(*command):
    return subprocess.run([brace, *command, *options, trace], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.splitlines()
rows = [json.loads(line) for line in lines('report', '--json')]
rows = {row['name']: row for row in rows if 'self_ns' in row}
stacks = [line.rsplit(' ', 1) for line in lines('export', '--to', 'folded')]
assert rows and set(rows) >= {stack.split(';')[-1] for stack, _ in stacks}, rows
for name, row in rows.items():
    own = [int(ns) for stack, ns in stacks if stack.split(';')[-1] == name]
    # Each stack's time is cut to nanoseconds.
    assert 0 <= row['self_ns'] - sum(own) <= len(own) + 1, (name, row['self_ns'], own)
profile = [line.split() for line in lines('export', '--to', 'callgrind')]
total = [int(words[1]) for words in profile if words and words[0] in ('totals:', 'summary:')]
calls = sum(int(words[0].split('=')[1]) for words in profile if words and words[0].startswith('calls='))
assert calls == sum(row['calls'] for row in rows.values()), (calls, rows)
assert all(abs(ns - sum(row['self_ns'] for row in rows.values())) <= 2 * len(profile) for ns in total), total
P
for options in '-l wait_*' '--from 50%' '--from 50% --to 60%' '--to 40% -l wait_* -l main'; do
	set -f
	# shellcheck disable=SC2086 # words
	check "export --to folded, callgrind $options: the sums of report" python3 "$T/sums.py" "$BRACE" "$T/lingering" $options
	set +f
done
# Times of calls: threads that end late can make any share of the whole range empty.
"$BRACE" replay -O funcgraph-abstime "$T/trace" | sed -nE 's/^ *([0-9]+\.[0-9]+) \|.* long_step\(\) \{$/\1/p' | sort -n >"$T/steps"
step=$(sed -n 3p "$T/steps")
for options in "--from $step" "--from $step --to $(sed -n 8p "$T/steps")" "--from $step -g long_step --min-duration 200ns"; do
	# shellcheck disable=SC2086 # words
	check "of three threads, $options, too" python3 "$T/sums.py" "$BRACE" "$T/trace" $options
done

# A range counts from the first call, also where something else is written before it.
IFS=, read -r first begin end name < <("$BRACE" query --csv "$T/trace" "SELECT (SELECT min(ts) FROM slice), ts, ts + dur, name
	FROM slice WHERE ended = 'returned' ORDER BY ts LIMIT 1" | tail -n 1)
calls_from() { # TIME: how many calls of that name are in what begins there
	"$BRACE" replay --from "+$(($1 - first))ns" "$T/trace" | grep -cF " $name()"
}
check_that "$name, $((begin - first)) ns behind the first call, is in what begins there" \
	test "$(calls_from $((begin - 2)))" -gt "$(calls_from $((end + 2)))"
# An end counts from the first call, too. What is chosen before it are the calls that the whole trace has until then: none of its first
# calls is missing, whatever was stamped before them. Ends lie in the middle of gaps between calls, so that no call is near one.
reported() { # WHEN: the calls in the report until then
	"$BRACE" report --json --to "$1" "$T/trace" | sed -nE 's/.*"calls":([0-9]+).*/\1/p' | awk '{ n += $1 } END { print n + 0 }'
}
check_to() { # NS CALLS
	local to=+$1ns n=$2
	check_that "--to $to: the first $n calls by report" test "$(reported "$to")" = "$n"
	check_that "... by csv" test "$("$BRACE" export --to csv --to "$to" "$T/trace" 2>"$T/err" | tail -n +2 | wc -l)" = "$n"
	check_that "... by folded" test "$("$BRACE" export --to folded --weight calls --to "$to" "$T/trace" 2>"$T/err" | awk '{ n += $NF } END { print n }')" = "$n"
	check_that "... by replay" test "$("$BRACE" replay --to "$to" "$T/trace" | grep -cE '^[^#]*[|] .*\(\)( \{|;)$')" = "$n"
}
"$BRACE" query --csv "$T/trace" "SELECT (ts + next) / 2 - first, n FROM (SELECT ts, lead(ts) OVER (ORDER BY ts) AS next,
	count(*) OVER (ORDER BY ts) AS n, min(ts) OVER () AS first FROM slice) WHERE next - ts > 20 ORDER BY ts LIMIT 40" >"$T/gaps"
check_that "gaps between calls are there" test "$(wc -l <"$T/gaps")" -ge 20
while IFS=, read -r to n; do check_to "$to" "$n"; done < <(sed -n '2p;5p;20p' "$T/gaps")
check_that "--to +0 has the first call" test "$(reported +0)" -ge 1
# Whose first call is not the thread's first record: the range begins with the call all the same.
"$BRACE" record -q --mode block -l leaf -o "$T/late" -- "$FIXTURES/parts" >/dev/null 2>"$T/err"
first=$("$BRACE" replay -O funcgraph-abstime "$T/late" | sed -nE 's/^ *([0-9]+\.[0-9]+) \|.*/\1/p' | sort -n | head -n 1)
! "$BRACE" replay --from +1h "$T/late" >"$T/out" 2>"$T/err" && [ -n "$first" ] && grep -q "it lasts from $first to" "$T/err"
result "a trace begins with its first call, at $first" $? "$T/err"
refuses "a function that is not there" 'matches -l; fibonacci is near' -l fibonaci "$T/trace"
refuses "a thread that is not there" 'this name or number; .*odd-' --thread add "$T/trace"
refuses "a time that is none" '^  5x$' --from 5x "$T/trace"
refuses "a time behind the trace" 'it lasts from [0-9.]+ to [0-9.]+' --from +1h "$T/trace"
refuses "a range that ends before it begins" '^brace: --to is before --from' --from 50% --to 40% "$T/trace"
refuses "more than all of it" 'a percentage is a number from 0 to 100' --to 120% "$T/trace"
refuses "a CPU that is none" 'CPUs are numbers' --cpu x "$T/trace"
refuses "a condition" 'condition' -l 'leaf if n > 1' "$T/trace"
refuses "nothing lasts so long" 'nothing of the trace is chosen: .* shorter than --min-duration' --min-duration 1h "$T/trace"
# Of a range, what lies in it is counted and nothing else, however much of the file was read for it.
want=$("$BRACE" replay -O nofuncgraph-tail --from "$FROM" --to "$TO" "$T/parted" | shown_in | awk '{ n += $2 } END { print n }')
refuses "nothing of a range lasts so long" "calls and records from $FROM to $TO there are $want shorter than" --from "$FROM" --to "$TO" --min-duration 1h "$T/parted"
IFS=, read -r begin end < <("$BRACE" query --csv "$T/late" "SELECT e + 400, next - 400 FROM (SELECT max(ts + dur) OVER (ORDER BY ts) - min(ts) OVER () AS e,
	lead(ts) OVER (ORDER BY ts) - min(ts) OVER () AS next FROM slice) WHERE next - e > 2000 LIMIT 1" | tail -n 1)
refuses "nothing is between two calls" 'chosen: it has no call or record from [0-9.]+ to [0-9.]+$' --from "+${begin}ns" --to "+${end}ns" "$T/late"
refuses "... of a thread" 'chosen: the chosen threads have no call or record from' --from "+${begin}ns" --to "+${end}ns" --thread odd "$T/late"
refuses "nothing is both" 'nothing of the trace is chosen: .* in no call of -g' -l main -g leaf "$T/trace"
finish
