/* SPDX-License-Identifier: MIT */
/* Into a process that runs already, and out again. Everything slow is done before it is held: finding
 * functions, emitting trampolines, making its text pages its own. What is left for the pause is
 * mapping memories and writing bytes. */
#pragma once
#include "image/image.h"
#include "collect/memories.h"
#include "tracee/tracee.h"

struct attach_report {
	uint64_t pause_ns;        /* the longest the process stood still at once */
	uint32_t threads;         /* most threads held */
	uint32_t changed;         /* leaving: places that somebody else had changed meanwhile */
};

/* Brings the agent in if it is not there, plans (image_prepare; req->hello is filled in here) and hooks.
 * It records into the memory of its user's. 0, or -errno and *err, and the process is as before. *rep is added to. */
int attach_process(struct image_request *req, struct memories *memories, struct image *out,
		   struct attach_report *rep, struct err *err);

/* The same for a program that was just started, is held and has no agent yet. It stays held. */
int attach_held(struct image_request *req, struct tracee *t, struct memories *memories, struct image *out,
		struct err *err);

/* Takes the patches out and has the agent let go of all memories. -EBUSY and *err if it could
 * not be held, or a thread would not leave the agent, for five seconds: in that case the bytes are restored, and its memories stay. A
 * process that is no more is no error. */
int attach_leave(pid_t pid, const char *agent_path, const struct patch_list *patches, struct attach_report *rep, struct err *err);

/* Does it record into one of the session's memories? */
bool attach_maps_memory(const struct memories *memories, pid_t pid);
/* Processes other than those in `but` that map one of them: forked children. Caller frees. */
size_t attach_find_children(const struct memories *memories, const pid_t *but, size_t n, pid_t **out);
