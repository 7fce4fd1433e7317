/* SPDX-License-Identifier: MIT */
/* Which parts of a trace_info the file does not have yet, and their items. */
#include "store/crc.h"
#include "store/info.h"

#define ENOUGH (1u << 20) /* bytes; the rest goes into the next chunk */
#define PIECE 16384u      /* functions or sites an item */

struct image_state {
	uint32_t crc;
	size_t sites;
	VEC(uint32_t) holes; /* written as 0: no address yet */
};

struct module_state {
	uint32_t crc, functions_crc;
	uint64_t to_tsc;
	size_t functions, strings;
	bool checked;        /* functions compared, at the last time */
};

struct info_writer {
	uint32_t host_crc, clock_crc, run_crc, settings_crc;
	bool total_done, notes_done;
	VEC(struct image_state) images;
	VEC(struct module_state) modules;
	VEC(uint32_t) threads; /* checksum of each one's item */
	size_t threads_checked, events;
	struct bytes item, piece;
};

struct info_writer *info_writer_new(void)
{
	return mem_zalloc(sizeof(struct info_writer));
}

void info_writer_free(struct info_writer *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->images.n; i++)
		vec_free(&w->images.at[i].holes);
	vec_free(&w->images);
	vec_free(&w->modules);
	vec_free(&w->threads);
	vec_free(&w->item);
	vec_free(&w->piece);
	free(w);
}

static void put_str(struct bytes *b, const char *s)
{
	bytes_put(b, s ? s : "", s ? strlen(s) + 1 : 1);
}

static void put_item(struct bytes *out, enum info_item type, const struct bytes *content)
{
	bytes_uleb(out, type);
	bytes_uleb(out, content->n);
	bytes_put(out, content->at, content->n);
}

/* Writes w->item if it is not what was written before. */
static void put_changed(struct info_writer *w, enum info_item type, uint32_t *crc, struct bytes *out)
{
	uint32_t now = crc32c(w->item.at, w->item.n) | 1; /* 0 = never written */

	if (*crc != now)
		put_item(out, type, &w->item);
	*crc = now;
}

static void host(struct info_writer *w, const struct trace_info *info, struct bytes *out)
{
	struct bytes *b = &w->item;

	b->n = 0;
	put_str(b, info->host);
	put_str(b, info->kernel);
	put_str(b, info->cpu);
	put_str(b, info->cmdline);
	put_str(b, info->version);
	put_str(b, info->tracer);
	bytes_uleb(b, info->cpus);
	bytes_uleb(b, info->thresh_ns);
	bytes_uleb(b, info->sleepless);
	put_changed(w, INFO_HOST, &w->host_crc, out);
}

static void run(struct info_writer *w, const struct trace_run *r, struct bytes *out)
{
	struct bytes *b = &w->item;

	if (!r->invocation && !r->timed && !r->ended)
		return;
	b->n = 0;
	put_str(b, r->invocation);
	bytes_uleb(b, (r->timed ? RUN_TIMED : 0) | (r->ended ? RUN_ENDED : 0));
	bytes_uleb(b, r->status);
	bytes_uleb(b, r->elapsed_ns);
	bytes_uleb(b, r->user_ns);
	bytes_uleb(b, r->system_ns);
	put_changed(w, INFO_RUN, &w->run_crc, out);
}

static void settings(struct info_writer *w, const struct trace_info *info, struct bytes *out)
{
	struct bytes *b = &w->item;

	if (!info->settings.n)
		return;
	b->n = 0;
	bytes_uleb(b, info->settings.n);
	for (size_t i = 0; i < info->settings.n; i++) {
		bytes_u8(b, info->settings.at[i].chosen);
		put_str(b, info->settings.at[i].file);
		put_str(b, info->settings.at[i].text);
	}
	put_changed(w, INFO_SETTINGS, &w->settings_crc, out);
}

