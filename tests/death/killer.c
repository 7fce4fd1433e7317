/* killer BRACE AGENT VICTIM DIRECTORY SCENARIOS: kills one side of a traced run at test points, and
 * looks at what is left. Or the program gets signals there, for a handler that calls, forks, or
 * jumps out of the call. A scenario is a deed, a mode, a shape of the program, a point, and the
 * how-manieth passing of it. First each side, mode and shape runs once and counts how often each
 * point is passed; then so many scenarios as asked for are spread over what there is. Prints TAP.
 *
 * These must hold, whatever the moment:
 *   the file reads (info, report, recover), or says that nothing was recorded;
 *   agent's side killed: records kept + lost are those that the program made, but for what
 *     each thread was doing;
 *   brace killed: the program goes on to its right result; while it stands still, recover
 *     finds kept + lost =
 *   produced exactly, from the file and its memory;
 *   signals: the program's result is right, and records kept + lost are those that it made;
 *   no process is left over, and no file but those that were asked for. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "prey.h"

#define WORKERS 6
#define SECONDS 40 /* for one scenario */

static const char *brace, *agent, *program, *directory;
static char agent_path[PATH_MAX];

struct shape {
	const char *name;
	const char *options[6]; /* of brace */
	const char *threads, *calls, *ending;
	unsigned records;       /* of one call */
};
static const struct shape shapes[] = {
	{ "one thread", { "-l", "step", "-b", "128K" }, "1", "50000", "wait", 2 },
	{ "four threads", { "-l", "step", "-b", "128K" }, "4", "20000", "wait", 2 },
	{ "function tracer", { "-l", "step", "-p", "function", "-b", "128K" }, "2", "20000", "wait", 1 },
	{ "depth limit", { "-l", "step", "--max-graph-depth", "9", "-b", "128K" }, "2", "20000", "wait", 2 },
	{ "threshold", { "-l", "step", "--threshold", "1ns", "-b", "128K" }, "2", "20000", "wait", 1 },
	{ "a fork", { "-l", "step", "-b", "128K" }, "2", "20000", "forks", 2 },
	{ "large buffers", { "-l", "step", "-b", "4M" }, "3", "60000", "wait", 2 },
	{ "twenty threads", { "-l", "step", "-b", "192K" }, "20", "4000", "wait", 2 },
};
static const char *const modes[] = { "stream", "overwrite", "block" };
#define N(array) (sizeof(array) / sizeof((array)[0]))

static const struct deed {
	const char *who, *what;
	enum side side;
	const char *handler; /* of the victim; NULL: somebody is killed */
} deeds[] = {
	{ "the program", "dies", SIDE_AGENT },
	{ "brace", "dies", SIDE_BRACE },
	{ "a handler", "calls", SIDE_AGENT, "calls" },
	{ "a handler", "forks", SIDE_AGENT, "forks" },
	{ "a handler", "jumps out", SIDE_AGENT, "jumps" },
};
enum { FIRST_HANDLER = 2 };

static struct point *points[2];
static unsigned n_points[2];
static char results[N(shapes)][64]; /* what the untraced program prints */

struct scenario { unsigned deed, mode, shape, point, nth; };

static enum side side_of(const struct scenario *s)
{
	return deeds[s->deed].side;
}

/* --- small things
 * ---------------------------------------------------------------------------------- */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static unsigned long produced(const struct ledger *l)
{
	unsigned long n = 0;

	for (int i = 0; i < LEDGER_THREADS; i++)
		n += l->calls[i];
	return n;
}

