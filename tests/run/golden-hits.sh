#!/bin/bash
# SPDX-License-Identifier: MIT
# The kernel's golden traces of kprobes, uprobes and fprobes (golden/*.trace.txt), made again over a program whose
# functions are called as the kernel's were: golden_hits.py says how lines are held against each other.
. "$(dirname "$0")/lib.sh"
need /usr/bin/python3 nm gcc
gcc -g -O1 -pie -fPIE -o "$T/hits" "$HERE/../targets/hits.c" 2>"$T/err"
result "a program with the kernel's functions" $? "$T/err"
mkfifo "$T/begin"
timeout -k 5 "$LIMIT" "$BRACE" shell --run="$T/hits $T/begin" -- \
	/usr/bin/python3 -B "$HERE/golden_hits.py" "$HERE/golden" "$T/hits" "$T/begin" >"$T/tap" 2>"$T/err" </dev/null
status=$?
skip_without_shell $status
while read -r word rest; do
	case $word in
	ok) result "${rest#*- }" 0 ;;
	not) result "${rest#*- }" 1 "$T/tap" ;;
	'#') printf '# %s\n' "$rest" ;;
	esac
done <"$T/tap"
[ "$status" -eq 0 ] && grep -q '^1\.\.' "$T/tap"
result "all traces" $? "$T/err"
finish
