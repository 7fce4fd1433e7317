/* SPDX-License-Identifier: MIT */
/* The modules of one address space: which are opened, and which of their functions are selected. */
#pragma once
#include "hook/module_cache.h"
#include "image/arguments.h"
#include "model/settings.h"
#include "image/image.h"
#include "image/intercepts.h"
#include "image/maps.h"
#include "image/probes.h"
#include "sym/static_events.h"

/* MODULE_PROBED: opened only for places inside its functions. MODULE_UNWINDER: opened only for its
 * functions' effects on stacks. No function of either is traced. */
enum module_choice { MODULE_CLOSED, MODULE_PROBED, MODULE_UNWINDER, MODULE_OPEN };

/* Addresses are the file's. Bytes that are changed while an event is wanted: its site, or the words
 * of its state that lead to the agent. */
struct event_site {
	uint64_t vaddr;
	uint8_t length, bytes[8], expected[8];
};
/* An event's block in the module's region; `state`, in the program, has to point there. */
struct armed_event {
	uint32_t event;               /* in the catalogue */
	uint64_t state;               /* vaddr */
	const struct filter_program *filter; /* the set's; or NULL */
	bool stacked;                 /* event_set_stacked */
	uint8_t scopes;               /* event_set_scopes */
};
typedef struct { VEC(struct event_site) at; VEC(struct armed_event) armed; } event_site_list;

struct module {
	/* Owned by struct modules. */
	char *path, *name;
	/* its first executable mapping, by which its file is found; its path is this struct's */
	struct map text;
	/* its file, exactly the mapped one, open for reading; -1: not open */
	int fd;
	uint64_t base, start, end;    /* load bias; range of executable segments */
	enum module_choice choice;
	struct hook_module *hooks;    /* NULL: closed, or unreadable */
	uint32_t first_id;
	uint8_t *selected;            /* by function: enum selection */
	uint32_t *scoped;             /* by function: its scope word, 0: none; NULL: no scopes */
	/* by function: 1 + index in modules' libraries where a PLT entry leads; 0, or NULL: not
	 * known */
	uint32_t *bound;
	argument_plans arguments;     /* of the selected functions */
	intercept_list calls;          /* to be intercepted */
	probe_points probes;          /* inside functions */
	enum hook_reason hidden;      /* probes_hidden_handlers */
	struct static_events events;
	event_site_list sites;        /* the wanted part of `events` */
};

enum selection { SELECT_NO, SELECT_YES, SELECT_GRAPH /* may begin a graph */,
		 SELECT_SCOPE, /* not traced, but followed for scopes of events */
		 SELECT_NONLOCAL, /* not traced, but readers have to know where control goes */
		 /* look-ups of unwinders, redirected past the stubs */
		 SELECT_FIND_FDE, SELECT_FIND_OBJECT, SELECT_ITERATE_PHDR };

/* A file whose functions could not be read. code: errno, as mapped_file_open's. */
struct unread_file { char *name; int code; };

struct library { char *path, *name; };

struct modules {
	pid_t pid;
	char *root;                   /* mapped_file_root; NULL: not looked for yet */
	VEC(struct module) at;
	VEC(struct unread_file) unread;
	struct argument_count asked_for;
	VEC(struct library) libraries; /* bindings.h: everything mapped, the executable first */
};

/* Fills *out from the maps: executable file mappings, except the agent's and known ones, to which
 * the new ones are added. 0, or -errno and *err; the caller frees *out. */
int modules_find(const struct maps *maps, const char *exe, const struct image_request *req,
		 struct modules *out, struct err *err);
/* Lists every executable file mapping of the process, and opens it. */
void modules_load_all(pid_t pid, const struct maps *maps, struct modules *out);
/* Whether the mapping is one of the module's file. */
bool modules_is_of(const struct module *mod, const struct map *map);
/* Whether code of ours is written beside the program's, which unwinders have to find: trampolines,
 * or those of events. */
bool modules_writes_code(const struct image_request *req);
/* Decides for each function; gives ids from *next_id on. code: modules_writes_code(). Returns how
 * many functions are selected and can be hooked. */
uint32_t modules_select(struct modules *m, const struct settings *set, bool by_hand, bool code,
			uint32_t *next_id);
/* Notes the modules' ids in req->known, for the next look at this process. */
void modules_note_ids(const struct modules *m, const struct image_request *req);
/* Adds the modules to the update. After patches_make, which may turn selections down. */
void modules_describe(const struct modules *m, uint32_t image, struct image_update *update);
bool modules_is_look_up(const char *name); /* whether it is one of an unwinder's look-ups */
void modules_free(struct modules *m);