/* A program's whole output (both streams) into text; its wait status. */
static int run_program(char *text, size_t size, const char *const *argv)
{
	int to[2], status = -1;
	size_t n = 0;
	ssize_t r;
	pid_t pid;

	if (pipe(to) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		dup2(to[1], 1);
		dup2(to[1], 2);
		close(to[0]);
		close(to[1]);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(to[1]);
	while ((r = read(to[0], text + n, size - 1 - n)) > 0 || (r < 0 && errno == EINTR))
		n += r > 0 ? (size_t)r : 0;
	text[n] = '\0';
	close(to[0]);
	waitpid(pid, &status, 0);
	return status;
}

static bool number_after(const char *text, const char *key, unsigned long *out)
{
	const char *at = strstr(text, key);

	return at && sscanf(at + strlen(key), "%lu", out) == 1;
}

/* --- one scenario
 * -------------------------------------------------------------------------------------- */

struct trial {
	struct scenario s;
	const struct shape *shape;
	struct prey prey;
	char dir[300], out[320], ledger_path[320], log[320], result[320], recovered[320];
	char text[65536];     /* of the last brace that was asked */
	char problem[400];
	double deadline;
	bool recovered_live;
};

static void fail(struct trial *t, const char *fmt, ...)
{
	va_list ap;

	if (t->problem[0])
		return;
	va_start(ap, fmt);
	vsnprintf(t->problem, sizeof(t->problem), fmt, ap);
	va_end(ap);
}

static bool turn(struct trial *t)
{
	if (now() > t->deadline) {
		fail(t, "it takes more than %d s", SECONDS);
		return false;
	}
	return prey_turn(&t->prey);
}

static bool exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

/* brace WHAT [ARG]... Exit status; its words in t->text. */
static int ask(struct trial *t, const char *const *args)
{
	const char *argv[10] = { brace };
	int status;

	for (unsigned i = 0; args[i] && i < 8; i++)
		argv[i + 1] = args[i];
	status = run_program(t->text, sizeof(t->text), argv);
	if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 125))
		return WEXITSTATUS(status);
	fail(t, "brace %s ended by status %x: %.200s", args[0], (unsigned)status, t->text);
	return -1;
}
#define ASK(t, ...) ask(t, (const char *const[]){ __VA_ARGS__, NULL })

static bool says_nothing_recorded(const struct trial *t)
{
	return strstr(t->text, "cut before anything was recorded") || strstr(t->text, "is empty");
}

/* Kept and lost of a whole file; false (and failed) if it does not say. */
static bool counts(struct trial *t, const char *path, unsigned long *kept, unsigned long *lost)
{
	if (ASK(t, "info", "--json", path) != 0 || !number_after(t->text, "\"records\":", kept) ||
	    !number_after(t->text, "\"lost\":", lost)) {
		fail(t, "info of %s: %.200s", path, t->text);
		return false;
	}
	return true;
}

/* Both commands that read a file take it, or say that it holds nothing. */
static bool reads(struct trial *t, const char *path)
{
	static const char *const commands[] = { "info", "report" };
	bool something = true;

	for (unsigned i = 0; i < N(commands); i++) {
		int status = ASK(t, commands[i], "--json", path);

		if (status == 125 && says_nothing_recorded(t))
			something = false;
		else if (status != 0)
			fail(t, "%s of %s: %.200s", commands[i], path, t->text);
	}
	return something;
}

/* The program stands still: what it made must be found, or be said to be lost. */
static void recover_live(struct trial *t)
{
	unsigned long kept, lost, made = produced(t->prey.ledger) * t->shape->records;
	char pid[16];
	bool readable = exists(t->out) && reads(t, t->out);
	int status;

	snprintf(pid, sizeof(pid), "%d", t->prey.ledger->pid);
	status = ASK(t, "recover", "-p", pid, "-o", t->recovered, readable ? t->out : NULL);
	t->recovered_live = status == 0;
	if (status == 125 && strstr(t->text, "no session memory"))
		return; /* brace died before the agent had its answer: the program runs untraced */
	if (status != 0) {
		fail(t, "recover -p: %.200s", t->text);
		return;
	}
	if (counts(t, t->recovered, &kept, &lost) && kept + lost != made)
		fail(t, "recovered: %lu kept + %lu lost, but %lu were made", kept, lost, made);
	reads(t, t->recovered);
}

/* Until the program is where it waits, or something has ended. */
static void let_run(struct trial *t)
{
	struct prey *p = &t->prey;

	while (!p->killed && !p->brace_done && !p->ledger->waits && turn(t))
		;
	if (!p->killed && !p->brace_done) /* what was recorded comes to the end of its way */
		for (double until = now() + 0.02; now() < until && !p->killed && turn(t);)
			;
	if (p->killed && p->side == SIDE_BRACE) {
		while (!p->brace_done && turn(t))
			;
		while (!p->ledger->waits && !p->program_done && turn(t))
			;
		if (p->ledger->waits && !p->program_done)
			recover_live(t);
	}
	p->ledger->go = 1;
	while (turn(t))
		;
}

