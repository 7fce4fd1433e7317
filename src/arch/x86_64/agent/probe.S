/* SPDX-License-Identifier: MIT */
/* Entry from probes' trampolines (arch/probe_code.h). The program stands between two
 * instructions, so every register and the flags are kept; the trampoline has stepped over the 128
 * bytes below its stack pointer. The return address is that of a nop whose displacement leads to
 * the struct probe_site. */
#include "arch/x86_64/agent/probe_frame.h"

	.text
	.globl agent_probe
	.hidden agent_probe
	.type agent_probe, @function
agent_probe:
	PROBE_BEGINS
	PROBE_CALLS agent_probe_hit
	.cfi_endproc
	.size agent_probe, .-agent_probe

	.section .note.GNU-stack, "", @progbits
