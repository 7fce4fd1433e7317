# shellcheck shell=bash
# brace top: what it counts is what brace report counts; the screen in a terminal (tmux): its keys, sizes
# and kinds of terminals, and how it is left: by a key, a signal, the program's end, a terminal that goes.
LIMIT=${LIMIT:-60}
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tmux-lib.sh"
B=$BRACE

# --- for pipes
record --mode block -- "$FIXTURES/parts"
"$B" report --json "$T/trace" >"$T/report"
top_json() { timeout -k 5 "$LIMIT" "$B" top --json --mode block -d 100ms -o "$T/$1" "${@:2}" >"$T/out" 2>"$T/err" </dev/null; }
top_json functions -- "$FIXTURES/parts"
top_json modules --by module -- "$FIXTURES/parts"
top_json all --all -- "$FIXTURES/parts"
/usr/bin/python3 - "$T/report" "$T/functions" "$T/modules" "$T/all" <<'P' >"$T/err" 2>&1
import collections, json, sys
def lines(path):
    return [json.loads(line) for line in open(path)]
report = {row['name']: row['calls'] for row in lines(sys.argv[1])[1:] if row.get('calls')}
turns, modules, whole = map(lines, sys.argv[2:])
calls, ended = collections.Counter(), collections.Counter()
for turn in turns:
    assert turn['schema'] == 'brace-top' and not turn['lost'], turn
    # 5 to 200 ns a call, whatever the machine
    assert 5 * turn['calls'] <= turn['calls_cost_ns'] <= 200 * turn['calls'], turn
    shares = sum(row['self_percent'] for row in turn['rows'])
    assert not turn['rows'] or not any(row['self_ns'] for row in turn['rows']) or 99 < shares < 100.01, shares
    for row in turn['rows']:
        calls[row['name']] += row['calls']
        ended[row['name']] += row['ended']
        assert row['self_ns'] <= row['total_ns'] <= turn['span_ns'] * 8, row
        assert row['mean_ns'] <= row['max_ns'] and row['p99_ns'] <= row['max_ns'], row
for name in ('leaf', 'fibonacci', 'short_step', 'long_step', 'round_of', 'rounds', 'main'):
    assert calls[name] == report[name] > 0, (name, calls[name], report[name])
    assert name == 'main' or ended[name] == calls[name], name
assert [turn['over'] for turn in turns] == [False] * (len(turns) - 1) + [True]
last = {row['name']: row for row in whole[-1]['rows']}
assert {name: row['calls'] for name, row in last.items() if row['calls']} == {n: c for n, c in report.items() if n in last}
assert last['fibonacci']['total_ns'] >= last['fibonacci']['self_ns'] > 0
assert sum(row['calls'] for turn in modules for row in turn['rows'] if row['name'] == 'parts') == \
    sum(row['calls'] for row in lines(sys.argv[1])[1:] if row.get('module') == 'parts')
P
result "calls of all turns are those of brace report, by function and by module" $? "$T/err"
"$B" top --batch -s calls --limit 2 -- "$FIXTURES/ticking" 1000 >"$T/out" 2>"$T/err" </dev/null
[ $? -eq 3 ] && [ ! -s "$T/err" ] && grep -qE '^ +CALLS/S +SELF% +TOTAL% +MEAN +P99 +MAX  FUNCTION$' "$T/out" &&
	grep -q '^1000 steps$' "$T/out" && grep -qE ' leaf \[ticking\]$' "$T/out"
result "--batch; the exit status is the program's" $? "$T/out"
says() { # NAME WORD OPTION...
	timeout "$LIMIT" "$B" top "${@:3}" "$FIXTURES/ticking" 1 >"$T/out" 2>"$T/err" </dev/null
	[ $? -eq 125 ] && grep -q "^brace: .*$2" "$T/err" && [ ! -s "$T/out" ]
	result "$1" $? "$T/err"
}
says "no such rows" 'there are function, thread, module' --by line
says "no such column" 'there are calls, self' -s min
says "too short a turn" '100ms at least' -d 1ms
says "nothing to see" 'overwrite' --mode overwrite