static void check_result(struct trial *t)
{
	char text[64] = "";
	int fd = open(t->log, O_RDONLY | O_CLOEXEC);
	char all[4096];
	ssize_t n = read(fd, all, sizeof(all) - 1);

	close(fd);
	all[n < 0 ? 0 : n] = '\0';
	snprintf(text, sizeof(text), "%s", results[t->s.shape]);
	if (!strstr(all, text))
		fail(t, "the program's result is wrong, its status %x, brace's %x: %.200s", (unsigned)t->prey.program_status,
		     (unsigned)t->prey.brace_status, all);
	if (t->prey.program_done && t->prey.program_status != 0 && t->prey.victim != t->prey.program)
		fail(t, "the program ended by status %x", (unsigned)t->prey.program_status);
}

static void check_program_killed(struct trial *t)
{
	unsigned long kept, lost, made = produced(t->prey.ledger) * t->shape->records;
	unsigned long open = (strtoul(t->shape->threads, NULL, 10) + 1) * t->shape->records;

	if (!t->prey.brace_done)
		fail(t, "brace did not end");
	if (t->prey.victim != t->prey.program)
		check_result(t);
	else if (!WIFSIGNALED(t->prey.brace_status) && WEXITSTATUS(t->prey.brace_status) != 125)
		fail(t, "brace ended by status %x", (unsigned)t->prey.brace_status);
	if (!exists(t->out)) {
		if (WIFSIGNALED(t->prey.brace_status))
			fail(t, "there is no file");
		return;
	}
	reads(t, t->out);
	if (counts(t, t->out, &kept, &lost) && (kept + lost > made || kept + lost + open < made))
		fail(t, "%lu kept + %lu lost, but %lu were made", kept, lost, made);
}

static void check_brace_killed(struct trial *t)
{
	if (t->prey.ledger->pid)
		check_result(t);
	if (!exists(t->out) || !reads(t, t->out))
		return;
	unlink(t->recovered); /* else it is kept as recovered.old */
	if (ASK(t, "recover", "-o", t->recovered, t->out) != 0 && !strstr(t->text, "is whole"))
		fail(t, "recover: %.200s", t->text);
}

/* A call that a handler has jumped out of may have no records, or not all of them. */
static void check_whole(struct trial *t)
{
	unsigned long kept, lost, made = produced(t->prey.ledger) * t->shape->records;
	const char *handler = deeds[t->s.deed].handler;
	unsigned long cut = handler && !strcmp(handler, "jumps") ? t->prey.sent * t->shape->records : 0;

	check_result(t);
	if (t->prey.sent && !t->prey.ledger->calls[LEDGER_HANDLED])
		fail(t, "%u signals, but no handler ran", t->prey.sent);
	if (counts(t, t->out, &kept, &lost) && (kept + lost > made || kept + lost + cut < made))
		fail(t, "whole: %lu kept + %lu lost, but %lu were made", kept, lost, made);
}

static void prepare(struct trial *t, const struct scenario *s, int worker)
{
	memset(t, 0, sizeof(*t));
	t->s = *s;
	t->shape = &shapes[s->shape];
	t->deadline = now() + SECONDS;
	snprintf(t->dir, sizeof(t->dir), "%s/%d", directory, worker);
	mkdir(t->dir, 0700);
	snprintf(t->out, sizeof(t->out), "%s/trace", t->dir);
	snprintf(t->recovered, sizeof(t->recovered), "%s/recovered", t->dir);
	snprintf(t->log, sizeof(t->log), "%s/log", t->dir);
	snprintf(t->ledger_path, sizeof(t->ledger_path), "%s/ledger", t->dir);
	unlink(t->out);
	unlink(t->recovered);
	unlink(t->ledger_path);
	t->prey.side = side_of(s);
	t->prey.agent = agent_path;
	t->prey.points = points[side_of(s)];
	t->prey.n_points = n_points[side_of(s)];
	t->prey.ledger = ledger_open(t->ledger_path);
}

static void hunt(struct trial *t)
{
	const char *argv[24] = { brace, "record", "--mode", modes[t->s.mode], "-o", t->out };
	unsigned n = 6;

	for (unsigned i = 0; i < N(t->shape->options) && t->shape->options[i]; i++)
		argv[n++] = t->shape->options[i];
	argv[n++] = "--";
	argv[n++] = program;
	argv[n++] = t->ledger_path;
	argv[n++] = t->shape->threads;
	argv[n++] = t->shape->calls;
	argv[n++] = t->shape->ending;
	argv[n++] = "0";
	argv[n] = deeds[t->s.deed].handler;
	prey_start(&t->prey, (char *const *)argv, t->log);
	let_run(t);
}

