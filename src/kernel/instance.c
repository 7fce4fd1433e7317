/* SPDX-License-Identifier: MIT */
/* Makes, sets and removes instances. Called on brace's one thread. The kernel frees an instance
 * only when nobody reads it, so that removing waits a moment for readers. What the kernel refuses
 * is -errno and a sentence that names the file. */
#include "kernel/instance.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "arch/stamp.h"
#include "base/mem.h"
#include "kernel/absent.h"
#include "kernel/functions.h"
#include "kernel/probes.h"
#include "kernel/tracefs.h"
#include "kernel/triggers.h"

#define NAME_PREFIX "brace-"
#define NAME_SHARED "-graph"
#define NAME_ELSEWHERE "-elsewhere"
#define NAME_SESSION "session"
/* Together one second: a reader that is being killed closes its files within milliseconds, and a
 * longer wait would look as if brace hung. */
#define REMOVE_TRIES 50
#define REMOVE_WAIT_NS 20000000

struct kernel_instance {
	char *top, *dir;
	bool made;       /* by this process */
	int lock;        /* the directory, locked; -1: not yet, or a session */
	bool shared;     /* shared files may have been written */
};

/* Files that the kernel has once, and their texts when nobody uses them. */
static const struct shared_file { const char *name, *unused, *reset; } shared_files[] = {
	{ "set_graph_function", "#### all functions enabled ####", "" },
	{ "set_graph_notrace", "#### no functions disabled ####", "" },
	{ "max_graph_depth", "0", "0" },
	{ "tracing_thresh", "0", "0" },
};
#define N_SHARED (sizeof(shared_files) / sizeof(*shared_files))

/* Writers of a setting ask this first: one of these in the instance's own directory would be
 * a file that the kernel does not have there, and the write would fail with ENOENT. */
bool kernel_instance_is_shared(const char *file)
{
	for (size_t i = 0; i < N_SHARED; i++)
		if (!strcmp(shared_files[i].name, file))
			return true;
	return false;
}

const char *kernel_instance_dir(const struct kernel_instance *i) { return i->dir; }
const char *kernel_instance_top(const struct kernel_instance *i) { return i->top; }

/* Whether the file's first line is this one. A file that cannot be read has no line. */
static bool reads(const char *dir, const char *file, const char *line)
{
	char *text = kernel_tracefs_read(dir, file);
	bool is = text && strcspn(text, "\n") == strlen(line) && !strncmp(text, line, strlen(line));

	free(text);
	return is;
}

/* --- making ----------------------------------------------------------------------------- */

/* Somebody else's graph would change with the shared files. whose: the instance in the user's
 * words, for the sentence. */
static int check_tracer(const char *top, const char *dir, const char *whose, struct err *err)
{
	if (!reads(dir, "current_tracer", "function_graph"))
		return 0;
	return err_set(err, EBUSY,
		       "%s of %s runs function_graph, and -g, --max-graph-depth and --threshold hold for all of the kernel's tracing: leave them out, or wait until it has ended",
		       whose, top);
}

/* Whether the shared files are free. Two proofs are needed: that the files have the texts of a
 * kernel that nobody uses, and that no instance runs function_graph with these texts, whose graph
 * would shrink under its owner's eyes. Between this check and the first write another tracer may
 * begin; the kernel has no lock that brace could take. */
static int check_shared(const char *top, struct err *err)
{
	char *path = mem_printf("%s/instances", top);
	DIR *dir = opendir(path);
	struct dirent *d;
	int e = check_tracer(top, top, "the main instance", err);

	for (size_t i = 0; i < N_SHARED && !e; i++)
		if (kernel_tracefs_has(top, shared_files[i].name) &&
		    !reads(top, shared_files[i].name, shared_files[i].unused))
			e = err_set(err, EBUSY,
				    "another tracer uses %s/%s, which the kernel has once for all: wait until it has ended, or reset it there (brace reset -k, if a brace died)",
				    top, shared_files[i].name);
	while (!e && dir && (d = readdir(dir))) {
		char *one = mem_printf("%s/%s", path, d->d_name);

		if (*d->d_name != '.')
			e = check_tracer(top, one, d->d_name, err);
		free(one);
	}
	if (dir)
		closedir(dir);
	free(path);
	return e;
}

/* The kernel makes a directory's files with it: this mkdir() is what allocates the ring buffers,
 * and its ENOMEM is theirs. Mode 0700, because names of a user's processes stand in the files. */
