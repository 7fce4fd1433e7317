#include "live/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "live/functions.h"
#include "live/pump.h"
#include "session/clock.h"

/* An instance's part: the target of its files. */
struct part {
	struct live *live;
	struct instance *instance;
	char *name;               /* NULL: the top one's */
	struct buffer buffer;
	struct settings settings; /* as last applied */
};

struct live {
	struct session *session;
	struct pump *pump;
	struct settings *now;     /* as the session has them */
	enum buffer_mode mode;    /* of the session's memory: as it was made */
	pthread_mutex_t lock;     /* of parts: to change them both locks are held, to read them one */
	VEC(struct part *) parts; /* the first is the top one's */
	pthread_mutex_t changing; /* one change at a time: of `now`, and the parts' settings */
	pthread_mutex_t names;    /* of functions */
	struct functions functions;
};

static void woken(void *context)
{
	struct live *l = context;

	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->parts.n; i++)
		if (buffer_is_readable(&l->parts.at[i]->buffer))
			instance_wake(l->parts.at[i]->instance);
	pthread_mutex_unlock(&l->lock);
}

/* --- parts -------------------------------------------------------------------------- */

static struct part *part_new(struct live *l, struct instance *in, const char *name, const struct settings *s)
{
	struct part *p = mem_zalloc(sizeof(*p));

	p->live = l;
	p->instance = in;
	p->name = name ? mem_strdup(name) : NULL;
	settings_copy(&p->settings, s);
	buffer_init(&p->buffer, s);
	pthread_mutex_lock(&l->changing);
	pthread_mutex_lock(&l->lock);
	*vec_add(&l->parts) = p;
	pthread_mutex_unlock(&l->lock);
	pthread_mutex_unlock(&l->changing);
	return p;
}

static void part_free(struct part *p)
{
	struct live *l = p->live;
	size_t kept = 0;

	pthread_mutex_lock(&l->changing);
	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->parts.n; i++)
		if (l->parts.at[i] != p)
			l->parts.at[kept++] = l->parts.at[i];
	l->parts.n = kept;
	pthread_mutex_unlock(&l->lock);
	pthread_mutex_unlock(&l->changing);
	buffer_free(&p->buffer);
	settings_free(&p->settings);
	free(p->name);
	free(p);
}

/* --- settings ----------------------------------------------------------------------- */

/* Whose tracer runs; NULL: nobody's. `p` has other settings than it had. */
static struct part *owner_with(struct live *l, struct part *p, const struct settings *next)
{
	struct part *owner = next->nop ? NULL : p;

	for (size_t i = 0; i < l->parts.n && !owner; i++)
		if (l->parts.at[i] != p && !l->parts.at[i]->settings.nop)
			owner = l->parts.at[i];
	return owner;
}

static int check_one_tracer(struct live *l, const struct part *p, const struct settings *next, struct err *err)
{
	for (size_t i = 0; i < l->parts.n && !next->nop; i++) {
		const struct part *other = l->parts.at[i];

		if (other != p && !other->settings.nop)
			return err_set(err, EBUSY, "%s%s traces functions already, and one can at a time: write nop to its current_tracer",
				       other->name ? "instance " : "the top directory", other->name ? other->name : "");
	}
	return 0;
}

static void take_list(struct function_list *to, const struct function_list *from)
{
	function_list_free(to);
	function_list_copy(to, from);
}

/* What the programs are to do: the top's settings, and the tracer and filters of the one whose tracer runs. Sizes
 * and modes are about the buffers here; the session's memory is between the programs and us. */
static struct settings *for_session(struct live *l, struct part *p, const struct settings *next)
{
	const struct part *top = l->parts.n ? l->parts.at[0] : NULL, *owner = owner_with(l, p, next);
	const struct settings *common = !top || top == p ? next : &top->settings;
	const struct settings *tracer = !owner ? common : owner == p ? next : &owner->settings;
	struct settings *s = mem_zalloc(sizeof(*s)), usual;

