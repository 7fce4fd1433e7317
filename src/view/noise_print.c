/* SPDX-License-Identifier: MIT */
/* The text and the JSON of noise.h, on the command's thread. Names are the program's: they are
 * escaped. Nothing fails but the output, whose error stays in it. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "report/losses.h"
#include "report/summary.h"
#include "view/noise.h"

#define COLUMN SUMMARY_COLUMN

/* A figure of the kernel's account, in the time of the recording. */
struct noise_figure { const char *title, *key; size_t at; bool is_time; };

static const struct noise_figure figures[] = {
#define FIGURE(title, key, member, is_time) \
	{ title, key, offsetof(struct thread_account, member), is_time }
	FIGURE("ON CPU", "on_cpu_ns", on_cpu_ns, true),
	FIGURE("RUN DELAY", "run_delay_ns", delay_ns, true),
	FIGURE("INVOLUNT", "involuntary", involuntary, false),
	FIGURE("VOLUNTARY", "voluntary", voluntary, false),
	FIGURE("FAULTS", "minor_faults", minor, false),
	FIGURE("MAJOR", "major_faults", major, false),
#undef FIGURE
};
#define FIGURES_N (sizeof(figures) / sizeof(*figures))

/* The number of rows that a limit leaves; a limit of 0 leaves all. */
static size_t shown(size_t rows, uint64_t most)
{
	return most && most < rows ? (size_t)most : rows;
}

/* False: not known. By its place in the struct, so that a row of `figures` is all that a new one
 * needs. A count that went back is 0, not a huge number. */
static bool figure_of(const struct noise_thread *t, const struct noise_figure *f, uint64_t *out)
{
	uint64_t began, latest;

	memcpy(&began, (const char *)&t->began + f->at, sizeof(began));
	memcpy(&latest, (const char *)&t->latest + f->at, sizeof(latest));
	*out = latest > began ? latest - began : 0;
	return t->counted && (!f->is_time || t->latest.has_delay);
}

/* The kernel counts in ticks of USER_HZ. */
static uint64_t stolen_ns(const struct noise *n)
{
	long hz = sysconf(_SC_CLK_TCK);
	uint64_t ticks = n->machine_latest.stolen_ticks - n->machine_began.stolen_ticks;

	return hz > 0 ? ticks * (1000000000u / (uint64_t)hz) : 0;
}

/* --- text ------------------------------------------------------------------------------------- */

/* "-" for what is not known. */
static void print_figure(const struct noise_thread *t, const struct noise_figure *f, struct out *o)
{
	uint64_t v;

	if (!figure_of(t, f, &v))
		out_printf(o, "%*s", COLUMN, "-");
	else if (f->is_time)
		summary_print_time(o, v);
	else
		out_u64(o, v, COLUMN, ' ');
}

/* The kernel's figures, then those of the switches, then name and number. */
static void print_threads(const struct noise *n, uint64_t most, struct out *o)
{
	for (size_t f = 0; f < FIGURES_N; f++)
		out_printf(o, "%*s", COLUMN, figures[f].title);
	out_printf(o, "%*s%*s  THREAD\n", COLUMN, "PREEMPTED", COLUMN, "WAITED");
	for (size_t i = 0; i < shown(n->threads.n, most); i++) {
		const struct noise_thread *t = &n->threads.at[i];

		for (size_t f = 0; f < FIGURES_N; f++)
			print_figure(t, &figures[f], o);
		if (n->no_switches) {
			out_printf(o, "%*s%*s", COLUMN, "-", COLUMN, "-");
		} else {
			summary_print_time(o, t->times.preempted_ns);
			summary_print_time(o, t->times.waited_ns);
		}
		out_str(o, "  ");
		out_name(o, t->comm, TRACE_COMM);
		out_printf(o, "-%" PRIu32 "\n", t->tid);
	}
}

/* Time in which no recorded function was open is a row of its own. The text is the walk's. */
static const char *function_text(const struct noise *n, const struct noise_function *f)
{
	return f->function == FN_NONE ? "(no recorded function)"
				      : n->walk->functions.at[f->function].text;
}

/* Where threads were interrupted: two figures for each kind, time and number. */
static void print_functions(const struct noise *n, uint64_t most, struct out *o)
{
	out_printf(o, "\n%*s%*s%*s%*s  FUNCTION\n", COLUMN, "PREEMPTED", COLUMN, "TIMES", COLUMN,
		   "WAITED", COLUMN, "TIMES");
	for (size_t i = 0; i < shown(n->functions.n, most); i++) {
		const struct noise_function *f = &n->functions.at[i];

		summary_print_time(o, f->times.preempted_ns);
		out_u64(o, f->times.preempted, COLUMN, ' ');
		summary_print_time(o, f->times.waited_ns);
		out_u64(o, f->times.waited, COLUMN, ' ');
		out_str(o, "  ");
		out_name(o, function_text(n, f), SIZE_MAX);
		out_char(o, '\n');
	}
}

