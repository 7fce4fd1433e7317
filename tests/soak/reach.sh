#!/bin/bash
# Reach: of all calls that callgrind counts in programs that were compiled with -O1 and -Os, whose functions are short, brace counts 999 of
# 1,000 and more. Five programs of Debian's sources: bzip2, gzip, lua, mawk, zlib's minigzip.
. "$(dirname "$0")/lib.sh"
. "$HERE/counts-lib.sh"
need gcc
LIMIT=600

# unpacked PACKAGE: its authors' source, in $T/PACKAGE
unpacked() {
	local archive
	source_of "$1"
	mkdir "$T/$1"
	for archive in "$SOURCES/$1"_*.orig.tar.?z "$SOURCES/$1"_*.orig.tar.bz2; do
		[ ! -e "$archive" ] || tar -xf "$archive" -C "$T/$1" --strip-components=1
	done
}
with_configure() { # PROGRAM FLAG
	([ -e Makefile ] || ./configure -q) >/dev/null 2>&1
	make -s clean >/dev/null 2>&1
	make -s CFLAGS="-$2 -g -w" >/dev/null 2>&1
	cp "$1" "$T/$1-$2"
}
# build PROGRAM FLAG: in its source's folder. lua's hashes and its cache of strings would depend on addresses.
build() {
	case $1 in
	bzip2) gcc "-$2" -g -w -o "$T/$1-$2" bzip2.c blocksort.c huffman.c crctable.c randtable.c compress.c decompress.c bzlib.c ;;
	lua) cd src && gcc "-$2" -g -w -DLUA_USE_POSIX '-Dluai_makeseed(L)=1' -DSTRCACHE_N=1 -DSTRCACHE_M=2 -o "$T/$1-$2" l[!u]*.c lu[!a]*.c lua.c -lm ;;
	minigzip) gcc "-$2" -g -w -DHAVE_UNISTD_H -I. -o "$T/$1-$2" test/minigzip.c ./*.c ;;
	*) with_configure "$1" "$2" ;;
	esac
}
prepare() { head -c 100000 /usr/bin/perl >in; }
head -c 100000 /usr/bin/perl >"$T/stdin"
reach() { # PACKAGE PROGRAM ARGUMENT...
	local flag
	unpacked "$1"
	for flag in O1 Os; do
		(cd "$T/$1" && build "$2" "$flag") >"$T/build" 2>&1
		[ -x "$T/$2-$flag" ]
		result "$2 -$flag is built" $? "$T/build"
		[ -x "$T/$2-$flag" ] || continue
		counted "$2 -$flag" "$T/$2-$flag" "$T/$2-$flag" "${@:3}"
		awk '/^hooked: / { hooked = $2 } END { exit hooked < 99.9 }' "$T/check.log"
		status=$?
		result "$2 -$flag: $(grep '^hooked: ' "$T/check.log")" "$status" "$T/check.log"
	done
}
STDIN=$T/stdin
reach bzip2 bzip2 -c in
reach gzip gzip -n -c in
reach zlib minigzip
reach lua5.4 lua -e 'local t = {} for i = 1, 2000 do t[i] = tostring(i * 7919 % 10007) end table.sort(t) print(#table.concat(t, ","), string.rep("x", 10):gsub("x", "yz"))'
reach mawk mawk 'BEGIN { for (i = 0; i < 5000; i++) { a[i % 97] = a[i % 97] i; n += length(a[i % 97]); gsub(/9/, "n", a[i % 97]) } print n }'
finish
