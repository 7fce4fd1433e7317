/* SPDX-License-Identifier: MIT */
/* A line of uprobe_events, kprobe_events or dynamic_events:
 *   p[:[GRP/][EVENT]] PATH:OFFSET [FETCHARG...]     defines an event (fetch.h: FETCHARG)
 *   r[:[GRP/][EVENT]] PATH:OFFSET [FETCHARG...]     when the function there returns
 *   p[:[GRP/][EVENT]] PATH:OFFSET%return [FETCHARG...]
 *   p|r[MAXACTIVE][:[GRP/][EVENT]] [MODULE:]SYMBOL[+OFFSET][%return] [FETCHARG...]
 *   f[MAXACTIVE][:[GRP/][EVENT]] [MODULE:]SYMBOL[%return] [FETCHARG...]
 *   -:[GRP/]EVENT     -:GRP/                        removes it, or those of a group
 *   -:[GRP/]EVENT PATH:OFFSET [FETCHARG...]         if it is listed so, up to the last word given
 * and the definition that it makes. Sentences are the kernel's where it has one. */
#pragma once
#include <sys/types.h>

#include "event/fetch.h"

#define PROBE_NAME_MAX 63u        /* bytes of a group's and of an event's name */
#define PROBE_LINE_MAX 4093u      /* bytes of a line */

enum probe_action { PROBE_NOTHING /* empty, or a comment */, PROBE_DEFINE, PROBE_REMOVE };

/* A place of a defined event: the instruction, and what is fetched there. An event can have
 * several, which stay in its list to the end, as the event does. */
struct probe_definition {
	struct probe_definition *_Atomic next; /* the event's next one; NULL: none */
	_Atomic bool gone;        /* removed */
	uint64_t order;           /* of definition, among all events' */
	char *path;               /* as written */
	uint64_t offset;          /* in the file */
	bool returns;             /* it is a function, and its return is meant */
	bool fprobe;              /* it was defined by f */
	bool follows;             /* its line is that of the place before, which is listed */
	char *symbol;             /* as listed, if it was given so: "vfs_read+4"; else NULL */
	unsigned active;          /* MAXACTIVE, which changes nothing here; 0: none was given */
	dev_t device;             /* the file */
	ino_t inode;
	char *arguments;          /* as listed: " a=%di b=%si", or "" */
	struct fetch_program *program;
	uint32_t program_bytes;
	/* of a return that wants words of the call's entry: what keeps them there; else NULL */
	struct fetch_program *entry;
	uint32_t entry_bytes;
};

struct probe_command {
	enum probe_action action;
	/* REMOVE: group NULL: any; event NULL: all of the group. */
	char *group, *event;
	char *listed;             /* REMOVE: " PATH:OFFSET ARGUMENT..."; NULL: however it is */
	struct probe_definition *definition; /* NULL, but for DEFINE; without the file's identity */
	char *format;             /* of DEFINE: text for events_add_probe() */
	size_t path_column, offset_column; /* of DEFINE: where they stand in the line */
};

/* A place that a symbol leads to. */
struct symbol_match {
	char *path;               /* free() it */
	uint64_t offset, vaddr;   /* in the file, and as it was linked */
	bool entry;               /* a function begins there */
	/* Set by the command for its calls of `argument` and `parameters`; `find` leaves them: */
	bool returns;             /* its return is meant */
	const char *symbol;       /* as it was written; NULL: it was named by its address */
};

/* Finds symbols in the traced programs. */
struct probe_symbols {
	/* Finds SYMBOL+more in the module, by its file's name (NULL: in the program, or else in
	 * any). Returns the number of such functions: 0; 1 and *out; or more. */
	unsigned (*find)(void *arg, const char *module, const char *symbol, uint64_t more,
			 struct symbol_match *out);
	/* Finds a symbol of the place's file, n characters: *vaddr. */
	bool (*object)(void *arg, const struct symbol_match *place, const char *name, size_t n,
		       uint64_t *vaddr);
	/* Makes of [NAME=]EXPRESSION[:TYPE] in the words of the function's source one argument of
	 * fetch.h, *out, which the caller frees; NULL: the word is that already. `place` is the
	 * function's begin. 0, or -EINVAL and *err with the column in the word. A NULL function:
	 * there are no such words. */
	int (*argument)(void *arg, const struct symbol_match *place, const char *word, char **out,
			struct err *err);
	/* Makes all parameters, "a=$arg1:s32 b=$arg2:x64", which the caller frees; NULL and *err:
	 * they are not known. */
	char *(*parameters)(void *arg, const struct symbol_match *place, struct err *err);
	/* Finds the place of an address, as kallsyms has them. False: no program has it. NULL: no
	 * place is named by its address. */
	bool (*at)(void *arg, uint64_t address, struct symbol_match *out);
	void *arg;
};

/* Whether the line defines an event by this letter: "f:NAME" or "f NAME", with any of the digits
 * behind the letter. */
bool probe_command_is_of(const char *line, char letter, const char *digits);
/* Whether the line is a definition by f. */
bool probe_command_is_fprobe(const char *line);
/* Whether the line, if it is a definition, has a place in a file, and no symbol. */
bool probe_command_is_of_file(const char *line);

/* Takes a line without its newline apart. 0, or -EINVAL, -E2BIG and *err with the column; nothing
 * is left to free then. probe_command_free() frees what is in *out. */
int probe_command_parse(const char *line, struct probe_command *out, struct err *err);
/* Parses a line of kprobe_events, whose place is a symbol; results as of probe_command_parse(). */
int probe_command_parse_symbols(const char *line, const struct probe_symbols *symbols,
				struct probe_command *out, struct err *err);
void probe_command_free(struct probe_command *c);
void probe_definition_free(struct probe_definition *d); /* with those behind it; NULL: nothing */
/* Returns the event's first place that is not removed, from d on; NULL: there is none. Any thread,
 * while others add and remove places. */
const struct probe_definition *probe_definition_first(const struct probe_definition *d);
const struct probe_definition *probe_definition_next(const struct probe_definition *d);
