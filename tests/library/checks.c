/* SPDX-License-Identifier: MIT */
/* What libbrace promises beside its figures, on a real trace: checks NAME FILE, exit status 0 if it
 * is so. Allocations of the whole process, the library's included, pass through this program, and
 * the check `memory` makes each of them fail once. */
#include <brace.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPECT(what) do { if (!(what)) { \
	printf("%s:%d: %s (%s)\n", __FILE__, __LINE__, #what, brace_error()); exit(1); } } while (0)

/* --- memory that runs out ------------------------------------------------------------ */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static __thread long countdown; /* allocations until the one that fails; 0: none does */
static __thread long counted;

static int is_the_one(void)
{
	counted++;
	return countdown && !--countdown;
}

void *malloc(size_t n)
{
	return is_the_one() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return is_the_one() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return is_the_one() ? NULL : __libc_realloc(p, n);
}

/* --- what programs do ---------------------------------------------------------------- */

static struct brace_trace *open_trace(const char *file)
{
	struct brace_trace *t = NULL;

	EXPECT(brace_trace_open(file, &t) == 0 && t);
	return t;
}

static struct brace_calls *open_calls(struct brace_trace *t)
{
	struct brace_calls *c = NULL;

	EXPECT(brace_calls_open(t, NULL, &c) == 0 && c);
	return c;
}

/* A sum that no two readings of one trace differ in. */
static uint64_t rest_of(struct brace_calls *c)
{
	const struct brace_call *call;
	uint64_t sum = 0;
	int r;

	while ((r = brace_calls_next(c, &call)) > 0)
		sum = sum * 31 + call->time + call->self + call->function + call->kind;
	EXPECT(r == 0);
	return sum;
}

static uint64_t sum_of(struct brace_trace *t)
{
	struct brace_calls *c = open_calls(t);
	uint64_t sum = rest_of(c);

	brace_calls_close(c);
	return sum;
}

/* libtraceevent, which makes the line, does not bear a want of memory: the header says so. */
static int use_event(struct brace_trace *t, struct brace_calls *c, uint32_t event)
{
	const struct brace_event *e = brace_trace_event(t, event);

	for (uint32_t i = 0; e && i < e->fields; i++)
		if (!brace_trace_field(t, event, i) || !brace_calls_field(c, i))
			return -ENOMEM;
	return e && (countdown || brace_calls_line(c)) ? 1 : -ENOMEM;
}

/* Everything once. -errno of what failed first. */
static int use_all(const char *file)
{
	struct brace_trace *t = NULL;
	struct brace_calls *c = NULL;
	struct brace_query *q = NULL;
	struct brace_rows *rows = NULL, *report = NULL;
	const struct brace_call *call;
	int r = brace_trace_open(file, &t);

	for (uint32_t i = 0; !r && i < brace_trace_function_count(t) && i < 50; i++)
		r = brace_trace_function(t, i) ? 0 : -ENOMEM;
	if (!r)
		r = brace_calls_open(t, NULL, &c);
	for (int i = 0; r >= 0 && i < 5000 && c; i++) {
		r = brace_calls_next(c, &call);
		if (r > 0 && call->kind == BRACE_CALL_EVENT)
			r = use_event(t, c, call->event);
	}
	if (r >= 0)
		r = brace_report_open(t, NULL, "calls", &report);
	if (!r)
		r = brace_query_open(t, &q);
	if (!r)
		r = brace_query_run(q, "SELECT name, count(*) FROM slice GROUP BY name", &rows);
	while (rows && (r = brace_rows_next(rows)) > 0)
		(void)brace_rows_text(rows, 0);
	brace_trace_close(t);
	brace_query_close(q);
	brace_rows_close(rows);
	brace_rows_close(report);
	brace_calls_close(c);
	return r;
}

/* --- the checks ---------------------------------------------------------------------- */

static void *see_no_error(void *arg)
{
	(void)arg;
	EXPECT(!strcmp(brace_error(), ""));
	return NULL;
}

static void errors(const char *file)
{
	struct brace_trace *t = (struct brace_trace *)&t;
	struct brace_calls *c;
	struct brace_rows *rows;
	struct { struct brace_part part; char later[8]; } newer;
	struct brace_part unset = { 0 };
	size_t column;
	pthread_t other;

	EXPECT(!strcmp(brace_error(), ""));
	EXPECT(brace_trace_open("/nonexistent/trace", &t) == -ENOENT && !t);
	EXPECT(strstr(brace_error(), "/nonexistent/trace"));
	EXPECT(!pthread_create(&other, NULL, see_no_error, NULL) && !pthread_join(other, NULL));
	EXPECT(brace_trace_open("/dev/null", &t) < 0 && brace_trace_open("/", &t) < 0);
	EXPECT(brace_trace_open_memory("nothing", NULL, 0, &t) < 0);
	t = open_trace(file);
	EXPECT(brace_calls_open(t, &unset, &c) == -EINVAL && !c && strstr(brace_error(), "size"));
	memset(&newer, 0, sizeof(newer));
	newer.part.size = sizeof(newer);
	EXPECT(brace_calls_open(t, &newer.part, &c) == 0);
	EXPECT(!brace_calls_field(c, 0) && !brace_calls_line(c) && brace_calls_find(c, "x") < 0);
	brace_calls_close(c);
	newer.later[3] = 1;
	EXPECT(brace_calls_open(t, &newer.part, &c) == -EINVAL && strstr(brace_error(), "know"));
	EXPECT(brace_report_open(t, NULL, "colour", &rows) == -EINVAL && strstr(brace_error(), "colour"));
	EXPECT(!strcmp(brace_error_input(&column), "colour") && column == 0);
	EXPECT(!brace_trace_function(t, brace_trace_function_count(t)));
	EXPECT(!strcmp(brace_trace_function(t, 0)->name, "[unknown]"));
	EXPECT(!brace_trace_event(t, UINT32_MAX) && !brace_trace_field(t, UINT32_MAX, 0));
	EXPECT(!brace_trace_thread(t, brace_trace_thread_count(t)));
	brace_trace_close(t);
	brace_trace_close(NULL);
	brace_calls_close(NULL);
	brace_query_close(NULL);
	brace_rows_close(NULL);
}

/* Cursors keep what they read from. */
static void order(const char *file)
{
	struct brace_trace *t = open_trace(file);
	struct brace_calls *c = open_calls(t);
	struct brace_query *q;
	struct brace_rows *rows, *more;
	uint64_t whole = sum_of(t);

	EXPECT(brace_query_open(t, &q) == 0);
	EXPECT(brace_query_run(q, "CREATE VIEW v AS SELECT name FROM slice; SELECT * FROM v -- its rows",
			       &rows) == 0);
	EXPECT(brace_query_run(q, "SELECT 1 AS one", &more) == 0);
	brace_trace_close(t);
	brace_query_close(q);
	EXPECT(brace_rows_type(rows, 0) == BRACE_TYPE_NULL && !brace_rows_text(rows, 0));
	EXPECT(brace_rows_next(rows) == 1 && brace_rows_type(rows, 0) == BRACE_TYPE_TEXT);
	EXPECT(brace_rows_next(more) == 1 && brace_rows_int(more, 0) == 1);
	EXPECT(!strcmp(brace_rows_name(more, 0), "one") && !brace_rows_name(more, 1));
	EXPECT(brace_rows_next(more) == 0 && brace_rows_next(more) == 0);
	EXPECT(brace_rows_type(more, 0) == BRACE_TYPE_NULL);
	brace_rows_close(more);
	brace_rows_close(rows);
	EXPECT(rest_of(c) == whole);
	brace_calls_close(c);
}

static void *sum_in_thread(void *arg)
{
	uint64_t *sum = malloc(sizeof(*sum));

	*sum = sum_of(arg);
	return sum;
}

#define THREADS 4
static void threads(const char *file)
{
	struct brace_trace *t = open_trace(file);
	uint64_t *sums[THREADS], whole = sum_of(t);
	pthread_t made[THREADS];

	for (int i = 0; i < THREADS; i++)
		EXPECT(!pthread_create(&made[i], NULL, sum_in_thread, t));
	/* Descriptions are this thread's, meanwhile. */
	for (uint32_t i = 0; i < brace_trace_function_count(t); i++)
		EXPECT(brace_trace_function(t, i));
	for (int i = 0; i < THREADS; i++) {
		EXPECT(!pthread_join(made[i], (void **)&sums[i]) && *sums[i] == whole);
		free(sums[i]);
	}
	brace_trace_close(t);
}

static void forks(const char *file)
{
	struct brace_trace *t = open_trace(file);
	struct brace_calls *c = open_calls(t);
	const struct brace_call *call;
	uint64_t whole = sum_of(t), parents;
	int pipes[2], status;
	uint64_t childs[2] = { 0, 0 };
	pid_t child;

	for (int i = 0; i < 1000; i++)
		EXPECT(brace_calls_next(c, &call) == 1);
	EXPECT(!pipe(pipes));
	child = fork();
	if (!child) {
		childs[0] = rest_of(c);
		childs[1] = sum_of(t);
		EXPECT(write(pipes[1], childs, sizeof(childs)) == sizeof(childs));
		exit(use_all(file) ? 1 : 0);
	}
	parents = rest_of(c);
	EXPECT(read(pipes[0], childs, sizeof(childs)) == sizeof(childs));
	EXPECT(childs[0] == parents && childs[1] == whole);
	EXPECT(waitpid(child, &status, 0) == child && status == 0);
	brace_calls_close(c);
	brace_trace_close(t);
}

static int count_of(const char *directory)
{
	DIR *d = opendir(directory);
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* The library leaves no thread, no descriptor and no handler behind. */
static void quiet(const char *file)
{
	int descriptors = count_of("/proc/self/fd"), tasks = count_of("/proc/self/task");
	struct sigaction before[65], after;
	sigset_t mask, mask_after;
	struct brace_trace *t;

	memset(before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	for (int i = 1; i < 65; i++)
		sigaction(i, NULL, &before[i]);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	t = open_trace(file);
	EXPECT(use_all(file) == 0);
	EXPECT(count_of("/proc/self/task") == tasks);
	brace_trace_close(t);
	EXPECT(count_of("/proc/self/fd") == descriptors);
	for (int i = 1; i < 65; i++) {
		EXPECT(sigaction(i, NULL, &after) || after.sa_handler == before[i].sa_handler);
	}
	sigprocmask(SIG_SETMASK, NULL, &mask_after);
	EXPECT(!memcmp(&mask, &mask_after, sizeof(mask)));
}

/* Each allocation fails once: an error, and the process goes on. */
static void memory(const char *file)
{
	long n, failures = 0, step;

	EXPECT(use_all(file) == 0);
	counted = 0;
	EXPECT(use_all(file) == 0);
	n = counted;
	/* All of the first hundred, and as many of the others. */
	for (long i = 1; i <= n; i += step) {
		int r;

		step = i < 100 ? 1 : 1 + n / 100;
		countdown = i;
		r = use_all(file);
		countdown = 0;
		EXPECT(r == 0 || r == -ENOMEM || *brace_error());
		failures += r < 0;
	}
	printf("%ld allocations, %ld failed calls\n", n, failures);
	EXPECT(failures > 50 && use_all(file) == 0);
}

/* Reads all that can be read of these bytes. True: it was opened. */
static int read_bytes(const char *bytes, size_t n)
{
	const struct brace_call *call;
	struct brace_trace *t;
	struct brace_calls *c;
	struct brace_rows *rows;
	int r;

	if (brace_trace_open_memory("bytes", bytes, n, &t)) {
		EXPECT(*brace_error());
		return 0;
	}
	for (uint32_t i = 0; i < brace_trace_function_count(t) && i < 1000; i++)
		EXPECT(brace_trace_function(t, i)->name);
	c = open_calls(t);
	while ((r = brace_calls_next(c, &call)) > 0)
		EXPECT(call->thread < brace_trace_thread_count(t) &&
		       call->function < brace_trace_function_count(t));
	EXPECT(r == 0 || *brace_error());
	if (r < 0)
		EXPECT(brace_calls_next(c, &call) == r);
	brace_calls_close(c);
	if (!brace_report_open(t, NULL, NULL, &rows)) {
		while (brace_rows_next(rows) > 0)
			EXPECT(brace_rows_text(rows, 0));
		brace_rows_close(rows);
	}
	brace_trace_close(t);
	return 1;
}

#define CUTS 24
/* A trace that was cut is read up to the cut; one with a wrong byte is read, or refused. */
static void damage(const char *file)
{
	int fd = open(file, O_RDONLY), opened = 0;
	struct stat st;
	char *bytes;

	EXPECT(fd >= 0 && !fstat(fd, &st));
	bytes = malloc((size_t)st.st_size);
	EXPECT(read(fd, bytes, (size_t)st.st_size) == st.st_size);
	close(fd);
	for (long i = 0; i < CUTS; i++) {
		size_t at = (size_t)(st.st_size * i / CUTS);

		opened += read_bytes(bytes, at);
		bytes[at] ^= 0x41;
		opened += read_bytes(bytes, (size_t)st.st_size);
		bytes[at] ^= 0x41;
	}
	EXPECT(opened > CUTS / 4);
	free(bytes);
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*check)(const char *file); } checks[] = {
		{ "errors", errors }, { "order", order }, { "threads", threads }, { "forks", forks },
		{ "quiet", quiet }, { "memory", memory }, { "damage", damage },
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
		if (argc == 3 && !strcmp(argv[1], checks[i].name)) {
			checks[i].check(argv[2]);
			return 0;
		}
	fprintf(stderr, "usage: checks NAME FILE\n");
	return 2;
}
