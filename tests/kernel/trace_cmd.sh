#!/bin/bash
# SPDX-License-Identifier: MIT
# brace -K against trace-cmd and the kernel's own text on a real kernel: tests/vm/trace-cmd.sh is the guest's part. A boot of its own,
# beside that of the test `kernel`. Skipped where QEMU, a kernel's image or trace-cmd is missing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
: "${BRACE:?is the path of the brace executable}"
[ -x /usr/bin/trace-cmd ] || { echo "1..0 # SKIP no trace-cmd"; exit 0; }
out=$(mktemp -d "${TMPDIR:-/tmp}/brace-trace-cmd.XXXXXX") || exit 1
trap 'rm -rf "$out"' EXIT
lib=$(realpath "$here/../vm/lib.sh")
# Its share of a busy machine may be small.
export BRACE_VM_LIMIT=${BRACE_VM_LIMIT:-600}
said=$("$here/../vm/run" --with "$BRACE" --with "$lib" --with /usr/bin/trace-cmd --out "$out" "$here/../vm/trace-cmd.sh" "$BRACE" "$lib" 2>&1)
status=$?
[ $status != 77 ] || { echo "1..0 # SKIP $said"; exit 0; }
[ $status = 0 ] || { printf '%s\n' "# ${said//$'\n'/$'\n'# }" "Bail out! tests/vm/run: status $status"; exit 1; }
gunzip "$out"/*.gz
said=$(grep -v 'records [io]' <<<"$said" | grep -v '^tar: ')

n=0
# result NAME GOOD SAID: a line of TAP; SAID is shown if it is not good.
result() {
	n=$((n + 1))
	if [ "$2" = 0 ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		printf '%s\n' "$3" | tail -n 20 | sed 's/^/# /'
	fi
}
# same NAME TITLE [twice]
same() {
	local words
	words=$(python3 "$here/same_records.py" "$BRACE" "$out" "$1" ${3:+"$3"} 2>&1)
	result "$2" $? "$said
$words"
	words=$(cat "$out/$1.said")
	grep -q 'none lost' <<<"$words"
	result "$2: none lost" $? "$words"
}
same graph 'function_graph and events: the records of trace-cmd'
same function "function with its callers, of a program's children, too: the records of trace-cmd"
same events 'events, a filter (-f) and stacks (-R): the records of trace-cmd'
same depth '-g and --max-graph-depth: the calls of trace-cmd' twice
words=$(diff "$out/text.graph" "$out/text.trace" 2>&1)
result "function_graph: brace's text is the kernel's own of the same buffer" $? "$words"
[ "$(grep -c 'ksys_write() {' "$out/text.trace")" -ge 50 ] && grep -q sched_switch "$out/text.trace"
result 'that text has 50 writes, and switches' $? "$(head -n 40 "$out/text.trace")"
grep -q 'something is left' <<<"$said"
result 'nothing is left in tracefs' $((!$?)) "$said"
echo "1..$n"
