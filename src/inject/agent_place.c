/* SPDX-License-Identifier: MIT */
#include "inject/agent_place.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "inject/leftovers.h"
#include "inject/remote.h"
#include "inject/welcome.h"

static void note(struct attach_report *rep, uint64_t pause_ns, size_t threads)
{
	if (pause_ns > rep->pause_ns)
		rep->pause_ns = pause_ns;
	if (threads > rep->threads)
		rep->threads = (uint32_t)threads;
}

void attach_release(struct tracee *t, struct attach_report *rep)
{
	size_t threads = tracee_threads(t);

	note(rep, tracee_release(t), threads);
}

static bool is_agents_mapping(const struct map *m, const char *agent_path)
{
	return m->offset == 0 && (strcmp(m->path, agent_path) == 0 || strncmp(m->path, "/memfd:" AGENT_NAME " ", 19) == 0);
}

static bool read_agent(struct tracee *t, const struct agent_file *f, uint64_t base, struct agent_place *out)
{
	uint8_t build_id[sizeof(f->build_id)];
	struct err err;

	out->base = base;
	out->contents_at = base + f->contents;
	return tracee_read(t, base + f->build_id_at, build_id, sizeof(build_id), &err) == 0 &&
	       memcmp(build_id, f->build_id, sizeof(build_id)) == 0 &&
	       tracee_read(t, out->contents_at, &out->contents, sizeof(out->contents), &err) == 0 &&
	       out->contents.magic == AGENT_MAGIC &&
	       tracee_read(t, out->contents_at + (uint64_t)(int64_t)out->contents.state, &out->state, sizeof(out->state),
			   &err) == 0;
}

bool agent_place_find(struct tracee *t, const struct agent_file *f, const struct maps *maps, const char *path,
		       struct agent_place *out)
{
	for (size_t i = 0; i < maps->at.n; i++)
		if (is_agents_mapping(&maps->at.at[i], path) && read_agent(t, f, maps->at.at[i].start, out)) {
			out->there = true;
			return true;
		}
	return false;
}

/* An agent whose tracer lives is not ours to take. */
int agent_place_check_free(struct tracee *t, const struct agent_place *place, struct err *err)
{
	struct memory_header h;

	if (!place->there || !place->state.memory || tracee_read(t, place->state.memory, &h, sizeof(h), err) < 0)
		return 0;
	if (h.stopped || !h.tracer_pid || (kill((pid_t)h.tracer_pid, 0) < 0 && errno == ESRCH))
		return 0;
	return err_set(err, EBUSY, "process %d is traced already, by brace (process %u): end that one first",
		       (int)tracee_pid(t), h.tracer_pid);
}

int agent_place_look(pid_t pid, const struct agent_file *f, const char *agent_path, struct agent_place *out,
		struct attach_report *rep, struct err *err)
{
	struct tracee *t;
	struct maps maps;
	int r = tracee_hold(pid, &t, err);

	memset(out, 0, sizeof(*out));
	if (r < 0)
		return r;
	r = maps_read(pid, &maps, err);
	if (r == 0 && agent_place_find(t, f, &maps, agent_path, out)) {
		out->layout = (struct thread_layout){ out->state.tls, out->state.key, out->state.flags };
		r = agent_place_check_free(t, out, err);
	} else if (r == 0) {
		out->contents = *agent_file_contents(f);
		out->layout = thread_layout_of(t);
	}
	if (r == 0 && (!out->there || !out->state.tls) && !(out->layout.flags & AGENT_FAR))
		out->layout = thread_layout_of(t);
	maps_free(&maps);
	attach_release(t, rep);
	return r;
}

void agent_place_hello(const struct agent_place *place, struct protocol_hello *h)
{
	memset(h, 0, sizeof(*h));
	agent_file_hello(&place->contents, place->contents_at, h);
	h->tls = place->layout.tls;
	h->key = place->layout.key;
	h->flags = place->layout.flags;
}

struct held_arena agent_place_arena(const struct agent_place *place)
{
	uint64_t at = place->contents_at + (uint64_t)(int64_t)place->contents.arena;

	return (struct held_arena){ at, at + SITE_ARENA_BYTES + SITE_BLOCK_BYTES, place->contents.stub_return };
}

int agent_place_call(struct tracee *t, const struct agent_place *place, int32_t function, struct err *err)
{
	const uint64_t args[4] = { 0 };
	uint64_t result = 0;
	int r = tracee_call(t, place->contents_at + (uint64_t)(int64_t)function, args,
			    place->contents_at + (uint64_t)(int64_t)place->contents.stack_top, &result, err);

	if (r == 0 && (int64_t)result < 0)
		r = err_set(err, (int)-(int64_t)result, "the agent cannot start in the process: %s",
			    strerror((int)-(int64_t)result));
	return r;
}

uint64_t agent_place_params(const struct agent_place *place)
{
	return place->contents_at + (uint64_t)(int64_t)place->contents.params;
}

int agent_place_set_params(struct tracee *t, const struct agent_place *place, const struct attach_params *params,
			   struct err *err)
{
	return tracee_write(t, agent_place_params(place), params, sizeof(*params), err);
}

/* The socket's descriptors stand in the agent's parameters from the moment they are made: it closes them, or,
 * if we die before it is called, our successor. */
int agent_place_welcome(struct tracee *t, const struct agent_place *place, int32_t function,
			const struct attach_params *params, const struct protocol_welcome *welcome, const int fds[3],
			struct err *err)
{
	uint64_t at = agent_place_params(place) + offsetof(struct attach_params, sockets);
	int ours = -1, r = agent_place_set_params(t, place, params, err);

	if (r == 0)
		r = remote_socket(t, at, &ours, err);
	if (r == 0 && !welcome_send(ours, welcome, fds))
		r = err_set(err, EPIPE, "the process does not take the session memory: %s", strerror(errno));
	if (r == 0)
		r = agent_place_call(t, place, function, err);
	if (r < 0)
		leftovers_close_sockets(t, at);
	if (ours >= 0)
		close(ours);
	return r;
}
