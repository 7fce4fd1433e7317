/* The time of a wake-up, by the clocks of two threads: the waker's call, whose times are the
 * thread's own, and the switches of who waits, whose times are the kernel's. */
#include <linux/futex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "event/syscalls.h"
#include "event/tasks.h"
#include "report/wakeup.h"
#include "shared/tasks.h"

#define WAKEE 0u
#define WAKER 1u
#define SKEW 10000u /* ticks: a tick is a nanosecond here */
#define FUTEX 0x1000u

enum { ENTER, EXIT, SWITCH };

static struct wakeup *w;
static struct wakeup_found found;
static unsigned n_found;

static void keep_found(void *arg, const struct wakeup_found *f)
{
	found = *f;
	n_found++;
}

static void add_entry(struct trace_info *info, const struct event_entry *e)
{
	const uint32_t number = (uint32_t)info->events.n;

	*vec_add(&info->events) = (struct trace_event){
		number, mem_strdup(e->format->system), mem_strdup(e->format->name), mem_strdup(e->text) };
}

static struct trace_info *make_info(struct event_catalogue *c)
{
	struct trace_info *info = trace_info_new();

	info->clock.hz = 1000000000;
	add_entry(info, events_find(c, "raw_syscalls", "sys_enter"));
	add_entry(info, events_find(c, "raw_syscalls", "sys_exit"));
	add_entry(info, events_find(c, "sched", "sched_switch"));
	for (uint32_t i = 0; i < 2; i++)
		*vec_add(&info->threads) = (struct trace_thread){ .pid = 1, .tid = 1 + i, .comm = "name" };
	return info;
}

static void feed(uint32_t thread, uint32_t event, uint64_t tsc, const void *payload, size_t n)
{
	wakeup_event(w, &(struct event){ .kind = EVENT_TRACE, .fn = event, .thread = thread, .tsc = tsc, .payload = payload, .count = n });
}

static void futex_begins(uint32_t thread, uint64_t tsc, uint64_t op)
{
	const uint64_t words[7] = { SYS_futex, FUTEX, op | FUTEX_PRIVATE_FLAG, 1 };

	feed(thread, ENTER, tsc, words, sizeof(words));
}

static void futex_returns(uint32_t thread, uint64_t tsc, uint64_t result)
{
	const uint64_t words[2] = { SYS_futex, result };

	feed(thread, EXIT, tsc, words, sizeof(words));
}

static void switches(uint64_t tsc, bool out)
{
	struct task_switch r = { .prev_pid = out ? 1 : 99, .next_pid = out ? 99 : 1, .prev_state = 1 };

	feed(WAKEE, SWITCH, tsc, &r, sizeof(r));
}

/* The wake lasts from 2000 to 2500; the wakee's switch out is at that time, or so it says. Returns
 * how often it was woken. */
static unsigned wake_with(struct trace_info *info, uint64_t out)
{
	uint64_t horizon = 0;

	n_found = 0;
	w = wakeup_new(info, WAKEUP_BY_WAY);
	wakeup_watch(w, keep_found, NULL);
	futex_begins(WAKEE, 1000, FUTEX_WAIT);
	if (out < 2000)
		switches(out, true);
	futex_begins(WAKER, 2000, FUTEX_WAKE);
	futex_returns(WAKER, 2500, 1);
	if (out > 2500) {
		horizon = wakeup_horizon(w, out - 1, UINT64_MAX);
		switches(out, true);
	}
	switches(out + 50000, false);
	futex_returns(WAKEE, out + 50100, 0);
	assert_true(!n_found || found.enter >= horizon);
	wakeup_free(w);
	return n_found;
}

static void nobody_is_woken_behind_the_call(void **state)
{
	struct event_catalogue *c = events_new();
	struct trace_info *info;
	struct err err;

	syscalls_provider.add_common(c);
	assert_int_equal(tasks_add_told(c, &tasks_provider, "sched_switch", &err), 0);
	info = make_info(c);
	assert_int_equal(wake_with(info, 1500), 1);
	assert_int_equal(found.enter, 2000);
	assert_int_equal(wake_with(info, 2600), 1);
	assert_int_equal(found.enter, 2500);
	assert_int_equal(wake_with(info, 2400 + SKEW), 1);
	assert_int_equal(found.enter, 2500);
	assert_int_equal(wake_with(info, 2600 + SKEW), 0);
	trace_info_free(info);
	events_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_is_woken_behind_the_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
