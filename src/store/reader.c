/* SPDX-License-Identifier: MIT */
/* Opens a trace file by its index or, if it was cut short and has none, by going from packet to
 * packet as far as they are whole. Commands call store_open from one thread; reader_packet runs in
 * any reading thread and uses pread, so that no file position is shared. Every offset and size is
 * checked against the file's size before it is used. A read error is told apart from damage
 * (loader.error): a file on a failing disk is not called damaged. */
#include "store/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/keyed_hash.h"
#include "shared/memory.h"
#include "store/crc.h"
#include "store/file_bytes.h"
#include "store/info.h"

/* Reads n bytes at offset. False if there are fewer; *error is set if the end of the file is not
 * the reason. pread() leaves the descriptor's position alone, which all reading threads share. */
static bool read_bytes(int fd, uint64_t offset, uint8_t *to, size_t n, int *error)
{
	while (n) {
		ssize_t r = pread(fd, to, n, (off_t)offset);

		if (r < 0 && errno != EINTR)
			*error = errno;
		if (r == 0 || *error)
			return false;
		if (r > 0) {
			to += r;
			offset += (uint64_t)r;
			n -= (size_t)r;
		}
	}
	return true;
}

/* Reads up to n bytes at offset into l->packet; fewer only at the end of the file. False: nothing
 * was read; l->error says why if it was an error. */
static bool read_at(const struct store_reader *r, uint64_t offset, size_t n, struct loader *l)
{
	struct bytes *b = &l->packet;

	if (offset > r->size)
		return false;
	if (n > r->size - offset)
		n = r->size - offset;
	/* One byte more, so that at is never NULL. */
	vec_reserve(b, n + 1);
	b->n = n;
	if (r->fd < 0) {
		if (n)
			memcpy(b->at, r->bytes + offset, n);
		return true;
	}
	if (!read_bytes(r->fd, offset, b->at, n, &l->error))
		b->n = 0;
	return b->n == n;
}

/* The disk's or the kernel's error, never said of a file that is merely damaged. */
static int err_unreadable(const struct store_reader *r, const struct loader *l, struct err *err)
{
	return err_set(err, l->error, "cannot read trace file %s: %s", r->name, strerror(l->error));
}

/* Reports why a packet could not be read: a read error, or damage. */
static int err_damaged(const struct store_reader *r, uint64_t offset, const struct loader *l,
		       struct err *err)
{
	if (l->error)
		return err_unreadable(r, l, err);
	return err_set(err, EBADMSG,
		       "trace file %s is damaged at byte %llu: a packet there does not "
		       "match its checksum",
		       r->name, (unsigned long long)offset);
}

/* An entry may be a damaged index's: the packet's own header has to agree with it. */
int reader_packet(struct store_reader *r, struct packet_entry *entry, struct loader *l,
		  struct err *err)
{
	struct packet_header head;

	/* One read for header and payload; the header may be shorter than PACKET_HEADER_MAX. */
	if (!read_at(r, entry->offset, PACKET_HEADER_MAX + (size_t)entry->head.payload, l) ||
	    !format_read_packet_header(l->packet.at, l->packet.n, &head) ||
	    head.type != entry->head.type || head.payload != entry->head.payload ||
	    head.payload > l->packet.n - head.size ||
	    crc32c(l->packet.at + head.size, head.payload) != head.crc)
		return err_damaged(r, entry->offset, l, err);
	l->packet.n = head.size + (size_t)head.payload;
	entry->head = head;
	return 0;
}

int reader_raw(struct store_reader *r, struct packet_entry *entry, struct loader *l,
	       struct err *err)
{
	const struct packet_header *h = &entry->head;
	int res = reader_packet(r, entry, l, err);
	size_t n;

	if (res)
		return res;
	vec_reserve(&l->raw, (size_t)h->raw + 1);
	l->raw.n = h->raw;
	n = ZSTD_decompress(l->raw.at, h->raw, l->packet.at + l->packet.n - h->payload, h->payload);
	/* A lack of memory says nothing about the file. */
	if (ZSTD_isError(n) && ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation)
		l->error = ENOMEM;
	if (n != h->raw)
		return err_damaged(r, entry->offset, l, err);
	return 0;
}

void reader_loader_free(struct loader *l)
{
	vec_free(&l->packet);
	vec_free(&l->raw);
	free(l->words);
	columns_decoder_free(l->decoder);
	*l = (struct loader){0};
}

