/* SPDX-License-Identifier: MIT */
/* Any bytes in the directory of plans, under the name of a program's plan: the program is planned
 * as if they were not there, or, if they are sealed, everything in them can be used. The first byte
 * says what the others are: a block, or changes of the true one, each a place (two bytes) and a
 * byte, cut or sealed. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "hook/cache_path.h"
#include "program.h"
#include "use_module.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { WHOLE = 1, CUT = 2, SEALED = 4 };

static char home[] = "/tmp/brace-fuzz-XXXXXX";
static struct cache_key key;
static struct hook_module *planned;
static uint8_t *true_block;
static size_t true_bytes;

/* The program's file is the same for all inputs: its key holds. */
static int program_fd(void)
{
	static int fd = -1;
	uint8_t *at, *bytes;
	size_t n;

	if (fd >= 0)
		return fd;
	bytes = program_make(PROGRAM_LINKED, 4, &at, &n);
	fd = memfd_create("program", MFD_CLOEXEC);
	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		abort();
	free(bytes);
	return fd;
}

static void clean_up(void)
{
	char *command = mem_printf("rm -rf %s", home);

	hook_module_free(planned);
	free(true_block);
	if (system(command))
		abort();
	free(command);
}

static struct hook_module *load(void)
{
	struct hook_module *m;
	struct err err;

	if (hook_module_load_fd(program_fd(), "/program", "", &m, &err) < 0)
		abort();
	return m;
}

static void begin(void)
{
	if (!mkdtemp(home) || setenv("XDG_CACHE_HOME", home, 1) || !cache_key_of(program_fd(), "/program", "", &key))
		abort();
	planned = load();
	true_block = cache_fetch(&key, &true_bytes);
	if (!true_block || planned->cached || planned->n < 2)
		abort();
	atexit(clean_up);
}

static uint8_t *changed(const uint8_t *data, size_t n, uint8_t how, size_t *out_n)
{
	size_t bytes = how & WHOLE ? n : true_bytes;
	uint8_t *out = malloc(bytes + 1);

	memcpy(out, how & WHOLE ? data : true_block, bytes);
	for (size_t i = 0; !(how & WHOLE) && i + 3 <= n; i += 3)
		out[(data[i] | (size_t)data[i + 1] << 8) % bytes] = data[i + 2];
	if (how & CUT && n)
		bytes = bytes * data[n - 1] / 256;
	if (how & SEALED)
		cache_file_seal(out, bytes, &key);
	*out_n = bytes;
	return out;
}

static void same_as_planned(const struct hook_module *m)
{
	if (m->n != planned->n || memcmp(m->functions, planned->functions, m->n * sizeof(*m->functions)) != 0 ||
	    memcmp(m->entries, planned->entries, m->n * sizeof(*m->entries)) != 0 ||
	    memcmp(m->bytes, planned->bytes, m->n * sizeof(*m->bytes)) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	uint8_t how = n ? data[0] : 0, *block;
	struct hook_module *m;
	size_t bytes;

	if (!planned)
		begin();
	block = changed(n ? data + 1 : data, n ? n - 1 : 0, how, &bytes);
	cache_store(&key, block, bytes);
	m = load();
	if (!m->cached)
		same_as_planned(m);
	use_module(m, m->n_needed ? m->needed[0] : "");
	hook_module_free(m);
	free(block);
	return 0;
}
