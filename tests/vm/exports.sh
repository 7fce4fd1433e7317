# SPDX-License-Identifier: MIT
# shellcheck shell=dash
# The guest's part of the test `kernel-exports`: brace ($1) records a program of several threads ($2) and the kernel. Nothing of the
# kernel's is recorded of a thread before its first function runs.
export NO_COLOR=1
# shellcheck disable=SC2154
"$1" record -k -b k:32M -o "$OUT/merged.brace" -e k:syscalls:sys_enter_nanosleep -e k:syscalls:sys_enter_clock_nanosleep -l 'k:vfs_*' \
	-l k:ksys_read -l k:ksys_write -l k:hrtimer_nanosleep -l '*' -- "$2"
