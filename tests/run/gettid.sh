#!/bin/bash
# A program that could make threads without a C library costs no system call a record before it
# does: strace counts them, in the run that is traced, and callgrind says how often the program
# calls.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
command -v strace >/dev/null || { printf '1..0 # SKIP no strace\n'; exit 0; }
STEPS=100000 # of tests/targets/clones.c, in each of these ways
asked() { # WAY OPTION...: the calls of gettid
	strace -f -c -e trace=gettid -o "$T/strace" "$BRACE" record --mode block -o "$T/trace" "${@:2}" -- "$FIXTURES/clones" "$1" >"$T/out" 2>&1 || return
	awk '$NF == "gettid" { n = $4 } END { print n + 0 }' "$T/strace"
}
steps() {
	"$BRACE" report "$T/trace" | awk '/ step (\[|$)/ { print $1 }'
}
for options in '' '--max-graph-depth 100' '-L libc.so.6' '-O funcgraph-retval'; do
	# shellcheck disable=SC2086 # an option is two words
	n=$(asked none $options)
	check_that "no such thread${options:+, $options}: gettid is called ${n:-?} times" [ "${n:-$STEPS}" -lt 100 ]
	check_that "no such thread${options:+, $options}: each call is recorded" [ "$(steps)" = $STEPS ]
done
n=$(asked shared)
check_that "a thread with another's pointer: gettid is called $n times" [ "$n" -gt $STEPS ]
check_that "a thread with another's pointer: each call is recorded" [ "$(steps)" = $STEPS ]
if command -v valgrind >/dev/null; then
	valgrind --tool=callgrind --callgrind-out-file="$T/callgrind" "$FIXTURES/clones" none >"$T/out" 2>&1
	called=$(awk '/^fn=/ { fn = $0 } /^cfn=/ { cfn = $0 } /^calls=/ { split($1, c, "="); if (cfn ~ /\<step\>|^cfn=\(('"$(sed -nE 's/^c?fn=\(([0-9]+)\) step$/\1/p' "$T/callgrind" | head -1)"')\)$/) n += c[2] } END { print n + 0 }' "$T/callgrind")
	check_that "callgrind counts as many: $called" [ "$called" = $STEPS ]
else
	skip "callgrind counts as many" "no valgrind"
fi
finish
