/* SPDX-License-Identifier: MIT */
#include "daemon/ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/run_dir.h"
#include "daemon/wire.h"

#define TEXT_MAX ((uint64_t)1 << 32)

static int reach(const char *session, struct err *err)
{
	struct sockaddr_un at;
	int e = run_dir_address(session, &at, err), fd;

	if (e)
		return e;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	e = errno;
	if (fd >= 0)
		close(fd);
	if (e == ENOENT || e == ECONNREFUSED)
		return err_set(err, ENOENT, "no session named %s runs: `brace start` begins one, `brace sessions` lists them", session);
	return err_set(err, e, "cannot reach the session %s: %s", session, strerror(e));
}

/* The connection, with the answer read; -errno and *err. given: a descriptor for the session, or -1. */
static int ask_giving(const char *session, struct wire_question q, const char *path, const char *text, int given,
		      uint64_t *bytes, struct err *err)
{
	struct wire_answer a;
	int fd = reach(session, err);

	if (fd < 0)
		return fd;
	q.magic = WIRE_MAGIC;
	q.path_bytes = (uint32_t)strlen(path);
	q.text_bytes = (uint32_t)strlen(text);
	if (!wire_send(fd, &q, sizeof(q)) || !wire_send(fd, path, q.path_bytes) || !wire_send(fd, text, q.text_bytes) ||
	    (given >= 0 && !wire_send_fd(fd, given)) ||
	    !wire_receive(fd, &a, sizeof(a)) || a.magic != WIRE_MAGIC) {
		close(fd);
		return err_set(err, EPIPE, "the session %s ended before it answered", session);
	}
	if (a.error) {
		close(fd);
		a.err.text[sizeof(a.err.text) - 1] = a.err.input[sizeof(a.err.input) - 1] = '\0';
		if (!a.err.code)
			return err_set(err, -a.error, "%s: %s", path, strerror(-a.error));
		*err = a.err;
		return a.error < 0 ? a.error : -EPROTO;
	}
	*bytes = a.bytes;
	return fd;
}

static int ask(const char *session, struct wire_question q, const char *path, const char *text, uint64_t *bytes,
	       struct err *err)
{
	return ask_giving(session, q, path, text, -1, bytes, err);
}

static int ask_briefly(const char *session, enum wire_request request, const char *path, const char *text, bool append,
		       struct err *err)
{
	uint64_t bytes;
	int fd = ask(session, (struct wire_question){ .request = request, .append = append }, path, text, &bytes, err);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

bool ask_is_there(const char *session)
{
	struct err ignored;
	int fd = reach(session, &ignored);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int ask_cat(const char *session, const char *path, char **text, struct err *err)
{
	uint64_t bytes;
	int fd = ask(session, (struct wire_question){ .request = WIRE_CAT }, path, "", &bytes, err), e = 0;

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

int ask_echo(const char *session, const char *path, const char *text, bool append, struct err *err)
{
	if (strlen(text) > WIRE_TEXT_MAX)
		return err_set(err, E2BIG, "more than %u bytes for %s at a time", WIRE_TEXT_MAX, path);
	return ask_briefly(session, WIRE_ECHO, path, text, append, err);
}

int ask_stream(const char *session, const char *path, bool (*sink)(void *arg, const char *bytes, size_t n), void *arg,
	       struct err *err)
{
	char buf[16384];
	uint64_t bytes;
	ssize_t n;
	int fd = ask(session, (struct wire_question){ .request = WIRE_STREAM }, path, "", &bytes, err);

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

int ask_face(const char *session, int fuse, struct err *err)
{
	uint64_t bytes;

	return ask_giving(session, (struct wire_question){ .request = WIRE_FACE }, "", "", fuse, &bytes, err);
}

int ask_end(const char *session, struct err *err)
{
	return ask_briefly(session, WIRE_END, "", "", false, err);
}
