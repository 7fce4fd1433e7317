#!/bin/bash
# Every fuzz target and every program of bench/ compiles against the headers as they are, and each
# target is built: `make` builds neither, and tools/check builds the targets only at its end.
. "$(dirname "$0")/../run/lib.sh"
: "${SOURCE:?is the folder of the sources}"
cd "$SOURCE" || exit 1
for target in fuzz/*.c; do
	check "$target" cc -fsyntax-only -std=gnu11 -D_GNU_SOURCE -Isrc -I/usr/include/fuse3 '-DBRACE_VERSION="fuzz"' \
		'-DBRACE_LIBDIR="/usr/lib"' "$target"
done
for program in bench/*.c; do
	check "$program" cc -fsyntax-only -std=gnu11 -D_GNU_SOURCE -Isrc -Iinclude "$program"
done
sed -n "s/^  '\(.*\)',$/fuzz\/\1.c/p" fuzz/meson.build | sort | diff - <(printf '%s\n' fuzz/*.c | sort) >"$T/difference"
result 'fuzz/meson.build has each of them' $? "$T/difference"
finish
