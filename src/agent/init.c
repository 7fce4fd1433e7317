/* SPDX-License-Identifier: MIT */
/* Comes in by LD_PRELOAD, runs before every other constructor (-z initfirst), while the process
 * has one thread: asks the tracer over its socket, maps what it is given, writes the patches.
 * Anything that does not work ends with the program untraced. */
#include <asm/unistd.h>

#include "agent/agent.h"
#include "agent/delivery.h"
#include "agent/needs.h"
#include "agent/place.h"
#include "agent/sys.h"
#include "agent/talk.h"
#include "agent/tasks.h"
#include "shared/points.h"

#define MSG_NOSIGNAL 0x4000
#define ASK_MAX 3

static const char *value_of(char **envp, const char *name)
{
	for (; envp && *envp; envp++) {
		const char *e = *envp, *n = name;

		while (*n && *e == *n)
			e++, n++;
		if (!*n && *e == '=')
			return e + 1;
	}
	return 0;
}

static void take(const struct protocol_welcome *w, const int fds[TALK_FDS], struct protocol_done *done, bool *mapped)
{
	uint8_t *code;

	if (!agent.memory && !limits_leave_room(w->layout.size)) {
		done->note = NOTE_LIMIT;
		return;
	}
	*mapped = place_regions(w, fds[2]);
	code = place_shared(fds[2], w->code_size);
	if (code && (agent.memory || (far_begin(w) && place_memories(w, fds))))
		done->applied = place_patches(code, w);
	else
		done->note = NOTE_LIMIT;
	agent.oom_score_adj = w->oom_score_adj;
	delivery_begin(w->signals);
	if (code && agent.memory && w->tasks_at)
		task_begun((const struct task_block *)(code + w->tasks_at));
	if (code)
		sys2(__NR_munmap, code, w->code_size);
}

/* True if it is worth asking again: somebody else took the place of a region meanwhile. */
static bool talk(int fd, enum protocol_request request)
{
	struct protocol_welcome w;
	struct protocol_done done = { .request = PROTOCOL_DONE };
	int fds[TALK_FDS];
	bool mapped = true;

	if (!talk_hello(fd, request, 0) || !talk_welcome(fd, &w, fds))
		return false;
	POINT(welcomed);
	agent.watch = w.watch;
	take(&w, fds, &done, &mapped);
	for (int i = 0; i < TALK_FDS; i++)
		sys1(__NR_close, fds[i]);
	sys6(__NR_sendto, fd, (long)&done, sizeof(done), MSG_NOSIGNAL, 0, 0);
	POINT(done_told);
	return !mapped && agent.memory;
}

void session_ask(enum protocol_request request)
{
	bool again = true;

	for (int i = 0; i < ASK_MAX && again; i++) {
		int fd = talk_connect(agent.socket);

		if (fd < 0)
			return;
		POINT(connected);
		again = talk(fd, i ? PROTOCOL_DLOPEN : request);
		sys1(__NR_close, fd);
	}
}

/* Behind a semicolon: what filters of those that executed us forbid (exec.c). */
static bool keep_address(const char *value)
{
	unsigned n = 0;

	while (value[n] && value[n] != ';') {
		if (n + 1 >= sizeof(agent.socket))
			return false;
		agent.socket[n] = value[n];
		n++;
	}
	agent.socket[n] = 0;
	for (value += n; *value && *++value;)
		agent.forbidden = agent.forbidden << 4 | (uint32_t)(*value <= '9' ? *value - '0' : *value - 'a' + 10);
	agent.limit_shifted = agent.forbidden & INHERITED_LIMIT;
	agent.forbidden &= NEED_ALL;
	return !(agent.forbidden & NEED_START);
}

__attribute__((constructor, used)) static void agent_init(int argc, char **argv, char **envp)
{
	const char *path = value_of(envp, "BRACE_AGENT");
	uint64_t signals;

	(void)argc;
	(void)argv;
	if (!path || !keep_address(path))
		return;
	signals = signals_block();
	order_modules(envp);
	place_self();
	agent.tls_offset = (int64_t)agent_tls_block() - (int64_t)__builtin_thread_pointer();
	agent.key = rseq_cpu_offset(envp);
	agent.executed = ldso_executed(envp);
	session_ask(PROTOCOL_HELLO);
	if (agent.memory)
		cfa_make_even(ldso_symbol(envp, "_r_debug"));
	if (agent.memory)
		dlopen_watch(envp);
	if (agent.memory)
		exec_hide(envp);
	signals_restore(signals);
}
