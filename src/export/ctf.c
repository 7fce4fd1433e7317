/* SPDX-License-Identifier: MIT */
/* CTF 1.8, named like LTTng-UST's cyg-profile, so that Trace Compass shows call stacks by thread.
 * One stream has all threads' records, because they come by time; each says its thread. Functions
 * are addresses that the file .functions names: "address size name", which Trace Compass takes as a
 * symbol map. exporter.c calls it, on the thread that exports. A file that cannot be made or
 * written ends the export with its name. */
#include "export/files.h"
#include "export/formats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/event_text.h"

#define PACKET_ROOM 32768
#define TEXT_MOST 4096        /* bytes of an event's text */
#define PACKET_HEAD 60        /* bytes of packet.header and packet.context */
enum { CTF_ENTRY, CTF_EXIT, CTF_LOST, CTF_EVENT };

static const char metadata[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"trace { major = 1; minor = 8; byte_order = le; packet.header := struct { uint32_t magic; uint32_t stream_id; }; };\n"
	"env { domain = \"ust\"; tracer_name = \"lttng-ust\"; tracer_major = 2; tracer_minor = 13; tracer_buffering_scheme = \"uid\"; tracer_buffering_id = 0; architecture_bit_width = 64; trace_name = \"brace\"; };\n";
static const char stream_metadata[] =
	"typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := stamp_t;\n"
	"stream { id = 0; event.header := struct { uint16_t id; stamp_t timestamp; };\n"
	"packet.context := struct { stamp_t timestamp_begin; stamp_t timestamp_end; uint64_t content_size; uint64_t packet_size; uint64_t events_discarded; uint32_t packet_seq_num; uint64_t cpu_id; };\n"
	"event.context := struct { integer { size = 32; align = 8; signed = true; } _vpid; integer { size = 32; align = 8; signed = true; } _vtid; integer { size = 8; align = 8; signed = true; encoding = UTF8; } _procname[17]; }; };\n"
	"event { name = \"lttng_ust_cyg_profile:func_entry\"; id = 0; stream_id = 0; loglevel = 12; fields := struct { integer { size = 64; align = 8; signed = false; base = 16; } _addr; integer { size = 64; align = 8; signed = false; base = 16; } _call_site; }; };\n"
	"event { name = \"lttng_ust_cyg_profile:func_exit\"; id = 1; stream_id = 0; loglevel = 12; fields := struct { integer { size = 64; align = 8; signed = false; base = 16; } _addr; integer { size = 64; align = 8; signed = false; base = 16; } _call_site; }; };\n"
	"event { name = \"brace:lost\"; id = 2; stream_id = 0; fields := struct { uint64_t _count; }; };\n"
	"event { name = \"brace:event\"; id = 3; stream_id = 0; fields := struct { string _text; }; };\n";

struct ctf {
	struct walk walk;
	struct event_texts *texts;
	struct export_file file;
	struct err *err;
	char packet[PACKET_ROOM];
	size_t n;                 /* bytes in it; 0: none is begun */
	uint64_t first, last;     /* times in it */
	uint64_t lost;            /* of the whole stream so far */
	uint32_t number;
};

/* The stream's order of bytes is little-endian. */
static void put_number(struct ctf *c, uint64_t v, unsigned bytes)
{
	for (; bytes--; v >>= 8)
		c->packet[c->n++] = (char)v;
}

/* Fills the packet's head when all of the packet is known. Sizes are in bits; packets have no
 * padding, so that content and packet are equally long. events_discarded counts from the
 * stream's beginning. */
static void put_head(struct ctf *c, size_t content)
{
	c->n = 0;
	put_number(c, 0xc1fc1fc1, 4);
	put_number(c, 0, 4);
	put_number(c, c->first, 8);
	put_number(c, c->last, 8);
	put_number(c, content * 8, 8);
	put_number(c, content * 8, 8);
	put_number(c, c->lost, 8);
	put_number(c, c->number++, 4);
	put_number(c, 0, 8);
}

/* Writes the packet that was begun, if one was; the next event begins another. */
static void flush_packet(struct ctf *c)
{
	size_t n = c->n;

	if (!n)
		return;
	put_head(c, n);
	out_bytes(&c->file.out, c->packet, n);
	c->n = 0;
}

/* The head and context that all events have; `fields` bytes follow, for which there is room now.
 * Times of the stream do not go back, although those of calls that end with the trace would. The
 * name is the thread's last one, in the 17 bytes of LTTng's procname. */
static void begin_event(struct ctf *c, const struct walk_step *s, unsigned id, size_t fields)
{
	const struct trace_thread *t =
		&c->walk.info->threads.at[c->walk.lanes.at[s->lane].thread];
	const char *comm = trace_thread_name_at(&c->walk.info->threads.at[s->thread], UINT64_MAX);

	if (c->n + 10 + 25 + fields > PACKET_ROOM)
		flush_packet(c);
	c->last = s->ns > c->last ? s->ns : c->last;
	if (!c->n) {
		c->first = c->last;
		c->n = PACKET_HEAD;
	}
	put_number(c, id, 2);
	put_number(c, c->last, 8);
	put_number(c, t->pid, 4);
	put_number(c, files_tid(&c->walk, s->lane), 4);
	memset(c->packet + c->n, 0, 17);
	memcpy(c->packet + c->n, comm, strnlen(comm, TRACE_COMM));
	c->n += 17;
}

/* Entry and exit of cyg-profile. The call site is the caller's address, since the trace's own
 * call sites are no addresses of the made-up space; 0: an outermost call. */
static void put_call(struct ctf *c, const struct walk_step *s)
{
	begin_event(c, s, s->kind == WALK_BEGIN ? CTF_ENTRY : CTF_EXIT, 16);
	put_number(c, files_address(s->function), 8);
	put_number(c, s->depth ? files_address(s->frame[-1].function) : 0, 8);
}

/* An event's text, as brace prints it, cut at TEXT_MOST bytes so that it fits in a packet. */
static void put_event(struct ctf *c, const struct walk_step *s)
{
	const char *text = event_text(c->texts, s->event, 0);
	size_t n = strnlen(text, TEXT_MOST);

	begin_event(c, s, CTF_EVENT, n + 1);
	memcpy(c->packet + c->n, text, n);
	c->n += n;
	put_number(c, 0, 1);
}

/* Counted before the event is begun: that may flush a packet, whose head then has them. */
static void put_loss(struct ctf *c, const struct walk_step *s)
{
	c->lost += s->lost;
	begin_event(c, s, CTF_LOST, 8);
	put_number(c, s->lost, 8);
}

/* The walk's step. A failed write ends the walk. */
static int take_step(void *arg, const struct walk_step *s)
{
	static void (*const take_as[WALK_KINDS_N])(struct ctf *, const struct walk_step *) = {
		[WALK_BEGIN] = put_call, [WALK_END] = put_call, [WALK_EVENT] = put_event,
		[WALK_LOST] = put_loss,
	};
	struct ctf *c = arg;

	take_as[s->kind](c, s);
	return c->file.out.error;
}

/* The description of the stream (TSDL). Stamps are CLOCK_MONOTONIC; the offset makes them the
 * time of day. */
static int put_metadata(const struct export_job *job, struct err *err)
{
	const struct trace_clock *clock = &job->source->info->clock;
	struct export_file f;
	int r = files_begin(&f, job, "metadata", err), end;

	out_str(&f.out, metadata);
	out_printf(&f.out,
		   "clock { name = \"monotonic\"; description = \"CLOCK_MONOTONIC\"; freq = 1000000000; offset = %" PRIu64 "; };\n",
		   clock->real_ns - clock->mono_ns);
	out_str(&f.out, stream_metadata);
	end = files_end(&f, err);
	return r ? r : end;
}

/* Names by address; every function has 16 bytes of the made-up space (files_address()). */
static int put_functions(const struct ctf *c, const struct export_job *job, struct err *err)
{
	struct export_file f;
	int r = files_begin(&f, job, ".functions", err), end;

	for (uint32_t i = 0; i < c->walk.functions.n; i++) {
		out_printf(&f.out, "%016" PRIx64 " 10 ", files_address(i));
		files_put_line(&f.out, c->walk.functions.at[i].text);
		out_char(&f.out, '\n');
	}
	end = files_end(&f, err);
	return r ? r : end;
}

/* The one stream, written while the walk goes on. A fault of the walk's own is told in place of one
 * of the file's end; a write that failed in between is told by that. */
static int put_stream(struct ctf *c, struct export_job *job, struct err *err)
{
	int r = files_begin(&c->file, job, "channel0_0", err), end;

	if (!r)
		r = export_walk(job, &c->walk, take_step, c, err);
	if (!r)
		flush_packet(c);
	end = files_end(&c->file, r && err->code ? NULL : err);
	return r ? r : end;
}

/* The exporter's `write`. On the heap, since a packet's room is in it. Names come last: all
 * functions are known then. */
static int write_ctf(struct export_job *job, struct err *err)
{
	struct ctf *c = mem_zalloc(sizeof(*c));
	int r;

	walk_init(&c->walk, job->source);
	c->walk.cuts = true;
	c->texts = event_texts_new(job->source->info);
	r = put_stream(c, job, err);
	r = r ? r : put_metadata(job, err);
	r = r ? r : put_functions(c, job, err);
	event_texts_free(c->texts);
	walk_free(&c->walk);
	free(c);
	return r;
}

const struct exporter export_ctf = {
	.name = "ctf", .summary = "a CTF 1.8 trace (a directory), for Trace Compass and babeltrace2",
	.binary = true, .directory = true, .holds = HOLDS_EVENTS | HOLDS_LOSSES,
	.write = write_ctf,
};
