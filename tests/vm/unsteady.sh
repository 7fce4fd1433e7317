# SPDX-License-Identifier: MIT
# shellcheck shell=dash disable=SC2086
# In a guest whose kernel does not count by the TSC (tsc=unstable): a line each, "good" or "bad" and a name. The arguments: brace,
# tests/kernel/merged_program. It leaves unsteady.brace and unsteady.text in $OUT.
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
words="TSC is not steady: .*; they were found to be no more than [0-9.]* us apart; readers of the file put times right by [0-9]* pairs of clocks, to [0-9.]* us"
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
printed='TSC is not steady: .*; lines that are printed at once have times put right by [0-9]* pairs of clocks, to [0-9.]* us'
$brace graph -k -b k:8M -o "$OUT/unsteady.text" -l one_read -l k:__x64_sys_read -l k:vfs_read -- $program 4000 >said 2>&1
says 'tsc=unstable, graph -k: its times are put right, and to what' said "$printed"
$brace graph -K -l vfs_read -- cat clocks >said 2>&1
says 'tsc=unstable, graph -K: the same' said "$printed"
$brace top --batch -n 1 -l one_read -- $program 10 >said 2>&1
says 'tsc=unstable, top: the same' said "$printed"
$brace graph -l one_read -O func_stack_trace -t function -- $program 10 >said 2>&1
says 'tsc=unstable, what an instance prints: the same' said "$printed"
# perf stamps by CLOCK_MONOTONIC_RAW then, which pairs of clocks turn into the TSC: not each call is met to the nanosecond.
mount -o remount,gid=65534,mode=750 /sys/kernel/tracing
echo 2 >/proc/sys/kernel/perf_event_paranoid
start-stop-daemon -S -c 65534:65534 -x $brace -- record -k -l one_read -e k:syscalls:sys_enter_read -o /tmp/perf.brace -- $program 2000 >said 2>&1
says 'tsc=unstable, events by perf: none is lost' said 'records of the kernel, none lost'
$brace replay --no-pager /tmp/perf.brace >said 2>&1
inside=$(grep -A 1 'one_read() {' said | grep -c 'sys_enter_read: fd: ')
if [ "$inside" -ge 1000 ]; then echo "good tsc=unstable, events by perf: they lie in their calls"; else echo "bad tsc=unstable, events by perf: $inside of 2000 lie in their calls"; fi
