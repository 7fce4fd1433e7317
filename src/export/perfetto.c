/* SPDX-License-Identifier: MIT */
/* Perfetto's protobuf, written by hand: a track for each stack, slices with interned names, events
 * as instants, and as counters of their thread those that count something. All packets are one
 * sequence with times of CLOCK_MONOTONIC; names are interned when they first occur. Field numbers
 * are those of perfetto_trace.proto. exporter.c calls it on the command's thread; only writing can
 * fail, and struct out keeps that error. */
#include "export/formats.h"
#include "export/protobuf.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "export/event_counts.h"
#include "report/event_text.h"

enum { TRACE_PACKET = 1 };
enum {
	PACKET_CLOCKS = 6, PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10, PACKET_EVENT = 11,
	PACKET_INTERNED = 12, PACKET_FLAGS = 13, PACKET_CLOCK = 58, PACKET_DEFAULTS = 59,
	PACKET_TRACK = 60,
};
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5,
       TRACK_COUNTER = 8 };
enum { COUNTER_UNIT = 3, UNIT_COUNT = 2 };
enum { EVENT_ANNOTATION = 4, EVENT_TYPE = 9, EVENT_NAME_ID = 10, EVENT_TRACK = 11,
       EVENT_CATEGORY = 22, EVENT_NAME = 23, EVENT_COUNTER_VALUE = 30 };
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };
enum { ANNOTATION_BOOL = 2, ANNOTATION_UINT = 3, ANNOTATION_INT = 4, ANNOTATION_DOUBLE = 5,
       ANNOTATION_STRING = 6, ANNOTATION_POINTER = 7, ANNOTATION_NAME = 10, ANNOTATION_ENTRY = 11,
       ANNOTATION_ELEMENT = 12 };
enum { CLOCK_MONOTONIC_ID = 3, FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2, SEQUENCE = 1 };
#define PROCESS_UUID (UINT64_C(1) << 32) /* and the pid; tracks of stacks have lower ones */
#define COUNTER_UUID (UINT64_C(2) << 32) /* and a number for each lane and kind */

/* The messages are emptied by whoever puts them into their outer one, so that their memory is
 * used again: packet holds event or part, these hold inner. */
struct perfetto {
	struct walk walk;
	struct event_texts *texts;
	struct event_counts counts;
	struct out *out;
	protobuf packet, event, part, inner;
	/* annotations under way, one within the other: a call's arguments, a structure's members */
	protobuf nested[4];
	unsigned depth;
	bool in_list, alone;
	VEC(bool) told;        /* by lane: its track has been described */
	VEC(bool) interned;    /* by function */
	struct number_map processes;
};

/* Writes the packet as a field of the trace, and empties it. */
static void end_packet(struct perfetto *p)
{
	protobuf_write(p->out, TRACE_PACKET, &p->packet);
}

/* protobuf's strings are UTF-8; names may be anything. Bytes that are no UTF-8 become U+FFFD, one
 * each: parsers refuse the whole message otherwise. */
static void put_text(protobuf *p, unsigned field, const char *text)
{
	size_t left = strlen(text);
	protobuf clean = { 0 };
	uint32_t code;

	for (size_t n; left; text += n, left -= n) {
		n = utf8_character(text, left, &code);
		protobuf_bytes(&clean, n ? text : "\357\277\275", n ? n : 3);
		n = n ? n : 1;
	}
	protobuf_inner(p, field, &clean);
	vec_free(&clean);
}

/* The fields of every packet but the first. NEEDS_STATE: it refers to names that were interned
 * earlier, so that a reader who lacks the beginning passes over it. */
static void begin_packet(struct perfetto *p, uint64_t ns)
{
	protobuf_number(&p->packet, PACKET_TIMESTAMP, ns);
	protobuf_number(&p->packet, PACKET_SEQUENCE, SEQUENCE);
	protobuf_number(&p->packet, PACKET_FLAGS, FLAG_NEEDS_STATE);
}

