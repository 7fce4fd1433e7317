#!/bin/bash
# SPDX-License-Identifier: MIT
# Exports and the page of a trace of a program and the kernel, recorded on a real kernel (tests/vm/exports.sh is the guest's part): calls,
# times and events are those of `brace report` and `brace report -k` together. The program has several threads, each of which is two
# of the trace. Skipped where QEMU or a kernel's image is missing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
: "${BRACE:?is the path of the brace executable}"
out=$(mktemp -d "${TMPDIR:-/tmp}/brace-exports.XXXXXX") || exit 1
trap 'rm -rf "$out"' EXIT
cat >"$out/threads.c" <<'C'
#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>
#define N __attribute__((noinline, noclone))
static int ends[2];
N int read_file(const char *path)
{
	char text[512];
	int fd = open(path, O_RDONLY), n = (int)read(fd, text, sizeof(text));

	close(fd);
	return n;
}
N void rest(void)
{
	struct timespec t = { 0, 1000000 };

	nanosleep(&t, NULL);
}
N int handle(int n)
{
	if (n % 3 == 0)
		rest();
	return read_file("/proc/self/status") + (int)write(ends[1], "x", 1);
}
static void *worker(void *arg)
{
	for (int i = 0; i < 9; i++)
		handle(i);
	return arg;
}
int main(void)
{
	pthread_t threads[3];
	char c;

	if (pipe(ends))
		return 1;
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	for (int i = 0; i < 27; i++)
		if (read(ends[0], &c, 1) != 1)
			return 2;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
C
cc -O1 -fno-optimize-sibling-calls -pthread -o "$out/threads" "$out/threads.c" || exit 1
# Its share of a busy machine may be small.
export BRACE_VM_LIMIT=${BRACE_VM_LIMIT:-600}
tracer=$(command -v trace-cmd)
# shellcheck disable=SC2086
said=$("$here/../vm/run" ${tracer:+--with "$tracer"} --with "$BRACE" --with "$(dirname "$BRACE")/libbrace-agent.so" --with "$out/threads" --out "$out" \
	"$here/../vm/exports.sh" "$BRACE" "$out/threads" $tracer 2>&1)
status=$?
[ $status != 77 ] || { echo "1..0 # SKIP $said"; exit 0; }
[ $status = 0 ] || { printf '%s\n' "# ${said//$'\n'/$'\n'# }" "Bail out! tests/vm/run: status $status"; exit 1; }

n=0
# result NAME STATUS: a line of TAP, and what $out/log says if it is not good.
result() {
	n=$((n + 1))
	if [ "$2" = 0 ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		tail -n 20 "$out/log" | sed 's/^/# /'
	fi
}
merged=$out/merged.brace
{ "$BRACE" report --json "$merged" && "$BRACE" report -k --json "$merged" | tail -n +2; } >"$out/report" 2>"$out/log" &&
	grep -q '"name":"worker".*"calls":3,' "$out/report" && grep -q '"name":"vfs_read","module":"kernel"' "$out/report"
result "report and report -k have the threads' calls, and the kernel's" $?
for format in chrome perfetto firefox speedscope; do
	"$BRACE" export --to $format "$merged" -o "$out/$format" 2>"$out/log" &&
		ACCOUNT=$out/account python3 "$here/../run/exports.py" $format "$out/report" "$out/$format" >"$out/log" 2>&1
	result "$format: what it shows is both reports'" $?
done

# --- formats that add calls up: the kernel's calls lie in the program's
shows() { # FORMAT OPTION...: exports to $out/nested.FORMAT; nothing is left out but events
	"$BRACE" export --to "$@" "$merged" -o "$out/nested.$1" 2>"$out/log" &&
		! grep -vE 'has no place for some of the trace, which is left out: [0-9]+ events?$' "$out/log"
}
shows csv && python3 "$here/../run/exports.py" csv "$out/report" "$out/nested.csv" >"$out/log" 2>&1 && grep -q ',vfs_read,kernel,returned,' "$out/nested.csv"
result "csv: its rows are both reports'" $?
shows folded --weight calls && mv "$out/nested.folded" "$out/nested.calls" && shows folded --weight total && mv "$out/nested.folded" "$out/nested.total" &&
	shows folded && shows dot && shows pprof && shows callgrind && shows flamegraph
result "folded, dot, pprof, callgrind and flamegraph leave nothing out but events" $?
python3 "$here/../run/nested.py" "$out"/nested.{csv,folded,calls,dot,plain,marked} >"$out/log" 2>&1
result "folded, dot: each call of the kernel's lies in the program's call that made it" $?
grep -qE '^threads;worker;handle;read_file;read;ksys_read_\[k\];vfs_read_\[k\] [0-9]+$' "$out/nested.folded" && ! grep -qE '_\[k\];[^; ]*[^]; ][; ]' "$out/nested.folded"
result "folded: a read is below read(), and nothing of the program's is below the kernel" $?
python3 "$here/../run/exports.py" folded "$out/nested.marked" "$out/nested.folded" self >"$out/log" 2>&1 &&
	python3 "$here/../run/exports.py" folded "$out/nested.marked" "$out/nested.total" total >"$out/log" 2>&1
result "folded: own times and totals by function" $?
python3 "$here/../run/exports.py" flamegraph "$out/nested.marked" "$out/nested.flamegraph" >"$out/log" 2>&1 && grep -q 'data-name="vfs_read_\[k\]"' "$out/nested.flamegraph"
result "flamegraph: frames lie in each other" $?
if command -v callgrind_annotate >"$out/log"; then
	(cd "$out" && callgrind_annotate --tree=caller --inclusive=yes --show-percs=no --threshold=100 nested.callgrind) >"$out/shown" 2>"$out/log" &&
		python3 "$here/../run/exports.py" callgrind "$out/report" "$out/shown" >"$out/log" 2>&1
	result "callgrind: callgrind_annotate's totals are both reports'" $?
fi
if command -v protoc >"$out/log"; then
	protoc --decode=Profile --proto_path="$here/../run" pprof.proto <"$out/nested.pprof" >"$out/decoded" 2>"$out/log" &&
		python3 "$here/../run/pprof.py" "$out/decoded" "$out/nested.plain" >"$out/log" 2>&1
	result "pprof: its samples are these stacks'" $?
fi
for format in uftrace ctf; do
	"$BRACE" export --to $format "$merged" -o "$out/without.$format" >"$out/log" 2>&1 && grep -q "warning: $format does not show the kernel's part" "$out/log"
	result "$format says that it leaves the kernel's part out" $?
done
# --- two traces of one run, each by its own tool, on one clock: trace-cmd merges them
if [ -s "$out/kernel.dat" ]; then
	cat >"$out/merged.py" <<'P'
import collections, json, re, sys
at, entries, until, sleeps, sources = 0.0, collections.Counter(), collections.Counter(), 0, set()
for line in open(sys.argv[1]):
    row = re.match(r" *(\S+\.dat): +(\S+)-(\d+) +\[\d+\] +(\d+\.\d+): (\w+): *(.*)", line)
    if not row:
        continue
    source, task, tid, now, event, text = row.groups()
    assert float(now) >= at, ("the lines of both files are in one order", line)
    at = float(now)
    sources.add(source)
    if event == "funcgraph_entry":
        us, name, end = re.search(r"(?:([\d.]+) us +)?\| +(\w+)\(\)(;| \{)$", text).groups()
        entries[name] += 1
        # trace-cmd looks for a call's end in the call's own file, and shows one without calls in it in one line.
        until[tid] = 0 if name != "rest" else at + float(us) / 1e6 if us else float("inf")
    elif event == "funcgraph_exit":
        until[tid] = 0
    elif event.startswith("sys_enter") and task == "threads":
        assert at <= until[tid], ("the kernel has a sleep outside of rest()", line)
        sleeps += 1
rows = {row["name"]: row["calls"] for row in [json.loads(line) for line in open(sys.argv[2])][1:]}
assert len(sources) == 2 and entries == rows and sleeps == rows["rest"] > 0, (sources, entries, rows, sleeps)
P
	for format in trace.dat trace.dat.v7; do
		"$BRACE" export --to $format "$out/user.brace" -o "$out/user.dat" 2>"$out/log" && "$BRACE" report --json "$out/user.brace" >"$out/rows" &&
			trace-cmd report -i "$out/user.dat" -i "$out/kernel.dat" >"$out/lines" 2>"$out/log" && python3 "$out/merged.py" "$out/lines" "$out/rows" >"$out/log" 2>&1
		result "$format: trace-cmd merges it with its own trace of the kernel, whose sleeps lie in the calls that sleep" $?
	done
else
	n=$((n + 1))
	echo "ok $n - trace-cmd merges two traces # SKIP no trace-cmd"
fi
"$BRACE" html "$merged" -o "$out/page.html" 2>"$out/log" && python3 - "$here/../run" "$out/page.html" "$out/report" >"$out/log" 2>&1 <<'P'
import collections, sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import pages
page, report, rows = pages.Page(sys.argv[2]), pages.lines(sys.argv[3]), collections.defaultdict(pages.Row)
lanes = [pages.Lane(page, i, rows) for i in range(len(page.about["lanes"]))]
pages.compare_functions(page, rows, report[1:], False)
pages.compare_events(page, lanes, report[1:])
homes = [about for about in page.about["lanes"] if "home" in about]
assert len(homes) == 4 and all(not about["pid"] for about in homes), homes
P
result "html: so are the page's figures, and each thread has a lane for the kernel" $?
echo "1..$n"
