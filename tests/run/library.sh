#!/bin/bash
# libbrace: a C program's figures of a trace are those of `brace report` and `brace query`; what the header promises of
# errors, threads, forks and memory; the header as C99 and C++17; the exported symbols.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
: "${LIBRARY:?is the directory of the programs over libbrace}"
ROOT=$(cd "$HERE/../.." && pwd)
FIGURES=$LIBRARY/library-figures
CHECKS=$LIBRARY/library-checks

record() { # FILE ARGUMENT...
	timeout -k 5 "$LIMIT" "$BRACE" record -q --mode block -o "$T/$1" "${@:2}" >"$T/out" 2>"$T/err" </dev/null
}
figures() { timeout -k 5 "$LIMIT" "$FIGURES" "$@" 2>"$T/err"; }
report() { "$BRACE" report --no-pager --json "$@" 2>"$T/err"; }
query() { "$BRACE" query --no-pager --json "$@" 2>"$T/err"; }

# python3 CODE: the files of $T are sets of JSON lines by load(NAME), without those that have a schema.
compare() { # NAME CODE
	cat >"$T/compare.py" <<'P'
import json, os, sys
def load(name):
    with open(os.path.join(os.environ['T'], name), errors='replace') as lines:
        return [x for x in map(json.loads, lines) if 'schema' not in x]
def by(rows, *keys):
    return sorted(rows, key=lambda row: [str(row[key]) for key in keys])
def same(a, b, least):
    assert len(a) >= least, f'only {len(a)} rows'
    assert len(a) == len(b), f'{len(a)} rows and {len(b)}'
    for x, y in zip(a, b):
        assert x == y, f'{x} is not {y}'
P
	printf '%s\n' "$2" >>"$T/compare.py"
	T=$T check "$1" python3 "$T/compare.py"
}

# --- figures -----------------------------------------------------------------------------------

agree() { # NAME: of the trace of that name, and the least number of its functions
	local file=$T/$1
	figures report "$file" >"$T/report" && report "$file" >"$T/reported"
	compare "$1: the rows of brace report" "
def plain(row):
    return {k.removesuffix('_ns'): v or 0 for k, v in row.items() if k not in ('self_percent', 'event')}
same(by(map(plain, load('report')), 'name', 'module', 'calls'), by(map(plain, load('reported')), 'name', 'module', 'calls'), $2)"
	figures sums "$file" >"$T/sums" && figures columns "$file" >"$T/columns"
	query "$file" "SELECT name, module, count(*) AS calls, count(dur) AS ended, total(dur) AS dur, total(self) AS self
		FROM slice GROUP BY name, module" >"$T/summed"
	compare "$1: sums over calls are those of brace query" "
import collections
sums = collections.defaultdict(lambda: [0, 0, 0, 0])
for row in load('sums'):
    for i, column in enumerate(('calls', 'ended', 'dur', 'self')):
        sums[row['name'], row['module']][i] += row[column]
truth = {(row['name'], row['module']): [int(row[c]) for c in ('calls', 'ended', 'dur', 'self')] for row in load('summed')}
same(sorted(sums.items()), sorted(truth.items()), $2)"
	check_that "$1: columns have the same" cmp "$T/sums" "$T/columns"
	figures calls "$file" >"$T/calls"
	query "$file" "SELECT ts + dur AS ts, dur, self, depth, utid, name FROM slice WHERE dur IS NOT NULL" >"$T/slices"
	# A beginning and a duration are rounded each.
	compare "$1: each call is a row of slice" "
def key(row):
    return row['utid'], row['depth'], row['name'], row['dur'], row['self'], row['ts']
a, b = sorted(map(key, load('calls'))), sorted(map(key, load('slices')))
same([x[:-1] for x in a], [x[:-1] for x in b], $2)
assert all(abs(x[-1] - y[-1]) <= 1 for x, y in zip(a, b))"
	figures info "$file" >"$T/info"
	query "$file" 'SELECT utid, tid, upid, pid, thread.name, thread.start_ts, records, lost FROM thread JOIN process USING (upid)' \
		>"$T/thread.rows"
	"$BRACE" info --json "$file" >"$T/informed" 2>"$T/err"
	compare "$1: threads, and the numbers of brace info" "
info = load('info')
same([x for x in info if 'utid' in x], load('thread.rows'), 1)
first = load('informed')[0]
assert first['command'] == info[0]['command'] and first['cpus'] == info[0]['cpus'], first
assert first['calls'] == info[0]['calls'] and first['records'] == info[0]['records'], first"
}

