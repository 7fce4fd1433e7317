#!/bin/bash
# Programs of several users in one session: none maps a memory that another user's program maps, and
# what each recorded is exact.
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

# --- one that asks for more of another's program
record -l step -l as_root -- "$FIXTURES/users" then "${AS_OTHER[@]}" "$FIXTURES/forger" stranger
[ "$(cat "$T/traced.status")" = 3 ] && grep -q 'no records lost' "$T/summary"
result "nothing is added to a program of another user's" $? "$T/summary"
calls_are step 3

# --- one that spoils its own memory ends nobody's recording
record -l step -l as_root -- "$FIXTURES/users" then "${AS_OTHER[@]}" "$FIXTURES/forger" homeless
[ "$(cat "$T/traced.status")" = 3 ] && grep -q 'no records lost' "$T/summary" && grep -q 'spoiled the session memory' "$T/summary"
result "threads of a program that does not exist are told of" $? "$T/summary"
calls_are as_root $MANY

# The number of a file is not the file: it maps one of another file system that has the number of
# that program's memory.
mkdir "$T/namesakes"
if mount -t tmpfs -o mode=1777,size=64m none "$T/namesakes" 2>/dev/null; then
	ON_EXIT+=("umount '$T/namesakes'")
	record -l step -l as_root -- "$FIXTURES/users" then "${AS_OTHER[@]}" "$FIXTURES/forger" namesake "$T/namesakes"
	case $(cat "$T/traced.status") in
	77) skip "a file with the number of another user's memory" "the kernel has given millions of numbers since it booted" ;;
	3) ok "nor to who maps a file with the number of its memory" ;;
	*) result "nor to who maps a file with the number of its memory ($(cat "$T/traced.status"))" 1 "$T/summary" ;;
	esac
else
	skip "a file with the number of another user's memory" "no tmpfs can be mounted here"
fi

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

# --- a server whose child gives up root
# gives_up NAME OPTIONS... -- HOW: all is recorded, the child's in a memory of its own.
gives_up() {
	local name=$1 options=()
	shift
	for ((; $# > 2; )); do
		options+=("$1")
		shift
	done
	record "${options[@]}" -l 'as_*' -- "$FIXTURES/users" server "$2"
	check_that "$name: it ran" [ "$(cat "$T/traced.status")" -eq 0 ]
	nothing_lost "$name" $((4 * MANY))
	calls_are as_root $((3 * MANY))
	calls_are as_other $MANY
	apart "$name" "$T/traced.out" parent "$T/traced.out" child
}

for how in setuid setreuid setresuid seteuid raw ended thread; do
	gives_up "a child that gives up root ($how)" -- $how
done
gives_up "a child that gives up root, block mode" --mode block -b 128K -- setresuid
gives_up "a child that gives up root, overwrite mode" --mode overwrite -b 16M -- setresuid
gives_up "a child that gives up root, state mode" --max-graph-depth 8 -- setresuid
gives_up "a child that gives up root, values" -O funcgraph-retval -- setresuid
gives_up "a child that gives up root, function tracer" -t function -- setresuid

for how in setresuid thread; do
	start server "$FIXTURES/users" attached $how
	attach -l 'as_*'
	nothing_lost "attached, a child that gives up root ($how)" $((4 * MANY))
	calls_are as_root $((3 * MANY))
	calls_are as_other $MANY
	apart "attached, a child that gives up root ($how)" "$T/server.out" parent "$T/server.out" child
done

record -l 'as_*' -- "$FIXTURES/users" server back
nothing_lost "a child that takes root on again" $((4 * MANY + 10))
calls_are as_root $((4 * MANY + 10))
check_that "a child that takes root on again stays where it was" \
	[ "$(of "$T/traced.out" child memory)" -eq "$(of "$T/traced.out" parent memory)" ]

if unshare -n true 2>/dev/null; then
	record -l 'as_*' -- "$FIXTURES/users" server unreached
	check_that "a child that cannot reach brace is let go: it ran" [ "$(cat "$T/traced.status")" -eq 0 ]
	nothing_lost "a child that cannot reach brace is let go" $((3 * MANY))
	calls_are as_root $((3 * MANY))
	calls_are as_other 0
	grep -q "^child uid $OTHER memory 0 image 0" "$T/traced.out" && grep -q "another user's now" "$T/summary"
	result "a child that cannot reach brace is let go: it maps nothing of brace's, and brace says so" $? "$T/summary"
fi

finish
