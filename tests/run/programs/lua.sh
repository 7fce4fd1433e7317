#!/bin/bash
# Debian's lua5.4: errors are longjmp, a third of its callees rely on -fipa-ra.
. "$(dirname "$0")/lib.sh"
need lua5.4

program /usr/bin/lua5.4 50000 lua5.4 "$WORK/prog.lua"
finish
