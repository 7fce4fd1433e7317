#!/bin/bash
# Call trees are true when control leaves a stack other than by returning: programs that keep an account of every
# call (tests/targets/tree.h), line by line against the replayed graph.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tree-lib.sh"
LIMIT=60

for program in coroutines jumps2 exceptions2; do
	tree "$program" "$program"
	tree "$program, with its libraries" "$program" -L '*'
	tree "$program, its own functions alone" "$program" -l 't_*'
done
finish
