/* SPDX-License-Identifier: MIT */
/* Rows to columns to pages. The exporter (parquet.c) calls this on brace's only thread. Errors of
 * the output stay in it. A text stands once in its group's dictionary, and rows have its number;
 * numbers are packed as differences. */
#include "export/parquet_file.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/table_hash.h"
#include "base/utf8.h"
#include "export/parquet_pack.h"
#include "export/thrift.h"

/* A group ends when it has so many rows, or so many bytes of texts. */
#define GROUP_ROWS (128u << 10)
#define GROUP_TEXTS (16u << 20)
#define LEVEL 3               /* of zstd */
static const char MAGIC[] = "PAR1";

/* The specification's numbers. Type, Encoding, PageType, CompressionCodec, ConvertedType,
 * FieldRepetitionType, and LogicalType: parquet.thrift of parquet-format. ENCODING_DIFFERENCES is
 * its DELTA_BINARY_PACKED, ENCODING_DICTIONARY its RLE_DICTIONARY. */
enum { TYPE_INT64 = 2, TYPE_BYTES = 6 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_DIFFERENCES = 5, ENCODING_DICTIONARY = 8 };
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };
enum { CODEC_ZSTD = 6, CONVERTED_UTF8 = 0, REQUIRED = 0, OPTIONAL = 1 };
enum { LOGICAL_TEXT = 1, LOGICAL_TIME = 8, UNIT_NS = 3 };

/* One column of the group that is filled. */
struct filled_column {
	VEC(int64_t) numbers;     /* those that are there; of texts their places in `texts` */
	VEC(uint8_t) there;       /* a row each, of an optional column: 1, or 0 for none */
	struct bytes texts;       /* each its length in 4 bytes, and itself: a page's form */
	VEC(uint32_t) starts;     /* of the texts, in `texts` */
	VEC(uint32_t) slots;      /* 1 + a text's place, by its hash; 0: free; a power of two */
};

/* A column's pages, as the footer tells them: offsets in the file, and bytes. */
struct column_chunk { uint64_t begin, data, raw, stored; };

struct parquet {
	struct out *out;
	const struct parquet_column *about;
	struct filled_column *columns;
	size_t n;
	uint64_t written, rows, group_rows, groups;
	struct bytes page, packed, text; /* reused */
	struct thrift footer;     /* of the groups */
	ZSTD_CCtx *zstd;
};

/* --- values ------------------------------------------------------------------------------- */

/* A required column has no definition levels in its pages, so nothing is kept for them. */
static void note_there(struct parquet *p, size_t column, bool is)
{
	if (p->about[column].optional)
		*vec_add(&p->columns[column].there) = is;
}

void parquet_null(struct parquet *p, size_t column)
{
	note_there(p, column, false);
}

void parquet_number(struct parquet *p, size_t column, uint64_t v)
{
	note_there(p, column, true);
	*vec_add(&p->columns[column].numbers) = (int64_t)v;
}

/* The slot that has the text, or a free one. At least half of the slots are free, so that the
 * search ends. The pointer holds until grow_slots(). */
static uint32_t *find_slot(struct filled_column *c, const struct bytes *text)
{
	const uint32_t mask = (uint32_t)c->slots.n - 1;
	uint32_t at = (uint32_t)table_hash_bytes(0, text->at, text->n) & mask;

	for (; c->slots.at[at]; at = (at + 1) & mask) {
		const uint8_t *have = c->texts.at + c->starts.at[c->slots.at[at] - 1];
		uint32_t n;

		memcpy(&n, have, sizeof(n));
		if (n == text->n && !memcmp(have + sizeof(n), text->at, n))
			break;
	}
	return &c->slots.at[at];
}

/* Twice as many slots, at most half of them used; the texts find theirs again. */
static void grow_slots(struct filled_column *c)
{
	size_t n = c->slots.n ? 2 * c->slots.n : 64;

	vec_reserve(&c->slots, n);
	c->slots.n = n;
	memset(c->slots.at, 0, n * sizeof(*c->slots.at));
	for (size_t i = 0; i < c->starts.n; i++) {
		uint8_t *have = c->texts.at + c->starts.at[i];
		struct bytes text = { .at = have + sizeof(uint32_t) };
		uint32_t length;

		memcpy(&length, have, sizeof(length));
		text.n = length;
		*find_slot(c, &text) = (uint32_t)i + 1;
	}
}

/* Copies text to *to as UTF-8. Names of a program are any bytes, and readers refuse a text that is
 * no UTF-8: such bytes become U+FFFD, each. */
