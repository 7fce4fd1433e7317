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