/* Nothing is left of it but its files. */
static void check_left_overs(struct trial *t)
{
	/* recovered.old: a trace is recovered from the living program, then again from its file. */
	static const char *const known[] = { ".", "..", "trace", "recovered", "recovered.old", "log", "ledger" };
	struct dirent *e;
	pid_t pid;
	DIR *d;

	while ((pid = waitpid(-1, NULL, __WALL | WNOHANG)) > 0)
		;
	if (pid == 0) {
		fail(t, "a process is left over");
		kill(t->prey.ledger->pid, SIGKILL);
		kill(t->prey.brace, SIGKILL);
		while (waitpid(-1, NULL, __WALL) > 0)
			;
	}
	d = opendir(t->dir);
	while (d && (e = readdir(d))) {
		bool ours = false;

		for (unsigned i = 0; i < N(known); i++)
			ours |= !strcmp(known[i], e->d_name);
		if (!ours)
			fail(t, "left over: %s", e->d_name);
	}
	if (d)
		closedir(d);
}

static void run_trial(struct trial *t, const struct scenario *s, int worker)
{
	prepare(t, s, worker);
	t->prey.name = points[side_of(s)][s->point].name;
	t->prey.signals = deeds[s->deed].handler;
	t->prey.nth = s->nth;
	hunt(t);
	if (!t->problem[0]) {
		if (!t->prey.killed)
			check_whole(t);
		else if (side_of(s) == SIDE_AGENT)
			check_program_killed(t);
		else
			check_brace_killed(t);
	}
	check_left_overs(t);
	munmap((void *)t->prey.ledger, sizeof(*t->prey.ledger));
}

static void describe(const struct trial *t, char *line, size_t size)
{
	const struct scenario *s = &t->s;
	const struct deed *deed = &deeds[s->deed];

	snprintf(line, size, "%s - %s %s at %s, passing %u, %s mode, %s%s%s%s%s\n", t->problem[0] ? "not ok" : "ok",
		 deed->who, deed->what, points[deed->side][s->point].name, s->nth, modes[s->mode], shapes[s->shape].name,
		 t->prey.killed || t->prey.sent ? "" : " (not reached)", t->recovered_live ? ", recovered from its memory" : "",
		 t->problem[0] ? ": " : "", t->problem);
	for (char *c = line; *c && c[1]; c++)
		if (*c == '\n')
			*c = ' ';
}

/* --- all of them
 * --------------------------------------------------------------------------------------- */

static void run_untraced(void)
{
	for (unsigned i = 0; i < N(shapes); i++) {
		char path[320];
		struct ledger *l;
		const char *argv[] = { program, path, shapes[i].threads, shapes[i].calls, shapes[i].ending, NULL };

		snprintf(path, sizeof(path), "%s/untraced", directory);
		unlink(path);
		l = ledger_open(path);
		l->go = 1;
		if (run_program(results[i], sizeof(results[i]), argv) != 0) {
			fprintf(stderr, "%s does not run\n", program);
			exit(2);
		}
		munmap((void *)l, sizeof(*l));
	}
}

struct passes { unsigned n[N(modes)][N(shapes)][256]; };
static struct passes passes[N(deeds)];

/* How often each point is passed in a run that nobody disturbs. */
static void count_passes(unsigned side, unsigned mode, unsigned shape)
{
	const struct scenario s = { .deed = side, .mode = mode, .shape = shape };
	static struct trial t;

	prepare(&t, &s, 0);
	t.prey.passed = passes[side].n[mode][shape];
	t.prey.passed_handling = passes[FIRST_HANDLER].n[mode][shape];
	hunt(&t);
	check_whole(&t);
	check_left_overs(&t);
	munmap((void *)t.prey.ledger, sizeof(*t.prey.ledger));
	if (t.problem[0])
		printf("# counting, %s mode, %s: %s\n", modes[mode], shapes[shape].name, t.problem);
}


/* The k-th choice among n passings: first, last, and evenly between. */
static unsigned choose(unsigned n, unsigned k, unsigned choices)
{
	if (choices <= 1 || n == 1)
		return 1;
	return 1 + (unsigned)((unsigned long)(n - 1) * k / (choices - 1));
}

