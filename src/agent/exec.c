/* SPDX-License-Identifier: MIT */
/* The environment of the program and of programs that it executes. At the start LD_PRELOAD and
 * BRACE_AGENT are taken out, so that the program sees what it would see without us; libc's execve
 * and its kin put them back (libc_calls.c). The second half may run in a child of vfork: it writes
 * nothing but the stack and the session memory. A program that cannot be traced is executed as it
 * is, and a note names it. Called by init.c, attach.c and libc_calls.S, on the calling thread. */
#include <asm/unistd.h>

#include "agent/agent.h"
#include "agent/buffer.h"
#include "agent/event.h"
#include "agent/libc_calls.h"
#include "agent/message.h"
#include "agent/needs.h"
#include "agent/rename.h"
#include "agent/untraced.h"

#define PASSED_ON 16 /* room for the inherited limits after the address */

static const char preload_name[] = "LD_PRELOAD=", agent_name[] = "BRACE_AGENT=";
static char preload[4096];      /* the agent's own path: the first in LD_PRELOAD */

static size_t string_length(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

static bool begins_with(const char *s, const char *with)
{
	while (*with && *s == *with)
		s++, with++;
	return !*with;
}

/* Length of the first path in LD_PRELOAD's value, which is ours by the way the tracer starts
 * programs. */
static size_t first_path(const char *value)
{
	size_t n = 0;

	while (value[n] && value[n] != ':' && value[n] != ' ')
		n++;
	return n;
}

static bool keep_preload(const char *value, size_t n)
{
	if (n + 1 > sizeof(preload))
		return false;
	for (size_t i = 0; i < n; i++)
		preload[i] = value[i];
	return true;
}

/* Overwrites the token on the stack, too: /proc/PID/environ shows it to all processes of the
 * user. */
static void wipe_value(char *value)
{
	while (*value)
		*value++ = 0;
}

/* Takes the variables out of the program's own array, in place: no memory is needed. */
static void hide_variables(char **envp)
{
	char **to = envp;

	for (char **from = envp; *from; from++) {
		if (begins_with(*from, agent_name)) {
			wipe_value(*from + sizeof(agent_name) - 1);
			continue;
		}
		if (begins_with(*from, preload_name)) {
			char *value = *from + sizeof(preload_name) - 1;
			size_t n = first_path(value);

			if (!value[n])
				continue;
			/* Other libraries are preloaded, too: their names move up to the variable's
			 * name. */
			for (char *at = value, *rest = value + n + 1; (*at++ = *rest++);)
				;
		}
		*to++ = *from;
	}
	*to = 0;
}

void exec_hide(char **envp)
{
	const char *value = 0;

	for (char **e = envp; *e; e++)
		if (begins_with(*e, preload_name))
			value = *e + sizeof(preload_name) - 1;
	if (!value || !keep_preload(value, first_path(value)))
		return;
	untraced_begin(preload);
	if (libc_calls_lead(envp))
		hide_variables(envp);
}

bool exec_begin(const char *path)
{
	if (!*path || !keep_preload(path, string_length(path)))
		return false;
	untraced_begin(preload);
	return true;
}

/* --- on the way out --------------------------------------------------------------------------- */

/* Returns the value after "NAME=", or NULL if it is not set. */
static const char *value_in(char *const *envp, const char *name)
{
	for (; *envp; envp++)
		if (begins_with(*envp, name))
			return *envp + string_length(name);
	return 0;
}

/* Ours was hidden from this process, so an address in its environment is that of a brace that runs
 * in it. */
static bool is_another_braces(char *const *envp)
{
	const char *socket = value_in(envp, agent_name);

	return socket && !begins_with(socket, agent.socket);
}

static bool string_is_there(const char *s)
{
	char piece[256];
	uint32_t n;

	do {
		n = probe_read_kernel((uint64_t)s, piece, sizeof(piece));
		for (uint32_t i = 0; i < n; i++)
			if (!piece[i])
				return true;
		s += n;
	} while (n == sizeof(piece));
	return false;
}

/* True if all of the environment can be read. A pointer that leads nowhere is for the kernel to
 * refuse. */
static bool environment_is_there(char *const *envp)
{
	const char *s;

	if (agent_forbids(NEED_COPY))
		return true;
	do {
		if (probe_read_kernel((uint64_t)envp++, &s, sizeof(s)) != sizeof(s))
			return false;
	} while (s && string_is_there(s));
	return !s;
}

/* An upper bound: pointers, and the texts of both variables. 16 for alignment. */
static uint64_t environment_bytes(char *const *envp)
{
	uint64_t n = 0;
	const char *theirs;

	while (envp[n])
		n++;
	theirs = value_in(envp, preload_name);
	return ((n + 3) * sizeof(char *) + sizeof(preload_name) + string_length(preload) + 1 +
		(theirs ? string_length(theirs) : 0) + sizeof(agent_name) +
		string_length(agent.socket) + PASSED_ON + 16) &
	       ~15ull;
}

static char *append_string(char *to, const char *s)
{
	while (*s)
		*to++ = *s++;
	return to;
}

/* Limits that a new program inherits: ";" and eight hexadecimal digits, read by keep_address() in
 * init.c. */
static char *append_inherited(char *to)
{
	uint32_t what = agent_forbidden() | (agent.limit_shifted ? INHERITED_LIMIT : 0);

	if (!what)
		return to;
	*to++ = ';';
	for (int shift = 28; shift >= 0; shift -= 4)
		*to++ = "0123456789abcdef"[what >> shift & 15];
	return to;
}

/* Builds the environment that it would be without us, plus ours, in `area`, which must outlive the
 * exec. */
static char **fill_environment(char *const *envp, char *area)
{
	const char *theirs = value_in(envp, preload_name);
	char **out = (char **)area, *text;
	uint64_t n = 0, k = 0;

	while (envp[n])
		n++;
	text = area + (n + 3) * sizeof(char *);
	for (uint64_t i = 0; i < n; i++)
		if (!begins_with(envp[i], preload_name) && !begins_with(envp[i], agent_name))
			out[k++] = envp[i];
	out[k++] = text;
	text = append_string(append_string(text, preload_name), preload);
	if (theirs && *theirs) {
		*text++ = ':';
		text = append_string(text, theirs);
	}
	*text++ = 0;
	out[k++] = text;
	text = append_inherited(append_string(append_string(text, agent_name), agent.socket));
	*text = 0;
	out[k] = 0;
	return out;
}

static char *const nothing[] = { 0 };

/* The environment is execve's third argument, and execveat's fourth. NULL means empty, as in the
 * kernel. */
static char *const *environment_of(const struct call_registers *r)
{
	uint64_t at = r->number == __NR_execve ? r->arg2 : r->arg3;

	return at ? (char *const *)at : nothing;
}

uint64_t agent_exec_coming(const struct call_registers *r, struct call_plan *p)
{
	enum message_kind kind;
	char name[MESSAGE_NAME];

	*p = libc_call_as_it_is(r);
	if (!agent.memory || !preload[0] || !environment_is_there(environment_of(r)))
		return 0;
	kind = r->number == __NR_execve
		       ? untraced_kind(UNTRACED_CWD, (const char *)r->arg0, 0, name)
		       : untraced_kind((int)r->arg0, (const char *)r->arg1, (uint32_t)r->arg4,
				       name);
	if (!kind && is_another_braces(environment_of(r)))
		kind = MESSAGE_BRACE;
	if (kind) {
		/* The note is written before the call, because there is no after if it succeeds;
		 * agent_call_done() withdraws it. */
		p->note = message_write(kind, 0, name);
		return 0;
	}
	p->environment = 1;
	return environment_bytes(environment_of(r));
}

uint64_t agent_user_coming(const struct call_registers *r, struct call_plan *p)
{
	*p = libc_call_as_it_is(r);
	p->user = agent.memory != NULL;
	return 0;
}

void agent_call_ready(const struct call_registers *r, struct call_plan *p, char *area)
{
	uint64_t env;

	if (!p->environment)
		return;
	env = (uint64_t)fill_environment(environment_of(r), area);
	*(r->number == __NR_execve ? &p->arg2 : &p->arg3) = env;
}

/* The call failed, so that its filter forbids nothing. Where another thread has set more bits
 * since, all stay: too many cost records, one too few would cost the program its life. Pairs with
 * the fetch_or's of seccomp.c and dispatch.c. */
static void allow_again(const struct call_plan *p)
{
	uint32_t set = p->forbidden | p->forbids;

	__atomic_compare_exchange_n(&agent.forbidden, &set, p->forbidden, 0, __ATOMIC_SEQ_CST,
				    __ATOMIC_RELAXED);
}

/* A result of exec means failure; other calls come here, too, and theirs may be success. */
void agent_call_done(int64_t result, const struct call_plan *p)
{
	if (result >= 0) {
		limits_done(p);
		locks_done(p);
		if (p->user)
			buffer_check_user();
		if (p->name)
			rename_done();
		return;
	}
	if (p->note)
		message_withdraw(p->note);
	if (p->forbidden != UINT32_MAX)
		allow_again(p);
	if (p->dispatch)
		agent_dispatches = 0;
}
