#!/bin/bash
# The mounted tree as an ftrace user has it: a shell, the usual tools, several at once, another
# user, brace killed.
. "$(dirname "$0")/lib.sh"
need setpriv
D=$T/tree
GOLDEN=$HERE/../tree/golden
mkdir "$D"

# until_true NAME COMMAND...: waits for what must come true, LIMIT seconds at most.
until_true() {
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

mounted() { grep -q " $1 .* - fuse.tracefs brace " /proc/self/mountinfo; }
not_mounted() { ! mounted "$1"; }
# The process that serves a directory, and its watchdog: they have the command line they were
# started with.
of_mount() { # DIRECTORY COMM
	local pid
	for pid in $(pgrep -f "^$BRACE mount .*$1\$"); do
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" != "$2" ] || echo "$pid"
	done
}
server_of() { of_mount "$1" brace; }
watchdog_of() { of_mount "$1" brace-watchdog; }
no_server() { [ -z "$(server_of "$1")$(watchdog_of "$1")" ]; }

# says NAME WORDS COMMAND...: fails with one sentence of brace's that has the words.
says() {
	local name=$1 words=$2
	shift 2
	timeout "$LIMIT" "$@" >"$T/out" 2>"$T/err" </dev/null
	[ $? -eq 125 ] && grep -q -- "$words" "$T/err" && [ "$(wc -l <"$T/err")" -eq 1 ] && grep -q '^brace: ' "$T/err"
	result "$name" $? "$T/err"
}

exec 8>"$T/lock"
flock 8
if ! "$BRACE" mount "$D" 2>"$T/err" && grep -qE '/dev/fuse|cannot mount on' "$T/err"; then
	printf '1..0 # SKIP %s\n' "$(cut -d' ' -f2- "$T/err")"
	exit 0
fi
ON_EXIT+=("$BRACE umount --lazy $D")
check_that "mount returns when the tree is there" mounted "$D"
[ -z "$(cat "$T/err")" ]
result "and says nothing" $? "$T/err"

exec 8>&-
check_that "and holds no lock of who mounted it" flock -n "$T/lock" true

# --- cat and echo
[ "$(cat "$D/current_tracer")" = nop ] && [ "$(cat "$D/tracing_on")" = 1 ]
result "cat" $?
echo function_graph >"$D/current_tracer" && [ "$(cat "$D/current_tracer")" = function_graph ]
result "echo" $?
grep -qx 'nofuncgraph-tail' "$D/trace_options" && echo funcgraph-tail >>"$D/trace_options" &&
	[ "$(cat "$D/options/funcgraph-tail")" = 1 ]
result "an option by its name shows in options/" $?
echo nop >"$D/current_tracer" && ! grep -q funcgraph "$D/trace_options"
result "trace_options has the tracer's own" $?
SINCE='(no)?(copy_trace_marker|funcgraph-args|func-args|funcgraph-retaddr|causal-order)' # newer kernels' options, and brace's own
grep -vxE "$SINCE" "$D/trace_options" | cmp -s - "$GOLDEN/k6.12-own.init.trace_options.txt"
result "trace_options is the kernel's, but for newer ones' and ours" $? "$D/trace_options"
(echo 2 >"$D/options/overwrite") 2>"$T/err"
[ $? -ne 0 ] && grep -q 'Invalid argument' "$T/err" && [ "$(cat "$D/options/overwrite")" = 1 ]
result "a refused write changes nothing" $? "$T/err"
sed -E 's/^\[ *[0-9]+\.[0-9]{6}\] //' "$D/error_log" >"$T/log"
printf 'options/overwrite: error: an option is 0 or 1\n  Command: 2\n           ^\n' | cmp -s - "$T/log"
result "error_log has it, with a caret" $? "$T/log"
echo >"$D/error_log" && [ -z "$(cat "$D/error_log")" ]
result "error_log is cleared" $?
for golden in "$GOLDEN"/*.write-results.txt; do
	name="writes are answered as by ${golden##*/}" # root's: to others some files are not to be written
	[ "$(id -u)" -eq 0 ] || { skip "$name" 'root was asked'; continue; }
	check "$name" /usr/bin/python3 "$HERE/writes.py" "$D" "$golden"
done
echo hello >"$D/trace_marker" && head -c 5000 /dev/zero >"$D/trace_marker"
result "markers are taken" $?

echo 'main vfs_*' >"$D/set_ftrace_filter" && echo '!main' >>"$D/set_ftrace_filter" &&
	[ "$(cat "$D/set_ftrace_filter")" = 'vfs_*' ]
result "a list of functions is set, and one taken out" $?
: >"$D/set_ftrace_filter" && [ "$(cat "$D/set_ftrace_filter")" = '#### all functions enabled ####' ]
result "> clears it" $?
seq -f 'function_%g' 5000 >"$T/names" && cat "$T/names" >"$D/set_ftrace_notrace" &&
	cmp -s "$T/names" "$D/set_ftrace_notrace"
