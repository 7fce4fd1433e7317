/* SPDX-License-Identifier: MIT */
/* Beginning and end of a session behind the tree, and its trace arrays (one per instance). The
 * commands call instances_start and instances_stop from one thread; trace arrays come and go on the
 * tree's threads. The order in instances_stop matters: first no thread of the tree can ask any more
 * (instance_detach), then the pump stops, then what both used is freed. */
#include "instance/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "collect/ring_file.h"
#include "image/describe.h"
#include "shared/messages.h"

/* --- arrays -------------------------------------------------------------------------- */

/* Creates the array and adds it to l->arrays. A writer holds `changing` too, so that
 * instances_apply sees the same arrays throughout a change. */
struct trace_array *instances_add(struct instances *l, struct instance *in, const char *name,
				  const struct settings *s)
{
	struct trace_array *tr = mem_zalloc(sizeof(*tr));

	tr->instances = l;
	tr->instance = in;
	tr->name = name ? mem_strdup(name) : NULL;
	settings_copy(&tr->settings, s);
	buffer_init(&tr->buffer, s, &l->addresses);
	if (l->session)
		buffer_set_times(&tr->buffer, consumer_clock(l->session));
	pthread_mutex_lock(&l->changing);
	pthread_mutex_lock(&l->lock);
	*vec_add(&l->arrays) = tr;
	if (!l->top)
		l->top = tr;
	pthread_mutex_unlock(&l->lock);
	pthread_mutex_unlock(&l->changing);
	return tr;
}

/* Nobody asks about the array any more: the tree has detached it, and the pump does not have its
 * buffer. */
void instances_remove(struct trace_array *tr)
{
	struct instances *l = tr->instances;
	size_t kept = 0;

	pthread_mutex_lock(&l->changing);
	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->arrays.n; i++)
		if (l->arrays.at[i] != tr)
			l->arrays.at[kept++] = l->arrays.at[i];
	l->arrays.n = kept;
	pthread_mutex_unlock(&l->lock);
	pthread_mutex_unlock(&l->changing);
	buffer_free(&tr->buffer);
	settings_free(&tr->settings);
	free(tr->name);
	free(tr);
}

/* --- beginning and end -------------------------------------------------------------- */

/* Called by the pump's thread after each pass. l->lock keeps arrays from being freed here;
 * pump_lock may be with another thread. */
static void pump_woken(void *context)
{
	struct instances *l = context;

	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->arrays.n; i++)
		if (buffer_is_readable(&l->arrays.at[i]->buffer) ||
		    buffer_raw_is_pending(&l->arrays.at[i]->buffer))
			instance_wake(l->arrays.at[i]->instance);
	pthread_mutex_unlock(&l->lock);
}

/* Called by the pump's thread before each pass. In mode block the programs wait for the reader of
 * trace_pipe, which `brace graph` is, too, while tracing_on is 1; in the other modes they wait for
 * nobody. */
static bool reader_lags(void *context, uint64_t more)
{
	struct instances *l = context;
	bool lags = false;

	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->arrays.n; i++) {
		struct trace_array *tr = l->arrays.at[i];

		lags |= buffer_await(&tr->buffer,
				     l->mode == BUFFER_BLOCK && buffer_is_on(&tr->buffer) &&
					     instance_is_piped(tr->instance),
				     more);
	}
	pthread_mutex_unlock(&l->lock);
	return lags;
}

/* Programs' memory that is full waits in the ring for the reader of trace_pipe: so much of it, and
 * in mode overwrite all, which comes at the end. */
#define PRINTED_BYTES (256u << 20)

/* The top instance has all that the session records. Before the pump begins. */
static void take_all(struct instances *l, const struct instances_request *req)
{
	consumer_print(l->session, req->sides);
	buffer_take_all(&l->top->buffer,
			l->mode == BUFFER_OVERWRITE ? UINT64_MAX : PRINTED_BYTES);
}

static uint64_t ring_bytes(const struct instances_request *req)
{
	return req->ring_kb ? req->ring_kb << 10 : RING_BYTES;
}

/* Starts the session, then the pump that empties its memory. A failure of the pump leaves
 * l->session, which instances_stop frees. */
