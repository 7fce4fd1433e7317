/* SPDX-License-Identifier: MIT */
#include "session/session.h"

#include <errno.h>
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
#include "session/control.h"
#include "image/describe.h"
#include "collect/drain.h"
#include "session/internal.h"
#include "inject/launch.h"
#include "collect/notes.h"
#include "collect/switches.h"
#include "store/store.h"
#include "shared/points.h"

static char *join(char *const *argv)
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

uint64_t session_thresh_ticks(const struct session *s, const struct settings *set)
{
	return (uint64_t)((unsigned __int128)set->tracing_thresh_ns * s->info->clock.hz / 1000000000u);
}

static int make_memory(struct session *s, const struct settings *set, struct err *err)
{
	const struct shared_memory_shape shape = control_shape_of(set, session_thresh_ticks(s, set));

	return memories_begin(&s->memories, &shape, err);
}

static bool program_lives(void *context)
{
	struct session *s = context;

	return !session_reap(s);
}

static int launch_preloaded(struct session *s, const char *path, char *const *argv, struct err *err)
{
	int r = launch_spawn(path, argv, s->agent_path, control_socket(s->control), s->memories.at[0].header->execs, &s->pid, err);

	POINT(program_spawned);
	if (r == 0)
		control_watch(s->control, s->pid);
	return r == 0 ? control_wait_first(s->control, program_lives, s, err) : r;
}

static int launch_held(struct session *s, const char *path, char *const *argv, struct err *err)
{
	int r = control_launch(s->control, path, argv, &s->pid, err);

	if (r == 0)
		control_watch(s->control, s->pid);
	return r;
}

/* The program, up to where its own code begins. */
static int launch(struct session *s, const char *path, const char *image, char *const *argv, struct err *err)
{
	int r = launch_by_hand(image) ? launch_held(s, path, argv, err) : launch_preloaded(s, path, argv, err);

	if (r < 0 && s->pid > 0 && !s->ended) {
		kill(s->pid, SIGKILL);
		waitpid(s->pid, NULL, 0);
	}
	return r;
}

static int attach(struct session *s, const struct session_request *req, struct err *err)
{
	int r = session_attach(s, req->pids, req->n_pids, err);

	s->pid = req->pids[0];
	if (r == 0)
		control_watch(s->control, s->pid);
	return r;
}

/* path NULL: attach. */
static int start(struct session *s, const struct session_request *req, const char *path, const char *image,
		 struct err *err)
{
	struct control_request control = { .settings = req->settings, .agent_path = s->agent_path,
					   .memories = &s->memories, .tracer = control_tracer_of(req->settings) };
	int r;

	if (req->settings->tracing_thresh_ns)
		clock_settle(&s->clock, &s->info->clock);
	control.thresh_ticks = session_thresh_ticks(s, req->settings);
	r = make_memory(s, req->settings, err);
	if (r == 0)
		r = control_start(&control, &s->control, err);
	if (r == 0 && req->output)
		r = store_create(req->output, s->info, &s->store, err);
	if (r == 0)
		r = path ? launch(s, path, image, req->argv, err) : attach(s, req, err);
	if (r < 0 && s->store) {
		store_discard(s->store);
		s->store = NULL;
	}
	return r;
}

int session_start(const struct session_request *req, struct session **out, struct err *err)
{
	struct session *s = mem_zalloc(sizeof(*s));
	char *path = NULL, *image = NULL;
	int r;

	s->output = req->output ? mem_strdup(req->output) : NULL;
	s->unnamed = !option_is_set(req->settings->options, OPTION_RECORD_CMD);
	s->started_tsc = clock_tsc();
	clock_begin(&s->clock);
	r = req->argv ? launch_resolve(req->argv[0], &path, &image, err) : 0;
	if (r == 0)
		r = agent_path_find(req->agent_path, &s->agent_path, err);
	if (r == 0) {
		s->info = describe(req->argv ? join(req->argv) : describe_cmdline(req->pids[0]), settings_tracer(req->settings),
				   req->settings->tracing_thresh_ns);
		s->info->sleepless = control_is_sleepless(req->settings);
		s->info->values = settings_values(req->settings);
		describe_settings(s->info, req->settings);
		r = start(s, req, path, image, err);
	}
	free(path);
	free(image);
	if (r < 0) {
		session_free(s);
		return r;
	}
	clock_settle(&s->clock, &s->info->clock);
	s->ready_tsc = clock_tsc();
	*out = s;
	return 0;
}