/* The sources of the figures, and what nobody can tell. A thread that ended between two looks (0.1
 * s) was last seen at the one before. */
static void print_sources(const struct noise *n, struct out *o)
{
	size_t gone = 0;

	for (size_t i = 0; i < n->threads.n; i++)
		gone += n->threads.at[i].gone || !n->threads.at[i].counted;
	if (n->no_switches)
		out_printf(o, "# PREEMPTED, WAITED and functions: not known: %s\n", n->no_switches);
	if (gone)
		out_printf(o, "# %zu thread%s ended: the first six columns are as the kernel told them up to "
			      "0.1 s before\n", gone, gone == 1 ? "" : "s");
	if (n->machine)
		out_printf(o, "# whole machine: %" PRIu64 " interrupts, %" PRIu64 " softirqs, %.2f s stolen by "
			      "the hypervisor: the kernel does not tell from which thread\n",
			   n->machine_latest.interrupts - n->machine_began.interrupts,
			   n->machine_latest.softirqs - n->machine_began.softirqs,
			   (double)stolen_ns(n) / 1e9);
}

void noise_print(const struct noise *n, uint64_t most, struct out *o)
{
	losses_print(n->walk->info, o);
	print_threads(n, most, o);
	if (n->by_function && !n->no_switches)
		print_functions(n, most, o);
	print_sources(n, o);
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* null: nobody told of switches. Ends the object. */
static void print_json_times(const struct noise *n, const struct noise_times *t, struct out *o)
{
	if (n->no_switches)
		out_str(o, ",\"preempted_ns\":null,\"preempted\":null,\"waited_ns\":null,\"waited\":null}\n");
	else
		out_printf(o, ",\"preempted_ns\":%" PRIu64 ",\"preempted\":%" PRIu64 ",\"waited_ns\":%" PRIu64
			      ",\"waited\":%" PRIu64 "}\n",
			   t->preempted_ns, t->preempted, t->waited_ns, t->waited);
}

/* A figure that is not known is null; times are in nanoseconds. A name of TRACE_COMM bytes may have
 * no NUL. */
static void print_json_thread(const struct noise *n, const struct noise_thread *t, struct out *o)
{
	char comm[TRACE_COMM + 1] = "";
	uint64_t v;

	memcpy(comm, t->comm, strnlen(t->comm, TRACE_COMM));
	out_str(o, "{\"comm\":");
	json_string(o, comm);
	out_printf(o, ",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"ended\":%s", t->pid, t->tid,
		   t->gone || !t->counted ? "true" : "false");
	for (size_t f = 0; f < FIGURES_N; f++)
		if (figure_of(t, &figures[f], &v))
			out_printf(o, ",\"%s\":%" PRIu64, figures[f].key, v);
		else
			out_printf(o, ",\"%s\":null", figures[f].key);
	print_json_times(n, &t->times, o);
}

/* null for both: no recorded function was open. */
static void print_json_function(const struct noise *n, const struct noise_function *f,
				struct out *o)
{
	out_str(o, "{\"function\":");
	json_string(o, f->function == FN_NONE ? NULL : function_text(n, f));
	out_str(o, ",\"module\":");
	json_string(o, f->function == FN_NONE ? NULL : n->walk->functions.at[f->function].file);
	print_json_times(n, &f->times, o);
}

/* A line for the whole, then one for each thread and each function. */
void noise_print_json(const struct noise *n, uint64_t most, struct out *o)
{
	out_str(o, "{\"schema\":\"brace-noise\",\"version\":1");
	losses_print_json(n->walk->info, o);
	out_str(o, ",\"no_switches\":");
	json_string(o, n->no_switches);
	if (n->machine)
		out_printf(o, ",\"machine\":{\"interrupts\":%" PRIu64 ",\"softirqs\":%" PRIu64
			      ",\"stolen_ns\":%" PRIu64 "}}\n",
			   n->machine_latest.interrupts - n->machine_began.interrupts,
			   n->machine_latest.softirqs - n->machine_began.softirqs, stolen_ns(n));
	else
		out_str(o, ",\"machine\":null}\n");
	for (size_t i = 0; i < shown(n->threads.n, most); i++)
		print_json_thread(n, &n->threads.at[i], o);
	for (size_t i = 0; i < shown(n->functions.n, most) && !n->no_switches; i++)
		print_json_function(n, &n->functions.at[i], o);
}
