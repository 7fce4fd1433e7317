#!/bin/bash
# perf-tools (Debian's perf-tools-unstable), unmodified, in `brace shell`: each script that needs no
# probes of the kernel's does what it says, over a program that calls what it is told to; each of
# the others has its reason below, and ends with an error of its own.
. "$(dirname "$0")/lib.sh"
PACKAGE=perf-tools-unstable
[ "$(id -u)" -eq 0 ] || { echo '1..0 # SKIP perf-tools want to be root'; exit 0; }
mkdir -p "$SOURCES"
if [ ! -d "$SOURCES/$PACKAGE" ] && ! (cd "$SOURCES" && apt-get download -qq "$PACKAGE" && dpkg-deb -x "$PACKAGE"_*.deb "$PACKAGE.new" &&
	rm -f "$PACKAGE"_*.deb && mv "$PACKAGE.new" "$PACKAGE") >"$T/source.log" 2>&1; then
	diag "$T/source.log"
	printf '1..0 # SKIP the package %s could not be had\n' "$PACKAGE"
	exit 0
fi
TOOLS=$SOURCES/$PACKAGE/usr/sbin

# SCRIPT ARGUMENTS: why it cannot be
cat >"$T/cannot" <<'END'
bitesize-perf 1		| block devices
cachestat-perf 1	| functions of the kernel's page cache
execsnoop-perf -d 1	| kprobe_events
iolatency-perf 1 1	| block devices
iosnoop-perf -d 1	| block devices
kprobe-perf -d 1 p:vfs_read	| kprobe_events
opensnoop-perf -d 1	| kprobe_events
tcpretrans-perf		| kprobe_events
uprobe-perf -d 1 p:/usr/bin/env:main	| a symbol of a stripped file
END
ELSEWHERE="perf-stat-hist-perf syscount-perf" # use perf, which does not look at the tree

mkfifo "$T/to" "$T/from"
exec {TO}<>"$T/to" {FROM}<>"$T/from"
"$FIXTURES/answers" <"$T/to" >"$T/from" &
PID=$!
ON_EXIT+=("kill $PID")
echo 1 >&"$TO"
read -rt "$LIMIT" -u "$FROM" _

cat >"$T/inside.sh" <<'END'
cd /sys/kernel/tracing
# during COMMAND...: the command, whose output goes to $T/out; when it has set up and sleeps the
# program makes 1000 calls
during() {
	local tries tool
	"$@" >"$T/out" 2>&1 </dev/null &
	tool=$!
	for ((tries = 0; tries < 600; tries++)); do
		! pgrep -P "$tool" -x sleep >/dev/null || break
		read -rt 0.05 _ <> <(:)
	done
	echo 1000 >"$T/to"
	read -rt 30 _ <"$T/from"
	wait "$tool"
}
is() { # NAME STATUS
	if [ "$2" -eq 0 ]; then echo "ok $1"; else echo "not ok $1"; sed 's/^/# /' "$T/out" | tail -n 12; fi
}
during "$TOOLS/funccount-perf" -d 3 leaf
awk '$1 == "leaf" && $2 == 1000 { found = 1 } END { exit !found }' "$T/out"
is "funccount counts all calls" $?
during "$TOOLS/functrace-perf" -d 3 leaf
[ "$(grep -c ': leaf <-request$' "$T/out")" -eq 1000 ]
is "functrace has them" $?
during "$TOOLS/funcgraph-perf" -d 3 request
[ "$(grep -c ' leaf();$' "$T/out")" -eq 1000 ] && grep -q 'request() {$' "$T/out"
is "funcgraph" $?
during "$TOOLS/funcgraph-perf" -d 3 -m 1 request
[ "$(grep -c ' leaf();$' "$T/out")" -eq 0 ] && grep -q 'request();$' "$T/out"
is "funcgraph -m" $?
during "$TOOLS/funcslower-perf" -d 3 request 1
grep -qE 'us +\|  *} /\* request \*/$' "$T/out"
is "funcslower" $?
during "$TOOLS/tpoint-perf" -d 3 syscalls:sys_enter_read
grep -qE 'answers-[0-9]+ .*: sys_enter_read: fd: ' "$T/out"
is "tpoint" $?
"$TOOLS/tpoint-perf" -l >"$T/out" 2>&1
grep -qx 'syscalls:sys_enter_read' "$T/out"
is "tpoint -l" $?
during "$TOOLS/killsnoop-perf" -d 3
grep -q '^Ending tracing' "$T/out" && ! grep -qi error "$T/out"
is "killsnoop" $?
echo function >current_tracer
"$TOOLS/reset-ftrace-perf" -f >"$T/out" 2>&1
[ "$(cat current_tracer)" = nop ]
is "reset-ftrace" $?
while read -r line; do
	# shellcheck disable=SC2086 # words of the table
	set -- ${line%%|*}
	timeout 20 "$TOOLS/$1" "${@:2}" >"$T/out" 2>&1 </dev/null
	grep -qE '^ERROR|kprobe_events|uprobe_events|No such file' "$T/out"
	is "$1 cannot be (${line##*| }), and says so" $?
done <"$T/cannot"
END
export T TOOLS
timeout -k 5 "$LIMIT" "$BRACE" shell -p "$PID" -- bash "$T/inside.sh" >"$T/results" 2>"$T/err" </dev/null
result "the shell ends" $? "$T/err"
while read -r line; do
	case $line in
	'ok '*) ok "${line#ok }" ;;
	'not ok '*) not_ok "${line#not ok }" ;;
	*) echo "$line" ;;
	esac
done <"$T/results"
{ awk '{ print $1 }' "$T/cannot"; printf '%s\n' $ELSEWHERE; sed -n 's/.*TOOLS\/\([a-z-]*-perf\)".*/\1/p' "$T/inside.sh"; } | sort -u |
	comm -13 - <(cd "$TOOLS" && printf '%s\n' *-perf | sort) >"$T/missing"
[ ! -s "$T/missing" ]
result "no script is without a word" $? "$T/missing"
finish