/* The first packet: what all others refer to. ClockSnapshot lets a viewer show the time of day
 * beside CLOCK_MONOTONIC. SEQ_INCREMENTAL_STATE_CLEARED says that no name was interned before. */
static void put_start(struct perfetto *p)
{
	const struct trace_clock *c = &p->walk.info->clock;
	static const struct { unsigned id; bool real; } clocks[] = {
		{ CLOCK_MONOTONIC_ID, false }, { 1, true }, /* REALTIME */
	};

	for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++) {
		protobuf_number(&p->inner, 1, clocks[i].id);
		protobuf_number(&p->inner, 2, clocks[i].real ? c->real_ns : c->mono_ns);
		protobuf_inner(&p->part, 1, &p->inner);
	}
	protobuf_number(&p->part, 2, CLOCK_MONOTONIC_ID); /* primary_trace_clock */
	protobuf_inner(&p->packet, PACKET_CLOCKS, &p->part);
	protobuf_number(&p->part, PACKET_CLOCK, CLOCK_MONOTONIC_ID);
	protobuf_inner(&p->packet, PACKET_DEFAULTS, &p->part);
	protobuf_number(&p->packet, PACKET_SEQUENCE, SEQUENCE);
	protobuf_number(&p->packet, PACKET_FLAGS, FLAG_CLEARED);
	end_packet(p);
}

/* The kernel is a track with a name only: no process has its number. */
static void tell_kernel(struct perfetto *p, uint64_t ns)
{
	protobuf_number(&p->part, TRACK_UUID, PROCESS_UUID);
	put_text(&p->part, TRACK_NAME, TRACE_KERNEL_EXE);
	begin_packet(p, ns);
	protobuf_inner(&p->packet, PACKET_TRACK, &p->part);
	end_packet(p);
}

/* Describes the process when its first track comes; `processes` has those that were told, by 1 +
 * pid. */
static void tell_process(struct perfetto *p, uint32_t lane, uint64_t ns)
{
	const struct trace_info *info = p->walk.info;
	const struct trace_thread *t = walk_thread(&p->walk, lane);
	uint32_t pid = walk_process(&p->walk, lane);

	if (number_map_get(&p->processes, (uint64_t)pid + 1) != NUMBER_NONE)
		return;
	number_map_set(&p->processes, (uint64_t)pid + 1, 1);
	if (walk_is_kernel(&p->walk, lane)) {
		tell_kernel(p, ns);
		return;
	}
	protobuf_number(&p->inner, 1, t->pid);
	if (t->image < info->images.n && info->images.at[t->image].cmdline)
		put_text(&p->inner, 6, info->images.at[t->image].cmdline);
	protobuf_number(&p->part, TRACK_UUID, PROCESS_UUID + t->pid);
	protobuf_inner(&p->part, TRACK_PROCESS, &p->inner);
	begin_packet(p, ns);
	protobuf_inner(&p->packet, PACKET_TRACK, &p->part);
	end_packet(p);
}

/* A coroutine's track, or one of the kernel's, is its process's, and has a name only.
 * TrackDescriptor comes before the first event of its track. UUIDs: a lane is 1 + its number, a
 * process PROCESS_UUID + its pid, so that none is 0, which is no track. */
static void tell_lane(struct perfetto *p, uint32_t lane, uint64_t ns)
{
	const struct walk_lane *l = &p->walk.lanes.at[lane];
	const struct trace_thread *t = &p->walk.info->threads.at[l->thread];
	char *name;

	while (p->told.n <= lane)
		*vec_add(&p->told) = false;
	if (p->told.at[lane])
		return;
	p->told.at[lane] = true;
	tell_process(p, lane, ns);
	name = walk_lane_name(&p->walk, lane);
	protobuf_number(&p->part, TRACK_UUID, lane + 1);
	protobuf_number(&p->part, TRACK_PARENT, PROCESS_UUID + walk_process(&p->walk, lane));
	if (l->coroutine || walk_is_kernel(&p->walk, lane)) {
		put_text(&p->part, TRACK_NAME, name);
	} else {
		protobuf_number(&p->inner, 1, t->pid);
		protobuf_number(&p->inner, 2, t->tid);
		put_text(&p->inner, 5, name);
		protobuf_inner(&p->part, TRACK_THREAD, &p->inner);
	}
	begin_packet(p, ns);
	protobuf_inner(&p->packet, PACKET_TRACK, &p->part);
	end_packet(p);
	free(name);
}