result "5,000 names" $?

# --- what cannot be done here
refuses() { # NAME WORDS COMMAND...
	local name=$1 words=$2
	shift 2
	! "$@" 2>"$T/err" && grep -q "$words" "$T/err"
	result "$name" $? "$T/err"
}
touches() { : >"$D/newfile"; }
refuses "a new file" 'Permission denied' touches
refuses "a directory that is no instance" 'Operation not permitted' mkdir "$D/xx"
refuses "removing a file" 'Operation not permitted' rm -f "$D/trace"
refuses "removing a directory" 'Operation not permitted' rmdir "$D/options"
refuses "renaming" 'Operation not permitted' mv "$D/trace" "$D/trace2"

# --- every tool that reads
copies() { # NAME COMMAND...: prints what README says
	local name=$1
	shift
	"$@" >"$T/out" 2>"$T/err" && cmp -s "$T/out" "$T/readme"
	result "README by $name" $? "$T/err"
}
cat "$D/README" >"$T/readme"
[ -s "$T/readme" ]
result "README is not empty" $?
copies cp cp "$D/README" /dev/stdout
copies dd dd if="$D/README" bs=7 status=none
copies head head -n 1000 "$D/README"
copies sed sed '' "$D/README"
copies sendfile /usr/bin/python3 -c 'import shutil, sys
shutil.copyfile(sys.argv[1], sys.argv[2])
sys.stdout.write(open(sys.argv[2]).read())' "$D/README" "$T/copy"
if command -v busybox >/dev/null; then copies busybox busybox cat "$D/README"; fi
find "$D" -type f -perm -400 ! -name 'trace_pipe*' ! -name snapshot_raw ! -name user_events_data -exec cat {} + >"$T/out" 2>"$T/err"
[ ! -s "$T/err" ] && [ "$(wc -l <"$T/out")" -gt 100 ]
result "find and cat of every file" $? "$T/err"
ls -lR "$D" >"$T/out" 2>"$T/err"
[ ! -s "$T/err" ] && grep -q -- '-r--r-----.* README$' "$T/out"
result "ls -lR" $? "$T/err"
ls "$D/options" | grep -vxE "blk_classic|$SINCE" | cmp -s - <(grep -vx blk_classic "$GOLDEN/k6.12-own.ls-options.txt")
result "options/ has the kernel's names, newer ones' and ours" $?
grep -rqs function_graph "$D/available_tracers"
result "grep -r" $?

# --- instances
mkdir "$D/instances/foo" && echo 0 >"$D/instances/foo/tracing_on" && [ "$(cat "$D/tracing_on")" = 1 ]
result "an instance has settings of its own" $?
refuses "the same name twice" 'File exists' mkdir "$D/instances/foo"
refuses "a directory inside" 'Operation not permitted' mkdir "$D/instances/foo/x"
exec 5<"$D/instances/foo/trace"
refuses "an instance in use" 'Device or resource busy' rmdir "$D/instances/foo"
exec 5<&-
rmdir "$D/instances/foo" && [ -z "$(ls "$D/instances")" ]
result "rmdir" $?

# --- trace_pipe
timeout 0.2 cat "$D/trace_pipe"
[ $? -eq 124 ]
result "cat trace_pipe waits, and lets itself be interrupted" $?
dd if="$D/trace_pipe" iflag=nonblock count=1 2>"$T/err"
grep -q 'temporarily unavailable' "$T/err"
result "a reader that does not wait is told so" $? "$T/err"
cat "$D/trace_pipe" >/dev/null 2>"$T/err" &
reader=$!
until_true "one reader of trace_pipe" eval "ls -l /proc/$reader/fd | grep -q trace_pipe"
refuses "a second one" 'Device or resource busy' cat "$D/trace_pipe"
says "umount while it is read names the reader" "in use by cat ($reader)" "$BRACE" umount "$D"
check_that "the tree is still there" test -e "$D/README"

# --- several at once
mkdir "$T/workers"
worker() { # NUMBER: prints a line for each thing that went wrong
	local i
	for ((i = 0; i < 60; i++)); do
		mkdir "$D/instances/w$1" || echo mkdir
		echo $((i % 2)) >"$D/instances/w$1/tracing_on" || echo echo
		[ "$(cat "$D/instances/w$1/tracing_on")" = $((i % 2)) ] || echo cat
		echo no >"$D/instances/w$1/tracing_on" 2>/dev/null && echo taken
		[ "$(grep -c error: "$D/instances/w$1/error_log")" = 1 ] || echo error_log
		rmdir "$D/instances/w$1" || echo rmdir
	done >"$T/workers/$1" 2>&1
}
for n in 1 2 3 4; do
	worker "$n" &
	workers[n]=$!
