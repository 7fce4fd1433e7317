/* SPDX-License-Identifier: MIT */
/* The control's own state, shared by the door, at which agents come in (door.c, setup.c, planners.c), what the session asks
 * for (control.c) and what changes settings while programs run (control_change.c).
 *
 * Who may touch what: `req`, `images`, `patches` and `handlers` belong to the door's thread while somebody is inside
 * (turns.h), and to who is alone. Planners read `req` while what they plan is inside; all else they are given. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>

#include "base/vec.h"
#include "session/control.h"
#include "image/handlers.h"
#include "inject/patch_lists.h"
#include "session/planners.h"
#include "session/turns.h"

#define MMAP_AWAY (UINT64_C(256) << 20) /* a running process maps more memory right below what it has */
#define REPLY_MS 10000 /* an agent that is silent for so long is given up */

struct image_state {
	uint32_t next_id;
	const struct shared_memory *memory; /* it records into: its user's */
	struct known_modules known;
	bool by_hand;                 /* launched: its system calls are led */
	bool planned;                 /* more of it is: one at a time, for the numbers of its functions */
};

/* Where a connection stands. */
enum peer_phase {
	PEER_SILENT,   /* it has said nothing */
	PEER_WAITS,    /* it has said hello; not inside */
	PEER_PLANNED,  /* a planner has it */
	PEER_WELCOMED, /* it writes its patches */
	PEER_REFUSED,  /* the program is not to run: whoever launched it ends it now */
	PEER_OVER,
};

/* One connection. */
struct peer {
	struct plan_job job;          /* a planner's, while it is PEER_PLANNED */
	struct control *control;
	int fd;
	pid_t pid;
	enum peer_phase phase;
	bool inside, first;           /* inside: see turns.h. first: what the session is launched for */
	uint64_t since;               /* ms of CLOCK_MONOTONIC: when its phase began */
	struct protocol_hello hello;

	/* What is planned for it (setup.c). */
	uint32_t image, first_id;
	struct known_modules known;   /* the image's, of this process */
	struct event_set events;
	struct image im;
	struct shared_memory *memory; /* its user's */
	char exe[NOTE_NAME];
	VEC(uint8_t) kinds;           /* of the first program's functions, by id: enum hook_kind */
	int result;
	struct err err;
};

struct control {
	struct control_request req;
	struct memories *memories;    /* req's, for the door: a change writes req anew */
	pthread_t thread;             /* the door's */
	atomic_bool stopping;
	int listener, hurry;          /* hurry: an eventfd that ends the door's wait before its time */
	int program;                  /* pidfd of the launched program, or -1 */
	char path[108];
	struct planners *planners;
	VEC(struct peer *) peers;     /* the door's; in order of arrival */
	bool handler_waits;           /* a handler is planned: one at a time */

	struct switches *switches;    /* has a lock of its own */
	struct turns turns;
	VEC(struct image_state) images;
	struct patch_lists patches;   /* that went in */
	struct process_handlers_list handlers; /* of signals, if their deliveries are told */

	pthread_mutex_t lock;         /* for what follows */
	pthread_cond_t changed;
	VEC(struct image_news) news;  /* in order; the first `handed` are the session's */
	size_t handed;
	uint32_t published;           /* images whose news are there */
	uint32_t busy;                /* peers that have said hello and are not done */
	uint64_t asked, passed;       /* for the door to look at everything once: so often, and done */
	bool first_done;
	struct err first_err;
	pid_t first_pid;
	struct image_count count;
};

/* For our own notes: the memory of our own user. */
static inline struct memory_notes *control_notes(struct control *c)
{
	return &c->memories->at[0].header->notes;
}

/* The door's thread. Its end is `stopping`. */
void *door_run(void *context);
/* After it, and the planners' end: whoever still stands there. */
void door_close(struct control *c);
/* Ends the door's wait before its time. From any thread. It may be in vain: the door looks by itself soon. */
void door_hurry(struct control *c);

/* Nobody is set up, left or changed meanwhile. */
void control_begin_alone(struct control *c);
void control_end_alone(struct control *c);
/* The session is to have it. */
void control_publish(struct control *c, struct image *im, pid_t pid);
void control_tell(struct control *c, struct image_news *news); /* they are taken */
/* A program was set up: of the launched one that is how the session begins. */
void control_done(struct control *c, pid_t pid, const struct image_count *count, bool addition);
void control_failed(struct control *c, const struct err *err);
/* What threads sleep, and the kernel's events, of this process. From a planner, or alone. */
int control_follow(struct control *c, const struct event_set *events, pid_t pid, struct err *err);
/* A function that becomes a signal's handler: probed, if it can be. Alone. */
void control_handler(struct control *c, pid_t pid, uint64_t handler);
/* It is not, because there is no quiet moment. From any thread. */
void control_handler_missed(struct control *c, pid_t pid, uint64_t handler);
/* The same for those that came while the process was brought here, or changed. Alone. */
void control_look_for_handlers(struct control *c, pid_t pid);

/* --- one image, for a peer (setup.c) ------------------------------------------------------ */

/* What the plan is made from. False: there is no such image. Inside; the door's thread. */
bool setup_begin(struct control *c, struct peer *p);
/* Is that what it asks for? */
bool setup_begins(const struct peer *p);
/* Any thread. Leaves its result in *p. */
void setup_plan(struct control *c, struct peer *p);
/* The session has it, then the process. False: it is not to be traced, or gone. */
bool setup_welcome(struct control *c, struct peer *p);
/* It has answered (done), or will not (NULL). */
void setup_settle(struct control *c, struct peer *p, const struct protocol_done *done);
void setup_free(struct peer *p);
