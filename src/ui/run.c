/* SPDX-License-Identifier: MIT */
/* The main thread starts and runs the session; the monitor's thread looks ten times a second.
 * Signal handlers only count, and give up an attach; every other reaction is the monitor's. Without
 * a thread for it brace ends at once: nobody would heed interrupts. The commands that trace call
 * it. */
#include "ui/run.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "collect/clock.h"
#include "event/user_event.h"
#include "inject/launch.h"
#include "tracee/tracee.h"
#include "ui/config_option.h"
#include "ui/missing.h"
#include "ui/probe_option.h"
#include "ui/say.h"
#include "ui/screen.h"

/* --- interrupts --------------------------------------------------------------------- */

/* The number of times that the user has asked for the end. Written by the handler, read by the
 * monitor's thread and by run_failed(). */
static atomic_uint interrupts;
static atomic_int last_interrupt; /* the signal */
static atomic_ullong last_interrupt_tsc;
/* From run_check() to run_monitor_begin(): no code of the launched program has run, so that an
 * interrupt is for brace, and ends it. */
static atomic_bool launching;

/* The second signal ends the wait for a process that cannot be attached to. */
static void count_interrupt(int sig)
{
	atomic_store_explicit(&last_interrupt, sig, memory_order_relaxed);
	atomic_store_explicit(&last_interrupt_tsc, clock_tsc(), memory_order_relaxed);
	/* Sequentially consistent, both: they pair with those of run_monitor_begin(), which sees
	 * this interrupt, unless it is seen here that nothing is launching any more. run_failed()
	 * finds the signal where it finds the count. */
	if (atomic_fetch_add_explicit(&interrupts, 1, memory_order_seq_cst) ||
	    atomic_load_explicit(&launching, memory_order_seq_cst))
		tracee_give_up();
}

static const int interrupt_signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };

/* Signals that were ignored when brace started (nohup, a background job) stay ignored. `flags` 0: a
 * call in which brace waits before there is a session (the open of a FIFO) fails by the signal.
 * SA_RESTART: it goes on. */
static void catch_interrupts(int flags)
{
	struct sigaction act = { .sa_handler = count_interrupt, .sa_flags = flags }, now;

	for (size_t i = 0; i < sizeof(interrupt_signals) / sizeof(*interrupt_signals); i++)
		if (!sigaction(interrupt_signals[i], NULL, &now) && now.sa_handler != SIG_IGN)
			sigaction(interrupt_signals[i], &act, NULL);
}

/* --- starting ----------------------------------------------------------------------- */

/* Checks, before anything is made, that the program can be traced, and has the functions that are
 * named. */
static int check_program(const struct invocation *inv, struct err *err)
{
	char *path, *image;
	int e = launch_resolve(inv->operands[0], &path, &image, err);

	if (e)
		return say_exec_error(err);
	/* `brace rv` says itself what of its model was not recorded. */
	e = inv->model ? 0 : missing_functions(&inv->settings, image);
	free(path);
	free(image);
	return e;
}

/* Checks the same for running processes, by their mapped files. */
static int check_processes(const struct invocation *inv)
{
	int e = 0;

	for (size_t i = 0; i < inv->pids.n && !e && !inv->model; i++)
		e = missing_functions_of(&inv->settings, inv->pids.at[i]);
	return e;
}

void run_heed_interrupts(const struct invocation *inv)
{
	atomic_store_explicit(&launching, !inv->pids.n, memory_order_relaxed);
	catch_interrupts(0);
}

int run_check(struct invocation *inv)
{
	struct err err;
	int status;

	if (invocation_settings(inv, &err))
		return say_error(&err);
	if (inv->settings.tracer->wakes) {
		say("brace: the tracer %s keeps the longest wake-up in a tree: use its files in brace shell, or `brace wakeup` for all of them\n",
		    inv->settings.tracer->name);
		return EXIT_BRACE;
	}
	if (!inv->settings.tracer->functions && !inv->settings.tracer->measures && !inv->events &&
	    !inv->lines.n && !config_option_needs_tree(inv)) {
		say("brace: the tracer %s records no function; choose function_graph or function\n",
		    inv->settings.tracer->name);
		return EXIT_BRACE;
	}
	if (!inv->settings.tracer->functions && inv->settings.modules.patterns.n)
		say_warning(
			"-L opens libraries for functions, and with -e alone no function is recorded: add -t function_graph");
	status = inv->pids.n ? check_processes(inv) : check_program(inv, &err);
	if (!status)
		run_heed_interrupts(inv); /* from here on there is something to put right */
	return status;
}

int run_failed(const struct err *err)
{
	/* Acquire: pairs with count_interrupt(). */
	const bool early = atomic_load_explicit(&launching, memory_order_relaxed),
		   asked = atomic_load_explicit(&interrupts, memory_order_acquire);

	if (!asked || (!early && err->code != EINTR))
		return say_error(err);
	say("brace: interrupted%s; nothing was recorded\n",
	    early ? " before the program ran" : "");
	return 128 + atomic_load_explicit(&last_interrupt, memory_order_relaxed);
}

/* Warns of event names that match nothing. A library that is loaded later may still bring the
 * event. */
void run_tell_unmet(const struct invocation *inv)
{
	const struct event_set *set = &inv->settings.events;

	for (size_t i = 0; set->catalogue && i < set->pending.n; i++)
		if (event_set_pending_met(set, i))
			continue;
		else if (user_event_is_name(set->pending.at[i].pattern))
			say_warning("-e %s: %s", set->pending.at[i].pattern, USER_EVENT_CURE);
		else
			say_warning(
				"-e: no event that the program has now matches %s; brace list -e -f PROGRAM shows those there are",
				set->pending.at[i].pattern);
}