static void clock_item(struct info_writer *w, const struct trace_clock *c, struct bytes *out)
{
	struct bytes *b = &w->item;

	b->n = 0;
	bytes_uleb(b, c->hz);
	bytes_uleb(b, c->tsc);
	bytes_uleb(b, c->mono_ns);
	bytes_uleb(b, c->real_ns);
	bytes_put(b, c->from, strnlen(c->from, sizeof(c->from) - 1));
	bytes_u8(b, 0);
	put_changed(w, INFO_CLOCK, &w->clock_crc, out);
}

static void image(struct info_writer *w, const struct trace_info *info, size_t i, struct bytes *out)
{
	const struct trace_image *image = &info->images.at[i];
	struct bytes *b = &w->item;

	b->n = 0;
	bytes_uleb(b, i);
	bytes_uleb(b, image->pid);
	bytes_uleb(b, image->tsc);
	put_str(b, image->exe);
	put_str(b, image->cmdline);
	put_changed(w, INFO_IMAGE, &w->images.at[i].crc, out);
}

static void module(struct info_writer *w, const struct trace_info *info, size_t i, struct bytes *out)
{
	const struct trace_module *m = &info->modules.at[i];
	struct bytes *b = &w->item;

	b->n = 0;
	bytes_uleb(b, i);
	bytes_uleb(b, m->image);
	put_str(b, m->path);
	put_str(b, m->name);
	bytes_u8(b, m->build_id_len <= sizeof(m->build_id) ? m->build_id_len : 0);
	bytes_put(b, m->build_id, sizeof(m->build_id));
	bytes_uleb(b, m->base);
	bytes_uleb(b, m->start);
	bytes_uleb(b, m->end);
	bytes_uleb(b, m->from_tsc);
	bytes_uleb(b, m->to_tsc);
	bytes_uleb(b, m->first_id);
	put_changed(w, INFO_MODULE, &w->modules.at[i].crc, out);
	w->modules.at[i].to_tsc = m->to_tsc;
}

static void thread(struct info_writer *w, const struct trace_info *info, size_t i, struct bytes *out)
{
	const struct trace_thread *t = &info->threads.at[i];
	struct bytes *b = &w->item;
	char name[sizeof(t->comm)] = "";

	memcpy(name, trace_thread_name(t), strnlen(trace_thread_name(t), sizeof(name)));
	b->n = 0;
	bytes_uleb(b, i);
	bytes_uleb(b, t->pid);
	bytes_uleb(b, t->tid);
	bytes_uleb(b, t->image);
	bytes_uleb(b, t->tsc);
	bytes_put(b, name, sizeof(name));
	bytes_uleb(b, t->records);
	bytes_uleb(b, t->lost);
	put_changed(w, INFO_THREAD, &w->threads.at[i], out);
}

static void total(struct info_writer *w, const struct trace_total *t, struct bytes *out)
{
	struct bytes *b = &w->item;

	b->n = 0;
	bytes_uleb(b, t->calls);
	bytes_uleb(b, t->bytes);
	bytes_uleb(b, t->lost);
	bytes_uleb(b, t->records);
	put_item(out, INFO_TOTAL, b);
	w->total_done = true;
}

/* They change as the program runs: only the last ones are written. */
static void notes(struct info_writer *w, const struct trace_info *info, struct bytes *out)
{
	struct bytes *b = &w->item;

	for (size_t i = 0; i < info->notes.n && !w->notes_done; i++) {
		const struct trace_note *n = &info->notes.at[i];

		b->n = 0;
		bytes_uleb(b, i);
		bytes_uleb(b, n->kind);
		bytes_uleb(b, n->pid);
		bytes_uleb(b, n->number);
		bytes_uleb(b, n->count);
		put_str(b, n->name);
		put_item(out, INFO_NOTE, b);
	}
	w->notes_done = true;
}

/* Functions [first, first + n) of module i, n at most PIECE, into w->item. */
static void encode_functions(struct info_writer *w, const struct trace_module *m, size_t i,
			     size_t first, size_t n)
{
	struct bytes *b = &w->item;
	struct trace_function last = {0};

	b->n = 0;
	bytes_uleb(b, i);
	bytes_uleb(b, first);
	bytes_uleb(b, n);
	for (const struct trace_function *f = m->functions.at + first; n--; last = *f++) {
		bytes_uleb(b, zigzag((int64_t)(f->vaddr - last.vaddr)));
		bytes_uleb(b, f->size);
		bytes_uleb(b, zigzag((int64_t)f->name - (int64_t)last.name));
		bytes_u8(b, f->hook);
		bytes_u8(b, f->reason);
		bytes_u8(b, f->flags);
	}
}

