/* SPDX-License-Identifier: MIT */
/* The label of a ring (record --ring), and the setting of a trace that names one. The first byte
 * tells how the file's size differs from whole pages, the second how much of the input is the
 * label; the rest is the setting's text, which is read as numbers of records, too. What is read
 * must lie in the file, and in the text. */
/* links: image, collect */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/page.h"
#include "base/cursor.h"
#include "base/mem.h"
#include "collect/ring_file.h"
#include "image/describe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void read_label(const uint8_t *bytes, size_t n, uint8_t odd)
{
	uint64_t size = (odd & 3) * ARCH_PAGE + (odd >> 2) * (odd & 4 ? 1u : 0u);
	struct ring_file ring;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	require(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
	if (size >= ARCH_PAGE)
		require(pwrite(fd, bytes, n, (off_t)(size - ARCH_PAGE)) == (ssize_t)n);
	if (ring_file_read(fd, &ring))
		require(ring.size + ARCH_PAGE == size && strlen(ring.id) < RING_ID &&
			ring.fd == fd);
	close(fd);
}

struct before { size_t threads; };

static void count_thread(void *context, size_t thread, uint64_t records)
{
	struct before *b = context;

	(void)records;
	require(thread == b->threads++);
}

/* Each number takes a byte of the text at least. */
static void read_before(struct trace_info *info, size_t n)
{
	struct before b = { 0 };

	free(info->settings.at[0].file);
	info->settings.at[0].file = mem_strdup(DESCRIBE_RING_BEFORE);
	describe_ring_before(info, count_thread, &b);
	require(b.threads <= n);
	describe_ring_forget(info);
	require(info->settings.n == 0);
}

static void read_setting(const uint8_t *bytes, size_t n)
{
	struct trace_info *info = trace_info_new();
	const char *id = NULL, *text;
	char *copy = mem_zalloc(n + 1);

	memcpy(copy, bytes, n);
	*vec_add(&info->settings) =
		(struct trace_setting){ .file = mem_strdup(DESCRIBE_RING), .text = copy };
	text = describe_ring_of(info, &id);
	if (text)
		require(id >= text + strlen(DESCRIBE_RING_ID) && id <= text + strlen(text) &&
			!strstr(id, DESCRIBE_RING_ID));
	read_before(info, n);
	trace_info_free(info);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor c = cursor_of(data, size);
	uint8_t odd = cursor_u8(&c);
	size_t label = cursor_u8(&c), left;

	if (c.bad)
		return 0;
	left = cursor_left(&c);
	if (label > left)
		label = left;
	read_label(cursor_bytes(&c, label), label, odd);
	read_setting(data + 2 + label, left - label);
	return 0;
}
