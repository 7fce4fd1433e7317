/* SPDX-License-Identifier: MIT */
/* A request by curl. Its settings come on its standard input, so that no key is in a command line
 * that other users read; the body is a file without a name. server.c calls it, on the command's
 * thread, which waits for the answer. Fails if curl is missing, or memory for the body is. */
#include "fleet/http.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/mem.h"
#include "base/memory_file.h"
#include "base/out.h"
#include "base/write_all.h"

#define BODY_FD 3
#define STATUS_DIGITS 3
#define CONNECT_SECONDS 10
#define REQUEST_SECONDS 600

extern char **environ;

/* Statuses of curl at which the server has nothing of the body: it was not found, or not reached,
 * or is not trusted. The numbers are those of "EXIT CODES" in curl(1). All others count as sent:
 * the sender then asks whether the rows are there before it sends them again (fleet/sender.c). A
 * number that is missing here costs that question; one too many could make rows come twice. */
static const int unsent[] = { 1, 2, 3, 5, 6, 7, 35, 51, 58, 59, 60, 77, 83 };

enum { CURL_MISSING = 127 };

/* RFC 3986, section 2.3: these characters stand for themselves in a URL, all other bytes as %XX.
 * free() the result. */
char *http_encode(const char *text)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
	struct out_text encoded = { 0 };
	struct out o;

	out_init_raw(&o, out_keep_text, &encoded);
	for (; *text; text++) {
		if (strchr(plain, *text))
			out_char(&o, *text);
		else
			out_printf(&o, "%%%02X", (unsigned char)*text);
	}
	return out_text_end(&o);
}

/* --- what curl is told ----------------------------------------------------- */

/* A line of curl's settings: its quotes know a backslash. `more` follows the value within the
 * quotes, so that a caller need not join them. */
static void put_setting(struct out *o, const char *name, const char *value, const char *more)
{
	const char *const parts[] = { value, more };

	out_printf(o, "%s = \"", name);
	for (size_t i = 0; i < 2; i++) {
		for (const char *c = parts[i]; *c; c++) {
			if (*c == '"' || *c == '\\')
				out_char(o, '\\');
			/* A line's end would begin a setting. */
			if (*c != '\n' && *c != '\r')
				out_char(o, *c);
		}
	}
	out_str(o, "\"\n");
}

/* A proxy of the environment's does not know this machine's own servers. */
static bool is_loopback(const char *url)
{
	static const char *const hosts[] = { "localhost", "127.", "[::1]" };
	const char *host = strstr(url, "://");

	host = host ? host + 3 : url;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++)
		if (!strncmp(host, hosts[i], strlen(hosts[i])))
			return true;
	return false;
}

/* An empty Expect keeps curl from waiting up to a second for "100 Continue" before it sends a large
 * body. `proto` keeps a wrong URL from reading a file of this machine. `globoff`: brackets of IPv6
 * addresses are no patterns. `write-out` puts the status behind the answer, where take_status()
 * finds it. `silent` leaves the progress out, `show-error` the reason in, since both would be part
 * of the answer. The key goes into a header, since URLs get into the logs of servers and
 * proxies. */
static void put_settings(struct out *o, const struct http_server *s, const char *method,
			 const char *path)
{
	put_setting(o, "url", s->url, path);
	put_setting(o, "request", method, "");
	put_setting(o, "data-binary", "@/dev/fd/3", "");
	put_setting(o, "header", "Expect:", "");
	put_setting(o, "header", "Content-Type: application/octet-stream", "");
	put_setting(o, "proto", "=http,https", "");
	put_setting(o, "write-out", "%{http_code}", "");
	out_printf(o, "globoff\nsilent\nshow-error\nconnect-timeout = %d\nmax-time = %d\n", CONNECT_SECONDS,
		   REQUEST_SECONDS);
	if (s->user)
		put_setting(o, "header", "X-ClickHouse-User: ", s->user);
	if (s->key)
		put_setting(o, "header", "X-ClickHouse-Key: ", s->key);
	if (s->ca)
		put_setting(o, "cacert", s->ca, "");
	if (s->insecure)
		out_str(o, "insecure\n");
	if (is_loopback(s->url))
		put_setting(o, "noproxy", "*", "");
}

/* Closes the descriptor, and returns another of its file, above those that curl is given; or
 * -errno. A command that was started without standard files gets their numbers for its own. */
static int lift(int fd)
{
	const int lifted = fcntl(fd, F_DUPFD_CLOEXEC, BODY_FD + 1);
	const int r = lifted < 0 ? -errno : lifted;

	close(fd);
	return r;
}

