/* SPDX-License-Identifier: MIT */
/* The program sees the environment it would have without us: LD_PRELOAD and BRACE_AGENT are taken out
 * when it starts, and put back by libc's execve and its kin (libc_calls.c), so that what it execs is
 * traced too. May run in a vfork's child: nothing but the stack and the session memory is written. */
#include <asm/unistd.h>

#include "agent/agent.h"
#include "agent/libc_calls.h"
#include "agent/needs.h"
#include "agent/note.h"
#include "agent/untraced.h"

#define PASSED_ON 16 /* what may follow the address in BRACE_AGENT's value */

static const char preload_name[] = "LD_PRELOAD=", agent_name[] = "BRACE_AGENT=";
static char preload[4096];      /* the agent's own path, first of LD_PRELOAD's */

static size_t length(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

static bool begins(const char *s, const char *with)
{
	while (*with && *s == *with)
		s++, with++;
	return !*with;
}

/* Length of the first path in LD_PRELOAD's value: ours, by how the tracer starts programs. */
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

/* Takes the variables out of the array the program is given. */
static void hide(char **envp)
{
	char **to = envp;

	for (char **from = envp; *from; from++) {
		if (begins(*from, agent_name))
			continue;
		if (begins(*from, preload_name)) {
			char *value = *from + sizeof(preload_name) - 1;
			size_t n = first_path(value);

			if (!value[n])
				continue;
			/* Others are preloaded too: theirs moves up to the name. */
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
		if (begins(*e, preload_name))
			value = *e + sizeof(preload_name) - 1;
	if (!value || !keep_preload(value, first_path(value)))
		return;
	untraced_begin(preload);
	if (libc_calls_lead(envp))
		hide(envp);
}

bool exec_begin(const char *path)
{
	if (!*path || !keep_preload(path, length(path)))
		return false;
	untraced_begin(preload);
	return true;
}

/* --- on the way out ---------------------------------------------------------------------------- */

/* The value behind "NAME="; 0: it is not set. */
static const char *value_in(char *const *envp, const char *name)
{
	for (; *envp; envp++)
		if (begins(*envp, name))
			return *envp + length(name);
	return 0;
}

/* Ours was hidden from this process: an address that it sets is that of a brace that runs in it. */
static bool is_another_braces(char *const *envp)
{
	const char *socket = value_in(envp, agent_name);

	return socket && !begins(socket, agent.socket);
}

static bool string_is_there(const char *s)
{
	char piece[256];
	uint32_t n;

	do {
		n = read_anywhere((uint64_t)s, piece, sizeof(piece));
		for (uint32_t i = 0; i < n; i++)
			if (!piece[i])
				return true;
		s += n;
	} while (n == sizeof(piece));
	return false;
}

/* Can all of it be read? A pointer that leads nowhere is for the kernel to refuse. */
static bool environment_is_there(char *const *envp)
{
	const char *s;

	if (agent.forbidden & NEED_COPY)
		return true;
	do {
		if (read_anywhere((uint64_t)envp++, &s, sizeof(s)) != sizeof(s))
			return false;
	} while (s && string_is_there(s));
	return !s;
}

static uint64_t environment_bytes(char *const *envp)
{
	uint64_t n = 0;
	const char *theirs;

	while (envp[n])
		n++;
	theirs = value_in(envp, preload_name);
	return ((n + 3) * sizeof(char *) + sizeof(preload_name) + length(preload) + 1 +
		(theirs ? length(theirs) : 0) + sizeof(agent_name) + length(agent.socket) + PASSED_ON + 16) & ~15ull;
}

static char *append(char *to, const char *s)
{
	while (*s)
		*to++ = *s++;
	return to;
}

/* What filters forbid is inherited, and a limit that was raised for us: ";" and eight hexadecimal digits. */
static char *append_inherited(char *to)
{
	uint32_t what = agent.forbidden | (agent.limit_shifted ? INHERITED_LIMIT : 0);

	if (!what)
		return to;
	*to++ = ';';
	for (int shift = 28; shift >= 0; shift -= 4)
		*to++ = "0123456789abcdef"[what >> shift & 15];
	return to;
}

/* The environment as it would be without us, and ours: in `area`, which must outlive the exec. */
static char **fill_environment(char *const *envp, char *area)
{
	const char *theirs = value_in(envp, preload_name);
	char **out = (char **)area, *text;
	uint64_t n = 0, k = 0;

	while (envp[n])
		n++;
	text = area + (n + 3) * sizeof(char *);
	for (uint64_t i = 0; i < n; i++)
		if (!begins(envp[i], preload_name) && !begins(envp[i], agent_name))
			out[k++] = envp[i];
	out[k++] = text;
	text = append(append(text, preload_name), preload);
	if (theirs && *theirs) {
		*text++ = ':';
		text = append(text, theirs);
	}
	*text++ = 0;
	out[k++] = text;
	text = append_inherited(append(append(text, agent_name), agent.socket));
	*text = 0;
	out[k] = 0;
	return out;
}

static char *const nothing[] = { 0 };

/* execve has its environment in rdx, execveat in r10. */
static char *const *environment_of(const struct call_registers *r)
{
	uint64_t at = r->rax == __NR_execve ? r->rdx : r->r10;

	return at ? (char *const *)at : nothing;
}

uint64_t agent_exec_coming(const struct call_registers *r, struct call_plan *p)
{
	enum note_kind kind;
	char name[NOTE_NAME];

	*p = call_as_it_is(r);
	if (!agent.memory || !preload[0] || !environment_is_there(environment_of(r)))
		return 0;
	kind = r->rax == __NR_execve ? untraced_kind(UNTRACED_CWD, (const char *)r->rdi, 0, name)
				     : untraced_kind((int)r->rdi, (const char *)r->rsi, (uint32_t)r->r8, name);
	if (!kind && is_another_braces(environment_of(r)))
		kind = NOTE_BRACE;
	if (kind) {
		p->note = note_write(kind, 0, name);
		return 0;
	}
	p->environment = 1;
	return environment_bytes(environment_of(r));
}

uint64_t agent_user_coming(const struct call_registers *r, struct call_plan *p)
{
	*p = call_as_it_is(r);
	p->user = agent.memory != NULL;
	return 0;
}

void agent_call_ready(const struct call_registers *r, struct call_plan *p, char *area)
{
	uint64_t env;

	if (!p->environment)
		return;
	env = (uint64_t)fill_environment(environment_of(r), area);
	*(r->rax == __NR_execve ? &p->rdx : &p->r10) = env;
}

void agent_call_done(int64_t result, const struct call_plan *p)
{
	if (result >= 0) {
		limits_done(p);
		locks_done(p);
		if (p->user)
			buffer_check_user();
		return;
	}
	if (p->note)
		note_withdraw(p->note);
	if (p->forbidden != UINT32_MAX)
		agent.forbidden = p->forbidden;
}
