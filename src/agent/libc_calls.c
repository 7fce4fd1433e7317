/* SPDX-License-Identifier: MIT */
/* Finds the `syscall` instruction in some functions of libc and makes it jump to the agent, at the
 * program's start, while there is one thread. It is recognised together with the comparison after
 * it: eight bytes, of which five make room for a jump. The rest become the system call and a
 * return, for programs that look where it stands (dispatch.c). The functions' entries stay free for
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
	extern uint64_t agent_back_##name;
EACH_CALL(X)
#undef X

struct libc_call { const char *function; uint8_t *ours; int64_t *limit; uint64_t *back; };

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

static bool redirect_call(uint8_t *at, int64_t limit, const struct libc_call *c)
{
	uint64_t page = (uint64_t)at & ~(ARCH_PAGE - 1),
		 end = (uint64_t)at + LIBC_CALL_BYTES + ARCH_PAGE - 1,
		 bytes = (end & ~(ARCH_PAGE - 1)) - page;

	if (!code_in_reach((uint64_t)at, (uint64_t)c->ours) ||
	    sys3(__NR_mprotect, page, bytes, PROT_READ | PROT_WRITE) < 0)
		return false;
	/* The comparison's operand and the way back, for libc_calls.S, which does what the
	 * overwritten bytes did. */
	*c->limit = limit;
	*c->back = (uint64_t)at + LIBC_CALL_BYTES;
	/* No other thread exists. */
	code_jump((uint64_t)at, (uint64_t)c->ours, at);
	for (unsigned i = 0; i < sizeof(libc_call_again); i++)
		at[LIBC_CALL_AGAIN + i] = libc_call_again[i];
	sys3(__NR_mprotect, page, bytes, PROT_READ | PROT_EXEC);
	return true;
}

static bool lead_function(uint8_t *entry, const struct libc_call *c)
{
	int64_t limit;

	for (unsigned i = 0; entry && i < FUNCTION_MAX; i++)
		if (libc_call_is(entry + i, &limit))
			return redirect_call(entry + i, limit, c);
	return false;
}

bool libc_calls_lead(char **envp)
{
#define X(name) { #name, agent_call_##name, &agent_limit_##name, &agent_back_##name },
	const struct libc_call calls[] = { EACH_CALL(X) };
#undef X
	const struct link_map *libc = find_libc(envp);
	bool execve = false;

	for (unsigned i = 0; libc && i < sizeof(calls) / sizeof(*calls); i++) {
		bool led = lead_function(
			(uint8_t *)ldso_find(libc->l_addr, libc->l_ld, calls[i].function),
			&calls[i]);

		execve |= led && i == 0;
	}
	return execve;
}
