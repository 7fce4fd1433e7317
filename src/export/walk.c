/* SPDX-License-Identifier: MIT */
/* Follows trace/tracks.h and keeps a stack of its own for each lane, because what tracks emit need
 * not be balanced for a reader: calls told as wholes, calls across a loss, and those of a thread
 * whose process called exec. Called by exporters, on brace's only thread. Only the source and the
 * exporter can fail. */
#include "export/walk.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "shared/record.h"

/* source stays the caller's, and is read once. */
void walk_init(struct walk *w, struct source *source)
{
	*w = (struct walk){ .info = source->info, .source = source };
}

static void free_frames(struct walk_lane *l)
{
	for (size_t i = 0; i < l->open.n; i++)
		free(l->open.at[i].arguments);
	vec_free(&l->open);
}

void walk_free(struct walk *w)
{
	for (size_t i = 0; i < w->functions.n; i++)
		free(w->functions.at[i].text);
	for (size_t i = 0; i < w->lanes.n; i++)
		free_frames(&w->lanes.at[i]);
	vec_free(&w->functions);
	vec_free(&w->lanes);
	vec_free(&w->last);
	overloads_free(&w->overloads);
	number_map_free(&w->function_rows);
	number_map_free(&w->lane_rows);
	number_map_free(&w->process_rows);
	number_map_free(&w->tids);
	number_map_free(&w->program_lanes);
}

/* --- functions and lanes ----------------------------------------------------------------- */

/* All ids of an image that nothing defines share a row: a damaged file has any number. + 1, since
 * the map does not keep a key of 0. An id above RECORD_ID_MAX fits no record of a function; it is
 * not looked up. */
static uint32_t function_row(struct walk *w, uint32_t thread, uint32_t id)
{
	uint32_t image = w->info->threads.at[thread].image;
	uint64_t key = ((uint64_t)image << 32 | id) + 1,
		 row = number_map_get(&w->function_rows, key);
	const struct trace_module *module = NULL;
	const struct trace_function *f;
	struct walk_function *to;

	if (row != NUMBER_NONE)
		return (uint32_t)row;
	f = id <= RECORD_ID_MAX ? trace_info_function(w->info, image, id, &module) : NULL;
	if (!f && id != FN_NONE)
		return function_row(w, thread, FN_NONE);
	row = w->functions.n;
	to = vec_add(&w->functions);
	*to = (struct walk_function){ .image = image, .id = id };
	to->text = overloads_row_text(&w->overloads, module, f, &to->file);
	number_map_set(&w->function_rows, key, row);
	return (uint32_t)row;
}

/* The first thread seen of a process, whose number stands for it. A pid may have been given to
 * another program meanwhile: the image tells them apart. */
static uint32_t process_of(struct walk *w, uint32_t thread)
{
	const struct trace_thread *t = &w->info->threads.at[thread];
	uint64_t key = ((uint64_t)t->image << 32 | t->pid) + 1;
	uint64_t first = number_map_get(&w->process_rows, key);

	if (first == NUMBER_NONE)
		number_map_set(&w->process_rows, key, first = thread);
	return (uint32_t)first;
}

/* Threads' own stacks are found by thread, coroutines by process and number. UINT32_MAX is no
 * coroutine's number, so that the two sorts do not meet. */
static uint64_t lane_key(struct walk *w, uint32_t thread, uint32_t coroutine)
{
	return coroutine ? (uint64_t)process_of(w, thread) << 32 | coroutine
			 : (uint64_t)thread << 32 | UINT32_MAX;
}

/* The number of the lane of that stack; a coroutine's is also noted to run on this thread now. */
static uint32_t lane_row(struct walk *w, uint32_t thread, uint32_t coroutine)
{
	uint64_t key = lane_key(w, thread, coroutine), row = number_map_get(&w->lane_rows, key);

	if (row == NUMBER_NONE) {
		row = w->lanes.n;
		*vec_add(&w->lanes) =
			(struct walk_lane){ .thread = thread, .coroutine = coroutine };
		number_map_set(&w->lane_rows, key, row);
		w->counts.coroutines += coroutine != 0;
	}
	w->lanes.at[row].running = thread;
	return (uint32_t)row;
}

/* --- steps ------------------------------------------------------------------------------- */

/* Times of a lane do not go back, whatever the CPUs' clocks do and whatever the file says. Formats
 * have signed times: a damaged file's are cut to what these hold. */
