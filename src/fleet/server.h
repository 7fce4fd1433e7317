/* SPDX-License-Identifier: MIT */
/* A ClickHouse server, or several that share the runs of a fleet: each run is on one of them. */
#pragma once
#include <stdint.h>

#include "base/number_map.h"
#include "fleet/http.h"
#include "fleet/tables.h"

#define FLEET_SERVERS_MAX 64

struct fleet_servers {
	VEC(struct http_server) at;
	char *database;
};

/* Reads URL[,URL...]: http[s]://HOST[:PORT][/DATABASE]. Those behind the first may leave the
 * scheme out, and one alone names the database (default: brace). 0, or -EINVAL and *err with the
 * column. */
int fleet_servers_read(struct fleet_servers *s, const char *text, struct err *err);
/* Reads USER:KEY from the first line of a file that only its user may read, or else, if path is
 * NULL, takes $BRACE_CLICKHOUSE_USER and $BRACE_CLICKHOUSE_KEY. The texts live as long as brace. 0,
 * or -errno and *err. */
int fleet_servers_login(struct fleet_servers *s, const char *path, struct err *err);
/* Frees all but the texts of fleet_servers_login(). */
void fleet_servers_free(struct fleet_servers *s);

/* Asks a server in SQL. *answer: lines of fields that tabs part, or NULL if not wanted; free() it.
 * 0; -EAGAIN: it may answer later; or another -errno. *err in both cases. */
int fleet_ask(const struct fleet_servers *s, size_t server, const char *sql, char **answer,
	      struct err *err);
/* fleet_ask() for an answer of any bytes, *n of them, behind which a NUL stands. Whether it was cut
 * short the caller sees in the bytes. */
int fleet_ask_bytes(const struct fleet_servers *s, size_t server, const char *sql, char **answer,
		    size_t *n, struct err *err);
/* fleet_ask() with a user's statement, which the server carries out only if it reads, and answers
 * with names and types of columns in two lines before the rows. Words of the user's at which it
 * stumbles are in *err with their column. */
int fleet_ask_to_read(const struct fleet_servers *s, size_t server, const char *sql, char **answer,
		      struct err *err);
/* Sleeps, in parts: a signal that another thread gets does not end a sleep, but stop does. */
void fleet_nap(const struct stop *stop, uint64_t ns);
/* Whether a failure means that the server is away, or may do it later, and not that it refuses. */
bool fleet_may_pass(int r);
/* Inserts the block under a name of the insertion: two of one name do not run at once. Returns as
 * fleet_ask() does; after -EAGAIN the block may be there, or come. */
int fleet_insert(const struct fleet_servers *s, size_t server, const struct fleet_block *b,
		 const char *name, struct err *err);
/* Makes the database, its tables and views on each server, where they are missing. 0, or -errno. */
int fleet_create(const struct fleet_servers *s, struct err *err);
