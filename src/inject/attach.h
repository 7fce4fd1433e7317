/* SPDX-License-Identifier: MIT */
/* Into processes that run already, and out again. Everything slow is done before the process is
 * stopped: finding functions, emitting trampolines, making text pages its own. The pause is left
 * for mapping memories and writing bytes. */
#pragma once
#include "image/image.h"
#include "collect/memories.h"
#include "tracee/tracee.h"

struct attach_report {
	uint64_t pause_ns;        /* longest time that the process stood still at once */
	uint32_t threads;         /* most threads stopped at once */
	/* leaving: sites that somebody else had changed meanwhile, left as they are */
	uint32_t changed;
};

/* Brings the agent in if it is not there, plans (image_prepare; fills in req->hello) and hooks. The
 * process records into its user's memory. 0, or -errno and *err, and the process is as before:
 * -ECANCELED after tracee_give_up(). Adds to *rep. The caller is alone (session/turns.h). */
int attach_process(struct image_request *req, struct memories *memories, struct image *out,
		   struct attach_report *rep, struct err *err);

/* Works like attach_process, for a program that was just started, is stopped and has no agent yet.
 * The program stays stopped, whatever the result: 0, or -errno and *err. */
int attach_stopped(struct image_request *req, struct tracee *t, struct memories *memories,
		   struct image *out, struct err *err);

/* The sites of a process that may hold patches. */
struct attach_patches {
	const struct patch_list *told; /* those that were put in, as far as was noted */
	/* all sites that may have been changed in the processes of an image: empty if not known */
	const struct patch_list *(*sites)(const void *context, uint32_t image);
	const void *context;
};

/* Takes the patches out, and has the agent let go of all memories. -EBUSY and *err if for five
 * seconds, and some tries more, the process could not be stopped, or a thread would not leave the
 * agent: then the original bytes stand again, and the memories stay. A process that has ended is no
 * error. */
int attach_detach(pid_t pid, const char *agent_path, const struct attach_patches *known,
		  struct attach_report *rep, struct err *err);

/* Whether the process maps one of the session's memories. */
bool attach_maps_memory(const struct memories *memories, pid_t pid);
/* Lists processes that map one of the memories and are not in `but`: forked children. Returns their
 * number; the caller frees *out. */
size_t attach_find_children(const struct memories *memories, const pid_t *but, size_t n,
			    pid_t **out);
