/* SPDX-License-Identifier: MIT */
/* struct agent_descriptor (shared/memory.h), at the file's entry point: a tracer that puts the
 * agent into a process by hand reads it from the file (inject/agent_file.c). Data only; the offsets
 * count from here. */
#include "shared/version.h"

	.macro AT name
	.long	\name - agent_descriptor
	.endm

	.section .rodata
	.balign 8
	.globl agent_descriptor
	.hidden agent_descriptor
agent_descriptor:
	.quad	0x746e656761636272
	.long	PROTOCOL_VERSION
	AT	agent
	AT	agent_params
	AT	agent_attach
	AT	agent_detach
	AT	agent_change
	AT	agent_forget
	AT	agent_attach_stack_top
	.long	9 /* stub_return - stub_begin; entry.S checks it */
	AT	agent_table
	AT	agent_arena
	AT	agent_slow_record
	AT	agent_slow_record2
	AT	agent_slow_entry
	AT	agent_slow_site
	AT	agent_slow_state_entry
	AT	agent_slow_nonlocal
	AT	agent_find_fde
	AT	agent_find_object
	AT	agent_iterate_phdr
	AT	agent_intercept
	AT	agent_intercept_filter
	AT	agent_probe
	AT	agent_event
	AT	agent_syscall
	AT	agent_delivery
	AT	agent_arguments
	AT	agent_lock

	/* The stack for calls by a tracer: the borrowed thread's own may be full. */
	.section .bss
	.balign 16
	.skip	16384
agent_attach_stack_top:

	.section .note.GNU-stack, "", @progbits
