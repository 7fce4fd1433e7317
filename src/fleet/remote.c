/* SPDX-License-Identifier: MIT */
/* Commands to a shell of another host, and its answers. ui/fleet_record.c calls it, each host on a
 * thread of its own. Everything that comes is text of a stranger: answers begin with a number that
 * was drawn for this connection. Fails on hosts that ssh does not reach, that are silent for too
 * long, and that lack what is needed. The shell there removes its files at the connection's end. */
#include "fleet/remote.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/keyed_hash.h"
#include "base/mem.h"
#include "base/monotonic.h"
#include "base/new_file.h"
#include "base/write_all.h"

#define LOOK_MS 200       /* between two looks at whether to end */
#define LINE_MOST 65536   /* bytes of a line; a longer one is told in parts */
#define ERRORS_MOST (4 * LINE_MOST)
#define PIECE 65536
/* A host gives or takes so many bytes, or the rest, in each `silence`: one that trickles would hold
 * brace for as long as it likes. */
#define LEAST_BYTES 65536
#define END_LOOKS 100     /* at whether ssh has ended, which has 2 s for it */
#define END_NAP_NS 20000000
#define TRIES 7           /* comparisons of clocks, of which the quickest counts */
#define NS 1000000000
#define SSH_WORDS 32

extern char **environ;

/* --- hosts ----------------------------------------------------- */

/* A dash at the beginning would be an option of ssh's. The name becomes a word of ssh's command
 * and, with .brace behind it, that of a file here: no slash is in the list, so that no host can
 * name a file of another folder. */
static size_t host_length(const char *text)
{
	size_t n = 0;

	while (*text != '-' && (isalnum((unsigned char)text[n]) || (text[n] && strchr("._-@:[]%", text[n]))))
		n++;
	return n;
}

/* Adds the n bytes at `at` of the text `all`, which the error shows with the column. A host that
 * stood twice would write one trace file twice. */
static int add_host(remote_names *names, const char *all, size_t at, size_t n, struct err *err)
{
	char *name;

	if (!n || host_length(all + at) < n)
		return err_at_part(err, EINVAL, all, at, "a host is a name, or USER@NAME, as ssh takes it");
	if (names->n == REMOTE_HOSTS_MAX)
		return err_at_part(err, E2BIG, all, at, "there are more than %d hosts", REMOTE_HOSTS_MAX);
	name = mem_strndup(all + at, n);
	for (size_t i = 0; i < names->n; i++)
		if (!strcmp(names->at[i], name)) {
			free(name);
			return err_at_part(err, EINVAL, all, at, "this host stands here twice");
		}
	*vec_add(names) = name;
	return 0;
}

/* After each host text[at - 1] is the comma behind it, or the text's end, behind which nothing may
 * be read. */
static int read_list(remote_names *names, const char *text, struct err *err)
{
	size_t at = 0, n;
	int r;

	do {
		n = strcspn(text + at, ",");
		r = add_host(names, text, at, n, err);
		at += n + 1;
	} while (!r && text[at - 1]);
	return r;
}

/* A line of a list: a host, or none; what follows it is a comment. */
static int read_line(remote_names *names, const char *line, struct err *err)
{
	const size_t at = strspn(line, " \t"), n = strcspn(line + at, " \t\r\n#");
	const size_t rest = at + n + strspn(line + at + n, " \t\r\n");

	if (n && line[rest] && line[rest] != '#')
		return err_at_part(err, EINVAL, line, rest, "a list has one host a line");
	return n ? add_host(names, line, at, n, err) : 0;
}

static int read_file(remote_names *names, const char *path, struct err *err)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	int r = 0;

	if (!f)
		return err_set(err, errno, "cannot open %s, a list of hosts: %s", path, strerror(errno));
	while (!r && getline(&line, &room, f) >= 0) {
		line[strcspn(line, "\r\n")] = '\0';
		r = read_line(names, line, err);
	}
	free(line);
	fclose(f);
	return r || names->n ? r : err_set(err, EINVAL, "%s names no host", path);
}

