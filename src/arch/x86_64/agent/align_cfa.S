/* SPDX-License-Identifier: MIT */
/* The stub arena's unwind table once more, for nongnu's libunwind, which takes a frame's CFA for
 * the stack pointer of the frame above. Here the CFA is just that, and even, and the stack pointer
 * has no rule of its own. libgcc and LLVM's libunwind could not tell a stub's frame from its
 * caller's by this table; nongnu's does it by the address. A header as PT_GNU_EH_FRAME points to,
 * with one entry (unwind.c shows it). Data only. */
	.set ARENA_BYTES, 256 * 65536
	.set STUB_RET, 30 /* as in entry.S */
	.set EXITS_AT, 0xfe00

	.section .rodata
	.balign 4
	.globl agent_align_hdr
	.hidden agent_align_hdr
agent_align_hdr:
	.byte	1, 0x1b, 0x03, 0x3b     /* version; pcrel|sdata4, udata4, datarel|sdata4 */
	.long	cie - .
	.long	1
	.long	agent_arena - agent_align_hdr, fde - agent_align_hdr

	.balign 8
cie:	.long	fde - 1f
1:	.long	0
	.byte	1
	.string	"zPR"
	.uleb128 1
	.sleb128 -8
	.byte	16                      /* the return address */
	.uleb128 6
	.byte	0x1b
	.long	agent_align_personality - .
	.byte	0x1b
	/* CFA = rsp of the rule in entry.S. */
	.byte	0x0f, 24, 0x77, 0x00, 0x80, 0x00, 0x08, 31, 0x1a, 0x08, STUB_RET, 0x29, 0x80, 0x00, 0x0a, 0xff, 0xff, 0x1a, 0x0a, EXITS_AT & 0xff, EXITS_AT >> 8, 0x2a, 0x21, 0x33, 0x24, 0x22
	/* The return address stands in the site table; or below the CFA, if it is equal there,
	 * because then agent_align_personality put it there, so that a landing pad can be written
	 * over it. With a = entry.S's word of the table and s = rsp - 8: *s == *a ? s : a */
	.byte	0x10, 0x10, 47, 0x77, 0x78
	.byte	0x80, 0x00, 0x12, 0x0a, 0xff, 0xff, 0x1a, 0x0a, EXITS_AT & 0xff, EXITS_AT >> 8, 0x2d, 0x28, 4, 0, 0x13, 0x77, 0x00, 0x06
	.byte	0x12, 0x0a, 0xff, 0xff, 0x1a, 0x35, 0x25, 0x33, 0x24, 0x16, 0x40, 0x25, 0x40, 0x24, 0x22
	.byte	0x14, 0x06, 0x14, 0x06, 0x29, 0x28, 3, 0, 0x2f, 1, 0, 0x13
	.balign 8, 0
fde:	.long	3f - 2f
2:	.long	2b - cie
	.long	agent_arena - .
	.long	ARENA_BYTES + 65536
	.uleb128 0
	.balign 8, 0
3:	.long	0

	.section .note.GNU-stack, "", @progbits
