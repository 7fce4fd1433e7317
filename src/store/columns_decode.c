/* SPDX-License-Identifier: MIT */
/* Columns to words, for readers (reader.c, thread_packets.c); each reading thread has its own
 * decoder. The bytes may be anybody's: each stream is read through a cursor, and no record is
 * written that does not fit what the packet's header promised. A cursor that runs out reads 0 and
 * is marked bad, so that the loops need no check of their own; any_bad() decides at the end. */
#include <errno.h>
#include <zstd.h>

#include "base/cursor.h"
#include "shared/record.h"
#include "store/columns.h"
#include "store/predict.h"
#include "store/streams.h"

struct decoder {
	ZSTD_DCtx *zstd;
	struct predictor predictor;
	struct bytes raw;      /* all streams, decompressed */
	struct cursor in[STREAMS];
	unsigned run;          /* good guesses before the next miss, or the next byte */
	bool miss_next;        /* a miss follows the run */
	uint64_t tsc;
	unsigned shift;
};

struct decoder *columns_decoder_new(void)
{
	struct decoder *d = mem_zalloc(sizeof(*d));

	d->zstd = ZSTD_createDCtx();
	return d;
}

void columns_decoder_free(struct decoder *d)
{
	if (!d)
		return;
	vec_free(&d->raw);
	ZSTD_freeDCtx(d->zstd);
	free(d);
}

/* Decompresses one stream to d->raw, which has room for `left` more bytes. */
static bool get_stream(struct decoder *d, struct cursor *c, size_t left, struct cursor *out)
{
	size_t raw = cursor_uleb(c);
	uint8_t *to = d->raw.at + d->raw.n;
	const void *stored;
	uint32_t n;

	if (c->bad || raw > left)
		return false;
	/* Short streams are stored as they are (columns_encode.c). */
	if (raw < STREAM_PLAIN) {
		stored = cursor_bytes(c, raw);
		if (stored)
			memcpy(to, stored, raw);
	} else {
		n = cursor_u32(c);
		stored = cursor_bytes(c, n);
		if (stored && ZSTD_decompressDCtx(d->zstd, to, raw, stored, n) != raw)
			return false;
	}
	*out = cursor_of(to, raw);
	d->raw.n += raw;
	return stored != NULL;
}

/* Splits the payload into its streams. Its total is bounded by the header's number of words, so
 * that a small file cannot ask for much memory. */
static bool get_streams(struct decoder *d, const uint8_t *payload, size_t n, uint32_t words)
{
	struct cursor c = cursor_of(payload, n);
	size_t room = STREAMS_BYTES(words);

	d->raw.n = 0;
	vec_reserve(&d->raw, room);
	for (int s = 0; s < STREAMS; s++)
		if (!get_stream(d, &c, room - d->raw.n, &d->in[s]))
			return false;
	/* Bytes behind the last stream are damage, too. */
	return cursor_left(&c) == 0;
}

/* The TSC's difference to the record before, in units of 1 << shift. */
static inline uint64_t get_time(struct decoder *d)
{
	uint64_t first = cursor_u8(&d->in[STREAM_TIME]);

	if (first < TIME_TWO)
		return first;
	if (first < TIME_LONG)
		return TIME_TWO + ((first - TIME_TWO) << 8) + cursor_u8(&d->in[STREAM_TIME_LOW]);
	if (first == TIME_LONG)
		return cursor_uleb(&d->in[STREAM_LONG]);
	return -cursor_uleb(&d->in[STREAM_LONG]);
}

/* Reads the next byte of STREAM_RUNS: so many hits, then a miss unless it is RUN_FULL. */
static void next_run(struct decoder *d)
{
	uint8_t b = cursor_u8(&d->in[STREAM_RUNS]);

	d->run = b;
	d->miss_next = b != RUN_FULL;
}

/* Whether the next guess is right. */
static inline bool get_hit(struct decoder *d)
{
	if (d->run) {
		d->run--;
		return true;
	}
	if (!d->miss_next) {
		next_run(d);
		if (d->run) {
			d->run--;
			return true;
		}
		/* An exhausted stream reads as misses, which ends the packet as damaged. */
		if (d->in[STREAM_RUNS].bad)
			return false;
	}
	next_run(d);
	return false;
}

