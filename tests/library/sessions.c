/* SPDX-License-Identifier: MIT */
/* Sessions of libbrace, in a host that makes it hard: sessions ANSWERS, where ANSWERS is the
 * program that does what it is told (tests/targets/answers.c). Exit status 0 if all is as
 * include/brace.h promises, 77 if this machine does not let a process attach. */
#include <brace.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPECT(what) do { if (!(what)) { \
	fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #what, brace_error()); exit(1); } } while (0)

/* --- the program that does what it is told ------------------------------------------- */

static const char *answers;
static FILE *to, *from; /* its input and output */

/* Its input and output become this process's, which a program that is started here inherits. */
static void make_ends(void)
{
	int in[2], out[2];

	EXPECT(!pipe2(in, O_CLOEXEC) && !pipe2(out, O_CLOEXEC));
	EXPECT(dup2(in[0], 0) == 0 && dup2(out[1], 1) == 1);
	close(in[0]);
	close(out[1]);
	to = fdopen(in[1], "w");
	from = fdopen(out[0], "r");
	EXPECT(to && from);
}

static void expect_line(const char *begin)
{
	char line[64];

	EXPECT(fgets(line, sizeof(line), from) && !strncmp(line, begin, strlen(begin)));
}

static void tell(int leaves)
{
	fprintf(to, "%d\n", leaves);
	fflush(to);
	expect_line("done ");
}

static void quit_program(void)
{
	EXPECT(fputs("q\n", to) >= 0 && !fflush(to));
}

static unsigned count_in(const char *text, const char *word)
{
	unsigned n = 0;

	while ((text = strstr(text, word))) {
		text += strlen(word);
		n++;
	}
	return n;
}

static unsigned count_of(struct brace_session *s, const char *word)
{
	const char *text;

	EXPECT(brace_session_read(s, "trace", &text) == 0);
	return count_in(text, word);
}

static struct brace_session *start(const char *name, const char *option)
{
	const char *const argv[] = { answers, NULL }, *const options[] = { option, NULL };
	const struct brace_session_options how = { .size = sizeof(how), .name = name,
						    .options = options, .argv = argv };
	struct brace_session *s;

	EXPECT(brace_session_start(&how, &s) == 0 && s);
	expect_line("ready");
	return s;
}

static void end(struct brace_session *s)
{
	quit_program();
	EXPECT(brace_session_wait(s) == 0 && brace_session_end(s) == 0);
	brace_session_close(s);
}

/* --- one session --------------------------------------------------------------------- */

static unsigned calls_in(const char *path)
{
	const struct brace_call *call;
	struct brace_trace *t;
	struct brace_calls *c;
	unsigned n = 0;

	EXPECT(brace_trace_open(path, &t) == 0 && brace_calls_open(t, NULL, &c) == 0);
	while (brace_calls_next(c, &call) > 0)
		n += call->kind == BRACE_CALL_LEAVE || call->kind == BRACE_CALL_WHOLE;
	brace_calls_close(c);
	brace_trace_close(t);
	return n;
}

/* Settings, probes and histograms, each by its file. */
static void settings(struct brace_session *s)
{
	const char *text;
	size_t column;

	tell(5);
	EXPECT(count_of(s, "leaf()") == 5);
	EXPECT(brace_session_write(s, "set_ftrace_filter", "request") == 0);
	tell(7);
	EXPECT(count_of(s, "leaf()") == 5 && count_of(s, "request()") == 1);
	EXPECT(brace_session_append(s, "dynamic_events", "p:asked leaf") == 0);
	EXPECT(brace_session_write(s, "events/uprobes/asked/trigger", "hist:keys=common_pid") == 0 ||
	       brace_session_write(s, "events/kprobes/asked/trigger", "hist:keys=common_pid") == 0);
	tell(11);
	EXPECT(brace_session_read(s, "events/uprobes/asked/hist", &text) == 0 ||
	       brace_session_read(s, "events/kprobes/asked/hist", &text) == 0);
	EXPECT(strstr(text, "hitcount:         11"));
	EXPECT(brace_session_read(s, "events", &text) == 0 && strstr(text, "syscalls"));
	EXPECT(brace_session_write(s, "current_tracer", "nonesuch") < 0 && *brace_error());
	EXPECT(brace_session_append(s, "dynamic_events", "p:wrong leaf name=%si:nonesuch") < 0);
	EXPECT(strstr(brace_error_input(&column), "nonesuch") && column > 0);
	EXPECT(brace_session_read(s, "no_such_file", &text) < 0 && !text && *brace_error());
}

