#!/bin/bash
# One call that brace makes of the system fails, in a sample of all places and scenarios
# (tests/faults/faults.py); all of them in tests/soak/faults.sh.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
mkdir "$T/faults"
# shellcheck disable=SC2086 # words
/usr/bin/python3 "$HERE/../faults/faults.py" "$BRACE" "$FIXTURES/../faults/fail_once.so" "$FIXTURES/victim" "$T/faults" \
	${FAULTS---quick --most 150 --seconds 60}
