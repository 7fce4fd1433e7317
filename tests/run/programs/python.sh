#!/bin/bash
# Debian's python: the interpreter, its C modules, threads, fork, signals; and a part
# of its own test suite where that is installed.
. "$(dirname "$0")/lib.sh"
export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
PYTHON=$(readlink -f /usr/bin/python3)
need $PYTHON

program $PYTHON 100000 $PYTHON "$WORK/python.py"

# Its own tests; times differ from run to run, verdicts must not.
suite() { # NAME OPTIONS...
	local name=$1
	shift
	record --mode block "$@" -- $PYTHON -m test -j0 test_json test_re test_generators \
		test_exceptions test_contextlib test_struct test_deque
	grep -q '^All [0-9]* tests OK\|^Result: SUCCESS' "$T/traced.out"
	result "$name" $? "$T/traced.out"
}
if [ -e "/usr/lib/${PYTHON##*/}/test/test_re.py" ]; then
	suite "its own tests pass with the executable hooked"
else
	skip "its own tests" "lib${PYTHON##*/}-testsuite is not installed"
fi
finish
