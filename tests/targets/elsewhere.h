/* The difference of a file's two builds, inside of a mount namespace and outside. WHICH is a
 * function's name; BACK, where the loop of sum_up begins: between the labels 1 and 2, two bytes
 * behind its entry, or five, the numbers are equal. Where it is the label 1, a jump of five bytes
 * at the entry does not fit; who plans by the other build puts one there. */
#pragma once

unsigned long sum_up(unsigned long n, unsigned long from);
__asm__(".text\n"
	".globl sum_up\n"
	".type sum_up, @function\n"
	"sum_up:\n"
	"	mov %rdi, %rax\n"
	"1:	nop\n"
	"	nop\n"
	"2:	inc %rsi\n"
	"	add %rsi, %rax\n"
	"	cmp $10, %rsi\n"
	"	jne " BACK "\n"
	"	ret\n"
	".size sum_up, . - sum_up\n");

__attribute__((noinline)) unsigned long WHICH(unsigned long n)
{
	return sum_up(n, 0) ^ n;
}
