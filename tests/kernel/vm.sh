#!/bin/bash
# SPDX-License-Identifier: MIT
# brace -k and -K on a real kernel, in one boot of QEMU: tests/vm/kernel.sh is the guest's part. Skipped where QEMU or a kernel's
# image is missing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
: "${BRACE:?is the path of the brace executable}"
with=(--with "$BRACE")
# It writes all of the kernel's formats into its file, which takes half a minute: make soak.
[ -z "${KERNEL_TRACE_CMD-}" ] || [ ! -x /usr/bin/trace-cmd ] || with+=(--with /usr/bin/trace-cmd)
output=$("$here/../vm/run" "${with[@]}" "$here/../vm/kernel.sh" "$BRACE" 2>&1)
status=$?
if [ $status = 77 ]; then
	echo "1..0 # SKIP $output"
	exit 0
fi
printf '%s\n' "$output" | tr -d '\r'
[ $status -le 1 ] || echo "Bail out! tests/vm/run: status $status"
