#!/bin/bash
# The TSC of this machine: where the kernel found it uneven, brace says that times may be wrong;
# where the kernel does not tell, CPUID does.
. "$(dirname "$0")/lib.sh"
SOURCES=/sys/devices/system/clocksource/clocksource0/available_clocksource
WORDS="this machine's TSC is not steady"
: >"$T/empty"
echo "hpet acpi_pm " >"$T/uneven"
echo "tsc hpet acpi_pm " >"$T/even"
echo "tsc-early hpet acpi_pm " >"$T/early"
INSIDE=(unshare -m)
[ "$(id -u)" -eq 0 ] || INSIDE=(unshare -rm)
if ! "${INSIDE[@]}" mount --bind "$T/empty" "$SOURCES" 2>"$T/err"; then
	printf '1..0 # SKIP no file can be put in the place of another: %s\n' "$(head -n 1 "$T/err")"
	exit 0
fi

kernel_tells() { # FILE: `brace record` where the kernel's list of clocks is FILE
	# shellcheck disable=SC2016
	"${INSIDE[@]}" bash -c 'mount --bind "$1" "$2" && shift 2 && exec "$@"' - "$1" "$SOURCES" \
		"$BRACE" record -o "$T/trace" -- true 2>"$T/summary"
}
kernel_tells "$T/even" && ! grep "$WORDS" "$T/summary"
result "nothing is said of a TSC that the kernel counts by" $? "$T/summary"
kernel_tells "$T/early" && ! grep "$WORDS" "$T/summary"
result "nor in the first seconds after a boot" $? "$T/summary"
kernel_tells "$T/uneven" && grep -q "$WORDS" "$T/summary"
result "one that it does not count by may be wrong" $? "$T/summary"
"$BRACE" info "$T/trace" | grep -q "$WORDS" && "$BRACE" info --json "$T/trace" | grep -q '"kind":"clock"'
result "the trace file keeps that" $?
"$BRACE" info "$T/trace" | grep -q "put times right by [0-9]* pairs of clocks, to [0-9.]* us"
result "and pairs of clocks, with their error" $?
kernel_tells "$T/empty"
grep -q "$WORDS" "$T/summary" && said=no || said=yes
grep -qw nonstop_tsc /proc/cpuinfo && steady=yes || steady=no
[ $said = $steady ]
result "where it does not tell, CPUID does ($steady)" $? "$T/summary"
finish