static int make_directory(struct kernel_instance *i, const char *who, struct err *err)
{
	int e = mkdir(i->dir, 0700) < 0 ? errno : 0;

	if (e == EEXIST)
		return err_set(err, EEXIST, "%s %s: brace reset -k removes it", i->dir, who);
	/* A tracefs that is mounted for a group (mode=750,gid=...) can be read. */
	if (e == EACCES || e == EPERM)
		return err_set(err, e,
			       "only root may make %s, in which brace traces the kernel: run brace by sudo",
			       i->dir);
	if (e)
		return err_set(err, e, "cannot make %s: %s", i->dir, strerror(e));
	i->made = true;
	return 0;
}

/* The lock tells a later brace that this one lives (is_locked()), whatever became of its process
 * id. The kernel drops it with the process, also by SIGKILL. */
static int lock_directory(struct kernel_instance *i, struct err *err)
{
	i->lock = open(i->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (i->lock < 0 || flock(i->lock, LOCK_EX | LOCK_NB) < 0)
		return err_set(err, errno, "cannot lock %s: %s", i->dir, strerror(errno));
	return 0;
}

/* tracing_on is 1 in a new instance: it is turned off before anything is enabled in it, lest
 * records of the settings' own making come first. The clock is chosen while the buffer is empty,
 * because the kernel clears the buffer at a change. */
static int set_up(struct kernel_instance *i, struct err *err)
{
	int e = make_directory(i, "was left by another brace that had this process id", err);

	if (!e)
		e = lock_directory(i, err);
	if (!e)
		e = kernel_instance_write(i, "tracing_on", "0", false, err);
	if (!e)
		e = kernel_instance_write(i, "trace_clock", STAMP_CLOCK, false, err);
	return e;
}

/* Without pause-on-trace a reader of `trace` that is traced itself makes what it reads, without
 * end. A session outlives its brace and is not locked: it goes on until brace stop -k or brace
 * reset -k. */
static int set_up_session(struct kernel_instance *i, struct err *err)
{
	int e = make_directory(i, "is there already", err);

	if (!e)
		e = kernel_instance_write(i, "tracing_on", "0", false, err);
	if (!e)
		e = kernel_instance_write(i, "trace_options", "pause-on-trace", false, err);
	return e;
}

/* The instance stays in the kernel. Closing the descriptor drops the lock. */
static void free_instance(struct kernel_instance *i)
{
	if (i->lock >= 0)
		close(i->lock);
	free(i->dir);
	free(i->top);
	free(i);
}

/* name: behind the prefix; set_up makes the directory. shared: the files of shared_files may be
 * written, which the name tells to whoever has to remove it (read_name()). On failure nothing is
 * left, neither here nor in the kernel. */
static int open_instance(const char *name, bool shared,
			 int (*make)(struct kernel_instance *i, struct err *err),
			 struct kernel_instance **out, struct err *err)
{
	struct kernel_instance *i = mem_zalloc(sizeof(*i));
	int e;

	i->lock = -1;
	e = kernel_tracefs_find(&i->top, err);
	if (!e && shared)
		e = check_shared(i->top, err);
	if (e) {
		free_instance(i);
		return e;
	}
	i->shared = shared;
	i->dir = mem_printf("%s/instances/" NAME_PREFIX "%s%s", i->top, name,
			    shared ? NAME_SHARED : "");
	e = make(i, err);
	if (e)
		kernel_instance_close(i, NULL);
	else
		*out = i;
	return e;
}

int kernel_instance_open(bool shared, struct kernel_instance **out, struct err *err)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	return open_instance(pid, shared, set_up, out, err);
}

int kernel_instance_open_elsewhere(struct kernel_instance **out, struct err *err)
{
	char name[32];

	snprintf(name, sizeof(name), "%d" NAME_ELSEWHERE, (int)getpid());
	return open_instance(name, false, set_up, out, err);
}

int kernel_instance_begin_session(bool shared, struct kernel_instance **out, struct err *err)
{
	return open_instance(NAME_SESSION, shared, set_up_session, out, err);
}

/* The session's instance has no owner in this process: made stays false, so that
 * kernel_instance_close() frees the struct alone and leaves what the user has begun. */
int kernel_instance_find_session(struct kernel_instance **out, struct err *err)
{
	static const char *const names[] = { NAME_SESSION, NAME_SESSION NAME_SHARED };
	struct kernel_instance *i = mem_zalloc(sizeof(*i));
	int e;

	i->lock = -1;
	e = kernel_tracefs_find(&i->top, err);
	for (size_t k = 0; k < 2 && !e; k++) {
		free(i->dir);
		i->dir = mem_printf("%s/instances/" NAME_PREFIX "%s", i->top, names[k]);
		i->shared = k;
		if (kernel_tracefs_has(i->dir, "tracing_on")) {
			*out = i;
			return 0;
		}
	}
	free_instance(i);
	return e ? e : err_set(err, ENOENT,
			       "the kernel has no session of brace's: brace start -k begins one");
}

void kernel_instance_leave(struct kernel_instance *i)
{
	if (i)
		free_instance(i);
}