/* A file in memory with these bytes, read from its start. A descriptor to close, or -errno. */
static int memory_file(const void *bytes, size_t n)
{
	const int fd = memory_file_new("brace");
	int r = fd < 0 ? fd : 0;

	if (!r && n)
		r = write_all(fd, bytes, n);
	/* curl's standard input shares the place in the file with this descriptor. */
	if (!r && lseek(fd, 0, SEEK_SET))
		r = -errno;
	if (!r)
		r = memory_file_seal(fd);
	if (!r)
		return lift(fd);
	if (fd >= 0)
		close(fd);
	return r;
}

static int settings_file(const struct http_server *s, const char *method, const char *path)
{
	struct out_text text = { 0 };
	struct out o;
	int fd;

	out_init_raw(&o, out_keep_text, &text);
	put_settings(&o, s, method, path);
	out_text_end(&o);
	fd = memory_file(text.at, text.n);
	free(text.at);
	return fd;
}

/* --- curl ----------------------------------------------------- */

/* 0, or an errno. None of the descriptors is one of 0 to 3 (lift()), so that no dup2() closes one
 * that is still needed. -q comes first, where curl wants it: the user's .curlrc could change any
 * setting. Errors go where the answer goes: if curl fails, its sentence is the answer's text. */
static int spawn_curl(int settings, int body, int out, pid_t *pid)
{
	static const char *const argv[] = { "curl", "-q", "--config", "-", NULL };
	posix_spawn_file_actions_t actions;
	int e;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, settings, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
	posix_spawn_file_actions_adddup2(&actions, body, BODY_FD);
	e = posix_spawnp(pid, argv[0], &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return e;
}

/* Reads to the end, or to the most, behind which curl is not needed any more. SIGKILL, because
 * brace is to end, or the rest is not wanted: curl has nothing to tidy up. child_wait() of the
 * caller takes its status. */
static void read_answer(int fd, pid_t pid, const struct stop *stop,
			struct http_answer *a)
{
	const struct child_output out = child_read(fd, HTTP_ANSWER_MOST, stop);

	a->too_long = !out.stopped && out.n > HTTP_ANSWER_MOST;
	if (out.stopped || a->too_long)
		kill(pid, SIGKILL);
	a->text = out.text;
	a->n = out.n;
}

/* Takes the status, which curl writes behind the answer. */
static void take_status(struct http_answer *a)
{
	if (a->n < STATUS_DIGITS)
		return;
	a->n -= STATUS_DIGITS;
	a->status = atoi(a->text + a->n);
	a->text[a->n] = '\0';
}

/* An answer that was not read to its end has no status. `sent` is the question that matters to a
 * sender: may the server have the body? An answer that was cut off by us says yes. */
static void judge(struct http_answer *a, int status)
{
	const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

	take_status(a);
	if (!code && !a->too_long)
		return;
	a->status = 0;
	a->sent = true;
	for (size_t i = 0; i < sizeof(unsent) / sizeof(*unsent); i++)
		if (code == unsent[i])
			a->sent = false;
}

static int run_curl(const struct http_server *s, int settings, int body, struct http_answer *a,
		    struct err *err)
{
	int fd[2], e, status;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC))
		return err_set(err, errno, "cannot make a pipe: %s", strerror(errno));
	/* Our own end may have any number: curl does not get it. */
	fd[1] = lift(fd[1]);
	if (fd[1] < 0) {
		close(fd[0]);
		return err_set(err, -fd[1], "cannot make a pipe: %s", strerror(-fd[1]));
	}
	e = spawn_curl(settings, body, fd[1], &pid);
	close(fd[1]);
	if (!e) {
		read_answer(fd[0], pid, s->stop, a);
		status = child_wait(pid);
		if (WIFEXITED(status) && WEXITSTATUS(status) == CURL_MISSING)
			e = ENOENT;
		else
			judge(a, status);
	}
	close(fd[0]);
	if (!e)
		return 0;
	free(a->text);
	return err_set(err, e, "cannot run curl, which sends requests (package curl): %s",
		       strerror(e));
}

/* Both files are made before one is checked, so that one loop closes them in any case. */
int http_ask(const struct http_server *s, const char *method, const char *path, const void *body,
	     size_t n, struct http_answer *a, struct err *err)
{
	int files[2] = { settings_file(s, method, path), memory_file(body, n) }, r = 0;

	*a = (struct http_answer){ 0 };
	for (size_t i = 0; i < 2; i++)
		if (files[i] < 0 && !r)
			r = err_set(err, -files[i], "cannot keep a request in memory: %s",
				    strerror(-files[i]));
	if (!r)
		r = run_curl(s, files[0], files[1], a, err);
	for (size_t i = 0; i < 2; i++)
		if (files[i] >= 0)
			close(files[i]);
	return r;
}
