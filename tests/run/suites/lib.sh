# shellcheck shell=bash
# A program's own test suite, run untraced and then with every function of the main binary
# hooked: the verdict of each single test must be the same.
#
# A script defines verdicts, which reads what a run left ($1.out, $1.err, $RUN_DIR) and prints a
# line for each test: "passed", "failed" or "skipped", a blank, and the test's name.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

now() { date +%s.%N; }

# timed PREFIX COMMAND...: run_in, and PREFIX.seconds and PREFIX.verdicts besides.
timed() {
	local prefix=$1 begin
	begin=$(now)
	run_in "$@"
	awk -v a="$begin" -v b="$(now)" 'BEGIN { printf "%.1f\n", b - a }' >"$prefix.seconds"
	verdicts "$prefix" | LC_ALL=C sort >"$prefix.verdicts"
}

# counted FILE: "P passed, F failed, S skipped".
counted() {
	awk '{ n[$1]++ }
	END { printf "%d passed, %d failed, %d skipped\n", n["passed"], n["failed"], n["skipped"] }' "$1"
}

# slower: how many times as long the traced run took.
slower() {
	awk 'NR == FNR { a = $1; next } { printf "%.1f", $1 / (a > 0.1 ? a : 0.1) }' \
		"$T/plain.seconds" "$T/traced.seconds"
}

# suite NAME PASSED CALLS OPTIONS... -- COMMAND...: at least PASSED tests pass, all verdicts are
# those of the untraced run, and at least CALLS calls are recorded.
suite() {
	local name=$1 least=$2 calls=$3 options=() passed
	shift 3
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	rm -f "$T/trace" "$T/json"
	timed "$T/plain" "$@"
	timed "$T/traced" "$BRACE" record -o "$T/trace" "${options[@]}" -- "$@"
	split_summary
	same_verdicts "$name" "$least"
	recorded "$name" "$calls" "${options[@]}"
	rm -f "$T/trace"
}

same_verdicts() {
	local passed
	passed=$(grep -c '^passed ' "$T/traced.verdicts")
	diff -a "$T/plain.verdicts" "$T/traced.verdicts" >"$T/differences" 2>&1
	cmp -s "$T/plain.status" "$T/traced.status" ||
		echo "exit status $(cat "$T/plain.status") untraced, $(cat "$T/traced.status") traced" >>"$T/differences"
	[ "$passed" -ge "$2" ] || echo "only $passed tests passed, not $2" >>"$T/differences"
	printf '# %s untraced: %s, %s s\n' "$1" "$(counted "$T/plain.verdicts")" "$(cat "$T/plain.seconds")"
	printf '# %s traced: %s, %s s\n' "$1" "$(counted "$T/traced.verdicts")" "$(cat "$T/traced.seconds")"
	[ ! -s "$T/differences" ] || { diag "$T/summary" 4; diag "$T/traced.err"; }
	result "$1: each of its tests as untraced, $(counted "$T/traced.verdicts")" \
		"$(wc -l <"$T/differences")" "$T/differences"
	keep "$1"
}

# A failed run's output is worth more than its last lines: KEEP=DIR keeps all of it.
keep() {
	[ -n "${KEEP:-}" ] && [ -s "$T/differences" ] || return 0
	mkdir -p "$KEEP"
	cp "$T"/plain.* "$T"/traced.* "$T/summary" "$T/differences" "$KEEP/"
}

# recorded NAME CALLS OPTIONS...: what brace said at the end. In block mode nothing may be lost;
# in stream mode losses are counted and told.
recorded() {
	local name=$1 least=$2 calls lost
	shift 2
	calls=$(summary_number calls)
	lost=$(summary_number lost)
	case " $* " in
	*' block '*) [ "${lost:-1}" -eq 0 ] && [ "${calls:-0}" -ge "$least" ] ;;
	*) [ -n "$lost" ] && [ "${calls:-0}" -ge "$least" ] ;;
	esac
	status=$?
	result "$name: ${calls:-no} calls recorded, ${lost:-?} records lost, $(slower) times as long" $status \
		"$T/summary"
}

# tap_verdicts: TAP on standard input, each name prefixed by $1.
tap_verdicts() {
	awk -v of="$1" '
		/^not ok .*# TODO/ { sub(/^not ok [0-9]* /, ""); print "skipped", of, $0; next }
		/^ok .*# [Ss][Kk][Ii][Pp]/ { sub(/^ok [0-9]* /, ""); print "skipped", of, $0; next }
		/^1\.\.0.*# [Ss][Kk][Ii][Pp]/ { print "skipped", of, "all of it"; next }
		/^ok / { sub(/^ok [0-9]* /, ""); print "passed", of, $0 }
		/^not ok / { sub(/^not ok [0-9]* /, ""); print "failed", of, $0 }'
}
