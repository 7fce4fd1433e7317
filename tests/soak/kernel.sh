#!/bin/bash
# SPDX-License-Identifier: MIT
# The test `kernel` (tests/kernel/vm.sh), and brace's graph of the kernel against trace-cmd's.
export KERNEL_TRACE_CMD=1
exec "$(dirname "$0")/../kernel/vm.sh"