static void copy_utf8(struct bytes *to, const char *text)
{
	size_t left = strlen(text), length;
	char instead[UTF8_LONGEST];
	uint32_t code;

	for (to->n = 0; left; text += length, left -= length) {
		length = utf8_character(text, left, &code);
		if (length)
			bytes_put(to, text, length);
		else
			bytes_put(to, instead, utf8_write(0xfffd, instead));
		length += !length;
	}
}

void parquet_text(struct parquet *p, size_t column, const char *text)
{
	struct filled_column *c = &p->columns[column];
	uint32_t *slot;

	copy_utf8(&p->text, text);
	if (2 * c->starts.n >= c->slots.n)
		grow_slots(c);
	slot = find_slot(c, &p->text);
	if (!*slot) {
		*vec_add(&c->starts) = (uint32_t)c->texts.n;
		bytes_u32(&c->texts, (uint32_t)p->text.n);
		bytes_put(&c->texts, p->text.at, p->text.n);
		*slot = (uint32_t)c->starts.n;
	}
	note_there(p, column, true);
	*vec_add(&c->numbers) = *slot - 1;
}

/* --- pages -------------------------------------------------------------------------------- */

static void write_bytes(struct parquet *p, const void *bytes, size_t n)
{
	out_bytes(p->out, bytes, n);
	p->written += n;
}

/* Compresses into p->packed. Returns false if zstd has no memory. Each page is compressed by
 * itself, as the format wants it: a reader takes single pages. */
static bool compress(struct parquet *p, const struct bytes *raw)
{
	size_t most = ZSTD_compressBound(raw->n), n;

	vec_reserve(&p->packed, most);
	n = ZSTD_compressCCtx(p->zstd, p->packed.at, most, raw->at, raw->n, LEVEL);
	p->packed.n = ZSTD_isError(n) ? 0 : n;
	return !ZSTD_isError(n);
}

/* Writes a page and its header, and adds both to the chunk's sizes. The header is PageHeader of
 * parquet.thrift: 1 type, 2 bytes before and 3 after compression, 5 DataPageHeader or 7
 * DictionaryPageHeader. A data page counts nulls among its values. */
static void write_page(struct parquet *p, struct column_chunk *chunk, int type, size_t values,
		       int encoding, const struct bytes *raw)
{
	struct thrift head = { 0 };

	if (!compress(p, raw)) {
		p->out->error = p->out->error ? p->out->error : -ENOMEM;
		return;
	}
	thrift_i32(&head, 1, type);
	thrift_i32(&head, 2, (int32_t)raw->n);
	thrift_i32(&head, 3, (int32_t)p->packed.n);
	thrift_struct(&head, type == PAGE_DATA ? 5 : 7);
	thrift_i32(&head, 1, (int32_t)values);
	thrift_i32(&head, 2, encoding);
	if (type == PAGE_DATA) {
		thrift_i32(&head, 3, ENCODING_RLE);
		thrift_i32(&head, 4, ENCODING_RLE);
	}
	thrift_end(&head);
	thrift_finish(&head);
	write_bytes(p, head.bytes.at, head.bytes.n);
	write_bytes(p, p->packed.at, p->packed.n);
	chunk->raw += head.bytes.n + raw->n;
	chunk->stored += head.bytes.n + p->packed.n;
	vec_free(&head.bytes);
}

/* The rows that have a value: before the values, with the length in front. Only a data page of
 * version 1 has the length, in 4 bytes. */
static void put_levels(struct bytes *page, const struct filled_column *c)
{
	uint32_t n;

	bytes_u32(page, 0);
	parquet_pack_levels(page, c->there.at, c->there.n);
	n = (uint32_t)(page->n - sizeof(n));
	memcpy(page->at, &n, sizeof(n));
}

/* Readers want no dictionary of nothing: such a column's values are none, plainly. */
static int encoding_of(const struct parquet *p, size_t column)
{
	if (p->about[column].kind != PARQUET_TEXT)
		return ENCODING_DIFFERENCES;
	return p->columns[column].starts.n ? ENCODING_DICTIONARY : ENCODING_PLAIN;
}

/* Indices of a dictionary have one width, that of the largest, told in a byte before them
 * (RLE_DICTIONARY). */
static void put_values(struct parquet *p, size_t column)
{
	const struct filled_column *c = &p->columns[column];
	unsigned width = c->starts.n ? parquet_width(c->starts.n - 1) : 0;

	if (encoding_of(p, column) == ENCODING_DIFFERENCES) {
		parquet_pack_differences(&p->page, c->numbers.at, c->numbers.n);
	} else if (c->starts.n) {
		bytes_u8(&p->page, (uint8_t)width);
		parquet_pack_bits(&p->page, c->numbers.at, c->numbers.n, width);
	}
}