/* The low 24 bits of the next record: as guessed, or as stored. */
static inline uint32_t get_record(struct decoder *d)
{
	struct predict_state s = predict_begin_hits(&d->predictor);
	uint32_t record;

	if (get_hit(d)) {
		record = predict_hit(&d->predictor, &s);
	} else {
		record = cursor_u8(&d->in[STREAM_LOW]);
		record |= (uint32_t)cursor_u8(&d->in[STREAM_MID]) << 8;
		record |= (uint32_t)cursor_u8(&d->in[STREAM_HIGH]) << 16;
		predict_miss(&d->predictor, &s, record);
	}
	predict_step_hit(&d->predictor, &s, record);
	predict_end_hits(&d->predictor, &s);
	return record;
}

/* Word `index` of a record's payload: a time relative to the record's, or a word that the predictor
 * may have hit. */
static uint64_t get_payload_word(struct decoder *d, uint64_t header, unsigned index)
{
	uint64_t word;

	if (record_payload_is_time(header, index))
		return d->tsc - cursor_uleb(&d->in[STREAM_PAYLOAD]);
	word = predict_payload(&d->predictor, index);
	if (!get_hit(d)) {
		word = (uint32_t)cursor_uleb(&d->in[STREAM_PAYLOAD]);
		word |= cursor_uleb(&d->in[STREAM_PAYLOAD]) << 32;
	}
	predict_step_payload(&d->predictor, word);
	return word;
}

/* Decodes one record into at most `room` words. Returns their number; 0: it cannot be a record. */
static inline size_t get_words(struct decoder *d, uint64_t *out, size_t room)
{
	uint32_t record;
	unsigned payload;

	d->tsc += get_time(d) << d->shift;
	record = get_record(d);
	out[0] = d->tsc << (64 - RECORD_TSC_BITS) | record;
	payload = record_payload(out[0]);
	/* No record is all 0 in its low 24 bits: that is an unwritten slot, which writers leave
	 * out. */
	if (!record || payload >= room)
		return 0;
	for (unsigned i = 0; i < payload; i++)
		out[1 + i] = get_payload_word(d, out[0], i);
	return 1 + payload;
}

/* Decodes the records that follow and were guessed, as long as they have no payload. Returns their
 * number, at most room. */
static size_t get_hits(struct decoder *d, uint64_t *out, size_t room)
{
	struct predict_state s = predict_begin_hits(&d->predictor);
	uint64_t tsc = d->tsc;
	size_t n, most = d->run < room ? d->run : room;

	for (n = 0; n < most; n++) {
		const uint32_t record = predict_hit(&d->predictor, &s);

		if (!record || !record_is_short(record))
			break;
		tsc += get_time(d) << d->shift;
		out[n] = tsc << (64 - RECORD_TSC_BITS) | record;
		predict_step_hit(&d->predictor, &s, record);
	}
	predict_end_hits(&d->predictor, &s);
	d->tsc = tsc;
	d->run -= (unsigned)n;
	return n;
}

static bool any_bad(const struct decoder *d)
{
	for (int s = 0; s < STREAMS; s++)
		if (d->in[s].bad)
			return true;
	return false;
}

/* False: the columns do not hold so many words, or are damaged. */
static bool get_all(struct decoder *d, uint32_t words, uint64_t *out)
{
	for (size_t i = 0, n; i < words; i += n) {
		i += get_hits(d, out + i, words - i);
		if (i == words)
			break;
		n = get_words(d, out + i, words - i);
		if (!n)
			return false;
	}
	return !any_bad(d);
}

/* The head is the file's, and may be anything: sizes and shifts are checked before they are
 * used. */
int columns_decoder_run(struct decoder *d, const struct packet_records *head,
			const uint8_t *payload, size_t n, uint64_t *out, struct err *err)
{
	if (!d->zstd)
		return err_set(err, ENOMEM, "no memory to decompress records");
	if (head->table_bits < PREDICT_BITS_MIN || head->table_bits > PREDICT_BITS_MAX ||
	    head->tsc_shift >= RECORD_TSC_BITS || !get_streams(d, payload, n, head->words))
		return err_set(err, EBADMSG, "a packet of records is damaged");
	predict_reset(&d->predictor, head->table_bits);
	d->run = 0;
	d->miss_next = false;
	d->tsc = head->first_tsc;
	d->shift = head->tsc_shift;
	if (!get_all(d, head->words, out))
		return err_set(err, EBADMSG, "a packet of records is damaged");
	return 0;
}