static int begin_session(struct instances *l, const struct instances_request *req, struct err *err)
{
	char *kept = req->ring ? mem_printf("%s" INSTANCES_RING_TRACE, req->ring) : NULL;
	const struct session_request session = { .settings = l->now,
						 .argv = req->argv,
						 .pids = req->pids,
						 .n_pids = req->n_pids,
						 .agent_path = req->agent_path,
						 .compress = req->compress,
						 .beside = req->beside,
						 .output = kept,
						 .rotation = { kept ? ring_bytes(req) : 0, 0, 2 },
						 .ring = req->ring,
						 .ring_kb = req->ring_kb };
	int e = session_start(&session, &l->session, err);

	free(kept);
	if (e)
		return e;
	consumer_show(l->session);
	buffer_set_times(&l->top->buffer, consumer_clock(l->session));
	if (req->settings)
		take_all(l, req);
	if (req->slow && req->slow->n)
		l->slow = slow_new(consumer_info(l->session), req->slow);
	return pump_start(l->session,
			  &(struct pump_user){ pump_woken, reader_lags,
					       l->slow ? profiling_feed : NULL, l },
			  &l->top->buffer, &l->pump, err);
}

/* Finds a function for filters that name one (`field.function`), by the addresses of kallsyms. */
static bool find_function(void *arg, const char *name, uint64_t address, struct filter_function *f)
{
	struct instances *l = arg;
	uint64_t end = 0;
	bool found =
		addresses_find(&l->addresses, pump_lock(l->pump), name, address, &f->begin, &end);

	pump_unlock(l->pump);
	f->bytes = (uint32_t)(end - f->begin);
	return found;
}

/* The programs have the settings as they are. The top instance shows the value that a condition
 * decided by, and seconds: the stamp is the clock of trace files. */
static void use_settings(struct instances *l, struct instance *top, const struct settings *of)
{
	struct settings shown;

	l->events = of->events.catalogue ? of->events.catalogue : l->events;
	l->mode = of->mode;
	l->now = mem_zalloc(sizeof(*l->now));
	settings_copy(l->now, of);
	settings_copy(&shown, of);
	if (shown.clock == TRACE_CLOCK_STAMP)
		shown.clock = TRACE_CLOCK_LOCAL;
	if (function_list_has_returned(&of->graph_function))
		shown.options |= OPTION_BIT(OPTION_GRAPH_RETVAL);
	instances_add(l, top, NULL, &shown);
	settings_free(&shown);
}

/* The tree's settings: the programs have what follows from them. 0, or -EINVAL and *err. */
static int use_tree_settings(struct instances *l, struct instance *top, struct err *err)
{
	struct settings s;
	int e;

	instance_settings(top, &s);
	/* Blocking mode is the programs' concern; overwrite is done by our ring, so that the
	 * session itself streams. */
	l->mode = s.mode == BUFFER_BLOCK ? BUFFER_BLOCK : BUFFER_STREAM;
	instances_add(l, top, NULL, &s);
	l->now = instances_for_session(l, l->top, &s);
	e = instances_check_returned(&s, err);
	settings_free(&s);
	return e;
}

int instances_start(const struct instances_request *req, struct tree *tree, struct instances **out,
		    struct err *err)
{
	struct instances *l = mem_zalloc(sizeof(*l));
	struct instance *top = instance_top(tree);
	int e = 0;

	pthread_mutex_init(&l->lock, NULL);
	pthread_mutex_init(&l->changing, NULL);
	pthread_mutex_init(&l->names, NULL);
	writer_cpus_init(&l->writer_cpus);
	l->events = instance_events(tree);
	l->measuring = measuring_new(l);
	if (req->settings)
		use_settings(l, top, req->settings);
	else
		e = use_tree_settings(l, top, err);
	if (e == 0)
		e = begin_session(l, req, err);
	/* Without writes nobody compiles a filter, but the session for an event that it meets. */
	if (e == 0 && !req->settings)
		events_set_context(l->events,
				   &(struct filter_context){ .function = find_function, .arg = l });
	if (e == 0)
		e = instance_attach(
			top,
			(struct tree_target){ req->settings ? &printed_ops : &trace_array_ops,
					      l->top },
			err);
	if (e) {
		instances_stop(l);
		return e;
	}
	*out = l;
	return 0;
}

