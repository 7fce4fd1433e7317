/* SPDX-License-Identifier: MIT */
/* Starts a session, drains it into a file (record), and takes over updates from the control and the
 * agents. One thread runs a session: that of `brace record`, or an instance's pump with a lock for
 * the trace_info (consumer.h). Everything that a traced program writes is checked here. A failed
 * start leaves nothing behind; a full file does not end the recording. */
#include "session/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hook/plan.h"
#include "inject/agent_path.h"
#include "collect/clock.h"
#include "session/ahead.h"
#include "session/control.h"
#include "image/describe.h"
#include "collect/memory_producer.h"
#include "session/held_calls.h"
#include "session/internal.h"
#include "inject/launch.h"
#include "collect/messages.h"
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

/* The first session memory, of the user that brace runs as. Others are made when programs of other
 * users come. */
static int make_memory(struct session *s, const struct settings *set, struct err *err)
{
	const struct shared_memory_shape shape =
		control_shape_of(set, session_thresh_ticks(s, set));

	return memories_begin(&s->memories, &shape, err);
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

/* Starts the program, up to where its own code begins. An interrupt that comes until then ends
 * it. */
static int launch_program(struct session *s, const char *path, const char *image,
			  const struct session_request *req, struct err *err)
{
	const struct launch_birth birth = {
		.born = req->beside ? req->beside->born : NULL,
		.context = req->beside ? req->beside->context : NULL,
	};
	int r = launch_check_given_up(err);

	if (r == 0)
		r = (launch_by_hand(image) ? launch_stopped : launch_preloaded)(
			s, path, req->argv, birth.born ? &birth : NULL, err);
	if (r < 0 && s->pid > 0 && !s->ended)
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

/* The sources of records: a row for each. The memories come first (slots.h). */
static void add_producers(struct session *s, const struct session_beside *beside)
{
	s->switches = switches_new(&s->memories);
	producers_add(&s->producers, memory_producer_new(&s->memories));
	producers_add(&s->producers, switches_producer(s->switches));
	if (!beside)
		return;
	producers_add(&s->producers, beside->producer);
	trace_info_add_kernel(s->info);
	/* No program writes into it, and it has no sites. */
	*vec_add(&s->image_memory) = NULL;
	s->first_image = 1;
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
	control.thresh_ticks = session_thresh_ticks(s, req->settings);
	add_producers(s, req->beside);
	control.first_image = s->first_image;
	r = make_memory(s, req->settings, err);
	if (r == 0)
		r = control_start(&control, &s->control, err);
	if (r == 0 && req->output)
		r = store_create(req->output, s->info, &s->store, err);
	if (r == 0 && s->store)
		store_limit(s->store, req->max_bytes);
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

bool session_reap(struct session *s)
{
	/* WNOWAIT left it a zombie; wait4() now takes it, with its usage. */
	bool gone = s->attached.n ? s->stopped || !session_attached_run(s)
				  : !s->ended && has_ended(s->pid) &&
					    wait4(s->pid, &s->status, WNOHANG, &s->usage) == s->pid;

	if (!s->ended && gone) {
		s->ended = true;
		s->ended_tsc = clock_tsc();
	}
	return s->ended;
}

/* From ready to the end; 0 while it runs. */
static uint64_t run_ns(const struct session *s)
{
	return s->ended && s->ended_tsc > s->ready_tsc
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

	r->timed = s->ended;
	r->elapsed_ns = run_ns(s);
	r->ended = s->ended && !s->attached.n;
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

/* A stop does not wait for the children. */
bool session_over(struct session *s)
{
	return session_reap(s) && (s->stopped || !others_run(s));
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
	s->stopped = true;
	memories_stop(&s->memories);
}

/* --- taking over what planners and other threads found ------------------------------------- */

/* For a later tracer that has to make sense of the records without us (recover.c). */
static void note_module(const struct session *s, uint32_t image, const struct trace_module *m)
{
	struct image_memory *memory =
		image < s->image_memory.n ? (void *)s->image_memory.at[image] : NULL;

	if (!memory || !m->functions.n || memory->n_modules >= IMAGE_MODULES)
		return;
	/* Read by names_of_process() of a later brace, from the process: the entry is whole before
	 * it counts. */
	memory->modules[memory->n_modules] = (struct image_module){ m->start, m->first_id, 0 };
	/* Pairs with no acquire in this process: number_functions() of names.c reads the memory
	 * through /proc. */
	__atomic_store_n(&memory->n_modules, memory->n_modules + 1, __ATOMIC_RELEASE);
}

/* The known module with as many functions at the same place; NULL: there is none. */
static struct trace_module *same_module(struct session *s, const struct trace_module *m)
{
	for (size_t i = 0; i < s->info->modules.n; i++) {
		struct trace_module *k = &s->info->modules.at[i];

		if (k->image == m->image && k->first_id == m->first_id &&
		    k->functions.n == m->functions.n && k->start == m->start &&
		    strcmp(k->path, m->path) == 0)
			return k;
	}
	return NULL;
}

/* The place in known's strings of the string at `from` of m's; was: where the one before is. */
static uint32_t string_again(struct trace_module *known, const struct trace_module *m,
			     uint32_t was, uint32_t from)
{
	const char *now = m->strings.at + from;
	uint32_t at = (uint32_t)known->strings.n;

	if (was && strcmp(known->strings.at + was, now) == 0)
		return was;
	do
		*vec_add(&known->strings) = *now;
	while (*now++);
	return at;
}

/* After a change of filters a module comes again, with other functions hooked. */
static void take_module(struct session *s, const struct image_update *update,
			struct trace_module *m)
{
	struct trace_module *known = update->again ? same_module(s, m) : NULL;

	if (!known) {
		note_module(s, update->image, m);
		*vec_add(&s->info->modules) = *m;
		return;
	}
	for (size_t i = 0; i < m->functions.n; i++) {
		/* The new name would lie in m's strings, which are freed. */
		uint32_t library = known->functions.at[i].library;
		uint32_t prototype = known->functions.at[i].prototype;
		uint32_t returned = known->functions.at[i].returned;

		/* One that is not asked for any more stays: earlier records need it. */
		if (m->functions.at[i].prototype)
			prototype = string_again(known, m, prototype, m->functions.at[i].prototype);
		if (m->functions.at[i].returned)
			returned = string_again(known, m, returned, m->functions.at[i].returned);
		known->functions.at[i] = m->functions.at[i];
		if (m->functions.at[i].returned)
			known->functions.at[i].returned = returned;
		known->functions.at[i].library = library;
		known->functions.at[i].prototype = prototype;
	}
	image_module_free(m);
}

/* Marks a function as not hooked after all. */
static void take_refusal(struct session *s, uint32_t image, const struct image_refusal *r)
{
	for (size_t i = 0; i < s->info->modules.n; i++) {
		struct trace_module *m = &s->info->modules.at[i];
		uint32_t k = r->function - m->first_id;

		if (m->image != image || r->function < m->first_id || k >= m->functions.n)
			continue;
		m->functions.at[k].hook = HOOK_NONE;
		m->functions.at[k].reason = r->reason;
	}
}

/* A copy with strings of its own, for another image. */
static struct trace_module module_copy(const struct trace_module *m, uint32_t image)
{
	struct trace_module copy = *m;

	copy.image = image;
	copy.path = mem_strdup(m->path);
	copy.name = mem_strdup(m->name);
	memset(&copy.functions, 0, sizeof(copy.functions));
	memset(&copy.strings, 0, sizeof(copy.strings));
	vec_reserve(&copy.functions, m->functions.n + 1);
	vec_reserve(&copy.strings, m->strings.n + 1);
	for (size_t i = 0; i < m->functions.n; i++)
		*vec_add(&copy.functions) = m->functions.at[i];
	for (size_t i = 0; i < m->strings.n; i++)
		*vec_add(&copy.strings) = m->strings.at[i];
	return copy;
}

/* The image's modules are another image's, too (PROTOCOL_USER). */
static void take_copies(struct session *s, const struct image_update *update)
{
	for (size_t i = 0, n = s->info->modules.n; i < n; i++)
		if (s->info->modules.at[i].image == update->of) {
			const struct trace_module copy =
				module_copy(&s->info->modules.at[i], update->image);

			*vec_add(&s->info->modules) = copy;
		}
}

/* Takes over the image that the update is of. */
static void take_image(struct session *s, const struct image_update *update)
{
	*vec_add(&s->live_images) =
		(struct live_image){ (uint32_t)s->image_memory.n, update->watch };
	*vec_add(&s->info->images) = update->about;
	*vec_add(&s->image_memory) = update->memory;
}

/* Takes over all updates that the control has. True: there were some. */
static bool take_update(struct session *s)
{
	struct image_update update;
	bool any = false;

	while (control_next_update(s->control, &update)) {
		any = true;
		if (!update.addition)
			take_image(s, &update);
		if (update.is_copy)
			take_copies(s, &update);
		for (size_t i = 0; i < update.modules.n; i++)
			take_module(s, &update, &update.modules.at[i]);
		for (size_t i = 0; i < update.events.n; i++)
			trace_info_add_event(s->info, update.events.at[i]);
		for (size_t i = 0; i < update.refused.n; i++)
			take_refusal(s, update.image, &update.refused.at[i]);
		if (update.addition)
			image_update_drop(&update);
		vec_free(&update.modules);
		vec_free(&update.events);
		vec_free(&update.refused);
	}
	return any;
}

/* 0: not known yet, or there is no such site. */
static uint64_t site_return(const struct session *s, uint32_t image, uint32_t site)
{
	const struct image_memory *m = s->image_memory.at[image];

	return m && memory_site_id_exists(site)
		       ? __atomic_load_n(&m->sites[memory_site_count_of_id(site)], __ATOMIC_RELAXED)
		       : 0;
}

/* Sites become known soon: before the first record that has such a number. */
static void fill_holes(struct session *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->site_holes.n; i++) {
		const struct site_hole h = s->site_holes.at[i];
		uint64_t ret = site_return(s, h.image, h.site);

		if (ret)
			s->info->images.at[h.image].sites.at[h.site] = ret;
		else
			s->site_holes.at[kept++] = h;
	}
	s->site_holes.n = kept;
}

/* Adds the next site. A site that is not written yet becomes a hole. */
static void add_site(struct session *s, uint32_t image)
{
	struct trace_image *to = &s->info->images.at[image];
	uint32_t site = (uint32_t)to->sites.n;
	uint64_t ret = site_return(s, image, site);

	*vec_add(&to->sites) = ret;
	if (!ret && memory_site_id_exists(site))
		*vec_add(&s->site_holes) = (struct site_hole){ image, site };
}

/* Adds an image's sites that threads have taken since. */
static void take_sites_of(struct session *s, uint32_t image)
{
	const struct image_memory *m = s->image_memory.at[image];
	/* The agent raises next_site relaxed (agent/site.c): a site that is not there yet
	 * becomes a hole. */
	uint32_t count = m ? __atomic_load_n(&m->next_site, __ATOMIC_ACQUIRE) : 0;
	uint32_t id = count ? memory_site_id_of_count(count - 1) : 0;

	if (!count || id >= SITE_IDS)
		return;
	while (s->info->images.at[image].sites.n <= id)
		add_site(s, image);
}

/* No process has the image any more, and its sites were taken: frees its memory. Its holes stay
 * unknown. */
static void leave_image(struct session *s, uint32_t image)
{
	size_t kept = 0;

	munmap((void *)s->image_memory.at[image], sizeof(struct image_memory));
	s->image_memory.at[image] = NULL;
	s->info->images.at[image].complete = true;
	control_image_ended(s->control, image);
	for (size_t i = 0; i < s->site_holes.n; i++)
		if (s->site_holes.at[i].image != image)
			s->site_holes.at[kept++] = s->site_holes.at[i];
	s->site_holes.n = kept;
}

/* Adds sites that threads have taken since. Ends are heard first: what an image's processes wrote
 * before its end is then seen. */
static void take_sites(struct session *s)
{
	size_t kept = 0;

	memory_ends_hear(&s->image_ends);
	fill_holes(s);
	for (size_t i = 0; i < s->live_images.n; i++) {
		const struct live_image live = s->live_images.at[i];

		take_sites_of(s, live.image);
		if (memory_ends_take(&s->image_ends, live.watch))
			leave_image(s, live.image);
		else
			s->live_images.at[kept++] = live;
	}
	s->live_images.n = kept;
}

/* Whether a thread can have the image. What programs write into their memory may be anything. */
static bool is_image_of(const struct session *s, uint32_t slot, uint32_t image)
{
	return image < s->info->images.n && (image >= s->first_image || !slot_in_memory(slot));
}

/* Describes a thread by its slot. False: its image is not in info, or not yet. The image of a
 * thread whose source knows none is that of another thread of its process. */
static bool describe_thread(const struct session *s, uint32_t slot, struct trace_thread *out)
{
	if (producers_thread(&s->producers, slot, out))
		return is_image_of(s, slot, out->image);
	out->image = s->first_image;
	for (size_t i = s->info->threads.n; i-- > 0;)
		if (s->info->threads.at[i].pid == out->pid &&
		    s->info->threads.at[i].image >= s->first_image) {
			out->image = s->info->threads.at[i].image;
			break;
		}
	return true;
}

/* The place of the thread's index in info->threads; UINT32_MAX: it has none yet. */
static uint32_t *place_of(struct session *s, uint32_t slot)
{
	uint32_t part = slot / SLOTS, i = slot_within(slot);

	while (s->threads[part].n <= i)
		*vec_add(&s->threads[part]) = UINT32_MAX;
	return &s->threads[part].at[i];
}

uint32_t session_thread(struct session *s, uint32_t slot)
{
	uint32_t *place = place_of(s, slot);

	if (*place == UINT32_MAX) {
		struct trace_thread thread;

		if (!describe_thread(s, slot, &thread))
			thread.image = s->first_image; /* spoiled since it was looked at */
		*place = (uint32_t)s->info->threads.n;
		thread.unnamed = s->unnamed;
		*vec_add(&s->info->threads) = thread;
		thread_names_begin(s, slot, *place);
	}
	return *place;
}

/* Looks for the image of a new thread: a record may be seen before its image's update. An image
 * that does not exist was written there by the traced program. It ends nobody's recording, since
 * other programs may be recorded, too; its thread is shown as the first program's. */
static void expect_image(struct session *s, uint32_t slot)
{
	struct trace_thread t;
	bool known = describe_thread(s, slot, &t);

	if (!known && control_wait_update(s->control, t.image)) {
		take_update(s);
		known = is_image_of(s, slot, t.image);
	}
	if (!known)
		messages_add(&s->memories.at[0].header->messages, MESSAGE_SPOILED, 0, "");
}

/* Makes the thread of a slot and its image known. */
static int expect_thread(struct session *s, uint32_t slot, uint32_t *thread, struct err *err)
{
	if (s->info->images.n <= s->first_image)
		take_update(s);
	if (*place_of(s, slot) == UINT32_MAX)
		expect_image(s, slot);
	if (s->info->images.n <= s->first_image && slot_in_memory(slot))
		return err_set(
			err, EPROTO,
			"the traced program spoiled the session memory: it has records of no program");
	*thread = session_thread(s, slot);
	return 0;
}

int session_take_run(struct session *s, const struct drain_run *run, drain_sink *sink,
		     void *context, struct err *err)
{
	uint32_t thread;
	int r;

	if (!s->held)
		return sink(context, run, err);
	r = expect_thread(s, run->slot, &thread, err);
	if (r < 0)
		return r;
	session_catch_up(s);
	return held_calls_take(s->held, thread, run, sink, context, err);
}

int session_take_rest(struct session *s, drain_sink *sink, void *context, struct err *err)
{
	return s->held ? held_calls_end(s->held, sink, context, err) : 0;
}

int session_account(struct session *s, const struct drain_run *run, struct err *err)
{
	struct trace_thread *t;
	uint32_t thread;
	int r = expect_thread(s, run->slot, &thread, err); /* first: it may move the array */

	if (r < 0)
		return r;
	thread_names_follow(s, thread);
	t = &s->info->threads.at[thread];
	t->records += run->records;
	t->lost += run->lost;
	s->total.records += run->records;
	s->total.calls += run->calls;
	s->total.lost += run->lost;
	return 0;
}

uint32_t session_threadless(struct session *s, uint64_t lost)
{
	*vec_add(&s->info->threads) = (struct trace_thread){
		.pid = (uint32_t)s->pid, .tsc = s->ready_tsc, .comm = "<...>", .lost = lost
	};
	s->total.lost += lost;
	return (uint32_t)s->info->threads.n - 1;
}

/* Tells the calls that were held back for their returned value, and lost. */
static void add_held(struct session *s)
{
	struct held_counts c = { 0 };

	if (s->held)
		c = held_calls_counts(s->held);
	if (c.open)
		*vec_add(&s->info->messages) =
			(struct trace_message){ .kind = MESSAGE_UNRETURNED, .count = c.open };
	if (c.too_long)
		*vec_add(&s->info->messages) =
			(struct trace_message){ .kind = MESSAGE_TOO_LONG, .count = c.too_long };
}

/* Messages of all memories, and the session's own, in place of the former ones. */
static void take_messages(struct session *s)
{
	uint64_t unseen = switches_unseen(s->switches);

	/* Each time from the beginning: counts grow while the session runs. */
	s->info->messages.n = 0;
	for (uint32_t i = 0, n = memories_n(&s->memories); i < n; i++)
		messages_take(&s->memories.at[i].header->messages, s->info);
	if (unseen)
		*vec_add(&s->info->messages) =
			(struct trace_message){ .kind = MESSAGE_UNSEEN,
						.count = unseen < UINT32_MAX ? (uint32_t)unseen
									     : UINT32_MAX };
	add_held(s);
	if (s->info->renames_left_out)
		*vec_add(&s->info->messages) = (struct trace_message){
			.kind = MESSAGE_RENAMES,
			.count = s->info->renames_left_out < UINT32_MAX
					 ? (uint32_t)s->info->renames_left_out
					 : UINT32_MAX
		};
	if (!s->clock.steady)
		*vec_add(&s->info->messages) =
			(struct trace_message){ .kind = MESSAGE_CLOCK, .count = 1 };
}

bool session_catch_up(struct session *s)
{
	bool update = take_update(s);

	if (update && s->held)
		held_calls_renew(s->held);
	producers_describe(&s->producers, s->info);
	take_sites(s);
	take_messages(s);
	return update;
}

/* --- record --------------------------------------------------------------------------------- */

/* The longest that memories_wait() waits for a full sub-buffer. */
#define WAIT_MS 50
#define FLUSH_S 2  /* an idle program's records wait at most so long to be written */
/* idle threads' records are taken this often: their times need a near anchor */
#define PARTIAL_NS UINT64_C(60000000000)

/* False after the first failed write: what comes then is counted as lost. */
static bool takes_more(const struct session *s)
{
	return !s->full.code;
}

/* drain_sink: accounts the run, and writes it while the file takes more. */
static int store_run(void *context, const struct drain_run *run, struct err *err)
{
	struct session *s = context;
	int r = session_account(s, run, err);

	if (r < 0)
		return r;
	/* Images and threads of these records come before them in the file. */
	session_catch_up(s);
	if (takes_more(s) && store_sync_info(s->store, &s->full) == 0)
		store_records(s->store, session_thread(s, run->slot), run->near_tsc, run->cpu,
			      run->lost, run->words, run->n, &s->full);
	return 0;
}

/* drain_sink */
static int record_run(void *context, const struct drain_run *run, struct err *err)
{
	struct session *s = context;

	return session_take_run(s, run, store_run, s, err);
}

/* Writes the losses of threads that got no slot in the session memory. */
static void record_threadless(struct session *s, uint64_t lost)
{
	uint32_t thread = lost ? session_threadless(s, lost) : 0;

	if (lost && takes_more(s))
		store_records(s->store, thread, clock_tsc(), 0, lost, NULL, 0, &s->full);
}

/* Writes updates at once: a brace that recovers a dead tracer's records needs their names. */
static void write_update(struct session *s)
{
	bool update = session_catch_up(s);

	update |= thread_names_look(s);
	if (update && takes_more(s))
		store_flush_info(s->store, &s->full);
}

/* Writes the records of idle threads. */
static void write_old(struct session *s)
{
	if (takes_more(s))
		store_flush(s->store, clock_tsc() - FLUSH_S * s->info->clock.hz, &s->full);
}

/* Drains until all is over. -errno and *err: the program spoiled the memory. */
static int record_loop(struct session *s, struct err *err)
{
	bool overwrite = session_overwrites(s);
	uint64_t partial = clock_tsc();
	int r = 0;

	for (;;) {
		bool due =
			trace_clock_delta_ns(&s->info->clock, clock_tsc() - partial) > PARTIAL_NS;

		/* Before the look, so that an end between look and wait is not slept over. */
		memories_read_wakeups(&s->memories);
		if (session_over(s))
			break;
		POINT(loop_turns);
		session_heartbeat(s);
		write_update(s);
		POINT(update_written);
		r = session_pass(s, overwrite ? PASS_KEEP : due ? PASS_PARTIAL : PASS_FULL,
				 record_run, s, NULL, err);
		if (due)
			partial = clock_tsc();
		if (r < 0)
			break;
		if (!overwrite)
			write_old(s);
		memories_wait(&s->memories, WAIT_MS);
	}
	return r;
}

/* Records nothing any more, and lets the program end in peace. */
static void wait_for_end(struct session *s)
{
	session_stop(s);
	for (memories_read_wakeups(&s->memories); !session_over(s);
	     memories_read_wakeups(&s->memories))
		memories_wait(&s->memories, WAIT_MS);
}

/* Ends the file. s->full tells why it lacks records; they are counted. */
static void finish_file(struct session *s)
{
	struct err why = { 0 }, early = { 0 };
	struct stat st;
	int r;

	s->total.bytes = store_bytes(s->store);
	s->info->total = s->total;
	session_tell_run(s);
	r = store_end(s->store, s->info, &why, &early);
	s->store = NULL;
	if (why.code || r < 0)
		s->full = why.code ? why : early;
	s->total = s->info->total;
	if (stat(s->output, &st) == 0 && S_ISREG(st.st_mode))
		/* With records that were still pending, and the index. */
		s->total.bytes = (uint64_t)st.st_size;
}

int session_record(struct session *s, struct session_result *res, struct err *err)
{
	uint64_t lost = 0;
	int r = record_loop(s, err);

	/* Attached processes are left first: then nobody writes, and the last pass takes
	 * everything. */
	POINT(program_over);
	session_detach(s);
	if (r >= 0)
		r = session_pass(s, PASS_LAST, record_run, s, &lost, err);
	if (r >= 0)
		r = session_take_rest(s, store_run, s, err);
	if (r >= 0)
		record_threadless(s, lost);
	else
		wait_for_end(s);
	thread_names_all(s);
	session_catch_up(s);
	clock_refine(&s->clock, &s->info->clock);
	finish_file(s);
	POINT(file_finished);
	session_result(s, res);
	return r < 0 ? r : 0;
}

/* --- results -------------------------------------------------------------------------------- */

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
	take_messages(s);
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
	free(s);
}