/* Tells a function's name in the packet that first needs it; later ones have its number, 1 +
 * function (0 is none). InternedData holds for the packet that it stands in and all later ones of
 * the sequence. */
static void intern_name(struct perfetto *p, uint32_t function)
{
	while (p->interned.n <= function)
		*vec_add(&p->interned) = false;
	if (p->interned.at[function])
		return;
	p->interned.at[function] = true;
	protobuf_number(&p->inner, 1, function + 1);
	put_text(&p->inner, 2, p->walk.functions.at[function].text);
	protobuf_inner(&p->part, 2, &p->inner); /* event_names */
	protobuf_inner(&p->packet, PACKET_INTERNED, &p->part);
}

/* A text that is shown with the slice; NULL: none. */
static void annotate(struct perfetto *p, const char *name, const char *text)
{
	if (!text)
		return;
	put_text(&p->inner, ANNOTATION_NAME, name);
	put_text(&p->inner, ANNOTATION_STRING, text);
	protobuf_inner(&p->event, EVENT_ANNOTATION, &p->inner);
}

static void put_number(protobuf *to, const struct argument_told *a)
{
	static const uint8_t fields[ARGUMENT_KINDS_N] = {
		[ARGUMENT_SIGNED] = ANNOTATION_INT, [ARGUMENT_UNSIGNED] = ANNOTATION_UINT,
		[ARGUMENT_BOOL] = ANNOTATION_BOOL, [ARGUMENT_POINTER] = ANNOTATION_POINTER,
	};

	protobuf_number(to, fields[a->kind], a->number);
}

/* One value with the type that the viewer shows and SQL finds. */
static void put_value(protobuf *to, const struct argument_told *a)
{
	char *text;

	switch ((enum argument_kind)a->kind) {
	case ARGUMENT_SIGNED: case ARGUMENT_UNSIGNED: case ARGUMENT_BOOL: case ARGUMENT_POINTER:
		put_number(to, a);
		break;
	case ARGUMENT_FLOAT: protobuf_double(to, ANNOTATION_DOUBLE, a->real); break;
	case ARGUMENT_TEXT: case ARGUMENT_NAME:
		text = mem_printf("%.*s%s", (int)a->bytes, a->text, a->more ? "..." : "");
		put_text(to, ANNOTATION_STRING, text);
		free(text);
		break;
	case ARGUMENT_FAULT: put_text(to, ANNOTATION_STRING, "(fault)"); break;
	case ARGUMENT_UNKNOWN: case ARGUMENT_OPEN: case ARGUMENT_CLOSE: case ARGUMENT_LIST:
	case ARGUMENT_LIST_END:
		put_text(to, ANNOTATION_STRING, "?");
		break;
	}
}

/* The topmost annotation is complete, and goes into the one below it, or, if it stands by itself,
 * into the event. p->alone: the outermost annotation has no `arguments` around it, but is the
 * event's own. */
static void end_annotation(struct perfetto *p, unsigned field)
{
	protobuf *of = &p->nested[p->depth--];

	if (p->alone && !p->depth)
		protobuf_inner(&p->event, EVENT_ANNOTATION, of);
	else
		protobuf_inner(&p->nested[p->depth], field, of);
}

/* An element of an array: it has no name. */
static void annotate_element(struct perfetto *p, const struct argument_told *a)
{
	put_value(&p->nested[++p->depth], a);
	end_annotation(p, ANNOTATION_ELEMENT);
}