/* instance_detach waits for calls that are under way; later ones find no target. */
void instances_stop(struct instances *l)
{
	if (!l)
		return;
	events_set_context(l->events, &(struct filter_context){ 0 });
	for (size_t i = l->arrays.n; i-- > 0;)
		instance_detach(l->arrays.at[i]->instance);
	measuring_free(l->measuring);
	/* NULL if instances_start failed before the pump ran. */
	if (l->pump) {
		pump_stop(l->pump);
		consumer_end_file(l->session);
	}
	profile_free(l->profile);
	stacks_free(l->stacks);
	slow_free(l->slow);
	hits_free(&l->hits);
	while (l->arrays.n)
		instances_remove(l->arrays.at[l->arrays.n - 1]);
	session_free(l->session); /* printers refer to names in its trace_info */
	vec_free(&l->arrays);
	functions_free(&l->functions);
	addresses_free(&l->addresses);
	number_map_free(&l->writers);
	instances_drop_settings(l->now);
	pthread_mutex_destroy(&l->lock);
	pthread_mutex_destroy(&l->changing);
	pthread_mutex_destroy(&l->names);
	writer_cpus_free(&l->writer_cpus);
	free(l);
}

bool instances_are_over(struct instances *l)
{
	return pump_is_over(l->pump);
}

void instances_wait(struct instances *l)
{
	pump_wait(l->pump);
}

bool instances_are_binary(struct instances *l)
{
	bool binary = buffer_is_binary(&l->top->buffer, instances_lock(l));

	pump_unlock(l->pump);
	return binary;
}

void instances_print_header(struct instances *l, struct out *out)
{
	buffer_print_header(&l->top->buffer, instances_lock(l), out);
	pump_unlock(l->pump);
}

bool instances_failed(struct instances *l, struct err *err)
{
	return pump_failed(l->pump, err);
}

struct session *instances_session(struct instances *l)
{
	return l->session;
}

uint64_t instances_dropped(struct instances *l)
{
	struct ring_counts c = ring_counts(&l->top->buffer.ring);

	return c.overrun + c.dropped;
}

/* The files that a session with a ring writes are not before an extracted one. The next pass tells
 * the message again. */
static void forget_files_before(struct trace_info *info)
{
	size_t kept = 0;

	for (size_t i = 0; i < info->messages.n; i++)
		if (info->messages.at[i].kind != MESSAGE_ROTATED)
			info->messages.at[kept++] = info->messages.at[i];
	info->messages.n = kept;
}

int instances_extract_why(struct instances *l, const char *path, const struct trace_message *why,
			  struct err *err)
{
	struct trace_message gone = { .kind = MESSAGE_OVERWRITTEN, .count = 1 };
	struct trace_array *top = l->top;
	struct trace_info *info;
	size_t messages;
	uint64_t n;
	int e;

	/* The trace is complete up to this call. */
	target_sync(top);
	info = instances_lock(l);
	describe_settings(info, &top->settings);
	session_tell_run(l->session);
	forget_files_before(info);
	messages = info->messages.n;
	n = instances_dropped(l);
	snprintf(gone.name, sizeof(gone.name), "%" PRIu64, n);
	if (why)
		*vec_add(&info->messages) = *why;
	if (n)
		*vec_add(&info->messages) = gone;
	e = buffer_extract(&top->buffer, info, path, err);
	info->messages.n = messages;
	pump_unlock(l->pump);
	return e;
}

int instances_extract(struct instances *l, const char *path, struct err *err)
{
	return instances_extract_why(l, path, NULL, err);
}

/* When all is over no call goes on. */
bool instances_slow(struct instances *l, struct slow_call *out)
{
	bool over = pump_is_over(l->pump), any;

	pump_lock(l->pump);
	any = l->slow && slow_take(l->slow, over ? 0 : pump_horizon(l->pump), out);
	pump_unlock(l->pump);
	return any;
}

bool instances_slow_has_functions(struct instances *l)
{
	bool any;

	pump_lock(l->pump);
	any = l->slow && slow_has_functions(l->slow);
	pump_unlock(l->pump);
	return any;
}