done
wait "${workers[@]}"
cat "$T/workers"/* >"$T/out"
[ ! -s "$T/out" ]
result "four shells at once" $? "$T/out"

# --- another user
if [ "$(id -u)" -eq 0 ]; then
	chmod 755 "$T"
	for path in "$D/README" "$D/trace_marker"; do
		setpriv --reuid=65534 --regid=65534 --clear-groups cat "$path" >"$T/out" 2>"$T/err"
		grep -q 'Permission denied' "$T/err"
		result "another user cannot use ${path##*/}" $? "$T/err"
	done
fi

# --- the end
says "mounting it twice" "there is a tree on $D already" "$BRACE" mount "$D"
"$BRACE" umount --lazy "$D" 2>"$T/err" && not_mounted "$D"
result "umount --lazy" $? "$T/err"
wait "$reader"
result "who still reads sees the end" $?
until_true "and the server ends" no_server "$D"

"$BRACE" mount "$D" && "$BRACE" umount "$D" && not_mounted "$D"
result "umount right after mount" $?
until_true "the server ends by it" no_server "$D"
# A program that it started is let go.
mkfifo "$T/goes"
# shellcheck disable=SC2016 # for the program's shell
"$BRACE" mount "$D" -- /bin/sh -c 'echo $$ >"$1"; read -r word <"$2"; echo "$word" >"$3"' sh "$T/started" "$T/goes" "$T/went" 2>"$T/err"
until_true "mount starts a program" test -s "$T/started"
"$BRACE" umount "$D" && not_mounted "$D"
result "umount while it runs" $?
until_true "the server ends, and not the program" no_server "$D"
timeout "$LIMIT" sh -c 'echo on >"$1"' sh "$T/goes" && until_true "which goes on" grep -qx on "$T/went"
"$BRACE" mount "$D"
cat "$D/trace_pipe" >"$T/out" 2>"$T/err" &
reader=$!
until_true "a reader waits" eval "ls -l /proc/$reader/fd | grep -q trace_pipe"
kill -TERM "$(server_of "$D")"
until_true "SIGTERM unmounts" not_mounted "$D"
until_true "and the reader comes to its end" eval "! kill -0 $reader"
until_true "and the server ends, too" no_server "$D"
"$BRACE" mount "$D"
tail -f "$D/trace" "$D/error_log" >/dev/null 2>&1 &
reader=$!
kill -KILL "$(server_of "$D")"
until_true "after SIGKILL the directory is cleaned up" not_mounted "$D"
kill "$reader"
"$BRACE" mount "$D" && [ "$(cat "$D/tracing_on")" = 1 ]
result "and can be mounted again" $?
kill -KILL "$(watchdog_of "$D")" "$(server_of "$D")"
until_true "the server and its watchdog killed leave a dead mount" eval "! test -e $D/README"
"$BRACE" mount "$D" 2>"$T/err" && [ "$(cat "$D/tracing_on")" = 1 ]
result "which the next mount takes away" $? "$T/err"
kill -KILL "$(server_of "$D")"
until_true "SIGKILL again, with nothing open" not_mounted "$D"

# A hang-up ends it, unless it was ignored before: under nohup it goes on.
foreground() { # DISPOSITION: of SIGHUP
	env "--$1-signal=HUP" "$BRACE" mount --foreground "$D" &
	server=$!
	until_true "mount --foreground, SIGHUP at $1" mounted "$D"
}
foreground default
kill -HUP "$server"
wait "$server"
[ $? -eq 0 ] && not_mounted "$D"
result "a signal ends it, in order" $?
foreground ignore
kill -HUP "$server" && [ $((0x$(awk '$1 == "SigIgn:" { print $2 }' "/proc/$server/status") & 1)) = 1 ] &&
	[ "$(cat "$D/tracing_on")" = 1 ]
result "one that is ignored does not" $?
kill -TERM "$server"
wait "$server"
[ $? -eq 0 ] && not_mounted "$D"
result "and another one does" $?