/* Reads the header of the packet at offset. False unless its payload lies inside the file. */
static bool peek_packet(struct store_reader *r, uint64_t offset, struct loader *l,
			struct packet_entry *out)
{
	out->offset = offset;
	return read_at(r, offset, PACKET_HEADER_MAX, l) &&
	       format_read_packet_header(l->packet.at, l->packet.n, &out->head) &&
	       out->head.payload <= r->size - offset - out->head.size;
}

/* Offset of the packet behind it. */
static uint64_t end_of(const struct packet_entry *entry)
{
	return entry->offset + entry->head.size + entry->head.payload;
}

/* Whether the index lists packets in order, without overlap, before the index itself. Readers rely
 * on offsets from it. The differences are taken only where they cannot wrap: offsets are below
 * `end` by then. */
static bool index_ascends(const struct packet_index *entries, uint64_t end)
{
	uint64_t least = FILE_HEADER_SIZE;

	for (size_t i = 0; i < entries->n; i++) {
		const struct packet_entry *p = &entries->at[i];

		if (p->offset < least || p->offset >= end ||
		    p->head.payload > PACKET_PAYLOAD_MAX || p->head.payload > end - p->offset)
			return false;
		least = p->offset + PACKET_HEADER_MIN + p->head.payload;
	}
	return true;
}

/* Fills r->entries from the index. False if there is none that can be believed; scan_file() then
 * finds the packets. */
static bool read_index(struct store_reader *r, struct loader *l)
{
	uint64_t first, at, end = r->size - TRAILER_SIZE;
	struct packet_entry entry;

	if (r->size < FILE_HEADER_SIZE + TRAILER_SIZE || !read_at(r, end, TRAILER_SIZE, l) ||
	    !format_read_trailer(l->packet.at, l->packet.n, &first) || first >= end)
		return false;
	/* A long index takes several packets. */
	for (at = first; at < end; at = end_of(&entry))
		if (!peek_packet(r, at, l, &entry) || entry.head.type != PACKET_INDEX ||
		    reader_raw(r, &entry, l, NULL) ||
		    !index_decode(l->raw.at, l->raw.n, &r->entries))
			return false;
	return at == end && index_ascends(&r->entries, first);
}

/* Fills r->entries with the whole packets, from the file's beginning. Stops at the first damaged
 * one: what follows could not be trusted to be this thread's next. */
static void scan_file(struct store_reader *r, struct loader *l)
{
	uint64_t at = FILE_HEADER_SIZE;
	struct packet_entry entry;

	r->entries.n = 0;
	for (; peek_packet(r, at, l, &entry) && entry.head.type != PACKET_INDEX;
	     at = end_of(&entry)) {
		if (reader_packet(r, &entry, l, NULL))
			break;
		*vec_add(&r->entries) = entry;
	}
	r->cut = true;
	r->cut_bytes = r->size - at;
}

/* For a packet whose checksum is right and whose content cannot be. */
static int err_malformed(const struct store_reader *r, uint64_t offset, struct err *err)
{
	return err_set(err, EBADMSG, "trace file %s is malformed: the packet at byte %llu says what "
		       "cannot be", r->name, (unsigned long long)offset);
}

/* Information that was written is some ten times as large as in the file. Where it is far larger,
 * it was made to fill the reader's memory; a small file may say this much in any case. */
#define INFO_TIMES_MAX 128
#define INFO_LEAST (64u << 20)

static int err_bomb(const struct store_reader *r, struct err *err)
{
	return err_set(err, EFBIG,
		       "trace file %s is malformed: its information is more than %d times as large "
		       "as the file", r->name, INFO_TIMES_MAX);
}

/* Reads all trace information, in the order of the file. -ENODATA if the file was cut before it. */
static int read_info(struct store_reader *r, struct loader *l, struct err *err)
{
	uint64_t most = r->size > INFO_LEAST / INFO_TIMES_MAX ? r->size * INFO_TIMES_MAX
							       : INFO_LEAST;
	uint64_t bytes = 0;

	/* Also after a failed attempt by the index. */
	trace_info_free(r->info);
	r->info = trace_info_new();
	r->info->values = r->version > FORMAT_VERSION_PLAIN;
	for (size_t i = 0; i < r->entries.n; i++) {
		struct packet_entry *entry = &r->entries.at[i];
		int res;

		if (entry->head.type != PACKET_INFO)
			continue;
		bytes += entry->head.raw;
		if (bytes > most)
			return err_bomb(r, err);
		res = reader_raw(r, entry, l, err);
		if (res)
			return res;
		if (!info_read(r->info, l->raw.at, l->raw.n))
			return err_malformed(r, entry->offset, err);
	}
	if (!info_read_end(r->info))
		return err_set(err, ENODATA, "trace file %s was cut before anything was recorded",
			       r->name);
	return 0;
}

