#!/bin/bash
# The table of the kernel's own tests of ftrace (tests/soak/ftracetest.table) has a result and a
# reason for each, and some of the tests become what it says, where `make soak` has left them.
FTRACETEST_PART=brief exec bash "$(dirname "$0")/../soak/ftracetest.sh"
