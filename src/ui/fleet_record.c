/* SPDX-License-Identifier: MIT */
/* cmd/fleet.c calls it, on brace's main thread; each host has a thread meanwhile. First all hosts
 * are prepared, then all begin at one moment, then the traces come. A host that fails in any of the
 * three is told of, and the others go on. Fails on a list of hosts and on a folder that cannot be
 * made. */
#include "ui/fleet_record.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/child_signal.h"
#include "base/descriptors.h"
#include "base/json.h"
#include "base/new_file.h"
#include "base/write_all.h"
#include "fleet/remote.h"
#include "inject/agent_path.h"
#include "store/store.h"
#include "ui/interrupt.h"
#include "ui/run_helper.h"
#include "ui/say.h"
#include "ui/summary.h"

#define NS UINT64_C(1000000000)
#define SILENCE_NS (30 * NS)
#define TRACE_MOST (UINT64_C(16) << 30) /* bytes of one host's trace */
/* Descriptors that brace has open in any case; and for each host: of its connection, of one that is
 * being made, or a copy that goes there. */
#define OWN_DESCRIPTORS 32
#define HOST_DESCRIPTORS 6
#define SOON_NS NS     /* from all hosts' being ready to the beginning */
#define FOLDER "fleet.traces"

/* A host, with its thread, and what came of it. */
struct fleet_host {
	struct remote_host remote;
	pthread_t thread;
	bool has_thread, has_trace;
	char *path;          /* of its trace here */
	uint64_t calls, lost;
	int64_t began_ns;    /* after the moment that was agreed on, by this machine's clock */
};

struct fleet_recording {
	const struct invocation *inv;
	struct remote_spec spec;
	remote_names names;
	VEC(struct fleet_host) hosts;
	uint64_t at;         /* CLOCK_REALTIME of the beginning */
	pthread_mutex_t lock; /* of what is printed */
};

/* --- a host's own thread ----------------------------------------------------- */

static int print(void *arg, const char *bytes, size_t n)
{
	return write_all(STDOUT_FILENO, bytes, n);
}

/* The `tell` of struct remote_spec. A terminal gets no byte of a host's as it is. */
static void tell(void *arg, const char *host, bool is_error, const char *line, size_t n)
{
	struct fleet_recording *f = arg;
	struct out o;

	/* A line is written whole under the lock: otherwise lines of two hosts, which come on two
	 * threads, would be mixed. */
	pthread_mutex_lock(&f->lock);
	out_init(&o, is_error ? say_bytes : print, NULL);
	out_foreign(&o, host, strlen(host));
	out_str(&o, ": ");
	out_foreign(&o, line, n);
	out_char(&o, '\n');
	out_flush(&o);
	out_free(&o);
	pthread_mutex_unlock(&f->lock);
}

/* The threads' functions. A host's thread alone uses its struct fleet_host until wait_for_all() has
 * joined it: only the printing is shared, and has the lock. Errors stay in remote.why. */
static void *prepare(void *arg)
{
	struct fleet_host *h = arg;

	remote_prepare(&h->remote);
	return NULL;
}

static void *end(void *arg)
{
	struct fleet_host *h = arg;

	remote_end(&h->remote);
	return NULL;
}

/* The moment is the same for all; its place in the spec is the command's. */
struct fleet_turn { struct fleet_host *host; uint64_t at; };

/* remote.status is no reason against fetching: a program that failed there leaves a trace, too. */
static void *record(void *arg)
{
	struct fleet_turn *t = arg;
	struct fleet_host *h = t->host;

	if (!remote_record(&h->remote, t->at) && !remote_fetch(&h->remote, h->path))
		h->has_trace = true;
	return NULL;
}

/* Without a timeout: remote_prepare() and the others give a host up by themselves after silence_ns,
 * or when the user has asked twice (spec.given_up). */
static void wait_for_all(struct fleet_recording *f)
{
	for (size_t i = 0; i < f->hosts.n; i++)
		if (f->hosts.at[i].has_thread) {
			pthread_join(f->hosts.at[i].thread, NULL);
			f->hosts.at[i].has_thread = false;
		}
}

/* A host without a thread is out of the recording, as one that does not answer is: `why` has a
 * code, by which record_all() leaves it out. */
static void start(struct fleet_host *h, void *(*run)(void *), void *arg)
{
	const int e = pthread_create(&h->thread, NULL, run, arg);

	h->has_thread = !e;
	if (e)
		err_set(&h->remote.why, e, "cannot start a thread: %s", strerror(e));
}

/* --- what came ----------------------------------------------------- */

/* The figures are those of the file itself, not of words that the host printed. A file that is no
 * trace counts as none. */
static void look_at(struct fleet_host *h, uint64_t at)
{
	struct store_reader *reader;

	if (!h->has_trace)
		return;
	if (store_open(h->path, &reader, &h->remote.why)) {
		h->has_trace = false;
		return;
	}
	h->calls = store_info(reader)->total.calls;
	h->lost = store_info(reader)->total.lost;
	/* Unsigned, since the host's file may say any time. */
	h->began_ns = (int64_t)(store_info(reader)->clock.real_ns - at -
				(uint64_t)h->remote.offset_ns);
	store_close(reader);
}

