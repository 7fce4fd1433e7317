/* SPDX-License-Identifier: MIT */
/* brace noise: what takes time from the threads of a program that is run or attached to. The main
 * thread reads the stream's switches and functions, the monitor's looks at the kernel's accounts of
 * the threads, both with the monitor's lock (view/noise.h). The table comes when the recording
 * ends. A failure is said, and is EXIT_BRACE. */
#include <pthread.h>

#include "collect/perf_rings.h"
#include "ui/commands.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/stream_run.h"
#include "view/noise.h"

struct noise_run {
	struct invocation *inv;
	struct walk walk;
	struct noise noise;
	struct run_monitor *monitor;
	struct err forbidden;      /* why there are no switches; text "": there are */
	bool forbids, launched;
};

/* Switches, if the kernel tells them; else the ends of threads, which the threads tell themselves:
 * a session records something. */
static int name_event(struct noise_run *r, struct err *err)
{
	static const struct option event = { 'e', "event", .file = "set_event", .append = true };

	r->forbids = perf_rings_allowed(PERF_SWITCHES, &r->forbidden) != 0;
	return set_setting(r->inv, &event,
			   r->forbids ? "sched:sched_process_exit" : "sched:sched_switch", err);
}

/* Tests wait for the verbose line before they make noise. */
static void begin_run(void *arg, struct source *source, struct run_monitor *m)
{
	struct noise_run *r = arg;

	r->monitor = m;
	walk_init(&r->walk, source);
	noise_init(&r->noise, &r->walk);
	r->noise.by_function = r->inv->settings.tracer->functions;
	r->noise.no_switches = r->forbids ? r->forbidden.text : NULL;
	for (size_t i = 0; i < r->inv->pids.n; i++)
		noise_add_process(&r->noise, (uint32_t)r->inv->pids.at[i], true);
	if (r->inv->verbose)
		say("brace: counting from here on\n");
}

/* The monitor's, ten times a second. */
static void look_at_noise(void *arg)
{
	struct noise_run *r = arg;

	if (!r->launched && !r->inv->pids.n)
		noise_add_process(&r->noise, (uint32_t)session_pid(r->monitor->session), false);
	r->launched = true;
	noise_look(&r->noise);
}

/* The monitor's thread looks at the same figures for the screen's line. */
static int take_step(void *arg, const struct walk_step *s)
{
	struct noise_run *r = arg;

	pthread_mutex_lock(&r->monitor->lock);
	noise_take(&r->noise, s);
	pthread_mutex_unlock(&r->monitor->lock);
	return 0;
}

static int take_stream(void *arg, struct source *source, struct err *err)
{
	struct noise_run *r = arg;

	return walk_run(&r->walk, take_step, r, err);
}

/* The counts of threads in /proc are read once more before they are printed. */
static int print_noise(struct noise_run *r)
{
	struct screen o;

	noise_look(&r->noise);
	noise_sort(&r->noise);
	if (screen_open_output(&o, r->inv, SCREEN_PAGED, r->inv->json ? NULL : paint_table))
		return EXIT_BRACE;
	(r->inv->json ? noise_print_json : noise_print)(&r->noise, r->inv->limit, &o.text);
	return screen_close(&o, 0);
}

static int end_run(void *arg, const struct err *failed)
{
	struct noise_run *r = arg;
	int status = failed ? say_error(failed) : print_noise(r);

	noise_free(&r->noise);
	walk_free(&r->walk);
	return status;
}

/* Without the right to see switches the rest is shown all the same, and why. */
int cmd_noise(struct invocation *inv)
{
	static const struct stream_use use = { begin_run, take_stream, look_at_noise, end_run };
	struct noise_run run = { .inv = inv };
	struct err err;

	return name_event(&run, &err) ? say_error(&err) : stream_run(inv, &use, &run);
}
