/* SPDX-License-Identifier: MIT */
/* Batches of a run, each of which comes to be on its server exactly once, whatever answers are lost
 * and however often the same trace is pushed. */
#pragma once
#include <pthread.h>

#include "base/stop.h"
#include "fleet/server.h"

struct fleet_sender {
	const struct fleet_servers *servers;
	size_t server;
	uint64_t run, retry_ns;     /* retry_ns: the longest time that a server may be away */
	bool verify;                /* send nothing: count what is missing */
	bool has_file;              /* there will be batches of FLEET_TRACES */
	const struct stop *stop; /* or NULL; asked: ends with -EINTR */
	/* results */
	size_t batches, sent, there, missing;
	/* private: rows of each batch that was there at the beginning */
	struct number_map present[FLEET_TABLES];
	uint32_t next[FLEET_TABLES];
	/* Private: the thread that sends, while the caller fills the next block. Under the lock:
	 * the block is the thread's while `full`, the caller's otherwise. */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct fleet_block block;
	bool begun, full, end;
	int failed;
	struct err why;
};

/* Asks which batches the server has of the run, and starts the thread that sends. 0, or -errno and
 * *err; fleet_sender_end() follows in any case. */
int fleet_sender_begin(struct fleet_sender *s, struct err *err);
/* Gives the block to the thread, which sends it as its table's next batch, unless it is there, and
 * empties it; an empty one is no batch. Rows of tables without batches are sent in any case. Waits
 * until the block before is sent. 0, or -errno and *err, of a block before. */
int fleet_send(struct fleet_sender *s, struct fleet_block *b, struct err *err);
/* The number that the next batch of a table has. */
uint32_t fleet_sender_batch(const struct fleet_sender *s, enum fleet_table_number table);
/* Waits until all is sent, ends the thread and frees. r: how the sending went so far. Returns it,
 * or else -errno and *err of what was still to be sent. Results are the caller's from here on. */
int fleet_sender_end(struct fleet_sender *s, int r, struct err *err);
