/* SPDX-License-Identifier: MIT */
/* Codes a run of one thread's record words as the payload of a PACKET_RECORDS, and back. Times are
 * stored apart from what happened, what happened only where a predictor fails, and each column is
 * compressed by itself. Every payload stands alone, so that packets decode in any order and in
 * parallel. */
#pragma once
#include "base/err.h"
#include "store/format.h"

struct encoder;
/* One thread at a time uses an encoder. level: zstd's, 1 to 19; 0: the one that is as fast as the
 * records come. columns_encoder_free frees it; NULL is fine. */
struct encoder *columns_encoder_new(unsigned level);
void columns_encoder_free(struct encoder *e);
/* Codes n words (whole records, 1 to PACKET_WORDS_MAX), the first with the full TSC
 * head->first_tsc, and sets head's words, last_tsc, table_bits and tsc_shift. The payload is valid
 * until the next call. 0, or -errno and *err (no memory, zstd). */
int columns_encoder_run(struct encoder *e, const uint64_t *words, size_t n,
			struct packet_records *head, struct bytes *payload, struct err *err);

struct decoder;
/* One thread at a time uses a decoder. columns_decoder_free frees it; NULL is fine. */
struct decoder *columns_decoder_new(void);
void columns_decoder_free(struct decoder *d);
/* Restores the words; out has room for head->words. Any payload is survived: -EBADMSG if it is not
 * one that columns_encoder_run made. */
int columns_decoder_run(struct decoder *d, const struct packet_records *head,
			const uint8_t *payload, size_t n, uint64_t *out, struct err *err);
