/* SPDX-License-Identifier: MIT */
/* The agent in a process: where it is, or will be, and how its functions are called there. */
#pragma once
#include "inject/agent_file.h"
#include "inject/attach.h"
#include "inject/setup_reply.h"
#include "inject/stopped_stacks.h"
#include "image/maps.h"
#include "inject/thread_blocks.h"
#include "tracee/tracee.h"

#define AGENT_NAME "brace-agent"

struct agent_layout {
	uint64_t base, descriptor_at;
	bool there;
	struct agent_descriptor descriptor;
	struct agent_state state;
	struct thread_layout layout;
	const char *agent_socket;          /* socket at which it asks for more; NULL: none */
	/* for programs that the process executes; NULL: these run untraced */
	const char *tracer, *path;
};

/* Finds the agent in a stopped process. False: no agent of this very file is there. */
bool agent_layout_find(struct tracee *t, const struct agent_file *f, const struct maps *maps,
		       const char *agent_path, struct agent_layout *out);
/* Holds the process for a moment, to see whether an agent is there, and where its threads have room
 * for their blocks. 0, or -errno and *err. */
int agent_layout_look(pid_t pid, const struct agent_file *f, const char *agent_path,
		      struct agent_layout *out, struct attach_report *rep, struct err *err);
/* -EBUSY and *err if the agent traces for a tracer that lives. */
int agent_layout_check_free(struct tracee *t, const struct agent_layout *agent, struct err *err);
/* Fills *h with what the agent itself would say over the socket. */
void agent_layout_hello(const struct agent_layout *agent, struct protocol_hello *h);
/* The stretch of stubs in the agent. */
struct stopped_arena agent_layout_arena(const struct agent_layout *agent);
/* Calls one of the agent's functions, on the agent's own stack, in the stopped process.
 * `function` is its offset in the descriptor. 0, or -errno and *err. */
int agent_layout_call(struct tracee *t, const struct agent_layout *agent, int32_t function,
		      struct err *err);
uint64_t agent_layout_params(const struct agent_layout *agent); /* struct attach_params */
/* Writes the agent's parameters, before a call. */
int agent_layout_set_params(struct tracee *t, const struct agent_layout *agent,
			    const struct attach_params *params, struct err *err);
/* Calls an agent's function that begins with a setup reply: gives it a socket, and sends the
 * setup reply with the descriptors there. */
int agent_layout_setup(struct tracee *t, const struct agent_layout *agent, int32_t function,
		       const struct attach_params *params, const struct protocol_setup *setup,
		       const int fds[SETUP_REPLY_FDS], struct err *err);

/* Releases the process, and notes in *rep how long it stood still, and how many of its threads. */
void agent_layout_release(struct tracee *t, struct attach_report *rep);
