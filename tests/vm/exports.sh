# SPDX-License-Identifier: MIT
# shellcheck shell=dash
# The guest's part of the test `kernel-exports`: brace ($1) records a program of several threads ($2) and the kernel. Nothing of the
# kernel's is recorded of a thread before its first function runs. Then brace records the program alone, while trace-cmd ($3, if there
# is one) records the kernel by the same clock.
export NO_COLOR=1
# shellcheck disable=SC2154
"$1" record -k -b k:32M -o "$OUT/merged.brace" -e k:syscalls:sys_enter_nanosleep -e k:syscalls:sys_enter_clock_nanosleep -l 'k:vfs_*' \
	-l k:ksys_read -l k:ksys_write -l k:hrtimer_nanosleep -l '*' -- "$2"
[ -n "$3" ] || exit 0
"$3" record -C mono -b 4096 -e syscalls:sys_enter_nanosleep -e syscalls:sys_enter_clock_nanosleep -o "$OUT/kernel.dat" \
	"$1" record -o "$OUT/user.brace" -l handle -l rest -l read_file -- "$2"
