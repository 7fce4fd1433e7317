/* SPDX-License-Identifier: MIT */
/* Finds the `syscall` instruction in some functions of libc and makes it jump to the agent, at the
 * program's start, while there is one thread. It is recognised together with what stands after it:
 * the comparison of its result, or the jump of a probe that is there already (init.c wrote the
 * patches before). Two bytes have room for a short jump, to a jump in the padding behind the
 * function: so the bytes after the call stay as they are, and the probe of its return has its
 * place. Without such padding the jump takes the comparison's bytes, too, and no probe stands there
 * (image/probe_patches.c has the same answer). The system call and a return stand behind the jump,
 * for programs that look where the call stands (dispatch.c). The functions' entries stay free for
 * the tracer. A function that looks different is left alone; if that is execve's, exec.c leaves the
 * environment as it is. */
#include "agent/libc_calls.h"

#include <asm/unistd.h>
#include <link.h>
#include <linux/mman.h>

#include "agent/agent.h"
#include "agent/ldso.h"
#include "agent/sys.h"
#include "arch/code.h"
#include "arch/page.h"

#define FUNCTION_MAX 160 /* bytes after a function's entry in which its system call is looked for */

#define EACH_CALL(X)                                                                    \
	X(execve) X(execveat) X(fexecve) X(prctl) X(syscall) X(prlimit64) X(setrlimit64) \
	X(getrlimit64) X(mlockall) X(setuid) X(seteuid) X(setreuid) X(setresuid)
#define X(name)                            \
	extern uint8_t agent_call_##name[]; \
	extern int64_t agent_limit_##name;  \
	extern uint64_t agent_back_##name, agent_again_##name;
EACH_CALL(X)
#undef X

struct libc_call {
	const char *function;
	uint8_t *ours;
	/* Words of libc_calls.S: what the result is compared with, the way back, and the address of
	 * a libc_call_again, 0: none has a place. */
	int64_t *limit;
	uint64_t *back, *again;
};

bool libc_calls_clones_seen;

static bool ends_with(const char *s, const char *with)
{
	const char *a = s, *b = with;

	while (*a)
		a++;
	while (*b)
		b++;
	if (a - s < b - with)
		return false;
	while (b > with)
		if (*--a != *--b)
			return false;
	return true;
}

static const struct link_map *find_libc(char **envp)
{
	const struct r_debug *debug = ldso_symbol(envp, "_r_debug");

	for (const struct link_map *l = debug ? debug->r_map : 0; l; l = l->l_next)
		if (l->l_name && ends_with(l->l_name, "/libc.so.6"))
			return l;
	return 0;
}

/* Makes n bytes writable, and not executable, or as they were. */
static bool protect(const uint8_t *at, uint64_t n, int prot)
{
	uint64_t page = (uint64_t)at & ~(ARCH_PAGE - 1), end = (uint64_t)at + n + ARCH_PAGE - 1;

	return sys3(__NR_mprotect, page, (end & ~(ARCH_PAGE - 1)) - page, prot) >= 0;
}

/* Writes the jump to the agent, for which there is room, and libc_call_again behind it; without
 * room for that, an earlier function's serves: the calls are alike. No other thread exists. */
static void write_jump(uint8_t *to, bool again, const struct libc_call *c)
{
	static uint64_t last;

	code_jump((uint64_t)to, (uint64_t)c->ours, to);
	for (unsigned i = 0; again && i < sizeof(libc_call_again); i++)
		to[LIBC_CALL_AGAIN + i] = libc_call_again[i];
	if (again)
		last = (uint64_t)to + LIBC_CALL_AGAIN;
	*c->again = last;
}

/* In place of the comparison. Its operand and the way back are for libc_calls.S, which does what
 * the overwritten bytes did. */
static bool redirect_call(uint8_t *at, int64_t limit, const struct libc_call *c)
{
	if (!code_in_reach((uint64_t)at, (uint64_t)c->ours) ||
	    !protect(at, LIBC_CALL_BYTES, PROT_READ | PROT_WRITE))
		return false;
	*c->limit = limit;
	*c->back = (uint64_t)at + LIBC_CALL_BYTES;
	write_jump(at, true, c);
	return protect(at, LIBC_CALL_BYTES, PROT_READ | PROT_EXEC);
}

/* In the padding, `aside` bytes behind the call. The way back leads to what stands after the call,
 * which makes the comparison. */
static bool redirect_aside(uint8_t *at, unsigned aside, const struct libc_call *c)
{
	uint8_t *to = at + aside;
	bool again = -(uint64_t)to % LIBC_CALL_ALIGN >= LIBC_CALL_AGAIN + sizeof(libc_call_again);
	uint64_t bytes = aside + LIBC_CALL_AGAIN + sizeof(libc_call_again);

	if (!code_in_reach((uint64_t)to, (uint64_t)c->ours) ||
	    !protect(at, bytes, PROT_READ | PROT_WRITE))
		return false;
	*c->back = (uint64_t)at + CODE_SHORT_JUMP_BYTES;
	write_jump(to, again, c);
	code_short_jump((uint64_t)at, (uint64_t)to, at);
	return protect(at, bytes, PROT_READ | PROT_EXEC);
}

static bool lead_call(uint8_t *at, uint64_t end, const struct libc_call *c)
{
	unsigned aside = libc_call_aside(at, (uint64_t)at, end);
	int64_t limit;

	if (!aside)
		return libc_call_is(at, &limit) && redirect_call(at, limit, c);
	/* syscall() is the one that makes children. */
	if (c->ours == agent_call_syscall)
		libc_calls_clones_seen = true;
	return redirect_aside(at, aside, c);
}

static bool lead_function(uint64_t base, const Elf64_Sym *function, const struct libc_call *c)
{
	uint8_t *entry = function ? (uint8_t *)(base + function->st_value) : 0;
	int64_t limit;

	for (unsigned i = 0; entry && i < FUNCTION_MAX; i++)
		if (libc_call_is(entry + i, &limit) || libc_call_is_probed(entry + i))
			return lead_call(entry + i, (uint64_t)entry + function->st_size, c);
	return false;
}

bool libc_calls_lead(char **envp)
{
#define X(name)                                                                             \
	{ #name, agent_call_##name, &agent_limit_##name, &agent_back_##name, &agent_again_##name },
	const struct libc_call calls[] = { EACH_CALL(X) };
#undef X
	const struct link_map *libc = find_libc(envp);
	bool execve = false;

	for (unsigned i = 0; libc && i < sizeof(calls) / sizeof(*calls); i++) {
		bool led = lead_function(
			libc->l_addr,
			ldso_find_sized(libc->l_addr, libc->l_ld, calls[i].function), &calls[i]);

		execve |= led && i == 0;
	}
	return execve;
}
