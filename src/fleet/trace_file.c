/* SPDX-License-Identifier: MIT */
/* push.c and ui/fleet_fetch.c call it, on the command's thread. A part is a row, and a batch of its
 * own: it is there once, whatever answers are lost. Fails on a file that cannot be read and as
 * servers do. */
#include "fleet/trace_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/keyed_hash.h"
#include "base/mem.h"
#include "base/write_all.h"
#include "store/file_bytes.h"

/* Bytes of a part. Large parts make few requests; an answer with one stays far below
 * HTTP_ANSWER_MOST. */
#define PART_BYTES (UINT64_C(4) << 20)

/* Tells a part that was damaged on its way from the one that was sent; no secret. The length is the
 * hash's beginning, so that a part that was cut has another one. */
static uint64_t part_hash(const char *bytes, size_t n)
{
	static const struct hash_key public_key = { { 0, 0 } };

	return keyed_hash_bytes(&public_key, n, bytes, n);
}

/* --- to a server ----------------------------------------------------- */

struct sending {
	struct fleet_sender *sender;
	struct fleet_block block;
	VEC(char) part;
	uint64_t size;
	uint32_t day;
	struct err *err;
};

/* Each row says how many parts there are to be, so that one that is there alone tells that others
 * are missing (look_at()). */
static int send_part(struct sending *g)
{
	struct fleet_block *b = &g->block;

	fleet_put_number(b, g->day);
	fleet_put_number(b, g->sender->run);
	fleet_put_number(b, fleet_sender_batch(g->sender, FLEET_TRACES));
	fleet_put_number(b, (g->size + PART_BYTES - 1) / PART_BYTES);
	fleet_put_number(b, g->size);
	fleet_put_number(b, part_hash(g->part.at, g->part.n));
	fleet_put_bytes(b, g->part.at, g->part.n);
	g->part.n = 0;
	return fleet_send(g->sender, b, g->err);
}

/* Pieces of any size become parts of PART_BYTES, of which only the last is shorter: the same file
 * makes the same parts, by which a push that was cut short goes on. */
static int take_bytes(void *arg, const char *bytes, size_t n)
{
	struct sending *g = arg;
	size_t some;
	int r = 0;

	for (; n && !r; bytes += some, n -= some) {
		some = PART_BYTES - g->part.n;
		some = n < some ? n : some;
		vec_reserve(&g->part, g->part.n + some);
		memcpy(g->part.at + g->part.n, bytes, some);
		g->part.n += some;
		if (g->part.n == PART_BYTES)
			r = send_part(g);
	}
	return r;
}

/* The day is the run's, so that all parts lie in one partition. */
int fleet_trace_send(struct fleet_sender *s, struct store_reader *file, uint32_t day,
		     struct err *err)
{
	struct sending g = { .sender = s, .day = day, .err = err };
	struct store_description about;
	int r;

	store_describe(file, &about);
	g.size = about.bytes;
	g.block.table = &fleet_tables[FLEET_TRACES];
	r = file_bytes(file, take_bytes, &g, err);
	if (!r && g.part.n)
		r = send_part(&g);
	fleet_block_free(&g.block);
	vec_free(&g.part);
	return r;
}

/* --- and back ----------------------------------------------------- */

struct looking {
	const struct fleet_servers *servers;
	uint64_t run;
	bool found;
	size_t server;             /* that has it, if one was found, */
	uint64_t parts, there;     /* and how much of it */
};

/* A line of two numbers for the table's rows of the run; of no row, of zeros. All servers are
 * asked: the run may have been pushed when the list of servers was another. The one that has most
 * parts is taken. uniqExact, since two pushes at one moment may both have sent a part. */
static int look_at(void *arg, size_t server, struct err *err)
{
	struct looking *l = arg;
	char *text, *sql = mem_printf("SELECT max(parts), uniqExact(batch) FROM %s.traces WHERE run = %" PRIu64
				      " FORMAT TabSeparated", l->servers->database, l->run);
	int r = fleet_ask(l->servers, server, sql, &text, err);
	uint64_t parts, there;
	char *end;

	free(sql);
	if (r)
		return r;
	parts = strtoull(text, &end, 10);
	there = strtoull(end, NULL, 10);
	free(text);
	if (there > l->there) {
		l->found = true;
		l->server = server;
		l->parts = parts;
		l->there = there;
	}
	return 0;
}

/* A length: seven bits a byte, the low ones first. Returns its bytes; 0: it is not whole. Nine
 * bytes have 63 bits, more than any answer. */
static size_t read_length(const char *bytes, size_t n, uint64_t *length)
{
	*length = 0;
	for (size_t i = 0; i < n && i < 9; i++) {
		*length |= (uint64_t)(bytes[i] & 0x7f) << 7 * i;
		if (!(bytes[i] & 0x80))
			return i + 1;
	}
	return 0;
}

/* A row of RowBinary: the hash, the length, the bytes. An answer that was cut short has fewer than
 * its length says. */
const char *fleet_trace_part(const char *answer, size_t n, size_t *size)
{
	uint64_t hash, length;
	size_t head;

	if (n < sizeof(hash))
		return NULL;
	memcpy(&hash, answer, sizeof(hash));
	head = read_length(answer + sizeof(hash), n - sizeof(hash), &length);
	if (!head || length != n - sizeof(hash) - head)
		return NULL;
	answer += sizeof(hash) + head;
	if (part_hash(answer, length) != hash)
		return NULL;
	*size = length;
	return answer;
}

/* LIMIT 1: of two equal rows one will do. Nothing is written before the hash is right. */
static int fetch_part(const struct looking *l, uint64_t part, int fd, struct err *err)
{
	char *text, *sql = mem_printf("SELECT hash, bytes FROM %s.traces WHERE run = %" PRIu64
				      " AND batch = %" PRIu64 " LIMIT 1 FORMAT RowBinary",
				      l->servers->database, l->run, part);
	const char *bytes;
	size_t n, size;
	int r = fleet_ask_bytes(l->servers, l->server, sql, &text, &n, err);

	free(sql);
	if (r)
		return r;
	bytes = fleet_trace_part(text, n, &size);
	if (!bytes)
		r = err_set(err, EBADMSG, "part %" PRIu64 " of the trace is damaged at %s: push --trace sends it again when its run is pruned",
			    part, l->servers->at.at[l->server].url);
	else
		r = write_all(fd, bytes, size);
	if (bytes && r)
		err_set(err, -r, "cannot write the trace file: %s", strerror(-r));
	free(text);
	return r;
}

/* Writes from the descriptor's place on; the caller throws the file away if this fails. */
int fleet_trace_fetch(const struct fleet_servers *s, uint64_t run, int fd, struct fleet_answer *a,
		      struct err *err)
{
	struct looking l = { .servers = s, .run = run };
	int r = fleet_answer_all(s, look_at, &l, a, err);

	if (r)
		return r;
	if (!l.found)
		return err_set(err, ENOENT, "no server%s has a trace file of run %016" PRIx64 ": brace push --trace sends one",
			       a->answered < a->servers ? " that answered" : "", run);
	if (l.there != l.parts)
		return err_set(err, ENODATA, "%" PRIu64 " of %" PRIu64 " parts of the trace file are at %s: the same push --trace sends the rest",
			       l.there, l.parts, s->at.at[l.server].url);
	for (uint64_t i = 0; !r && i < l.parts; i++)
		r = fetch_part(&l, i, fd, err);
	return r;
}
