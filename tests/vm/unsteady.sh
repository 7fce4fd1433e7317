# SPDX-License-Identifier: MIT
# shellcheck shell=dash disable=SC2086
# In a guest whose kernel does not count by the TSC (tsc=unstable): a line each, "good" or "bad" and a name. The arguments: brace,
# tests/kernel/merged_program. It leaves unsteady.brace in $OUT.
brace=$1
program=$2
cd /tmp || exit 1
says() { # NAME FILE WORDS
	if grep -q "$3" "$2"; then
		echo "good $1"
	else
		echo "bad $1"
		sed 's/^/# /' "$2"
	fi
}
words="TSC is not steady: .*; they were found to be no more than [0-9.]* us apart"
cat /sys/devices/system/clocksource/clocksource0/available_clocksource >clocks
grep -qw tsc clocks && echo "bad tsc=unstable: the kernel's clocks are $(cat clocks)"
$brace record -k -b k:8M -o "$OUT/unsteady.brace" -l one_read -l k:__x64_sys_read -l k:vfs_read -- $program 4000 >said 2>&1
says 'tsc=unstable, record -k: how far processors are apart' said "$words"
$brace info "$OUT/unsteady.brace" >said 2>&1
says 'tsc=unstable: info says it of the file' said "$words"
$brace record -K -o kernel.brace -l vfs_read -- cat clocks >said 2>&1
says 'tsc=unstable, record -K' said "$words"
$brace info kernel.brace >said 2>&1
says 'tsc=unstable: info of a file of -K' said "$words"
