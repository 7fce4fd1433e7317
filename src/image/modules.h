/* SPDX-License-Identifier: MIT */
/* The modules of one address space: which are opened, which of their functions are selected. */
#pragma once
#include "hook/kept.h"
#include "model/settings.h"
#include "image/image.h"
#include "image/led_calls.h"
#include "image/maps.h"
#include "image/probes.h"
#include "sym/static_events.h"

/* MODULE_PROBED: opened only for places inside its functions. MODULE_UNWINDER: only for what its functions do to
 * stacks: no function of either is traced. */
enum module_choice { MODULE_CLOSED, MODULE_PROBED, MODULE_UNWINDER, MODULE_OPEN };

/* Bytes to be changed while an event is wanted: the site itself, or what the agent is told of it. Others than static ones
 * may come (probes): everything that is patched is one of these. */
struct event_site {
	uint64_t address;             /* in the process */
	uint8_t length, bytes[8], expected[8];
};
/* What of an event stands in the module's region: `state` of the program's is to point there. */
struct event_place {
	uint32_t event;               /* in the catalogue */
	uint64_t state;               /* address in the process */
	const struct filter_program *filter; /* the set's; or NULL */
	bool stacked;                 /* event_set_stacked */
};
typedef struct { VEC(struct event_site) at; VEC(struct event_place) places; } event_site_list;

struct module {
	char *path, *name;
	struct map text;              /* the first of its executable mappings, by which its file is found; its path is this one's */
	int fd;                       /* its file, the very one that is mapped, open for reading; -1: not open */
	uint64_t base, start, end;    /* load bias; range of executable segments */
	enum module_choice choice;
	struct hook_module *hooks;    /* NULL: closed, or unreadable */
	uint32_t first_id;
	uint8_t *selected;            /* by function: enum selection */
	uint32_t *bound;              /* by function: 1 + where a PLT entry leads, in modules' libraries; 0, or NULL: not known */
	led_call_list calls;          /* to be led through the agent */
	probe_points probes;          /* inside functions */
	enum hook_reason hidden;      /* probes_hidden_handlers */
	struct static_events events;
	event_site_list sites;        /* what of them is wanted */
};

enum selection { SELECT_NO, SELECT_YES, SELECT_GRAPH /* may begin a graph */,
		 SELECT_LEAVE, /* not traced, but readers must know where control goes */
		 /* look-ups of unwinders, led past the stubs */
		 SELECT_FIND_FDE, SELECT_FIND_OBJECT, SELECT_ITERATE_PHDR };

/* A file that was to be read for its functions. code: errno, as mapped_file_open's. */
struct unread_file { char *name; int code; };

struct library { char *path, *name; };

struct modules {
	pid_t pid;
	char *root;                   /* mapped_file_root; NULL: not looked for yet */
	VEC(struct module) at;
	VEC(struct unread_file) unread;
	VEC(struct library) libraries; /* bindings.h: all that is mapped, the executable first */
};

/* Fills *out from the maps: executable file mappings, but for the agent's and
 * those already known, to which these are added. */
int modules_find(const struct maps *maps, const char *exe, const struct image_request *req, struct modules *out,
		 struct err *err);
/* Every executable file mapping of the process, opened. */
void modules_load_all(pid_t pid, const struct maps *maps, struct modules *out);
/* Is it a mapping of the module's file? */
bool modules_is_of(const struct module *mod, const struct map *map);
/* Decides function by function; gives ids from *next_id on. Returns how many are selected and can be hooked. */
uint32_t modules_select(struct modules *m, const struct settings *set, bool by_hand, uint32_t *next_id);
/* For the next look at this process. */
void modules_note_ids(const struct modules *m, const struct image_request *req);
/* What the trace stores of them. Call after patches_make, which may turn selections down. */
void modules_describe(const struct modules *m, uint32_t image, struct image_news *news);
bool modules_is_look_up(const char *name); /* of an unwinder */
void modules_free(struct modules *m);