static size_t piece_of(size_t done, size_t n)
{
	return n - done < PIECE ? n - done : PIECE;
}

static uint32_t crc_add(uint32_t sum, const struct bytes *b)
{
	return (sum << 1 | sum >> 31) ^ crc32c(b->at, b->n);
}

/* Where PLT entries among functions [first, first + n) of module i lead. */
static void put_libraries(struct info_writer *w, const struct trace_module *m, size_t i, size_t first, size_t n, struct bytes *out)
{
	struct bytes *b = &w->item;
	size_t count = 0, last = 0;

	for (size_t k = first; k < first + n; k++)
		count += m->functions.at[k].library != 0;
	if (!count)
		return;
	b->n = 0;
	bytes_uleb(b, i);
	bytes_uleb(b, count);
	for (size_t k = first; k < first + n; k++) {
		if (!m->functions.at[k].library)
			continue;
		bytes_uleb(b, k - last);
		bytes_uleb(b, m->functions.at[k].library);
		last = k;
	}
	put_item(out, INFO_LIBRARIES, b);
}

static void new_functions(struct info_writer *w, const struct trace_info *info, size_t i,
			  struct bytes *out)
{
	const struct trace_module *m = &info->modules.at[i];
	struct module_state *s = &w->modules.at[i];

	while (s->functions < m->functions.n && out->n < ENOUGH) {
		size_t n = piece_of(s->functions, m->functions.n);

		encode_functions(w, m, i, s->functions, n);
		put_item(out, INFO_FUNCTIONS, &w->item);
		s->functions_crc = crc_add(s->functions_crc, &w->item);
		put_libraries(w, m, i, s->functions, n, out);
		s->functions += n;
	}
}

static void new_strings(struct info_writer *w, const struct trace_info *info, size_t i,
			struct bytes *out)
{
	const struct trace_module *m = &info->modules.at[i];
	struct module_state *s = &w->modules.at[i];

	while (s->strings < m->strings.n && out->n < ENOUGH) {
		size_t n = m->strings.n - s->strings < ENOUGH ? m->strings.n - s->strings : ENOUGH;

		w->item.n = 0;
		bytes_uleb(&w->item, i);
		bytes_uleb(&w->item, s->strings);
		bytes_put(&w->item, m->strings.at + s->strings, n);
		put_item(out, INFO_STRINGS, &w->item);
		s->strings += n;
	}
}

static void new_modules(struct info_writer *w, const struct trace_info *info, struct bytes *out)
{
	for (size_t i = 0; i < info->modules.n && out->n < ENOUGH; i++) {
		if (i == w->modules.n)
			*vec_add(&w->modules) = (struct module_state){0};
		if (!w->modules.at[i].crc || w->modules.at[i].to_tsc != info->modules.at[i].to_tsc)
			module(w, info, i, out);
		new_functions(w, info, i, out);
		new_strings(w, info, i, out);
	}
}

static void new_events(struct info_writer *w, const struct trace_info *info, struct bytes *out)
{
	for (; w->events < info->events.n && out->n < ENOUGH; w->events++) {
		const struct trace_event *e = &info->events.at[w->events];
		struct bytes *b = &w->item;

		b->n = 0;
		bytes_uleb(b, w->events);
		bytes_uleb(b, e->index);
		put_str(b, e->system);
		put_str(b, e->name);
		put_str(b, e->format);
		put_item(out, INFO_EVENT, b);
	}
}

static void new_images(struct info_writer *w, const struct trace_info *info, struct bytes *out)
{
	for (size_t i = w->images.n; i < info->images.n && out->n < ENOUGH; i++) {
		*vec_add(&w->images) = (struct image_state){0};
		image(w, info, i, out);
	}
}

