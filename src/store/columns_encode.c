/* SPDX-License-Identifier: MIT */
/* Words to columns. The pipeline's workers run it, each with an encoder of its own, at some ten
 * nanoseconds a record on the machine that runs the traced program too. So the loop has no call and
 * no bounds check: every stream has room for the worst that PACKET_WORDS_MAX words can do. It fails
 * where zstd does. */
#include <errno.h>
#include <zstd.h>

#include "shared/record.h"
#include "store/columns.h"
#include "store/predict.h"
#include "store/streams.h"

#define LEVEL 1 /* if none is chosen: 2 to 5 take longer and save little (docs/trace-file.md) */

/* The most bytes that a word can add to each stream. */
static const uint8_t stream_room[STREAMS] = { 2, 1, 1, 1, 1, 1, ULEB_MAX, ULEB_MAX };

struct encoder {
	ZSTD_CCtx *zstd;
	struct predictor predictor;
	uint8_t *start[STREAMS], *at[STREAMS];
	unsigned run;         /* good guesses since the last miss */
	uint64_t tsc;         /* full, of the last header */
	unsigned shift;
};

/* Without memory for zstd there is an encoder all the same: columns_encoder_run() tells it. */
struct encoder *columns_encoder_new(unsigned level)
{
	struct encoder *e = mem_zalloc(sizeof(*e));

	e->zstd = ZSTD_createCCtx();
	if (e->zstd)
		ZSTD_CCtx_setParameter(e->zstd, ZSTD_c_compressionLevel,
				       level ? (int)level : LEVEL);
	for (int s = 0; s < STREAMS; s++)
		e->start[s] = mem_realloc(NULL, PACKET_WORDS_MAX + 8, stream_room[s]);
	return e;
}

void columns_encoder_free(struct encoder *e)
{
	if (!e)
		return;
	for (int s = 0; s < STREAMS; s++)
		free(e->start[s]);
	ZSTD_freeCCtx(e->zstd);
	free(e);
}

/* Stores a difference in one byte, two, or as a LEB128 with an escape before it. */
static inline void put_time(struct encoder *e, int64_t delta)
{
	uint64_t d = (uint64_t)delta;

	if (d < TIME_TWO) {
		*e->at[STREAM_TIME]++ = (uint8_t)d;
	} else if (d < TIME_TWO_END) {
		/* The first byte has the upper bits, as a value from TIME_TWO up to TIME_LONG. */
		*e->at[STREAM_TIME]++ = (uint8_t)(TIME_TWO + ((d - TIME_TWO) >> 8));
		*e->at[STREAM_TIME_LOW]++ = (uint8_t)(d - TIME_TWO);
	} else {
		*e->at[STREAM_TIME]++ = delta < 0 ? TIME_NEGATIVE : TIME_LONG;
		e->at[STREAM_LONG] = bytes_write_uleb(e->at[STREAM_LONG], delta < 0 ? -d : d);
	}
}

/* Counts a right guess. A full run is written out at once; the next byte goes on counting. */
static inline void put_hit(struct encoder *e)
{
	if (++e->run == RUN_FULL) {
		*e->at[STREAM_RUNS]++ = RUN_FULL;
		e->run = 0;
	}
}

/* The hits before it, which may be none. */
static inline void put_miss(struct encoder *e)
{
	*e->at[STREAM_RUNS]++ = (uint8_t)e->run;
	e->run = 0;
}

/* Stores the record's low 24 bits if the predictor fails on them. */
static inline void put_record(struct encoder *e, uint32_t record)
{
	if (predict_record(&e->predictor) == record) {
		put_hit(e);
	} else {
		put_miss(e);
		predict_learn(&e->predictor, record);
		*e->at[STREAM_LOW]++ = (uint8_t)record;
		*e->at[STREAM_MID]++ = (uint8_t)(record >> 8);
		*e->at[STREAM_HIGH]++ = (uint8_t)(record >> 16);
	}
	predict_step(&e->predictor, record);
}

