/* SPDX-License-Identifier: MIT */
/* One program image under trace: which functions are selected, the trampolines and patches for
 * exactly this address space, and what the trace has to know of it. */
#pragma once
#include <sys/types.h>

#include "base/err.h"
#include "model/settings.h"
#include "collect/memory_ends.h"
#include "collect/shared_memory.h"
#include "hook/plan.h"
#include "image/arguments.h"
#include "image/patch_list.h"
#include "shared/memory.h"
#include "trace/trace_info.h"

/* A function that was to be hooked, and is not. */
struct image_refusal { uint32_t function; uint8_t reason; /* enum hook_reason */ };
typedef VEC(struct image_refusal) image_refusals;

/* An update of one image for the thread that owns the trace_info. Handed over once. */
struct image_update {
	uint32_t image;
	bool addition;            /* modules that came later, of a known image */
	bool again;               /* an addition: all modules, some of them known */
	struct trace_image about;
	VEC(struct trace_module) modules;
	/* Events that may be recorded from now on; the catalogue's. */
	VEC(const struct event_entry *) events;
	image_refusals refused;   /* functions of modules in earlier updates */
	const struct image_memory *memory; /* its sites; mapped as long as a process has it */
	const struct memory_ends *ends; /* by which it is watched; NULL: nothing is */
	int watch;                /* memory_ends_watch() */
	/* of a process that became another user's: its modules are those of image `of` */
	bool is_copy;
	uint32_t of;
};

struct image_count {
	uint32_t functions, hooked;
	uint32_t by_kind[HOOK_KINDS_N], by_reason[REASONS_N];
	/* of the modules that are open: as struct sym_module's */
	uint64_t code_bytes, unknown_bytes;
	struct argument_count arguments;
};

/* The outcome for a signal's handler that was to be probed. */
struct handler_plan {
	uint64_t handler, patch;  /* addresses; 0 = there is none */
	uint8_t reason;           /* enum hook_reason: why it is not probed */
	char name[MESSAGE_NAME];
};

/* A place of an event (a marker, or a defined one) that was to be probed. */
struct probe_plan {
	uint64_t patch;           /* address; 0 = there is none */
	uint8_t reason;           /* enum hook_reason: why there is none */
	char name[MESSAGE_NAME];  /* GROUP:EVENT, cut */
};

/* A module that was to be traced, but whose file cannot be opened. code: errno; ESTALE: another
 * file stands at its path. */
struct image_unread { char name[MESSAGE_NAME]; int code; };

struct image {
	struct image_update update;
	struct image_count count;
	uint32_t selected;        /* functions the filters let through */
	uint32_t next_id;
	struct protocol_setup setup;
	int image_fd, code_fd, answers_fd; /* image_close */
	const struct shared_memory *memory; /* into which it records, once it was attached to */
	void *code;               /* the code memory, mapped; nobody else can write to it */
	/* the answer memory, mapped; the process may write there at any time */
	void *answers;
	/* ours, as many as the setup reply says; the code memory has copies */
	struct patch *patches;
	struct patch_region *regions; /* as `patches` */
	VEC(struct handler_plan) handlers;
	VEC(struct probe_plan) probes;
	VEC(struct image_unread) unread;
};

/* A module that is hooked in a process already: a later look skips it. */
struct known_module {
	pid_t pid;
	uint64_t start;
	char *path;
	uint32_t first_id;        /* of its functions; 0: it has none in the trace */
};
struct known_modules { VEC(struct known_module) at; };

/* Appends copies, with paths of their own, to *to. image_known_free frees them. */
void image_known_copy(struct known_modules *to, const struct known_modules *from);
void image_known_free(struct known_modules *k);
/* Copies one process' modules to *to. A process that has none was forked just then: it gets those
 * of all others. */
void image_known_of(struct known_modules *to, const struct known_modules *from, pid_t pid);
/* Replaces one process' modules by *by, which is emptied. */
void image_known_replace(struct known_modules *of, pid_t pid, struct known_modules *by);

typedef VEC(uint64_t) handler_list; /* functions' addresses */

struct image_request {
	uint32_t index;           /* the image's number in the session */
	uint32_t first_id;        /* for its functions */
	struct known_modules *known; /* of this image; grows */
	pid_t pid;
	const struct protocol_hello *hello;
	const struct settings *settings;
	const handler_list *handlers; /* to be probed if deliveries are wanted; NULL: none */
	/* the settings'; new events are compared with its pending names; NULL: none */
	struct event_set *events;
	bool again;               /* plans known modules anew, with the ids that they have */
	const char *agent_path;   /* not traced itself */
	/* brought in by hand: where it may ask for more; NULL: nowhere */
	const char *agent_socket;
	/* launched by hand: where programs that it executes find us; NULL: no calls are
	 * intercepted but those that install filters (intercepts_wanted) */
	const char *socket;
	uint64_t taken_from, taken_bytes; /* where the agent will be put; 0 bytes: it is there */
	uint64_t distance;        /* as in struct maps */
	enum memory_tracer tracer;
	const struct memory_ends *ends; /* of image memories; NULL: none are watched */
};

/* Adds the counts of a later look, or replaces the counts by a new image's. */
void image_count_add(struct image_count *total, const struct image_count *more, bool addition);

/* Plans everything; changes nothing in the process. 0, or -errno and *err. In both cases the caller
 * frees *out: image_update_free, then image_close. On any thread. */
int image_prepare(const struct image_request *req, struct image *out, struct err *err);
/* Makes an image memory for a process of image `of` that has become another user's. ends as in the
 * request. 0, or -errno and *err. */
int image_copy(pid_t pid, uint32_t of, const struct memory_ends *ends, struct image *out,
	       struct err *err);
/* Sets the image's number in the session, if image_prepare was not told. */
void image_number(struct image *im, uint32_t index);
/* After the agent is done, or will never be: takes over from the answer memory which regions it
 * mapped and which patches went in. False: something stands there that no agent writes. */
bool image_hear(struct image *im);
/* After image_hear: notes patches that did not go in. Takes modules whose trampolines found no
 * place out of req->known: the agent asks for them again. */
void image_note_refused(struct image *im, const struct image_request *req);
/* The two halves of image_note_refused, for an image whose update is handed over. */
void image_refused(const struct image *im, image_refusals *out);
void image_forget_unmapped(const struct image *im, struct known_modules *known, pid_t pid);
/* Why the patch at the address did not go in; REASON_NONE: it did, or the image has none there. */
enum hook_reason image_patch_reason(const struct image *im, uint64_t address);
/* Notes the files that could not be opened. */
void image_tell_unread(const struct image *im, pid_t pid, struct memory_messages *messages);
/* Whether the places of the regions are still free. */
struct maps;
bool image_addresses_free(const struct image *im, const struct maps *maps);
/* After the agent of a stopped process has mapped: takes over which regions it has. -EAGAIN and
 * *err if one has no place. */
int image_check_mapped(struct image *im, struct err *err);
/* After patching: fails if look-ups of unwinders are not in place, without which a process may not
 * be traced. -EAGAIN and *err if one was in use, else -EPERM. */
int image_check_look_ups(const struct image *im, struct err *err);
/* Fails a plan that hooks nothing: -EINVAL, and *err says why and what to do. 0: what is to be
 * hooked may come with a library. */
int image_none_selected(const struct image *im, const struct settings *settings, struct err *err);
void image_close(struct image *im); /* frees all but the update */
void image_module_free(struct trace_module *m);
void image_update_free(struct image_update *update); /* frees all of it */
/* Frees the parts that an addition repeats: its image's description and memory. */
void image_update_drop(struct image_update *update);
