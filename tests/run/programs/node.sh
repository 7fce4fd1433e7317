#!/bin/bash
# node: V8 writes machine code of its own, four workers, a child, wasm.
. "$(dirname "$0")/lib.sh"
need node
export NODE_DISABLE_COLORS=1

program "$(command -v node)" 100000 node "$WORK/prog.js"
finish
