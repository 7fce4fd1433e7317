/* SPDX-License-Identifier: MIT */
/* Starts a session, knows when its programs have ended, and tells what came of it. One thread runs
 * a session: that of `brace record`, or an instance's pump with a lock for the trace_info
 * (consumer.h). A failed start leaves nothing behind. */
#include "session/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/call_cost.h"
#include "base/flag.h"
#include "inject/agent_path.h"
#include "collect/clock.h"
#include "session/ahead.h"
#include "session/control.h"
#include "image/describe.h"
#include "collect/memory_producer.h"
#include "session/held_calls.h"
#include "session/internal.h"
#include "inject/launch.h"
#include "collect/switches.h"
#include "store/store.h"
#include "shared/points.h"

/* argv in one string, separated by blanks. The caller frees it. */
static char *join_words(char *const *argv)
{
	char *all = mem_strdup(argv[0]);

	for (int i = 1; argv[i]; i++) {
		char *longer = mem_printf("%s %s", all, argv[i]);

		free(all);
		all = longer;
	}
	return all;
}

/* --- starting ------------------------------------------------------------------------------ */

/* 128 bits, because nanoseconds times a clock of some GHz pass 2^64 after a few seconds. A
 * threshold within one step of the clock is a tick: of a call that is measured as shorter, it is
 * not known that it was. */
uint64_t session_thresh_ticks(const struct session *s, const struct settings *set)
{
	unsigned __int128 ticks =
		(unsigned __int128)set->tracing_thresh_ns * s->info->clock.hz / 1000000000u;

	return set->tracing_thresh_ns && ticks <= clock_step() ? 1 : (uint64_t)ticks;
}

/* The ring's label and the trace file have one id, so that each is found by the other. A path that
 * is not absolute would mean another file elsewhere. */
static int name_ring(struct session *s, const struct session_request *req,
		     struct shared_memory_shape *shape, struct err *err)
{
	unsigned long long id[2];
	char *here = req->ring[0] == '/' ? NULL : getcwd(NULL, 0);

	if (getrandom(id, sizeof(id), 0) != sizeof(id)) {
		free(here);
		return err_set(err, EIO, "the kernel gives no random numbers");
	}
	s->ring = here ? mem_printf("%s/%s", here, req->ring) : mem_strdup(req->ring);
	free(here);
	shape->ring = s->ring;
	shape->ring_kb = req->ring_kb;
	snprintf(shape->ring_id, sizeof(shape->ring_id), "%016llx%016llx", id[0], id[1]);
	memcpy(s->ring_id, shape->ring_id, sizeof(s->ring_id));
	session_tell_ring(s, true);
	return 0;
}

/* Whoever writes another file of the session's info leaves the ring out of it
 * (instances_extract). */
void session_tell_ring(struct session *s, bool anew)
{
	const char *id;

	if (!s->ring || (!anew && describe_ring_of(s->info, &id)))
		return;
	describe_ring_forget(s->info);
	describe_ring(s->info, s->ring, s->ring_id);
	if (s->rotation.of_thread.n)
		describe_ring_add_before(s->info, s->rotation.of_thread.at,
					 s->rotation.of_thread.n);
}

/* The first session memory, of the user that brace runs as. Others are made when programs of other
 * users come. */
static int make_memory(struct session *s, const struct session_request *req, struct err *err)
{
	struct shared_memory_shape shape =
		control_shape_of(req->settings, session_thresh_ticks(s, req->settings));
	int r = req->ring ? name_ring(s, req, &shape, err) : 0;

	return r ? r : memories_begin(&s->memories, &shape, err);
}

/* For control_wait_first(); also notes the end when it has come. */
static bool program_lives(void *context)
{
	struct session *s = context;

	return !session_reap(s);
}

/* Starts the program with LD_PRELOAD, and waits for the agent's first image. */
static int launch_preloaded(struct session *s, const char *path, char *const *argv,
			    const struct launch_birth *birth, struct err *err)
{
	const struct launch_how how = { s->agent_path, control_way(s->control),
					s->memories.at[0].header->execs, birth };
	int r = launch_spawn(path, argv, &how, &s->pid, err);

	POINT(program_spawned);
	/* Only now: control_wait_first() depends on being woken when the program ends. */
	if (r == 0)
		control_watch(s->control, s->pid);
	return r == 0 ? control_wait_first(s->control, program_lives, s, err) : r;
}

/* Starts a program that has no loader for the agent (launch_by_hand). */
static int launch_stopped(struct session *s, const char *path, char *const *argv,
			  const struct launch_birth *birth, struct err *err)
{
	int r = control_launch(s->control, path, argv, birth, &s->pid, err);

	if (r == 0)
		control_watch(s->control, s->pid);
	return r;
}

