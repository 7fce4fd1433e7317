/* A program without a libc and without a thread pointer: 1,000 calls of `work`, each of two of
 * `leaf`, whose results it adds up. It says "right" and ends with 7. Its longjmp is its own: what
 * glibc would have scrambled is no address there. */
	.macro FUNCTION name
	.balign	16
	.globl	\name
	.type	\name, @function
\name:
	.endm

	.text
	FUNCTION _start
	mov	$1000, %ebx
	xor	%ebp, %ebp
1:	call	work
	add	%eax, %ebp
	dec	%ebx
	jnz	1b
	lea	wrong(%rip), %rsi
	mov	$6, %edx
	cmp	$84000, %ebp
	jne	2f
	lea	right(%rip), %rsi
2:	mov	$1, %edi
	mov	$1, %eax
	syscall
	mov	$7, %edi
	mov	$60, %eax
	syscall
	hlt
	.size	_start, . - _start

	FUNCTION work
	push	%rbx
	mov	$20, %edi
	call	leaf
	mov	%eax, %ebx
	mov	$22, %edi
	call	leaf
	add	%ebx, %eax
	lea	buffer(%rip), %rdi
	call	longjmp
	pop	%rbx
	ret
	.size	work, . - work

	FUNCTION leaf
	lea	(%rdi, %rdi), %eax
	test	%edi, %edi
	jz	1f
	nop
1:	ret
	.size	leaf, . - leaf

	FUNCTION longjmp
	push	%rax
	test	%rdi, %rdi
	pop	%rax
	nop
	nop
	ret
	.size	longjmp, . - longjmp

	.section .rodata
	.balign	8
buffer:	.fill	8, 8, -1
right:	.ascii	"right\n"
wrong:	.ascii	"wrong\n"
	.section .note.GNU-stack, "", @progbits