record threads -- "$FIXTURES/threads"
agree threads 5
record jumps -- "$FIXTURES/jumps"
agree jumps 3
cp "$T/reported" "$T/jumps.reported"
record contexts -- "$FIXTURES/contexts"
agree contexts 3
record forks -- "$FIXTURES/forks"
agree forks 2
record threshold --threshold 5us -- "$FIXTURES/threads"
figures report "$T/threshold" >"$T/report" && report "$T/threshold" >"$T/reported"
compare 'a threshold: the rows of brace report' "
def plain(row):
    return {k.removesuffix('_ns'): v or 0 for k, v in row.items() if k not in ('self_percent', 'event')}
same(by(map(plain, load('report')), 'name', 'module', 'calls'), by(map(plain, load('reported')), 'name', 'module', 'calls'), 1)"

name=$(report "$T/threads" | sed -n '2s/.*"name":"\([^"]*\)".*/\1/p')
figures report "$T/threads" "filter=$name" from=25% >"$T/report" && report "$T/threads" -l "$name" --from 25% >"$T/reported"
compare 'a part of the trace is the one that the options choose' "
same([(x['name'], x['calls'], x['total'], x['self']) for x in load('report')],
     [(x['name'], x['calls'], x['total_ns'], x['self_ns']) for x in load('reported')], 1)"

# --- events ------------------------------------------------------------------------------------

record events -e 'truth:*' -- "$FIXTURES/events"
figures events "$T/events" >"$T/events.lib"
query "$T/events" 'SELECT e.id, ts, utid, cpu, system, e.name, key, int_value, string_value FROM ftrace_event e
	LEFT JOIN args USING (arg_set_id)' >"$T/args"
compare 'events and their fields are those of brace query' "
truth = {}
for row in load('args'):
    event = truth.setdefault(row['id'], (row['ts'], row['utid'], row['cpu'], row['system'], row['name'], {}))
    if row['key'] is not None:
        event[-1][row['key']] = row['string_value'] if row['int_value'] is None else row['int_value']
found = [(x['ts'], x['utid'], x['cpu'], x['system'], x['name'], x['fields']) for x in load('events.lib')]
same(sorted(found, key=repr), sorted(truth.values(), key=repr), 100)"
# The program prints the truth about its own events (tests/targets/events.c).
grep '^widths: ' "$T/out" >"$T/said"
compare 'lines of events are as the program says' "
said = [x.rstrip('\n') for x in open(os.path.join(os.environ['T'], 'said'))]
lines = [x['line'] for x in load('events.lib') if x['name'] == 'widths']
same(sorted(lines), sorted(said), 10)"

# --- promises ----------------------------------------------------------------------------------

for one in errors order threads forks quiet memory damage; do
	check "promise: $one" "$CHECKS" "$one" "$T/contexts"
done
record few -e truth:widths -e truth:texts -- "$FIXTURES/events"
for one in quiet memory damage; do
	check "promise: $one, with events" "$CHECKS" "$one" "$T/few"
done
check 'promise: threads, of a trace of many' "$CHECKS" threads "$T/threads"
"$FIGURES" sums "$T/events" filter=no_such_function >"$T/out" 2>"$T/err"
check_that 'an error is the sentence that brace says' grep -q 'no function of the trace matches' "$T/err"
"$FIGURES" query "$T/events" 'SELECT name FROM nowhere' >"$T/out" 2>"$T/err"
check_that 'an error of SQL names the table of tables' grep -q 'no such table: nowhere; SELECT \* FROM brace_table' "$T/err"

# --- Python ------------------------------------------------------------------------------------