static uint64_t time_on(struct walk *w, struct walk_lane *l, uint64_t tsc)
{
	uint64_t ns = trace_clock_ns(&w->info->clock, tsc);

	ns = ns < INT64_MAX ? ns : INT64_MAX;
	l->ns = ns > l->ns ? ns : l->ns;
	return l->ns;
}

static struct walk_step step_on(struct walk *w, uint32_t lane, const struct call_step *s,
				enum walk_kind kind)
{
	return (struct walk_step){ .ns = time_on(w, &w->lanes.at[lane], s->tsc), .tsc = s->tsc,
				   .lane = lane, .thread = s->thread, .cpu = s->cpu,
				   .kind = (uint8_t)kind };
}

/* The first failure of the exporter ends what is given; walk_run() returns it. */
static void give_step(struct walk *w, const struct walk_step *s)
{
	if (!w->failed)
		w->failed = w->take(w->arg, s);
}

/* --- the kernel's calls within the program's ------------------------------------------------ */

/* The two parts of a merged trace have one thread number in common, and nothing else; + 1 for the
 * map. */
static uint64_t tid_key(const struct walk *w, uint32_t lane)
{
	return 1 + (uint64_t)w->info->threads.at[w->lanes.at[lane].running].tid;
}

/* Notes on which lane the program's part of a thread runs now. */
static void note_program_lane(struct walk *w, uint32_t lane)
{
	if (w->nests_kernel && trace_info_is_merged(w->info) && !walk_is_kernel(w, lane))
		number_map_set(&w->program_lanes, tid_key(w, lane), lane);
}

/* The program's call that is open where an outermost call of the kernel's begins; NULL: none. It is
 * noted by lane and depth, not by its address: the lane's frames move when it grows. The result is
 * valid for this step only. */
static const struct walk_frame *find_below(struct walk *w, uint32_t lane, struct walk_frame *f)
{
	const struct walk_lane *program;
	uint64_t row;

	if (!w->nests_kernel || w->lanes.at[lane].open.n > 1 || !walk_is_kernel(w, lane))
		return NULL;
	row = number_map_get(&w->program_lanes, tid_key(w, lane));
	program = row == NUMBER_NONE ? NULL : &w->lanes.at[row];
	if (!program || !program->open.n)
		return NULL;
	f->below = (uint32_t)program->open.n;
	f->below_lane = (uint32_t)row;
	return &program->open.at[program->open.n - 1];
}

/* A call of the kernel's has ended: its time is not its program's. Where records were lost the
 * program's call may have ended before, and another may stand in its place. */
static void charge_below(struct walk *w, const struct walk_frame *f, uint64_t ticks)
{
	const struct walk_lane *program = f->below ? &w->lanes.at[f->below_lane] : NULL;

	if (program && program->open.n >= f->below &&
	    program->open.at[f->below - 1].begin <= f->begin)
		program->open.at[f->below - 1].kernel += ticks;
}

/* --- calls -------------------------------------------------------------------------------- */

/* Arguments are made only if the exporter wants them: it takes longer than all the rest. The
 * frame's depth is the trace's, by which ends find it; the step's depth is the number of frames,
 * which is smaller where beginnings were lost. */
static void begin_call(struct walk *w, uint32_t lane, const struct call_step *s)
{
	struct walk_lane *l = &w->lanes.at[lane];
	uint32_t function = function_row(w, s->thread, s->fn);
	struct walk_step step = step_on(w, lane, s, WALK_BEGIN);
	char *arguments = NULL;

	if (s->flags & CALL_ARGUMENTS) {
		w->counts.arguments++;
		step.event = s->event;
		if (w->wants_arguments)
			arguments = arguments_text(w->info, s->event);
	}
	step.function = function;
	step.depth = (uint32_t)l->open.n;
	*vec_add(&l->open) = (struct walk_frame){ .begin = s->tsc, .begin_ns = step.ns,
						  .function = function, .depth = s->depth,
						  .arguments = arguments };
	step.frame = &l->open.at[l->open.n - 1];
	step.below = find_below(w, lane, step.frame);
	w->counts.calls++;
	give_step(w, &step);
}

/* Counts the marks by which the command says what the other format has no place for. */
static void count_end(struct walk_counts *c, unsigned flags)
{
	c->values += !!(flags & WALK_VALUE);
	c->unfinished += !!(flags & WALK_UNFINISHED);
	c->cut += !!(flags & WALK_CUT);
	c->unfollowed += !!(flags & WALK_UNFOLLOWED);
	c->unwound += !!(flags & WALK_UNWOUND);
}