int run_start(struct invocation *inv, const char *trace_file, const struct session_beside *beside,
	      struct session **out)
{
	struct session_request req = {
		.beside = beside,
		.settings = &inv->settings,
		.argv = inv->pids.n ? NULL : inv->operands,
		.pids = inv->pids.at,
		.n_pids = inv->pids.n,
		.output = trace_file,
		.compress = inv->compress,
		.max_bytes = inv->max_bytes,
		.ring = inv->ring,
		.ring_kb = inv->ring_kb,
		.rotation = { inv->rotate_bytes, inv->rotate_ns, (uint32_t)inv->keep_files,
			      inv->of_push.ended, inv->of_push.ended_arg },
	};
	struct err err;
	int status = run_check(inv);

	/* After the check, which catches interrupts: none leaves a file behind. */
	if (status)
		return status;
	if (probe_options_in_tree(inv)) {
		err_set(&err, EINVAL,
			"-e: events of other events' records are made in a tree: use brace graph, record, start, mount or shell");
		return say_error(&err);
	}
	if (!trace_file && screen_file_begin(inv, &err))
		return run_failed(&err);
	if (session_start(&req, out, &err)) {
		screen_file_drop(inv);
		return run_failed(&err);
	}
	/* After the start, since only then the program's own events are known. */
	run_tell_unmet(inv);
	return 0;
}

/* --- while it runs ------------------------------------------------------------------ */

/* Only the first call counts: session_stop() is not repeated. */
void run_monitor_stop(struct run_monitor *a)
{
	if (!a->stopped)
		session_stop(a->session);
	a->stopped = true;
}

/* The first interrupt is the launched program's, unless that had ended before; the next one stops
 * the recording. */
static void heed_interrupts(struct run_monitor *a)
{
	/* Acquire: pairs with count_interrupt(), for the time. */
	const unsigned n = atomic_load_explicit(&interrupts, memory_order_acquire);
	const uint64_t ended = session_program_ended(a->session);
	const bool ours = a->ends_at_first ||
			  (ended && atomic_load_explicit(&last_interrupt_tsc,
							 memory_order_relaxed) > ended);

	if (a->stopped || n <= (ours ? 0 : 1))
		return;
	if (!a->ends_at_first)
		say("brace: stopping; %s untraced\n", ended ? "processes that the program left go on"
							     : "the program goes on");
	run_monitor_stop(a);
}

/* --duration ends the recording, not the program. */
static void heed_duration(struct run_monitor *a)
{
	if (a->end_ns && monotonic_ns() >= a->end_ns)
		run_monitor_stop(a);
}

#define LOOK_NS 100000000u

/* The time of the next look: in a tenth of a second, or when --duration is over. */
static struct timespec next_look(const struct run_monitor *a)
{
	uint64_t at = monotonic_ns() + LOOK_NS;

	if (a->end_ns && !a->stopped && a->end_ns < at)
		at = a->end_ns;
	return (struct timespec){ (time_t)(at / 1000000000u), (long)(at % 1000000000u) };
}

/* The monitor's thread. */
static void *monitor_thread(void *arg)
{
	struct run_monitor *a = arg;

	pthread_mutex_lock(&a->lock);
	while (!a->end) {
		struct timespec t = next_look(a);

		pthread_cond_timedwait(&a->ended, &a->lock, &t);
		if (a->idle)
			a->idle(a->arg);
		heed_interrupts(a);
		heed_duration(a);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* The clock is monotonic: --duration must not change when somebody sets the time. */
void run_monitor_begin(struct run_monitor *a, const struct invocation *inv, struct session *s,
		       void (*idle)(void *), void *arg)
{
	pthread_condattr_t monotonic;

	*a = (struct run_monitor){ .idle = idle,
				   .arg = arg,
				   .session = s,
				   .ends_at_first = inv->pids.n > 0,
				   .end_ns = inv->duration_ns ? monotonic_ns() + inv->duration_ns
							      : 0 };
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&a->ended, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_mutex_init(&a->lock, NULL);
	/* Sequentially consistent, as the load below: pairs with count_interrupt(). */
	atomic_store_explicit(&launching, false, memory_order_seq_cst);
	catch_interrupts(SA_RESTART);
	/* An interrupt that came too late to end the launch. Pairs with count_interrupt(). */
	if (atomic_load_explicit(&interrupts, memory_order_seq_cst) && !a->ends_at_first)
		atomic_fetch_add_explicit(&interrupts, 1, memory_order_relaxed);
	if (pthread_create(&a->thread, NULL, monitor_thread, a)) {
		say("brace: cannot start a thread\n");
		/* Not exit(): the session's threads may run, and exit handlers are not made for
		 * that. */
		_Exit(EXIT_BRACE);
	}
}

void run_monitor_end(struct run_monitor *a)
{
	pthread_mutex_lock(&a->lock);
	a->end = true;
	pthread_cond_signal(&a->ended);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	pthread_cond_destroy(&a->ended);
	pthread_mutex_destroy(&a->lock);
}

/* --- ending ------------------------------------------------------------------------- */

/* Ends brace by the program's signal, as strace does: a process that waits for brace has to see it.
 * No core dump, which would be brace's. */
static void die_by(int sig)
{
	sigset_t set;

	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
}

int run_exit(int wait_status)
{
	if (WIFEXITED(wait_status))
		return WEXITSTATUS(wait_status);
	if (WIFSIGNALED(wait_status)) {
		die_by(WTERMSIG(wait_status));
		return 128 + WTERMSIG(wait_status);
	}
	return EXIT_BRACE;
}