/* No host has a slash (host_length()), so that a text with one can only be a path. */
int remote_read_names(remote_names *names, const char *text, struct err *err)
{
	if (*text == '@')
		return read_file(names, text + 1, err);
	return strchr(text, '/') ? read_file(names, text, err) : read_list(names, text, err);
}

void remote_free_names(remote_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->at[i]);
	vec_free(names);
}

/* --- failures ----------------------------------------------------- */

/* The last line that ssh, or the host, said. Standard error ends with the reason if ssh could not
 * connect. Its bytes are a stranger's: they are escaped where the error is shown. Returns -code,
 * and r->why has the sentence. */
static int fail(struct remote_host *r, int code, const char *what)
{
	char *text = mem_strndup(r->error_text.at ? r->error_text.at : "", r->error_text.n), *line;
	size_t n = strlen(text);

	while (n && isspace((unsigned char)text[n - 1]))
		text[--n] = '\0';
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	err_set(&r->why, code, "%s%s%.300s", what, *line ? ": " : "", line);
	free(text);
	return -code;
}

/* --- patience ----------------------------------------------------- */

/* How much has come or gone, and since when it is no more. */
struct pace { uint64_t since, bytes; };

/* Whether fewer than LEAST_BYTES came in the last `silence`. bytes: all so far. The first call
 * begins the time. The time begins anew with each LEAST_BYTES: a file of any size may come, as long
 * as it does not trickle. */
static bool is_slow(const struct remote_host *r, struct pace *p, uint64_t bytes)
{
	const uint64_t now = monotonic_ns();

	if (!p->since || bytes - p->bytes >= LEAST_BYTES)
		*p = (struct pace){ now, bytes };
	return now - p->since > r->spec->silence_ns;
}

/* After the recording has begun, a first interrupt ends it, and only a second one what follows. */
static bool is_interrupted(const struct remote_host *r)
{
	return stop_asked(r->begun ? r->spec->given_up : r->spec->stop);
}

/* Returns -EINTR. The two texts tell a user whether there may be a trace on the host. */
static int err_interrupted(struct remote_host *r)
{
	return err_set(&r->why, EINTR, "interrupted %s",
		       r->begun ? "before its trace was here" : "before it began");
}

/* An answer's time counts from the question, whatever else is said meanwhile. 0, or -errno. So a
 * host that keeps talking, but never answers, is left as a silent one is. */
static int check_answer_time(struct remote_host *r)
{
	if (is_interrupted(r))
		return err_interrupted(r);
	if (monotonic_ns() - r->asked_ns > r->spec->silence_ns)
		return fail(r, ETIMEDOUT, "it is silent, or too slow (--silence)");
	return 0;
}

/* --- the connection ----------------------------------------------------- */

/* 0, or an errno. */
static int spawn_ssh(pid_t *pid, char *const *argv, const int ends[3])
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int e;

	posix_spawn_file_actions_init(&files);
	for (int i = 0; i < 3; i++)
		posix_spawn_file_actions_adddup2(&files, ends[i], i);
	posix_spawnattr_init(&attributes);
	/* Ctrl-C is brace's: the connection stays, by which the traces come. */
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	e = posix_spawnp(pid, argv[0], &files, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return e;
}

/* The command's words, and brace's own; words: the caller's, which the result points into. The
 * user's words stand first, since ssh takes the first value that it meets of an option
 * (ssh_config(5)). -T: a terminal would echo commands and change the bytes of a trace. BatchMode: a
 * question for a password would wait for ever. ServerAliveInterval: ssh itself ends a connection
 * whose host has gone. Ten words of the array are kept for these, the host, the command and the
 * NULL. */
static void ssh_words(char *words, const char *host, const char *command,
		      const char *argv[SSH_WORDS])
{
	static const char *const own[] = { "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15" };
	size_t n = 0;
	char *rest;

	for (char *w = strtok_r(words, " ", &rest); w && n < SSH_WORDS - 10; w = strtok_r(NULL, " ", &rest))
		argv[n++] = w;
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		argv[n++] = own[i];
	argv[n++] = "--";
	argv[n++] = host;
	argv[n++] = command;
	argv[n] = NULL;
}

