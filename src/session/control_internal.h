/* SPDX-License-Identifier: MIT */
/* The control's own state, shared by the socket thread, at which agents come in (agent_socket.c,
 * setup.c, planners.c), by the session's calls (control.c), and by changes of settings while
 * programs run (control_change.c).
 *
 * `req`, `images`, `patches` and `handlers` belong to the socket's thread while a process is
 * inside (turns.h), and to the thread that is alone. Planners read `req` while the process that
 * they plan for is inside; everything else is given to them. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>

#include "base/vec.h"
#include "session/control.h"
#include "image/handlers.h"
#include "image/probe_outcomes.h"
#include "inject/patch_lists.h"
#include "inject/patch_sites.h"
#include "session/planners.h"
#include "session/turns.h"

/* a running process maps more memory right below its present mappings */
#define MMAP_AWAY (UINT64_C(256) << 20)
#define REPLY_MS 10000 /* an agent that is silent for so long is given up */

struct image_state {
	uint32_t next_id;
	const struct shared_memory *memory; /* its user's memory, into which it records */
	struct known_modules known;
	uint32_t sites;               /* in control.sites */
	bool by_hand;                 /* launched: its system calls are intercepted */
	/* a plan for more of it (dlopen) is under way: only one at a time, because each gives out
	 * function numbers */
	bool planned;
};

/* A connection's progress. */
enum peer_phase {
	PEER_SILENT,   /* has said nothing */
	PEER_WAITS,    /* has said hello; not inside */
	PEER_PLANNED,  /* a planner has it */
	PEER_SET_UP, /* writes its patches */
	PEER_REFUSED,  /* its program is not to run: the process that launched it ends it now */
	PEER_OVER,
};

/* A connected process. */
struct peer {
	struct plan_job job;          /* the planner's, while PEER_PLANNED */
	struct control *control;
	int fd;
	pid_t pid;
	enum peer_phase phase;
	/* inside: see turns.h. first: of the program that the session is launched for */
	bool inside, first;
	uint64_t since;               /* CLOCK_MONOTONIC ms at which the phase began */
	struct protocol_hello hello;

	/* The plan for the peer (setup.c). */
	uint32_t image, first_id;
	struct known_modules known;   /* the image's modules, of this process */
	struct event_set events;
	struct image im;
	struct shared_memory *memory; /* its user's */
	char exe[MESSAGE_NAME];
	VEC(uint8_t) kinds;           /* by id of the first program's functions: enum hook_kind */
	int result;
	struct err err;
};

struct control {
	struct control_request req;
	struct memories *memories;    /* req's, for the socket thread: a change overwrites req */
	pthread_t thread;             /* the socket thread's, once it is started */
	bool started;
	atomic_bool stopping;
	/* hurry: an eventfd that ends the socket thread's wait early */
	int listener, hurry;
	int program;                  /* pidfd of the launched program, or -1 */
	char way[PROTOCOL_WAY];       /* address and token, for agents */
	const char *token;            /* in `way`: PROTOCOL_TOKEN characters */
	struct planners *planners;
	VEC(struct peer *) peers;     /* the socket thread's; in order of arrival */
	bool handler_waits;           /* a handler is planned: one at a time */

	struct turns turns;
	VEC(struct image_state) images;
	struct patch_lists patches;   /* patches that went in */
	struct patch_sites sites;     /* where patches may stand, by image */
	struct process_handlers_list handlers; /* signal handlers, if deliveries are told */

	pthread_mutex_t lock;         /* protects everything below */
	pthread_cond_t changed;
	/* in order; the first `handed` have gone to the session */
	VEC(struct image_update) updates;
	size_t handed;
	VEC(uint32_t) ended;          /* images that no process has any more */
	uint32_t published;           /* images whose update is in `updates` */
	uint32_t busy;                /* peers that have said hello and are not over */
	/* passes of the socket thread over everything: asked for, and done */
	uint64_t asked, passed;
	bool first_done;
	struct err first_err;
	pid_t first_pid;
	struct image_count count;
};

/* Where brace itself notes something: in the memory of our own user. */
static inline struct memory_messages *control_messages(struct control *c)
{
	return &c->memories->at[0].header->messages;
}

/* The socket's thread, to be ended by `stopping`. */
void *agent_socket_run(void *context);
/* Frees the remaining peers, after the socket's thread and the planners have ended. */
void agent_socket_close(struct control *c);
/* Ends the socket thread's wait early. From any thread. May be in vain: the socket thread looks
 * again after HEARTBEAT_MS. */
void agent_socket_hurry(struct control *c);

/* Between these no process is set up, left or changed by another thread. The first one waits for
 * processes that are inside. */
void control_begin_alone(struct control *c);
void control_end_alone(struct control *c);
/* Gives the image's update and counts to the session. Takes over im->update. */
void control_publish(struct control *c, struct image *im, pid_t pid);
void control_tell(struct control *c, struct image_update *update); /* takes them over */
/* Tells that a program was set up. For the launched program this is how the session begins. */
void control_done(struct control *c, pid_t pid, const struct image_count *count, bool addition);
/* Forgets where patches of ended images may stand (control_image_ended). Inside or alone. */
void control_forget_ended(struct control *c);
/* Tells that the first image cannot be set up: session_start fails with *err. */
void control_failed(struct control *c, const struct err *err);
/* Follows this process' sleeps and the kernel's events. From a planner, or alone. */
int control_follow(struct control *c, const struct event_set *events, pid_t pid, struct err *err);
/* Probes a function that becomes a signal's handler, if it can be probed. Alone. */
void control_handler(struct control *c, pid_t pid, uint64_t handler);
/* Notes that the handler is not probed, because its planner was never alone. From any thread. */
void control_handler_missed(struct control *c, pid_t pid, uint64_t handler);
/* Works like control_handler, for handlers that were set while the process was brought in or
 * changed. Alone. */
void control_look_for_handlers(struct control *c, pid_t pid);

/* --- one image, for a peer (setup.c) ---------------------------------------------------------- */

/* Notes down what the plan is made from. False: there is no such image, or it is another user's.
 * Inside; the socket's thread. */
bool setup_begin(struct control *c, struct peer *p);
/* Whether the peer asks for a plan. */
bool setup_is_asked(const struct peer *p);
/* Plans; leaves the result in *p. On any thread, while the peer is inside. */
void setup_plan(struct control *c, struct peer *p);
/* Tells the session, then the process. False: the process is not to be traced, or is gone. The
 * socket's thread. */
bool setup_reply(struct control *c, struct peer *p);
/* Takes over the patches that the process says it has written. done NULL: it died, or gave no
 * answer. The socket's thread. */
void setup_finish(struct control *c, struct peer *p, const struct protocol_done *done);
void setup_free(struct peer *p);
