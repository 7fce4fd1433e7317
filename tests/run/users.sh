#!/bin/bash
# Programs of several users in one session: none maps a memory that another user's program maps, and what each recorded is exact.
. "$(dirname "$0")/attach-lib.sh"
[ "$(id -u)" -eq 0 ] || { echo '1..0 # SKIP only root has programs of several users'; exit 0; }
chmod 755 "$T" # other users execute what is here
MANY=100000
OTHER=65534
AS_OTHER=(setpriv "--reuid=$OTHER" "--regid=$OTHER" --clear-groups)

# of FILE WHO WORD: what WHO said of itself behind the word.
of() {
	awk -v who="$2" -v word="$3" '$1 == who { for (i = 2; i < NF; i++) if ($i == word) print $(i + 1) }' "$1"
}

# apart NAME FILE WHO FILE WHO: both are traced, and map no memory in common.
apart() {
	local word a b status=0
	for word in memory image; do
		a=$(of "$2" "$3" "$word")
		b=$(of "$4" "$5" "$word")
		[ "${a:-0}" -gt 0 ] && [ "${b:-0}" -gt 0 ] && [ "$a" -ne "$b" ] || status=1
	done
	cat "$2" "$4" >"$T/apart"
	result "$1: no memory in common" $status "$T/apart"
}

# --- two that run
start root "$FIXTURES/users" attached
ROOTS=$PID
start other "${AS_OTHER[@]}" "$FIXTURES/users" attached
PID=$ROOTS,$PID attach -l 'as_*'
check_that "attached to two users' programs" [ "$(cat "$T/attach.status")" -eq 0 ]
nothing_lost "attached to two users' programs" $((2 * MANY))
calls_are as_root $MANY
calls_are as_other $MANY
apart "attached to two users' programs" "$T/root.out" attached "$T/other.out" attached

# --- one that executes another as another user
for mode in stream block overwrite; do
	record --mode $mode -b 16M -l 'as_*' -- "$FIXTURES/users" then "${AS_OTHER[@]}" "$FIXTURES/users" second
	check_that "executed as another user ($mode): it ran" [ "$(cat "$T/traced.status")" -eq 0 ]
	nothing_lost "executed as another user ($mode)" $((2 * MANY))
	calls_are as_root $MANY
	calls_are as_other $MANY
	apart "executed as another user ($mode)" "$T/traced.out" first "$T/traced.out" second
done

finish
