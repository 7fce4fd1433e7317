/* The control's own state, shared by what answers agents (control.c) and what changes settings while they
 * run (control_change.c). */
#pragma once
#include <pthread.h>

#include "base/vec.h"
#include "session/control.h"
#include "session/handlers.h"
#include "session/patch_lists.h"

#define MMAP_AWAY (UINT64_C(256) << 20) /* a running process maps more memory right below what it has */

struct image_state {
	uint32_t next_id;
	struct known_modules known;
	bool by_hand;                 /* launched: its system calls are led */
};

struct control {
	struct control_request req;
	struct memories *memories;    /* req's, for the control thread: a change writes req anew */
	pthread_t thread;
	int listener, stop;
	int program;                  /* pidfd of the launched program, or -1 */
	char path[108];

	struct switches *switches;    /* has a lock of its own */
	pthread_mutex_t work;         /* held while an image is set up or left: images is its */
	pthread_mutex_t lock;         /* for what follows */
	pthread_cond_t changed;
	VEC(struct image_news) news;  /* in order; the first `handed` are the session's */
	VEC(struct image_state) images;
	struct patch_lists patches;   /* that went in */
	struct process_handlers_list handlers; /* of signals, if their deliveries are told */
	size_t handed;
	uint32_t published;           /* images whose news are there */
	bool first_done, serving;
	struct err first_err;
	pid_t first_pid;
	struct image_count count;
};

/* For our own notes: the memory of our own user. */
static inline struct memory_notes *control_notes(struct control *c)
{
	return &c->memories->at[0].header->notes;
}

/* The session is to have it. */
void control_publish(struct control *c, struct image *im, pid_t pid);
/* A function that becomes a signal's handler: probed, if it can be. `work` held. */
void control_handler(struct control *c, pid_t pid, uint64_t handler);
/* The same for those that came while the process was brought here, or changed. `work` held. */
void control_look_for_handlers(struct control *c, pid_t pid);
