/* SPDX-License-Identifier: MIT */
/* A trace's file itself on a server, as the parts of one run, and back. */
#pragma once
#include "fleet/answer.h"
#include "fleet/sender.h"
#include "store/store.h"

/* Gives the file to the sender, a batch a part. 0, or -errno and *err as fleet_send(), or of a file
 * that cannot be read any more. */
int fleet_trace_send(struct fleet_sender *s, struct store_reader *file, uint32_t day,
		     struct err *err);
/* Writes the file of a run to fd. 0, or -errno and *err: -ENOENT: no server that answered has it;
 * -ENODATA: not all of its parts are there; -EBADMSG: a part is not what was sent. */
int fleet_trace_fetch(const struct fleet_servers *s, uint64_t run, int fd, struct fleet_answer *a,
		      struct err *err);
/* Reads a server's answer of a part: its hash and its bytes, of which n are there, or fewer. NULL:
 * they are not that. *size: the part's bytes. */
const char *fleet_trace_part(const char *answer, size_t n, size_t *size);
