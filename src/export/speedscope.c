/* SPDX-License-Identifier: MIT */
/* speedscope's JSON: a profile of opening and closing frames for each thread, one after another, so
 * that threads wait in streams until the walk ends. exporter.c calls it, on the thread that
 * exports. It fails where the streams' temporary files find no room. */
#include "export/formats.h"
#include "export/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* A frame opens or closes, as it waits in the temporary file. */
struct frame_event { uint64_t ns; uint32_t frame, closes; };

/* The times of a lane's events, for its head. */
struct span_of { uint64_t first, last; };

struct speedscope {
	struct walk walk;
	struct parts streams; /* by lane */
	VEC(struct span_of) spans;
	struct out *out;
	struct err *err;
	bool begun;                 /* the profile has an event */
};

/* A lane that was met only by an event or a loss has no profile. One between two others has an
 * empty span. */
static int take_step(void *arg, const struct walk_step *s)
{
	struct speedscope *p = arg;
	const struct frame_event e = { s->ns, s->function, s->kind == WALK_END };

	if (s->kind != WALK_BEGIN && s->kind != WALK_END)
		return 0;
	while (p->spans.n <= s->lane)
		*vec_add(&p->spans) = (struct span_of){ UINT64_MAX, 0 };
	if (p->spans.at[s->lane].first == UINT64_MAX)
		p->spans.at[s->lane].first = s->ns;
	p->spans.at[s->lane].last = s->ns;
	return parts_add(&p->streams, s->lane, &e, sizeof(e), p->err);
}

/* O opens a frame, C closes it. */
static void put_event(struct speedscope *p, const struct frame_event *e)
{
	out_str(p->out, p->begun ? ",\n{\"type\":\"" : "\n{\"type\":\"");
	p->begun = true;
	out_char(p->out, e->closes ? 'C' : 'O');
	out_str(p->out, "\",\"frame\":");
	out_u64(p->out, e->frame, 1, ' ');
	out_str(p->out, ",\"at\":");
	out_u64(p->out, e->ns, 1, ' ');
	out_char(p->out, '}');
}

/* PARTS_BLOCK is a multiple of an event's size. */
static int put_events(void *arg, const char *bytes, size_t n)
{
	struct speedscope *p = arg;
	struct frame_event e;

	_Static_assert(PARTS_BLOCK % sizeof(e) == 0, "no event lies on two blocks");
	for (size_t at = 0; at + sizeof(e) <= n; at += sizeof(e)) {
		memcpy(&e, bytes + at, sizeof(e));
		put_event(p, &e);
	}
	return p->out->error;
}

/* A lane's profile: its name with both ids, its span, its events. The kernel's part of a thread has
 * its number in its name. */
static int put_profile(struct speedscope *p, uint32_t lane, bool first)
{
	const struct trace_thread *t = walk_thread(&p->walk, lane);
	char *comm = walk_lane_name(&p->walk, lane);
	char *name = walk_is_kernel(&p->walk, lane)
			     ? mem_printf("%s (kernel)", comm)
			     : mem_printf("%s (%u/%u)", comm, t->pid, t->tid);
	int r;

	out_str(p->out, first ? "\n{\"type\":\"evented\",\"name\":" : ",\n{\"type\":\"evented\",\"name\":");
	json_string(p->out, name);
	out_printf(p->out,
		   ",\"unit\":\"nanoseconds\",\"startValue\":%" PRIu64 ",\"endValue\":%" PRIu64
		   ",\"events\":[",
		   p->spans.at[lane].first, p->spans.at[lane].last);
	p->begun = false;
	r = parts_read(&p->streams, lane, put_events, p, p->err);
	out_str(p->out, "]}");
	free(name);
	free(comm);
	return r;
}

/* The names that profiles share, by the walk's number of the function. */
static void put_frames(struct speedscope *p)
{
	out_str(p->out, "],\"shared\":{\"frames\":[");
	for (size_t i = 0; i < p->walk.functions.n; i++) {
		out_str(p->out, i ? ",\n{\"name\":" : "\n{\"name\":");
		json_string(p->out, p->walk.functions.at[i].text);
		if (*p->walk.functions.at[i].file) {
			out_str(p->out, ",\"file\":");
			json_string(p->out, p->walk.functions.at[i].file);
		}
		out_char(p->out, '}');
	}
	out_str(p->out, "]}}\n");
}

/* The profiles, one lane after another, then the frames: names are complete only at the end. */
static int put_all(struct speedscope *p)
{
	bool first = true;
	int r = 0;

	out_str(p->out,
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"brace\",\"name\":");
	json_string(p->out, p->walk.info->cmdline);
	out_str(p->out, ",\"profiles\":[");
	for (uint32_t lane = 0; lane < p->spans.n && !r; lane++) {
		if (p->spans.at[lane].first == UINT64_MAX) /* it made no call */
			continue;
		r = put_profile(p, lane, first);
		first = false;
	}
	put_frames(p);
	return r;
}

/* The exporter's `write`. Calls are cut at a loss, because frames have to nest. */
static int write_speedscope(struct export_job *job, struct err *err)
{
	struct speedscope p = { .streams = parts_none(), .out = job->out, .err = err };
	int r;

	walk_init(&p.walk, job->source);
	p.walk.cuts = true;
	r = export_walk(job, &p.walk, take_step, &p, err);
	if (!r)
		r = put_all(&p);
	parts_free(&p.streams);
	vec_free(&p.spans);
	walk_free(&p.walk);
	return r;
}

const struct exporter export_speedscope = {
	.name = "speedscope", .summary = "speedscope's JSON, a profile for each thread",
	.holds = HOLDS_KERNEL, .write = write_speedscope,
};