/* Times with their signs, in milliseconds. */
static void say_host(const struct fleet_host *h)
{
	const struct remote_host *r = &h->remote;
	char calls[32];

	if (!h->has_trace) {
		say("brace: %s: %s\n", r->host, r->why.code ? r->why.text : "it was not asked");
		return;
	}
	say("brace: %s: %s calls in %s; its clock is %+.3f ms (within %.3f ms), it began %+.3f ms from the moment agreed on%s\n",
	    r->host, summary_grouped(h->calls, calls), h->path, (double)r->offset_ns / 1e6,
	    (double)r->error_ns / 1e6, (double)h->began_ns / 1e6, r->copied ? "; brace was copied there" : "");
	if (h->lost)
		say_warning("%s: %" PRIu64 " records were lost", r->host, h->lost);
	if (r->status)
		say("brace: %s: brace record ended with status %d\n", r->host, r->status);
}

/* A line of JSON a host, for whoever compares times of two traces. */
static void write_hosts(const struct fleet_recording *f, struct out *o)
{
	for (size_t i = 0; i < f->hosts.n; i++) {
		const struct fleet_host *h = &f->hosts.at[i];

		out_str(o, "{\"host\":");
		json_string(o, h->remote.host);
		out_printf(o, ",\"trace\":");
		json_string(o, h->has_trace ? h->path : "");
		out_printf(o, ",\"clock_offset_ns\":%" PRId64 ",\"clock_error_ns\":%" PRIu64
			      ",\"began_ns\":%" PRId64 ",\"status\":%d,\"error\":",
			   h->remote.offset_ns, h->remote.error_ns, h->began_ns, h->remote.status);
		json_string(o, h->has_trace ? "" : h->remote.why.text);
		out_str(o, "}\n");
	}
}

/* FOLDER/hosts.json, which has its name only when it is whole. 0, or -errno (said). */
static int write_list(const struct fleet_recording *f, const char *folder)
{
	char *path = mem_printf("%s/hosts.json", folder), *text;
	struct out_text kept = { 0 };
	struct whole_file file;
	struct err err = { 0 };
	struct out o;
	int r;

	out_init_raw(&o, out_keep_text, &kept);
	write_hosts(f, &o);
	text = out_text_end(&o);
	r = new_file_begin(&file, path, "list of hosts", &err);
	if (r >= 0) {
		r = write_all(file.fd, text, strlen(text));
		if (r)
			err_set(&err, -r, "cannot write %s: %s", path, strerror(-r));
		if (r)
			new_file_end(&file, false, &(struct err){ 0 });
		else
			r = new_file_end(&file, true, &err);
	}
	if (r < 0)
		say_error(&err);
	free(path);
	free(text);
	return r < 0 ? r : 0;
}

/* Says what came of all. Returns the exit status. 0: all hosts gave a trace of a program that ended
 * well; 1: some did not; EXIT_BRACE: there is no trace at all. */
static int judge(const struct fleet_recording *f)
{
	size_t traces = 0, well = 0;

	for (size_t i = 0; i < f->hosts.n; i++) {
		say_host(&f->hosts.at[i]);
		traces += f->hosts.at[i].has_trace;
		well += f->hosts.at[i].has_trace && !f->hosts.at[i].remote.status;
	}
	if (traces < f->hosts.n)
		say_warning("%zu of %zu hosts gave a trace", traces, f->hosts.n);
	return !traces ? EXIT_BRACE : well < f->hosts.n;
}

/* --- the command ----------------------------------------------------- */

/* Options of record that name files there, of which only one trace comes back. */
static int check_arguments(char *const *arguments)
{
	static const char *const files[] = { "output", "rotate", "snapshot-on", "ring", NULL };
	const char *name = invocation_option_of(command_find("record"), arguments, files);

	if (!name)
		return 0;
	say("brace: fleet record brings one trace of each host here: no --%s behind `record` (-o DIR stands before it)\n",
	    name);
	return EXIT_BRACE;
}

/* Asked of the program itself, as remote_prepare() asks the brace of a host: both texts are
 * compared, and a host with another version gets a copy. "?" is nobody's version: no host has it
 * then. For free(). */
static char *own_version(const char *exe)
{
	const char *const argv[] = { exe, "version", NULL };
	struct helper_text t = run_helper(argv, 4096, "\n");

	if (t.text)
		t.text[strcspn(t.text, "\n")] = '\0';
	return t.text ? t.text : mem_strdup("?");
}

/* All hosts are added before a thread starts: a thread keeps a pointer into the vector, which would
 * move as it grows. */
static void add_hosts(struct fleet_recording *f, const char *folder)
{
	for (size_t i = 0; i < f->names.n; i++)
		*vec_add(&f->hosts) = (struct fleet_host){
			.remote = { .host = f->names.at[i], .spec = &f->spec, .in = -1, .out = -1,
				    .errors = -1 },
			.path = mem_printf("%s/%s.brace", folder, f->names.at[i]),
		};
}