/* The column's pages of this group. The dictionary comes before the data, as readers want it. All
 * rows of a group are in one data page, whose size GROUP_ROWS and GROUP_TEXTS bound. */
static struct column_chunk write_chunk(struct parquet *p, size_t column)
{
	const struct filled_column *c = &p->columns[column];
	struct column_chunk chunk = { .begin = p->written };

	if (c->starts.n)
		write_page(p, &chunk, PAGE_DICTIONARY, c->starts.n, ENCODING_PLAIN, &c->texts);
	chunk.data = p->written;
	p->page.n = 0;
	if (p->about[column].optional)
		put_levels(&p->page, c);
	put_values(p, column);
	write_page(p, &chunk, PAGE_DATA, p->group_rows, encoding_of(p, column), &p->page);
	return chunk;
}

/* --- the footer --------------------------------------------------------------------------- */

/* The smallest and the largest number, by which a reader leaves groups out. Fields of Statistics: 3
 * null_count, 5 max_value, 6 min_value, as PLAIN has a number. Texts have none here: their numbers
 * are places in a dictionary. */
static void tell_statistics(struct parquet *p, const struct filled_column *c, bool texts)
{
	struct thrift *t = &p->footer;
	int64_t least = INT64_MAX, most = INT64_MIN;

	for (size_t i = 0; i < c->numbers.n; i++) {
		least = c->numbers.at[i] < least ? c->numbers.at[i] : least;
		most = c->numbers.at[i] > most ? c->numbers.at[i] : most;
	}
	thrift_struct(t, 12);
	thrift_i64(t, 3, p->group_rows - c->numbers.n);
	if (!texts && c->numbers.n) {
		thrift_binary(t, 5, &most, sizeof(most));
		thrift_binary(t, 6, &least, sizeof(least));
	}
	thrift_end(t);
}

static void tell_encodings(struct thrift *t, int encoding)
{
	const int all[] = { ENCODING_PLAIN, ENCODING_RLE, encoding };

	thrift_list(t, 2, THRIFT_I32, 3);
	for (size_t i = 0; i < 3; i++)
		bytes_uleb(&t->bytes, bytes_zigzag(all[i]));
}

/* ColumnChunk: 2 file_offset, 3 ColumnMetaData, whose fields are 1 type, 2 encodings, 3 path, 4
 * codec, 5 values, 6 and 7 bytes before and after compression, 9 and 11 where the data and the
 * dictionary begin. Field 11 is left out where there is no dictionary. */
static void tell_chunk(struct parquet *p, size_t column, const struct column_chunk *chunk)
{
	const struct parquet_column *about = &p->about[column];
	struct thrift *t = &p->footer;

	thrift_begin(t);
	thrift_i64(t, 2, chunk->begin);
	thrift_struct(t, 3);
	thrift_i32(t, 1, about->kind == PARQUET_TEXT ? TYPE_BYTES : TYPE_INT64);
	tell_encodings(t, encoding_of(p, column));
	thrift_list(t, 3, THRIFT_BINARY, 1);
	thrift_element(t, about->name, strlen(about->name));
	thrift_i32(t, 4, CODEC_ZSTD);
	thrift_i64(t, 5, p->group_rows);
	thrift_i64(t, 6, chunk->raw);
	thrift_i64(t, 7, chunk->stored);
	thrift_i64(t, 9, chunk->data);
	if (chunk->data != chunk->begin)
		thrift_i64(t, 11, chunk->begin);
	tell_statistics(p, &p->columns[column], about->kind == PARQUET_TEXT);
	thrift_end(t);
	thrift_end(t);
}

/* Writes the group's columns, and empties them. RowGroup: 1 columns, 2 bytes before compression, 3
 * rows. Memory stays for the next group. */
static void end_group(struct parquet *p)
{
	uint64_t raw = 0;

	if (!p->group_rows)
		return;
	p->groups++;
	thrift_begin(&p->footer);
	thrift_list(&p->footer, 1, THRIFT_STRUCT, p->n);
	for (size_t i = 0; i < p->n; i++) {
		struct column_chunk chunk = write_chunk(p, i);
		struct filled_column *c = &p->columns[i];

		tell_chunk(p, i, &chunk);
		raw += chunk.raw;
		c->numbers.n = c->there.n = c->texts.n = c->starts.n = 0;
		memset(c->slots.at, 0, c->slots.n * sizeof(*c->slots.at));
	}
	thrift_i64(&p->footer, 2, raw);
	thrift_i64(&p->footer, 3, p->group_rows);
	thrift_end(&p->footer);
	p->group_rows = 0;
}

