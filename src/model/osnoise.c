/* SPDX-License-Identifier: MIT */
/* The files of osnoise/ and hwlat_detector/ as a table of numbers, each with the limits that the
 * kernel's trace_osnoise.c and trace_hwlat.c give it, and three texts. settings.c calls; only a
 * wrong write fails. */
#include "model/osnoise.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/cpu_list.h"
#include "model/units.h"

#define SECOND_US 1000000
#define TIMERLAT_LEAST_US 100

/* A number; `least` and `most`: a field that limits it, or the number itself if that is 0. */
struct osnoise_number {
	const char *file;
	size_t at;
	uint64_t least, most;
	size_t least_at, most_at;
};

#define AT(field) offsetof(struct osnoise_settings, field)

/* runtime_us is not longer than period_us, whichever is written; nor is width than window. */
static const struct osnoise_number numbers[] = {
	{ "osnoise/period_us", AT(period_us), 0, UINT64_MAX, AT(runtime_us), 0 },
	{ "osnoise/print_stack", AT(print_stack), 0, UINT64_MAX, 0, 0 },
	{ "osnoise/runtime_us", AT(runtime_us), 0, UINT64_MAX, 0, AT(period_us) },
	{ "osnoise/stop_tracing_total_us", AT(stop_total_us), 0, UINT64_MAX, 0, 0 },
	{ "osnoise/stop_tracing_us", AT(stop_us), 0, UINT64_MAX, 0, 0 },
	{ "osnoise/timerlat_period_us", AT(timerlat_period_us), TIMERLAT_LEAST_US, SECOND_US, 0, 0 },
	{ "hwlat_detector/width", AT(hwlat_width_us), 0, UINT64_MAX, 0, AT(hwlat_window_us) },
	{ "hwlat_detector/window", AT(hwlat_window_us), 0, UINT64_MAX, AT(hwlat_width_us), 0 },
};

static const char *const words[OSNOISE_OPTIONS_N] = {
#define X(name) #name,
	OSNOISE_OPTIONS(X)
#undef X
};

#define USUAL_OPTIONS (1u << OSNOISE_OPTION_OSNOISE_WORKLOAD)

/* The kernel's defaults, so that its documentation holds for the files here. */
void osnoise_init(struct osnoise_settings *s)
{
	*s = (struct osnoise_settings){
		.period_us = SECOND_US,
		.runtime_us = SECOND_US,
		.timerlat_period_us = 1000,
		.options = USUAL_OPTIONS,
		.hwlat_mode = HWLAT_ROUND_ROBIN,
		.hwlat_width_us = SECOND_US / 2,
		.hwlat_window_us = SECOND_US,
	};
	cpumask_all(&s->cpus);
}

/* NULL: the file is no number. */
static const struct osnoise_number *find_number(const char *file)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!strcmp(numbers[i].file, file))
			return &numbers[i];
	return NULL;
}

static uint64_t value_at(const struct osnoise_settings *s, size_t at)
{
	return *(const uint64_t *)((const char *)s + at);
}

/* The kernel answers each wrong number with EINVAL, also one that is out of range. */
static int write_number(struct osnoise_settings *s, const struct osnoise_number *n,
			const char *text, struct err *err)
{
	uint64_t least = n->least_at ? value_at(s, n->least_at) : n->least, v;
	uint64_t most = n->most_at ? value_at(s, n->most_at) : n->most;

	if (units_parse_number(text, n->file, least, most, &v, err))
		return err_code(err, EINVAL);
	*(uint64_t *)((char *)s + n->at) = v;
	return 0;
}

/* --- cpus ------------------------------------------------------------------------------------- */

/* s is changed only if the whole list is right. */
static int write_cpus(struct osnoise_settings *s, const char *text, struct err *err)
{
	struct cpumask next = { .n = s->cpus.n };
	uint8_t bits[CPUS_MAX / 8] = { 0 };

	if (!cpu_list_parse(text, strlen(text), next.n, bits))
		return err_at(err, EINVAL, text, 0,
			      "a list of processors is wanted, of 0 to %u: 0-3,8", next.n - 1);
	for (unsigned cpu = 0; cpu < next.n; cpu++)
		next.group[cpu / 32] |= (uint32_t)(bits[cpu / 8] >> cpu % 8 & 1) << cpu % 32;
	s->cpus = next;
	return 0;
}

