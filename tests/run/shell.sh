#!/bin/bash
# brace shell: a command that finds the tree where the kernel's ftrace would be; trace-cmd,
# unmodified, on it; events by a plain shell and by trace-cmd; nothing of it outside, and nothing
# left behind.
. "$(dirname "$0")/lib.sh"
need setpriv
: "${EVENTS_TREE:?is the program that serves a tree with events}"
W=/sys/kernel/tracing
chmod 755 "$T"

until_true() { # NAME COMMAND...: waits for what must come true, 30 seconds at most
	local name=$1 tries
	shift
	for ((tries = 0; tries < 600; tries++)); do
		if "$@" >/dev/null 2>&1; then
			ok "$name"
			return
		fi
		read -rt 0.05 _ <> <(:)
	done
	not_ok "$name"
}
in_shell() { timeout "$LIMIT" "$BRACE" shell -- "$@" <"$STDIN"; }
ends() { # NAME STATUS COMMAND...
	local name=$1 status=$2 got
	shift 2
	"$@" >"$T/out" 2>"$T/err"
	got=$?
	[ "$got" -eq "$status" ]
	result "$name" $? "$T/err"
}
grep -v ' /tmp/' /proc/self/mountinfo | sort >"$T/mounts"
cat /proc/sys/kernel/{ftrace_enabled,kptr_restrict} >"$T/sysctls" 2>/dev/null

in_shell true 2>"$T/err"
skip_without_shell $?

# --- what the command sees
in_shell cat "$W/current_tracer" "$W/available_tracers" | cmp -s - <(printf 'nop\n%s\n' "$TRACERS")
result "the tree stands where the kernel's would" $?
if [ -e /sys/kernel/debug ]; then
	in_shell sh -c "cd /sys/kernel/debug/tracing && echo function >current_tracer && cat $W/current_tracer" | grep -qx function
	result "and where debugfs would have it" $?
	setpriv --reuid=65534 --regid=65534 --clear-groups timeout "$LIMIT" "$BRACE" shell -- cat /sys/kernel/debug/tracing/current_tracer \
		>"$T/out" 2>"$T/err" <"$STDIN"
	grep -qx nop "$T/out" || grep -qE '/dev/fuse|namespace' "$T/err"
	result "for an ordinary user, too" $? "$T/err"
fi
in_shell awk '$3 == "tracefs" { print $2; exit }' /proc/mounts | grep -qx "$W"
result "the first tracefs of /proc/mounts is ours" $?
mkdir "$T/other"
if "$BRACE" mount "$T/other" 2>"$T/err"; then
	in_shell sh -c "grep tracefs /proc/mounts | cut -f2 -d' ' | head -1; grep -c '$T/other' /proc/mounts" | tr '\n' ' ' | grep -qx "$W 1 "
	result "and the first line that has the word, while another tree is mounted" $? /proc/mounts
	"$BRACE" umount "$T/other"