/* The moment is taken once all hosts are ready, so that the slowest connection delays all and none
 * begins late. SOON_NS has to last for the way to each host. */
static void record_all(struct fleet_recording *f)
{
	struct fleet_turn *turns = mem_zalloc(f->hosts.n * sizeof(*turns));
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	f->at = (uint64_t)t.tv_sec * NS + (uint64_t)t.tv_nsec + SOON_NS;
	for (size_t i = 0; i < f->hosts.n; i++) {
		turns[i] = (struct fleet_turn){ &f->hosts.at[i], f->at };
		/* A host that was not prepared has no shell that could be asked. */
		if (!f->hosts.at[i].remote.why.code)
			start(&f->hosts.at[i], record, &turns[i]);
	}
	wait_for_all(f);
	free(turns);
}

/* Each on its thread: a host that does not answer delays no other. */
static void end_all(struct fleet_recording *f)
{
	for (size_t i = 0; i < f->hosts.n; i++) {
		look_at(&f->hosts.at[i], f->at);
		start(&f->hosts.at[i], end, &f->hosts.at[i]);
		/* The host has to be rid of all that brace put there, with or without a thread. */
		if (!f->hosts.at[i].has_thread)
			remote_end(&f->hosts.at[i].remote);
	}
	wait_for_all(f);
}

static int run(struct fleet_recording *f, const char *folder)
{
	int status;

	add_hosts(f, folder);
	for (size_t i = 0; i < f->hosts.n; i++)
		start(&f->hosts.at[i], prepare, &f->hosts.at[i]);
	wait_for_all(f);
	/* An interrupt during the preparation records nothing, but what was copied to the hosts is
	 * still removed. */
	if (!stop_asked(f->spec.stop))
		record_all(f);
	end_all(f);
	status = judge(f);
	if (status != EXIT_BRACE && write_list(f, folder))
		status = EXIT_BRACE;
	for (size_t i = 0; i < f->hosts.n; i++)
		free(f->hosts.at[i].path);
	vec_free(&f->hosts);
	return status;
}

/* 0, or EXIT_BRACE (said). exe: room for a path. */
static int find_files(struct fleet_recording *f, char *exe, size_t n, char **agent)
{
	const ssize_t length = readlink("/proc/self/exe", exe, n - 1);
	struct err err;

	if (length <= 0) {
		say("brace: cannot find brace's own file: %s\n", strerror(errno));
		return EXIT_BRACE;
	}
	exe[length] = '\0';
	return agent_path_find(NULL, agent, &err) ? say_error(&err) : 0;
}

/* 0, or EXIT_BRACE (said). Checked before the first connection: running out of descriptors midway
 * would look like the failure of some host. */
static int find_descriptors(size_t hosts)
{
	const uint64_t needed = OWN_DESCRIPTORS + HOST_DESCRIPTORS * (uint64_t)hosts;
	const uint64_t has = descriptors_raise(needed);

	if (has >= needed)
		return 0;
	say("brace: %zu hosts need %" PRIu64 " descriptors, and this process may have %" PRIu64
	    " (ulimit -Hn): name fewer hosts at a time\n", hosts, needed, has);
	return EXIT_BRACE;
}

/* 0700: a trace has arguments and paths of a program. A folder that is there is taken as it is. 0,
 * or EXIT_BRACE (said). */
static int make_folder(const char *folder)
{
	struct stat st;

	if (!mkdir(folder, 0700) || (errno == EEXIST && !stat(folder, &st) && S_ISDIR(st.st_mode)))
		return 0;
	say("brace: cannot make %s, a folder for the traces: %s\n", folder, strerror(errno));
	return EXIT_BRACE;
}

int fleet_record(const struct invocation *inv)
{
	const struct hosts_options *o = &inv->of_hosts;
	const char *folder = inv->output ? inv->output : FOLDER;
	struct fleet_recording f = {
		.inv = inv, .lock = PTHREAD_MUTEX_INITIALIZER,
		.spec = { .ssh = o->ssh ? o->ssh : "ssh", .arguments = inv->operands + 1, .tell = tell,
			  .silence_ns = o->silence_ns ? o->silence_ns : SILENCE_NS,
			  .trace_most = o->trace_most ? o->trace_most : TRACE_MOST },
	};
	char exe[4096], *agent = NULL, *version;
	struct err err;
	int status;

	f.spec.arg = &f;
	if (remote_read_names(&f.names, o->hosts, &err))
		status = say_error(&err);
	else
		status = check_arguments(f.spec.arguments);
	if (!status)
		status = find_descriptors(f.names.n);
	if (!status)
		status = find_files(&f, exe, sizeof(exe), &agent);
	if (!status)
		status = make_folder(folder);
	if (!status) {
		f.spec.version = version = own_version(exe);
		f.spec.brace = exe;
		f.spec.agent = agent;
		f.spec.stop = interrupt_catch();
		f.spec.given_up = interrupt_again();
		/* An ssh that has ended takes no more commands: the other hosts go on. */
		child_signal_survive(SIGPIPE);
		status = run(&f, folder);
		free(version);
	}
	free(agent);
	remote_free_names(&f.names);
	return status;
}
