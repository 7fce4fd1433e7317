/* SPDX-License-Identifier: MIT */
/* A line of uprobe_events or dynamic_events:
 *   p[:[GRP/][EVENT]] PATH:OFFSET [FETCHARG...]     defines an event (fetch.h: FETCHARG)
 *   r[:[GRP/][EVENT]] PATH:OFFSET [FETCHARG...]     when the function there returns
 *   p[:[GRP/][EVENT]] PATH:OFFSET%return [FETCHARG...]
 *   -:[GRP/]EVENT     -:GRP/                        removes it, or those of a group
 *   -:[GRP/]EVENT PATH:OFFSET [FETCHARG...]         if it is listed so, up to the last word given
 * and the definition that it makes. Sentences are the kernel's where it has one. */
#pragma once
#include <sys/types.h>

#include "event/fetch.h"

#define PROBE_NAME_MAX 63u        /* bytes of a group's and of an event's name */
#define PROBE_LINE_MAX 4093u      /* bytes of a line */

enum probe_action { PROBE_NOTHING /* empty, or a comment */, PROBE_DEFINE, PROBE_REMOVE };

/* A defined event: the instruction, and what is fetched there. */
struct probe_definition {
	char *path;               /* as written */
	uint64_t offset;          /* in the file */
	bool returns;             /* it is a function, and its return is meant */
	dev_t device;             /* the file */
	ino_t inode;
	char *arguments;          /* as listed: " a=%di b=%si", or "" */
	struct fetch_program *program;
	uint32_t program_bytes;
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

/* Takes a line without its newline apart. 0, or -EINVAL, -E2BIG and *err with the column; nothing
 * is left to free then. probe_command_free() frees what is in *out. */
int probe_command_parse(const char *line, struct probe_command *out, struct err *err);
void probe_command_free(struct probe_command *c);
void probe_definition_free(struct probe_definition *d); /* NULL: nothing */