# --- a screen over a process
mkfifo "$T/hold"
begin_ticking() { # a process that goes on until $HOLD is closed
	"$FIXTURES/ticking" <"$T/hold" >"$T/ticks" &
	PID=$!
	exec {HOLD}>"$T/hold"
}
end_ticking() { # NAME: it is as it was
	exec {HOLD}>&-
	wait "$PID"
	[ $? -eq 3 ] && grep -qE '^[0-9]+ steps$' "$T/ticks"
	result "$1" $? "$T/ticks"
}
run_top() {
	type_line clear
	until_is lacks 'left|status|FUNCTION'
	# le''ft: where the typed line wraps, it must not look like what it prints.
	type_line "stty -g >'$T/before'; '$B' top $*; echo status=\$?; stty -g >'$T/after'; echo le''ft"
}
is_left() { # NAME [STATUS]
	shows '^left'
	grep -q "^status=${2:-0}\$" "$T/screen" && cmp -s "$T/before" "$T/after"
	result "$1: the terminal is as it was" $? "$T/screen"
}
begin_ticking
terminal 80 24 TERM=screen-256color
run_top "-p $PID -d 100ms"
screen "a screen" '^ +[1-9][0-9]* +[0-9.]+ +[0-9.]+ +[0-9.]+ [num]?s  step \[ticking\]'
has "^brace top - .*: process $PID" && has '^tracing: brace on [0-9.]+ % of a CPU, [0-9]+ records/s, 0 lost; calls cost [0-9.]+ %'
result "who is traced, and what it costs" $? "$T/screen"
lacks 'MEAN'
result "80 columns have room for P99 only" $? "$T/screen"
press m
screen "by module" ' MODULE$'
press Tab
screen "... and the next: by function" ' FUNCTION$'
press t
screen "by thread" "  ticking-$PID\$"
press f / l e a f Enter
shows 'functions: 1; last turn; filter: leaf' && has 'leaf \[ticking\]' && lacks 'step \[ticking\]'
result "a filter" $? "$T/screen"
press / Enter a
screen "since the start, and all names" 'since the start$'
tm resize-window -t it -x 140 -y 50
screen "a larger terminal has more columns" 'CALLS/S +SELF% +TOTAL% +MEAN +P99 +MAX  FUNCTION'
tm resize-window -t it -x 20 -y 3
shows '^calls: '
result "a very small one does no harm" $? "$T/screen"
tm resize-window -t it -x 80 -y 24
press '?'
screen "help" 'a  since the start'
press x Space
screen "figures that are held" ', paused'
press q
is_left "q"
has ' step \[ticking\]'
result "the last figures stay" $? "$T/screen"
run_top "-p $PID"
screen "again" ' FUNCTION$'
press C-c
is_left "Ctrl-C"
run_top "-p $PID"
shows ' FUNCTION$'
pkill_top() { kill -TERM "$(pgrep -f "^$B top -p $PID" | head -n 1)"; }
pkill_top
is_left "SIGTERM"
run_top "-p $PID -n 2 -d 100ms"
is_left "two turns"
run_top "-p $PID"
shows ' FUNCTION$'
TOP=$(pgrep -f "^$B top -p $PID" | head -n 1)
tm kill-server
gone() { ! kill -0 "$TOP" 2>/dev/null; }
until_is gone
result "a terminal that is closed ends it" $?
end_ticking "the process was left each time, and went on"

# --- a program of its own
terminal 100 30 TERM=vt100 LC_ALL=C
run_top "-- '$FIXTURES/ticking'" '3<&0'
screen "without colours, in the C locale" ' FUNCTION$'
is_left "the program's end" 3
has '^1 steps|^[0-9]+ steps'
result "its output comes then" $? "$T/screen"
run_top "-- '$FIXTURES/parts'"
is_left "a program that may end before the first screen" 0
all_rows() {
	look_at
	for name in leaf fibonacci short_step long_step round_of rounds main; do
		grep -qE " $name \[parts\]\$" "$T/screen" || return 1
	done
}
all_rows
result "... leaves all its rows, not one" $? "$T/screen"
TICKS=1000$((100000 + $$)) # by which no other run of this test is found
run_top "-d 100ms -- bash -c 'echo shown; exec $FIXTURES/ticking $TICKS'"
screen "a program that goes on" ' leaf \[ticking\]'
lacks '^shown'
result "what it prints is kept" $? "$T/screen"
press q
screen "... until the screen is gone" '^shown'
pkill -USR1 -f "^$FIXTURES/ticking $TICKS"
is_left "it goes on by itself to its end" 3
terminal 80 24 TERM=dumb
run_top "-- true"
screen "a terminal that cannot be drawn on" 'cannot be drawn on: use --batch'

# --- names that would be obeyed
hostile_program || { not_ok "a program with such names"; finish; }
for locale in C.UTF-8 C; do
	terminal 120 40 TERM=screen-256color LC_ALL=$locale
	# Without libc's functions, which take more time and would fill the screen.
	run_top "-L '*' -l '*@named' -l '*@named_lib.so' -- '$T/named' '$T/named_lib.so'"
	is_left "hostile names, $locale" 0
	is_clean
	result "hostile names are escaped, $locale" $? "$T/screen"
done
finish
