/* SPDX-License-Identifier: MIT */
/* Addresses of ClickHouse servers, requests to them, and their refusals as sentences. push.c and
 * questions.c call it, on the command's thread. Fails on an address, a login, a server that is not
 * there, and what it refuses. */
#include "fleet/server.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

#define LOGIN_MOST 512
#define NAP_NS UINT64_C(200000000)

/* Words of ClickHouse's refusals. */
#define CODE "Code: "
#define EXCEPTION "DB::Exception: "
#define STUMBLED "failed at position "
#define SAID_MOST 300 /* bytes of them that are told */
#define READ_ONLY 164 /* its number for what is not allowed where statements only read */

/* --- addresses ----------------------------------------------------- */

/* ClickHouse's own ports for HTTP and HTTPS, where an address names none. */
static const struct { const char *scheme; const char *port; } schemes[] = {
	{ "http://", "8123" }, { "https://", "8443" },
};

/* The row of schemes; -1: it begins with none. */
static int scheme_of(const char *text)
{
	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++)
		if (!strncmp(text, schemes[i].scheme, strlen(schemes[i].scheme)))
			return (int)i;
	return -1;
}

/* A name that needs no quotes in SQL. It goes into statements as it is, so that nothing else may be
 * in it. */
static bool is_database(const char *name, size_t n)
{
	if (!n || n > 63 || isdigit((unsigned char)*name))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return false;
	return true;
}

/* The length of HOST or HOST:PORT, whose text ends at n; 0: it is none. *port: it has one. Colons
 * in brackets are those of an IPv6 address; the first one behind them begins the port. A colon
 * without digits behind it is an error of the user's, not the default port. */
static size_t host_length(const char *host, size_t n, bool *port)
{
	const size_t bracket = *host == '[' ? strcspn(host, "]/") : 0;
	size_t at = bracket;

	if (*host == '[' && (bracket >= n || host[bracket] != ']'))
		return 0;
	while (at < n && host[at] != ':' && host[at] != '/')
		at++;
	for (size_t i = 0; i < at; i++)
		if (!isalnum((unsigned char)host[i]) && !strchr("-._[]:", host[i]))
			return 0;
	*port = at < n && host[at] == ':';
	if (!at || !*port)
		return at;
	for (at++; at < n && isdigit((unsigned char)host[at]); at++)
		;
	return host[at - 1] == ':' ? 0 : at;
}

/* One address of the list, of n bytes at `at` of the whole text. *scheme: the row of the address
 * before, or -1, and this one's afterwards. The first address names it at least. */
static int read_address(struct fleet_servers *s, const char *text, size_t at, size_t n,
			int *scheme, struct err *err)
{
	const int own = scheme_of(text + at);
	const size_t begin = own < 0 ? at : at + strlen(schemes[own].scheme), end = at + n;
	bool port = false;
	size_t host;

	if (own >= 0)
		*scheme = own;
	if (*scheme < 0)
		return err_at(err, EINVAL, text, at, "a server is http://HOST:PORT or https://HOST:PORT");
	if (memchr(text + begin, '@', end - begin))
		return err_at(err, EINVAL, text, begin,
			      "a user and a key come from --auth FILE, since command lines are read by others");
	host = begin < end ? host_length(text + begin, end - begin, &port) : 0;
	if (!host)
		return err_at(err, EINVAL, text, begin, "a server's name, or HOST:PORT, is missing here");
	*vec_add(&s->at) = (struct http_server){
		.url = mem_printf("%s%.*s%s%s", schemes[*scheme].scheme, (int)host, text + begin,
				  port ? "" : ":", port ? "" : schemes[*scheme].port),
	};
	if (begin + host == end || (text[begin + host] == '/' && begin + host + 1 == end))
		return 0;
	if (text[begin + host] != '/' ||
	    !is_database(text + begin + host + 1, end - begin - host - 1))
		return err_at(err, EINVAL, text, begin + host,
			      "a server's address ends here, or goes on with /DATABASE (letters, digits, _)");
	if (s->database)
		return err_at(err, EINVAL, text, begin + host + 1,
			      "all servers have one database: %s is named already", s->database);
	s->database = mem_printf("%.*s", (int)(end - begin - host - 1), text + begin + host + 1);
	return 0;
}