/* "..." as the last element tells that the list goes on. */
static void end_list(struct perfetto *p, const struct argument_told *a)
{
	if (a->more)
		annotate_element(p, &(struct argument_told){ .kind = ARGUMENT_TEXT, .text = "",
							     .more = true });
	p->in_list = false;
	end_annotation(p, ANNOTATION_ENTRY);
}

/* argument_visit. Structures have arrays of values in them at most: four levels. nested[0] is
 * `arguments`, or the one annotation of a returned value; depth is the one that is filled now. */
static void annotate_typed(void *context, const struct argument_told *a)
{
	struct perfetto *p = context;
	char *name;

	if (a->kind == ARGUMENT_CLOSE) {
		end_annotation(p, ANNOTATION_ENTRY);
		return;
	}
	if (a->kind == ARGUMENT_LIST_END) {
		end_list(p, a);
		return;
	}
	if (p->in_list) {
		annotate_element(p, a);
		return;
	}
	name = mem_strndup(a->name, a->name_bytes);
	put_text(&p->nested[++p->depth], ANNOTATION_NAME, *name ? name : "?");
	free(name);
	p->in_list = a->kind == ARGUMENT_LIST;
	if (a->kind == ARGUMENT_OPEN || a->kind == ARGUMENT_LIST)
		return;
	put_value(&p->nested[p->depth], a);
	end_annotation(p, ANNOTATION_ENTRY);
}

/* NULL: the call's arguments were not recorded. Whatever was begun is thrown away where the types
 * are not known. */
static void annotate_arguments(struct perfetto *p, const struct event *e)
{
	if (!e)
		return;
	p->depth = 0;
	put_text(&p->nested[0], ANNOTATION_NAME, "arguments");
	if (arguments_each(p->walk.info, e, annotate_typed, p))
		protobuf_inner(&p->event, EVENT_ANNOTATION, &p->nested[0]);
	else
		p->nested[0].n = 0;
}

/* False: what was returned has no type of its own, or is not known. */
static bool annotate_returned(struct perfetto *p, const struct walk_step *s)
{
	bool told;

	p->depth = 0;
	p->alone = true;
	told = walk_returned_typed(&p->walk, s, annotate_typed, p);
	p->alone = false;
	return told;
}

/* The beginning of a slice, with its interned name, and its file as category. */
static void fill_begin(struct perfetto *p, const struct walk_step *s)
{
	const char *file = p->walk.functions.at[s->function].file;

	intern_name(p, s->function);
	protobuf_number(&p->event, EVENT_TYPE, SLICE_BEGIN);
	protobuf_number(&p->event, EVENT_NAME_ID, s->function + 1);
	if (*file)
		put_text(&p->event, EVENT_CATEGORY, file);
	annotate_arguments(p, s->event);
}

/* The end of the slice that was opened last on its track. */
static void fill_end(struct perfetto *p, const struct walk_step *s)
{
	char *returned;

	protobuf_number(&p->event, EVENT_TYPE, SLICE_END);
	annotate(p, "ended", export_end_word(s->flags));
	if (annotate_returned(p, s))
		return;
	returned = walk_returned(&p->walk, s);
	annotate(p, "returned", returned);
	free(returned);
}

/* An instant with the event's text. */
static void fill_event(struct perfetto *p, const struct walk_step *s)
{
	const struct trace_event *e = trace_info_event(p->walk.info, s->event->fn);

	protobuf_number(&p->event, EVENT_TYPE, INSTANT);
	put_text(&p->event, EVENT_NAME, e ? e->name : "[unknown]");
	if (e)
		put_text(&p->event, EVENT_CATEGORY, e->system);
	annotate(p, "text", event_text(p->texts, s->event, 0));
}