/* --- while it runs -------------------------------------------------------------------------- */

/* waitpid alone would take the stops away from a thread that holds the program (session_change). */
static bool has_ended(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid &&
	       (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED);
}

bool session_reap(struct session *s)
{
	bool gone = s->attached.n ? s->stopped || !session_attached_run(s)
				  : !s->ended && has_ended(s->pid) && wait4(s->pid, &s->status, WNOHANG, &s->usage) == s->pid;

	if (!s->ended && gone) {
		s->ended = true;
		s->ended_tsc = clock_tsc();
	}
	return s->ended;
}

static uint64_t run_ns(const struct session *s)
{
	return s->ended && s->ended_tsc > s->ready_tsc ? trace_clock_delta_ns(&s->info->clock, s->ended_tsc - s->ready_tsc) : 0;
}

static uint64_t timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000;
}

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

static bool others_run_in(struct session *s, uint32_t memory)
{
	const struct shared_memory *m = &s->memories.at[memory];
	uint32_t n = shared_memory_threads(m), last = 0;
	struct stat st;

	if (fstat(m->fd, &st) < 0)
		return false;
	processes_look(&s->processes[memory]);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t pid = m->threads[i].pid;

		if (pid && pid != last && pid != (uint32_t)s->pid && processes_run(&s->processes[memory], pid, i, n, st.st_ino))
			return true;
		last = pid;
	}
	return false;
}

/* Do children of the program that are traced too still run? */
static bool others_run(struct session *s)
{
	for (uint32_t i = 0, n = memories_n(&s->memories); i < n; i++)
		if (others_run_in(s, i))
			return true;
	return false;
}

bool session_over(struct session *s)
{
	return session_reap(s) && (s->stopped || !others_run(s));
}

void session_beat(struct session *s)
{
	memories_beat(&s->memories);
}

pid_t session_pid(const struct session *s)
{
	return s->pid;
}

void session_stop(struct session *s)
{
	s->stopped = true;
	memories_stop(&s->memories);
}

/* --- taking over what threads and the control thread found --------------------------------- */

/* For who must make sense of the records without us. */
static void note_module(const struct session *s, uint32_t image, const struct trace_module *m)
{
	struct image_memory *memory = image < s->image_memory.n ? (void *)s->image_memory.at[image] : NULL;

	if (!memory || !m->functions.n || memory->n_modules >= IMAGE_MODULES)
		return;
	memory->modules[memory->n_modules] = (struct image_module){ m->start, m->first_id, 0 };
	__atomic_store_n(&memory->n_modules, memory->n_modules + 1, __ATOMIC_RELEASE);
}

static struct trace_module *same_module(struct session *s, const struct trace_module *m)
{
	for (size_t i = 0; i < s->info->modules.n; i++) {
		struct trace_module *k = &s->info->modules.at[i];

		if (k->image == m->image && k->first_id == m->first_id && k->functions.n == m->functions.n &&
		    k->start == m->start && strcmp(k->path, m->path) == 0)
			return k;
	}
	return NULL;
}

/* After a change of filters a module comes again: other functions of it are hooked. */
static void take_module(struct session *s, const struct image_news *news, struct trace_module *m)
{
	struct trace_module *known = news->again ? same_module(s, m) : NULL;

	if (!known) {
		note_module(s, news->image, m);
		*vec_add(&s->info->modules) = *m;
		return;
	}
	for (size_t i = 0; i < m->functions.n; i++) {
		uint32_t library = known->functions.at[i].library; /* its name is among known's strings */

		known->functions.at[i] = m->functions.at[i];
		known->functions.at[i].library = library;
	}
	image_module_free(m);
}

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

