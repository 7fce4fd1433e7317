/* SPDX-License-Identifier: MIT */
/* The messenger's thread and its queue. Commands are begun by posix_spawn with words, never by a
 * shell: what a program wrote into a record reaches them as values of variables alone. */
#include "instance/messenger.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/monotonic.h"
#include "base/vec.h"

#define QUEUE_MOST 1024u      /* messages on their way */
#define COMMANDS_MOST 4u      /* that run at a time */
#define TOKENS_FULL 10u       /* commands that may begin at once */
#define TOKEN_MS 100u         /* after which one more may */
#define WATCH_MS 20u          /* between two looks at commands that run */
#define WAITS_MOST 8u
#define PATIENCE_MS 100       /* for a receiver that is full, unless it was just now, too */

extern char **environ;

/* A line, or a command's variables. */
struct message {
	struct outside *to;
	char *line;               /* NULL: a command */
	size_t n;
	char **variables;
};

/* Process-wide, since commands and descriptors are. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool begun;
	struct message at[QUEUE_MOST]; /* a ring: `first` and `n` of them */
	size_t first, n;
	bool busy;                /* one was taken out, and is being carried out */
	pid_t running[COMMANDS_MOST]; /* (the messenger's thread) 0: none */
} messenger = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

/* NULL, as a message without variables has it, is nothing. */
static void free_words(char **words)
{
	for (char **w = words; words && *w; w++)
		free(*w);
	free(words);
}

/* The trigger may be gone by now: the message has a reference of its own to where it goes. */
static void free_message(struct message *m)
{
	outside_put(m->to);
	free(m->line);
	free_words(m->variables);
}

/* --- sockets and descriptors ------------------------------------------------------------------ */

/* Fills the address; "@NAME" is an abstract one. Returns its length. */
static socklen_t fill_address(struct sockaddr_un *a, const char *path)
{
	size_t n = strlen(path);

	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(a->sun_path, path, n);
	if (*path == '@')
		a->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + (*path != '@'));
}

/* Connects to whichever kind of socket listens there. */
static bool connect_to(struct outside *o)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	struct sockaddr_un address;
	socklen_t n = fill_address(&address, o->path);

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		int fd = socket(AF_UNIX, types[i] | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		int e;

		if (fd < 0)
			break;
		if (connect(fd, (struct sockaddr *)&address, n) == 0) {
			o->socket = fd;
			return true;
		}
		e = errno;
		close(fd);
		if (e != EPROTOTYPE)
			break;
	}
	return false;
}

/* The next line tries anew, since the reader may be back. */
static void disconnect(struct outside *o)
{
	close(o->socket);
	o->socket = -1;
}

/* Within ms milliseconds: a reader that does not read is given up then, and the line is counted
 * as dropped. */
static bool can_write(int fd, int ms)
{
	struct pollfd p = { fd, POLLOUT, 0 };

	return poll(&p, 1, ms) == 1 && p.revents & POLLOUT;
}

/* Sends the line, all of it or nothing. A stream that took a part and does not take the rest is
 * closed: the reader sees half a line at its end, and none in the middle. */
static bool send_line(struct outside *o, const char *line, size_t n)
{
	unsigned waits = 0;
	size_t sent = 0;

	do {
		ssize_t now = send(o->socket, line + sent, n - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		bool full = now < 0 && (errno == EAGAIN || errno == ENOBUFS);

		/* A receiver may say that there is room, and have none. */
		if (full && waits++ < WAITS_MOST &&
		    can_write(o->socket, sent || !o->full ? PATIENCE_MS : 0))
			continue;
		o->full = full;
		if (now < 0 && (!full || sent))
			disconnect(o);
		if (now < 0)
			return false;
		sent += (size_t)now;
	} while (sent < n);
	return true;
}

/* A reader that was restarted is connected to anew. */
static bool send_to_socket(struct outside *o, const char *line, size_t n)
{
	if (o->socket >= 0 && send_line(o, line, n))
		return true;
	/* Connected still: it is full. */
	return o->socket < 0 && connect_to(o) && send_line(o, line, n);
}

/* A descriptor may be anything, and stays as its owner has set it: it is only written when it has
 * room. */
static bool write_to(struct outside *o, const char *line, size_t n)
{
	int fd = o->allowed->fd;
	size_t done = 0;

	while (done < n) {
		bool room = can_write(fd, done || !o->full ? PATIENCE_MS : 0);
		ssize_t now = room ? write(fd, line + done, n - done) : -1;

		o->full = !room;
		if (now <= 0)
			return false;
		done += (size_t)now;
	}
	return true;
}

/* Counted either way: sent and dropped lines together are all that the trigger made. */
static void deliver(const struct message *m)
{
	bool sent = m->to->path ? send_to_socket(m->to, m->line, m->n)
				: write_to(m->to, m->line, m->n);

	atomic_fetch_add_explicit(sent ? &m->to->sent : &m->to->dropped, 1, memory_order_relaxed);
}

/* --- commands --------------------------------------------------------------------------------- */

/* Takes notice of commands that have ended. Returns a free place among them, or NULL. */
static pid_t *free_place(void)
{
	pid_t *place = NULL;

	for (size_t i = 0; i < COMMANDS_MOST; i++) {
		pid_t *p = &messenger.running[i];

		if (*p && waitpid(*p, NULL, WNOHANG) != 0)
			*p = 0;
		if (!*p)
			place = p;
	}
	return place;
}

/* Also takes the ends of those that have ended in between (free_place()). */
static bool any_runs(void)
{
	bool any = false;

	free_place();
	for (size_t i = 0; i < COMMANDS_MOST; i++)
		any |= messenger.running[i] != 0;
	return any;
}

/* brace's environment and the variables. The array is the caller's, the strings are not. */
static char **environment_with(char **variables)
{
	VEC(char *) all = { 0 };

	for (char **v = environ; v && *v; v++)
		if (strncmp(*v, "BRACE_", 6) != 0)
			*vec_add(&all) = *v;
	for (char **v = variables; *v; v++)
		*vec_add(&all) = *v;
	*vec_add(&all) = NULL;
	return all.at;
}

/* Signals are those of a program that a shell begins: this thread blocks all. The command has a
 * process group of its own, so that Ctrl-C ends brace alone. It has brace's errors for its output:
 * the program's output is not mixed with it. */
static int spawn(const struct outside_allowed *command, char **environment, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	sigset_t none, all;
	int e;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&how);
	posix_spawnattr_setsigmask(&how, &none);
	posix_spawnattr_setsigdefault(&how, &all);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
					       POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
	posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
	e = posix_spawn(pid, command->path, &files, &how, command->argv, environment);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&how);
	return e;
}

