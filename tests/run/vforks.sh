#!/bin/bash
# Children that run in their parent's memory have tracks of their own, and what the parent has open
# stays as it was: a program's own account of all calls (tests/targets/vforks.c), and the children
# of a Python that strace watches.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tree-lib.sh"
LIMIT=60

tree "vforks" vforks
tree "vforks, with its libraries" vforks -L '*'
tree "vforks, its own functions alone" vforks -l 't_*'
tree "vforks, with what functions return" vforks -O funcgraph-retval
tree "vforks, with depths" vforks --max-graph-depth 1000
tree "vforks, with depths and libraries" vforks --max-graph-depth 1000 -L '*'

# In the children alone: the account of what begins with t_child.
TREE=$T/tree record --mode block -g t_child -- "$FIXTURES/vforks"
awk '/\+t_child/ { inside = 1 } inside && /\+/ { print $3 } /-t_child/ { inside = 0 }' <(by_stack "$T/tree") | sort | uniq -c >"$T/counted"
"$BRACE" replay "$T/trace" | sed -nE 's/.* (t_[a-z]+)\(\)[ ;].*/+\1/p' | sort | uniq -c >"$T/seen"
check "only what children call, of a graph that begins there" diff "$T/counted" "$T/seen"

TREE=$T/tree record --mode block -t function -- "$FIXTURES/vforks"
awk '/\+/ { print $1, substr($3, 2) }' "$T/tree" | sort | uniq -c >"$T/counted"
"$BRACE" replay "$T/trace" | sed -nE 's/.*-([0-9]+) .*: (t_[a-z_]+) <-.*/\1 \2/p' | sort | uniq -c >"$T/seen"
check "the function tracer says whose calls they are" diff "$T/counted" "$T/seen"

# vfork's duration is until its child has executed: it ends behind whatever the child calls.
record --mode block -- "$FIXTURES/vforks"
"$BRACE" replay -O funcgraph-proc -O funcgraph-tail "$T/trace" >"$T/replay"
check_that "each vfork returns" [ "$(grep -c 'vfork() {' "$T/replay")" -eq 128 -a "$(grep -c '} /\* vfork \*/' "$T/replay")" -eq 128 ]
check_that "nothing is unwound" [ "$(grep -c unwound "$T/replay")" -eq 0 ]

# Processes that execute, by strace, in the run that is traced: subprocess uses vfork, and posix_spawn where
# it can.
if command -v strace >/dev/null && command -v python3 >/dev/null; then
	cat >"$T/spawns.py" <<-'end'
		import subprocess
		for i in range(5):
		    subprocess.run(["/bin/true"], check=True)
		    subprocess.run("true", shell=True, close_fds=False, check=True)
	end
	python=$(python3 -c 'import sys; print(sys.executable)')
	timeout -k 5 "$LIMIT" strace -f -o "$T/strace" -e trace=execve "$BRACE" record -q --mode block -L '*' -l execv -l '*sig*' \
		-o "$T/trace" -- "$python" -S "$T/spawns.py" >"$T/python.log" 2>&1
	result "a Python spawns" $? "$T/python.log"
	sed -nE 's/^([0-9]+) +execve\("\/bin\/(true|sh)".*/\1/p' "$T/strace" | sort -u >"$T/children"
	main=$(sed -nE "s|^([0-9]+) +execve\(\"$python\".*|\1|p" "$T/strace" | tail -n 1)
	"$BRACE" replay -O funcgraph-proc "$T/trace" | sed -nE 's/^ *[0-9]+\) +python[0-9.]*-([0-9]+) .*\|.*\|.*/\1/p' |
		grep -vx "$main" | sort -u >"$T/seen"
	check_that "strace has seen ten children" [ "$(wc -l <"$T/children")" -eq 10 ]
	check "the children are those that strace says" diff "$T/children" "$T/seen"
fi
finish
