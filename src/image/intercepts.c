/* SPDX-License-Identifier: MIT */
/* Part of one plan, on its thread; keeps nothing. Searches for byte patterns, without decoding from
 * a function's start. A file that cannot be read has no such calls. */
#include "image/intercepts.h"

#include <string.h>
#include <sys/syscall.h>

#include "arch/code.h"
#include "image/patch_source.h"

#define INTERCEPT_BYTES 32u /* of code for each */

/* glibc's wrappers: mov $number, %eax; perhaps xor %edi, %edi; syscall. */
static const uint8_t system_call[2] = { 0x0f, 0x05 }, clear_edi[2] = { 0x31, 0xff };
/* glibc's syscall() loads the sixth argument last. */
static const uint8_t last_argument[5] = { 0x4c, 0x8b, 0x4c, 0x24, 0x08 }; /* mov 8(%rsp), %r9 */

/* Whether the bytes load the number of a call to be intercepted. */
static bool is_number(const uint8_t *p)
{
	static const uint32_t numbers[] = { SYS_execve,	 SYS_execveat,	SYS_prctl,
					    SYS_seccomp, SYS_prlimit64, SYS_mlockall,
					    SYS_setuid,	 SYS_setreuid,	SYS_setresuid };
	uint32_t number;

	if (p[0] != 0xb8) /* mov $number, %eax */
		return false;
	memcpy(&number, p + 1, 4);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (number == numbers[i])
			return true;
	return false;
}

/* Bytes before the system call; 0: the bytes are not such a call. Nine bytes are readable. */
static uint8_t length_at(const uint8_t *p)
{
	if (is_number(p) && memcmp(p + 5, clear_edi, 2) == 0 && memcmp(p + 7, system_call, 2) == 0)
		return 7;
	if ((is_number(p) || memcmp(p, last_argument, 5) == 0) &&
	    memcmp(p + 5, system_call, 2) == 0)
		return 5;
	return 0;
}

static void find_in(const uint8_t *p, uint64_t bytes, uint64_t vaddr, intercept_list *out)
{
	/* The longest pattern has 9 bytes. Most bytes are ruled out by the first. */
	for (uint64_t i = 0; i + 9 <= bytes; i++) {
		struct intercept c = { .vaddr = vaddr + i,
				       .n = p[i] == 0xb8 || p[i] == 0x4c ? length_at(p + i) : 0 };

		if (!c.n)
			continue;
		memcpy(c.bytes, p + i, c.n);
		*vec_add(out) = c;
	}
}

void intercepts_find(int fd, const char *path, const struct hook_module *h, intercept_list *out)
{
	struct elf_file file;

	if (elf_file_read(fd, path, ELF_CONTENTS, &file, NULL))
		return;
	for (uint32_t s = 0; s < h->n_segments; s++) {
		const struct sym_segment *seg = &h->segments[s];

		if (seg->exec && seg->offset <= file.n && seg->filesz <= file.n - seg->offset)
			find_in(file.bytes + seg->offset, seg->filesz, seg->vaddr, out);
	}
	elf_file_free(&file);
}

bool intercepts_touch(const intercept_list *calls, uint64_t vaddr, uint64_t bytes)
{
	for (size_t i = 0; i < calls->n; i++)
		if (calls->at[i].vaddr < vaddr + bytes && vaddr < calls->at[i].vaddr + 5)
			return true;
	return false;
}

/* --- into the process ----------------------------------------------------------------------- */

/* Emits code at address `at` for the call that stands at `from`, leading to the agent. */
static void emit_code(const struct intercept *c, uint64_t from, uint64_t agent, uint64_t at,
		      uint8_t *out)
{
	unsigned n = c->n;
	int32_t distance = (int32_t)(from + c->n - (at + n + 7));

	memcpy(out, c->bytes, n);
	/* lea of the system call to %rcx, which the call itself overwrites */
	memcpy(out + n, "\x48\x8d\x0d", 3);
	memcpy(out + n + 3, &distance, 4);
	memcpy(out + n + 7, "\x49\xbb", 2); /* movabs $agent, %r11: and r11 */
	memcpy(out + n + 9, &agent, 8);
	memcpy(out + n + 17, "\x41\xff\xe3", 3); /* jmp *%r11 */
}

static uint64_t calls_room(const struct module *mod, const struct image_request *req)
{
	(void)req;
	return mod->calls.n * INTERCEPT_BYTES;
}

static uint32_t calls_max(const struct module *mod)
{
	return (uint32_t)mod->calls.n;
}

/* The system calls themselves stay in place: only the instructions right before them move. A call
 * that is out of reach is left as it is. */
static void write_calls(struct patch_job *j)
{
	for (size_t i = 0; i < j->mod->calls.n; i++) {
		const struct intercept *c = &j->mod->calls.at[i];
		uint64_t from = j->mod->base + c->vaddr;
		uint8_t jump[5];

		if (j->used + INTERCEPT_BYTES > j->room ||
		    code_jump(from, j->at + j->used, jump) < 0)
			continue;
		emit_code(c, from, j->req->hello->intercept, j->at + j->used, j->code + j->used);
		j->used += INTERCEPT_BYTES;
		memcpy(patch_list_add(j->list, from, sizeof(jump), c->bytes, PATCH_CALL, j->region)
			       ->bytes,
		       jump, sizeof(jump));
	}
}

const struct patch_source intercept_patches = {
	.room = calls_room, .patches = calls_max, .write = write_calls, .along = true,
};
