/* SPDX-License-Identifier: MIT */
/* One program image brought under trace: which functions are selected, the trampolines and
 * patches for exactly this address space, and what the trace must know of it. */
#pragma once
#include <sys/types.h>

#include "base/err.h"
#include "model/settings.h"
#include "image/patch_list.h"
#include "collect/shared_memory.h"
#include "shared/memory.h"
#include "trace/trace_info.h"

/* A function that was to be hooked, and is not. */
struct image_refusal { uint32_t function; uint8_t reason; /* enum hook_reason */ };
typedef VEC(struct image_refusal) image_refusals;

/* What one image hands over, once, to the thread that owns the trace_info. */
struct image_news {
	uint32_t image;
	bool addition;            /* modules that came later, of an image that is known */
	bool again;               /* an addition: all modules, some of them known */
	struct trace_image about;
	VEC(struct trace_module) modules;
	VEC(const struct event_entry *) events; /* those that may be recorded from now on; the catalogue's */
	image_refusals refused;   /* functions of modules that came in earlier news */
	const struct image_memory *memory; /* its sites; mapped as long as the session lives */
	bool is_copy;             /* of a process that became another user's: the modules are those of image `of` */
	uint32_t of;
};

struct image_count {
	uint32_t functions, hooked;
	uint32_t by_kind[16], by_reason[32];
};

/* What became of a signal's handler that was to be probed. */
struct handler_plan {
	uint64_t handler, patch;  /* addresses; 0 = there is none */
	uint8_t reason;           /* enum hook_reason: why not */
	char name[NOTE_NAME];
};

/* A module that was to be traced, and its file is not had. code: errno, ESTALE: another file stands at its path. */
struct image_unread { char name[NOTE_NAME]; int code; };

struct image {
	struct image_news news;
	struct image_count count;
	uint32_t selected;        /* functions the filters let through */
	uint32_t next_id;
	struct protocol_welcome welcome;
	int image_fd, code_fd;    /* image_close */
	const struct shared_memory *memory; /* it records into, once it was attached to */
	void *code;               /* the code memory, mapped; the process may write there at any time */
	struct patch *patches;    /* ours, as many as the welcome says; in the code memory stand copies */
	struct patch_region *regions; /* likewise */
	VEC(struct handler_plan) handlers;
	VEC(struct image_unread) unread;
};

/* What is already hooked in a process: so that a later look finds what is new. */
struct known_module {
	pid_t pid;
	uint64_t start;
	char *path;
	uint32_t first_id;        /* of its functions; 0: it has none in the trace */
};
struct known_modules { VEC(struct known_module) at; };

void known_modules_copy(struct known_modules *to, const struct known_modules *from);
void known_modules_free(struct known_modules *k);
/* Those of one process; of one that has none, which was forked then, those of all others, as its own. */
void known_modules_of(struct known_modules *to, const struct known_modules *from, pid_t pid);
/* Those of one process are now these, which are taken. */
void known_modules_replace(struct known_modules *of, pid_t pid, struct known_modules *by);

typedef VEC(uint64_t) handler_list; /* functions' addresses */

struct image_request {
	uint32_t index;           /* of the image in the session */
	uint32_t first_id;        /* for its functions */
	struct known_modules *known; /* of this image; grows */
	pid_t pid;
	const struct protocol_hello *hello;
	const struct settings *settings;
	const handler_list *handlers; /* of signals, to be probed if that is wished for; NULL: none */
	struct event_set *events; /* the settings'; events that come are held against its wishes; NULL: none */
	bool again;               /* what is known is planned anew, by the ids it has */
	const char *agent_path;   /* not traced itself */
	const char *door;         /* by hand: where it may ask for more; NULL: nowhere */
	const char *socket;       /* launched by hand: where what it executes finds us; NULL: no system call is led */
	uint64_t taken_from, taken_bytes; /* where the agent will be put; 0 bytes: it is there */
	uint64_t distance;        /* as in struct maps */
	enum memory_tracer tracer;
};

/* What a later look adds to, or a new image replaces. */
void image_count_add(struct image_count *total, const struct image_count *more, bool addition);

/* Plans everything; nothing in the process has changed yet. */
int image_prepare(const struct image_request *req, struct image *out, struct err *err);
/* For a process of this image that has become another user's: an image memory of its own. 0, or -errno and *err. */
int image_copy(pid_t pid, uint32_t of, struct image *out, struct err *err);
/* The image's number in the session, if image_prepare was not told. */
void image_number(struct image *im, uint32_t index);
/* After the agent is done, or will never be: takes over from the code memory which regions it mapped and which patches went
 * in. Nothing else there is believed: the process writes what it likes. False: it wrote what no agent does. */
bool image_hear(struct image *im);
/* Then: which patches did not go in. Modules whose trampolines found no place are
 * taken out of req->known: the agent asks for them again. */
void image_settle(struct image *im, const struct image_request *req);
/* The two halves of it, for an image whose news are handed over. */
void image_refused(const struct image *im, image_refusals *out);
void image_forget_unmapped(const struct image *im, struct known_modules *known, pid_t pid);
/* Notes the files that were not had. */
void image_tell_unread(const struct image *im, pid_t pid, struct memory_notes *notes);
/* Are the regions' places still free? */
struct maps;
bool image_places_free(const struct image *im, const struct maps *maps);
/* After the agent of a process that is held has mapped: takes over which regions. -EAGAIN and *err if one has no place. */
int image_check_mapped(struct image *im, struct err *err);
/* After patching: without its unwinders' look-ups a process is not to be traced. -EAGAIN if one was in use, -EPERM. */
int image_check_look_ups(const struct image *im, struct err *err);
/* The error of a plan that hooks nothing although functions were selected: -EINVAL, and *err says why and what to do. */
int image_none_selected(const struct image *im, const struct settings *settings, struct err *err);
void image_close(struct image *im); /* all but the news */
void image_module_free(struct trace_module *m);
void image_news_free(struct image_news *news); /* all of it */
/* Frees what an addition repeats: its image's description and memory. */
void image_news_drop(struct image_news *news);