bool kernel_instance_may_share(const struct kernel_instance *i) { return i->shared; }

/* --- writing ---------------------------------------------------------------------------- */

/* Before 6.11 function_graph runs in the main instance only, which is not brace's to take. */
static int no_graph(const char *top, struct err *err)
{
	char *tracers = kernel_tracefs_read(top, "available_tracers");
	bool built = !tracers || strstr(tracers, "function_graph");
	struct utsname u;

	uname(&u);
	free(tracers);
	if (!built)
		return err_set(err, ENOTSUP,
			       "this kernel (%s) was built without function_graph (CONFIG_FUNCTION_GRAPH_TRACER)",
			       u.release);
	return err_set(err, ENOTSUP,
		       "this kernel (%s) runs function_graph only in its main instance, and brace touches no other tracer's settings: it takes Linux 6.11; events (-e) can be had here",
		       u.release);
}

/* By another clock the kernel's records could not be placed among a program's. */
static int no_clock(struct err *err)
{
	struct utsname u;

	uname(&u);
	return err_set(err, ENOTSUP,
		       "this kernel (%s) has no clock " STAMP_CLOCK " for its records, by which brace places them: it takes " STAMP_CLOCK_SINCE "; brace start -k uses the kernel's own clock",
		       u.release);
}

static bool is_filter(const char *file)
{
	const size_t n = strlen(file), end = strlen("/filter");

	return n > end && !strcmp(file + n - end, "/filter");
}

/* The kernel tells of a filter what is wrong and where, in the instance's error_log: each one that
 * it refuses has an entry there, so that the newest is this one's. */
static int bad_filter(const char *dir, const char *text, int e, struct err *err)
{
	size_t column;
	char *why = kernel_tracefs_error(dir, &column);

	err_at(err, -e, text, column == SIZE_MAX ? 0 : column, "the kernel refuses this filter: %s",
	       why ? why : strerror(-e));
	free(why);
	return e;
}

/* The kernel answers with an errno alone, mostly EINVAL for whatever the reason is. The file and
 * the text tell which of its rules was met; what is not known here keeps the kernel's own word. */
int kernel_instance_refused(const char *top, const char *dir, const char *file, const char *text,
			    int e, struct err *err)
{
	if (!strcmp(file, "current_tracer") && !strcmp(text, "function_graph") && e == -EINVAL)
		return no_graph(top, err);
	if ((!strncmp(file, "set_ftrace_", 11) || !strncmp(file, "set_graph_", 10)) &&
	    e == -EINVAL)
		return kernel_functions_explain(top, text, err);
	if (!strcmp(file, "trace_clock"))
		return no_clock(err);
	if (!strcmp(file, "set_event"))
		return kernel_absent_event(top, text, 0, err);
	if (is_filter(file))
		return bad_filter(dir, text, e, err);
	if (kernel_trigger_is_file(file))
		return kernel_trigger_refused(top, dir, file, text, e, err);
	return err_at(err, -e, text, 0, "the kernel refuses this in %s/%s: %s",
		      kernel_instance_is_shared(file) ? top : dir, file, strerror(-e));
}

/* Each write is an action of the kernel's, carried out when this returns: nothing is cached. */
int kernel_instance_write(struct kernel_instance *i, const char *file, const char *text,
			  bool append, struct err *err)
{
	const char *dir = kernel_instance_is_shared(file) ? i->top : i->dir;
	int e;

	if (kernel_trigger_is_file(file))
		kernel_trigger_prepare(dir);
	e = kernel_tracefs_write(dir, file, text, append);
	return e ? kernel_instance_refused(i->top, i->dir, file, text, e, err) : 0;
}

/* No error is told: a write that fails means that the instance has gone, which is the state that
 * is asked for. */
void kernel_instance_stop(struct kernel_instance *i)
{
	kernel_tracefs_write(i->dir, "tracing_on", "0", false);
}

/* --- removing --------------------------------------------------------------------------- */

static void pause_briefly(void)
{
	const struct timespec t = { .tv_nsec = REMOVE_WAIT_NS };

	nanosleep(&t, NULL);
}

/* Turns everything off. The order matters: the tracer first, because its functions are patched.
 * Failures are passed over: this is also run over what a killed brace left, of which any part may
 * be there or not. Whatever is still busy makes the rmdir() fail, which is told. */
static void undo(const char *top, const char *dir, bool shared)
{
	kernel_tracefs_write(dir, "tracing_on", "0", false);
	kernel_tracefs_write(dir, "current_tracer", "nop", false);
	kernel_tracefs_write(dir, "set_event", "", false);
	for (size_t i = 0; shared && i < N_SHARED; i++)
		kernel_tracefs_write(top, shared_files[i].name, shared_files[i].reset, false);
}

