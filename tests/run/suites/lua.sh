#!/bin/bash
# Lua's own test suite. Debian's sources of lua bring none; those of a Go package have Lua 5.1's
# (adapted in a few lines to that implementation), which is run by Debian's lua5.1, of whose core
# 5.4's is a descendant. Each file is a test that asserts some hundred times. lua5.4 itself is run
# by tests/run/programs/lua.sh.
. "$(dirname "$0")/../../soak/lib.sh"
need lua5.1
PACKAGE=golang-github-yuin-gopher-lua
original_of $PACKAGE
# big.lua is made for another machine's limits, main.lua and all.lua are about the interpreter's own
# path
FILES="api attrib calls checktable closure code constructs db errors events files gc literals locals math nextvar pm sort
	strings vararg verybig"
export LIMIT=60

prepare() { cp -r "$SOURCES/$PACKAGE/_lua5.1-tests/." .; }

verdicts() {
	awk '/^verdict / { print $2, $3 }' "$1.out"
}

# shellcheck disable=SC2016 # for the shell inside
suite lua5.1 19 1000000 --mode block -L 'liblua*' -- sh -c \
	'for f; do lua5.1 -e "_soft=true" $f.lua >/dev/null 2>&1 </dev/null && v=passed || v=failed; echo verdict $v $f; done' sh $FILES
finish