fi
if [ -d /proc/sys/kernel ]; then
	sysctls() { # the names and values that do not change by themselves
		(cd /proc/sys/kernel && grep -rs . ./*max* ./os* ./sched* ./sem ./shm* ./random/uuid_none ./yama ./keys 2>/dev/null | sort)
	}
	in_shell bash -c "$(declare -f sysctls); sysctls" | cmp -s - <(sysctls)
	result "/proc/sys/kernel has the kernel's values" $?
	in_shell bash -c "cat /proc/sys/kernel/stack_tracer_enabled; ! echo x 2>/dev/null >/proc/sys/kernel/stack_tracer_enabled && echo refused" |
		tr '\n' ' ' | grep -qx '0 refused '
	result "and stack_tracer_enabled, of the tree" $?
fi
in_shell sh -c "cat /proc/kallsyms && cat /proc/kallsyms && cat $W/kallsyms" >"$T/out" 2>"$T/err" && [ ! -s "$T/out" ]
result "kallsyms is the tree's" $? "$T/err"
if [ -e /proc/sys/kernel/ftrace_enabled ]; then
	[ "$(in_shell sh -c 'echo 0 >/proc/sys/kernel/ftrace_enabled; cat /proc/sys/kernel/ftrace_enabled')" = 0 ]
	result "ftrace_enabled can be written" $?
fi
[ "$(in_shell id -u)" = "$(id -u)" ] && [ "$(in_shell pwd)" = "$PWD" ]
result "the user and the directory are the same" $?
[ "$(in_shell sh -c "echo function >$W/current_tracer; cat $W/current_tracer")" = function ] &&
	[ "$(in_shell cat "$W/current_tracer")" = nop ]
result "each shell has a tree of its own" $?
[ "$(SHELL=/bin/echo timeout "$LIMIT" "$BRACE" shell </dev/null)" = "" ]
result "without a command it runs the user's shell" $?

# --- status and signals
ends "the command's status is brace's" 7 in_shell sh -c 'exit 7'
ends "a command that is not there" 127 in_shell "$T/nosuch"
grep -q "^brace: cannot run $T/nosuch: No such file" "$T/err"
result "is said" $? "$T/err"
ends "one that cannot be executed" 126 in_shell "$T"
ends "death by a signal" 143 bash -c "'$BRACE' shell -- sh -c 'kill -TERM \$\$'"
ends "a command that unmounts the tree goes on" 3 in_shell sh -c "umount $W; exit 3"
# Not <(:) to wait on: a bash that runs a trap inside the parsing of one may say that its ) is
# missing.
mkfifo "$T/never"
"$BRACE" shell -- bash -c "trap 'echo got; exit 5' USR1; echo ready; while :; do read -rt 1 _ <>$T/never; done" >"$T/signals" &
shell=$!
until_true "the command runs" grep -q ready "$T/signals"
kill -USR1 "$shell"
wait "$shell"
[ $? -eq 5 ] && grep -q got "$T/signals"
result "signals go to the command" $? "$T/signals"
cat >"$T/terminal.py" <<'END'
import os, pty, sys
pid, fd = pty.fork()
if not pid:
    os.execv(sys.argv[1], [sys.argv[1], 'shell', '--', 'bash', '-c',
        'trap "echo interrupted" INT; echo ready; read -rt 2 _ <>%s; read -rt 1 _ <>%s; exit 4' % (sys.argv[2], sys.argv[2])])
seen = b''
sent = False
while True:
    try:
        more = os.read(fd, 4096)
    except OSError:
        break
    if not more:
        break
    seen += more
    if b'ready' in seen and not sent:
        os.write(fd, b'\x03')
        sent = True
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(status, seen.count(b'interrupted'))
END
[ "$(timeout "$LIMIT" /usr/bin/python3 "$T/terminal.py" "$BRACE" "$T/never")" = "4 1" ]
result "Ctrl-C comes to the command once" $?

# --- what happens when brace is killed
mkfifo "$T/go"
"$BRACE" shell -- sh -c "echo ready; read -r _ <$T/go; cat $W/README; exit 0" >"$T/killed.out" 2>"$T/killed.err" &
shell=$!
until_true "a command waits" grep -q ready "$T/killed.out"
kill -KILL "$shell"
wait "$shell" 2>/dev/null
echo go >"$T/go"
until_true "brace killed: the command is not held up" grep -qi 'not connected' "$T/killed.err"

# --- trace-cmd
tc() { # NAME WANT COMMAND...: trace-cmd prints so
	local name=$1 want=$2
	shift 2
	in_shell "$@" >"$T/out" 2>"$T/err" && printf '%s\n' "$want" | cmp -s - "$T/out"
	result "$name" $? "$T/err"
}
if command -v trace-cmd >/dev/null; then
	tc "trace-cmd list -t" "$TRACERS" trace-cmd list -t
	tc "trace-cmd list -C" "[local] global counter uptime perf mono mono_raw boot tai x86-tsc" trace-cmd list -C
	in_shell sh -c "trace-cmd list -o | sed 's/^no//' | sort; ls $W/options | sed 's/^no//' | sort" >"$T/out"
	[ "$(head -n "$(($(wc -l <"$T/out") / 2))" "$T/out")" = "$(tail -n "$(($(wc -l <"$T/out") / 2))" "$T/out")" ]
	result "trace-cmd list -o" $?
	tc "trace-cmd list -f" "" sh -c 'trace-cmd list -f; echo'
	tc "trace-cmd start -p nop, stop, restart" "0 1" sh -c "trace-cmd start -p nop && trace-cmd stop && a=\$(cat $W/tracing_on) &&
		trace-cmd restart && echo \$a \$(cat $W/tracing_on)"
	tc "trace-cmd set" "function_graph" sh -c "trace-cmd set -p function_graph && cat $W/current_tracer"
	tc "trace-cmd show" "same" sh -c "trace-cmd show >$T/a; cat $W/trace | cmp - $T/a && echo same"
	tc "trace-cmd clear" "" sh -c 'trace-cmd clear; echo'
	tc "trace-cmd reset" "nop 1" sh -c "echo function >$W/current_tracer; trace-cmd stop; trace-cmd reset &&
		echo \$(cat $W/current_tracer $W/tracing_on)"
	in_shell trace-cmd stat >"$T/out" 2>"$T/err" && grep -q 'Tracing is enabled' "$T/out"
	result "trace-cmd stat" $? "$T/err"
	tc "trace-cmd of an instance" "tc 0" sh -c "mkdir $W/instances/tc; trace-cmd stop -B tc; echo \$(trace-cmd list -B) \
		\$(cat $W/instances/tc/tracing_on)"
else
	skip "trace-cmd" "it is not installed"
fi

# --- over a program that runs: unmodified trace-cmd on it
live() { # TAP lines; the program does what it is told on one pipe, and answers on another
	tell() {
		echo "$1" >&7
		read -rt 30 SAID <&8
	}
	exec 7>"$T/to" 8<"$T/from"
	trace-cmd list -f | grep -qx leaf
	result "trace-cmd list -f has the program's functions" $?
	trace-cmd start -p function -l leaf >"$T/out" 2>&1 && tell 10 && trace-cmd stop && tell 5
	result "trace-cmd start -p function -l, stop" $? "$T/out"
	[ "$(trace-cmd show | grep -c 'leaf <-request')" = 10 ]
	result "trace-cmd show has each call" $? "$W/trace"
	trace-cmd stat >"$T/out" 2>"$T/err" && grep -q 'Tracer: function' "$T/out" && grep -qx ' *leaf' "$T/out"
	result "trace-cmd stat has tracer and filter" $? "$T/out"
	trace-cmd reset && [ "$(cat "$W/current_tracer")" = nop ] && tell 7 && ! grep -q leaf "$W/trace"
	result "trace-cmd reset ends it" $? "$T/out"
	trace-cmd start -p function_graph -g request --max-graph-depth 1 >"$T/out" 2>&1 && tell 3 && tell 3 &&
		[ "$(trace-cmd show | grep -c 'request();')" = 2 ]
	result "trace-cmd start -p function_graph -g" $? "$T/out"
}
mkfifo "$T/to" "$T/from"
"$FIXTURES/answers" <"$T/to" >"$T/from" &
answers=$!
exec {TO}>"$T/to" {FROM}<"$T/from"
read -rt 30 -u "$FROM" SAID
if ! command -v trace-cmd >/dev/null; then
	skip "trace-cmd over a program" "it is not installed"
elif ! timeout "$LIMIT" "$BRACE" shell -p "$answers" -- true 2>"$T/err" && grep -q ptrace "$T/err"; then
	skip "trace-cmd over a program" "ptrace is forbidden here"
else
	export -f live ok not_ok result diag
	export T W TAP_N
	timeout "$LIMIT" "$BRACE" shell -p "$answers" -- bash -c 'live; echo "$TAP_N" >"$T/tap_n"' 2>"$T/err" | tee "$T/live.tap"
	TAP_N=$(cat "$T/tap_n")
	TAP_FAILED=$((TAP_FAILED + $(grep -c '^not ok' "$T/live.tap")))
	ends "the options are writes to its files" 0 "$BRACE" shell -p "$answers" -t function -l leaf -- \
		sh -c "grep -qx function $W/current_tracer && grep -qx leaf $W/set_ftrace_filter"
fi
echo 4 >&"$TO" && read -rt 30 -u "$FROM" SAID && [ "${SAID%% *}" = done ]
result "the program goes on when the shell has ended" $?
echo q >&"$TO"
wait "$answers"
exec {TO}>&- {FROM}<&-
ends "a process that is not there" 125 "$BRACE" shell -p 4194303 -- true
[ "$(wc -l <"$T/err")" -eq 1 ]
result "is one sentence" $? "$T/err"

# --- a program that it launches: events with filters are set before it runs
ticks='for ((i = 0; i < 600; i++)); do [ "$(grep -c "tick: n=" $W/trace)" = 10 ] && exit 5; read -rt 0.05 _ <> <(:); done'
export W
ends "--run, -e, -f" 5 timeout "$LIMIT" "$BRACE" shell --run "'$FIXTURES/events'" -e truth:tick -f 'who == 77 && n < 10' -- \
	bash -c "$ticks"
ends "--run: what is no word" 125 "$BRACE" shell --run "true; true" -- true
grep -q 'stand in quotes' "$T/err"
result "is said" $? "$T/err"
# Both by timeout, which gives its command the signals back that its own caller ignored.
timeout "$LIMIT" grep SigIgn /proc/self/status >"$T/untraced.signals"
timeout "$LIMIT" "$BRACE" shell --run "sh -c 'grep SigIgn /proc/self/status >$T/signals'" -- \
	bash -c "until [ -s '$T/signals' ]; do read -rt .05 _ <> <(:); done" >"$T/out" 2>"$T/err" </dev/null
cmp -s "$T/untraced.signals" "$T/signals"
result "--run: the program finds the signals as brace did" $? "$T/err"
ends "--run: a program that is not there" 125 "$BRACE" shell --run "$T/nosuch" -- true
ends "--run: a program that waits" 3 timeout "$LIMIT" "$BRACE" shell --run "sh -c 'echo \$\$ >$T/program; exec sleep 1000'" -- \
	sh -c "until [ -s '$T/program' ]; do :; done; exit 3"
! kill -0 "$(cat "$T/program")" 2>/dev/null && [ ! -s "$T/err" ]
result "ends with the command" $? "$T/err"
ends "--run: a program that ends itself in order" 0 timeout "$LIMIT" "$BRACE" shell \
	--run "sh -c 'trap \"echo ended >$T/ended; exit\" TERM; echo >$T/ready; while :; do read -rt 1 _ || sleep 0.1; done'" -- \
	sh -c "until [ -e '$T/ready' ]; do :; done"
check_that "has done so when brace ends" [ -s "$T/ended" ]
ends "--run: a program that ignores SIGTERM" 0 timeout "$LIMIT" "$BRACE" shell \
	--run "env --ignore-signal=TERM sh -c 'echo \$\$ >$T/ignores; exec sleep 1000'" -- \
	sh -c "until [ -s '$T/ignores' ]; do :; done"
kill -KILL "$(cat "$T/ignores")" && grep -qx "brace: process $(cat "$T/ignores"), the program of --run, goes on: SIGTERM has not ended it" "$T/err"
result "goes on, which is said" $? "$T/err"
printf 'b\na\n' >"$T/input"
[ "$(timeout "$LIMIT" "$BRACE" shell --run cat -- sort <"$T/input" | tr '\n' ' ')" = "a b " ]
result "--run: the input is the command's" $?
ends "-e of no program's event" 125 "$BRACE" shell -e nonesuch -- true

# --- events, which no program has brought yet: a tree of the test's own with some, laid over
events() { # TAP lines, in the namespace
	local D=$W/events
	mount --bind "$T/events" "$W"
	result "it is laid over" $?
	[ "$(trace-cmd list -e | sort | tr '\n' ' ')" = "$(sort "$W/available_events" | tr '\n' ' ')" ]
	result "trace-cmd list -e" $?
	trace-cmd list -e sched:sched_switch -F >"$T/out" 2>"$T/err"
	grep -qF 'field:char prev_comm[16];' "$T/out"
	result "trace-cmd list -e -F" $? "$T/err"
	trace-cmd start -e sched:sched_switch -f 'prev_pid == 1' -e syscalls 2>"$T/err" >"$T/out" &&
		[ "$(cat "$D/sched/sched_switch/enable" "$D/sched/enable" "$D/syscalls/enable" | tr -d '\n')" = 1X1 ] &&
		grep -q 'prev_pid == 1' "$D/sched/sched_switch/filter"
	result "trace-cmd start -e -f" $? "$T/err"
	trace-cmd stat >"$T/out" 2>"$T/err" && grep -q 'sched_switch' "$T/out" && grep -q 'prev_pid == 1' "$T/out"
	result "trace-cmd stat has them" $? "$T/out"
	trace-cmd reset 2>"$T/err" && [ ! -s "$W/set_event" ] && [ -z "$(cat "$W/set_event")" ] &&
		[ "$(cat "$D/sched/sched_switch/filter")" = none ]
	result "trace-cmd reset clears them" $? "$T/err"
	trace-cmd start -B tc -e sched:sched_waking -R traceoff:3 2>"$T/err" >"$T/out" &&
		[ "$(cat "$W/instances/tc/set_event")" = sched:sched_waking ] && [ -z "$(cat "$W/set_event")" ] &&
		[ "$(cat "$W/instances/tc/events/sched/sched_waking/trigger")" = traceoff:count=3 ]
	result "trace-cmd start -B -e -R" $? "$T/err"

	# a plain shell
	echo sched:sched_switch sched:sched_waking >"$W/set_event" && tr '\n' ' ' <"$W/set_event" |
		grep -qx 'sched:sched_switch sched:sched_waking '
	result "echo of two names into set_event" $?
	echo '!sched:*' >>"$W/set_event" && [ -z "$(cat "$W/set_event")" ]
	result "echo '!sched:*' >> set_event" $?
	echo 'sys_*_openat' >>"$W/set_event" && [ "$(wc -l <"$W/set_event")" -eq 2 ]
	result "a glob" $?
	! (echo nosuch:nosuch >>"$W/set_event") 2>"$T/err" && grep -q 'Invalid argument' "$T/err"
	result "an unknown event is EINVAL" $? "$T/err"
	: >"$W/error_log"
	! (echo 'prev_prio < ' >"$D/sched/sched_switch/filter") 2>"$T/err"
	result "a filter that is none" $? "$T/err"
	sed 's/^\[[^]]*\] //' "$W/error_log" >"$T/log"
	printf 'event filter parse error: error: %s\n  Command: prev_prio <\n%24s\n' \
		'Invalid value (did you forget quotes)?' '^' >"$T/want"
	cmp -s "$T/want" "$T/log"
	result "is in the error_log with the caret" $? "$T/log"
	[ "$(cat "$D/sched/sched_process_fork/id")" = "$(sed -n 's/^ID: //p' "$D/sched/sched_process_fork/format")" ]
	result "id is what format says" $?
	find "$D" -type f -exec cat {} + >"$T/out" 2>"$T/err" && [ ! -s "$T/err" ]
	result "find and cat of events/" $? "$T/err"
	echo 1 >"$D/enable" && [ "$(cat "$D/enable")" = 1 ] && echo 0 >"$D/sched/enable" && [ "$(cat "$D/enable")" = X ]
	result "enable of all, of a system" $?
}
if [ "$(id -u)" -eq 0 ] && command -v trace-cmd >/dev/null; then
	mkdir "$T/events"
	"$EVENTS_TREE" "$T/events" 2>"$T/err" &
	ON_EXIT+=("umount -l $T/events")
	until_true "a tree with events" test -e "$T/events/available_events"
	export -f events ok not_ok result diag
	export T W TAP_N
	in_shell bash -c 'TAP_FAILED=0; events; echo "$TAP_N" >"$T/tap_n"' 2>"$T/err" | tee "$T/events.tap"
	TAP_N=$(cat "$T/tap_n")
	TAP_FAILED=$((TAP_FAILED + $(grep -c '^not ok' "$T/events.tap")))
	umount "$T/events"
	wait
else
	skip "events by trace-cmd" "only root may lay a tree over the tree"
fi

# --- an ordinary user, where /dev/fuse is open to all, as distributions have it
as_user="setpriv --reuid=65534 --regid=65534 --clear-groups"
ordinary() { # TAP lines
	mknod "$T/fuse" c 10 229 && chmod 666 "$T/fuse" && mount --bind "$T/fuse" /dev/fuse
	result "the device is open to all" $?
	[ "$($as_user "$BRACE" shell -- id -u)" = 65534 ]
	result "an ordinary user has a shell" $?
	[ "$($as_user "$BRACE" shell -- sh -c "echo function >$W/current_tracer; cat $W/current_tracer")" = function ]
	result "and uses the tree" $?
	[ "$($as_user "$BRACE" shell -- sh -c 'trace-cmd start -p nop; trace-cmd stop; trace-cmd list -t' 2>"$T/err")" = \
		"$TRACERS" ]
	result "also by trace-cmd" $? "$T/err"
	! $as_user "$BRACE" shell -- sh -c "echo 1 >$W/README" 2>"$T/err"
	result "but does not write what can only be read" $? "$T/err"
	chmod 600 "$T/fuse"
	$as_user "$BRACE" shell true 2>"$T/err"
	[ $? -eq 125 ] && grep -q '^brace: /dev/fuse cannot be opened' "$T/err"
	result "no access to the device is said" $? "$T/err"
	unshare -U -r sh -c "echo 0 >/proc/sys/user/max_user_namespaces; echo 0 >/proc/sys/user/max_mnt_namespaces
		'$BRACE' shell true" 2>"$T/err"
	[ $? -eq 125 ] && grep -q '^brace: no namespace of our own can be made' "$T/err" && [ "$(wc -l <"$T/err")" -eq 1 ]
	result "forbidden namespaces are said" $? "$T/err"
}
if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null && $as_user unshare -Um true 2>/dev/null; then
	export -f ordinary ok not_ok result diag
	export as_user T W TAP_N TRACERS
	unshare -m bash -c 'TAP_FAILED=0; ordinary; echo "$TAP_N" >"$T/tap_n"' | tee "$T/ordinary"
	TAP_N=$(cat "$T/tap_n")
	TAP_FAILED=$((TAP_FAILED + $(grep -c '^not ok' "$T/ordinary")))
else
	skip "an ordinary user" "user namespaces, or root to open the device to all, are not had here"
fi

# --- in a changed root, where / is no mount
changed_root() { # COMMAND...
	local entry
	mkdir -p "$T/other" && cd "$T/other" || return
	for entry in /*; do
		if [ -L "$entry" ]; then
			cp -P "$entry" .
		elif [ -d "$entry" ] && [ "$entry" != "${NOT_MOUNTED:-}" ]; then
			mkdir -p ".$entry" && mount --rbind "$entry" ".$entry" || return
		fi
	done
	exec chroot . "$@"
}
if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
	export -f changed_root
	export T
	# shellcheck disable=SC2016
	in_root() { timeout "$LIMIT" unshare -m --propagation private bash -c 'changed_root "$@"' - "$@" >"$T/out" 2>"$T/err" <"$STDIN"; }
	in_root "$BRACE" shell -- cat "$W/current_tracer" && grep -qx nop "$T/out"
	result "the tree stands in a changed root, too" $? "$T/err"
	NOT_MOUNTED=/proc in_root "$BRACE" shell -- true
	[ $? -eq 125 ] && grep -q '^brace: .*/proc' "$T/err"
	result "where that has no /proc, it is said" $? "$T/err"
else
	skip "in a changed root" "only root may change it"
fi

# --- nothing of it is left outside
grep -v ' /tmp/' /proc/self/mountinfo | sort | cmp -s - "$T/mounts"
result "the mounts are what they were" $?
cat /proc/sys/kernel/{ftrace_enabled,kptr_restrict} 2>/dev/null | cmp -s - "$T/sysctls"
result "and the kernel's settings" $?
for pid in $(pgrep -f "^$BRACE shell"); do # other tests have theirs
	! grep -qsz "^XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR\$" "/proc/$pid/environ" || echo "$pid"
done >"$T/out"
[ ! -s "$T/out" ]
result "no process is left" $? "$T/out"
finish