/* header: that of the record to which the word belongs. */
static void put_payload_word(struct encoder *e, uint64_t header, unsigned index, uint64_t word)
{
	uint8_t *p = e->at[STREAM_PAYLOAD];

	/* A time stamp is near the record's own time; a guess would always fail. */
	if (record_payload_is_time(header, index)) {
		e->at[STREAM_PAYLOAD] = bytes_write_uleb(p, e->tsc - word);
		return;
	}
	if (predict_payload(&e->predictor, index) == word) {
		put_hit(e);
	} else {
		put_miss(e);
		e->at[STREAM_PAYLOAD] =
			bytes_write_uleb(bytes_write_uleb(p, (uint32_t)word), word >> 32);
	}
	predict_step_payload(&e->predictor, word);
}

/* Codes one record, header and payload. Returns the number of its words. */
static inline size_t encode_record(struct encoder *e, const uint64_t *words)
{
	uint64_t tsc = record_tsc(words[0], e->tsc);
	unsigned payload = record_payload(words[0]);

	put_time(e, (int64_t)(tsc - e->tsc) >> e->shift);
	e->tsc = tsc;
	put_record(e, (uint32_t)words[0] & 0xffffff);
	for (unsigned i = 0; i < payload; i++)
		put_payload_word(e, words[0], i, words[1 + i]);
	return 1 + payload;
}

/* The number of low TSC bits that are equal in all records: the TSC of some machines moves in
 * steps. */
static unsigned constant_low_bits(const uint64_t *words, size_t n)
{
	uint64_t changed = UINT64_C(1) << 63; /* so that there is a set bit */

	for (size_t i = 0; i < n; i += 1 + record_payload(words[i]))
		changed |= words[i] ^ words[0];
	changed >>= 64 - RECORD_TSC_BITS;
	return (unsigned)__builtin_ctzll(changed);
}

/* Appends one stream: short ones as they are, since a zstd frame costs more than it saves. */
static int put_stream(struct encoder *e, int s, struct bytes *out, struct err *err)
{
	size_t raw = (size_t)(e->at[s] - e->start[s]), bound = ZSTD_compressBound(raw), stored,
	       mark;

	bytes_uleb(out, raw);
	if (raw < STREAM_PLAIN) {
		bytes_put(out, e->start[s], raw);
		return 0;
	}
	mark = out->n;
	vec_reserve(out, mark + 4 + bound);
	stored = ZSTD_compress2(e->zstd, out->at + mark + 4, bound, e->start[s], raw);
	if (ZSTD_isError(stored))
		return err_set(err, EIO, "cannot compress records: %s", ZSTD_getErrorName(stored));
	memcpy(out->at + mark, &(uint32_t){ (uint32_t)stored }, 4);
	out->n = mark + 4 + stored;
	return 0;
}

int columns_encoder_run(struct encoder *e, const uint64_t *words, size_t n,
			struct packet_records *head, struct bytes *payload, struct err *err)
{
	int r = 0;

	if (!e->zstd)
		return err_set(err, ENOMEM, "no memory to compress records");
	head->words = (uint32_t)n;
	head->table_bits = (uint8_t)predict_bits(head->words);
	head->tsc_shift = (uint8_t)constant_low_bits(words, n);
	memcpy(e->at, e->start, sizeof(e->at));
	predict_reset(&e->predictor, head->table_bits);
	e->run = 0;
	e->tsc = head->first_tsc;
	e->shift = head->tsc_shift;
	for (size_t i = 0; i < n;)
		i += encode_record(e, words + i);
	/* The run at the packet's end; the decoder stops before it would read its miss. */
	put_miss(e);
	head->last_tsc = e->tsc;
	payload->n = 0;
	for (int s = 0; s < STREAMS && !r; s++)
		r = put_stream(e, s, payload, err);
	return r;
}