/* An instant with the number of lost records. */
static void fill_loss(struct perfetto *p, const struct walk_step *s)
{
	protobuf_number(&p->event, EVENT_TYPE, INSTANT);
	put_text(&p->event, EVENT_NAME, "lost records");
	put_text(&p->inner, ANNOTATION_NAME, "count");
	protobuf_number(&p->inner, ANNOTATION_UINT, s->lost);
	protobuf_inner(&p->event, EVENT_ANNOTATION, &p->inner);
}

/* A track of the lane's own track, at the first event that it counts. */
static void tell_counter(struct perfetto *p, const struct walk_step *s, unsigned kind,
			 uint64_t uuid)
{
	protobuf_number(&p->inner, COUNTER_UNIT, UNIT_COUNT);
	protobuf_number(&p->part, TRACK_UUID, uuid);
	protobuf_number(&p->part, TRACK_PARENT, s->lane + 1);
	put_text(&p->part, TRACK_NAME, event_counts_name(kind));
	protobuf_inner(&p->part, TRACK_COUNTER, &p->inner);
	begin_packet(p, s->ns);
	protobuf_inner(&p->packet, PACKET_TRACK, &p->part);
	end_packet(p);
}

/* An event that counts something has a second packet: the number so far. */
static void put_counter(struct perfetto *p, const struct walk_step *s)
{
	unsigned kind;
	uint64_t n = event_counts_count(&p->counts, s, &kind), uuid;

	if (!n)
		return;
	uuid = COUNTER_UUID + (uint64_t)s->lane * COUNTER_EVENTS_N + kind;
	if (n == 1)
		tell_counter(p, s, kind, uuid);
	protobuf_number(&p->event, EVENT_TYPE, COUNTER);
	protobuf_number(&p->event, EVENT_TRACK, uuid);
	protobuf_number(&p->event, EVENT_COUNTER_VALUE, n);
	begin_packet(p, s->ns);
	protobuf_inner(&p->packet, PACKET_EVENT, &p->event);
	end_packet(p);
}

/* A packet for each step; the track's description comes before it, in packets of its own. */
static int take_step(void *arg, const struct walk_step *s)
{
	static void (*const fill[WALK_KINDS_N])(struct perfetto *, const struct walk_step *) = {
		[WALK_BEGIN] = fill_begin, [WALK_END] = fill_end, [WALK_EVENT] = fill_event,
		[WALK_LOST] = fill_loss,
	};
	struct perfetto *p = arg;

	tell_lane(p, s->lane, s->ns);
	begin_packet(p, s->ns);
	fill[s->kind](p, s);
	protobuf_number(&p->event, EVENT_TRACK, s->lane + 1);
	protobuf_inner(&p->packet, PACKET_EVENT, &p->event);
	end_packet(p);
	put_counter(p, s);
	return 0;
}

/* The exporter's `write`. Calls are cut at a loss, because slices have to nest. */
static int write_perfetto(struct export_job *job, struct err *err)
{
	struct perfetto p = { .out = job->out };
	int r;

	walk_init(&p.walk, job->source);
	p.walk.cuts = true;
	p.texts = event_texts_new(job->source->info);
	event_counts_init(&p.counts, job->source->info);
	put_start(&p);
	r = export_walk(job, &p.walk, take_step, &p, err);
	event_counts_free(&p.counts);
	event_texts_free(p.texts);
	walk_free(&p.walk);
	number_map_free(&p.processes);
	for (size_t i = 0; i < sizeof(p.nested) / sizeof(*p.nested); i++)
		vec_free(&p.nested[i]);
	vec_free(&p.told);
	vec_free(&p.interned);
	vec_free(&p.packet);
	vec_free(&p.event);
	vec_free(&p.part);
	vec_free(&p.inner);
	return r;
}

const struct exporter export_perfetto = {
	.name = "perfetto", .summary = "Perfetto's protobuf, for ui.perfetto.dev and trace_processor",
	.binary = true,
	.holds = HOLDS_EVENTS | HOLDS_LOSSES | HOLDS_ARGUMENTS | HOLDS_VALUES | HOLDS_ENDS |
		 HOLDS_KERNEL,
	.write = write_perfetto,
};