static void new_threads(struct info_writer *w, const struct trace_info *info, struct bytes *out)
{
	for (size_t i = w->threads.n; i < info->threads.n && out->n < ENOUGH; i++) {
		*vec_add(&w->threads) = 0;
		thread(w, info, i, out);
	}
}

static void put_sites(struct info_writer *w, const struct trace_info *info, size_t i, size_t first,
		      size_t n, struct bytes *out)
{
	const uint64_t *at = info->images.at[i].sites.at + first;
	struct bytes *b = &w->item;
	uint64_t last = 0;

	b->n = 0;
	bytes_uleb(b, i);
	bytes_uleb(b, first);
	bytes_uleb(b, n);
	for (size_t k = 0; k < n; last = at[k++])
		bytes_uleb(b, zigzag((int64_t)(at[k] - last)));
	put_item(out, INFO_SITES, b);
}

/* Sites that had no address when they were written and have one now. */
static void fill_holes(struct info_writer *w, const struct trace_info *info, size_t i,
		       struct bytes *out)
{
	struct image_state *s = &w->images.at[i];
	size_t kept = 0;

	for (size_t k = 0; k < s->holes.n; k++) {
		uint32_t site = s->holes.at[k];

		if (info->images.at[i].sites.at[site])
			put_sites(w, info, i, site, 1, out);
		else
			s->holes.at[kept++] = site;
	}
	s->holes.n = kept;
}

static void new_sites(struct info_writer *w, const struct trace_info *info, size_t i,
		      struct bytes *out)
{
	const struct trace_image *image_now = &info->images.at[i];
	struct image_state *s = &w->images.at[i];

	fill_holes(w, info, i, out);
	while (s->sites < image_now->sites.n && out->n < ENOUGH) {
		size_t n = piece_of(s->sites, image_now->sites.n);

		put_sites(w, info, i, s->sites, n, out);
		for (; n--; s->sites++)
			if (s->sites && !image_now->sites.at[s->sites])
				*vec_add(&s->holes) = (uint32_t)s->sites;
	}
}

static uint32_t functions_crc(struct info_writer *w, const struct trace_module *m, size_t i)
{
	uint32_t crc = 0;

	for (size_t done = 0, n; done < m->functions.n; done += n) {
		n = piece_of(done, m->functions.n);
		encode_functions(w, m, i, done, n);
		crc = crc_add(crc, &w->item);
	}
	return crc;
}

/* Functions whose hook changed after they were written: the module's are written again. */
static void changed_functions(struct info_writer *w, const struct trace_info *info, struct bytes *out)
{
	for (size_t i = 0; i < info->modules.n && out->n < ENOUGH; i++) {
		struct module_state *s = &w->modules.at[i];

		module(w, info, i, out);
		if (s->checked || s->functions < info->modules.at[i].functions.n)
			continue;
		s->checked = true;
		if (functions_crc(w, &info->modules.at[i], i) != s->functions_crc)
			s->functions = 0;
		new_functions(w, info, i, out);
	}
}

static void changed_threads(struct info_writer *w, const struct trace_info *info, struct bytes *out)
{
	for (; w->threads_checked < w->threads.n && out->n < ENOUGH; w->threads_checked++)
		thread(w, info, w->threads_checked, out);
}

void info_write(struct info_writer *w, const struct trace_info *info, bool last, struct bytes *out)
{
	size_t from = out->n;

	if (!w->host_crc || last) {
		host(w, info, out);
		clock_item(w, &info->clock, out);
		run(w, &info->run, out);
		settings(w, info, out);
	}
	new_images(w, info, out);
	new_events(w, info, out);
	new_modules(w, info, out);
	new_threads(w, info, out);
	for (size_t i = 0; i < w->images.n; i++)
		new_sites(w, info, i, out);
	if (!last)
		return;
	for (size_t i = 0; i < w->images.n; i++)
		image(w, info, i, out);
	changed_functions(w, info, out);
	changed_threads(w, info, out);
	notes(w, info, out);
	if (out->n == from && !w->total_done)
		total(w, &info->total, out);
}