/* Pipes for standard input, output and errors. 0, or an errno: then none is open. */
static int make_pipes(int pipes[3][2])
{
	int e = 0, n = 0;

	/* Descriptors above those that ssh is given are brace's habit: its own are open. */
	while (n < 3 && !e) {
		e = pipe2(pipes[n], O_CLOEXEC) ? errno : 0;
		n += !e;
	}
	for (; e && n; n--) {
		close(pipes[n - 1][0]);
		close(pipes[n - 1][1]);
	}
	return e;
}

/* The login shell there may be any; `exec sh` puts one in its place that reads commands of POSIX
 * from its standard input. Our ends stay open when ssh cannot be run: remote_end() closes them. */
static int connect_host(struct remote_host *r)
{
	const char *argv[SSH_WORDS];
	char *words;
	int pipes[3][2], e = make_pipes(pipes);

	if (e)
		return err_set(&r->why, e, "cannot make a pipe: %s", strerror(e));
	words = mem_strdup(r->spec->ssh);
	ssh_words(words, r->host, "exec sh", argv);
	e = spawn_ssh(&r->ssh, (char *const *)argv,
		      (const int[3]){ pipes[0][0], pipes[1][1], pipes[2][1] });
	close(pipes[0][0]);
	close(pipes[1][1]);
	close(pipes[2][1]);
	r->in = pipes[0][1];
	r->out = pipes[1][0];
	r->errors = pipes[2][0];
	/* A write that blocks would hold brace up for good where the host writes, too, and waits
	 * for us to read: send_bytes() does both in turn. */
	fcntl(r->in, F_SETFL, O_NONBLOCK);
	free(words);
	if (!e)
		return 0;
	r->ssh = 0;
	return err_set(&r->why, e, "cannot run ssh (package openssh-client): %s", strerror(e));
}

/* Reads what is there into a buffer. False: there is no more to come. */
static bool take_bytes(int fd, struct remote_text *v)
{
	ssize_t n;

	vec_reserve(v, v->n + PIECE);
	n = read(fd, v->at + v->n, PIECE);
	v->n += n > 0 ? (size_t)n : 0;
	return n > 0 || (n < 0 && errno == EINTR);
}

/* Waits for anything that comes, or for room to write, at most LOOK_MS. 1: something came, or there
 * is room; 0: not yet; -EPIPE: the connection has ended. The end of the errors alone is none of the
 * connection's: poll() passes over their descriptor from then on, since it is negative. */
static int wait_for_any(struct remote_host *r, bool writes)
{
	struct pollfd p[3] = { { r->out, POLLIN, 0 }, { r->errors, POLLIN, 0 },
			       { r->in, POLLOUT, 0 } };
	const int n = poll(p, writes ? 3 : 2, LOOK_MS);

	if (n <= 0)
		return 0;
	if (p[1].revents && !take_bytes(r->errors, &r->error_text)) {
		close(r->errors);
		r->errors = -1;
	}
	/* Before a recording only the last words matter; while it goes on tell() takes them all. */
	if (r->error_text.n > ERRORS_MOST)
		r->error_text.n = 0;
	if (p[0].revents && !take_bytes(r->out, &r->text))
		return -EPIPE;
	if (writes && p[2].revents & (POLLERR | POLLHUP))
		return -EPIPE;
	return 1;
}

/* Writes all, and takes meanwhile what comes. Without the reading the host's output would fill its
 * pipe, its shell would stop reading, and both sides would wait. 0, or -errno and r->why. */
static int send_bytes(struct remote_host *r, const char *bytes, size_t n)
{
	int e = 0;

	while (n && !e) {
		const ssize_t w = write(r->in, bytes, n);

		if (w > 0) {
			bytes += w;
			n -= (size_t)w;
		} else if (w < 0 && errno != EAGAIN && errno != EINTR) {
			return fail(r, EPIPE, "the connection has ended");
		} else if (wait_for_any(r, true) < 0) {
			return fail(r, EPIPE, "the connection has ended");
		}
		e = check_answer_time(r);
	}
	return e;
}

