/* SPDX-License-Identifier: MIT */
/* The unwind table of a region of trampolines and probes, and of the islands that lead there: data,
 * which unwind_rule.c copies behind each region's code. One rule holds for all code of the region,
 * at every instruction, because it looks the trampoline up in the list of layouts (struct
 * trampoline_layout), as it would be too much to have an entry for each function.
 *
 * The rule says that a trampoline's frame has no size, and that its caller is the instruction of
 * the program that the trampoline stands for: the patched one, while the function is not entered
 * yet, and the original of each moved one. From there on the program's own table holds. The
 * augmentation S says that this instruction was not executed yet.
 *
 * Unwinders compare CFAs to tell frames apart, so this frame's is odd, as a stub's is
 * (arch/x86_64/agent/entry.S). Where the stack pointer differs from the original's:
 *   - a graph trampoline has taken the return address off: 8 less, before its last jump;
 *   - a moved call has pushed its return address: 8 more, before its jump;
 *   - a probe steps over the bytes below the stack pointer to call the agent: 128 more.
 * A filter's code stands for no instruction: the agent calls it, and its caller is its return
 * address.
 *
 * nongnu's libunwind takes return addresses from memory only, and a CFA for the stack pointer. Its
 * table is for trampolines up to the first moved instruction, and leads to the function's caller;
 * behind that, and in probes' code, the stack ends. */
#include "shared/unwind_rule.h"

	.section .rodata.unwind_rule, "a", @progbits

/* The address of struct unwind_info, which unwind_rule.c fills in: a label behind it marks it. */
	.macro ABOUT name
	.byte	0x0e
	.quad	0
\name:
	.endm

/* An int32_t that was read without its sign gets it. */
	.macro SIGN
	.byte	0x0c
	.long	0x80000000
	.byte	0x27, 0x0c
	.long	0x80000000
	.byte	0x1c
	.endm

	.macro GOTO op, to           # 0x28: if not 0
	.byte	\op
	.short	\to - . - 2
	.endm

/* Leaves on the stack: q A d p o, where q is the pc, or the trampoline that the island jumps to,
 * A the about, d = q - A->base, p the trampoline's layout, o = d - p->body. */
	.macro FIND_LAYOUT about
	.byte	0x80, 0x00              # q
	ABOUT	\about
	.byte	0x14, 0x14, 0x06, 0x1c  # q A d
	.byte	0x12, 0x30, 0x2d        # d < 0
	GOTO	0x28, 1f
	.byte	0x12, 0x15, 2, 0x23, UNWIND_BYTES, 0x06, 0x2d # d < A->bytes
	GOTO	0x28, 2f
1:	.byte	0x13, 0x16, 0x12, 0x23, 1, 0x94, 4 # an island: a jump, with the distance behind its first byte
	SIGN
	.byte	0x22, 0x23, 5, 0x16, 0x14, 0x14, 0x06, 0x1c # q A d
2:	.byte	0x14, 0x23, UNWIND_LAYOUTS, 0x06, 0x15, 2, 0x23, UNWIND_STEP, 0x06 # q A d p step
3:	.byte	0x14, 0x14, 0x22        # c = p + step
	.byte	0x12, 0x15, 5, 0x23, UNWIND_LAYOUTS_END, 0x06, 0x2d # c < A->layouts_end
	GOTO	0x28, 4f
	.byte	0x13
	GOTO	0x2f, 6f
4:	.byte	0x12, 0x94, 4, 0x15, 4, 0x2c # c->at <= d
	GOTO	0x28, 5f
	.byte	0x13
	GOTO	0x2f, 6f
5:	.byte	0x17, 0x16, 0x13        # p = c
6:	.byte	0x31, 0x25, 0x12, 0x3f, 0x2b # step / 2, while it is a layout's size
	GOTO	0x28, 3b
	.byte	0x13, 0x12, 0x23, LAYOUT_BODY, 0x94, 4, 0x15, 2, 0x16, 0x1c
	.endm

/* Behind FIND_LAYOUT: goes to `to` in a filter's code. */
	.macro IN_FILTER to
	.byte	0x14, 0x23, LAYOUT_PUSHED, 0x94, 1, 0x08, LAYOUT_FILTER, 0x29
	GOTO	0x28, \to
	.endm

/* Behind FIND_LAYOUT: the stack pointer, as it is at the instruction that the trampoline stands
 * for. Before the body it differs behind `lea 8(%rsp), %rsp` and before `jmp *%rcx`. */
	.macro STACK_POINTER
	.byte	0x12, 0x30, 0x2d        # o < 0
	GOTO	0x28, 1f
	.byte	0x14, 0x23, LAYOUT_PUSHED, 0x94, 1, 0x29, 0x33, 0x24, 0x77, 0x00, 0x22
	GOTO	0x2f, 2f
1:	.byte	0x14, 0x23, LAYOUT_PUSHED, 0x94, 1, 0x08, LAYOUT_CALLS_AGENT, 0x29
	GOTO	0x28, 3f
	.byte	0x15, 4, 0x36, 0x1c, 0x06, 0x38, 0x25 # the 7 bytes before q + 2
	.byte	0x0e, 0x48, 0x8d, 0x64, 0x24, 0x08, 0xff, 0xe1, 0x00
	.byte	0x29, 0x33, 0x24, 0x1f, 0x77, 0x00, 0x22
	GOTO	0x2f, 2f
3:	.byte	0x77
	.sleb128 LAYOUT_STEP
2:
	.endm

