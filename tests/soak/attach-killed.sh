#!/bin/bash
# The long version of tests/run/attach-killed.sh: the tracer is killed behind every one of its steps
# and more, KILLS (2000) times at a program with threads, 500 at static ones each, 333 at a Go
# server.
: "${BUILD:=$(cd "$(dirname "$0")/../.." && pwd)/build}"
export BRACE=${BRACE:-$BUILD/brace} FIXTURES=${FIXTURES:-$BUILD/tests/targets}
export LD_LIBRARY_PATH=$FIXTURES${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
if [ -n "${SOAK_SECONDS:-}" ] && [ "${SOAK_SECONDS}" -lt 1200 ]; then KILLS=${KILLS:-300}; fi
KILLS=${KILLS:-2000} exec bash "$(dirname "$0")/../run/attach-killed.sh"