#define DEATH_STEPS 100 /* of 10 ms */

/* Ends a program that did not get as far as its own code. One whose exec waits for a file system
 * that does not answer cannot even be killed: init gets it when we end. */
static void kill_program(pid_t pid)
{
	kill(pid, SIGKILL);
	for (int i = 0; i < DEATH_STEPS && waitpid(pid, NULL, WNOHANG) == 0; i++)
		poll(NULL, 0, 10);
}

/* launch_birth.born, of the list of sources. */
static int tell_born(void *context, pid_t pid, struct err *err)
{
	int r = 0;

	for (const struct session_beside *b = context; b && r == 0; b = b->next)
		r = b->born ? b->born(b->context, pid, err) : 0;
	return r;
}

/* Starts the program, up to where its own code begins. An interrupt that comes until then ends
 * it. */
static int launch_program(struct session *s, const char *path, const char *image,
			  const struct session_request *req, struct err *err)
{
	const struct launch_birth birth = { tell_born, (void *)req->beside };
	int r = launch_check_given_up(err);

	if (r == 0)
		r = (launch_by_hand(image) ? launch_stopped : launch_preloaded)(
			s, path, req->argv, req->beside ? &birth : NULL, err);
	if (r < 0 && s->pid > 0 && !flag_is_set(&s->ended))
		kill_program(s->pid);
	return r;
}

/* Attaches to all processes, or to none. */
static int attach_programs(struct session *s, const struct session_request *req, struct err *err)
{
	int r = session_attach(s, req->pids, req->n_pids, err);

	s->pid = req->pids[0];
	if (r == 0)
		control_watch(s->control, s->pid);
	return r;
}

/* The cost of recording a call is known where programs record without C code: not with a depth, a
 * threshold, or graphs, and not of a tracer without exits. */
static void tell_cost(struct session *s, const struct settings *set)
{
	struct call_cost cost;

	if (control_tracer_of(set) != MEMORY_GRAPH ||
	    !call_cost_measure(settings_values(set), settings_causal(set), &cost))
		return;
	_Static_assert(CALL_COST_UNIT == TRACE_COST_UNIT, "copied as they are");
	s->info->cost = (struct trace_cost){ cost.inside, cost.total };
}

/* No program writes into the kernel's image, and it has no sites. */
static void add_kernel_image(struct session *s)
{
	trace_info_add_kernel(s->info);
	*vec_add(&s->image_memory) = NULL;
	s->first_image = 1;
}

/* The sources of records: a row for each. The memories come first, and each session's own are
 * PRODUCERS_OWN (slots.h). */
static void add_producers(struct session *s, const struct session_beside *beside)
{
	s->switches = switches_new(&s->memories);
	producers_add(&s->producers, memory_producer_new(&s->memories));
	producers_add(&s->producers, switches_producer(s->switches));
	for (; beside; beside = beside->next) {
		if (!beside->producer)
			continue;
		producers_add(&s->producers, beside->producer);
		beside->producer->clock = &s->clock;
		s->has_beside = true;
		if (beside->producer->ops->of_kernel)
			add_kernel_image(s);
	}
}

/* path NULL: attach. */
static int start_session(struct session *s, const struct session_request *req, const char *path,
			 const char *image, struct err *err)
{
	struct control_request control = { .settings = req->settings,
					   .agent_path = s->agent_path,
					   .memories = &s->memories,
					   .producers = &s->producers,
					   .image_ends = &s->image_ends,
					   .tracer = control_tracer_of(req->settings) };
	int r;

	/* The threshold is in ticks, so the clock is needed first. */
	if (req->settings->tracing_thresh_ns)
		clock_measure_end(&s->clock, &s->info->clock);
	s->info->compress = req->compress;
	control.thresh_ticks = session_thresh_ticks(s, req->settings);
	add_producers(s, req->beside);
	control.first_image = s->first_image;
	r = make_memory(s, req, err);
	if (r == 0)
		r = control_start(&control, &s->control, err);
	if (r == 0 && req->output)
		r = store_create(req->output, s->info, &s->store, err);
	if (r == 0 && s->store)
		store_limit(s->store, req->max_bytes);
	if (r == 0 && s->store)
		r = rotation_begin(s, &req->rotation, err);
	if (r == 0)
		r = path ? launch_program(s, path, image, req, err)
			 : attach_programs(s, req, err);
	if (r < 0 && s->store) {
		store_discard(s->store);
		s->store = NULL;
	}
	return r;
}