/* Frees the text. The time of the answer begins here, so that a host that reads nothing is timed,
 * too. */
static int send_text(struct remote_host *r, char *text)
{
	int e;

	r->asked_ns = monotonic_ns();
	e = send_bytes(r, text, strlen(text));
	free(text);
	return e;
}

/* Takes n bytes off the front. The rest moves to the front: `text` has at most a line and a PIECE,
 * so that this costs little. */
static void drop(struct remote_host *r, size_t n)
{
	r->text.n -= n;
	memmove(r->text.at, r->text.at + n, r->text.n);
}

/* The answer in what has come: the rest of the line behind the nonce; free() it. NULL: none yet.
 * Lines before it are not asked for: a login's greetings. */
static char *answer_there(struct remote_host *r)
{
	char *at = r->text.n ? memmem(r->text.at, r->text.n, r->nonce, 16) : NULL;
	const char *end = at ? memchr(at, '\n', r->text.n - (size_t)(at - r->text.at)) : NULL;
	char *answer;

	if (!end)
		return NULL;
	/* `end` is behind the nonce, which has no newline: at[16] is there. */
	at += 16 + (at[16] == ' ');
	answer = mem_strndup(at, (size_t)(end - at));
	drop(r, (size_t)(end + 1 - r->text.at));
	return answer;
}

/* A line that is too long to be kept is no answer. Without this bound a host that never writes a
 * newline would fill brace's memory. */
static int check_length(struct remote_host *r)
{
	return r->text.n > LINE_MOST + sizeof(r->nonce)
		       ? fail(r, EPROTO, "it says more than it was asked") : 0;
}

/* Waits for the answer to what was asked last. 0 and *answer; free() it; or -errno. */
static int wait_for_answer(struct remote_host *r, char **answer)
{
	int e = 0;

	while (!e && !(*answer = answer_there(r))) {
		if (wait_for_any(r, false) < 0)
			return fail(r, EPIPE, "the connection has ended");
		e = check_length(r);
		if (!e)
			e = check_answer_time(r);
	}
	return e;
}

/* Sends a command, which is freed, and takes its answer. */
static int ask(struct remote_host *r, char *command, char **answer)
{
	const int e = send_text(r, command);

	return e ? e : wait_for_answer(r, answer);
}

/* --- clocks ----------------------------------------------------- */

static int64_t real_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * NS + t.tv_nsec;
}

/* The quickest of several comparisons is the best: the host's time lies between question and
 * answer. Half of the way there and back is the most by which the middle can be wrong. A comparison
 * in which this clock was set back is not used. */
static int compare_clocks(struct remote_host *r)
{
	r->error_ns = UINT64_MAX;
	for (int i = 0; i < TRIES; i++) {
		const int64_t asked = real_ns();
		char *answer, *end;
		int64_t there, answered;
		int e = ask(r, mem_printf("echo %s $(date +%%s%%N)\n", r->nonce), &answer);

		if (e)
			return e;
		answered = real_ns();
		there = strtoll(answer, &end, 10);
		/* Sums with a time of today's have room. */
		e = *end || end - answer < 19 || there < 0 || there > INT64_MAX / 2;
		free(answer);
		if (e)
			return fail(r, ENOTSUP, "its date does not tell nanoseconds (date +%s%N)");
		if (answered < asked || (uint64_t)(answered - asked) / 2 >= r->error_ns)
			continue;
		r->error_ns = (uint64_t)(answered - asked) / 2;
		r->offset_ns = there - asked - (answered - asked) / 2;
	}
	return 0;
}

/* --- what is needed there ----------------------------------------------------- */