BUILD=$(dirname "$BRACE")
export BRACE_LIBRARY=$BUILD/libbrace.so.0 PYTHONPATH=$ROOT/python PYTHONDONTWRITEBYTECODE=1
report -s self "$T/threads" >"$T/reported"
figures calls "$T/contexts" >"$T/calls"
compare 'brace.py: report, query, calls, columns, events and errors' "
import brace
path = os.environ['T'] + '/'
with brace.Trace(path + 'threads') as trace:
    rows = trace.report(sort='self')
    same(sorted((x['name'], x['calls'], x['self'] or 0) for x in rows),
         sorted((x['name'], x['calls'], x['self_ns'] or 0) for x in load('reported')), 5)
    (count, total), = trace.query('SELECT count(*), sum(dur) FROM slice')
    batches = list(trace.columns('kind', 'duration', n=1000))
    assert all(len(x['kind']) <= 1000 for x in batches)
    assert sum(int(d) for x in batches for d in x['duration']) == total
    assert count == trace.info['calls'] == sum(int(k) in (1, 3, 4) for x in batches for k in x['kind'])
    name = rows[0]['name']
    assert {x['name'] for x in trace.report(filter=[name], from_='25%')} == {name}
    for wrong in (lambda: trace.report(filter='no_such_function'), lambda: brace.Trace('/nonexistent'),
                  lambda: trace.report(sort='colour')):
        try:
            wrong()
        except brace.Error as error:
            assert error.errno and error.strerror, error
        else:
            raise AssertionError('no error')
with brace.Trace(path + 'contexts') as trace:
    same([(x['time'], x['duration'], x['self'], x['depth'], x['name'])
          for x in trace.calls(kinds=brace.LEAVE | brace.WHOLE)],
         [(x['ts'], x['dur'], x['self'], x['depth'], x['name']) for x in load('calls')], 100)
with brace.Trace(path + 'events') as trace:
    same([x['fields'] for x in trace.calls(kinds=brace.EVENT)], [x['fields'] for x in load('events.lib')], 100)
    assert trace.settings['buffer_percent'] and trace.threads and trace.processes and trace.events"
check_that 'its example runs' python3 "$ROOT/python/slowest.py" "$T/threads"

# --- sessions ----------------------------------------------------------------------------------

mkdir "$T/session" && cd "$T/session" || exit
for what in life refusals ignoring reaping threads attached; do
	timeout -k 5 "$LIMIT" "$LIBRARY/library-sessions" "$what" "$FIXTURES/answers" >"$T/out" 2>"$T/err"
	status=$?
	if [ $status -eq 77 ]; then
		skip "sessions: $what" "$(tail -n 1 "$T/err")"
	else
		result "sessions: $what" $status "$T/err"
	fi
done
cd "$HERE" || exit
compare 'brace.py: a session' "
import brace
path = os.environ['T'] + '/session/'
with brace.Session(['$FIXTURES/jumps'], name='python', filter=['dive', 'after'], buffer_size='4M') as session:
    assert brace.Session.names() == ['python'] == [session.name]
    assert session['set_ftrace_filter'].split() == ['dive', 'after']
    session['trace_options'] = 'funcgraph-tail'
    session.wait()
    session.extract(path + 'python')
    assert 'dive' in session['trace'] and 'funcgraph-tail' in session['trace_options'].split()
    try:
        session['current_tracer'] = 'nonesuch'
    except brace.Error as error:
        assert error.errno == 22, error
    else:
        raise AssertionError('no error')
assert brace.Session.names() == []
with brace.Trace(path + 'python') as trace:
    rows = {x['name']: x['calls'] for x in trace.report()}
truth = {x['name']: x['calls'] for x in load('jumps.reported') if x['name'] in ('dive', 'after')}
assert rows == truth and rows['dive'] > 5, (rows, truth)"
check_that 'no session is left' test -z "$("$BRACE" sessions)"

# --- as others build it ------------------------------------------------------------------------

export PKG_CONFIG_SYSROOT_DIR=$T/root LD_LIBRARY_PATH
if command -v pkg-config >/dev/null && DESTDIR=$T/root meson install -C "$BUILD" --no-rebuild --quiet >"$T/out" 2>&1; then
	PKG_CONFIG_PATH=$(dirname "$(find "$T/root" -name libbrace.pc)")
	LD_LIBRARY_PATH=$(dirname "$(find "$T/root" -name libbrace.so.0)")
	export PKG_CONFIG_PATH
	# shellcheck disable=SC2046 # words
	check 'a C99 program, by pkg-config, of what was installed' cc -std=c99 -Wall -Wextra -pedantic -Werror \
		-D_POSIX_C_SOURCE=200809L $(pkg-config --cflags libbrace) "$ROOT/tests/library/figures.c" -o "$T/figures" \
		$(pkg-config --libs libbrace)
	check 'it runs' "$T/figures" info "$T/threads"