/* Ends the topmost call. inside: of its ticks, how many were in calls it made. The frame is the
 * exporter's until take() returns; its caller gets the ticks afterwards, so that `self` of both is
 * right. The kernel's calls below are no time of its own. */
static void end_call(struct walk *w, uint32_t lane, const struct call_step *s, uint64_t ticks,
		     uint64_t inside, unsigned flags)
{
	struct walk_lane *l = &w->lanes.at[lane];
	struct walk_frame *f = &l->open.at[l->open.n - 1];
	struct walk_step step = step_on(w, lane, s, WALK_END);

	step.function = f->function;
	step.depth = (uint32_t)l->open.n - 1;
	step.begin_ns = f->begin_ns;
	step.ticks = ticks;
	inside += f->kernel;
	step.self = inside < ticks ? ticks - inside : 0;
	step.value = call_step_value(s);
	step.flags = (uint8_t)flags;
	step.frame = f;
	count_end(&w->counts, flags);
	give_step(w, &step);
	charge_below(w, f, ticks);
	free(f->arguments);
	l->open.n--;
	if (l->open.n)
		l->open.at[l->open.n - 1].inside += ticks;
}

/* Ends a call by what is known of it here: its end was not told. */
static void cut_call(struct walk *w, uint32_t lane, const struct call_step *s, unsigned flags)
{
	const struct walk_lane *l = &w->lanes.at[lane];
	const struct walk_frame *f = &l->open.at[l->open.n - 1];
	uint64_t ticks = s->tsc > f->begin ? s->tsc - f->begin : 0;

	end_call(w, lane, s, ticks, f->inside, flags);
}

/* Ends what is open at `depth` and above: ends that no step tells of. */
static void cut_down_to(struct walk *w, uint32_t lane, const struct call_step *s, uint32_t depth)
{
	const struct walk_lane *l = &w->lanes.at[lane];

	while (l->open.n && l->open.at[l->open.n - 1].depth >= depth)
		cut_call(w, lane, s, WALK_UNWOUND);
}

/* The flags of a step that exporters can tell of an end. */
static unsigned flags_of(const struct call_step *s)
{
	return (s->flags & CALL_UNWOUND ? WALK_UNWOUND : 0) |
	       (s->flags & CALL_UNFINISHED ? WALK_UNFINISHED : 0) |
	       (s->flags & CALL_VALUE ? WALK_VALUE : 0);
}

/* A call at a depth that is open already: the end of the one before was not recorded. */
static void take_enter(struct walk *w, uint32_t lane, const struct call_step *s)
{
	cut_down_to(w, lane, s, s->depth);
	begin_call(w, lane, s);
}

/* A call that ended at a loss already is not on the lane any more. */
static void take_leave(struct walk *w, uint32_t lane, const struct call_step *s)
{
	const struct walk_lane *l = &w->lanes.at[lane];

	cut_down_to(w, lane, s, s->depth + 1);
	if (l->open.n && l->open.at[l->open.n - 1].depth == s->depth)
		end_call(w, lane, s, s->tsc - s->begin, s->inside, flags_of(s));
}

/* A call whose return is not followed: it ends where it begins, and says so by its flag. */
static void take_only(struct walk *w, uint32_t lane, const struct call_step *s)
{
	begin_call(w, lane, s);
	end_call(w, lane, s, 0, 0, WALK_UNFOLLOWED);
}

/* Number of the frame that an opening has made for this span; SIZE_MAX: it had none. From the top,
 * since the frame is near it. SIZE_MAX comes of 0 - 1. */
static size_t opened(const struct walk_lane *l, uint32_t function, uint64_t begin)
{
	size_t i = l->open.n;

	while (i && (l->open.at[i - 1].begin != begin || l->open.at[i - 1].function != function))
		i--;
	return i - 1;
}

/* A whole call, told at its end. Where no opening was made for it (report/openings.h), it begins as
 * early as its lane allows. Its sleeps are no time of it. Calls above its opening were begun in it,
 * so that they end now. */
static void take_span(struct walk *w, uint32_t lane, const struct call_step *s)
{
	size_t at = opened(&w->lanes.at[lane], function_row(w, s->thread, s->fn), s->begin);
	uint64_t ticks = s->tsc - s->begin - s->slept, inside = 0;

	if (at == SIZE_MAX) {
		struct call_step begin = *s;

		begin.tsc = s->begin;
		begin.flags = 0;
		begin_call(w, lane, &begin);
	} else {
		while (w->lanes.at[lane].open.n > at + 1)
			cut_call(w, lane, s, WALK_UNWOUND);
		inside = w->lanes.at[lane].open.at[at].inside;
	}
	end_call(w, lane, s, ticks, inside, flags_of(s));
}

