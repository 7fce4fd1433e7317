#!/bin/bash
# SPDX-License-Identifier: MIT
# tools/check-layers finds what it forbids: each line here is planted in a copy of the tree, in a
# file of a folder that must not have it, and must be named by file, line and text.
. "$(dirname "$0")/../run/lib.sh"
: "${SOURCE:?is the folder of the sources}"
mkdir -p "$T/tree/tools" "$T/tree/docs"
cp "$SOURCE/ARCHITECTURE.md" "$T/tree/"
cp "$SOURCE"/tools/{knows,meets}-machine "$T/tree/tools/"
cp "$SOURCE/docs/seams.md" "$T/tree/docs/"
cp -r "$SOURCE"/{src,include,bench,fuzz} "$T/tree/"

layers() {
	"$SOURCE/tools/check-layers" "$T/tree" >"$T/said"
}

# plant LINE: at the end of a file that knows no machine
PLANTED=$T/tree/src/report/graph.c
plant() { printf '%s\n' "$1" >>"$PLANTED"; }

# planted LINE WHAT: the planted line is named, and what stands in it
planted() {
	local line
	line=$(grep -nxF -- "$1" "$PLANTED") &&
		grep -qF "# src/report/graph.c:${line%%:*} knows the machine ($2)" "$T/said"
}

