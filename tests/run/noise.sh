#!/bin/bash
# brace noise: figures of a thread lie between what the program reads of itself and what this script reads before and after; the
# time in a function against the CPU time of a process on the same CPU; a program that brace starts; the text; what is not known.
. "$(dirname "$0")/lib.sh"
need /usr/bin/python3
[ -r /proc/self/schedstat ] || { printf '1..0 # SKIP the kernel has no schedstat\n'; exit 0; }

# account PID: run delay, involuntary and voluntary switches, faults, as JSON
account() {
	/usr/bin/python3 - "$1" <<'P'
import json, sys
task = f"/proc/{sys.argv[1]}/task/{sys.argv[1]}/"
status = dict(line.split(":\t", 1) for line in open(task + "status").read().splitlines())
print(json.dumps({"delay": int(open(task + "schedstat").read().split()[1]),
                  "involuntary": int(status["nonvoluntary_ctxt_switches"]), "voluntary": int(status["voluntary_ctxt_switches"]),
                  "faults": int(open(task + "stat").read().rsplit(")", 1)[1].split()[7])}))
P
}

mkfifo "$T/go"
"$FIXTURES/disturbed" <"$T/go" >"$T/own" &
PROGRAM=$!
exec 8>"$T/go"
until_is grep -q ready "$T/own"
account $PROGRAM >"$T/before"
"$BRACE" noise -v --json -l burn -l touch -l rest -o "$T/rows" -p $PROGRAM >"$T/out" 2>"$T/err" &
BRACE_PID=$!
until_is grep -q '^brace: counting from here on' "$T/err"
printf g >&8
until_is grep -q delay "$T/own"
kill -TERM $BRACE_PID # SIGINT is ignored in the background of a script
wait $BRACE_PID
result "a process is looked at until a signal" $? "$T/err"
account $PROGRAM >"$T/after"
printf g >&8
wait $PROGRAM
[ $? -eq 3 ]
result "the process goes on" $?

/usr/bin/python3 - $PROGRAM "$T" >"$T/said" 2>&1 <<'P'
import json, sys
pid, directory = int(sys.argv[1]), sys.argv[2]
def read(name):
    return json.loads(open(f"{directory}/{name}").read().splitlines()[-1])
own, before, after = read("own"), read("before"), read("after")
head, *rows = [json.loads(line) for line in open(directory + "/rows")]
assert head["schema"] == "brace-noise" and head["lost"] == 0, head
assert head["machine"]["interrupts"] > 0, head
threads = {row["tid"]: row for row in rows if "tid" in row}
functions = {row["function"]: row for row in rows if "function" in row}
row = threads[pid]
assert row["comm"] == "disturbed" and row["pid"] == pid and not row["ended"], row
for name, key in ("delay", "run_delay_ns"), ("involuntary", "involuntary"), ("voluntary", "voluntary"), ("faults", "minor_faults"):
    most = after[name] - before[name]
    assert own[name] <= row[key] <= most, (name, own[name], row[key], most)
assert row["minor_faults"] >= 3000 and row["voluntary"] >= 40, row
if head["no_switches"]:
    assert row["preempted_ns"] is None and not functions, rows
    print("skipped:", head["no_switches"])
    sys.exit()
print("by function")
# Whenever the other process ran, this one was off the CPU in burn().
burn, rest = functions["burn"], functions["rest"]
assert own["other"] > 0 and burn["preempted_ns"] >= own["other"] * 0.98, (own, burn)
assert burn["preempted"] > 0 and rest["waited"] >= 40 and rest["waited_ns"] >= 40 * 1000000, functions
assert "touch" not in functions or functions["touch"]["waited"] == 0, functions
for key in "preempted", "preempted_ns", "waited", "waited_ns":
    assert sum(f[key] for f in functions.values()) == sum(t[key] for t in threads.values()), key
assert all(len(threads) < 2 or t["tid"] == pid or t["pid"] != pid for t in threads.values()), threads
P
result "run delay, switches and faults lie between two accounts that are not brace's; what a function lost" $? "$T/said"

printf gg | "$BRACE" noise -o "$T/table" -- "$FIXTURES/disturbed" >"$T/out" 2>"$T/err"
[ "${PIPESTATUS[1]}" -eq 3 ] && grep -q delay "$T/out" &&
	grep -qE '^ +ON CPU  RUN DELAY   INVOLUNT  VOLUNTARY     FAULTS      MAJOR  PREEMPTED     WAITED  THREAD$' "$T/table" &&
	[ "$(grep -cE '  disturbed-[0-9]+$' "$T/table")" -eq 2 ] && grep -q '^# whole machine: [0-9]* interrupts' "$T/table" && ! grep -q FUNCTION "$T/table"
result "a program and its child; the exit status is the program's" $? "$T/table"
"$BRACE" noise -p 999999999 >"$T/out" 2>"$T/err"
[ $? -eq 125 ] && [ ! -s "$T/out" ] && [ "$(grep -c '^brace: ' "$T/err")" -eq 1 ]
result "there is no such process" $? "$T/err"
finish