static struct scenario *plan(unsigned wanted, unsigned *n)
{
	struct scenario *all = NULL;
	unsigned most = 0, have = 0;

	for (unsigned depth = 1; have < wanted && depth <= 4096; depth *= 2) {
		have = 0;
		for (unsigned deed = 0; deed < N(deeds); deed++)
			for (unsigned mode = 0; mode < N(modes); mode++)
				for (unsigned shape = 0; shape < N(shapes); shape++)
					for (unsigned p = 0; p < n_points[deeds[deed].side]; p++) {
						unsigned passed = passes[deed].n[mode][shape][p];
						unsigned choices = passed < depth ? passed : depth;

						for (unsigned k = 0; k < choices; k++) {
							if (have == most)
								all = realloc(all, (most = most * 2 + 64) * sizeof(*all));
							all[have++] = (struct scenario){ deed, mode, shape, p,
											 choose(passed, k, choices) };
						}
					}
	}
	*n = have;
	return all;
}

/* Spread evenly: each step-th, so that a small number has some of everything. */
static void work(const struct scenario *all, unsigned n, unsigned wanted, int worker, int to)
{
	static struct trial t;
	char line[900];

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (unsigned i = (unsigned)worker; i < wanted; i += WORKERS) {
		run_trial(&t, &all[(unsigned long)i * n / wanted], worker);
		describe(&t, line, sizeof(line));
		if (write(to, line, strlen(line)) < 0)
			_exit(1);
	}
	_exit(0);
}

static int tell(int from)
{
	unsigned n = 0, reached = 0, bad = 0, live = 0;
	FILE *f = fdopen(from, "r");
	char line[1000];

	while (fgets(line, sizeof(line), f)) {
		char *dash = strstr(line, " - ");

		if (!dash)
			continue;
		*dash = '\0';
		bad += line[0] == 'n';
		reached += !strstr(dash + 1, "(not reached)");
		live += strstr(dash + 1, "recovered from its memory") != NULL;
		printf("%s %u -%s", line, ++n, dash + 2);
		fflush(stdout);
	}
	printf("# %u scenarios, %u of them reached their point, %u recovered from a living program's memory, %u failed\n"
	       "1..%u\n", n, reached, live, bad, n);
	return bad ? 1 : 0;
}

static unsigned add_late_points(void)
{
	static const char *const names[] = { POINT_TRAMPOLINE, POINT_STUB };

	points[SIDE_AGENT] = realloc(points[SIDE_AGENT], (n_points[SIDE_AGENT] + 2) * sizeof(struct point));
	for (unsigned i = 0; i < 2; i++)
		points[SIDE_AGENT][n_points[SIDE_AGENT] + i] = (struct point){ 0, names[i] };
	return n_points[SIDE_AGENT] + 2;
}

static void count_all(void)
{
	for (unsigned side = 0; side < 2; side++)
		for (unsigned mode = 0; mode < N(modes); mode++)
			for (unsigned shape = 0; shape < N(shapes); shape++)
				count_passes(side, mode, shape);
	for (unsigned deed = FIRST_HANDLER + 1; deed < N(deeds); deed++)
		passes[deed] = passes[FIRST_HANDLER];
}

int main(int argc, char **argv)
{
	struct scenario *all;
	unsigned n, wanted;
	int to[2];

	if (argc != 6 || pipe(to) < 0)
		return 2;
	brace = argv[1];
	agent = argv[2];
	program = argv[3];
	directory = argv[4];
	wanted = (unsigned)atoi(argv[5]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (!realpath(agent, agent_path))
		return 2;
	n_points[SIDE_AGENT] = points_read(agent, &points[SIDE_AGENT]);
	n_points[SIDE_BRACE] = points_read(brace, &points[SIDE_BRACE]);
	n_points[SIDE_AGENT] = add_late_points();
	run_untraced();
	count_all();
	all = plan(wanted, &n);
	printf("# %u points in the agent, %u in brace; %u scenarios are there\n", n_points[0], n_points[1], n);
	if (wanted > n)
		wanted = n;
	for (int i = 0; i < WORKERS; i++)
		if (fork() == 0)
			work(all, n, wanted, i, to[1]);
	close(to[1]);
	return tell(to[0]);
}
