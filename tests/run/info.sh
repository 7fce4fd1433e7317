#!/bin/bash
# A trace file keeps of the run: the settings, both command lines, how the program ended and
# how long it took.
. "$(dirname "$0")/lib.sh"

info() { "$BRACE" info --no-pager "$T/trace" >"$T/info" 2>&1; "$BRACE" info --json "$T/trace" >"$T/info.json"; }

# trace_field KEY: of JSON's object about the trace.
trace_field() {
	/usr/bin/python3 - "$T/info.json" "$1" <<'END'
import json, sys
for line in open(sys.argv[1]):
    o = json.loads(line)
    if o.get("type") == "trace":
        print(o.get(sys.argv[2], "none"))
END
}

# setting FILE: "chosen text" of JSON, lines joined by |.
setting() {
	/usr/bin/python3 - "$T/info.json" "$1" <<'END'
import json, sys
for line in open(sys.argv[1]):
    o = json.loads(line)
    if o.get("type") == "setting" and o["file"] == sys.argv[2]:
        print(("chosen " if o["chosen"] else "usual ") + o["text"].replace("\n", "|"))
END
}

setting_is() { # FILE TEXT
	local is
	is=$(setting "$1")
	[ "$is" = "$2" ]
	result "$1: $2 (is: $is)" $?
}

# --- an exit, and times that the program says, too
# shellcheck disable=SC2016 # the program's
program='for ((i = 0; i < 5000; i++)); do :; done; times; exit 7'
before=$(date +%s%N)
record -l 'dispose_*' -l xmalloc -l 'execute_*' -n execute_disk_command --max-graph-depth 9 --threshold 3us -O funcgraph-proc -O nofuncgraph-cpu \
	-e task:task_newtask -e syscalls:sys_enter_write -f 'count > 5' -- /bin/bash -c "$program"
after=$(date +%s%N)
info
grep -qx "ended      with status 7" "$T/info"
result "the exit status" $? "$T/info"
[ "$(trace_field exit_status)" = 7 ] && [ "$(trace_field signal)" = none ]
result "the exit status, in JSON" $?
own=$(head -n 1 "$T/traced.out" | awk '{ for (i = 1; i <= 2; i++) { split($i, t, "m"); s += t[1] * 60 + t[2] } printf "%.0f\n", s * 1e9 }')
cpu=$(($(trace_field user_ns) + $(trace_field system_ns)))
[ "$own" -gt 0 ] && [ $cpu -ge $((own - 2000000)) ] && [ $cpu -le $((own + (after - before))) ]
result "CPU time: no less than the program says itself ($own ns, trace: $cpu)" $?
elapsed=$(trace_field elapsed_ns)
[ "$elapsed" -gt 0 ] && [ "$elapsed" -lt $((after - before)) ]
result "elapsed time: within what date saw ($((after - before)) ns, trace: $elapsed)" $?
grep -qE "^elapsed +[0-9]+\.[0-9]{3} s$" "$T/info" && grep -qE "^cpu time +[0-9.]+ s user, [0-9.]+ s system$" "$T/info"
result "both in text" $? "$T/info"
[[ $(trace_field invocation) == *"record -o $T/trace -l dispose_* "*"-f count > 5 -- /bin/bash -c $program" ]]
result "brace's own command line" $? "$T/info"
setting_is set_ftrace_filter "chosen dispose_*|xmalloc|execute_*"
setting_is set_ftrace_notrace "chosen execute_disk_command"
setting_is max_graph_depth "chosen 9"
setting_is tracing_thresh "chosen 3"
setting_is options/funcgraph-proc "chosen 1"
setting_is options/funcgraph-cpu "chosen 0"
setting_is options/funcgraph-tail ""
setting_is set_event "chosen task:task_newtask|syscalls:sys_enter_write"
setting_is events/syscalls/sys_enter_write/filter "chosen count > 5"
setting_is buffer_size_kb "usual 32768"
[[ $(setting trace_options) == *"|funcgraph-proc|"*"|nofuncgraph-tail|"* ]]
result "trace_options: all of them" $?
grep -qx "setting    set_ftrace_filter dispose_\* xmalloc execute_\*" "$T/info" && ! grep -q "buffer_size_kb" "$T/info"
result "in text those that were chosen" $? "$T/info"

# --- a signal; what a terminal would obey
record -o "$T/"$'\e]0;x\a' -- /bin/bash -c 'kill -USR1 $$'
mv "$T/"$'\e]0;x\a' "$T/trace"
info
grep -qx "ended      by signal 10 (User defined signal 1)" "$T/info" && [ "$(trace_field signal)" = 10 ] && [ "$(trace_field exit_status)" = none ]
result "a signal" $? "$T/info"
! grep -q $'[\e\a]' "$T/info" && grep -qF 'record -o '"$T/trace -o $T/"'\033]0;x\007' "$T/info"
result "the command line is escaped" $? "$T/info"

# --- with triggers the settings are a tree's
record -e task:task_newtask -R 'stacktrace:3' -- /bin/bash -c 'exit 3'
info
grep -qx "ended      with status 3" "$T/info"
result "record -R: the exit status" $? "$T/info"
[[ $(setting events/task/task_newtask/trigger) == "chosen stacktrace:count="* ]]
result "record -R: the trigger" $? "$T/info.json"

# --- many events of a system are a number
if "$BRACE" record -q -e 'syscalls:*' -e raw_syscalls:sys_enter -o "$T/trace" -- /bin/true 2>"$T/err"; then
	info
	[ "$(grep -c '^event ' "$T/info")" -eq 2 ] && grep -qE '^event +syscalls:\* \([0-9]{3} events; --json names them\)$' "$T/info" &&
		grep -qE '^event +raw_syscalls:sys_enter$' "$T/info" && [ "$(grep -c '"type":"event"' "$T/info.json")" -gt 300 ]
	result "record -e 'syscalls:*': one line, and in JSON all" $? "$T/info"
else
	skip "record -e 'syscalls:*'" "$(tail -n 1 "$T/err")"
fi

# --- of a process that ran already only the time is known
sleep 60 &
sleeper=$!
if "$BRACE" record -q -o "$T/trace" -p $sleeper --duration 100ms >"$T/out" 2>"$T/err"; then
	info
	[ "$(trace_field elapsed_ns)" -ge 90000000 ] && [ "$(trace_field exit_status)" = none ] && ! grep -q "^ended" "$T/info"
	result "attached: how long, and no end" $? "$T/info"
else
	skip "attached: how long, and no end" "$(tail -n 1 "$T/err")"
fi
kill $sleeper
wait $sleeper

# --- a file of brace before all this
cp "$HERE/files/older.brace" "$T/trace"
info
[ "$(trace_field command)" = /bin/true ] && [ "$(trace_field invocation)" = "" ] && ! grep -qE "^(ended|elapsed|setting|invocation)" "$T/info" &&
	"$BRACE" report --json "$T/trace" | grep -q '"calls":'
result "an older file is read, and nothing made up" $? "$T/info"
finish