/* The type's meaning beyond bytes and numbers, in the older form and in the newer one. */
static void tell_logical(struct thrift *t, enum parquet_kind kind)
{
	if (kind == PARQUET_NUMBER)
		return;
	if (kind == PARQUET_TEXT)
		thrift_i32(t, 6, CONVERTED_UTF8);
	thrift_struct(t, 10);
	thrift_struct(t, kind == PARQUET_TEXT ? LOGICAL_TEXT : LOGICAL_TIME);
	if (kind == PARQUET_TIME) {
		thrift_field(t, 1, THRIFT_TRUE); /* its zero is UTC's */
		thrift_struct(t, 2);
		thrift_struct(t, UNIT_NS);
		thrift_end(t);
		thrift_end(t);
	}
	thrift_end(t);
	thrift_end(t);
}

/* A tree, depth first: the root has the number of its children, and no type. */
static void tell_schema(struct thrift *t, const struct parquet *p)
{
	thrift_list(t, 2, THRIFT_STRUCT, p->n + 1);
	thrift_begin(t);
	thrift_text(t, 4, "calls");
	thrift_i32(t, 5, (int32_t)p->n);
	thrift_end(t);
	for (size_t i = 0; i < p->n; i++) {
		const struct parquet_column *about = &p->about[i];

		thrift_begin(t);
		thrift_i32(t, 1, about->kind == PARQUET_TEXT ? TYPE_BYTES : TYPE_INT64);
		thrift_i32(t, 3, about->optional ? OPTIONAL : REQUIRED);
		thrift_text(t, 4, about->name);
		tell_logical(t, about->kind);
		thrift_end(t);
	}
}

/* Numbers are ordered as their type is: readers use the statistics only if this is said. */
static void tell_orders(struct thrift *t, size_t columns)
{
	thrift_list(t, 7, THRIFT_STRUCT, columns);
	for (size_t i = 0; i < columns; i++) {
		thrift_begin(t);
		thrift_struct(t, 1);
		thrift_end(t);
		thrift_end(t);
	}
}

/* FileMetaData: 1 version, 2 schema, 3 rows, 4 row groups, 6 created_by, 7 column orders; then its
 * length and the magic, by which a reader begins at the end. */
static void write_footer(struct parquet *p, const char *by)
{
	struct thrift t = { 0 };
	uint32_t n;

	thrift_i32(&t, 1, 2);
	tell_schema(&t, p);
	thrift_i64(&t, 3, p->rows);
	thrift_list(&t, 4, THRIFT_STRUCT, p->groups);
	bytes_put(&t.bytes, p->footer.bytes.at, p->footer.bytes.n);
	thrift_text(&t, 6, by);
	tell_orders(&t, p->n);
	thrift_finish(&t);
	n = (uint32_t)t.bytes.n;
	write_bytes(p, t.bytes.at, n);
	write_bytes(p, &n, sizeof(n));
	write_bytes(p, MAGIC, 4);
	vec_free(&t.bytes);
}

/* --- the file ----------------------------------------------------------------------------- */

struct parquet *parquet_begin(struct out *o, const struct parquet_column *columns, size_t n)
{
	struct parquet *p = mem_zalloc(sizeof(*p));

	*p = (struct parquet){ .out = o, .about = columns, .n = n, .zstd = ZSTD_createCCtx() };
	p->columns = mem_zalloc(n * sizeof(*p->columns));
	for (size_t i = 0; i < n; i++)
		grow_slots(&p->columns[i]);
	write_bytes(p, MAGIC, 4);
	return p;
}

/* Each column has had a value or a null. Groups bound the memory: a reader needs one group at a
 * time, and so does this writer. */
void parquet_row(struct parquet *p)
{
	size_t texts = 0;

	p->rows++;
	p->group_rows++;
	for (size_t i = 0; i < p->n; i++)
		texts += p->columns[i].texts.n;
	if (p->group_rows >= GROUP_ROWS || texts >= GROUP_TEXTS)
		end_group(p);
}

void parquet_end(struct parquet *p, const char *by)
{
	end_group(p);
	write_footer(p, by);
	for (size_t i = 0; i < p->n; i++) {
		vec_free(&p->columns[i].numbers);
		vec_free(&p->columns[i].there);
		vec_free(&p->columns[i].texts);
		vec_free(&p->columns[i].starts);
		vec_free(&p->columns[i].slots);
	}
	free(p->columns);
	vec_free(&p->page);
	vec_free(&p->packed);
	vec_free(&p->text);
	vec_free(&p->footer.bytes);
	ZSTD_freeCCtx(p->zstd);
	free(p);
}
