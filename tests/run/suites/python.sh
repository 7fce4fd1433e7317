#!/bin/bash
# python's own test suite, a small part of it: the language, C modules, threads, forks, signals.
. "$(dirname "$0")/lib.sh"
export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
PYTHON=$(readlink -f /usr/bin/python3)
need $PYTHON
[ -e "/usr/lib/${PYTHON##*/}/test/test_re.py" ] ||
	{ echo "1..0 # SKIP lib${PYTHON##*/}-testsuite is not installed"; exit 0; }

verdicts() { $PYTHON "$HERE/suites/junit.py" "$RUN_DIR/verdicts.xml"; }

suite "${PYTHON##*/}" 300 1000000 --mode block -- $PYTHON -m test --junit-xml verdicts.xml \
	test_generators test_contextlib test_fork1 test_dict test_with test_raise test_class
finish
