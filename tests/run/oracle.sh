#!/bin/bash
# The mounted tree answers as a real kernel did: 3,200 operations (tests/oracle/operations) on the
# tree over a program whose functions have the names of some of the kernel's, each answer compared
# with the kernel's (tests/oracle/kernel-6.12). What differs is listed in tests/oracle/differences
# with its reason; it must differ, and as it says.
. "$(dirname "$0")/lib.sh"
ORACLE=$HERE/../oracle
D=$T/tree
mkdir "$D"
coproc PROGRAM { exec "$FIXTURES/kernel_names"; }
PID=$PROGRAM_PID
read -rt "$LIMIT" -u "${PROGRAM[0]}" SAID
[ "$SAID" = ready ] || not_ok "the program runs"
"$BRACE" mount "$D" -p "$PID" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D" "kill $PID")
timeout -k 5 $((4 * LIMIT)) "$OPERATE" "$D" "$ORACLE/operations" >"$T/brace" 2>"$T/err"
result "the operations are done" $? "$T/err"
/usr/bin/python3 "$ORACLE/compare.py" "$ORACLE/kernel-6.12" "$T/brace" "$ORACLE/differences" >"$T/compared"
status=$?
tail -n 1 "$T/compared" | sed 's/^/# /'
if [ -n "${KEEP_ORACLE:-}" ]; then cp "$T/brace" "$T/compared" "$KEEP_ORACLE"; fi
sed -i 200q "$T/compared"
[ "$status" -eq 0 ]
result "each answer is the kernel's, or a listed difference" $? "$T/compared"
check "umount" "$BRACE" umount "$D"
finish
