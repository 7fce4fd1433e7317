/* SPDX-License-Identifier: MIT */
/* The text of `perf script`: a line for each sample, "COMM PID/TID [CPU] TIME: PERIOD EVENT:", and
 * its stack on the lines behind it, innermost first, "ADDRESS SYMBOL+0xOFFSET (FILE)"; or the one
 * frame on the same line. Called by import.c. Fails on a text without a sample. One thread: the
 * command's. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/formats.h"

#define FRAMES_MOST 4096

struct perf_frame { struct import_text symbol, file; };

struct sample {
	struct import_text comm;
	uint32_t pid, tid;
	uint64_t ns, period;
	VEC(struct perf_frame) frames; /* innermost first */
	bool open;                /* its head has been read */
};

struct reading_perf {
	struct import_build *build;
	struct sample now;
	struct number_map threads; /* tid + 1 -> thread */
	struct number_map processes; /* pid + 1 -> process */
	VEC(uint64_t) ends;       /* by thread: where its last sample ends */
	uint64_t samples;
	struct err *err;
};

/* --- lines ---------------------------------------------------------------------------- */

/* NULL: the text does not have it. */
static const char *find_last(struct import_text text, char c)
{
	return memrchr(text.at, c, (size_t)(text.end - text.at));
}

/* The text without blanks at both ends. */
static struct import_text without_blanks(struct import_text text)
{
	while (text.at < text.end && isspace((unsigned char)*text.at))
		text.at++;
	while (text.end > text.at && isspace((unsigned char)text.end[-1]))
		text.end--;
	return text;
}

/* "SYMBOL+0xOFFSET (FILE)"; either may be missing. */
static struct perf_frame read_frame(struct import_text text)
{
	static const char unknown[] = "unknown";
	struct perf_frame f = { text, { unknown, unknown + sizeof(unknown) - 1 } };
	const char *open = find_last(text, '(');

	if (open && text.end[-1] == ')') {
		f.file = (struct import_text){ open + 1, text.end - 1 };
		f.symbol = without_blanks((struct import_text){ text.at, open });
	}
	for (const char *at = f.symbol.end; at > f.symbol.at; at--)
		if (f.symbol.end - at > 3 && !memcmp(at, "+0x", 3)) {
			f.symbol.end = at;
			break;
		}
	return f;
}

/* A line that begins with a blank and an address is a frame. */
static bool take_frame(struct reading_perf *p, struct import_text line)
{
	struct import_text text = line;
	uint64_t address;

	while (text.at < text.end && isspace((unsigned char)*text.at))
		text.at++;
	if (text.at == line.at || !import_number(&text, 16, &address) || text.at == text.end ||
	    *text.at != ' ')
		return false;
	text.at++;
	if (p->now.open && p->now.frames.n < FRAMES_MOST)
		*vec_add(&p->now.frames) = read_frame(text);
	return true;
}

/* The columns before the time: "COMM PID/TID [CPU]", or "COMM TID". */
static bool read_task(struct import_text text, struct sample *s)
{
	struct import_text ids;
	const char *blank, *cpu;
	uint64_t pid, tid;

	text = without_blanks(text);
	cpu = find_last(text, '[');
	if (cpu && text.end[-1] == ']')
		text = without_blanks((struct import_text){ text.at, cpu });
	blank = find_last(text, ' ');
	ids = (struct import_text){ blank ? blank + 1 : text.at, text.end };
	s->comm = without_blanks((struct import_text){ text.at, ids.at });
	if (!import_number(&ids, 10, &pid))
		return false;
	tid = pid;
	if (import_literal(&ids, "/") && !import_number(&ids, 10, &tid))
		return false;
	s->pid = (uint32_t)pid;
	s->tid = (uint32_t)tid;
	return ids.at == ids.end && pid <= UINT32_MAX && tid <= UINT32_MAX;
}

/* The time is the first word of the form "SECONDS.FRACTION:". */
static bool find_time(struct import_text line, uint64_t *ns, struct import_text *before,
		      struct import_text *rest)
{
	before->at = line.at;
	while (line.at < line.end) {
		struct import_text word = import_word(&line);

		before->end = word.at;
		if (import_seconds(&word, ns) && import_literal(&word, ":") &&
		    word.at == word.end) {
			*rest = line;
			return true;
		}
	}
	return false;
}

/* Begins the next sample by its line. The frames' memory is used again. A frame on the same line
 * is the whole stack. False: the line is none. */