int fleet_servers_read(struct fleet_servers *s, const char *text, struct err *err)
{
	int scheme = -1, r = 0;
	size_t at = 0, n;

	do {
		n = strcspn(text + at, ",");
		if (s->at.n == FLEET_SERVERS_MAX)
			return err_at(err, E2BIG, text, at, "there are more than %d servers", FLEET_SERVERS_MAX);
		r = read_address(s, text, at, n, &scheme, err);
		at += n + 1;
	} while (!r && text[at - 1] == ',');
	if (!r && !s->database)
		s->database = mem_strdup("brace");
	return r;
}

void fleet_servers_free(struct fleet_servers *s)
{
	for (size_t i = 0; i < s->at.n; i++)
		free(s->at.at[i].url);
	vec_free(&s->at);
	free(s->database);
	s->database = NULL;
}

/* --- who asks ----------------------------------------------------- */

static void give_login(struct fleet_servers *s, const char *user, const char *key)
{
	for (size_t i = 0; i < s->at.n; i++) {
		s->at.at[i].user = user;
		s->at.at[i].key = key;
	}
}

/* The first line, at most; 0, or -errno and *err. Checks the open file, not its name, which may
 * stand for another file by now. A line that fills all the room may have been cut. */
static int read_login(int fd, const char *path, char line[LOGIN_MOST], struct err *err)
{
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st))
		return err_set(err, errno, "cannot read %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_mode & (S_IRWXG | S_IRWXO))
		return err_set(err, EPERM,
			       "%s has a key, so only its owner may read the file: chmod 600 it", path);
	n = read(fd, line, LOGIN_MOST - 1);
	if (n < 0)
		return err_set(err, errno, "cannot read %s: %s", path, strerror(errno));
	line[n] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	if (strlen(line) == LOGIN_MOST - 1)
		return err_set(err, E2BIG, "the first line of %s is longer than %d bytes", path,
			       LOGIN_MOST - 2);
	return 0;
}

int fleet_servers_login(struct fleet_servers *s, const char *path, struct err *err)
{
	char line[LOGIN_MOST], *colon;
	int fd, r;

	if (!path) {
		give_login(s, getenv("BRACE_CLICKHOUSE_USER"), getenv("BRACE_CLICKHOUSE_KEY"));
		return 0;
	}
	/* Opening a FIFO would wait for a writer; read_login() refuses it. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_set(err, errno, "cannot open %s: %s", path, strerror(errno));
	r = read_login(fd, path, line, err);
	close(fd);
	if (r)
		return r;
	colon = strchr(line, ':');
	if (!colon)
		return err_set(err, EINVAL, "the first line of %s is to be USER:KEY", path);
	*colon = '\0';
	give_login(s, mem_strdup(line), mem_strdup(colon + 1));
	return 0;
}

/* --- requests ----------------------------------------------------- */

/* Causes of refusals, by the numbers of ClickHouse's errors. %s: the database. They are in
 * ErrorCodes.cpp of its source, and do not change between versions. `means` is a format with at
 * most one %s. EAGAIN has the request sent again (fleet_may_pass()): no row may have it that a
 * repetition does not help. */
static const struct refusal {
	int number, code;
	const char *means;
} refusals[] = {
	{ 60, ENOENT, "it has no such table in %s: `brace push --create` makes them" },
	{ 81, ENOENT, "it has no database %s: `brace push --create` makes it" },
	{ 164, EACCES, "the user may only read %s" },
	{ 192, EACCES, "it does not know the user: --auth FILE names one with its key" },
	{ 193, EACCES, "the key is not the user's (--auth FILE)" },
	{ 194, EACCES, "it wants a key: --auth FILE names a user with its key" },
	{ 497, EACCES, "the user may not do this in %s" },
	{ 516, EACCES, "it does not accept the user and key (--auth FILE)" },
	{ 159, EAGAIN, "it took too long" },
	{ 202, EAGAIN, "it has too many requests" },
	{ 216, EAGAIN, "the request before is not over yet" },
	{ 241, EAGAIN, "it has no memory for this now" },
	{ 252, EAGAIN, "it has to merge parts first" },
};

void fleet_nap(const struct stop *stop, uint64_t ns)
{
	for (uint64_t part; ns && !stop_asked(stop); ns -= part) {
		part = ns < NAP_NS ? ns : NAP_NS;
		nanosleep(&(struct timespec){ 0, (long)part }, NULL);
	}
}

bool fleet_may_pass(int r)
{
	return r == -EAGAIN || r == -ECONNREFUSED;
}

/* The row of a refusal; NULL: it has none. The body tells the number in every version ("Code: 60,
 * e.displayText() = ..." or "Code: 60. DB::Exception: ..."), the status of HTTP tells less. */
static const struct refusal *find_refusal(const char *text)
{
	const char *number = strstr(text, CODE);
	const int code = number ? atoi(number + strlen(CODE)) : 0;

	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++)
		if (refusals[i].number == code)
			return &refusals[i];
	return NULL;
}

