#include "live/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "live/functions.h"
#include "live/pump.h"
#include "session/clock.h"

struct live {
	struct session *session;
	struct pump *pump;
	struct instance *top;
	struct buffer buffer;
	struct settings *now;     /* as the session has them */
	enum buffer_mode mode;    /* of the session's memory: as it was made */
	pthread_mutex_t lock;     /* of functions */
	struct functions functions;
};

static void woken(void *context)
{
	struct live *l = context;

	if (buffer_is_readable(&l->buffer))
		instance_wake(l->top);
}

/* --- settings ----------------------------------------------------------------------- */

/* The tree's sizes and modes are about the buffers it keeps. The session's own is between the program and us. */
static struct settings *for_session(const struct settings *s, enum buffer_mode mode)
{
	struct settings *copy = mem_zalloc(sizeof(*copy)), usual;

	settings_copy(copy, s);
	settings_init(&usual);
	copy->mode = mode;
	copy->buffer_size_kb = usual.buffer_size_kb;
	settings_free(&usual);
	return copy;
}

static void drop_settings(struct settings *s)
{
	if (s)
		settings_free(s);
	free(s);
}

/* Files whose change reaches into the programs. */
static bool concerns_session(const char *file)
{
	static const char *const files[] = { "current_tracer", "max_graph_depth", "set_ftrace_filter", "set_ftrace_module",
					     "set_ftrace_notrace", "set_graph_function", "set_graph_notrace", "tracing_thresh" };

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!strcmp(file, files[i]))
			return true;
	return false;
}

static int change_session(struct live *l, const struct settings *next, struct err *err)
{
	struct settings *s = for_session(next, l->mode);
	uint64_t pause;
	int e = pump_is_over(l->pump) ? 0 : session_change(l->session, s, &pause, err);

	if (e == 0) {
		struct settings *old = l->now;

		l->now = s;
		s = old;
	}
	drop_settings(s);
	return e;
}

/* Without a tracer function filters mean nothing yet: they are kept for when there is one. */
static int apply(void *arg, const struct settings *next, const char *file, struct err *err)
{
	struct live *l = arg;
	int e = 0;

	if (file && !strcmp(file, "options/block"))
		return err_set(err, EINVAL, "whether a program waits for room is decided when it comes under trace: --mode block");
	if (file && concerns_session(file) && !(l->now->nop && next->nop))
		e = change_session(l, next, err);
	if (e)
		return e;
	if (file && !strcmp(file, "current_tracer"))
		pump_sync(l->pump); /* the old one's last records are not the new one's first */
	buffer_configure(&l->buffer, next, clock_tsc());
	return 0;
}

/* --- functions ---------------------------------------------------------------------- */

/* Locked until functions_end. */
static struct functions *functions_begin(struct live *l)
{
	pthread_mutex_lock(&l->lock);
	functions_update(&l->functions, pump_hold(l->pump));
	pump_release(l->pump);
	return &l->functions;
}

static void functions_end(struct live *l)
{
	pthread_mutex_unlock(&l->lock);
}

static int check(void *arg, const char *file, const char *word, struct err *err)
{
	struct live *l = arg;
	bool have = !strcmp(file, "set_ftrace_module");

	if (!have) {
		have = functions_have(functions_begin(l), word);
		functions_end(l);
	}
	return have ? 0 : err_set(err, EINVAL, "no function that can be traced matches %s", word);
}

static char *function_at(void *arg, unsigned long line)
{
	struct live *l = arg;
	const struct functions *f = functions_begin(l);
	char *name = line && line <= f->at.n ? mem_strdup(f->at.at[line - 1].name) : NULL;

	functions_end(l);
	return name;
}

static void functions(void *arg, const struct function_list *list, struct out *out)
{
	struct live *l = arg;

	functions_print(functions_begin(l), list, out);
	functions_end(l);
}

/* --- data --------------------------------------------------------------------------- */

static int trace(void *arg, const struct settings *s, struct out *out, struct err *err)
{
	struct live *l = arg;
	int e;

	pump_sync(l->pump);
	e = buffer_show(&l->buffer, pump_hold(l->pump), s, out, err);
	pump_release(l->pump);
	return e;
}

static int clear(void *arg, struct err *err)
{
	struct live *l = arg;

	pump_sync(l->pump);
	buffer_clear(&l->buffer, clock_tsc());
	return 0;
}

static ssize_t read_pipe(void *arg, char *buf, size_t n, struct err *err)
{
	struct live *l = arg;
	ssize_t got = buffer_read(&l->buffer, pump_hold(l->pump), buf, n, err);

	pump_release(l->pump);
	return got;
}

static bool pipe_ready(void *arg)
{
	return buffer_is_readable(&((struct live *)arg)->buffer);
}

static const struct tree_target_ops ops = {
	.apply = apply, .check = check, .function_at = function_at, .functions = functions,
	.trace = trace, .clear = clear, .pipe = read_pipe, .pipe_ready = pipe_ready,
};

/* --- beginning and end -------------------------------------------------------------- */

static int begin_session(struct live *l, const struct live_request *req, struct err *err)
{
	const struct session_request session = { .settings = l->now, .argv = req->argv, .pids = req->pids,
						 .n_pids = req->n_pids, .agent_path = req->agent_path };
	int e = session_start(&session, &l->session, err);

	if (e == 0)
		e = pump_start(l->session, woken, l, &l->pump, err);
	return e;
}

int live_start(const struct live_request *req, struct tree *tree, struct live **out, struct err *err)
{
	struct live *l = mem_zalloc(sizeof(*l));
	struct settings s;
	int e;

	instance_settings(instance_top(tree), &s);
	pthread_mutex_init(&l->lock, NULL);
	l->top = instance_top(tree);
	l->mode = s.mode == BUFFER_BLOCK ? BUFFER_BLOCK : BUFFER_STREAM;
	l->now = for_session(&s, l->mode);
	buffer_init(&l->buffer, &s);
	settings_free(&s);
	e = begin_session(l, req, err);
	if (e == 0) {
		pump_add(l->pump, &l->buffer);
		e = instance_attach(l->top, (struct tree_target){ &ops, l }, err);
	}
	if (e) {
		live_stop(l);
		return e;
	}
	*out = l;
	return 0;
}

void live_stop(struct live *l)
{
	if (!l)
		return;
	instance_detach(l->top);
	if (l->pump)
		pump_stop(l->pump);
	session_free(l->session);
	buffer_free(&l->buffer);
	functions_free(&l->functions);
	drop_settings(l->now);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