static void take_event(struct session *s, const struct event_entry *e)
{
	if (!trace_info_event(s->info, e->index))
		*vec_add(&s->info->events) = (struct trace_event){
			e->index, mem_strdup(e->format->system), mem_strdup(e->format->name), mem_strdup(e->text),
		};
}

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

/* Its modules are another image's, too. */
static void take_copies(struct session *s, const struct image_news *news)
{
	for (size_t i = 0, n = s->info->modules.n; i < n; i++)
		if (s->info->modules.at[i].image == news->of) {
			const struct trace_module copy = module_copy(&s->info->modules.at[i], news->image);

			*vec_add(&s->info->modules) = copy;
		}
}

static bool take_news(struct session *s)
{
	struct image_news news;
	bool any = false;

	while (control_next_news(s->control, &news)) {
		any = true;
		if (!news.addition) {
			*vec_add(&s->info->images) = news.about;
			*vec_add(&s->image_memory) = news.memory;
		}
		if (news.is_copy)
			take_copies(s, &news);
		for (size_t i = 0; i < news.modules.n; i++)
			take_module(s, &news, &news.modules.at[i]);
		for (size_t i = 0; i < news.events.n; i++)
			take_event(s, news.events.at[i]);
		for (size_t i = 0; i < news.refused.n; i++)
			take_refusal(s, news.image, &news.refused.at[i]);
		if (news.addition)
			image_news_drop(&news);
		vec_free(&news.modules);
		vec_free(&news.events);
		vec_free(&news.refused);
	}
	return any;
}

/* 0: not known yet, or there is no such site. */
static uint64_t site_return(const struct session *s, uint32_t image, uint32_t site)
{
	const struct image_memory *m = s->image_memory.at[image];

	return site_id_exists(site) ? __atomic_load_n(&m->sites[site_count_of_id(site)], __ATOMIC_RELAXED) : 0;
}

/* They come soon: before the first record that has such a number. */
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

static void add_site(struct session *s, uint32_t image)
{
	struct trace_image *to = &s->info->images.at[image];
	uint32_t site = (uint32_t)to->sites.n;
	uint64_t ret = site_return(s, image, site);

	*vec_add(&to->sites) = ret;
	if (!ret && site_id_exists(site))
		*vec_add(&s->site_holes) = (struct site_hole){ image, site };
}

static void take_sites(struct session *s)
{
	fill_holes(s);
	for (size_t i = 0; i < s->image_memory.n; i++) {
		const struct image_memory *m = s->image_memory.at[i];
		const struct trace_image *image = &s->info->images.at[i];
		uint32_t count = m ? __atomic_load_n(&m->next_site, __ATOMIC_ACQUIRE) : 0;
		uint32_t id = count ? site_id_of_count(count - 1) : 0;

		if (!count || id >= SITE_IDS)
			continue;
		while (image->sites.n <= id)
			add_site(s, (uint32_t)i);
	}
}

static bool image_known(const struct session *s, uint32_t slot)
{
	return slot_is_followed(slot) || memories_thread(&s->memories, slot)->image < s->info->images.n;
}

/* A thread whose records are ours. The program it runs is that of its own. */
static struct trace_thread followed_thread(struct session *s, uint32_t slot)
{
	struct trace_thread thread = { 0 };

	switches_thread(control_switches(s->control), slot, &thread);
	for (size_t i = s->info->threads.n; i-- > 0;)
		if (s->info->threads.at[i].pid == thread.pid) {
			thread.image = s->info->threads.at[i].image;
			break;
		}
	return thread;
}

static struct trace_thread written_thread(const struct session *s, uint32_t slot)
{
	const struct memory_thread *t = memories_thread(&s->memories, slot);
	struct trace_thread thread = { .pid = t->pid, .tid = t->tid, .image = t->image, .tsc = t->tsc };

