/* SPDX-License-Identifier: MIT */
/* The columns of a PACKET_RECORDS payload, shared by columns_encode.c and columns_decode.c. */
#pragma once

enum stream {
	STREAM_RUNS,    /* 0 to 254: so many good guesses, then a miss; 255: 255 good guesses */
	STREAM_LOW,     /* a missed record's bits 0-7, 8-15, 16-23 */
	STREAM_MID,
	STREAM_HIGH,
	STREAM_TIME,    /* a byte a record: see TIME_* */
	/* A byte a record, see TIME_*; then what TIME_* refer to. */
	STREAM_TIME_LOW,/* the low byte of two-byte deltas */
	STREAM_LONG,    /* LEB128 of longer and of negative deltas */
	STREAM_PAYLOAD, /* LEB128 of missed payload words, two halves each, and of time stamps */
	STREAMS,
};

/* The difference d to the record before, in units of 1 << tsc_shift: below TIME_TWO d itself; below
 * TIME_LONG two bytes, TIME_TWO + (d - TIME_TWO) / 256 and the rest; then two escapes for longer
 * and for negative ones. */
#define TIME_TWO 192
#define TIME_LONG 254
#define TIME_NEGATIVE 255
#define TIME_TWO_END (TIME_TWO + (TIME_LONG - TIME_TWO) * 256)

/* A byte of STREAM_RUNS without a miss behind it. */
#define RUN_FULL 255

/* No stream of n words is longer than this many bytes, nor all together. */
#define STREAMS_BYTES(n) (20 * (size_t)(n) + 64)

/* Streams shorter than this are stored as they are. */
#define STREAM_PLAIN 24