/* Makes the folder for all files there, readable by its user alone, and has the shell remove it
 * whenever it ends. EXIT runs when the shell ends by itself, at the end of its input: while a
 * recording is there (the file `runs`), it ends all processes of the connection first, and its echo
 * is the answer that wait_for_removal() waits for. HUP leads to EXIT, since a shell that a signal
 * kills runs no trap. TERM is our own `kill 0`, which the shell must outlive to tell the status and
 * to give the trace. An answer without a name says that it failed. */
static int make_folder(struct remote_host *r)
{
	char *answer;
	int e = ask(r, mem_printf("umask 077; d=$(mktemp -d \"${TMPDIR:-/tmp}/brace-fleet.XXXXXXXX\")"
				  " && trap '[ ! -e \"$d/runs\" ] || kill 0; rm -rf \"$d\"; echo %s' EXIT"
				  " && trap 'exit 1' HUP && trap : TERM && echo %s \"$d\" || echo %s\n",
				  r->nonce, r->nonce, r->nonce), &answer);

	if (e)
		return e;
	r->folder = answer;
	/* The name comes back in commands, in quotes. */
	if (*answer != '/' || strchr(answer, '\''))
		return fail(r, EIO, "it has no place for temporary files");
	return 0;
}

/* Ends early when brace is to end, or the host is slow: how far ssh has read is the place in the
 * file, which it shares with us. */
static int wait_for_copy(struct remote_host *r, pid_t pid, int fd)
{
	struct pace pace = { 0 };
	bool slow = false;
	int status = 0;

	while (!waitpid(pid, &status, WNOHANG)) {
		slow = slow || is_slow(r, &pace, (uint64_t)lseek(fd, 0, SEEK_CUR));
		if (slow || is_interrupted(r))
			kill(pid, SIGKILL);
		nanosleep(&(struct timespec){ 0, LOOK_MS * 1000000 }, NULL);
	}
	if (slow)
		return fail(r, ETIMEDOUT, "it is silent, or too slow (--silence), while brace is copied there");
	return status ? fail(r, EIO, "brace could not be copied there") : 0;
}

/* By a connection of its own: the shell may take more of its input than its commands, and what it
 * took of a file would be commands. Its standard output and errors are nobody's, so that no pipe of
 * them can fill. 0, or -errno and r->why. */
static int copy_open(struct remote_host *r, int fd, const char *name)
{
	char *words = mem_strdup(r->spec->ssh), *command = mem_printf("cat >'%s/%s'", r->folder, name);
	const char *argv[SSH_WORDS];
	const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	pid_t pid;
	int e;

	ssh_words(words, r->host, command, argv);
	e = spawn_ssh(&pid, (char *const *)argv, (const int[3]){ fd, null, null });
	if (null >= 0)
		close(null);
	free(words);
	free(command);
	return e ? err_set(&r->why, e, "cannot run ssh: %s", strerror(e)) : wait_for_copy(r, pid, fd);
}

/* Copies a file of this machine into the folder there, under that name. 0, or -errno and r->why. */
static int copy_file(struct remote_host *r, const char *path, const char *name)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	int e;

	if (fd < 0)
		return err_set(&r->why, errno, "cannot read %s: %s", path, strerror(errno));
	e = copy_open(r, fd, name);
	close(fd);
	return e;
}

/* The agent lies beside brace, where brace looks for it. `b` is the variable of the shell there by
 * which recording() names the brace that it runs. A copy that does not begin (another libc, a
 * folder without execution) is told here, and not by an empty trace later. */
static int copy_brace(struct remote_host *r)
{
	char *answer;
	int e = copy_file(r, r->spec->brace, "brace");

	if (!e)
		e = copy_file(r, r->spec->agent, "libbrace-agent.so");
	if (!e)
		e = ask(r, mem_printf("chmod 700 \"$d/brace\" && b=$d/brace && echo %s $(\"$b\" version 2>&1)"
				      " || echo %s\n", r->nonce, r->nonce), &answer);
	if (e)
		return e;
	r->copied = true;
	e = strcmp(answer, r->spec->version) != 0;
	if (e)
		err_set(&r->why, ENOEXEC, "brace was copied there, and does not run: %.200s", answer);
	free(answer);
	return e ? -ENOEXEC : 0;
}

