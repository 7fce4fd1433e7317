/* SPDX-License-Identifier: MIT */
/* Part of one plan, on its thread; keeps nothing. Searches for byte patterns, without decoding from
 * a function's start. A file that cannot be read has no such calls. */
#include "image/intercepts.h"

#include <string.h>
#include <sys/syscall.h>

#include "arch/code.h"
#include "arch/wrapper.h"
#include "image/patch_source.h"

/* Whether it is the number of a call to be intercepted. A call that says its number at run time may
 * be one. */
static bool is_number(uint32_t number, enum intercepts_which which)
{
	/* Calls that change what the agent may call; then those that change which program runs, how
	 * much memory the agent may have, or whose process this is. */
	static const uint32_t numbers[] = { SYS_prctl,	   SYS_seccomp,	 SYS_execve,
					    SYS_execveat,  SYS_prlimit64, SYS_mlockall,
					    SYS_setuid,	   SYS_setreuid, SYS_setresuid };
	size_t n = which == INTERCEPTS_FILTERS ? 2 : sizeof(numbers) / sizeof(*numbers);

	for (size_t i = 0; i < n; i++)
		if (number == numbers[i])
			return true;
	return number == WRAPPER_ANY;
}

/* Only a program that was launched by hand has a socket here. Programs that ld.so gave their agent
 * have it lead libc's calls (agent/libc_calls.c). */
enum intercepts_which intercepts_wanted(const struct image_request *req)
{
	return req->socket			      ? INTERCEPTS_ALL
	       : req->hello->flags & AGENT_BY_HAND && req->hello->intercept_filter
		       ? INTERCEPTS_FILTERS
		       : INTERCEPTS_NONE;
}

/* Looks at every byte: a wrapper in the C library need not begin where a function does. */
static void find_in(const uint8_t *p, uint64_t bytes, uint64_t vaddr, enum intercepts_which which,
		    intercept_list *out)
{
	for (uint64_t i = 0; i + WRAPPER_READ <= bytes; i++) {
		struct intercept c = { .vaddr = vaddr + i };
		uint32_t number;

		if (!wrapper_may_begin(p[i]))
			continue;
		c.n = wrapper_at(p + i, &number);
		if (!c.n || !is_number(number, which))
			continue;
		memcpy(c.bytes, p + i, c.n);
		*vec_add(out) = c;
	}
}

void intercepts_find(int fd, const char *path, const struct hook_module *h,
		     enum intercepts_which which, intercept_list *out)
{
	struct elf_file file;

	if (which == INTERCEPTS_NONE || elf_file_read(fd, path, ELF_CONTENTS, &file, NULL))
		return;
	for (uint32_t s = 0; s < h->n_segments; s++) {
		const struct sym_segment *seg = &h->segments[s];

		if (seg->exec && seg->offset <= file.n && seg->filesz <= file.n - seg->offset)
			find_in(file.bytes + seg->offset, seg->filesz, seg->vaddr, which,
				out);
	}
	elf_file_free(&file);
}

/* Five bytes are the jump that replaces the instructions before the call. */
bool intercepts_touch(const intercept_list *calls, uint64_t vaddr, uint64_t bytes)
{
	for (size_t i = 0; i < calls->n; i++)
		if (calls->at[i].vaddr < vaddr + bytes && vaddr < calls->at[i].vaddr + 5)
			return true;
	return false;
}

bool intercepts_begin(const intercept_list *calls, uint64_t vaddr, uint64_t bytes)
{
	for (size_t i = 0; i < calls->n; i++)
		if (calls->at[i].vaddr == vaddr && bytes <= calls->at[i].n)
			return true;
	return false;
}

/* --- into the process ----------------------------------------------------------------------- */

/* The most that any of them needs; write_calls() gives back nothing. */
static uint64_t calls_room(const struct module *mod, const struct image_request *req)
{
	(void)req;
	return mod->calls.n * WRAPPER_CODE_MAX;
}

static uint32_t calls_max(const struct module *mod)
{
	return (uint32_t)mod->calls.n;
}

/* The system calls themselves stay in place: only the instructions right before them move. A call
 * that is out of reach is left as it is. */
static void write_calls(struct patch_job *j)
{
	const struct protocol_hello *h = j->req->hello;
	uint64_t agent = intercepts_wanted(j->req) == INTERCEPTS_ALL ? h->intercept
								     : h->intercept_filter;

	for (size_t i = 0; i < j->mod->calls.n; i++) {
		const struct intercept *c = &j->mod->calls.at[i];
		uint64_t from = j->mod->base + c->vaddr;
		uint8_t jump[5];

		if (j->used + WRAPPER_CODE_MAX > j->room ||
		    code_jump(from, j->at + j->used, jump) < 0)
			continue;
		wrapper_emit(c->bytes, c->n, from, agent, j->at + j->used, j->code + j->used);
		j->used += WRAPPER_CODE_MAX;
		memcpy(patch_list_add(j->list, from, sizeof(jump), c->bytes, PATCH_CALL, j->region)
			       ->bytes,
		       jump, sizeof(jump));
	}
}

const struct patch_source intercept_patches = {
	.room = calls_room, .patches = calls_max, .write = write_calls, .along = true,
};
