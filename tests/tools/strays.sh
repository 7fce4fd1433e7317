#!/bin/bash
# A test that ends kills what it has started, and nobody else who has the number of a process by then that has ended.
. "$(dirname "$0")/../run/lib.sh"

cat >"$T/test.sh" <<'S'
. "$1/tests/run/lib.sh"
sleep 1000 &
ON_EXIT+=("kill -KILL $!")
echo $! >"$2/job"
env -i sleep 1000 &
ON_EXIT+=("kill $!")
echo $! >"$2/bare"
# A child's child: a job of another shell, told by its environment.
sh -c 'sleep 1000 & echo $! >"$1/grandchild"' - "$2"
ON_EXIT+=("kill $(cat "$2/grandchild")")
read -r stranger <"$2/stranger"
ON_EXIT+=("kill -KILL $stranger" "kill $stranger $!")
S
# Neither its environment nor its command is a test's.
env -i sleep 1000 &
stranger=$!
ON_EXIT+=("kill $stranger")
echo $stranger >"$T/stranger"
bash "$T/test.sh" "$SOURCE" "$T" >"$T/said" 2>&1
result "the test ends" $? "$T/said"
kill -0 $stranger
result "a stranger goes on" $?
ended() { ! kill -0 "$1" 2>/dev/null; }
check_that "a job does not" until_is ended "$(cat "$T/job")"
check_that "nor one without an environment" until_is ended "$(cat "$T/bare")"
check_that "nor what a child of it has started" until_is ended "$(cat "$T/grandchild")"
finish