/* A brace of another version records what this one may not read. Such a one is passed over, as if
 * there were none. The copy must suit the machine: its kind is asked before megabytes are sent. */
static int find_brace(struct remote_host *r)
{
	struct utsname here;
	char *answer;
	int e = ask(r, mem_printf("b=$(command -v brace) && echo %s $(\"$b\" version) || echo %s\n",
				  r->nonce, r->nonce), &answer);

	if (e)
		return e;
	e = strcmp(answer, r->spec->version) != 0;
	free(answer);
	if (!e)
		return 0;
	e = ask(r, mem_printf("echo %s $(uname -m)\n", r->nonce), &answer);
	if (e)
		return e;
	uname(&here);
	e = strcmp(answer, here.machine) != 0;
	if (e)
		err_set(&r->why, ENOEXEC, "it is a machine of another kind (%.40s), and has no brace of this version",
			answer);
	free(answer);
	return e ? -ENOEXEC : copy_brace(r);
}

int remote_prepare(struct remote_host *r)
{
	const struct hash_key key = keyed_hash_key();
	char *answer;
	int e;

	r->in = r->out = r->errors = -1;
	snprintf(r->nonce, sizeof(r->nonce), "%016" PRIx64, key.at[0] ^ key.at[1]);
	/* remote_end() closes what is there, whatever fails from here on. The nonce is new for each
	 * connection: no program can print it before it has seen it. */
	e = connect_host(r);
	/* The number is sent in two parts, so that an echo of the command is no answer. */
	if (!e)
		e = ask(r, mem_printf("echo %.8s''%s hello\n", r->nonce, r->nonce + 8), &answer);
	if (e)
		return e;
	free(answer);
	e = make_folder(r);
	if (!e)
		e = find_brace(r);
	return e ? e : compare_clocks(r);
}

/* --- recording ----------------------------------------------------- */

/* The word in quotes of sh, with a space before it. Nothing but a quote has a meaning there, so
 * that an argument comes as it was given. Frees `command`; the result is the caller's. */
static char *add_word(char *command, const char *word)
{
	char *more = mem_printf("%s '", command), *longer;

	free(command);
	for (; *word; word++) {
		longer = *word == '\'' ? mem_printf("%s'\\''", more) : mem_printf("%s%c", more, *word);
		free(more);
		more = longer;
	}
	longer = mem_printf("%s'", more);
	free(more);
	return longer;
}

/* In the background, so that the shell hears of the end of the connection, and of ours. A signal
 * goes to all processes of the connection, as Ctrl-C does in a terminal; shells outlive it. The
 * shell waits until its own clock shows `at`, in ns since 1970, so that all hosts begin at one
 * moment however long their commands take to come. A subshell does not inherit traps that catch: it
 * sets its own for TERM. The program has no standard input, which would be our commands. The file
 * `runs` tells the shell's EXIT trap that there is something to end. */
static char *recording(const struct remote_host *r, int64_t at)
{
	char *words = mem_strdup(""), *command;

	for (char *const *a = r->spec->arguments; *a; a++)
		words = add_word(words, *a);
	command = mem_printf("{ trap : TERM; >\"$d/runs\"; n=$((%" PRId64 " - $(date +%%s%%N))); [ $n -le 0 ] || "
			     "sleep $((n / 1000000000)).$(printf %%09d $((n %% 1000000000)));"
			     " \"$b\" record -q -o \"$d/trace\"%s"
			     " </dev/null; s=$?; rm -f \"$d/runs\"; echo %s $s; } &\n", at, words, r->nonce);
	free(words);
	return command;
}

/* Hands on the whole lines of a buffer, up to `end`; returns how many bytes these are. `all` has
 * the last line handed on without its newline. A line of LINE_MOST bytes does not wait for its end:
 * memory for it has a bound. */