	settings_copy(s, common);
	s->nop = tracer->nop;
	s->graph = tracer->graph;
	if (tracer != common) {
		take_list(&s->filter, &tracer->filter);
		take_list(&s->notrace, &tracer->notrace);
	}
	settings_init(&usual);
	s->mode = l->mode;
	s->buffer_size_kb = usual.buffer_size_kb;
	settings_free(&usual);
	return s;
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

/* Without a tracer function filters mean nothing yet: they are kept for when there is one. */
static int change_session(struct part *p, const struct settings *next, struct err *err)
{
	struct live *l = p->live;
	struct settings *s = for_session(l, p, next), *old = l->now;
	bool nothing = (s->nop && old->nop) || pump_is_over(l->pump);
	uint64_t pause;
	int e = nothing ? 0 : session_change(l->session, s, &pause, err);

	l->now = e ? old : s;
	drop_settings(e ? s : old);
	return e;
}

static void configure(struct part *p, const struct settings *next)
{
	settings_free(&p->settings);
	settings_copy(&p->settings, next);
	buffer_configure(&p->buffer, next, clock_tsc());
}

static int apply(void *arg, const struct settings *next, const char *file, struct err *err)
{
	struct part *p = arg;
	int e = 0;

	if (file && !strcmp(file, "options/block"))
		return err_set(err, EINVAL, "whether a program waits for room is decided when it comes under trace: --mode block");
	pthread_mutex_lock(&p->live->changing);
	if (file && concerns_session(file)) {
		e = check_one_tracer(p->live, p, next, err);
		if (e == 0)
			e = change_session(p, next, err);
	}
	if (e == 0 && file && !strcmp(file, "current_tracer"))
		pump_sync(p->live->pump); /* the old one's last records are not the new one's first */
	if (e == 0)
		configure(p, next);
	pthread_mutex_unlock(&p->live->changing);
	return e;
}

/* --- functions ---------------------------------------------------------------------- */

/* Locked until functions_end. */
static struct functions *functions_begin(struct live *l)
{
	pthread_mutex_lock(&l->names);
	functions_update(&l->functions, pump_hold(l->pump));
	pump_release(l->pump);
	return &l->functions;
}

static void functions_end(struct live *l)
{
	pthread_mutex_unlock(&l->names);
}

static int check(void *arg, const char *file, const char *word, struct err *err)
{
	struct live *l = ((struct part *)arg)->live;
	bool have = !strcmp(file, "set_ftrace_module");

	if (!have) {
		have = functions_have(functions_begin(l), word);
		functions_end(l);
	}
	return have ? 0 : err_set(err, EINVAL, "no function that can be traced matches %s", word);
}

static char *function_at(void *arg, unsigned long line)
{
	struct live *l = ((struct part *)arg)->live;
	const struct functions *f = functions_begin(l);
	char *name = line && line <= f->at.n ? mem_strdup(f->at.at[line - 1].name) : NULL;

	functions_end(l);
	return name;
}

static void functions(void *arg, const struct function_list *list, struct out *out)
{
	struct live *l = ((struct part *)arg)->live;

	functions_print(functions_begin(l), list, out);
	functions_end(l);
}

/* --- data --------------------------------------------------------------------------- */

static int trace(void *arg, const struct settings *s, struct out *out, struct err *err)
{
	struct part *p = arg;
	int e;

	pump_sync(p->live->pump);
	e = buffer_show(&p->buffer, pump_hold(p->live->pump), s, out, err);
	pump_release(p->live->pump);
	return e;
}

static int clear(void *arg, struct err *err)
{
	struct part *p = arg;

	pump_sync(p->live->pump);
	buffer_clear(&p->buffer, clock_tsc());
	return 0;
}

static ssize_t read_pipe(void *arg, char *buf, size_t n, struct err *err)
{
	struct part *p = arg;
	ssize_t got = buffer_read(&p->buffer, pump_hold(p->live->pump), buf, n, err);

	pump_release(p->live->pump);
	return got;
}

static bool pipe_ready(void *arg)
{
	return buffer_is_readable(&((struct part *)arg)->buffer);
}

static int make(void *arg, struct instance *instance, const char *name, struct tree_target *out, struct err *err);
static void drop(void *arg);

static const struct tree_target_ops ops = {
	.apply = apply, .check = check, .function_at = function_at, .functions = functions,
	.trace = trace, .clear = clear, .pipe = read_pipe, .pipe_ready = pipe_ready, .make = make, .drop = drop,
};

/* --- instances ---------------------------------------------------------------------- */

static int make(void *arg, struct instance *instance, const char *name, struct tree_target *out, struct err *err)
{
	struct live *l = ((struct part *)arg)->live;
	struct settings s;
	struct part *p;

	instance_settings(instance, &s);
	p = part_new(l, instance, name, &s);
	settings_free(&s);
	pump_add(l->pump, &p->buffer);
	*out = (struct tree_target){ &ops, p };
	return 0;
}

/* If its tracer runs, it runs no more. */
static void drop(void *arg)
{
	struct part *p = arg;
	struct settings s;
	struct err ignored;

	settings_copy(&s, &p->settings);
	settings_write(&s, "current_tracer", "nop", false, &ignored);
	apply(p, &s, "current_tracer", &ignored);
	settings_free(&s);
	pump_remove(p->live->pump, &p->buffer);
	part_free(p);
}

/* --- beginning and end -------------------------------------------------------------- */

static int begin_session(struct live *l, const struct live_request *req, struct err *err)
{
	const struct session_request session = { .settings = l->now, .argv = req->argv, .pids = req->pids,
						 .n_pids = req->n_pids, .agent_path = req->agent_path };
	int e = session_start(&session, &l->session, err);

	if (e == 0)
		e = pump_start(l->session, woken, l, &l->parts.at[0]->buffer, &l->pump, err);
	return e;
}

int live_start(const struct live_request *req, struct tree *tree, struct live **out, struct err *err)
{
	struct live *l = mem_zalloc(sizeof(*l));
	struct instance *top = instance_top(tree);
	struct settings s;
	int e;

	pthread_mutex_init(&l->lock, NULL);
	pthread_mutex_init(&l->changing, NULL);
	pthread_mutex_init(&l->names, NULL);
	instance_settings(top, &s);
	l->mode = s.mode == BUFFER_BLOCK ? BUFFER_BLOCK : BUFFER_STREAM;
	part_new(l, top, NULL, &s);
	l->now = for_session(l, l->parts.at[0], &s);
	settings_free(&s);
	e = begin_session(l, req, err);
	if (e == 0)
		e = instance_attach(top, (struct tree_target){ &ops, l->parts.at[0] }, err);
	if (e) {
		live_stop(l);
		return e;
	}
	*out = l;
	return 0;
}

/* The instances that are left have lost what was behind them: nobody asks any more. */
void live_stop(struct live *l)
{
	if (!l)
		return;
	for (size_t i = l->parts.n; i-- > 0;)
		instance_detach(l->parts.at[i]->instance);
	if (l->pump)
		pump_stop(l->pump);
	session_free(l->session);
	while (l->parts.n)
		part_free(l->parts.at[l->parts.n - 1]);
	vec_free(&l->parts);
	functions_free(&l->functions);
	drop_settings(l->now);
	pthread_mutex_destroy(&l->lock);
	pthread_mutex_destroy(&l->changing);
	pthread_mutex_destroy(&l->names);
	free(l);
}

bool live_is_over(struct live *l)
{
	return pump_is_over(l->pump);
}

int live_extract(struct live *l, const char *path, struct err *err)
{
	struct buffer *b = &l->parts.at[0]->buffer;
	int e;

	pump_sync(l->pump);
	e = buffer_extract(b, pump_hold(l->pump), path, err);
	pump_release(l->pump);
	return e;
}
