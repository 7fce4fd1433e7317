#!/bin/bash
# SPDX-License-Identifier: MIT
# tools/check-layers finds what it forbids: each line here is planted in a copy of the tree, in a
# file of a folder that must not have it, and must be named by file, line and text.
. "$(dirname "$0")/../run/lib.sh"
: "${SOURCE:?is the folder of the sources}"
mkdir -p "$T/tree/src" "$T/tree/tools"
cp "$SOURCE/ARCHITECTURE.md" "$T/tree/"
cp "$SOURCE/tools/knows-machine" "$T/tree/tools/"
cp -r "$SOURCE/src/." "$T/tree/src/"

layers() {
	"$SOURCE/tools/check-layers" "$T/tree" >"$T/said"
}

# planted LINE WHAT: the line at the end of a file that knows no machine
planted() {
	local file=$T/tree/src/report/graph.c line
	printf '%s\n' "$1" >>"$file"
	line=$(wc -l <"$file")
	! layers && grep -qF "# src/report/graph.c:$line knows the machine ($2)" "$T/said"
	local r=$?
	cp "$SOURCE/src/report/graph.c" "$file"
	return $r
}

unlisted() { # a file that knows the machine and is taken off the list
	grep -v '^src/shared/points.h' "$SOURCE/tools/knows-machine" >"$T/tree/tools/knows-machine"
	! layers && grep -q '^# src/shared/points.h:[0-9]* knows the machine' "$T/said"
}

listed() { # a file on the list that knows it no more
	{
		cat "$SOURCE/tools/knows-machine"
		echo 'src/report/graph.c nothing'
	} >"$T/tree/tools/knows-machine"
	! layers && grep -q '^# src/report/graph.c does not know the machine' "$T/said"
	local r=$?
	cp "$SOURCE/tools/knows-machine" "$T/tree/tools/"
	return $r
}

upward() { # an include of a folder above
	echo '#include "ui/print.h"' >>"$T/tree/src/base/err.c"
	! layers && grep -q '^# src/base/err.c:.* includes ui/print.h' "$T/said"
}

check_that 'the tree as it is has no fault' layers
check_that "a register of ptrace's" planted 'uint64_t at = regs->rip;' rip
check_that "a register of a ucontext" planted 'context[REG_RSP] = 0;' REG_RSP
check_that "a register's number" planted 'enum { RAX, RCX };' RAX
check_that "a request of ptrace's that one machine has" planted 'ptrace(PTRACE_GETREGS, tid, 0, &regs);' PTRACE_GETREGS
check_that "a relocation's type" planted 'if (type == R_X86_64_RELATIVE)' R_X86_64_RELATIVE
check_that "the number of a machine" planted 'return eh->e_machine == EM_X86_64;' EM_X86_64
check_that 'an instruction in C' planted '__asm__ volatile("pause");' '__asm__ volatile'
check_that 'the time stamp counter' planted 'return __rdtsc();' __rdtsc
check_that 'the processor asked for its abilities' planted '#include <cpuid.h>' cpuid.h
check_that 'an opcode compared' planted 'return p[0] == 0xe9;' '] == 0xe9'
check_that 'an opcode written' planted '*at = 0xe9;' '*at = 0xe9'
check_that 'an instruction in bytes' planted 'static const uint8_t syscall[2] = { 0x0f, 0x05 };' '{ 0x0f,'
check_that 'an instruction as a string' planted 'memcmp(p, "\xf3\x0f\x1e\xfa", 4);' '"\xf3\x'
check_that "one machine's header" planted '#include "arch/x86_64/code.h"' '#include "arch/x86_64/'
! planted '/* rip: where the thread goes on */' rip
check_that 'a comment may name a register' test $? = 0
check_that 'a file that knows it and is not listed' unlisted
check_that 'a file that is listed and knows it no more' listed
check_that 'an include of a folder above' upward
finish
