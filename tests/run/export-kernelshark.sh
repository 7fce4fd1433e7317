#!/bin/bash
# `brace export --to trace.dat` and trace.dat.v7 in KernelShark: the rows that its library gives are `brace report`'s calls and
# the trace's events, and its window opens the file, under Xvfb.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
need kernelshark

# rows.py FILE: each row's event and text, as KernelShark shows them.
cat >"$T/rows.py" <<'P'
import ctypes, ctypes.util, sys
shark = ctypes.CDLL("libkshark.so.2")
shark.kshark_dump_entry.restype = ctypes.c_void_p
shark.kshark_load_entries.restype = ctypes.c_ssize_t
context, rows = ctypes.c_void_p(), ctypes.POINTER(ctypes.c_void_p)()
assert shark.kshark_instance(ctypes.byref(context))
stream = shark.kshark_open(context, sys.argv[1].encode())
assert stream >= 0, f"kshark_open says {stream}"
n = shark.kshark_load_entries(context, stream, ctypes.byref(rows))
assert n > 0, f"kshark_load_entries says {n}"
for i in range(n):
    # stream; time; task; CPU; latency; event; text; mask
    fields = ctypes.string_at(shark.kshark_dump_entry(ctypes.c_void_p(rows[i]))).decode().split("; ", 6)
    print(fields[2], fields[5], fields[6].rpartition(";")[0], sep="\t")
P
# calls.py ROWS REPORT: entries by function, and as many exits.
cat >"$T/calls.py" <<'P'
import collections, json, re, sys
entries, exits = collections.Counter(), 0
for line in open(sys.argv[1]):
    task, event, text = line.rstrip("\n").split("\t")
    if event == "ftrace/funcgraph_entry":
        entries[re.fullmatch(r".*?\| +(.*)\(\)(;| \{)", text).group(1)] += 1
    exits += event == "ftrace/funcgraph_exit"
calls = collections.Counter()
for row in [json.loads(line) for line in open(sys.argv[2])][1:]:
    if row["module"] or ":" not in row["name"]:
        calls[row["name"].replace(" ", "_")] += row["calls"]
assert entries == calls and exits == sum(calls.values()) > 0, (entries - calls, calls - entries, exits)
P

record() { # NAME ARGUMENT...: and its report
	timeout -k 5 "$LIMIT" "$BRACE" record -q --mode block -o "$T/$1" "${@:2}" >"$T/out" 2>"$T/err" </dev/null
	"$BRACE" report --json "$T/$1" >"$T/$1.report" 2>>"$T/err"
}
record threads -- "$FIXTURES/threads"
record events -t function_graph -e 'truth:*' -- "$FIXTURES/events"
for format in trace.dat trace.dat.v7; do
	for name in threads events; do
		# KernelShark opens no file of another name.
		file=$T/$name-${format##*.}.dat
		"$BRACE" export --to $format "$T/$name" -o "$file" 2>"$T/err"
		/usr/bin/python3 "$T/rows.py" "$file" >"$T/rows" 2>>"$T/err" && /usr/bin/python3 "$T/calls.py" "$T/rows" "$T/$name.report" 2>>"$T/err"
		result "$name as $format: KernelShark's rows are the calls of report" $? "$T/err"
	done
	grep -cP '\ttruth/' "$T/rows" >"$T/shown"
	"$BRACE" query --csv "$T/events" "SELECT count(*) FROM ftrace_event WHERE system = 'truth'" 2>"$T/err" | tail -n 1 | cmp -s - "$T/shown" &&
		! grep -qx 0 "$T/shown"
	result "events as $format: it has each event" $? "$T/shown"
done

# --- its window: titled after the file when it has loaded it. As root it warns first, and a key goes on.
if ! command -v Xvfb >"$T/log" || ! command -v xdotool >"$T/log"; then
	skip "KernelShark's window" "Xvfb or xdotool is not installed"
	finish
fi
export XDG_RUNTIME_DIR=$T XDG_CACHE_HOME=$T/cache XDG_CONFIG_HOME=$T/config HOME=$T
# It chooses a free display, and tells its number.
Xvfb -displayfd 3 -screen 0 1400x900x24 3>"$T/display" >"$T/xvfb" 2>&1 &
XVFB=$!
ON_EXIT+=("kill $XVFB")
until_is test -s "$T/display"
export DISPLAY=:$(cat "$T/display")
for format in dat v7; do
	timeout -k 5 "$LIMIT" kernelshark "$T/threads-$format.dat" >"$T/log" 2>&1 </dev/null &
	SHARK=$!
	opened() {
		xdotool search --name '^kernelshark$' >"$T/out" 2>"$T/err" && xdotool key Return
		xdotool search --name "Kernel Shark \(.*threads-$format.dat\)" >"$T/out" 2>"$T/err"
	}
	until_is opened
	result "threads-$format.dat: KernelShark's window shows it" $? "$T/log"
	kill $SHARK
	wait $SHARK
done
finish
