/* SPDX-License-Identifier: MIT */
/* The questions that people ask of every trace, ready as views: docs/query.md has their columns.
 * Their SQL has no function of brace's own, so that a file of `brace export --to sqlite` has them,
 * too. query.c makes them when it opens a trace, save.c in the file, on their threads. Fails as
 * SQLite does. */
#include "query/table.h"

/* A LEFT JOIN keeps the calls outermost: they are read in their order, and the others by number. */
#define ITS_THREAD                                                                         \
	" LEFT JOIN thread AS t ON t.utid = s.utid LEFT JOIN process AS p ON p.upid = t.upid"

/* `columns` are the select's, in its order. */
const struct query_view query_views[] = {
	{ "thread_slice",
	  "id INTEGER, ts INTEGER, dur INTEGER, name TEXT, track_id INTEGER, thread_name TEXT, "
	  "utid INTEGER, tid INTEGER, is_main_thread INTEGER, process_name TEXT, upid INTEGER, "
	  "pid INTEGER, depth INTEGER, parent_id INTEGER, self INTEGER, module TEXT, "
	  "retval INTEGER, ended TEXT, arg_set_id INTEGER",
	  "SELECT s.id AS id, s.ts AS ts, s.dur AS dur, s.name AS name, s.track_id AS track_id, "
	  "t.name AS thread_name, s.utid AS utid, t.tid AS tid, "
	  "t.is_main_thread AS is_main_thread, p.name AS process_name, p.upid AS upid, "
	  "p.pid AS pid, s.depth AS depth, s.parent_id AS parent_id, s.self AS self, "
	  "s.module AS module, s.retval AS retval, s.ended AS ended, s.arg_set_id AS arg_set_id "
	  "FROM slice AS s" ITS_THREAD },
	{ "thread_function",
	  "name TEXT, module TEXT, utid INTEGER, tid INTEGER, thread_name TEXT, pid INTEGER, "
	  "calls INTEGER, total INTEGER, self INTEGER, max INTEGER",
	  "SELECT s.name AS name, s.module AS module, s.utid AS utid, t.tid AS tid, "
	  "t.name AS thread_name, p.pid AS pid, count(*) AS calls, sum(s.dur) AS total, "
	  "sum(s.self) AS self, max(s.dur) AS max FROM slice AS s" ITS_THREAD
	  " GROUP BY s.name, s.module, s.utid" },
	{ "call_edge",
	  "caller TEXT, callee TEXT, calls INTEGER, total INTEGER, self INTEGER",
	  "SELECT c.name AS caller, s.name AS callee, count(*) AS calls, sum(s.dur) AS total, "
	  "sum(s.self) AS self FROM slice AS s LEFT JOIN slice AS c ON c.id = s.parent_id "
	  "GROUP BY c.name, s.name" },
	{ "slowest_call",
	  "id INTEGER, ts INTEGER, dur INTEGER, self INTEGER, name TEXT, caller TEXT, "
	  "tid INTEGER, thread_name TEXT, pid INTEGER",
	  "SELECT s.id AS id, s.ts AS ts, s.dur AS dur, s.self AS self, s.name AS name, "
	  "c.name AS caller, t.tid AS tid, t.name AS thread_name, p.pid AS pid "
	  "FROM (SELECT * FROM slice WHERE dur IS NOT NULL ORDER BY dur DESC, id LIMIT 100) AS s "
	  "LEFT JOIN slice AS c ON c.id = s.parent_id" ITS_THREAD " ORDER BY s.dur DESC, s.id" },
	{ "unfinished_call",
	  "id INTEGER, ts INTEGER, dur INTEGER, name TEXT, depth INTEGER, tid INTEGER, "
	  "thread_name TEXT, pid INTEGER",
	  "SELECT s.id AS id, s.ts AS ts, s.dur AS dur, s.name AS name, s.depth AS depth, "
	  "t.tid AS tid, t.name AS thread_name, p.pid AS pid FROM slice AS s" ITS_THREAD
	  " WHERE s.ended = 'unfinished'" },
	{ "event_count",
	  "system TEXT, name TEXT, utid INTEGER, tid INTEGER, thread_name TEXT, events INTEGER",
	  "SELECT s.system AS system, s.name AS name, s.utid AS utid, t.tid AS tid, "
	  "t.name AS thread_name, count(*) AS events FROM ftrace_event AS s" ITS_THREAD
	  " GROUP BY s.system, s.name, s.utid" },
	{ "event_field",
	  "id INTEGER, ts INTEGER, system TEXT, name TEXT, cpu INTEGER, tid INTEGER, "
	  "thread_name TEXT, key TEXT, int_value INTEGER, string_value TEXT, display_value",
	  "SELECT s.id AS id, s.ts AS ts, s.system AS system, s.name AS name, s.cpu AS cpu, "
	  "t.tid AS tid, t.name AS thread_name, a.key AS key, a.int_value AS int_value, "
	  "a.string_value AS string_value, a.display_value AS display_value "
	  "FROM ftrace_event AS s LEFT JOIN args AS a ON a.arg_set_id = s.arg_set_id" ITS_THREAD },
	{ "call_value",
	  "id INTEGER, ts INTEGER, dur INTEGER, name TEXT, tid INTEGER, thread_name TEXT, "
	  "key TEXT, int_value INTEGER, string_value TEXT, real_value REAL, display_value",
	  "SELECT s.id AS id, s.ts AS ts, s.dur AS dur, s.name AS name, t.tid AS tid, "
	  "t.name AS thread_name, a.key AS key, a.int_value AS int_value, "
	  "a.string_value AS string_value, a.real_value AS real_value, "
	  "a.display_value AS display_value FROM slice AS s "
	  "CROSS JOIN args AS a ON a.arg_set_id = s.arg_set_id" ITS_THREAD },
	{ "syscall_error",
	  "name TEXT, errno INTEGER, calls INTEGER",
	  "SELECT substr(s.name, length('sys_exit_') + 1) AS name, -a.int_value AS errno, "
	  "count(*) AS calls FROM ftrace_event AS s "
	  "LEFT JOIN args AS a ON a.arg_set_id = s.arg_set_id "
	  "WHERE s.system = 'syscalls' AND s.name GLOB 'sys_exit_*' AND a.key = 'ret' "
	  "AND a.int_value BETWEEN -4095 AND -1 GROUP BY 1, 2" },
	{ 0 }
};

/* `schema`: main, or the attached file's. The views' tables are those of the schema. */
int query_make_views(sqlite3 *db, const char *schema)
{
	int r = SQLITE_OK;

	for (const struct query_view *v = query_views; v->name && r == SQLITE_OK; v++) {
		char *sql = sqlite3_mprintf("CREATE VIEW \"%w\".\"%w\" AS %s", schema, v->name,
					    v->select);

		r = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
		sqlite3_free(sql);
	}
	return r;
}
