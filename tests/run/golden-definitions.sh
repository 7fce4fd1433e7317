#!/bin/bash
# The kernel's golden files of definitions (kprobe, uprobe, fprobe, tprobe, eprobe and synthetic
# events) over a program with the functions that they name: every faulty definition has the kernel's
# sentence and caret, every list is listed again byte for byte. golden_definitions.py says what differs.
. "$(dirname "$0")/lib.sh"
need /usr/bin/python3 nm
K=$FIXTURES/kern
offset=$(nm "$K" | awk '$3 == "vfs_read" { print $1 }')
base=$(readelf -lW "$K" | awk '$1 == "LOAD" && $7 ~ /E/ || $1 == "LOAD" && $8 == "E" { print $2, $3; exit }')
# shellcheck disable=SC2086
set -- $base
printf -v place '%s:0x%016x' "$K" $((0x$offset - $2 + $1))
timeout -k 5 "$LIMIT" "$BRACE" shell --run="env LD_PRELOAD=$FIXTURES/kern_calls.so $K" -- \
	/usr/bin/python3 -B "$HERE/golden_definitions.py" "$HERE/golden" "$place" >"$T/tap" 2>"$T/err" </dev/null
grep -q '^1\.\.' "$T/tap" || { not_ok "definitions"; diag "$T/err"; finish; }
cat "$T/tap"
! grep -q '^not ok' "$T/tap"