outside_src() { # FILE: not of src/, but built for the machine, too
	grep -v "^$1" "$SOURCE/tools/knows-machine" >"$T/tree/tools/knows-machine"
	echo '#include <x86intrin.h>' >>"$T/tree/$1"
	! layers && grep -q "^# $1:[0-9]* knows the machine" "$T/said"
	local r=$?
	cp "$SOURCE/$1" "$T/tree/$1"
	cp "$SOURCE/tools/knows-machine" "$T/tree/tools/"
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

# fault TEXT: the check fails, and says so
fault() { ! layers && grep -qF "# $1" "$T/said"; }

contract() { # LINE WHAT: in a header that all machines have
	echo "$1" >>"$T/tree/src/arch/code.h"
	fault "src/arch/code.h:$(grep -c '' "$T/tree/src/arch/code.h") knows the machine ($2)"
	local r=$?
	cp "$SOURCE/src/arch/code.h" "$T/tree/src/arch/"
	return $r
}

met() { # a place that was written for one machine
	plant '/* x86 keeps the order. */'
	fault 'src/report/graph.c was written for one machine ("x86 keeps"): src/arch has that'
	local r=$?
	cp "$SOURCE/src/report/graph.c" "$PLANTED"
	return $r
}

met_no_more() { # a row for a place that is not there
	echo 'src/report/graph.c | never written' >>"$T/tree/tools/meets-machine"
	fault 'src/report/graph.c has no "never written": take it off tools/meets-machine' &&
		grep -qF '# docs/seams.md does not name src/report/graph.c' "$T/said"
	local r=$?
	cp "$SOURCE/tools/meets-machine" "$T/tree/tools/"
	return $r
}

in_seams() { # a file of the table that is not met
	sed -i 's/^| `hook\/sweep.c`/| `hook\/sweep.c`, `hook\/why.c`/' "$T/tree/docs/seams.md"
	fault 'docs/seams.md names src/hook/why.c, which is not in tools/meets-machine'
	local r=$?
	cp "$SOURCE/docs/seams.md" "$T/tree/docs/"
	return $r
}

upward() { # an include of a folder above
	echo '#include "ui/print.h"' >>"$T/tree/src/base/err.c"
	! layers && grep -q '^# src/base/err.c:.* includes ui/print.h' "$T/said"
}

# begins CALL WHAT: a file that begins a thread or a process, and stands in no row
begins() {
	echo "static int begun(void) { return $1; }" >>"$PLANTED"
	! layers && grep -q "^# src/report/graph.c begins a $2 that no row" "$T/said"
	local r=$?
	cp "$SOURCE/src/report/graph.c" "$PLANTED"
	return $r
}

begins_none() { # a file that stands in a row of the threads, and begins none
	sed 's#`session/ahead.c`#`report/graph.c`#' "$SOURCE/ARCHITECTURE.md" >"$T/tree/ARCHITECTURE.md"
	! layers && grep -q '^# src/report/graph.c begins no thread' "$T/said" &&
		grep -q '^# src/session/ahead.c begins a thread that no row' "$T/said"
	local r=$?
	cp "$SOURCE/ARCHITECTURE.md" "$T/tree/"
	return $r
}

check_that 'the tree as it is has no fault' layers

# A line each, all in one tree: what is found in it, the line, what the check says of it.
FORBIDDEN=(
	"a register of ptrace's"
	'uint64_t at = regs->rip;' rip
	"a register of a ucontext"
	'context[REG_RSP] = 0;' REG_RSP
	"a register's number"
	'enum { RAX, RCX };' RAX
	"a request of ptrace's that one machine has"
	'ptrace(PTRACE_GETREGS, tid, 0, &regs);' PTRACE_GETREGS
	"a relocation's type"
	'if (type == R_X86_64_RELATIVE)' R_X86_64_RELATIVE
	"the number of a machine"
	'return eh->e_machine == EM_X86_64;' EM_X86_64
	'an instruction in C'
	'__asm__ volatile("pause");' '__asm__ volatile'
	'the time stamp counter'
	'return __rdtsc();' __rdtsc
	'the processor asked for its abilities'
	'#include <cpuid.h>' cpuid.h
	'an opcode compared'
	'return p[0] == 0xe9;' '] == 0xe9'
	'an opcode written'
	'*at = 0xe9;' '*at = 0xe9'
	'an instruction in bytes'
	'static const uint8_t syscall[2] = { 0x0f, 0x05 };' '{ 0x0f,'
	'an instruction as a string'
	'memcmp(p, "\xf3\x0f\x1e\xfa", 4);' '"\xf3\x'
	"one machine's header"
	'#include "arch/x86_64/code.h"' '#include "arch/x86_64/'
	'a system call that other machines do not have'
	'return syscall(SYS_readlink, p, to, n);' SYS_readlink
	"the same by the kernel's name"
	'case __NR_vfork:' __NR_vfork
	"the machine's clock"
	'write_clock("x86-tsc");' x86
	"the machine's loader"
	'return !strcmp(name, "ld-linux-x86-64.so.2");' x86
	"a word that assembly left below the stack pointer"
	'uint64_t first = sp[-6];' 'sp[-6'
	'where addresses end'
	'return at >= 1ull << 47;' '<< 47'
	'the same by a shift to the right'
	'return !(at >> 47);' '>> 47'
	"a register's number by another name"
	'return kept[KEPT_RAX];' KEPT_RAX
	"a call's return address on the stack"
	'return *(const uint64_t *)sp;' '*(const uint64_t *)sp'
	"a caller's stack pointer"
	'return (uint64_t)sp + 8;' 'sp + 8'
)
# Lines that are allowed.
ALLOWED=(
	'a system call that all machines have is none of these'
	'return syscall(SYS_openat, d, p, 0) == SYS_readlinkat;'
	'nor is a barrier for the compiler'
	'__asm__ volatile("" : : "r"(key));'
	'a comment may name a register'
	'/* rip: where the thread goes on */'
)
for ((i = 1; i < ${#FORBIDDEN[@]}; i += 3)); do plant "${FORBIDDEN[i]}"; done
for ((i = 1; i < ${#ALLOWED[@]}; i += 2)); do plant "${ALLOWED[i]}"; done
! layers
check_that 'machine code in a file is a fault' test $? = 0
for ((i = 0; i < ${#FORBIDDEN[@]}; i += 3)); do
	check_that "${FORBIDDEN[@]:i:1}" planted "${FORBIDDEN[@]:i+1:2}"
done
found=$(grep -c '^# src/report/graph.c:' "$T/said")
check_that 'lines that know no machine are no fault' test "$found" = $((${#FORBIDDEN[@]} / 3))
cp "$SOURCE/src/report/graph.c" "$PLANTED"

check_that 'a header that programs take' outside_src include/brace/event.h
check_that 'a measurement' outside_src bench/pair.c
check_that 'a file that knows it and is not listed' unlisted
check_that 'a file that is listed and knows it no more' listed
check_that 'code for one machine in a header of all' contract 'enum { RAX };' RAX
check_that 'a comment there that names an instruction' contract '/* int3 is none */' int3
check_that 'a comment there that tells how far one reaches' contract '/* 2 GiB away */' '2 GiB'
check_that 'a place that was written for one machine, in a file that is not listed' met
check_that 'a listed place that is not there' met_no_more
check_that 'a file that docs/seams.md names and that is not listed' in_seams
check_that 'a thread that no row has' begins 'pthread_create(&t, NULL, run, NULL)' thread
check_that 'a process that no row has' begins 'posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ)' process
check_that 'a row whose file begins none' begins_none
check_that 'an include of a folder above' upward
finish