static int find_name(void *arg, const char *name)
{
	return !strcmp(name, arg) ? *(char *)arg = '!' : 0;
}

static void names(struct brace_session *s)
{
	char name[64], other[] = "two";
	struct brace_session *same;

	snprintf(name, sizeof(name), "%s", brace_session_name(s));
	EXPECT(brace_session_names(find_name, name) == 0 && *name == '!');
	EXPECT(brace_session_names(find_name, other) == 0 && *other == 't');
	EXPECT(brace_session_connect(brace_session_name(s), &same) == 0);
	EXPECT(count_of(same, "request()") == 2);
	brace_session_close(same);
	EXPECT(brace_session_connect("two", &same) == -ENOENT && !same && strstr(brace_error(), "two"));
}

struct streamed { unsigned lines; };

/* Has enough with the tenth line. */
static int take_lines(void *arg, const char *bytes, size_t n)
{
	struct streamed *to_count = arg;

	for (size_t i = 0; i < n; i++)
		to_count->lines += bytes[i] == '\n';
	return to_count->lines >= 10;
}

static void *tell_fifteen(void *arg)
{
	tell(15);
	return NULL;
}

/* The whole life of one. */
static void life(void)
{
	struct streamed got = { 0 };
	struct brace_session *s = start(NULL, "filter=leaf");
	pthread_t other;

	settings(s);
	names(s);
	EXPECT(brace_session_write(s, "set_ftrace_filter", "leaf") == 0);
	EXPECT(!pthread_create(&other, NULL, tell_fifteen, NULL));
	EXPECT(brace_session_stream(s, "trace_pipe", take_lines, &got) == 0 && got.lines >= 10);
	EXPECT(!pthread_join(other, NULL));
	EXPECT(brace_session_write(s, "trace", "") == 0);
	tell(20);
	EXPECT(brace_session_extract(s, "extracted") == 0 && calls_in("extracted") == 20);
	quit_program();
	EXPECT(brace_session_wait(s) == 0);
	EXPECT(brace_session_end(s) == 0);
	EXPECT(brace_session_write(s, "tracing_on", "0") == -ENOENT);
	brace_session_close(s);
}

/* --- what is refused ----------------------------------------------------------------- */

static int try_start(const char *name, const char *option, const char *program, const char *brace)
{
	const char *const argv[] = { program, NULL }, *const options[] = { option, NULL };
	const struct brace_session_options how = { .size = sizeof(how), .name = name,
		.options = option ? options : NULL, .argv = program ? argv : NULL, .brace = brace };
	struct brace_session *s = (void *)&how;
	int r = brace_session_start(&how, &s);

	EXPECT(r >= 0 || (!s && *brace_error()));
	return r;
}