/* Plans of the program's files are read ahead (ahead.c) while the memories are made. The clock is
 * measured from the first line to the last: the longer, the more exact. */
int session_start(const struct session_request *req, struct session **out, struct err *err)
{
	struct session *s = mem_zalloc(sizeof(*s));
	char *path = NULL, *image = NULL;
	struct ahead *ahead = NULL;
	int r;

	s->output = req->output ? mem_strdup(req->output) : NULL;
	s->unnamed = !option_is_set(req->settings->options, OPTION_RECORD_CMD);
	s->started_tsc = clock_tsc();
	clock_begin(&s->clock);
	memory_ends_begin(&s->image_ends);
	r = req->argv ? launch_resolve(req->argv[0], &path, &image, err) : 0;
	if (r == 0 && image)
		ahead = ahead_begin(image);
	if (r == 0)
		r = agent_path_find(req->agent_path, &s->agent_path, err);
	if (r == 0) {
		s->info =
			describe(req->argv ? join_words(req->argv) : describe_cmdline(req->pids[0]),
				 req->settings->tracer->name, req->settings->tracing_thresh_ns);
		s->info->exclude_sleep = control_excludes_sleep(req->settings);
		s->info->values = settings_values(req->settings);
		if (function_list_has_returned(&req->settings->graph_function))
			s->held = held_calls_new(s->info);
		describe_settings(s->info, req->settings);
		tell_cost(s, req->settings);
		r = start_session(s, req, path, image, err);
	}
	ahead_end(ahead);
	free(path);
	free(image);
	if (r < 0) {
		session_free(s);
		return r;
	}
	clock_measure_end(&s->clock, &s->info->clock);
	clock_take_pairs(&s->clock, s->info);
	s->ready_tsc = clock_tsc();
	*out = s;
	return 0;
}

/* --- while it runs -------------------------------------------------------------------------- */

/* waitpid alone would take the stops away from a thread that holds the program (session_change),
 * hence waitid. */
static bool has_ended(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == pid &&
	       (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED ||
		info.si_code == CLD_DUMPED);
}

/* True: the program, or all attached processes, have ended. Takes the exit status and the usage
 * at that. */
bool session_reap(struct session *s)
{
	/* Before the end can be seen from outside: who interrupts then means us. */
	const uint64_t now = clock_tsc();
	/* WNOWAIT left it a zombie; wait4() now takes it, with its usage. */
	bool gone = s->attached.n ? flag_is_set(&s->stopped) || !session_attached_run(s)
				  : !flag_is_set(&s->ended) && has_ended(s->pid) &&
					    wait4(s->pid, &s->status, WNOHANG, &s->usage) == s->pid;

	if (!flag_is_set(&s->ended) && gone) {
		s->ended_tsc = now;
		flag_set(&s->ended);
	}
	return flag_is_set(&s->ended);
}

/* From ready to the end; 0 while it runs. */
static uint64_t run_ns(const struct session *s)
{
	return flag_is_set(&s->ended) && s->ended_tsc > s->ready_tsc
		       ? trace_clock_delta_ns(&s->info->clock, s->ended_tsc - s->ready_tsc)
		       : 0;
}

/* rusage has microseconds, trace files nanoseconds. */
static uint64_t timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000;
}

/* Times of its own only for a program that brace started: of an attached one wait4() tells
 * nothing. */
void session_tell_run(struct session *s)
{
	struct trace_run *r = &s->info->run;

	r->timed = flag_is_set(&s->ended);
	r->elapsed_ns = run_ns(s);
	r->ended = r->timed && !s->attached.n;
	if (!r->ended)
		return;
	r->status = (uint32_t)s->status;
	r->user_ns = timeval_ns(&s->usage.ru_utime);
	r->system_ns = timeval_ns(&s->usage.ru_stime);
}

/* Whether a process with a slot in this memory, other than the program, still runs. Slots whose
 * processes have ended are not looked at again: a session may have had many thousands. */
static bool others_run_in(struct session *s, uint32_t memory)
{
	const struct shared_memory *m = &s->memories.at[memory];
	struct processes *processes = &s->processes[memory];
	uint32_t n = shared_memory_threads(m), last = 0;
	struct stat st;

	if (fstat(m->fd, &st) < 0)
		return false;
	processes_look(processes);
	for (uint32_t i = processes->over; i < n; i++) {
		uint32_t pid = m->threads[i].pid; /* 0: not written yet */

		if (pid && pid != last && pid != (uint32_t)s->pid &&
		    processes_run(processes, pid, i, n, &st))
			return true;
		processes->over += pid && processes->over == i;
		last = pid;
	}
	return false;
}

