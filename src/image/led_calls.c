/* SPDX-License-Identifier: MIT */
/* Called by plans, on their threads. A file that cannot be read has no room beside its calls, and
 * the probe is refused. */
#include "image/led_calls.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/code.h"
#include "arch/libc_calls.h"
#include "shared/calls.h"
#include "shared/probe.h"

/* NULL: no function has the address. */
static const struct hook_function *function_at(const struct hook_module *h, uint64_t vaddr)
{
	for (uint32_t i = 0; h && i < h->n; i++)
		if (vaddr - h->functions[i].vaddr < h->functions[i].size)
			return &h->functions[i];
	return NULL;
}

static bool is_led(const struct module *mod, uint32_t number, uint64_t vaddr)
{
	static const uint32_t numbers[] = { SYS_execve,	  SYS_execveat, SYS_prctl,
					    SYS_prlimit64, SYS_mlockall, SYS_setuid,
					    SYS_setreuid,  SYS_setresuid };
	const struct hook_function *f;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (number == numbers[i])
			return true;
	if (number != CALL_UNKNOWN)
		return false;
	f = function_at(mod->hooks, vaddr);
	return f && !strcmp(mod->hooks->strings + f->name, "syscall");
}

/* The file's bytes from the address on. False: it does not have so many. */
static bool read_code(const struct module *mod, uint64_t vaddr, uint8_t *to, size_t n)
{
	for (uint32_t i = 0; i < mod->hooks->n_segments; i++) {
		const struct sym_segment *s = &mod->hooks->segments[i];

		if (s->exec && vaddr - s->vaddr < s->filesz)
			return pread(mod->fd, to, n, (off_t)(vaddr - s->vaddr + s->offset)) ==
			       (ssize_t)n;
	}
	return false;
}

/* Whether an island of some function stands in the padding that the agent wants. */
static bool is_taken(const struct patch_job *j, uint64_t address)
{
	uint64_t end = address + LIBC_CALL_AGAIN + sizeof(libc_call_again);

	for (size_t i = j->first; i < j->list->n; i++)
		if (j->list->at[i].address < end &&
		    j->list->at[i].address + j->list->at[i].length > address)
			return true;
	return false;
}

/* Whether the agent's jump has room in the padding behind the function, so that the bytes after the
 * call, at vaddr, stay. */
static bool is_aside(const struct patch_job *j, uint64_t vaddr)
{
	const struct hook_function *f = function_at(j->mod->hooks, vaddr);
	uint8_t bytes[LIBC_CALL_READ];
	unsigned aside;

	if (!f || !read_code(j->mod, vaddr, bytes, sizeof(bytes)))
		return false;
	aside = libc_call_aside(bytes, vaddr, f->vaddr + f->size);
	return aside && !is_taken(j, j->mod->base + vaddr + aside);
}

bool led_calls_take(const struct patch_job *j, const struct probe_point *p)
{
	const struct call_info *a = p->program;

	return !(j->req->hello->flags & AGENT_BY_HAND) && p->kind == PROBE_CALL && a->behind &&
	       !strcmp(j->mod->name, "libc.so.6") && is_led(j->mod, a->number, p->plan.vaddr) &&
	       (p->plan.kind != HOOK_JUMP ||
		!is_aside(j, p->plan.vaddr - CODE_SHORT_JUMP_BYTES));
}