static size_t tell_lines(struct remote_host *r, bool is_error, const char *text, size_t end,
			 bool all)
{
	size_t at = 0;

	while (at < end) {
		const char *newline = memchr(text + at, '\n', end - at);
		const size_t n = newline ? (size_t)(newline - text) - at : end - at;

		if (!newline && !all && n < LINE_MOST)
			break;
		r->spec->tell(r->spec->arg, r->host, is_error, text + at, n);
		at += n + (newline != NULL);
	}
	return at;
}

/* Bytes at the end that may be the beginning of an answer, of which the rest comes later. At most
 * 15: with all 16 it would be an answer. They must stay even if a long line is told in parts, or
 * the answer would never be seen. */
static size_t begun_answer(const struct remote_host *r)
{
	size_t n = r->text.n < 15 ? r->text.n : 15;

	while (n && memcmp(r->text.at + r->text.n - n, r->nonce, n))
		n--;
	return n;
}

/* Hands on what the program printed. The line of the answer is kept. Text that stands on one line
 * with the answer, before it, ended without a newline: it is a line of its own. `all`: nothing
 * comes any more. */
static void tell(struct remote_host *r, bool all)
{
	const char *answer = r->text.n ? memmem(r->text.at, r->text.n, r->nonce, 16) : NULL;
	const size_t n = answer ? (size_t)(answer - r->text.at) : r->text.n - begun_answer(r);
	size_t told;

	drop(r, tell_lines(r, false, r->text.at, n, all || answer));
	if (!r->error_text.n)
		return;
	told = tell_lines(r, true, r->error_text.at, r->error_text.n, all);
	r->error_text.n -= told;
	memmove(r->error_text.at, r->error_text.at + told, r->error_text.n);
}

/* The program's end. A user's interrupt ends the recording as Ctrl-C does one here, once. A program
 * may run, and be silent, as long as it wants: only the end after the interrupt has a time. `kill
 * 0` reaches all processes of the connection, brace record among them, which then ends its
 * recording. A second one would cut short the writing of the trace. 0 and r->status, or -errno and
 * r->why. */
static int wait_for_end(struct remote_host *r)
{
	uint64_t ended = 0;
	char *answer;

	while (!(answer = answer_there(r))) {
		const int n = wait_for_any(r, false);

		tell(r, false);
		if (n < 0)
			return fail(r, EPIPE, "the connection ended while it recorded");
		if (check_length(r))
			return -r->why.code;
		if (is_interrupted(r))
			return err_interrupted(r);
		if (ended && monotonic_ns() - ended > r->spec->silence_ns)
			return fail(r, ETIMEDOUT, "its program did not end after the interrupt");
		if (stop_asked(r->spec->stop) && !ended) {
			ended = monotonic_ns();
			if (send_text(r, mem_strdup("kill 0\n")))
				return -r->why.code;
		}
	}
	tell(r, true);
	r->status = atoi(answer);
	free(answer);
	return 0;
}

int remote_record(struct remote_host *r, uint64_t at_real_ns)
{
	int e;

	r->begun = true;
	r->error_text.n = 0;
	e = send_text(r, recording(r, (int64_t)at_real_ns + r->offset_ns));
	return e ? e : wait_for_end(r);
}

/* --- the trace ----------------------------------------------------- */

/* Writes bytes that have come already, at most n; how many, or -errno. Bytes of the trace may have
 * come with the answer before, so that they are looked at before the connection is. */
static int64_t write_some(struct remote_host *r, int fd, uint64_t n)
{
	const size_t now = r->text.n < n ? r->text.n : (size_t)n;
	const int e = now ? write_all(fd, r->text.at, now) : 0;

	if (e)
		return err_set(&r->why, -e, "cannot write its trace: %s", strerror(-e));
	drop(r, now);
	return (int64_t)now;
}

/* The next n bytes into the file. A trace has no answer's line behind it: the size alone tells its
 * end, and bytes that look like a nonce are bytes. 0, or -errno and r->why. */
