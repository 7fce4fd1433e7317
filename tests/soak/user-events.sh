#!/bin/bash
# The kernel's own tests of user_events (tools/testing/selftests/user_events of Debian's linux-source-6.12) and its sample, unmodified, in
# `brace shell`: each test passes, but for perf's.
. "$(dirname "$0")/lib.sh"
PACKAGE=linux-source-6.12
WANTED=$SOURCES/$PACKAGE-user-events
[ "$(id -u)" -eq 0 ] || { echo '1..0 # SKIP the tests want to be root'; exit 0; }

fetch() {
	cd "$SOURCES" && apt-get download -qq "$PACKAGE" && mkdir -p "$WANTED.new" &&
		dpkg-deb --fsys-tarfile "$PACKAGE"_*.deb | tar -xOf - "./usr/src/$PACKAGE.tar.xz" |
		tar -xJf - -C "$WANTED.new" --wildcards "$PACKAGE/tools/testing/selftests/user_events" "$PACKAGE/tools/testing/selftests/kselftest*.h" \
			"$PACKAGE/include/uapi/linux/user_events.h" "$PACKAGE/samples/user_events" &&
		rm -f "$PACKAGE"_*.deb && mv "$WANTED.new" "$WANTED"
}
mkdir -p "$SOURCES"
if [ ! -d "$WANTED" ] && ! (fetch) >"$T/source.log" 2>&1; then
	diag "$T/source.log"
	printf '1..0 # SKIP the package %s could not be had\n' "$PACKAGE"
	exit 0
fi

# The header alone of the kernel's: others of its folder are for programs of its own build.
mkdir -p "$T/include/linux"
cp "$WANTED/$PACKAGE/include/uapi/linux/user_events.h" "$T/include/linux"
in_shell() { timeout -k 5 "$LIMIT" "$BRACE" shell --run "tail --pid=$$ -f /dev/null" -- "$@"; }
for name in abi_test ftrace_test dyn_test; do
	gcc -w -I "$T/include" -o "$T/$name" "$WANTED/$PACKAGE/tools/testing/selftests/user_events/$name.c" 2>"$T/err"
	result "$name is built" $? "$T/err"
	in_shell "$T/$name" >"$T/out" 2>&1 </dev/null
	passed=$(grep -c '^ok' "$T/out")
	[ "$passed" -gt 3 ] && ! grep -qE '^not ok|SKIP' "$T/out" && grep -q '^# PASSED: \([0-9]*\) / \1 ' "$T/out"
	result "$name: $passed tests" $? "$T/out"
done

# The sample asks for a line, and writes its record if the event is on.
gcc -w -I "$T/include" -o "$T/example" "$WANTED/$PACKAGE/samples/user_events/example.c" 2>"$T/err"
result "the sample is built" $? "$T/err"
cat >"$T/sample.sh" <<'P'
cd /sys/kernel/tracing || exit
mkfifo "$1/lines"
"$1/example" <"$1/lines" >"$1/said" 2>&1 &
exec 3>"$1/lines"
until [ -e events/user_events/test/enable ]; do sleep 0.05; done
echo >&3
echo 1 >events/user_events/test/enable
echo >&3
echo >&3
until [ "$(grep -c ' test: ' trace)" -ge 2 ]; do sleep 0.05; done
kill $!
grep ' test: ' trace
P
in_shell sh "$T/sample.sh" "$T" >"$T/out" 2>&1 </dev/null
grep -q 'example-[0-9]* .* test: count=0x0 (0)$' "$T/out" && grep -q ' test: count=0x1 (1)$' "$T/out"
result "the kernel's sample writes its records" $? "$T/out" "$T/said"
finish
