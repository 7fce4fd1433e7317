/* SPDX-License-Identifier: MIT */
/* arch/kernel_code.h for x86-64, of Linux 6.12 and before. */
#pragma once

#define KERNEL_CODE_FAULT_USER 4u
#define KERNEL_CODE_INTERRUPTS                                                            \
	{ "__sysvec_", "sysvec_", "common_interrupt", "__common_interrupt", "irq_enter_rcu", \
	  "irq_exit_rcu" }
#define KERNEL_CODE_TIMER "__sysvec_apic_timer_interrupt"
#define KERNEL_CODE_TIMER_OLDER "sysvec_apic_timer_interrupt"