static int receive(struct remote_host *r, int fd, uint64_t n)
{
	struct pace pace = { 0 };
	uint64_t have = 0;

	while (have < n) {
		const int64_t now = write_some(r, fd, n - have);

		if (now < 0)
			return (int)now;
		have += (uint64_t)now;
		if (is_interrupted(r))
			return err_interrupted(r);
		if (is_slow(r, &pace, have))
			return fail(r, ETIMEDOUT, "it is silent, or too slow (--silence), while its trace comes");
		if (!now && wait_for_any(r, false) < 0 && !r->text.n)
			return fail(r, EPIPE, "the connection ended while its trace came");
	}
	return 0;
}

/* The trace's bytes there. 0, or -errno and r->why. The bound is checked before a byte is sent, so
 * that a host cannot fill the disk here. No file is no number. */
static int ask_size(struct remote_host *r, uint64_t *size)
{
	char *answer, *end;
	int e = ask(r, mem_printf("echo %s $(wc -c <\"$d/trace\")\n", r->nonce), &answer);

	if (e)
		return e;
	errno = 0;
	*size = strtoull(answer, &end, 10);
	e = !isdigit((unsigned char)*answer) || errno || *end;
	free(answer);
	if (e)
		return err_set(&r->why, ENOENT, "it wrote no trace: brace record ended with status %d",
			       r->status);
	if (*size <= r->spec->trace_most)
		return 0;
	return err_set(&r->why, EFBIG, "its trace has %" PRIu64 " bytes, and more than %" PRIu64
		       " are not taken (--trace-max)", *size, r->spec->trace_most);
}

/* The file gets its name when it is whole. A failure has r->why already: what new_file_end() says
 * of the removal does not cover it. */
int remote_fetch(struct remote_host *r, const char *path)
{
	struct whole_file file;
	uint64_t size;
	int e = ask_size(r, &size);

	if (e)
		return e;
	e = new_file_begin(&file, path, "trace file", &r->why);
	if (e < 0)
		return e;
	e = send_text(r, mem_strdup("cat \"$d/trace\"\n"));
	if (!e)
		e = receive(r, file.fd, size);
	if (e) {
		struct err other;

		new_file_end(&file, false, &other);
		return e;
	}
	return new_file_end(&file, true, &r->why);
}

/* The shell ends with its input, removes its folder, and says so. The connection's own end may not
 * come: what the program left in the background has its output. What has come and was not asked for
 * is dropped, so that only the trap's echo is an answer. `begun` makes the second interrupt the one
 * that ends this wait: the first may have been given long ago. */
static void wait_for_removal(struct remote_host *r)
{
	char *answer;

	close(r->in);
	r->in = -1;
	r->text.n = 0;
	r->begun = true;
	r->asked_ns = monotonic_ns();
	if (!wait_for_answer(r, &answer))
		free(answer);
}

/* Whoever is silent is left. A command in ssh's place (--ssh) may take no notice of SIGTERM, by
 * which ssh itself tidies up. waitpid() that fails has no child to wait for, and ends the looking,
 * too. */
static void end_ssh(pid_t pid)
{
	kill(pid, SIGTERM);
	for (int i = 0; i < END_LOOKS; i++) {
		if (waitpid(pid, NULL, WNOHANG))
			return;
		nanosleep(&(struct timespec){ 0, END_NAP_NS }, NULL);
	}
	kill(pid, SIGKILL);
	child_wait(pid);
}

/* A host that failed is not waited for: its shell meets the end of its input, or HUP, and removes
 * its files without us. r->why keeps the recording's reason, whatever becomes of the removal. */
void remote_end(struct remote_host *r)
{
	int *const fds[] = { &r->in, &r->out, &r->errors };
	const struct err why = r->why;

	if (r->folder && r->in >= 0 && !why.code) {
		wait_for_removal(r);
		r->why = why;
	}
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
	if (r->ssh > 0)
		end_ssh(r->ssh);
	free(r->folder);
	r->folder = NULL;
	vec_free(&r->text);
	vec_free(&r->error_text);
}