/* The first words of a refusal that is in no row. */
static int refuse_unknown(struct err *err, const char *url, int status, const char *text)
{
	const int line = (int)strcspn(text, "\r\n");

	return err_set(err, EPROTO, "%s refuses with status %d: %.*s", url, status,
		       line < SAID_MOST ? line : SAID_MOST, text);
}

/* A reading that was cut off has no status either, so that too_long is asked first. ECONNREFUSED is
 * said only if the server cannot have the body; after EAGAIN it may have it. */
static int refuse(struct err *err, const struct fleet_servers *s, const char *url,
		  const struct http_answer *a)
{
	const struct refusal *known = find_refusal(a->text);
	char means[160];

	if (a->too_long)
		return err_set(err, EFBIG, "%s answers more than %u MB: ask for less (--since, --host, --label)",
			       url, HTTP_ANSWER_MOST >> 20);
	if (!a->status)
		return err_set(err, a->sent ? EAGAIN : ECONNREFUSED, "%s does not answer: %.*s", url,
			       (int)strcspn(a->text, "\r\n"), a->text);
	if (!known)
		return refuse_unknown(err, url, a->status, a->text);
	snprintf(means, sizeof(means), known->means, s->database);
	return err_set(err, known->code, "%s refuses: %s", url, means);
}

/* The server's own sentence, without what stands around it. *n: its bytes. */
static const char *words_of(const char *text, size_t *n)
{
	const char *exception = strstr(text, EXCEPTION), *end;

	text = exception ? exception + strlen(EXCEPTION) : text;
	end = strstr(text, ", e.what() = ");
	*n = end ? (size_t)(end - text) : strcspn(text, "\r\n");
	return text;
}

/* Where the server stumbled over the statement, at most its end, behind which the format stands;
 * SIZE_MAX: it does not say. ClickHouse counts from 1. */
static size_t stumbled_at(const char *words, const char *sql)
{
	const char *said = strstr(words, STUMBLED);
	const size_t place = said ? strtoul(said + strlen(STUMBLED), NULL, 10) : 0;
	const size_t end = strlen(sql);

	return !place ? SIZE_MAX : place - 1 < end ? place - 1 : end;
}

/* A user's statement is judged in the server's words: it knows its tables and functions. */
static int refuse_statement(struct err *err, const char *url, const char *sql, const char *text)
{
	size_t n;
	const char *words = words_of(text, &n);
	const size_t place = stumbled_at(words, sql);

	if (place != SIZE_MAX)
		return err_at_part(err, EINVAL, sql, place, "%s does not understand the statement from here on", url);
	return err_set(err, EINVAL, "%s refuses the statement: %.*s", url,
		       n < SAID_MOST ? (int)n : SAID_MOST, words);
}

/* The error that came after the answer had begun, a line of its own; NULL: none did. Names of
 * functions and texts of rows may have the same words (ClickHouse's own do). ClickHouse sends the
 * status 200 before it has computed all rows: an error behind it can only stand in the body. */
static const char *late_error(const char *text)
{
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, CODE, strlen(CODE)))
			return strstr(line, EXCEPTION) ? line : NULL;
	}
	return NULL;
}

/* A request with a body. On success the caller frees a->text. */
static int post_request(const struct fleet_servers *s, size_t server, const char *path,
			const void *body, size_t n, struct http_answer *a, struct err *err)
{
	const struct http_server *h = &s->at.at[server];
	int r = http_ask(h, "POST", path, body, n, a, err);

	if (r || a->status == 200)
		return r;
	r = refuse(err, s, h->url, a);
	free(a->text);
	return r;
}

/* post_request() for an answer that is text. *answer is set on success alone, if the caller wants
 * it. */
static int request(const struct fleet_servers *s, size_t server, const char *path,
		   const void *body, size_t n, char **answer, struct err *err)
{
	struct http_answer a;
	int r = post_request(s, server, path, body, n, &a, err);

	if (r)
		return r;
	if (late_error(a.text))
		r = refuse_unknown(err, s->at.at[server].url, a.status, late_error(a.text));
	if (!r && answer)
		*answer = a.text;
	else
		free(a.text);
	return r;
}

int fleet_ask(const struct fleet_servers *s, size_t server, const char *sql, char **answer,
	      struct err *err)
{
	return request(s, server, "/", sql, strlen(sql), answer, err);
}