# --- an ordinary user, in a mount namespace where /dev/fuse is open to all, as distributions have it 
export AS_USER="setpriv --reuid=65534 --regid=65534 --clear-groups"
as_user() { $AS_USER "$@"; }
ordinary() { # TAP lines
	local dir=$T/theirs
	mkdir "$dir"
	chown 65534:65534 "$dir"
	mknod "$T/fuse" c 10 229 && chmod 666 "$T/fuse" && mount --bind "$T/fuse" /dev/fuse || return
	as_user "$BRACE" mount "$dir" 2>"$T/err"
	result "an ordinary user mounts" $? "$T/err"
	as_user bash -c "echo function >$dir/current_tracer && mkdir $dir/instances/x && grep -q 'function' $dir/current_tracer"
	result "and uses it" $?
	! as_user bash -c "echo 1 >$dir/README" 2>"$T/err" && grep -q 'Permission denied' "$T/err"
	result "but does not write what can only be read" $? "$T/err"
	as_user "$BRACE" umount "$dir" 2>"$T/err" && not_mounted "$dir"
	result "and unmounts" $? "$T/err"
	until_true "and the server ends there" no_server "$dir"
	as_user "$BRACE" mount "$dir" 2>"$T/err"
	kill -KILL "$(server_of "$dir")"
	until_true "and is cleaned up after" not_mounted "$dir"
	says "a directory of another's" 'cannot mount on' $AS_USER "$BRACE" mount "$D"
	mount --bind /dev/null /usr/bin/fusermount3
	says "no fusermount3" 'no fusermount3, which an ordinary user needs' $AS_USER "$BRACE" mount "$dir"
	mount --bind /dev/null /dev/fuse
	says "a device that is none" 'cannot mount on' "$BRACE" mount "$dir"
	mount -t tmpfs none /dev
	mknod /dev/null c 1 3
	says "no device" 'there is no device /dev/fuse' "$BRACE" mount "$dir"
}

if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
	chmod 755 "$T"
	export -f ordinary as_user ok not_ok result diag says until_true mounted not_mounted of_mount server_of watchdog_of no_server
	T=$T D=$D LIMIT=$LIMIT TAP_N=$TAP_N unshare -m bash -c 'ordinary; echo "$TAP_N" >"$T/tap_n"' | tee "$T/ordinary"
	TAP_N=$(cat "$T/tap_n")
	TAP_FAILED=$((TAP_FAILED + $(grep -c '^not ok' "$T/ordinary")))
else
	skip "an ordinary user" "only root may make the device theirs"
fi

# --- trace-cmd, which finds the tree where the kernel's would be
trace_cmd() { # TAP lines; in a mount namespace of our own
	awk '$3 == "tracefs" { print $2 }' /proc/mounts | xargs -rn 1 umount -l # trace-cmd takes the first
	mount -t tracefs none /sys/kernel/tracing && mount --bind "$D" /sys/kernel/tracing || return
	[ "$(trace-cmd list -t)" = "$(cat "$D/available_tracers")" ]
	result "trace-cmd list -t" $?
	[ "$(trace-cmd list -C)" = "$(cat "$D/trace_clock")" ]
	result "trace-cmd list -C" $?
	trace-cmd list -o | sed 's/^no//' | sort >"$T/out"
	ls "$D/options" | sed 's/^no//' | sort | diff - "$T/out" >"$T/differences"
	result "trace-cmd list -o" $? "$T/differences"
	trace-cmd stop && [ "$(cat "$D/tracing_on")" = 0 ] && trace-cmd restart && [ "$(cat "$D/tracing_on")" = 1 ]
	result "trace-cmd stop, restart" $?
	trace-cmd clear && trace-cmd show | cmp -s - "$D/trace"
	result "trace-cmd clear, show" $?
	mkdir "$D/instances/tc" && [ "$(trace-cmd list -B)" = tc ] && trace-cmd stop -B tc &&
		[ "$(cat "$D/instances/tc/tracing_on")" = 0 ] && trace-cmd show -B tc | cmp -s - "$D/instances/tc/trace"
	result "trace-cmd of an instance" $?
}

if ! command -v trace-cmd >/dev/null; then
	skip "trace-cmd" "it is not installed"
elif [ "$(id -u)" -eq 0 ] && unshare -m mount -t tracefs none /sys/kernel/tracing 2>/dev/null; then
	"$BRACE" mount "$D"
	export -f trace_cmd ok not_ok result diag
	T=$T D=$D TAP_N=$TAP_N unshare -m bash -c 'trace_cmd; echo "$TAP_N" >"$T/tap_n"' 2>"$T/err" | tee "$T/trace-cmd"
	TAP_N=$(cat "$T/tap_n")
	TAP_FAILED=$((TAP_FAILED + $(grep -c '^not ok' "$T/trace-cmd")))
	"$BRACE" umount "$D"
else
	skip "trace-cmd" "the kernel's tracefs, over which the tree is laid, cannot be mounted here"
fi

# --- what is said of a directory that does not do
says "no directory" "there is no directory $T/none" "$BRACE" mount "$T/none"
says "a file" 'is not a directory' "$BRACE" mount "$0"
says "not empty" 'is not empty' "$BRACE" mount "$T"
says "something else" 'something else is mounted on /proc' "$BRACE" mount /proc
says "umount of no tree" "there is no tree of brace's on $D" "$BRACE" umount "$D"
finish
