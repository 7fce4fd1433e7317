#!/bin/bash
# tests/run/attach-servers.sh in its long version: every server, 60 times each.
: "${BUILD:=$(cd "$(dirname "$0")/../.." && pwd)/build}"
export BRACE=${BRACE:-$BUILD/brace} FIXTURES=${FIXTURES:-$BUILD/tests/targets}
if [ -n "${SOAK_SECONDS:-}" ] && [ "${SOAK_SECONDS}" -lt 1200 ]; then CYCLES=${CYCLES:-15}; fi
export CYCLES=${CYCLES:-60} CHUNKS=${CHUNKS:-4} SPEED=1 SERVERS=${SERVERS:-redis nginx postgres python caddy}
exec bash "$(dirname "$0")/../run/attach-servers.sh"
