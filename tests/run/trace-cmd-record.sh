#!/bin/bash
# Unmodified trace-cmd records a running program: what it takes out of per_cpu/cpuN/trace_pipe_raw,
# by splice and by read, is what the program says it did; names come from kallsyms, formats from
# events/.
# shellcheck disable=SC2034 # descriptors that only keep pipes open
. "$(dirname "$0")/lib.sh"
need trace-cmd setpriv
export W=/sys/kernel/tracing

# start_answers NAME: a program that does what is written to $T/NAME.to and answers in $T/NAME.from.
start_answers() {
	mkfifo "$T/$1.to" "$T/$1.from"
	# shellcheck disable=SC2086 # words
	${AS_USER:-} "$FIXTURES/answers" <"$T/$1.to" >"$T/$1.from" &
	PID=$!
	exec {FD}<>"$T/$1.to" {FD}<>"$T/$1.from"
	read -rt 30 _ <"$T/$1.from"
}
tell() { # NAME COMMAND...: each is done when this returns
	local name=$1 command
	shift
	for command; do
		echo "$command" >"$T/$name.to"
		read -rt 30 _ <"$T/$name.from" || return 1
	done
}
# trace-cmd leaves its recorders out if they are told to end before they have begun: a command waits
# for its brothers.
begun() {
	local child tries=0
	for child in $(pgrep -P "$1"); do
		until [ "$child" -eq $$ ] || [ $((tries += 1)) -gt 200 ] || [[ $(ls -l "/proc/$child/fd") == *trace_pipe_raw* ]]; do
			read -rt 0.02 _ <> <(:)
		done
	done
	read -rt 0.3 _ <> <(:)
}
# tells NAME COMMAND...: the same as a command for trace-cmd to start (by bash -c).
tells() { printf 'begun $PPID; '; printf '%s\n' "${@:2}" | sed "s:.*:echo '&' >$T/$1.to; read -r _ <$T/$1.from;:" | tr '\n' ' '; }
tc() { timeout -k 5 60 trace-cmd "$@" >"$T/out" 2>&1; }
# reported N PATTERN NAME [OPTIONS...]: so many lines of trace-cmd report
reported() {
	local n=$1 pattern=$2 name=$3
	timeout 60 trace-cmd report "${@:4}" "$T/t.dat" >"$T/report" 2>"$T/report.err"
	[ "$(grep -cE -- "$pattern" "$T/report")" -eq "$n" ]
	result "$name" $? "$T/report"
}
# The program counts its ticks, a million a second. Where a machine is too slow for all of them, trace-cmd is told how many are missing:
# what it prints within a CPU's records is a gap in the numbers. What it prints before a CPU's first record may be one, or lie before all.
ticks_whole() {
	timeout 60 trace-cmd report "$T/t.dat" 2>"$T/report.err" | tee "$T/report" | awk '
		match($0, /CPU:[0-9]+ \[[0-9]+ EVENTS DROPPED\]/) {
			split(substr($0, RSTART + 4), word, /[^0-9]+/)
			if (word[1] in seen) told += word[2]; else before += word[2]
		}
		/ tick: *n=[0-9]+ colour/ {
			n = $0; sub(/.* n=/, "", n); n += 0
			cpu = $0; sub(/[^[]*\[/, "", cpu); seen[cpu + 0]
			if (ticks++ && n <= last) backwards++
			if (ticks > 1) gap += n - last - 1
			last = n
		}
		END {
			print ticks " ticks, " gap + 0 " missing, " told + 0 " told, and " before + 0 " before the first of a CPU, " backwards + 0 " backwards"
			exit !(ticks > 100 && !backwards && told <= gap && gap <= told + before)
		}' >"$T/ticks" && return
	tail -n 3 "$T/out" "$T/report.err" >>"$T/ticks"
	return 1
}
export -f ticks_whole tell tells begun tc reported ok not_ok result diag skip
export T TAP_N TAP_FAILED=0 FIXTURES BRACE

functions() {
	tc record -o "$T/t.dat" -p function -l leaf -l request bash -c "$(tells a 5 t7 11)"
	result "trace-cmd record -p function" $? "$T/out"
	reported 23 ' leaf$' "each call is in the file"
	reported 3 ' request$' "of each function"
	reported 23 ' leaf <-- request$' "with its caller" -O parent=1
	reported 0 'EVENTS DROPPED|LOST' "and nothing is missing"
	tc record --nosplice -o "$T/t.dat" -p function -l leaf bash -c "$(tells a 40 2)" && reported 42 ' leaf$' "--nosplice"
	tc record -b 20000 -o "$T/t.dat" -p function -l leaf bash -c "$(tells a 300000 300000 1)"
	reported 600001 ' leaf$' "six hundred thousand of them"
	[ "$(sed -n 's/.* \([0-9]*\.[0-9]*\): function:.*/\1/p' "$T/report" | sort -cn 2>&1)" = "" ]
	result "in the order of their times" $?
	tc record -o "$T/t.dat" -p function_graph -g request bash -c "$(tells a 3 4)"
	reported 7 'us +\|    leaf\(\);$' "-p function_graph: calls with their durations"
	reported 2 '\|  request\(\) \{$' "and what calls them"
	reported 2 'funcgraph_exit: .*us +\|  \}$' "and its end"
	tc record -o "$T/t.dat" -p function -l leaf -P 1 bash -c "$(tells a 9)" && reported 0 ' leaf$' "-P of another process"
	tc record -o "$T/t.dat" -p function -l leaf -P "$A" bash -c "$(tells a 9)" && reported 9 ' leaf$' "and of this one"
	tc start -p function -l leaf && tell a 9 && tc stop && tell a 4 && tc extract -o "$T/t.dat"
	reported 9 ' leaf$' "trace-cmd start, stop, extract"
	# What its recorders send when they are told to end it does not read any more.
	echo 0 >$W/buffer_percent
	tc stream -p function -l leaf bash -c "$(tells a 6) sleep 1"
	echo 50 >$W/buffer_percent
	[ "$(grep -cE 'function: +leaf$' "$T/out")" -eq 6 ]
	result "trace-cmd stream, by a buffer_percent that says at once" $? "$T/out"
	# Without a command it ends at the second interrupt, or the first and a record more: here it
	# waits for nothing else.
	: >"$T/out" # before the shell of the next line empties it
	timeout -k 5 60 stdbuf -oL trace-cmd stream -p function -l leaf >"$T/out" 2>"$T/err" </dev/null &
	local stream=$! child tries
	until grep -q '^Hit' "$T/out"; do read -rt 0.05 _ <> <(:); done
	tell a 6
	for ((tries = 0; tries < 300; tries++)); do
		[ "$(grep -cE 'function: +leaf$' "$T/out")" -eq 6 ] && break
		read -rt 0.1 _ <> <(:)
	done
	[ "$(grep -cE 'function: +leaf$' "$T/out")" -eq 6 ]
	result "trace-cmd stream without a command" $? "$T/out"
	for ((tries = 0; tries < 100; tries++)); do
		child=$(pgrep -P "$stream") && kill -INT "$child" || break
		read -rt 0.3 _ <> <(:)
	done
	wait "$stream"
	result "it ends" $? "$T/err"
	tc record --date -o "$T/t.dat" -p function -l leaf bash -c "$(tells a 2)"
	trace-cmd report -t "$T/t.dat" 2>/dev/null | awk -v now="$(date +%s)" '$3 + 0 && $3 < now - 60 || $3 > now + 60 { exit 1 } / leaf$/ { n++ }
		END { exit n != 2 }'
	result "--date" $? "$T/out"
	tc record -o "$T/t.dat" -p function -g nonesuch sleep 0
	trace-cmd stat | grep -qE '^ *Command: +nonesuch$'
	result "a function that is not there is in the error_log" $? "$T/out"
	trace-cmd reset
	tc record -o "$T/t.dat" -B mine -p function -l leaf bash -c "$(tells a 8)" && trace-cmd reset -B mine
	reported 8 ' leaf$' "an instance's (-B)"
}

events() {
	tc record -o "$T/t.dat" -e syscalls:sys_enter_write -e syscalls:sys_exit_write -f 'ret == 9' bash -c "$(tells a 1 1)"
	reported 2 'sys_enter_write: .*fd: 0x0*1,' "-e: system calls"
	reported 0 'sys_exit_write: ' "-f: a filter that lets none pass"
	tc record -o "$T/t.dat" -e 'sdt_*' -p function -l leaf bash -c "$(tells p "5 0" "3 1"; tells a 6)"
	reported 5 ' gc__start: .*arg1=0' "-e 'sdt_*': markers of a library"
	reported 8 ' gc__done: ' "all of them"
	reported 6 ' leaf$' "and another process's functions with them"
	tc record -o "$T/t.dat" -e sdt_python:gc__start -f 'arg1 == 1' bash -c "$(tells p "5 0" "3 1")"
	reported 3 ' gc__start: ' "with a filter"
	tc record -o "$T/t.dat" -e truth:tick bash -c 'begun $PPID'
	ticks_whole
	result "an event of the program's own: no gap, or each is told with its size" $? "$T/ticks"
	tc record -o "$T/t.dat" -b 64 -e truth:tick bash -c "$(tells a 200000)"
	ticks_whole && grep -q 'EVENTS DROPPED' "$T/report"
	result "with buffers that are too small, too" $? "$T/ticks"
	tc record -o "$T/t.dat" -e truth:tick -f 'n < 0' bash -c "begun \$PPID; echo hello world >$W/trace_marker
		printf 'r\\0\\0\\0bytes' >$W/trace_marker_raw"
	reported 1 'print: +tracing_mark_write: hello world' "markers of text"
	reported 1 'raw_data: +# 72 62 79 74 65 73' "and of bytes"
}

# The files' own contents.
files() {
	local cpu n=0 all=0
	echo function >$W/current_tracer
	tell a 20000
	for cpu in "$W"/per_cpu/cpu*; do
		dd if="$cpu/trace_pipe_raw" iflag=nonblock bs=1000 of="$T/raw" 2>"$T/err"
		n=$(stat -c %s "$T/raw")
		[ $((n % 4096)) -eq 0 ]
		result "trace_pipe_raw comes in whole pages, read by any size (${cpu##*/}: $n bytes)" $? "$T/err"
		all=$((all + n))
		grep -q 'Resource temporarily unavailable' "$T/err"
		result "and is empty then" $? "$T/err"
	done
	[ "$all" -gt 400000 ]
	result "all of it" $?
	[ "$(cat "$W"/per_cpu/cpu*/stats | awk '/^read events/ { n += $3 } END { print n >= 20000 }')" = 1 ]
	result "stats: events that were read" $? "$W/per_cpu/cpu0/stats"
	timeout 0.3 dd if="$W/per_cpu/cpu0/trace_pipe_raw" bs=4096 count=1 of="$T/raw" 2>"$T/err"
	[ $? -eq 124 ]
	result "who has time waits" $? "$T/err"
	[ "$(grep -cE '^[0-9a-f]{16} t (leaf|request)$' "$W/kallsyms")" -eq 2 ] && cmp -s "$W/kallsyms" /proc/kallsyms
	result "kallsyms has each function once, though two processes have them" $? "$W/kallsyms"
	echo nop >$W/current_tracer
}

library() {
	"$FIXTURES/tracefs" leaf bash -c "tell a 5 t7; tell b 6" >"$T/out" 2>&1
	sed 's/ by [0-9]*;/;/' "$T/out" | cmp -s - <(printf '18 of leaf; 0 others, 0 out of order\n%.0s' 1 2)
	result "a program on libtracefs, at the top and in an instance" $? "$T/out"
}

# in_shell FUNCTION... -p PID...: run in a shell over the processes
in_shell() {
	local pids=("${@:2}")
	# shellcheck disable=SC2016,SC2086 # words; the inner shell's
	timeout 200 ${AS_USER:-} "$BRACE" shell "${pids[@]/#/-p}" -- bash -c "$1"'; echo "$TAP_N" >"$T/tap_n"' 2>"$T/err" | tee "$T/tap"
	[ -s "$T/tap_n" ] || diag "$T/err"
	TAP_N=$(cat "$T/tap_n" || echo "$TAP_N")
	TAP_FAILED=$((TAP_FAILED + $(grep -c '^not ok' "$T/tap")))
	rm -f "$T/tap_n"
}

start_answers a
export A=$PID
if ! timeout "$LIMIT" "$BRACE" shell -p "$A" -- true 2>"$T/err"; then
	grep -qE '/dev/fuse|namespace|ptrace|there is no directory' "$T/err" || { not_ok shell; diag "$T/err"; finish; }
	printf '1..0 # SKIP %s\n' "$(cut -d' ' -f2- "$T/err")"
	kill "$A"
	exit 0
fi
export -f functions events files
in_shell functions "$A"

start_answers b
B=$PID
cat >"$T/program.py" <<'PY'
import gc, sys
gc.disable()
print("ready", flush=True)
for line in sys.stdin:
    n, generation = map(int, line.split())
    for i in range(n):
        gc.collect(generation)
    print("done", flush=True)
PY
mkfifo "$T/p.to" "$T/p.from" "$T/ticks.to"
/usr/bin/python3 "$T/program.py" <"$T/p.to" >"$T/p.from" &
P=$!
exec {FD}<>"$T/p.to" {FD}<>"$T/p.from" {TICKS}<>"$T/ticks.to"
read -rt 30 _ <"$T/p.from"
"$FIXTURES/events" -s <"$T/ticks.to" >"$T/ticked" &
E=$!
in_shell events "$A" "$P" "$E"
in_shell files "$A" "$B"

# Two processes with one file at two places: names are the same, and whose calls they are is known.
both() {
	tc record -o "$T/t.dat" -p function -l leaf -l request bash -c "$(tells a 5; tells b 7 7)"
	reported 5 "answers-$A .* leaf\$" "two processes: one's calls"
	reported 14 "answers-$B .* leaf\$" "the other's"
	reported 19 ' leaf <-- request$' "and all names are right" -O parent=1
}
export -f both
export A B
in_shell both "$A" "$B"
if [ -x "$FIXTURES/tracefs" ]; then
	export -f library
	in_shell library "$A" "$B"
else
	skip "a program on libtracefs" "libtracefs-dev is not installed"
fi
kill "$A" "$B" "$P" "$E"
wait "$A" "$B" "$P" "$E" 2>/dev/null

# An ordinary user, where /dev/fuse is open to all, as distributions have it.
ordinary() {
	mknod "$T/fuse" c 10 229 && chmod 666 "$T/fuse" && mount --bind "$T/fuse" /dev/fuse || return
	AS_USER="setpriv --reuid=65534 --regid=65534 --clear-groups"
	chmod 777 "$T"
	start_answers u
	chmod 666 "$T/u.to" "$T/u.from"
	rm -f "$T"/t.dat* "$T/out" "$T"/report*
	in_shell user "$PID"
	kill "$PID"
	echo "$TAP_N" >"$T/user_n"
}
user() {
	[ "$(id -u)" = 65534 ]
	result "an ordinary user" $?
	tc record -o "$T/t.dat" -p function_graph -l leaf bash -c "$(tells u 12)"
	reported 12 'us +\|  leaf\(\);$' "records with trace-cmd"
}
if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null && setpriv --reuid=65534 --regid=65534 --clear-groups unshare -Um true 2>/dev/null; then
	export -f ordinary in_shell start_answers user
	unshare -m bash -c 'TAP_FAILED=0; ordinary' | tee "$T/ordinary"
	TAP_N=$(cat "$T/user_n" || echo "$TAP_N")
	TAP_FAILED=$((TAP_FAILED + $(grep -c '^not ok' "$T/ordinary")))
else
	skip "an ordinary user" "user namespaces, or root to open the device to all, are not had here"
fi
finish