/* cuts: the format's reader cannot go on across a loss, so that all calls end there. The calls end
 * before the loss, at its time: a reader finds every call on one side of it. */
static void take_lost(struct walk *w, uint32_t lane, const struct call_step *s)
{
	struct walk_step step;

	while (w->cuts && w->lanes.at[lane].open.n)
		cut_call(w, lane, s, WALK_CUT);
	step = step_on(w, lane, s, WALK_LOST);
	step.lost = s->count;
	step.depth = (uint32_t)w->lanes.at[lane].open.n;
	w->counts.losses++;
	give_step(w, &step);
}

/* Its depth is the number of calls that are open around it. */
static void take_event(struct walk *w, uint32_t lane, const struct call_step *s)
{
	struct walk_step step = step_on(w, lane, s, WALK_EVENT);

	step.event = s->event;
	step.depth = (uint32_t)w->lanes.at[lane].open.n;
	w->counts.events++;
	give_step(w, &step);
}

/* The sink of tracks: it returns nothing, and a failure is kept in w->failed. */
static void take_step(void *arg, const struct call_step *s)
{
	static void (*const take[CALL_KINDS_N])(struct walk *, uint32_t,
						const struct call_step *) = {
		[CALL_ENTER] = take_enter, [CALL_LEAVE] = take_leave, [CALL_ONLY] = take_only,
		[CALL_SPAN] = take_span, [CALL_LOST] = take_lost, [CALL_EVENT] = take_event,
	};
	struct walk *w = arg;
	uint32_t lane;

	if (w->failed)
		return;
	lane = lane_row(w, s->thread, s->track);
	note_program_lane(w, lane);
	take[s->kind](w, lane, s);
}

/* --- the ends of threads ------------------------------------------------------------------ */

/* Calls that are open at the end lasted until their thread's last record. w->last is 1 + the time.
 * A track of a thread without records has nothing open. */
static void end_track(struct walk *w, struct track *t)
{
	const uint32_t thread = track_thread(t);
	struct event e = { .thread = thread };

	if (thread >= w->last.n || !w->last.at[thread])
		return;
	e.tsc = w->last.at[thread] - 1;
	calls_end(&t->calls, &e, take_step, w);
}

/* thread: only its own stack; NO_THREAD: all stacks. */
static void end_tracks(struct walk *w, uint32_t thread)
{
	for (size_t i = 0; i < w->tracks.processes.n; i++) {
		const struct process_tracks *p = w->tracks.processes.at[i];

		for (size_t k = 0; k < p->tracks.n; k++) {
			struct track *t = p->tracks.at[k];

			if (!t || (thread != NO_THREAD && t->home != thread))
				continue;
			end_track(w, t);
		}
	}
}

/* Ends what threads have left open that spans were announced for, and never came. */
static void end_lanes(struct walk *w)
{
	for (uint32_t lane = 0; lane < w->lanes.n; lane++) {
		uint32_t thread = w->lanes.at[lane].running;
		struct call_step s = { .tsc = w->last.at[thread] - 1, .thread = thread };

		while (w->lanes.at[lane].open.n && !w->failed)
			cut_call(w, lane, &s, WALK_UNFINISHED);
	}
}

/* Notes the thread's first record. An exec goes on as another thread of the trace that has the same
 * id: the calls of the old program have ended. In a trace of a program and the kernel a thread is
 * two of them, with one id, which go on side by side. */
static void meet_thread(struct walk *w, uint32_t thread)
{
	const uint64_t tid = w->info->threads.at[thread].tid;
	uint64_t key = (tid << 1 | trace_info_is_kernel_thread(w->info, thread)) + 1;
	uint64_t old = number_map_get(&w->tids, key);

	if (old != NUMBER_NONE)
		end_tracks(w, (uint32_t)old);
	number_map_set(&w->tids, key, thread);
}

/* w->last has one more than a thread's last time, so that 0 says: none yet. The largest time stays
 * as it is. */
static void note_record(struct walk *w, const struct event *e)
{
	while (w->last.n <= e->thread)
		*vec_add(&w->last) = 0;
	if (!w->last.at[e->thread])
		meet_thread(w, e->thread);
	w->last.at[e->thread] = e->tsc + 1 ? e->tsc + 1 : e->tsc;
}

/* The tracks end before the lanes: what is open then gets its end from the last record of its
 * thread. A stop is asked at each record, for a trace may take minutes. */
