#!/bin/bash
# A signal between any two instructions of trampolines, stubs and the agent's slow paths: tests/targets/stepper.c
# checks every register and every return itself.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
LIMIT=300

same "handlers that return" -- "$FIXTURES/stepper"
same "handlers that return, with a depth limit" --max-graph-depth 1000 -- "$FIXTURES/stepper"
same "handlers that return, function tracer" -t function -- "$FIXTURES/stepper"
same "handlers that jump" -- "$FIXTURES/stepper" jump
same "handlers that end their thread" -- "$FIXTURES/stepper" unwind
finish
