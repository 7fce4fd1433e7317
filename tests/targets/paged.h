/* A function alone on its page, so that a program can put another page in its place. */
#pragma once

enum { PAGE = 4096 };

void paged(void);
__asm__(".pushsection .text.paged, \"ax\", @progbits\n"
	".balign 4096\n"
	".globl paged\n"
	".type paged, @function\n"
	"paged: push %rbp\n"
	"mov %rsp, %rbp\n"
	"xor %eax, %eax\n"
	"add $1, %eax\n"
	"pop %rbp\n"
	"ret\n"
	".size paged, . - paged\n"
	".balign 4096\n"
	".popsection\n");