	memcpy(thread.comm, t->comm, sizeof(thread.comm));
	thread.comm[sizeof(thread.comm) - 1] = '\0';
	return thread;
}

/* Where the thread's index in info->threads is kept; UINT32_MAX: it has none yet. */
static uint32_t *place_of(struct session *s, uint32_t slot)
{
	uint32_t memory = slot_is_followed(slot) ? MEMORIES_MAX : slot_memory(slot), i = slot - (memory << SLOT_BITS);

	while (s->slots[memory].n <= i)
		*vec_add(&s->slots[memory]) = UINT32_MAX;
	return &s->slots[memory].at[i];
}

uint32_t session_thread(struct session *s, uint32_t slot)
{
	uint32_t *place = place_of(s, slot);

	if (*place == UINT32_MAX) {
		struct trace_thread thread = slot_is_followed(slot) ? followed_thread(s, slot) : written_thread(s, slot);

		*place = (uint32_t)s->info->threads.n;
		if (thread.image >= s->info->images.n)
			thread.image = 0; /* spoiled since it was looked at */
		thread.unnamed = s->unnamed;
		*vec_add(&s->info->threads) = thread;
	}
	return *place;
}

int session_account(struct session *s, const struct drain_run *run, struct err *err)
{
	struct trace_thread *t;
	uint32_t thread;

	if (!image_known(s, run->slot) && control_wait_news(s->control, memories_thread(&s->memories, run->slot)->image))
		take_news(s);
	if (!image_known(s, run->slot))
		return err_set(err, EPROTO, "the traced program spoiled the session memory (image %u)",
			       memories_thread(&s->memories, run->slot)->image);
	thread = session_thread(s, run->slot); /* before: it may move the array */
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
	*vec_add(&s->info->threads) = (struct trace_thread){ .pid = (uint32_t)s->pid, .tsc = s->ready_tsc, .comm = "<...>",
							     .lost = lost };
	s->total.lost += lost;
	return (uint32_t)s->info->threads.n - 1;
}

static void take_notes(struct session *s)
{
	uint64_t unseen = switches_unseen(control_switches(s->control));

	s->info->notes.n = 0;
	for (uint32_t i = 0, n = memories_n(&s->memories); i < n; i++)
		notes_take(&s->memories.at[i].header->notes, s->info);
	if (unseen)
		*vec_add(&s->info->notes) = (struct trace_note){ .kind = NOTE_UNSEEN, .count = unseen < UINT32_MAX ? (uint32_t)unseen : UINT32_MAX };
	if (!s->clock.steady)
		*vec_add(&s->info->notes) = (struct trace_note){ .kind = NOTE_CLOCK, .count = 1 };
}

bool session_catch_up(struct session *s)
{
	bool news = take_news(s);

	take_sites(s);
	take_notes(s);
	return news;
}

/* --- record --------------------------------------------------------------------------------- */

#define WAIT_MS 50
#define FLUSH_S 2  /* how long an idle program's records may wait before they are written */
#define PARTIAL_NS UINT64_C(60000000000) /* idle threads' stamps are anchored this often */

static bool takes_more(const struct session *s)
{
	return !s->full.code;
}

static int record_run(void *context, const struct drain_run *run, struct err *err)
{
	struct session *s = context;
	int r = session_account(s, run, err);

	if (r < 0)
		return r;
	session_catch_up(s);
	if (takes_more(s) && store_sync_info(s->store, &s->full) == 0)
		store_records(s->store, session_thread(s, run->slot), run->near_tsc, run->cpu, run->lost, run->words, run->n,
			      &s->full);
	return 0;
}

/* Losses of threads that got no slot in the session memory. */
static void record_threadless(struct session *s, uint64_t lost)
{
	uint32_t thread = lost ? session_threadless(s, lost) : 0;

	if (lost && takes_more(s))
		store_records(s->store, thread, clock_tsc(), 0, lost, NULL, 0, &s->full);
}

/* At once: whoever recovers the records of a dead tracer needs their names. */
static void write_news(struct session *s)
{
	if (session_catch_up(s) && takes_more(s))
		store_flush_info(s->store, &s->full);
}

