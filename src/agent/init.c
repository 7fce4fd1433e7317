/* SPDX-License-Identifier: MIT */
/* The start of the agent that came by LD_PRELOAD. Its constructor runs before all others (-z
 * initfirst), while the process has one thread: it asks the tracer over its socket, maps what it is
 * given, and writes the patches. Whatever fails, the program goes on untraced; a note says why if
 * the memory found no room. agent_ask_session() also serves modules that are opened later. */
#include <asm/unistd.h>

#include "agent/agent.h"
#include "agent/delivery.h"
#include "agent/ldso.h"
#include "agent/mappings.h"
#include "agent/needs.h"
#include "agent/no_tls.h"
#include "agent/signals.h"
#include "agent/sys.h"
#include "agent/talk.h"
#include "agent/tasks.h"
#include "shared/points.h"

#define MSG_NOSIGNAL 0x4000
/* Tries: each is lost only if another thread maps something at a region's place. */
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

/* Does what the setup reply says. *mapped: every region got its place. */
static void apply_setup(const struct protocol_setup *w, const int fds[TALK_FDS],
			struct protocol_done *done, bool *mapped)
{
	const uint8_t *code;

	if (!agent.memory && !limits_leave_room(w->layout.size)) {
		done->note = MESSAGE_LIMIT;
		return;
	}
	*mapped = mappings_map_regions(w, fds);
	code = mappings_map_code(w, fds);
	if (code && (agent.memory || (no_tls_begin(w) && mappings_map_memories(w, fds))))
		done->applied = mappings_write_patches(code, w, fds);
	else
		done->note = MESSAGE_LIMIT;
	agent.oom_score_adj = w->oom_score_adj;
	delivery_begin(w->signals);
	if (code && agent.memory && w->tasks_at)
		task_begun((const struct task_block *)(code + w->tasks_at));
	if (code)
		sys2(__NR_munmap, code, w->code_size);
}

/* Asks the tracer once and does what it answers. Returns true if it is worth asking again: a
 * region's place was taken meanwhile. */
static bool talk_to_tracer(int fd, enum protocol_request request)
{
	struct protocol_setup w;
	struct protocol_done done = { .request = PROTOCOL_DONE };
	int fds[TALK_FDS];
	bool mapped = true;

	if (!talk_hello(fd, agent.socket, request, 0) || !talk_setup(fd, &w, fds))
		return false;
	POINT(welcomed);
	agent.watch = w.watch;
	apply_setup(&w, fds, &done, &mapped);
	for (int i = 0; i < TALK_FDS; i++)
		sys1(__NR_close, fds[i]);
	sys6(__NR_sendto, fd, (long)&done, sizeof(done), MSG_NOSIGNAL, 0, 0);
	POINT(done_told);
	return !mapped && agent.memory;
}

void agent_ask_session(enum protocol_request request)
{
	bool again = true;

	for (int i = 0; i < ASK_MAX && again; i++) {
		int fd = talk_connect(agent.socket);

		if (fd < 0)
			return;
		POINT(connected);
		/* The second time the process is known, so it is not a hello. */
		again = talk_to_tracer(fd, i ? PROTOCOL_DLOPEN : request);
		sys1(__NR_close, fd);
	}
}

/* Takes the tracer's address and, after a semicolon, what filters of the executing program forbid
 * (exec.c). False: the agent could not start under them. */
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
		agent.forbidden = agent.forbidden << 4 |
				  (uint32_t)(*value <= '9' ? *value - '0' : *value - 'a' + 10);
	agent.limit_shifted = agent.forbidden & INHERITED_LIMIT;
	agent.forbidden &= NEED_ALL;
	return !agent_forbids(NEED_START);
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
	/* AddressSanitizer checks the order of modules in its own constructor, which comes after
	 * this one. */
	link_map_asan_first(envp);
	mappings_find_own();
	agent.tls_offset = (int64_t)agent_tls_block() - (int64_t)__builtin_thread_pointer();
	agent.key = ldso_rseq_cpu_offset(envp);
	agent.executed = ldso_executed(envp);
	agent_ask_session(PROTOCOL_HELLO);
	if (agent.memory)
		cfa_align(ldso_symbol(envp, "_r_debug"));
	if (agent.memory)
		dlopen_watch(envp);
	if (agent.memory)
		exec_hide(envp);
	signals_restore(signals);
}
