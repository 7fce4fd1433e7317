/* SPDX-License-Identifier: MIT */
/* The instructions of a borrowed thread on x86-64. tracee/borrow.c puts them into the process. No
 * state; nothing fails. */
#include "arch/borrowed_code.h"

#include <string.h>

#define FRAME 7u /* offset of the frame's address */

static const uint8_t code[BORROWED_CODE_BYTES] = {
	0x0f, 0x05,                          /* syscall */
	0x48, 0x89, 0xc7,                    /* mov %rax, %rdi */
	0x48, 0xbc, 0, 0, 0, 0, 0, 0, 0, 0,  /* mov $frame, %rsp */
	/* andq $0, 8(%rsp): its link, by which a called function is known */
	0x48, 0x83, 0x64, 0x24, 0x08, 0x00,
	0xb8, 0x0f, 0x00, 0x00, 0x00,        /* mov $SYS_rt_sigreturn, %eax */
	0x0f, 0x05,                          /* syscall */
};

void borrowed_code_emit(uint8_t out[BORROWED_CODE_BYTES], uint64_t frame)
{
	memcpy(out, code, sizeof(code));
	memcpy(out + FRAME, &frame, sizeof(frame));
}

bool borrowed_code_read(const uint8_t bytes[BORROWED_CODE_BYTES], uint64_t *frame)
{
	memcpy(frame, bytes + FRAME, sizeof(*frame));
	return memcmp(bytes, code, FRAME) == 0 &&
	       memcmp(bytes + FRAME + 8, code + FRAME + 8, sizeof(code) - FRAME - 8) == 0;
}

uint64_t borrowed_code_result(const struct user_regs_struct *r)
{
	return r->rdi;
}