/* Behind FIND_LAYOUT: the address of that instruction. */
	.macro ORIGINAL
	.byte	0x12, 0x30, 0x2a        # o >= 0
	GOTO	0x28, 1f
	.byte	0x13, 0x30              # the patched instruction itself
	GOTO	0x2f, 3f
1:	.byte	0x12, 0x15, 2, 0x23, LAYOUT_PLAIN, 0x94, 1, 0x2c # o <= p->plain
	GOTO	0x28, 3f
	.byte	0x14, 0x23, LAYOUT_GROWN, 0x94, 1, 0x1c # o - p->grown
	.byte	0x12, 0x15, 2, 0x23, LAYOUT_LEN, 0x94, 1, 0x2d # at most p->len
	GOTO	0x28, 2f
	.byte	0x13, 0x12, 0x23, LAYOUT_LEN, 0x94, 1
2:	.byte	0x12, 0x15, 2, 0x23, LAYOUT_PLAIN, 0x94, 1, 0x2a # at least p->plain
	GOTO	0x28, 3f
	.byte	0x13, 0x12, 0x23, LAYOUT_PLAIN, 0x94, 1
3:	.byte	0x16, 0x23, LAYOUT_FROM, 0x94, 4
	SIGN
	.byte	0x22, 0x15, 2, 0x06, 0x22
	.endm

/* The begin of an entry for the addresses from `low` on. Fields: where it begins, from there; how
 * long it is. */
	.macro ENTRY name, cie
	.long	\name\()_end - \name - 4
	.long	. - \cie
	.long	0
\name\()_low:
	.long	0
\name\()_range:
	.uleb128 0
	.endm

	.globl unwind_rule_begin, unwind_rule_end, unwind_rule_about1, unwind_rule_about2, unwind_rule_about3
	.globl unwind_rule_about4, unwind_rule_about5, unwind_rule_entry_low, unwind_rule_entry_range
	.globl unwind_rule_nongnu_low, unwind_rule_nongnu_range, unwind_rule_first, unwind_rule_nongnu_first
	.globl unwind_rule_header, unwind_rule_nongnu_header, unwind_rule_entry # shared/unwind_rule.h says where they are
	.balign 8
unwind_rule_begin:
	.skip	UNWIND_HEADER           # struct unwind_info
unwind_rule_header:
	.byte	1, 0x1b, 0x03, 0x3b     # version; pcrel|sdata4, udata4, datarel|sdata4
	.long	cie - .
	.long	1
	.long	0                       # low, from the header
unwind_rule_first:
	.long	unwind_rule_entry - unwind_rule_header
unwind_rule_nongnu_header:
	.byte	1, 0x1b, 0x03, 0x3b
	.long	nongnu_cie - .
	.long	1
	.long	0
unwind_rule_nongnu_first:
	.long	unwind_rule_nongnu - unwind_rule_nongnu_header

	.balign 8
cie:	.long	unwind_rule_entry - 1f
1:	.long	0
	.byte	1
	.string	"zRS"
	.uleb128 1
	.sleb128 -8
	.byte	16                      # the return address
	.uleb128 1
	.byte	0x1b
	.balign 8, 0
unwind_rule_entry:
	ENTRY	unwind_rule_entry, cie
	.byte	0x0f                    # CFA
	.uleb128 12f - 11f
11:	FIND_LAYOUT unwind_rule_about1
	STACK_POINTER
	.byte	0x23, 1
12:	.byte	0x16, 0x07              # rsp
	.uleb128 14f - 13f
13:	FIND_LAYOUT unwind_rule_about2
	IN_FILTER 17f
	STACK_POINTER
	GOTO	0x2f, 18f
17:	.byte	0x77, 8                 # behind its return address
18:
14:	.byte	0x16, 0x10              # the return address
	.uleb128 16f - 15f
15:	FIND_LAYOUT unwind_rule_about3
	IN_FILTER 17f
	ORIGINAL
	GOTO	0x2f, 18f
17:	.byte	0x77, 0, 0x06
18:
16:	.balign 8, 0
unwind_rule_entry_end:
	.long	0

	.balign 8
nongnu_cie:
	.long	unwind_rule_nongnu - 1f
1:	.long	0
	.byte	1
	.string	"zR"
	.uleb128 1
	.sleb128 -8
	.byte	16
	.uleb128 1
	.byte	0x1b
	.balign 8, 0
unwind_rule_nongnu:
	ENTRY	unwind_rule_nongnu, nongnu_cie
	.byte	0x0f                    # CFA: behind the return address
	.uleb128 12f - 11f
11:	FIND_LAYOUT unwind_rule_about4
	STACK_POINTER
	.byte	0x23, 8
12:	.byte	0x10, 0x10              # where the return address is
	.uleb128 16f - 15f
15:	FIND_LAYOUT unwind_rule_about5
	.byte	0x12, 0x30, 0x2c        # o <= 0, in a trampoline: no probe's at = body, and no probe's call
	.byte	0x15, 2, 0x94, 4, 0x15, 3, 0x23, LAYOUT_BODY, 0x94, 4, 0x2e, 0x1a
	.byte	0x15, 2, 0x23, LAYOUT_PUSHED, 0x94, 1, 0x08, LAYOUT_CALLS_AGENT, 0x2e, 0x1a
	GOTO	0x28, 13f
	.byte	0x15, 3, 0x23, UNWIND_NOTHING
	GOTO	0x2f, 14f
13:	STACK_POINTER
14:
16:	.balign 8, 0
unwind_rule_nongnu_end:
	.long	0
	.balign 8
unwind_rule_end:

	.section .note.GNU-stack, "", @progbits
