#include "source/decode.h"

#include "shared/record.h"

static void set_call(struct event *out, enum event_kind kind, uint64_t payload)
{
	out->kind = kind;
	out->fn = (uint32_t)payload;
	out->site = (uint32_t)(payload >> 32);
}

/* True if the record is an event for readers. */
static bool decode_event(struct decode_state *s, const uint64_t *words, struct event *out)
{
	switch (record_type(words[0])) {
	case RECORD_EVENT_CALL:
		set_call(out, EVENT_CALL, words[1]);
		return true;
	case RECORD_EVENT_ENTRY_ONLY:
		set_call(out, EVENT_ENTRY_ONLY, words[1]);
		return true;
	case RECORD_EVENT_SPAN:
		set_call(out, EVENT_SPAN, words[1]);
		out->begin = words[2];
		return true;
	case RECORD_EVENT_UNWIND:
		out->kind = EVENT_UNWIND;
		out->count = words[1];
		return true;
	case RECORD_EVENT_CPU:
		s->cpu = (uint16_t)words[1];
		return false;
	default:
		return false;
	}
}

size_t decode_record(struct decode_state *s, const uint64_t *words, size_t n, struct event *out, bool *is_event)
{
	static const unsigned char minimum[] = {
		[RECORD_EVENT_CALL] = 1, [RECORD_EVENT_SPAN] = 2, [RECORD_EVENT_CPU] = 1,
		[RECORD_EVENT_UNWIND] = 1, [RECORD_EVENT_ENTRY_ONLY] = 1, [RECORD_EVENT_PAD] = 0,
	};
	enum record_kind kind = record_kind(words[0]);
	size_t len = 1 + record_payload(words[0]);

	if (len > n)
		return 0;
	s->tsc = record_tsc(words[0], s->tsc);
	*out = (struct event){ .tsc = s->tsc, .thread = s->thread, .cpu = s->cpu };
	*is_event = true;
	if (kind == RECORD_EVENT) {
		enum record_event type = record_type(words[0]);

		*is_event = type < sizeof(minimum) && len > minimum[type] && decode_event(s, words, out);
		return len;
	}
	out->kind = kind == RECORD_ENTRY ? EVENT_ENTRY : kind == RECORD_TAIL ? EVENT_TAIL : EVENT_EXIT;
	if (kind == RECORD_EXIT)
		out->site = record_id(words[0]);
	else
		out->fn = record_id(words[0]);
	return len;
}
