/* SPDX-License-Identifier: MIT */
/* Batches of a run, each of which comes to be on its server exactly once, whatever answers are lost
 * and however often the same trace is pushed. */
#pragma once
#include <signal.h>

#include "fleet/server.h"

struct fleet_sender {
	const struct fleet_servers *servers;
	size_t server;
	uint64_t run, retry_ns;     /* retry_ns: the longest time that a server may be away */
	bool verify;                /* send nothing: count what is missing */
	const volatile sig_atomic_t *stop; /* NULL, or not 0: end with -EINTR */
	/* results */
	size_t batches, sent, there, missing;
	/* private: rows of each batch that was there at the beginning */
	struct number_map present[FLEET_TABLES];
	uint32_t next[FLEET_TABLES];
};

/* Asks which batches the server has of the run. 0, or -errno and *err. */
int fleet_sender_begin(struct fleet_sender *s, struct err *err);
/* Sends the block as its table's next batch, unless it is there, and empties it; an empty one is no
 * batch. Rows of tables without batches are sent in any case. 0, or -errno and *err. */
int fleet_send(struct fleet_sender *s, struct fleet_block *b, struct err *err);
/* The number that the next batch of a table has. */
uint32_t fleet_sender_batch(const struct fleet_sender *s, enum fleet_table_number table);
void fleet_sender_free(struct fleet_sender *s);
