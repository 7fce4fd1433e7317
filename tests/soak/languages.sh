#!/bin/bash
# The tests of languages whose compilers are too large for `make check`: there they run where those
# happen to be installed. Here they are (tools/packages), and none may skip itself.
. "$(dirname "$0")/../run/lib.sh"

need gnatmake ocamlopt rustc gdc ldc2
for name in java mono haskell ocaml interpreters; do
	timeout -k 5 600 "$HERE/programs/$name.sh" >"$T/$name" 2>&1 </dev/null
	status=$?
	grep -q '^ok 1 ' "$T/$name" || status=1
	[ $name != interpreters ] || ! grep ' # SKIP ' "$T/$name" || status=1
	result "$name: $(grep -c '^ok' "$T/$name") cases" $status "$T/$name"
done

# Names as their compilers have them.
timeout -k 5 600 "$HERE/names.sh" >"$T/names" 2>&1 </dev/null
status=$?
result "names: $(grep -c '^ok' "$T/names") cases" $status "$T/names"
finish