static bool take_head(struct reading_perf *p, struct import_text line)
{
	struct sample s = { .open = true, .period = 1 };
	struct import_text before, rest, period;
	uint64_t n;

	if (!find_time(line, &s.ns, &before, &rest) || !read_task(before, &s))
		return false;
	period = rest;
	if (import_number(&period, 10, &n) && period.at < period.end && *period.at == ' ') {
		s.period = n;
		rest = period;
	}
	s.frames = p->now.frames;
	s.frames.n = 0;
	p->now = s;
	import_word(&rest); /* the event */
	if (import_number(&rest, 16, &n) && rest.at < rest.end && *rest.at == ' ')
		*vec_add(&p->now.frames) =
			read_frame((struct import_text){ rest.at + 1, rest.end });
	return true;
}

/* --- samples -------------------------------------------------------------------------- */

/* The process of that pid; its name is that of the first thread seen. */
static uint32_t process_of(struct reading_perf *p, uint32_t pid, const char *comm)
{
	uint64_t row = number_map_get(&p->processes, (uint64_t)pid + 1);

	if (row == NUMBER_NONE) {
		row = import_process(p->build, pid, comm);
		number_map_set(&p->processes, (uint64_t)pid + 1, row);
	}
	return (uint32_t)row;
}

/* The thread of the sample, made at its first one; UINT32_MAX and p->err: there are too many. */
static uint32_t thread_of(struct reading_perf *p)
{
	const struct sample *s = &p->now;
	uint64_t row = number_map_get(&p->threads, (uint64_t)s->tid + 1);
	char *comm;

	if (row != NUMBER_NONE)
		return (uint32_t)row;
	comm = import_copy(s->comm);
	row = import_thread(p->build, process_of(p, s->pid, comm), s->pid, s->tid, comm, p->err);
	free(comm);
	if (row == UINT32_MAX)
		return UINT32_MAX;
	number_map_set(&p->threads, (uint64_t)s->tid + 1, row);
	*vec_add(&p->ends) = 0;
	return (uint32_t)row;
}

/* The symbol in its file, whose directory is left out. UINT32_MAX and p->err: there are too
 * many. */
static uint32_t function_of(struct reading_perf *p, uint32_t thread, const struct perf_frame *f)
{
	const char *slash = find_last(f->file, '/');
	const char *from = slash ? slash + 1 : f->file.at;
	char *file = import_copy((struct import_text){ from, f->file.end });
	char *name = import_copy(f->symbol);
	uint32_t number = import_function(p->build, p->build->threads.at[thread].process, file,
					  name, p->err);

	free(name);
	free(file);
	return number;
}

/* The sample is complete: a stack of calls that lasts for its period. */
static int end_sample(struct reading_perf *p)
{
	uint64_t begin, end;
	uint32_t thread;

	if (!p->now.open)
		return 0;
	p->now.open = false;
	p->samples++;
	thread = thread_of(p);
	if (thread == UINT32_MAX)
		return -E2BIG;
	begin = p->now.ns > p->now.period ? p->now.ns - p->now.period : 0;
	/* Samples of a thread do not overlap: a later one begins where the one before ends. */
	begin = begin < p->ends.at[thread] ? p->ends.at[thread] : begin;
	if (__builtin_add_overflow(begin, p->now.period, &end))
		end = UINT64_MAX;
	p->ends.at[thread] = end;
	for (size_t i = p->now.frames.n; i-- > 0;) {
		uint32_t f = function_of(p, thread, &p->now.frames.at[i]);

		if (f == UINT32_MAX)
			return -E2BIG;
		import_enter(p->build, thread, begin, f);
	}
	for (size_t i = 0; i < p->now.frames.n; i++)
		import_leave(p->build, thread, end);
	return 0;
}

/* A line that is no frame and no head is counted as left out. */
int import_perf(struct import_build *b, const struct import_files *files, struct err *err)
{
	struct reading_perf p = { .build = b, .err = err };
	struct import_text text, line;
	int r = files->get(files->of, "", &text, err);

	b->tool = "perf script";
	while (!r && import_line(&text, &line)) {
		if (line.at == line.end || *line.at == '#' || take_frame(&p, line))
			continue;
		r = end_sample(&p);
		if (!r && !take_head(&p, line))
			b->left_out++;
	}
	if (!r)
		r = end_sample(&p);
	if (!r && !p.samples)
		r = err_set(err, ENOEXEC, "it has no sample of perf script");
	vec_free(&p.now.frames);
	vec_free(&p.ends);
	number_map_free(&p.threads);
	number_map_free(&p.processes);
	return r;
}