/* A command that cannot be begun now is dropped and counted, not kept: it would run at a time at
 * which nothing has happened. */
static void execute(const struct message *m)
{
	pid_t *place = free_place();
	char **environment;

	if (!place) {
		atomic_fetch_add_explicit(&m->to->dropped, 1, memory_order_relaxed);
		return;
	}
	environment = environment_with(m->variables);
	if (spawn(m->to->allowed, environment, place)) {
		*place = 0;
		atomic_fetch_add_explicit(&m->to->dropped, 1, memory_order_relaxed);
	} else {
		atomic_fetch_add_explicit(&m->to->sent, 1, memory_order_relaxed);
	}
	free(environment);
}

/* A bucket of tokens for each trigger: commands in a burst, then one every TOKEN_MS. Without it a
 * hot event would fill the machine with processes. */
bool messenger_may_execute(struct outside *o)
{
	uint64_t now = monotonic_ms(), more;

	if (!o->since_ms)
		o->since_ms = now;
	more = (now - o->since_ms) / TOKEN_MS;
	o->since_ms += more * TOKEN_MS;
	o->tokens = more < TOKENS_FULL - o->tokens ? o->tokens + (unsigned)more : TOKENS_FULL;
	if (o->tokens) {
		o->tokens--;
		return true;
	}
	atomic_fetch_add_explicit(&o->dropped, 1, memory_order_relaxed);
	return false;
}

/* --- the queue -------------------------------------------------------------------------------- */

/* Waits for a message, or while commands run for a moment. */
static bool take_message(struct message *m)
{
	struct timespec until;
	bool got;

	pthread_mutex_lock(&messenger.lock);
	messenger.busy = false;
	pthread_cond_broadcast(&messenger.changed);
	while (!messenger.n) {
		if (!any_runs()) {
			pthread_cond_wait(&messenger.changed, &messenger.lock);
			continue;
		}
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += WATCH_MS * 1000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (pthread_cond_timedwait(&messenger.changed, &messenger.lock, &until))
			break;
	}
	got = messenger.n;
	if (got) {
		*m = messenger.at[messenger.first];
		messenger.first = (messenger.first + 1) % QUEUE_MOST;
		messenger.n--;
		messenger.busy = true;
	}
	pthread_mutex_unlock(&messenger.lock);
	return got;
}

/* The one thread of all messages. Whoever makes records never waits for a reader or for a
 * command. */
static void *run(void *arg)
{
	struct message m;

	for (;;) {
		if (!take_message(&m))
			continue;
		if (m.line)
			deliver(&m);
		else
			execute(&m);
		free_message(&m);
	}
	return NULL;
}

/* (locked) No signal comes to this thread: brace's own handlers run on others. */
static bool begin_thread(void)
{
	pthread_t thread;
	sigset_t all, before;

	if (messenger.begun)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	messenger.begun = pthread_create(&thread, NULL, run, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (messenger.begun)
		pthread_detach(thread);
	return messenger.begun;
}

/* Takes the message over. A full queue drops the newest: what waits longer is nearer to being
 * told. */
static void enqueue(struct message m)
{
	bool room;

	outside_get(m.to);
	pthread_mutex_lock(&messenger.lock);
	room = messenger.n < QUEUE_MOST && begin_thread();
	if (room) {
		messenger.at[(messenger.first + messenger.n++) % QUEUE_MOST] = m;
		pthread_cond_broadcast(&messenger.changed);
	}
	pthread_mutex_unlock(&messenger.lock);
	if (room)
		return;
	atomic_fetch_add_explicit(&m.to->dropped, 1, memory_order_relaxed);
	free_message(&m);
}

/* Takes line over, n bytes of it; returns at once. */
void messenger_send(struct outside *to, char *line, size_t n)
{
	enqueue((struct message){ to, line, n, NULL });
}

/* Takes variables over, NULL-terminated NAME=VALUE words for the command's environment. */
void messenger_execute(struct outside *o, char **variables)
{
	enqueue((struct message){ o, NULL, 0, variables });
}

/* For the session's end: waits until all has been told, or the time is over. False: something is
 * left, and will be told if the process lives on. */
bool messenger_drain(unsigned ms)
{
	struct timespec until;
	bool done;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&messenger.lock);
	while (messenger.n || messenger.busy)
		if (pthread_cond_timedwait(&messenger.changed, &messenger.lock, &until))
			break;
	done = !messenger.n && !messenger.busy;
	pthread_mutex_unlock(&messenger.lock);
	return done;
}