/* Records of threads that idle. */
static void write_old(struct session *s)
{
	if (takes_more(s))
		store_flush(s->store, clock_tsc() - FLUSH_S * s->info->clock.hz, &s->full);
}

static int record_loop(struct session *s, struct err *err)
{
	bool overwrite = session_overwrites(s);
	uint64_t partial = clock_tsc();
	int r = 0;

	while (r >= 0) {
		bool due = trace_clock_delta_ns(&s->info->clock, clock_tsc() - partial) > PARTIAL_NS;

		memories_moment(&s->memories);
		if (session_over(s))
			break;
		POINT(loop_turns);
		session_beat(s);
		write_news(s);
		POINT(news_written);
		if (overwrite)
			session_recycle(s);
		if (overwrite)
			r = switches_pass(control_switches(s->control), false, record_run, s, err);
		if (overwrite || r < 0) {
			memories_wait(&s->memories, WAIT_MS);
			continue;
		}
		r = session_pass(s, due, record_run, s, err);
		if (due)
			partial = clock_tsc();
		if (r == 0) {
			write_old(s);
			memories_wait(&s->memories, WAIT_MS);
		}
	}
	return r;
}

/* Nothing is recorded any more: the program ends in peace. */
static void wait_for_end(struct session *s)
{
	session_stop(s);
	for (memories_moment(&s->memories); !session_over(s); memories_moment(&s->memories))
		memories_wait(&s->memories, WAIT_MS);
}

/* s->full: what it lacks is counted. */
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
		s->total.bytes = (uint64_t)st.st_size; /* with what was still pending, and the index */
}

int session_record(struct session *s, struct session_result *res, struct err *err)
{
	uint64_t lost = 0;
	int r = record_loop(s, err);

	POINT(program_over);
	session_leave(s);
	if (r >= 0)
		r = session_finish(s, record_run, s, &lost, err);
	if (r >= 0)
		record_threadless(s, lost);
	else
		wait_for_end(s);
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
	take_notes(s);
	for (size_t i = 0; i < s->info->notes.n && i < sizeof(res->notes) / sizeof(*res->notes); i++)
		res->notes[res->n_notes++] = s->info->notes.at[i];
	res->functions = count.functions;
	res->hooked = count.hooked;
	res->attached = s->attached.n > 0;
	res->attach_ns = s->attach.pause_ns;
	res->leave_ns = s->leave.pause_ns;
	res->threads = s->attach.threads > s->leave.threads ? s->attach.threads : s->leave.threads;
	res->changed = s->leave.changed;
	res->stuck = s->stuck;
	res->stuck_why = s->stuck_why;
	res->full = s->full;
	res->to_main_ns = trace_clock_delta_ns(c, s->ready_tsc - s->started_tsc);
	res->run_ns = run_ns(s);
}

static void free_image_memory(struct session *s)
{
	for (size_t i = 0; i < s->image_memory.n; i++)
		if (s->image_memory.at[i])
			munmap((void *)s->image_memory.at[i], sizeof(struct image_memory));
	vec_free(&s->image_memory);
}

void session_free(struct session *s)
{
	if (!s)
		return;
	if (memories_n(&s->memories))
		memories_stop(&s->memories);
	session_leave(s);
	control_stop(s->control);
	for (uint32_t i = 0; i < MEMORIES_MAX; i++)
		drain_free(s->drains[i]);
	if (s->store)
		store_finish(s->store, NULL);
	clock_end(&s->clock);
	free_image_memory(s);
	vec_free(&s->site_holes);
	memories_end(&s->memories);
	trace_info_free(s->info);
	for (uint32_t i = 0; i <= MEMORIES_MAX; i++)
		vec_free(&s->slots[i]);
	for (uint32_t i = 0; i < MEMORIES_MAX; i++)
		processes_free(&s->processes[i]);
	vec_free(&s->attached);
	free(s->output);
	free(s->agent_path);
	free(s);
}
