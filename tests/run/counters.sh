#!/bin/bash
# brace report --counters: CPU time, switches and page faults of functions, as the kernel itself
# counted them around the same calls (CLOCK_THREAD_CPUTIME_ID, getrusage).
. "$(dirname "$0")/lib.sh"
need python3
"$BRACE" list --events >"$T/events"
grep -qx exceptions:page_fault_user "$T/events" || {
	printf '1..0 # SKIP the kernel has no perf events for this user\n'
	exit 0
}
cd "$T" || exit 1

cat >compare.py <<'PY'
import json, sys
rows = {}
for line in open(sys.argv[2]):
    row = json.loads(line)
    if row.get("module") == "counted":
        rows[row["name"]] = row
bad, truth = [], {}
for line in open(sys.argv[1]):
    name, *figures = line.split()
    truth[name] = [int(f) for f in figures]
for name, (cpu, elapsed, faults, left, preempted) in truth.items():
    row = rows[name]
    print(name, truth[name], row)
    # Between the two measures and the call there are a few calls of clocks, which may be preempted.
    if abs(row["cpu_ns"] - cpu) > 1000000 + cpu // 20:
        bad.append(f"{name}: CPU time {row['cpu_ns']}, the kernel says {cpu}")
    if not 0 <= row["asleep_ns"] <= max(0, elapsed - cpu) + 1000000:
        bad.append(f"{name}: asleep {row['asleep_ns']} of {elapsed}")
    if abs(row["switches"] - left - preempted) > 5:
        bad.append(f"{name}: {row['switches']} switches, the kernel says {left} and {preempted}")
    if row["faults"] > faults + 5:
        bad.append(f"{name}: {row['faults']} faults, the kernel says {faults}")
if rows["touches"]["faults"] < 495:
    bad.append(f"touches: {rows['touches']['faults']} faults of 500 pages")
if rows["sleeps"]["asleep_ns"] < 20 * 1900000:
    bad.append("sleeps: too short")
if rows["all"]["faults"] < sum(rows[n]["faults"] for n in truth) or len(truth) != 3:
    bad.append("a caller has less than what it calls")
print("\n".join(bad))
sys.exit(bool(bad))
PY

"$BRACE" record --counters -o t.brace -- "$FIXTURES/counted" >truth 2>err && grep -q 'no records lost' err
result "a trace with counters" $? err
"$BRACE" report --counters --json t.brace >rows 2>err
check "CPU time, sleep, switches and faults are the kernel's" python3 compare.py truth rows
"$BRACE" report --counters -s faults t.brace >table 2>err
head -n 1 table | grep -q 'CPU *ASLEEP *SWITCHES *FAULTS  FUNCTION$' &&
	grep '\[counted\]' table | head -n 4 | grep -q ' touches '
result "sorted by faults" $? table
"$BRACE" report --counters -s cpu -l works -l sleeps t.brace >table 2>err &&
	[ "$(sed -n '2s/.*  //p' table)" = 'works [counted]' ]
result "of a part, sorted by CPU time" $? table
"$BRACE" report t.brace | head -n 1 | grep -q 'MAX  FUNCTION$'
result "no column more without the option" $?

cat >drawn.py <<'PY'
"""drawn.py TESTS PERFETTO: the last number of each thread's counters, "tid name number", by Perfetto's wire format."""
import sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
from wire import fields
tracks, last = {}, {}
for _, packet in fields(open(sys.argv[2], "rb").read()):
    p = dict(fields(packet))
    track, event = dict(fields(p.get(60, b""))), dict(fields(p.get(11, b"")))
    if track:
        tracks[track[1]] = track
    if event.get(9) == 4:
        track = tracks[event[11]]
        tid = dict(fields(tracks[track[5]][4]))[2]
        key = tid, track[2].decode()
        assert event[30] == last.get(key, 0) + 1, (key, event, last)
        last[key] = event[30]
print("\n".join(sorted(f"{tid} {name} {n}" for (tid, name), n in last.items())))
PY
"$BRACE" export --to perfetto t.brace -o t.perfetto 2>err && python3 drawn.py "$HERE" t.perfetto >drawn 2>>err
result "Perfetto's counters" $? err
"$BRACE" query --csv t.brace "SELECT th.tid || ' ' || t.name || ' ' || CAST(max(c.value) AS INTEGER) AS row FROM thread_counter_track t
	JOIN counter c ON c.track_id = t.id JOIN thread th USING (utid) GROUP BY t.id" 2>err | tail -n +2 | LC_ALL=C sort >counted
check "are those of brace query, thread by thread" sh -c 'grep -q page_faults drawn && grep -q context_switches drawn && diff drawn counted'
if command -v protoc >err; then
	protoc --decode=Trace --proto_path="$HERE" perfetto.proto <t.perfetto >decoded 2>err
	result "protoc decodes them" $? err
	check "as numbers so far" sh -c '[ "$(grep -c "counter_value: " decoded)" = "$(awk "{ n += \$3 } END { print n }" drawn)" ]'
fi

refuses() { # NAME WORDS ARGUMENT...
	local name=$1 words=$2
	shift 2
	"$BRACE" "$@" >out 2>err </dev/null
	[ $? -eq 125 ] && grep -q -- "$words" err && [ ! -s out ]
	result "$name" $? err
}
"$BRACE" record -q -o none.brace -- true
refuses "a trace without them" 'brace record --counters' report --counters none.brace
refuses "rows of threads" 'rows of functions' report --counters --by thread t.brace
refuses "a tree" 'rows of functions' report --counters --tree t.brace
refuses "a column of theirs without them" 'no column faults' report -s faults t.brace

# An ordinary user, who has no tracefs.
if [ "$(id -u)" -eq 0 ] && id nobody >/dev/null 2>&1 && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ]; then
	mkdir -m 777 user
	chmod 755 "$T"
	if setpriv --reuid nobody --clear-groups test -x "$BRACE"; then
		setpriv --reuid nobody --clear-groups env HOME="$T/user" XDG_RUNTIME_DIR= "$BRACE" record --counters -o user/t.brace -- \
			"$FIXTURES/counted" >truth 2>err
		"$BRACE" report --counters --json user/t.brace >rows 2>>err
		check "the same for an ordinary user" python3 compare.py truth rows
	fi
fi
finish