/* 0 or -errno. A reader that is just being killed may hold it for a moment. */
static int remove_directory(const char *dir)
{
	int e = 0;

	for (int i = 0; i < REMOVE_TRIES; i++) {
		e = rmdir(dir) < 0 ? -errno : 0;
		if (e != -EBUSY)
			break;
		pause_briefly();
	}
	return e;
}

/* Triggers that read each other's variables hold it for good. */
static int remove_instance(const char *dir)
{
	int e = remove_directory(dir);

	if (e == -EBUSY) {
		kernel_triggers_clear(dir);
		e = remove_directory(dir);
	}
	return e;
}

/* The probes go after the instance: their events are enabled in it, and an enabled event cannot
 * be removed. */
int kernel_instance_close(struct kernel_instance *i, struct err *err)
{
	int e = 0;

	if (!i)
		return 0;
	if (i->made) {
		undo(i->top, i->dir, i->shared);
		e = remove_instance(i->dir);
		kernel_probes_sweep(i->top);
	}
	if (e)
		err_set(err, -e, "cannot remove %s: %s; brace reset -k tries again", i->dir,
			strerror(-e));
	free_instance(i);
	return e;
}

/* --- what others left ------------------------------------------------------------------- */

/* "brace-123", "brace-123-graph", "brace-123-elsewhere"; the session's has pid 0; false:
 * another's instance. */
static bool read_name(const char *name, pid_t *pid, bool *shared)
{
	char *end;
	long n;

	if (strncmp(name, NAME_PREFIX, strlen(NAME_PREFIX)) != 0)
		return false;
	*pid = 0;
	*shared = !strcmp(name, NAME_PREFIX NAME_SESSION NAME_SHARED);
	if (*shared || !strcmp(name, NAME_PREFIX NAME_SESSION))
		return true;
	n = strtol(name + strlen(NAME_PREFIX), &end, 10);
	*shared = !strcmp(end, NAME_SHARED);
	*pid = (pid_t)n;
	return n > 0 && n <= INT32_MAX && (!*end || *shared || !strcmp(end, NAME_ELSEWHERE));
}

/* A brace that made the instance just now has not locked it yet. A process that was given the
 * number of a dead brace, and is a brace, too, keeps the instance from being removed until it
 * ends: the harmless one of the two errors. */
static bool is_brace(pid_t pid)
{
	char *path = mem_printf("/proc/%d", (int)pid);
	char *comm = kill(pid, 0) == 0 || errno == EPERM ? kernel_tracefs_read(path, "comm") : NULL;
	bool is = comm && !strncmp(comm, "brace", 5) && pid != getpid();

	free(comm);
	free(path);
	return is;
}

/* LOCK_NB: a living brace holds the lock for all of its recording. The lock that is taken here if
 * nobody has it goes with the descriptor. */
static bool is_locked(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return locked;
}

static bool count_line(void *context, const char *line)
{
	++*(unsigned *)context;
	return true;
}

/* One leftover: looks whether its brace lives, notes what it had, and removes it if not. The
 * tracer's name is read before undo() writes nop over it. */
static void reset_one(const char *top, const char *name, struct kernel_leftover *l, bool shared)
{
	char *dir = mem_printf("%s/instances/%s", top, name);
	char *tracer = kernel_tracefs_read(dir, "current_tracer");

	if (tracer)
		tracer[strcspn(tracer, "\n")] = '\0';
	l->name = name;
	l->living = is_locked(dir) || (l->pid && is_brace(l->pid));
	kernel_tracefs_lines(dir, "set_event", count_line, &l->events);
	if (!l->living) {
		undo(top, dir, shared);
		l->error = -remove_instance(dir);
	}
	/* Freed by the caller, with l. */
	l->tracer = tracer;
	free(dir);
}

/* Counts what it finds, living ones included, so that 0 means that nobody left anything. session:
 * the one of brace start -k, too, which is nobody's leftover as long as it is wanted. */
int kernel_instances_reset(bool session,
			   void (*each)(void *context, const struct kernel_leftover *l),
			   void *context, unsigned *probes, struct err *err)
{
	char *top, *path;
	struct dirent *d;
	DIR *dir;
	int found = 0, e = kernel_tracefs_find(&top, err);

	if (e)
		return e;
	path = mem_printf("%s/instances", top);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		struct kernel_leftover l = { 0 };
		bool shared;

		if (!read_name(d->d_name, &l.pid, &shared) || (!l.pid && !session))
			continue;
		found++;
		reset_one(top, d->d_name, &l, shared);
		each(context, &l);
		free((char *)l.tracer);
	}
	if (dir)
		closedir(dir);
	*probes = kernel_probes_sweep(top);
	free(path);
	free(top);
	return found;
}