static int read_all(struct walk *w, struct err *err)
{
	struct event e = { 0 };
	int r;

	while ((r = w->source->ops->next(w->source, &e, err)) > 0) {
		/* Only a broken file has records of a thread that its table lacks. */
		if (e.thread >= w->info->threads.n)
			continue;
		note_record(w, &e);
		tracks_feed(&w->tracks, tracks_lane(&w->tracks, e.thread), &e, take_step, w);
		if (stop_asked(w->stop))
			return err_set(err, EINTR, "interrupted: nothing is written");
		if (w->failed)
			return w->failed;
	}
	if (r < 0)
		return r;
	end_tracks(w, NO_THREAD);
	end_lanes(w);
	return w->failed;
}

/* The choices are read while it runs: they are set before. */
int walk_run(struct walk *w, walk_take *take, void *arg, struct err *err)
{
	int r;

	w->take = take;
	w->arg = arg;
	sites_init(&w->sites, w->info);
	tracks_init(&w->tracks, w->info, &w->sites);
	r = read_all(w, err);
	tracks_free(&w->tracks);
	sites_free(&w->sites);
	return r;
}

/* The lane of the thread itself; coroutines on it have lanes of their own. */
uint32_t walk_thread_lane(struct walk *w, uint32_t thread)
{
	return lane_row(w, thread, 0);
}

/* --- what exporters ask -------------------------------------------------------------------- */

const struct trace_thread *walk_thread(const struct walk *w, uint32_t lane)
{
	return &w->info->threads.at[w->lanes.at[lane].thread];
}

bool walk_is_kernel(const struct walk *w, uint32_t lane)
{
	return trace_info_is_merged(w->info) &&
	       trace_info_is_kernel_thread(w->info, w->lanes.at[lane].thread);
}

bool walk_is_kernel_function(const struct walk *w, uint32_t function)
{
	return trace_info_is_merged(w->info) &&
	       w->functions.at[function].image == TRACE_KERNEL_IMAGE;
}

/* The kernel's part of a merged trace is of no process: 0. */
uint32_t walk_process(const struct walk *w, uint32_t lane)
{
	return walk_is_kernel(w, lane) ? 0 : walk_thread(w, lane)->pid;
}

/* For the caller to free. A coroutine has no name: it is told by its thread's and its number. */
char *walk_lane_name(const struct walk *w, uint32_t lane)
{
	const struct walk_lane *l = &w->lanes.at[lane];
	char *comm = mem_strndup(trace_thread_name(&w->info->threads.at[l->thread]), TRACE_COMM);
	char *name;

	if (walk_is_kernel(w, lane))
		name = mem_printf("%s-%u", comm, walk_thread(w, lane)->tid);
	else if (!l->coroutine)
		return comm;
	else
		name = mem_printf("%s/co%u", comm, l->coroutine);
	free(comm);
	return name;
}

/* NULL: a function that the trace's table lacks. */
const struct trace_function *walk_function(const struct walk *w, uint32_t function,
					   const struct trace_module **module)
{
	const struct walk_function *f = &w->functions.at[function];

	return f->id == FN_NONE ? NULL : trace_info_function(w->info, f->image, f->id, module);
}

/* For the caller to free. NULL: the value was not recorded. A function without a prototype shows
 * its register as a number. */
char *walk_returned(const struct walk *w, const struct walk_step *s)
{
	const struct walk_function *f = &w->functions.at[s->function];
	char *text = NULL;

	if (!(s->flags & WALK_VALUE))
		return NULL;
	if (arguments_value(w->info, f->image, f->id, s->value, s->tsc, &text) ==
	    ARGUMENTS_VALUE_PLAIN)
		return mem_printf("0x%llx", (unsigned long long)s->value.number);
	return text;
}

bool walk_returned_typed(const struct walk *w, const struct walk_step *s, argument_visit *visit,
			 void *context)
{
	const struct walk_function *f = &w->functions.at[s->function];

	return s->flags & WALK_VALUE && arguments_returned(w->info, f->image, f->id, s->value,
							   "returned", visit, context);
}

bool walk_returned_json(const struct walk *w, const struct walk_step *s, struct out *o)
{
	const struct walk_function *f = &w->functions.at[s->function];
	char *text;

	if (!(s->flags & WALK_VALUE))
		return false;
	if (arguments_returned_json(o, w->info, f->image, f->id, s->value))
		return true;
	text = walk_returned(w, s);
	if (text)
		json_string(o, text);
	free(text);
	return text;
}