/* "0-3,8": ranges of what follows one after another. */
static char *read_cpus(const struct cpumask *m)
{
	char *text = mem_strdup("");

	for (unsigned cpu = 0, last; cpu < m->n; cpu = last + 1) {
		char *more;

		last = cpu;
		if (!cpumask_has(m, cpu))
			continue;
		while (last + 1 < m->n && cpumask_has(m, last + 1))
			last++;
		more = last > cpu ? mem_printf("%s%s%u-%u", text, *text ? "," : "", cpu, last)
				  : mem_printf("%s%s%u", text, *text ? "," : "", cpu);
		free(text);
		text = more;
	}
	return text;
}

/* --- options ---------------------------------------------------------------------------------- */

/* "DEFAULTS" restores the usual ones, "NO_DEFAULTS" turns all off. */
static int write_option(struct osnoise_settings *s, const char *text, struct err *err)
{
	bool on = strncmp(text, "NO_", 3) != 0;
	const char *word = text + (on ? 0 : 3);
	unsigned o = 0;

	while (o < OSNOISE_OPTIONS_N && strcmp(words[o], word))
		o++;
	if (o == OSNOISE_OPTIONS_N)
		return err_at(err, EINVAL, text, (size_t)(word - text),
			      "unknown option; osnoise/options shows those there are, NO_ turns one off");
	if (o == OSNOISE_OPTION_DEFAULTS)
		s->options = on ? USUAL_OPTIONS : 0;
	else
		s->options = on ? s->options | 1u << o : s->options & ~(1u << o);
	return 0;
}

/* DEFAULTS is no option of its own: it is on while all the others are as usual. */
static bool shows_as_on(const struct osnoise_settings *s, unsigned o)
{
	return o == OSNOISE_OPTION_DEFAULTS ? s->options == USUAL_OPTIONS : s->options >> o & 1;
}

/* For free(); the order is the kernel's. */
static char *read_options(const struct osnoise_settings *s)
{
	char *text = mem_strdup("");

	for (unsigned o = 0; o < OSNOISE_OPTIONS_N; o++) {
		char *more = mem_printf("%s%s%s%s", text, o ? " " : "",
					shows_as_on(s, o) ? "" : "NO_", words[o]);

		free(text);
		text = more;
	}
	return text;
}

/* --- hwlat_detector/mode ---------------------------------------------------------------------- */

static const char *const modes[HWLAT_MODES_N] = { "none", "round-robin", "per-cpu" };

/* The words of hwlat_detector/mode; s is unchanged by a wrong one. */
static int write_mode(struct osnoise_settings *s, const char *text, struct err *err)
{
	unsigned m = 0;

	while (m < HWLAT_MODES_N && strcmp(modes[m], text))
		m++;
	if (m == HWLAT_MODES_N)
		return err_at(err, EINVAL, text, 0,
			      "unknown mode; there are none, round-robin and per-cpu");
	s->hwlat_mode = m;
	return 0;
}

/* The present one in brackets. */
static char *read_mode(const struct osnoise_settings *s)
{
	char *text = mem_strdup("");

	for (unsigned m = 0; m < HWLAT_MODES_N; m++) {
		char *more = mem_printf(m == s->hwlat_mode ? "%s%s[%s]" : "%s%s%s", text,
					m ? " " : "", modes[m]);

		free(text);
		text = more;
	}
	return text;
}

/* --- files ------------------------------------------------------------------------------------ */

/* file is one of those that osnoise_read() knows: settings.c asks for no other. */
int osnoise_write(struct osnoise_settings *s, const char *file, const char *text, struct err *err)
{
	const struct osnoise_number *n = find_number(file);

	if (n)
		return write_number(s, n, text, err);
	if (!strcmp(file, "hwlat_detector/mode"))
		return write_mode(s, text, err);
	return !strcmp(file, "osnoise/cpus") ? write_cpus(s, text, err)
					     : write_option(s, text, err);
}

char *osnoise_read(const struct osnoise_settings *s, const char *file)
{
	const struct osnoise_number *n = find_number(file);
	char *text, *line;

	if (n)
		return mem_printf("%" PRIu64 "\n", value_at(s, n->at));
	text = !strcmp(file, "osnoise/cpus")	      ? read_cpus(&s->cpus)
	       : !strcmp(file, "hwlat_detector/mode") ? read_mode(s)
						      : read_options(s);
	line = mem_printf("%s\n", text);
	free(text);
	return line;
}
