/* A program without library or thread pointer: says ok, ends with 7. */
	.globl	_start
_start:
	mov	$1, %eax
	mov	$1, %edi
	lea	text(%rip), %rsi
	mov	$3, %edx
	syscall
	mov	$60, %eax
	mov	$7, %edi
	syscall
text:	.ascii	"ok\n"
	.section .note.GNU-stack, "", @progbits
