#!/bin/bash
# `brace html` of 21 million calls has the longer ones: at most ten million, those that `brace report --min-duration` counts. It says
# so, in the page, too, and needs no more memory than 200 MB.
. "$(dirname "$0")/../run/lib.sh"
need gcc
LIMIT=600
cat >"$T/calls.c" <<'end'
volatile unsigned sum;
__attribute__((noinline)) void leaf(unsigned n) { sum = sum + n; }
__attribute__((noinline)) void twig(unsigned n) { leaf(n); leaf(n + 1); }
int main(void) { for (unsigned i = 0; i < 7000000; i++) twig(i); return 0; }
end
gcc -O1 -o "$T/calls" "$T/calls.c" || not_ok "gcc"
record --mode block -l leaf -l twig -- "$T/calls"

# member NAME: of the page's JSON.
member() { grep -o -m 1 "\"$1\":\"*[0-9a-z]*" "$T/page.html" | head -n 1 | sed 's/.*[:"]//'; }
within() { # MEGABYTES COMMAND...
	python3 -c 'import resource, subprocess, sys
status = subprocess.call(sys.argv[2:])
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
print(most, "MB", file=sys.stderr)
sys.exit(status or most > int(sys.argv[1]))' "$@"
}
within 200 timeout -k 5 "$LIMIT" "$BRACE" html -o "$T/page.html" "$T/trace" >"$T/out" 2>"$T/err"
result "the page is written in 200 MB" $? "$T/err"
check "it says which calls it has" grep -Eq 'warning: a browser takes some 20 million calls: the page has those of [0-9]+ ns' "$T/err"
limit=$(member min_ns) calls=$(member calls)
check_that "the page knows" [ "${limit:-0}" -gt 0 ]
check_that "it is a part of all" [ "$(member part) $(member of_calls)" = "true 21000000" ]
check_that "at most ten million" [ "${calls:-99999999}" -le 10000000 ]
counted=$("$BRACE" report --json --min-duration "${limit}ns" "$T/trace" | sed -nE 's/.*"calls":([0-9]+).*/\1/p' | awk '{ n += $1 } END { print n + 0 }')
check_that "as many as report --min-duration counts" [ "$counted" = "$calls" ]
"$BRACE" html --min-duration 1us -o "$T/page.html" "$T/trace" >"$T/out" 2>"$T/err"
check_that "a limit of the user's is kept" [ "$(member min_ns)" = 1000 ]
finish
