/* SPDX-License-Identifier: MIT */
/* The client's half of wire.h. Commands call it (ui/cmd), from any thread: nothing is kept between
 * calls. The answer comes from the same user's brace, perhaps of another version, so that lengths
 * are checked and strings are terminated here. */
#include "daemon/ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/run_dir.h"
#include "daemon/wire.h"

/* A longer answer is nonsense, not a file. */
#define TEXT_MAX ((uint64_t)1 << 32)

/* Names those that do run, if there are any. */
static int nobody(const char *session, struct err *err)
{
	name_list names = { 0 };
	struct err ignored;
	char *others = NULL;

	if (run_dir_list(&names, &ignored))
		names.n = 0;
	for (size_t i = 0; i < names.n; i++) {
		char *before = others;

		others =
			mem_printf("%s%s%s", before ? before : "", before ? ", " : "", names.at[i]);
		free(before);
		free(names.at[i]);
	}
	if (others)
		err_set(err, ENOENT, "no session named %s runs, but %s: say --session NAME",
			session, others);
	else
		err_set(err, ENOENT,
			"no session named %s runs: `brace start` begins one, `brace sessions` lists them",
			session);
	vec_free(&names);
	free(others);
	return -ENOENT;
}

/* Connects to the session. A descriptor, or -errno and *err. */
static int connect_to_session(const char *session, struct err *err)
{
	struct sockaddr_un at;
	int e = run_dir_prepare(session, &at, err), fd;

	if (e)
		return e;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	e = errno;
	if (fd >= 0)
		close(fd);
	/* A socket without a listener is left by a session that was killed. */
	if (e == ENOENT || e == ECONNREFUSED)
		return nobody(session, err);
	return err_set(err, e, "cannot reach the session %s: %s", session, strerror(e));
}

/* Sends the request and reads the answer's head. given: a descriptor for the session, or -1.
 * Returns the connection, from which data follows, or -errno and *err. */
static int ask_giving(const char *session, struct wire_question q, const char *path,
		      const char *text, int given, uint64_t *bytes, struct err *err)
{
	struct wire_answer a;
	int fd = connect_to_session(session, err);

	if (fd < 0)
		return fd;
	q.magic = WIRE_MAGIC;
	q.path_bytes = (uint32_t)strlen(path);
	q.text_bytes = (uint32_t)strlen(text);
	if (!wire_send(fd, &q, sizeof(q)) || !wire_send(fd, path, q.path_bytes) ||
	    !wire_send(fd, text, q.text_bytes) || (given >= 0 && !wire_send_fd(fd, given)) ||
	    /* A session that refuses us (another user's) closes without an answer. */
	    !wire_receive(fd, &a, sizeof(a)) || a.magic != WIRE_MAGIC) {
		close(fd);
		return err_set(err, EPIPE, "the session %s ended before it answered", session);
	}
	if (a.error) {
		close(fd);
		a.err.text[sizeof(a.err.text) - 1] = a.err.input[sizeof(a.err.input) - 1] = '\0';
		/* The session failed without a sentence of its own. */
		if (!a.err.code)
			return err_set(err, -a.error, "%s: %s", path, strerror(-a.error));
		*err = a.err;
		return a.error < 0 ? a.error : -EPROTO;
	}
	*bytes = a.bytes;
	return fd;
}

static int ask_session(const char *session, struct wire_question q, const char *path,
		       const char *text, uint64_t *bytes, struct err *err)
{
	return ask_giving(session, q, path, text, -1, bytes, err);
}

/* A request without data in its answer. */
static int ask_briefly(const char *session, enum wire_request request, const char *path,
		       const char *text, bool append, struct err *err)
{
	uint64_t bytes;
	int fd =
		ask_session(session, (struct wire_question){ .request = request, .append = append },
			    path, text, &bytes, err);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* A connection that closes without a request costs the session nothing (request_handle). */
bool ask_is_there(const char *session)
{
	struct err ignored;
	int fd = connect_to_session(session, &ignored);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The answer's head tells how many bytes follow; one more holds the NUL. A shorter answer is an
 * error, since half a file must not pass for a whole one. */
static int ask_text(const char *session, enum wire_request request, const char *path, char **text,
		    struct err *err)
{
	uint64_t bytes;
	int fd = ask_session(session, (struct wire_question){ .request = request }, path, "",
			     &bytes, err),
	    e = 0;

	if (fd < 0)
		return fd;
	if (bytes > TEXT_MAX) {
		close(fd);
		return err_set(err, EPROTO, "the session %s answers with nonsense", session);
	}
	*text = mem_zalloc(bytes + 1);
	if (!wire_receive(fd, *text, bytes)) {
		free(*text);
		e = err_set(err, EPIPE, "the session %s ended before it had answered", session);
	}
	close(fd);
	return e;
}

int ask_cat(const char *session, const char *path, char **text, struct err *err)
{
	return ask_text(session, WIRE_CAT, path, text, err);
}

int ask_programs(const char *session, char **text, struct err *err)
{
	return ask_text(session, WIRE_PROGRAMS, "", text, err);
}

/* The limit is the session's (request_handle), checked here for a sentence instead of a closed
 * connection. */
int ask_echo(const char *session, const char *path, const char *text, bool append, struct err *err)
{
	if (strlen(text) > WIRE_TEXT_MAX)
		return err_set(err, E2BIG, "more than %u bytes for %s at a time", WIRE_TEXT_MAX,
			       path);
	return ask_briefly(session, WIRE_ECHO, path, text, append, err);
}

/* Reads until the session ends the stream or `sink` has enough. A session that dies ends it, too,
 * which is no error here. */
int ask_stream(const char *session, const char *path,
	       bool (*sink)(void *arg, const char *bytes, size_t n), void *arg, struct err *err)
{
	char buf[16384];
	uint64_t bytes;
	ssize_t n;
	int fd = ask_session(session, (struct wire_question){ .request = WIRE_STREAM }, path, "",
			     &bytes, err);

	if (fd < 0)
		return fd;
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		if (!sink(arg, buf, (size_t)n))
			break;
	close(fd);
	return 0;
}

int ask_extract(const char *session, const char *path, struct err *err)
{
	return ask_briefly(session, WIRE_EXTRACT, path, "", false, err);
}

int ask_wait(const char *session, struct err *err)
{
	return ask_briefly(session, WIRE_WAIT, "", "", false, err);
}

/* The connection is not closed: the session serves the mount as long as it stays open (await_leave
 * in request.c). Closing it is the caller's part. */
int ask_mount(const char *session, int fuse, struct err *err)
{
	uint64_t bytes;

	return ask_giving(session, (struct wire_question){ .request = WIRE_MOUNT }, "", "",
			  fuse, &bytes, err);
}

/* The answer comes when the session has ended and its name is free again (serve_close), so that a
 * `brace start` behind this succeeds. */
int ask_end(const char *session, struct err *err)
{
	return ask_briefly(session, WIRE_END, "", "", false, err);
}