static void refusals(void)
{
	struct brace_session *s = start("taken", "filter=leaf");
	size_t column;

	EXPECT(try_start("taken", NULL, answers, NULL) < 0 && strstr(brace_error(), "runs already"));
	EXPECT(try_start(NULL, NULL, "/nonexistent/program", NULL) == -ENOENT &&
	       strstr(brace_error(), "/nonexistent/program"));
	EXPECT(try_start(NULL, NULL, "/", NULL) == -EACCES);
	EXPECT(try_start(NULL, "filter=no_such_function", answers, NULL) == -EINVAL &&
	       strstr(brace_error(), "no_such_function"));
	EXPECT(try_start(NULL, "event=p:x leaf a=%si:nonesuch", answers, NULL) < 0 &&
	       strstr(brace_error_input(&column), "nonesuch") && column > 0);
	EXPECT(try_start(NULL, "no-such-option", answers, NULL) < 0 && strstr(brace_error(), "no-such-option"));
	EXPECT(try_start(NULL, "--filter=leaf", answers, NULL) == -EINVAL);
	EXPECT(try_start("a/b", NULL, answers, NULL) < 0);
	EXPECT(try_start(NULL, NULL, NULL, NULL) == -EINVAL);
	EXPECT(try_start(NULL, NULL, answers, "/nonexistent/brace") == -ENOENT &&
	       strstr(brace_error(), "/nonexistent/brace"));
	end(s);
}

/* --- hosts ---------------------------------------------------------------------------- */

static int open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* A host that ignores SIGCHLD: the command's status is lost to the library. */
static void ignoring(void)
{
	struct sigaction now;
	int descriptors = open_descriptors();

	signal(SIGCHLD, SIG_IGN);
	end(start(NULL, "filter=leaf"));
	EXPECT(try_start(NULL, NULL, "/nonexistent/program", NULL) < 0 &&
	       strstr(brace_error(), "/nonexistent/program"));
	EXPECT(!sigaction(SIGCHLD, NULL, &now) && now.sa_handler == SIG_IGN);
	EXPECT(open_descriptors() == descriptors);
}

static void take_child(int sig)
{
	int saved = errno;

	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	errno = saved;
}

static void reaping(void)
{
	struct sigaction act = { .sa_handler = take_child };

	EXPECT(!sigaction(SIGCHLD, &act, NULL));
	end(start(NULL, "filter=leaf"));
}

static volatile int storming = 1;

static void *storm(void *arg)
{
	while (storming) {
		free(malloc(100));
		setenv("BRACE_TEST_STORM", "1", 1);
	}
	return NULL;
}

/* Threads that hold the host's locks nearly always. */
static void threads(void)
{
	pthread_t others[4];

	for (int i = 0; i < 4; i++)
		EXPECT(!pthread_create(&others[i], NULL, storm, NULL));
	for (int i = 0; i < 3; i++)
		end(start(NULL, "filter=leaf"));
	storming = 0;
	for (int i = 0; i < 4; i++)
		EXPECT(!pthread_join(others[i], NULL));
}

/* A process that runs already, and is as it was afterwards. */
static void attached(void)
{
	pid_t pid = fork();
	struct brace_session *s;
	const struct brace_session_options how = { .size = sizeof(how), .pids = &pid, .n_pids = 1 };
	int status;

	if (!pid) {
		execl(answers, answers, (char *)NULL);
		_exit(1);
	}
	expect_line("ready");
	if (brace_session_start(&how, &s) == -EINVAL && strstr(brace_error(), "ptrace")) {
		fprintf(stderr, "%s\n", brace_error());
		kill(pid, SIGKILL);
		exit(77);
	}
	EXPECT(s);
	tell(6);
	EXPECT(count_of(s, "leaf()") == 6);
	EXPECT(brace_session_end(s) == 0);
	brace_session_close(s);
	tell(3);
	quit_program();
	EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
}

static const struct { const char *name; void (*check)(void); } checks[] = {
	{ "life", life }, { "refusals", refusals }, { "ignoring", ignoring },
	{ "reaping", reaping }, { "threads", threads }, { "attached", attached },
};

int main(int argc, char **argv)
{
	EXPECT(argc == 3);
	answers = argv[2];
	make_ends();
	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
		if (!strcmp(argv[1], checks[i].name)) {
			checks[i].check();
			return 0;
		}
	return 2;
}
