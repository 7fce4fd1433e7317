/* SPDX-License-Identifier: MIT */
/* struct agent_contents (shared/memory.h), at the file's entry point: what a tracer that puts the agent
 * into a process by hand has to find in it. */
#include "shared/version.h"

	.macro AT name
	.long	\name - agent_contents
	.endm

	.section .rodata
	.balign 8
	.globl agent_contents
	.hidden agent_contents
agent_contents:
	.quad	0x746e656761636272
	.long	PROTOCOL_VERSION
	AT	agent
	AT	agent_params
	AT	agent_attach
	AT	agent_detach
	AT	agent_change
	AT	agent_forget
	AT	agent_attach_stack_top
	.long	9 /* stub_return - stub_begin: entry.S sees to it */
	AT	agent_table
	AT	agent_arena
	AT	agent_slow_record
	AT	agent_slow_record2
	AT	agent_slow_entry
	AT	agent_slow_site
	AT	agent_slow_state_entry
	AT	agent_slow_leave
	AT	agent_find_fde
	AT	agent_find_object
	AT	agent_iterate_phdr
	AT	agent_led_call
	AT	agent_probe
	AT	agent_event
	AT	agent_syscall
	AT	agent_delivery

	.section .bss
	.balign 16
	.skip	16384
agent_attach_stack_top:

	.section .note.GNU-stack, "", @progbits