int fleet_ask_bytes(const struct fleet_servers *s, size_t server, const char *sql, char **answer,
		    size_t *n, struct err *err)
{
	struct http_answer a;
	const int r = post_request(s, server, "/", sql, strlen(sql), &a, err);

	if (r)
		return r;
	*answer = a.text;
	*n = a.n;
	return 0;
}

/* 0, or -errno and *err. The text is the user's own: a refusal that concerns it has the place at
 * which the server stumbled. */
static int judge_reading(const struct fleet_servers *s, const struct http_server *h,
			 const struct http_answer *a, const char *sql, struct err *err)
{
	const char *late = a->status == 200 ? late_error(a->text) : NULL;
	const struct refusal *known = find_refusal(late ? late : a->text);

	if (a->status == 200 && !late)
		return 0;
	if (a->status && known && known->number == READ_ONLY)
		return err_set(err, EACCES, "%s refuses: a statement here only reads (SELECT, SHOW, DESCRIBE)", h->url);
	/* The server says which table is not there. */
	if (!a->status || (known && known->code != ENOENT))
		return refuse(err, s, h->url, a);
	return refuse_statement(err, h->url, sql, late ? late : a->text);
}

/* By GET, which ClickHouse answers only if the statement reads, whoever asks: a setting could be
 * refused to users who have few rights. */
int fleet_ask_to_read(const struct fleet_servers *s, size_t server, const char *sql, char **answer,
		      struct err *err)
{
	const struct http_server *h = &s->at.at[server];
	char *path = mem_printf("/?database=%s", s->database);
	/* A line of its own, behind a comment with which the statement may end. */
	char *whole = mem_printf("%s\nFORMAT TabSeparatedWithNamesAndTypes", sql);
	struct http_answer a;
	int r = http_ask(h, "GET", path, whole, strlen(whole), &a, err);

	free(whole);
	free(path);
	if (r)
		return r;
	r = judge_reading(s, h, &a, sql, err);
	if (r)
		free(a.text);
	else
		*answer = a.text;
	return r;
}

/* The statement is in the URL, since the body is the rows. The server refuses a second query_id
 * while the first one runs (216, QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING): an insertion that is sent
 * again cannot overtake the one whose answer was lost. */
int fleet_insert(const struct fleet_servers *s, size_t server, const struct fleet_block *b,
		 const char *name, struct err *err)
{
	char *sql = mem_printf("INSERT INTO %s.%s FORMAT Native", s->database, b->table->name);
	char *encoded = http_encode(sql), *path;
	struct out_text bytes = { 0 };
	struct out o;
	int r;

	path = mem_printf("/?query_id=%s&query=%s", name, encoded);
	out_init_raw(&o, out_keep_text, &bytes);
	fleet_block_write(b, &o);
	out_text_end(&o);
	r = request(s, server, path, bytes.at, bytes.n, NULL, err);
	free(bytes.at);
	free(path);
	free(encoded);
	free(sql);
	return r;
}

/* A statement that is written into `out`. */
struct statement_text { struct out out; struct out_text text; };

/* `m` must not move until end_making(): its `out` writes into its `text`. */
static struct out *begin_making(struct statement_text *m)
{
	m->text = (struct out_text){ 0 };
	out_init_raw(&m->out, out_keep_text, &m->text);
	return &m->out;
}

static int end_making(const struct fleet_servers *s, size_t server, struct statement_text *m,
		      struct err *err)
{
	char *sql = out_text_end(&m->out);
	const int r = fleet_ask(s, server, sql, NULL, err);

	free(sql);
	return r;
}

/* In this order, for views name tables. Each statement passes over what is there, so that a
 * database of an older brace gets what it lacks. */
static int create_at(const struct fleet_servers *s, size_t server, struct err *err)
{
	struct statement_text m;
	int r;

	out_printf(begin_making(&m), "CREATE DATABASE IF NOT EXISTS %s", s->database);
	r = end_making(s, server, &m, err);
	for (size_t i = 0; !r && i < FLEET_TABLES; i++) {
		fleet_table_create(&fleet_tables[i], s->database, begin_making(&m));
		r = end_making(s, server, &m, err);
	}
	for (const struct fleet_view *v = fleet_views; !r && v->name; v++) {
		fleet_view_create(v, s->database, begin_making(&m));
		r = end_making(s, server, &m, err);
	}
	return r;
}

int fleet_create(const struct fleet_servers *s, struct err *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < s->at.n; i++)
		r = create_at(s, i, err);
	return r;
}
