/* SPDX-License-Identifier: MIT */
/* Called in holders, by attach.c, detach.c and change.c. Everything that is read from the process
 * is the traced program's to change: it is used as an address in that process only. No lock:
 * whoever works with a process is alone with it (session/turns.h). A process that is gone, or whose
 * agent does not answer, is -errno and a sentence. */
#include "inject/agent_layout.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "inject/stale_agent.h"
#include "inject/remote.h"
#include "inject/setup_reply.h"

/* Keeps the longest pause and the most threads. */
static void note_pause(struct attach_report *rep, uint64_t pause_ns, size_t threads)
{
	if (pause_ns > rep->pause_ns)
		rep->pause_ns = pause_ns;
	if (threads > rep->threads)
		rep->threads = (uint32_t)threads;
}

void agent_layout_release(struct tracee *t, struct attach_report *rep)
{
	size_t threads = tracee_threads(t);

	note_pause(rep, tracee_release(t), threads);
}

/* Put in by ld.so, or by agent_map(). */
static bool is_agents_mapping(const struct map *m, const char *agent_path)
{
	return m->offset == 0 && (strcmp(m->path, agent_path) == 0 ||
				  strncmp(m->path, "/memfd:" AGENT_NAME " ", 19) == 0);
}

/* Whether an agent of this very file stands at base: the build id tells it from another version's.
 * Fills in *out. */
static bool read_agent(struct tracee *t, const struct agent_file *f, uint64_t base,
		       struct agent_layout *out)
{
	uint8_t build_id[sizeof(f->build_id)];
	struct err err;

	out->base = base;
	out->descriptor_at = base + f->descriptor;
	return tracee_read(t, base + f->build_id_at, build_id, sizeof(build_id), &err) == 0 &&
	       memcmp(build_id, f->build_id, sizeof(build_id)) == 0 &&
	       tracee_read(t, out->descriptor_at, &out->descriptor, sizeof(out->descriptor),
			   &err) == 0 &&
	       out->descriptor.magic == AGENT_MAGIC &&
	       tracee_read(t, out->descriptor_at + (uint64_t)(int64_t)out->descriptor.state,
			   &out->state, sizeof(out->state), &err) == 0;
}

bool agent_layout_find(struct tracee *t, const struct agent_file *f, const struct maps *maps,
		       const char *path, struct agent_layout *out)
{
	for (size_t i = 0; i < maps->at.n; i++)
		if (is_agents_mapping(&maps->at.at[i], path) &&
		    read_agent(t, f, maps->at.at[i].start, out)) {
			out->there = true;
			return true;
		}
	return false;
}

/* An agent whose tracer lives is not taken from it: -EBUSY and *err. */
int agent_layout_check_free(struct tracee *t, const struct agent_layout *agent, struct err *err)
{
	struct memory_header h;

	/* A stopped session, or a tracer that no longer exists, leaves the agent free. */
	if (!agent->there || !agent->state.memory ||
	    tracee_read(t, agent->state.memory, &h, sizeof(h), err) < 0)
		return 0;
	if (h.stopped || !h.tracer_pid || (kill((pid_t)h.tracer_pid, 0) < 0 && errno == ESRCH))
		return 0;
	return err_set(err, EBUSY,
		       "process %d is traced already, by brace (process %u): end that one first",
		       (int)tracee_pid(t), h.tracer_pid);
}

int agent_layout_look(pid_t pid, const struct agent_file *f, const char *agent_path,
		      struct agent_layout *out, struct attach_report *rep, struct err *err)
{
	struct tracee *t;
	struct maps maps;
	int r = tracee_stop_unless_given_up(pid, &t, err);

	memset(out, 0, sizeof(*out));
	if (r < 0)
		return r;
	r = maps_read(pid, &maps, err);
	if (r == 0 && agent_layout_find(t, f, &maps, agent_path, out)) {
		out->layout =
			(struct thread_layout){ out->state.tls, out->state.key, out->state.flags };
		r = agent_layout_check_free(t, out, err);
	} else if (r == 0) {
		out->descriptor = *agent_file_descriptor(f);
		out->layout = thread_layout_of(t);
	}
	/* A loaded agent knows its layout; one that has never begun does not, nor does one to
	 * come. */
	if (r == 0 && (!out->there || !out->state.tls) && !(out->layout.flags & AGENT_NO_TLS))
		out->layout = thread_layout_of(t);
	maps_free(&maps);
	agent_layout_release(t, rep);
	return r;
}

/* The hello that the agent would send if it had been loaded by ld.so; the planner needs it before
 * the agent runs. */
void agent_layout_hello(const struct agent_layout *agent, struct protocol_hello *h)
{
	memset(h, 0, sizeof(*h));
	agent_file_hello(&agent->descriptor, agent->descriptor_at, h);
	h->tls = agent->layout.tls;
	h->key = agent->layout.key;
	h->flags = agent->layout.flags;
}

/* One block more than the arena, since its begin is aligned up within the room it has. */
struct stopped_arena agent_layout_arena(const struct agent_layout *agent)
{
	uint64_t at = agent->descriptor_at + (uint64_t)(int64_t)agent->descriptor.arena;

	return (struct stopped_arena){ at, at + SITE_ARENA_BYTES + SITE_BLOCK_BYTES,
				       agent->descriptor.stub_return };
}

int agent_layout_call(struct tracee *t, const struct agent_layout *agent, int32_t function,
		      struct err *err)
{
	const uint64_t args[4] = { 0 };
	uint64_t result = 0;
	int r = tracee_call(t, agent->descriptor_at + (uint64_t)(int64_t)function, args,
			    agent->descriptor_at + (uint64_t)(int64_t)agent->descriptor.stack_top,
			    &result, err);

	/* The agent returns 0 or -errno. */
	if (r == 0 && (int64_t)result < 0)
		r = err_set(err, (int)-(int64_t)result, "the agent cannot start in the process: %s",
			    strerror((int)-(int64_t)result));
	return r;
}

/* The descriptor has offsets from its own address, which may be negative: hence the sign
 * extension. */
uint64_t agent_layout_params(const struct agent_layout *agent)
{
	return agent->descriptor_at + (uint64_t)(int64_t)agent->descriptor.params;
}

int agent_layout_set_params(struct tracee *t, const struct agent_layout *agent,
			    const struct attach_params *params, struct err *err)
{
	return tracee_write(t, agent_layout_params(agent), params, sizeof(*params), err);
}

/* The agent's parameters hold the socket's descriptors from the moment they are made: so the agent
 * closes them, or, if we die before it is called, our successor (stale_agent.c). */
int agent_layout_setup(struct tracee *t, const struct agent_layout *agent, int32_t function,
		       const struct attach_params *params, const struct protocol_setup *setup,
		       const int fds[SETUP_REPLY_FDS], struct err *err)
{
	uint64_t at = agent_layout_params(agent) + offsetof(struct attach_params, sockets);
	int ours = -1, r = agent_layout_set_params(t, agent, params, err);

	if (r == 0)
		r = remote_socket(t, at, &ours, err);
	if (r == 0 && !setup_reply_send(ours, setup, fds))
		r = err_set(err, EPIPE, "the process does not take the session memory: %s",
			    strerror(errno));
	if (r == 0)
		r = agent_layout_call(t, agent, function, err);
	if (r < 0)
		stale_agent_close_sockets(t, at);
	if (ours >= 0)
		close(ours);
	return r;
}
