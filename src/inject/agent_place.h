/* SPDX-License-Identifier: MIT */
/* The agent in a process: where it is, or will be, and how its functions are called there. */
#pragma once
#include "inject/agent_file.h"
#include "inject/attach.h"
#include "inject/held_stacks.h"
#include "image/maps.h"
#include "inject/thread_blocks.h"
#include "tracee/tracee.h"

#define AGENT_NAME "brace-agent"

struct agent_place {
	uint64_t base, contents_at;
	bool there;
	struct agent_contents contents;
	struct agent_state state;
	struct thread_layout layout;
	const char *door;          /* where it asks for more; NULL: nowhere */
	const char *tracer, *path; /* for what the process executes; NULL: it goes on without us */
};

/* False if no agent of this very file is there. */
bool agent_place_find(struct tracee *t, const struct agent_file *f, const struct maps *maps, const char *agent_path,
		      struct agent_place *out);
/* Holds the process for a moment: is there an agent, and where do its threads have room for their blocks? */
int agent_place_look(pid_t pid, const struct agent_file *f, const char *agent_path, struct agent_place *out,
		     struct attach_report *rep, struct err *err);
/* -EBUSY and *err if it traces for a tracer that lives. */
int agent_place_check_free(struct tracee *t, const struct agent_place *place, struct err *err);
/* What the agent would say of itself over the socket. */
void agent_place_hello(const struct agent_place *place, struct protocol_hello *h);
struct held_arena agent_place_arena(const struct agent_place *place);
/* Calls one of its functions, by its place in the contents. */
int agent_place_call(struct tracee *t, const struct agent_place *place, int32_t function, struct err *err);
uint64_t agent_place_params(const struct agent_place *place); /* struct attach_params */
int agent_place_set_params(struct tracee *t, const struct agent_place *place, const struct attach_params *params,
			   struct err *err);
/* Calls one that begins with a welcome; it is given a socket for that. */
int agent_place_welcome(struct tracee *t, const struct agent_place *place, int32_t function,
			const struct attach_params *params, const struct protocol_welcome *welcome, const int fds[3],
			struct err *err);

/* Releases, and notes how long and how many threads stood still. */
void attach_release(struct tracee *t, struct attach_report *rep);
