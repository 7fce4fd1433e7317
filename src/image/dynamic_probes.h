/* SPDX-License-Identifier: MIT */
/* Events that somebody defines at an instruction of a file (event/probe_command.h). */
#pragma once
#include "event/catalogue.h"

extern const struct event_provider dynamic_provider;

/* Defines the event in the catalogue: the file has to exist and the instruction to be one that can
 * be probed. Takes the definition out of the command, whose line stands in sentences. If there is
 * an event whose place it can be, *append: nothing is done then, and the caller adds it
 * (events_add_place); append NULL: nobody uses events yet, and it is added at once. 0, or -errno
 * and *err with the column: -ENOENT, -EINVAL, -EEXIST, -ENOSPC: there are too many at the
 * instruction. Any thread. */
int dynamic_probes_define(struct event_catalogue *c, struct probe_command *command,
			  const char *line, const struct event_entry **append, struct err *err);

/* Whether records of the format's text have the fields of the event's, as another place of it has
 * to: 0; or -EEXIST and *err with the column of the argument, in the kernel's words. heads: fields
 * that are no arguments. */
int dynamic_probes_alike(const struct event_entry *other, const char *format, size_t heads,
			 const char *line, struct err *err);