/* Whether traced children of the program still run. */
static bool others_run(struct session *s)
{
	for (uint32_t i = 0, n = memories_n(&s->memories); i < n; i++)
		if (others_run_in(s, i))
			return true;
	return false;
}

/* Whether somebody else records, or is about to: a program that was just executed maps the memory
 * only when it has been planned. It may do so between the two questions, hence the third. */
static bool others_are_left(struct session *s)
{
	return others_run(s) || control_is_busy(s->control) || others_run(s);
}

/* A stop does not wait for the children. */
bool session_over(struct session *s)
{
	return session_reap(s) && (flag_is_set(&s->stopped) || !others_are_left(s));
}

uint64_t session_program_ended(const struct session *s)
{
	/* The time is written before the flag. */
	return flag_is_set(&s->ended) ? s->ended_tsc : 0;
}

void session_heartbeat(struct session *s)
{
	memories_heartbeat(&s->memories);
}

pid_t session_pid(const struct session *s)
{
	return s->pid;
}

/* Agents that find the mark in their memory record no more; the processes run on. */
void session_stop(struct session *s)
{
	flag_set(&s->stopped);
	memories_stop(&s->memories);
}

/* --- results -------------------------------------------------------------------------------- */

/* Tells the figures of now; the session may go on. */
void session_result(struct session *s, struct session_result *res)
{
	struct image_count count;
	const struct trace_clock *c = &s->info->clock;

	clock_refine(&s->clock, &s->info->clock);
	control_count(s->control, &count);
	memset(res, 0, sizeof(*res));
	res->wait_status = s->status;
	res->calls = s->total.calls;
	res->records = s->total.records;
	res->lost = s->total.lost;
	res->bytes = s->total.bytes;
	memcpy(res->by_kind, count.by_kind, sizeof(res->by_kind));
	memcpy(res->by_reason, count.by_reason, sizeof(res->by_reason));
	session_take_messages(s);
	for (size_t i = 0;
	     i < s->info->messages.n && i < sizeof(res->messages) / sizeof(*res->messages); i++)
		res->messages[res->n_messages++] = s->info->messages.at[i];
	res->programs = (uint32_t)s->info->images.n - s->first_image;
	res->functions = count.functions;
	res->hooked = count.hooked;
	res->code_bytes = count.code_bytes;
	res->unknown_bytes = count.unknown_bytes;
	res->arguments = count.arguments;
	res->attached = s->attached.n > 0;
	res->attach_ns = s->attach.pause_ns;
	res->leave_ns = s->leave.pause_ns;
	res->threads = s->attach.threads > s->leave.threads ? s->attach.threads : s->leave.threads;
	res->changed = s->leave.changed;
	res->stuck = s->stuck;
	res->stuck_why = s->stuck_why;
	res->stuck_pid = s->stuck_pid;
	res->full = s->full;
	rotation_result(s, res);
	res->to_main_ns = trace_clock_delta_ns(c, s->ready_tsc - s->started_tsc);
	res->run_ns = run_ns(s);
}

/* Mappings of memfds that programs map too: theirs stay. */
static void free_image_memory(struct session *s)
{
	for (size_t i = 0; i < s->image_memory.n; i++)
		if (s->image_memory.at[i])
			munmap((void *)s->image_memory.at[i], sizeof(struct image_memory));
	vec_free(&s->image_memory);
	vec_free(&s->live_images);
	memory_ends_close(&s->image_ends);
}

void session_free(struct session *s)
{
	if (!s)
		return;
	/* Writers that wait for room have to be let go before the processes are left. */
	if (memories_n(&s->memories))
		memories_stop(&s->memories);
	session_detach(s);
	control_stop(s->control);
	producers_free(&s->producers);
	if (s->store)
		store_finish(s->store, NULL);
	clock_end(&s->clock);
	free_image_memory(s);
	vec_free(&s->site_holes);
	memories_end(&s->memories);
	held_calls_free(s->held);
	for (size_t i = 0; i < s->loops.n; i++)
		loops_free(&s->loops.at[i]);
	vec_free(&s->loops);
	rotation_free(&s->rotation);
	trace_info_free(s->info);
	for (uint32_t i = 0; i < PRODUCERS_MAX * MEMORIES_MAX; i++)
		vec_free(&s->threads[i]);
	for (uint32_t i = 0; i < MEMORIES_MAX; i++)
		processes_free(&s->processes[i]);
	thread_names_free(&s->names);
	vec_free(&s->attached);
	for (size_t i = 0; i < s->watches.n; i++)
		exit_watch_end(&s->watches.at[i]);
	vec_free(&s->watches);
	free(s->output);
	free(s->agent_path);
	free(s->ring);
	free(s);
}