/* Sorts record packets by thread, in three passes: count each thread's, sum up where each thread's
 * begin, put each packet in its place. The counts stand two places ahead, so that `first` ends up
 * as the table of beginnings. Counting sort keeps the order of the file within a thread, which is
 * that of time. The numbers are 32 bits: a packet has 24 bytes at least, and more of them would be
 * a file of 100 GB. */
static int group_packets(struct store_reader *r, struct err *err)
{
	size_t threads = r->info->threads.n, n = 0;
	uint32_t *first = mem_realloc(NULL, threads + 2, sizeof(*first));

	r->first.at = first;
	r->first.n = r->first.cap = threads + 2;
	memset(first, 0, (threads + 2) * sizeof(*first));
	for (size_t i = 0; i < r->entries.n; i++) {
		const struct packet_entry *p = &r->entries.at[i];

		if (p->head.type != PACKET_RECORDS)
			continue;
		if (p->head.records.thread >= threads)
			return err_malformed(r, p->offset, err);
		first[p->head.records.thread + 2]++;
		n++;
	}
	for (size_t t = 2; t < threads + 2; t++)
		first[t] += first[t - 1];
	vec_reserve(&r->packets, n);
	r->packets.n = n;
	for (size_t i = 0; i < r->entries.n; i++)
		if (r->entries.at[i].head.type == PACKET_RECORDS)
			r->packets.at[first[r->entries.at[i].head.records.thread + 1]++] =
				(uint32_t)i;
	return 0;
}

/* Counts each thread's records from the packets. The writer puts these counts at the end, which a
 * cut file lacks. */
static void count_threads(struct store_reader *r)
{
	for (size_t t = 0; t < r->info->threads.n; t++) {
		struct trace_thread *thread = &r->info->threads.at[t];

		thread->records = thread->lost = 0;
		for (uint32_t c = r->first.at[t]; c < r->first.at[t + 1]; c++) {
			const struct packet_entry *p = &r->entries.at[r->packets.at[c]];

			thread->records += p->head.records.records;
			thread->lost += p->head.records.lost;
		}
	}
}

/* Whether the file begins as a session memory, which record --ring keeps in one. */
static bool is_memory(const struct loader *l)
{
	uint64_t magic = 0;

	if (l->packet.n >= sizeof(magic))
		memcpy(&magic, l->packet.at, sizeof(magic));
	return magic == MEMORY_MAGIC;
}

/* Checks the file's header. 0, or -errno and *err for each way in which it is not ours. */
static int check_file(struct store_reader *r, struct loader *l, struct err *err)
{
	enum file_verdict verdict = FILE_SHORT;

	if (!r->size)
		return err_set(err, ENODATA, "trace file %s is empty", r->name);
	/* An earlier packet of this loader is not there yet: l->packet holds a short file's bytes.
	 */
	if (!read_at(r, 0, FILE_HEADER_SIZE, l) && l->error)
		return err_unreadable(r, l, err);
	verdict = format_check_file(l->packet.at, l->packet.n, &r->version);
	switch (verdict) {
	case FILE_FOREIGN:
		if (is_memory(l))
			return err_set(err, EINVAL,
				       "%s is a ring, without the names of functions: `brace recover "
				       "--ring %s TRACE` makes a trace of it",
				       r->name, r->name);
		return err_set(err, EINVAL, "%s is not a brace trace file", r->name);
	case FILE_SHORT:
		return err_set(err, ENODATA, "trace file %s was cut before anything was recorded",
			       r->name);
	case FILE_NEWER:
		return err_set(err, EPROTONOSUPPORT,
			       "trace file %s has format version %u, and this "
			       "brace reads up to %u: use a newer brace",
			       r->name, r->version, FORMAT_VERSION);
	case FILE_DAMAGED:
		return err_set(err, EBADMSG,
			       "trace file %s is damaged: its header does not match its "
			       "checksum",
			       r->name);
	case FILE_OK:
		break;
	}
	/* The header's field created, after magic and version. */
	memcpy(&r->created_ns, l->packet.at + 12, sizeof(r->created_ns));
	return 0;
}

/* Reads where the packets are and the trace information: by the index, else by a scan of the
 * file. */
