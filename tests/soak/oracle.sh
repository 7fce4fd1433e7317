#!/bin/bash
# A real kernel's answers once more (tests/oracle/kernel.sh, some minutes), compared with those the
# tree is held against. KERNEL_IMAGE is its image; without it, or without qemu, there is nothing to
# ask.
. "$(dirname "$0")/lib.sh"
ORACLE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../oracle" && pwd)
if [ ! -r "${KERNEL_IMAGE:-}" ] || ! command -v qemu-system-x86_64 >/dev/null; then
	printf '1..0 # SKIP KERNEL_IMAGE names no kernel, or qemu-system-x86_64 is not installed\n'
	exit 0
fi
timeout 1600 "$ORACLE/kernel.sh" "$KERNEL_IMAGE" >"$T/kernel" 2>"$T/err"
result "the kernel answers" $? "$T/err"
/usr/bin/python3 "$ORACLE/compare.py" "$ORACLE/kernel-6.12" "$T/kernel" >"$T/compared"
result "as it did" $? "$T/compared"
finish
