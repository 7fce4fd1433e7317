#!/bin/bash
# The files of make install work from where they were put, and from where they were moved to.
. "$(dirname "$0")/../run/lib.sh"
: "${BUILD:?is the build tree}"
meson install -C "$BUILD" --no-rebuild --quiet --destdir "$T/root" >"$T/log" 2>&1
result "meson install" $? "$T/log"
brace=$(find "$T/root" -type f -path '*/bin/brace')
prefix=${brace%/bin/brace}
for file in lib/brace/libbrace-agent.so share/man/man1/brace.1 share/man/man1/brace-record.1 \
	share/bash-completion/completions/brace; do
	[ -f "$prefix/$file" ]
	result "installs $file" $?
done
(cd "$prefix" && find . -type f ! -path './share/*') | LC_ALL=C sort >"$T/files"
# Builds with sanitizers have no shared library.
[ -f "$BUILD/libbrace.so.0.1.0" ] && library='lib/libbrace.so.0.1.0 lib/pkgconfig/libbrace.pc' || library=
# shellcheck disable=SC2086 # words
printf './%s\n' bin/brace include/brace.h include/brace/event.h lib/brace/libbrace-agent.so $library | LC_ALL=C sort | diff - "$T/files" >"$T/differences"
result "installs nothing else but in share" $? "$T/differences"
traces() { "$1" record -q -o "$T/trace" -- true && "$1" report --json "$T/trace" | grep -q '"name"'; }
check_that "traces from the installed tree" traces "$brace"
event() { # TYPE: an event with a field of it compiles
	printf '#include <brace/event.h>\nBRACE_EVENT(a, b, BRACE_PROTO(%s v), BRACE_ARGS(v), BRACE_FIELDS(BRACE_FIELD(%s, v, v)), BRACE_PRINT("x"))\n' \
		"$1" "$1" | gcc -Wall -Wextra -Werror -pedantic -x c -fsyntax-only -I"$prefix/include" - 2>"$T/err"
}
check_that "event.h: a field of an integer" event 'unsigned char'
! event double && grep -q 'is an integer: record a fraction multiplied' "$T/err"
result "event.h: a field of a double is refused, in a sentence" $? "$T/err"
mv "$prefix" "$T/moved"
check_that "traces from a moved tree" traces "$T/moved/bin/brace"
ln -s "$T/moved/bin/brace" "$T/link"
check_that "traces through a symbolic link" traces "$T/link"
strip --strip-unneeded "$T/moved/lib/brace/libbrace-agent.so" # as packages are made
check_that "traces by a stripped agent" traces "$T/moved/bin/brace"
comes() { # into what runs already: by hand, from the agent's file
	sleep 600 &
	"$T/moved/bin/brace" record -q -o "$T/trace" -p $! --duration 0.1s
	status=$?
	kill $!
	return $status
}
check_that "which can also be put into a process" comes
rm "$T/moved/lib/brace/libbrace-agent.so"
"$T/moved/bin/brace" record -o "$T/none" -- true >"$T/out" 2>"$T/err"
[ $? -eq 125 ] && grep -q '^brace: .*libbrace-agent.so' "$T/err" && [ ! -e "$T/none" ]
result "without its agent it says so" $? "$T/err"
finish