static int load_file(struct store_reader *r, struct err *err)
{
	struct loader l = {0};
	int res = check_file(r, &l, err);

	if (!res) {
		res = read_index(r, &l) ? read_info(r, &l, err) : -EBADMSG;
		/* The index may be damaged while the packets are whole. After a read error a scan
		 * would fail too. */
		if (res && !l.error) {
			scan_file(r, &l);
			res = read_info(r, &l, err);
		}
		if (l.error)
			res = err_unreadable(r, &l, err);
	}
	if (!res)
		res = group_packets(r, err);
	if (!res)
		r->pairs = clock_pairs_new(r->info);
	if (!res && r->cut)
		count_threads(r);
	else if (!res)
		/* The writer did not know the size when it wrote the totals. */
		r->info->total.bytes = r->size;
	reader_loader_free(&l);
	return res;
}

/* Loads, or closes the reader: *out is NULL then. */
static int open_reader(struct store_reader *r, struct store_reader **out, struct err *err)
{
	int res = load_file(r, err);

	if (res) {
		store_close(r);
		r = NULL;
	}
	*out = r;
	return res;
}

int store_open(const char *path, struct store_reader **out, struct err *err)
{
	struct store_reader *r;
	struct stat st;
	/* O_NONBLOCK: opening a FIFO must not hang; only regular files are read. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	*out = NULL;
	if (fd < 0)
		return err_set(err, errno, "cannot open trace file %s: %s", path, strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return err_set(err, EINVAL, "cannot read trace file %s: it is not a regular file",
			       path);
	}
	r = mem_zalloc(sizeof(*r));
	r->fd = fd;
	r->size = (uint64_t)st.st_size;
	r->name = mem_strdup(path);
	return open_reader(r, out, err);
}

int store_open_bytes(const char *name, const void *bytes, size_t n, struct store_reader **out,
		     struct err *err)
{
	struct store_reader *r = mem_zalloc(sizeof(*r));

	r->fd = -1;
	r->bytes = bytes;
	r->size = n;
	r->name = mem_strdup(name);
	return open_reader(r, out, err);
}

void store_close(struct store_reader *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	trace_info_free(r->info);
	clock_pairs_free(r->pairs);
	vec_free(&r->entries);
	vec_free(&r->packets);
	vec_free(&r->first);
	free(r->name);
	free(r);
}

struct trace_info *store_info(struct store_reader *r)
{
	return r->info;
}

bool store_was_cut(const struct store_reader *r, uint64_t *bytes_lost)
{
	if (bytes_lost)
		*bytes_lost = r->cut_bytes;
	return r->cut;
}

#define NUMBER_STEP (1u << 20) /* bytes of a file that are hashed, or given, at once */

int file_bytes(struct store_reader *r, int (*take)(void *arg, const char *bytes, size_t n),
	       void *arg, struct err *err)
{
	struct loader l = { 0 };
	int result = 0;

	for (uint64_t at = 0; !result && at < r->size; at += NUMBER_STEP) {
		if (read_at(r, at, NUMBER_STEP, &l))
			result = take(arg, (const char *)l.packet.at, l.packet.n);
		else if (l.error)
			result = err_unreadable(r, &l, err);
		else
			result = err_set(err, ESTALE, "trace file %s became shorter while it was read", r->name);
	}
	reader_loader_free(&l);
	return result;
}

static int hash_bytes(void *arg, const char *bytes, size_t n)
{
	static const struct hash_key public_key = { { 0, 0 } };
	uint64_t *h = arg;

	*h = keyed_hash_bytes(&public_key, *h, bytes, n);
	return 0;
}

int store_number(struct store_reader *r, uint64_t *number, struct err *err)
{
	*number = r->size;
	return file_bytes(r, hash_bytes, number, err);
}

void store_progress(const struct store_reader *r, uint64_t *read, uint64_t *all)
{
	struct store_description about;

	store_describe(r, &about);
	*read = atomic_load_explicit(&r->read, memory_order_relaxed);
	*all = about.record_bytes;
}

void store_describe(const struct store_reader *r, struct store_description *out)
{
	*out = (struct store_description){ .bytes = r->size, .created_ns = r->created_ns,
					   .cut = r->cut, .cut_bytes = r->cut_bytes };
	for (size_t i = 0; i < r->entries.n; i++) {
		const struct packet_header *h = &r->entries.at[i].head;

		if (h->type == PACKET_INFO) {
			out->info_packets++;
			out->info_bytes += h->payload;
		} else if (h->type == PACKET_RECORDS) {
			out->record_packets++;
			out->record_bytes += h->payload;
			out->words += h->records.words;
			out->records += h->records.records;
			out->calls += h->records.calls;
			out->lost += h->records.lost;
		}
	}
}