else
	skip 'a C99 program, by pkg-config, of what was installed' 'no pkg-config, or no meson'
fi
LD_LIBRARY_PATH=$BUILD
if command -v c++ >/dev/null; then
	cat >"$T/version.cc" <<'C'
#include <brace.h>
#include <brace/event.h>
#include <iostream>
int main(int, char **argv)
{
	brace_trace *trace = nullptr;
	if (brace_trace_open(argv[1], &trace) < 0) { std::cerr << brace_error() << '\n'; return 1; }
	brace_calls *calls = nullptr;
	brace_part part = { sizeof part, nullptr, 1u << BRACE_CALL_ENTER };
	const brace_call *call = nullptr;
	if (brace_calls_open(trace, &part, &calls) < 0) return 1;
	unsigned long n = 0;
	while (brace_calls_next(calls, &call) > 0) n += call->kind == BRACE_CALL_ENTER;
	brace_calls_close(calls);
	brace_trace_close(trace);
	return n == 0;
}
C
	check 'a C++17 program' c++ -std=c++17 -Wall -Wextra -pedantic -Werror -I"$ROOT/include" "$T/version.cc" \
		-o "$T/version" -L"$BUILD" -lbrace
	check 'it runs' "$T/version" "$T/threads"
else
	skip 'a C++17 program' 'no C++ compiler'
fi

# Examples of the manual pages are programs: built, and run.
for page in "$ROOT"/man/*.3; do
	awk '/^\.Bd -literal/ { on = 1; next } /^\.Ed/ { on = 0 } on' "$page" | sed 's/\\e/\\/g' >"$T/example.c"
	check "the example of ${page##*/} is built" cc -std=c99 -Wall -Wextra -pedantic -Werror -I"$ROOT/include" "$T/example.c" \
		-o "$T/example" -L"$BUILD" -lbrace
	traced=$T/jumps
	[ "${page##*/}" != brace_session.3 ] || traced=$FIXTURES/jumps
	cd "$T" && check 'it runs' "$T/example" "$traced"
done
for f in $(sed 's/@.*//' <(nm -D --defined-only "$BUILD/libbrace.so.0" | awk '$2 != "A" { print $3 }')); do
	grep -qE "^\.F?[nN]m? ${f%_count}\b|Fn $f\b" "$ROOT"/man/*.3 || echo "$f"
done >"$T/undocumented"
check_that 'every function stands in a manual page' test ! -s "$T/undocumented"

nm -D --defined-only "$BUILD/libbrace.so.0" | awk '$2 != "A" { print $3 }' | sort >"$T/exported"
grep -oE '\bbrace_[a-z_]+\(' "$ROOT/include/brace.h" | tr -d '(' | sort -u | sed '/^brace_trace$/d; /^brace_session$/d; s/$/@@BRACE_0.1/' >"$T/declared"
check_that 'what the header declares is exported, with its version, and nothing else' diff "$T/declared" "$T/exported"
sed -n 's/^ \(brace_.*@BRACE_0.1\) .*/\1/p' "$ROOT/debian/libbrace0.symbols" | sed 's/@/@@/' >"$T/packaged"
check_that "and the package's list of symbols has it" diff "$T/packaged" "$T/exported"

# What programs were built against (made by abidw --exported-interfaces-only --drop-private-types --headers-dir include
# --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --no-write-default-sizes --type-id-style hash). Its bit 4
# is a change that they meet, bit 1 a failure of its own.
if command -v abidiff >/dev/null; then
	abidiff --no-added-syms --suppressions "$ROOT/tests/library/brace.abignore" "$ROOT/tests/library/libbrace.abi" \
		"$BUILD/libbrace.so.0" >"$T/abidiff" 2>&1
	status=$?
	if [ $((status & 3)) -ne 0 ]; then
		skip 'the interface is the one that programs know' 'abidiff cannot read it'
	else
		result 'the interface is the one that programs know' "$status" "$T/abidiff"
	fi
else
	skip 'the interface is the one that programs know' 'no abidiff'
fi
finish
