#!/bin/bash
# python3.11's own test suite, a small part of it: the language, C modules, threads, forks, signals.
. "$(dirname "$0")/lib.sh"
export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
PYTHON=/usr/bin/python3.11
need $PYTHON
[ -e /usr/lib/python3.11/test/test_re.py ] ||
	{ echo '1..0 # SKIP libpython3.11-testsuite is not installed'; exit 0; }

verdicts() { $PYTHON "$HERE/suites/junit.py" "$RUN_DIR/verdicts.xml"; }

suite python3.11 300 1000000 --mode block -- $PYTHON -m test --junit-xml verdicts.xml \
	test_generators test_contextlib test_fork1 test_dict test_with test_raise test_class
finish
