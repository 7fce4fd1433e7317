/* SPDX-License-Identifier: MIT */
/* A histogram's entries: sums by key, of at most so many keys. Memory grows with the entries that
 * there are. Not locked: its owner's lock protects it. */
#pragma once
#include "hist/command.h"
#include "hist/sketch.h"

/* One key, as it is hashed and compared: for each field of the command a word, or for strings and
 * stacks their length (bytes; words) in a word and then the content, padded with zeros to words. */
#define HIST_KEY_WORDS (HIST_KEYS_MAX * (1 + HIST_STRING_MAX / 8))

#define HIST_NESTED_MAX 1024u

struct hist_key {
	uint64_t words[HIST_KEY_WORDS];
	size_t n;
	size_t ends[HIST_KEYS_MAX]; /* words up to the end of each field */
};

/* A value that an entry keeps: a number, or bytes. */
struct hist_slot {
	bool set;
	uint64_t number;
	uint32_t n;                /* bytes */
	uint8_t *bytes;            /* n of them, and a NUL */
};

struct hist_slots { VEC(struct hist_slot) at; };

struct hist_entry {
	uint64_t hits;
	VEC(struct hist_slot) slots;   /* of its own histogram */
	VEC(struct hist_slot) extras;  /* that others asked for */
	/* of `nested`: the slots of records that are not matched yet, the latest last */
	VEC(struct hist_slots) below;
	struct hist_sketch *sketches;  /* hist_command.n_sketches; NULL: none */
	uint64_t sums[HIST_VALUES_MAX]; /* of sketched values: by hist_table_sorted() */
	size_t n_sketches;
	char comm[16];             /* of the thread whose record made the entry */
	size_t n;                  /* words of the key */
	uint64_t key[];
};

struct hist_table {
	uint32_t size;
	VEC(struct hist_entry *) entries;
	uint32_t *buckets;         /* by hash: 1 + index of the entry; 0: free */
	uint32_t n_buckets;        /* a power of two */
	struct histogram_pool pool; /* of the sketches */
	uint64_t hits;             /* records that found or made an entry */
	uint64_t dropped;          /* records for which there was no room, or which were lost */
	uint64_t crowded;          /* ... of which there was no room for so many */
	uint64_t unmatched;        /* records for which a variable of another event was not set */
	uint64_t unsent;           /* synthetic events that were not made: too many in a chain */
	/* the latest snapshot that an action took: its key, and the value */
	uint64_t *snapshot_key;
	size_t snapshot_n;
	uint64_t snapshot_value;
	char snapshot_comm[16];
};

/* size: number of entries at most. hist_table_free() frees what is in *t. */
void hist_table_init(struct hist_table *t, uint32_t size);
void hist_table_free(struct hist_table *t);
/* Empties it. */
void hist_table_clear(struct hist_table *t);
/* Counts a hit and returns its entry, new or not; comm: the thread's name. NULL: there is no room,
 * and it is counted as dropped. */
struct hist_entry *hist_table_hit(struct hist_table *t, const struct hist_key *k,
				  const char *comm);
/* Returns the entry of the key, n words of it; NULL: there is none. */
struct hist_entry *hist_table_find(const struct hist_table *t, const uint64_t *key, size_t n);
/* Puts the entry's slots aside, and leaves it without; gives the latest ones back. Of more than
 * HIST_NESTED_MAX the oldest are forgotten. */
void hist_entry_push(struct hist_entry *e);
void hist_entry_pop(struct hist_entry *e);
/* Sets the slot to bytes, which are copied. */
void hist_slot_set(struct hist_slot *s, const void *bytes, size_t n);
/* Frees the bytes, and leaves the slot unset. */
void hist_slot_free(struct hist_slot *s);
/* Adds a value to sketch number i of the entry, which has as many as the command. */
void hist_table_sketch(struct hist_table *t, struct hist_entry *e, const struct hist_command *c,
		       const struct hist_field *f, uint64_t value);
/* Returns the entries in the command's order, those that are equal in it by their keys; free() the
 * array, which is valid until the table changes. */
struct hist_entry **hist_table_sorted(const struct hist_table *t, const struct hist_command *c);

/* Returns the content of key number i of an entry. */
const uint64_t *hist_entry_key(const struct hist_entry *e, const struct hist_command *c, size_t i);
/* Words that a string of so many bytes takes. */
static inline size_t hist_string_words(uint64_t bytes)
{
	return (size_t)(bytes + 7) / 8;
}
/* Whether a key of this field is one word. */
bool hist_field_is_word(const struct hist_field *f);
