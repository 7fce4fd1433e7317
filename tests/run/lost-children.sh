#!/bin/bash
# Forked children of which brace does not know whose patches they have: one with the number of a
# child that has ended, and one that a dying child made while brace planned a change. Each lives on,
# whatever is changed, and what it records is what was asked for.
. "$(dirname "$0")/attach-lib.sh"
PYTHON=$(readlink -f /usr/bin/python3)
need "$PYTHON"
NAME=lost-$$
S=(--session $NAME)
ON_EXIT+=("$BRACE reset ${S[*]}")
mkfifo "$T/commands" "$T/answers"
exec {commands}<>"$T/commands" {answers}<>"$T/answers"
PROGRAM=("$PYTHON" "$HERE/lost_children.py" "$FIXTURES/kern_calls.so" "$T/commands" "$T/answers")

go() { # COMMAND NUMBER: $ANSWER
	[ $# -eq 0 ] || echo "$*" >&"$commands"
	read -rt "$LIMIT" -u "$answers" ANSWER
}

# begin HOW OPTIONS...: the session's program, launched or attached to; $PID if it is
begin() {
	local how=$1
	shift
	if [ "$how" = attached ]; then
		"${PROGRAM[@]}" &
		PID=$!
		ON_EXIT+=("kill $PID")
		go
		timeout "$LIMIT" "$BRACE" start "${S[@]}" -p $PID "$@" >"$T/out" 2>"$T/err" && return
	else
		timeout "$LIMIT" "$BRACE" start "${S[@]}" "$@" -- "${PROGRAM[@]}" >"$T/out" 2>"$T/err" && go && return
	fi
	grep -q ptrace "$T/err" || { not_ok "$how: the session begins"; diag "$T/err"; finish; }
	printf '1..0 # SKIP %s\n' "$(cut -d' ' -f2- "$T/err")"
	exit 0
}

change() { # EVENT...
	local options=() event
	for event; do options+=(-e "$event"); done
	timeout "$LIMIT" "$BRACE" set "${S[@]}" "${options[@]}" >"$T/out" 2>"$T/err" || { not_ok "set $*"; diag "$T/err"; }
}
ONE=sched:sched_waking TWO=sched:sched_wakeup

# lives NAME CHILD: it works, which is 100 events of the one kind that is wanted
lives() {
	go work "$2"
	check_that "$1: it lives" [ "$ANSWER" = worked ]
	WANTED=$((WANTED + 100))
}
recorded() { "$BRACE" show --no-pager "${S[@]}" | grep -c ' sched_wak'; }
has_recorded() { [ "$(recorded)" -eq "$WANTED" ]; }

# same_number HOW: the child's number was noted with patches at other places
same_number() {
	local child n k
	for n in 1 2; do
		change $ONE $TWO
		go clone 0
		child=$ANSWER
		change $ONE
		lives "$1, $n changes: a child" "$child"
		go end "$child"
		check_that "$1, $n changes: it ends as it would" [ "$ANSWER" = 3 ]
		for ((k = 0; k < n; k++)); do change $ONE $TWO; done
		go clone "$child"
		[ "$ANSWER" = "$child" ] || { skip "$1: another child of that number" "only root may choose numbers"; return; }
		change $TWO
		lives "$1, $n changes: another child of that number" "$child"
		go end "$child"
		check_that "$1, $n changes: it ends as it would" [ "$ANSWER" = 3 ]
	done
}

# orphans HOW: whenever brace is between plan and change, a child of the program forks, and ends
orphans() {
	local tracer child before
	tracer=$(pgrep -o -f -- "--session $NAME")
	: >"$T/children"
	cat >"$T/meanwhile.sh" <<-END
		echo orphan 0 >"$T/commands"
		read -rt $LIMIT child <>"$T/answers"
		echo "\$child" >>"$T/children"
	END
	printf '%s\n' 'break change_all' commands silent "shell bash $T/meanwhile.sh" continue end continue >"$T/held"
	gdb -nx -q -batch -iex 'set debuginfod enabled off' -p "$tracer" -x "$T/held" </dev/null >"$T/gdb" 2>&1 &
	held() { grep -q '^Breakpoint 1 at' "$T/gdb" || ! kill -0 $!; }
	until_is held
	grep -q '^Breakpoint 1 at' "$T/gdb" || { skip "$1: a child that nobody saw" "gdb may not hold brace"; return; }
	change $ONE $TWO
	kill $! 2>/dev/null # or it lost one of brace's short threads, and ended
	wait $!
	[ -s "$T/children" ] || { skip "$1: a child that nobody saw" "gdb lost brace"; return; }
	while read -r child; do
		go work "$child"
		check_that "$1: a child that nobody saw lives" [ "$ANSWER" = worked ]
	done <"$T/children"
	change $TWO
	before=$(recorded)
	while read -r child; do
		go work "$child"
		check_that "$1: and after the next change" [ "$ANSWER" = worked ]
		go leave "$child"
	done <"$T/children"
	WANTED=$((before + 100 * $(wc -l <"$T/children")))
}

for how in ${*:-launched attached}; do
	WANTED=0
	begin $how -t nop
	same_number $how
	check_that "$how: all that they did is recorded" until_is has_recorded
	orphans $how
	check_that "$how: and what those did" until_is has_recorded
	check "$how: the session ends" "$BRACE" reset "${S[@]}"
	[ $how != attached ] || same_text "$how: the text is the files'" "$PID"
	go stop 0
done
finish
