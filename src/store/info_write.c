/* SPDX-License-Identifier: MIT */
/* Finds out which parts of a trace_info the file does not have yet, and writes their items. The
 * store_writer calls it before each packet of records, so that it has to be cheap when nothing is
 * new, however many programs a session has executed: counters say how far each list was written,
 * and of the images only those are looked at that may get sites. What changes afterwards (threads'
 * totals, hooks, messages) is compared by checksum, and only at the end. It writes to memory alone,
 * on the writer's thread, and cannot fail. */
#include "store/crc.h"
#include "store/info.h"

#define ENOUGH (1u << 20) /* bytes of one call; the rest goes into the next packet */
/* A module of any size comes in pieces, so that a call can stop at ENOUGH. */
#define PIECE 16384u      /* functions or sites of one item */

struct written_image {
	uint32_t crc;
	size_t sites;
	VEC(uint32_t) holes; /* sites that were written as 0: no address yet */
};

struct written_module {
	uint32_t crc, functions_crc;
	size_t functions, strings, globals;
	bool checked;        /* functions were compared, at the end */
};

struct info_writer {
	uint32_t host_crc, clock_crc, run_crc, settings_crc, cost_crc;
	bool total_done, notes_done;
	VEC(struct written_image) images;
	VEC(uint32_t) open;    /* images that may get sites */
	VEC(struct written_module) modules;
	size_t modules_whole;  /* those below were written with all that they had */
	VEC(uint32_t) threads; /* checksum of each one's item */
	size_t images_checked, modules_checked, threads_checked, events, renames, clock_pairs;
	struct bytes item, piece;
};

struct info_writer *info_writer_new(void)
{
	return mem_zalloc(sizeof(struct info_writer));
}

/* NULL is allowed. */
void info_writer_free(struct info_writer *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->images.n; i++)
		vec_free(&w->images.at[i].holes);
	vec_free(&w->images);
	vec_free(&w->open);
	vec_free(&w->modules);
	vec_free(&w->threads);
	vec_free(&w->item);
	vec_free(&w->piece);
	free(w);
}

/* With its NUL. NULL becomes "". */
static void put_str(struct bytes *b, const char *s)
{
	bytes_put(b, s ? s : "", s ? strlen(s) + 1 : 1);
}

/* TYPE LENGTH CONTENT. The length lets readers skip types that they do not know. */
static void put_item(struct bytes *out, enum info_item type, const struct bytes *content)
{
	bytes_uleb(out, type);
	bytes_uleb(out, content->n);
	bytes_put(out, content->at, content->n);
}

/* Writes w->item unless it equals the one written last. The sum's lowest bit is given up for "never
 * written". Two items of one sum, one in 2^31, would leave the old one in the file. */
static void put_changed(struct info_writer *w, enum info_item type, uint32_t *crc,
			struct bytes *out)
{
	uint32_t now = crc32c(w->item.at, w->item.n) | 1; /* 0: never written */

	if (*crc != now)
		put_item(out, type, &w->item);
	*crc = now;
}

/* Each of these writes one kind of item, unless the file has it already in this form
 * (put_changed). */
static void write_host(struct info_writer *w, const struct trace_info *info, struct bytes *out)
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
	bytes_uleb(b, info->exclude_sleep);
	put_changed(w, INFO_HOST, &w->host_crc, out);
}

static void write_run(struct info_writer *w, const struct trace_run *r, struct bytes *out)
{
	struct bytes *b = &w->item;

	/* Nothing is known: the item would say less than none. */
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

/* Without settings there is no item: an empty one would say that none was chosen. */
static void write_settings(struct info_writer *w, const struct trace_info *info, struct bytes *out)
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

/* A cost that is not known has no item. */
static void write_cost(struct info_writer *w, const struct trace_cost *c, struct bytes *out)
{
	if (!c->total)
		return;
	w->item.n = 0;
	bytes_uleb(&w->item, c->inside);
	bytes_uleb(&w->item, c->total);
	put_changed(w, INFO_COST, &w->cost_crc, out);
}

/* Written again at the end if it has changed: hz may not be known at the beginning. */
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

/* Item INFO_IMAGE; its sites are items of their own. */
static void write_image(struct info_writer *w, const struct trace_info *info, size_t i,
			struct bytes *out)
{
	const struct trace_image *image = &info->images.at[i];
	struct bytes *b = &w->item;

	b->n = 0;
	bytes_uleb(b, i);
	bytes_uleb(b, image->pid);
	bytes_uleb(b, image->tsc);
	put_str(b, image->exe);
	put_str(b, image->cmdline);
	put_str(b, image->files ? image->files : "");
	put_changed(w, INFO_IMAGE, &w->images.at[i].crc, out);
}

static void write_module(struct info_writer *w, const struct trace_info *info, size_t i,
			 struct bytes *out)
{
	const struct trace_module *m = &info->modules.at[i];
	struct bytes *b = &w->item;

	b->n = 0;
	bytes_uleb(b, i);
	bytes_uleb(b, m->image);
	put_str(b, m->path);
	put_str(b, m->name);
	bytes_u8(b, m->build_id_len <= sizeof(m->build_id) ? m->build_id_len : 0);
	/* The id's full room, whatever its length. */
	bytes_put(b, m->build_id, sizeof(m->build_id));
	bytes_uleb(b, m->base);
	bytes_uleb(b, m->start);
	bytes_uleb(b, m->end);
	bytes_uleb(b, m->from_tsc);
	bytes_uleb(b, m->to_tsc);
	bytes_uleb(b, m->first_id);
	put_changed(w, INFO_MODULE, &w->modules.at[i].crc, out);
}

/* A thread whose names are not kept gets the newest one as its only one. */
static void write_thread(struct info_writer *w, const struct trace_info *info, size_t i,
			 struct bytes *out)
{
	const struct trace_thread *t = &info->threads.at[i];
	struct bytes *b = &w->item;
	const char *first = t->unnamed ? trace_thread_name(t) : t->comm;
	char name[sizeof(t->comm)] = "";

	memcpy(name, first, strnlen(first, sizeof(name)));
	b->n = 0;
	bytes_uleb(b, i);
	bytes_uleb(b, t->pid);
	bytes_uleb(b, t->tid);
	bytes_uleb(b, t->image);
	bytes_uleb(b, t->tsc);
	/* A fixed size, like the kernel's comm. */
	bytes_put(b, name, sizeof(name));
	bytes_uleb(b, t->records);
	bytes_uleb(b, t->lost);
	put_changed(w, INFO_THREAD, &w->threads.at[i], out);
}

/* Item INFO_TOTAL, once. */
static void write_total(struct info_writer *w, const struct trace_total *t, struct bytes *out)
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

/* Messages change as the program runs, so that they are written once, at the end. */
static void write_messages(struct info_writer *w, const struct trace_info *info, struct bytes *out)
{
	struct bytes *b = &w->item;

	for (size_t i = 0; i < info->messages.n && !w->notes_done; i++) {
		const struct trace_message *n = &info->messages.at[i];

		b->n = 0;
		bytes_uleb(b, i);
		bytes_uleb(b, n->kind);
		bytes_uleb(b, n->pid);
		bytes_uleb(b, n->number);
		bytes_uleb(b, n->count);
		put_str(b, n->name);
		put_item(out, INFO_MESSAGE, b);
	}
	w->notes_done = true;
}

/* Encodes functions [first, first + n) of module i, n at most PIECE, into w->item. Each item begins
 * again from 0: a reader can take one without those before it. */
static void encode_functions(struct info_writer *w, const struct trace_module *m, size_t i,
			     size_t first, size_t n)
{
	struct bytes *b = &w->item;
	struct trace_function last = {0};

	b->n = 0;
	bytes_uleb(b, i);
	bytes_uleb(b, first);
	bytes_uleb(b, n);
	/* Differences: addresses ascend mostly, and names follow each other in the string table. */
	for (const struct trace_function *f = m->functions.at + first; n--; last = *f++) {
		bytes_uleb(b, bytes_zigzag((int64_t)(f->vaddr - last.vaddr)));
		bytes_uleb(b, f->size);
		bytes_uleb(b, bytes_zigzag((int64_t)f->name - (int64_t)last.name));
		bytes_u8(b, f->hook);
		bytes_u8(b, f->reason);
		bytes_u8(b, f->flags);
	}
}

/* The number of elements, of n, that the next item takes, behind `done` ones. */
static size_t piece_of(size_t done, size_t n)
{
	return n - done < PIECE ? n - done : PIECE;
}

/* A sum that depends on the order of the pieces. An XOR alone would not see two pieces that were
 * swapped. */
static uint32_t crc_add(uint32_t sum, const struct bytes *b)
{
	return (sum << 1 | sum >> 31) ^ crc32c(b->at, b->n);
}

static uint32_t library_of(const struct trace_function *f)
{
	return f->library;
}

static uint32_t prototype_of(const struct trace_function *f)
{
	return f->prototype;
}

/* Writes an item of those among functions [first, first + n) of module i that have a number, which
 * is not 0. The positions are differences, from 0 in each item. */
static void put_places(struct info_writer *w, const struct trace_module *m, size_t i, size_t first,
			size_t n, enum info_item item,
			uint32_t number_of(const struct trace_function *f), struct bytes *out)
{
	struct bytes *b = &w->item;
	size_t count = 0, last = 0;

	for (size_t k = first; k < first + n; k++)
		count += number_of(&m->functions.at[k]) != 0;
	if (!count)
		return;
	b->n = 0;
	bytes_uleb(b, i);
	bytes_uleb(b, count);
	for (size_t k = first; k < first + n; k++) {
		uint32_t number = number_of(&m->functions.at[k]);

		if (!number)
			continue;
		bytes_uleb(b, k - last);
		bytes_uleb(b, number);
		last = k;
	}
	put_item(out, item, b);
}

/* Stops at ENOUGH; the next call goes on at s->functions. Functions are written in order, so that a
 * count tells how far. */
static void new_functions(struct info_writer *w, const struct trace_info *info, size_t i,
			  struct bytes *out)
{
	const struct trace_module *m = &info->modules.at[i];
	struct written_module *s = &w->modules.at[i];

	while (s->functions < m->functions.n && out->n < ENOUGH) {
		size_t n = piece_of(s->functions, m->functions.n);

		encode_functions(w, m, i, s->functions, n);
		put_item(out, INFO_FUNCTIONS, &w->item);
		s->functions_crc = crc_add(s->functions_crc, &w->item);
		put_places(w, m, i, s->functions, n, INFO_LIBRARIES, library_of, out);
		put_places(w, m, i, s->functions, n, INFO_PROTOTYPES, prototype_of, out);
		s->functions += n;
	}
}

/* Bytes of the string table from s->strings on: names of functions are offsets into it. */
static void new_strings(struct info_writer *w, const struct trace_info *info, size_t i,
			struct bytes *out)
{
	const struct trace_module *m = &info->modules.at[i];
	struct written_module *s = &w->modules.at[i];

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

/* Variables never change. Addresses ascend, and names follow each other. */
static void new_globals(struct info_writer *w, const struct trace_info *info, size_t i,
			struct bytes *out)
{
	const struct trace_module *m = &info->modules.at[i];
	struct written_module *s = &w->modules.at[i];
	struct bytes *b = &w->item;

	while (s->globals < m->globals.n && out->n < ENOUGH) {
		size_t n = piece_of(s->globals, m->globals.n);
		struct trace_global last = { 0 };

		b->n = 0;
		bytes_uleb(b, i);
		bytes_uleb(b, s->globals);
		bytes_uleb(b, n);
		for (size_t k = s->globals; k < s->globals + n; k++) {
			const struct trace_global *g = &m->globals.at[k];

			bytes_uleb(b, g->vaddr - last.vaddr);
			bytes_uleb(b, g->size);
			bytes_uleb(b, bytes_zigzag((int64_t)g->name - (int64_t)last.name));
			last = *g;
		}
		put_item(out, INFO_GLOBALS, b);
		s->globals += n;
	}
}

/* Functions and strings are written in pieces, which may take several calls. */
static bool module_is_whole(const struct info_writer *w, const struct trace_info *info, size_t i)
{
	return w->modules.at[i].functions >= info->modules.at[i].functions.n &&
	       w->modules.at[i].globals >= info->modules.at[i].globals.n &&
	       w->modules.at[i].strings >= info->modules.at[i].strings.n;
}

/* A module that was written is not looked at again before the end. One at a time: a call that stops
 * at ENOUGH goes on in the same module, whose item it has written. */
static void new_modules(struct info_writer *w, const struct trace_info *info, struct bytes *out)
{
	size_t i;

	while (w->modules_whole < info->modules.n && out->n < ENOUGH) {
		i = w->modules_whole;
		if (i == w->modules.n) {
			*vec_add(&w->modules) = (struct written_module){0};
			write_module(w, info, i, out);
		}
		new_functions(w, info, i, out);
		new_strings(w, info, i, out);
		new_globals(w, info, i, out);
		w->modules_whole += module_is_whole(w, info, i);
	}
}

/* An event never changes: it is written once. */
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
		if (e->made_of)
			put_str(b, e->made_of);
		put_item(out, INFO_EVENT, b);
	}
}

/* Images never go, so that their number is all that has to be remembered. */
static void new_images(struct info_writer *w, const struct trace_info *info, struct bytes *out)
{
	for (size_t i = w->images.n; i < info->images.n && out->n < ENOUGH; i++) {
		*vec_add(&w->images) = (struct written_image){0};
		*vec_add(&w->open) = (uint32_t)i;
		write_image(w, info, i, out);
	}
}

/* A thread is written when it comes, and once more at the end, with its counts. */
static void new_threads(struct info_writer *w, const struct trace_info *info, struct bytes *out)
{
	for (size_t i = w->threads.n; i < info->threads.n && out->n < ENOUGH; i++) {
		*vec_add(&w->threads) = 0;
		write_thread(w, info, i, out);
	}
}

/* Behind the threads that they are of. A thread whose name is not to be told has no others. The
 * loop stops at one whose thread has to wait for the next call, and comes back to it. */
static void new_renames(struct info_writer *w, const struct trace_info *info, struct bytes *out)
{
	for (; w->renames < info->renames.n && out->n < ENOUGH; w->renames++) {
		const struct trace_rename *r = &info->renames.at[w->renames];
		struct bytes *b = &w->item;

		if (r->thread >= w->threads.n)
			break;
		if (info->threads.at[r->thread].unnamed)
			continue;
		b->n = 0;
		bytes_uleb(b, r->thread);
		bytes_uleb(b, r->name.tsc);
		bytes_put(b, r->name.comm, sizeof(r->name.comm));
		put_item(out, INFO_RENAME, b);
	}
}

/* Item INFO_CLOCK_PAIRS: those that are new. */
static void new_clock_pairs(struct info_writer *w, const struct trace_info *info,
			    struct bytes *out)
{
	struct bytes *b = &w->item;

	if (w->clock_pairs >= info->clock_pairs.n)
		return;
	b->n = 0;
	bytes_uleb(b, info->clock_pairs.n - w->clock_pairs);
	for (; w->clock_pairs < info->clock_pairs.n; w->clock_pairs++) {
		const struct trace_clock_pair *p = &info->clock_pairs.at[w->clock_pairs];

		bytes_uleb(b, p->cpu);
		bytes_uleb(b, p->tsc);
		bytes_uleb(b, p->ns);
		bytes_uleb(b, p->window);
	}
	put_item(out, INFO_CLOCK_PAIRS, b);
}

/* Addresses as differences, from 0 in each item: call sites of one module lie near each other. */
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
		bytes_uleb(b, bytes_zigzag((int64_t)(at[k] - last)));
	put_item(out, INFO_SITES, b);
}

/* Writes the sites that had no address when they were written and have one now. A program reserves
 * a site's number before it writes the address (agent/site.c): who reads between the two sees 0. */
static void fill_holes(struct info_writer *w, const struct trace_info *info, size_t i,
		       struct bytes *out)
{
	struct written_image *s = &w->images.at[i];
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

/* A site whose address is not known yet is written as 0 and noted as a hole. */
static void new_sites(struct info_writer *w, const struct trace_info *info, size_t i,
		      struct bytes *out)
{
	const struct trace_image *image_now = &info->images.at[i];
	struct written_image *s = &w->images.at[i];

	fill_holes(w, info, i, out);
	while (s->sites < image_now->sites.n && out->n < ENOUGH) {
		size_t n = piece_of(s->sites, image_now->sites.n);

		put_sites(w, info, i, s->sites, n, out);
		for (; n--; s->sites++)
			/* Site 0 is never used. */
			if (s->sites && !image_now->sites.at[s->sites])
				*vec_add(&s->holes) = (uint32_t)s->sites;
	}
}

/* An image that gets no more sites is left alone once it has been written. */
static void sites_of_open_images(struct info_writer *w, const struct trace_info *info,
				 struct bytes *out)
{
	size_t kept = 0;

	for (size_t k = 0; k < w->open.n; k++) {
		uint32_t i = w->open.at[k];

		new_sites(w, info, i, out);
		if (!info->images.at[i].complete ||
		    w->images.at[i].sites < info->images.at[i].sites.n)
			w->open.at[kept++] = i;
		else
			vec_free(&w->images.at[i].holes);
	}
	w->open.n = kept;
}

/* The sum that new_functions made, of the functions as they are now. */
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

static void changed_images(struct info_writer *w, const struct trace_info *info, struct bytes *out)
{
	for (; w->images_checked < w->images.n && out->n < ENOUGH; w->images_checked++)
		write_image(w, info, w->images_checked, out);
}

/* Writes a module again if it changed after it was written, and its functions if a hook did.
 * `checked` keeps the comparison from being repeated when the items take several calls. */
static void changed_modules(struct info_writer *w, const struct trace_info *info, struct bytes *out)
{
	while (w->modules_checked < w->modules_whole && out->n < ENOUGH) {
		size_t i = w->modules_checked;
		struct written_module *s = &w->modules.at[i];

		if (!s->checked) {
			write_module(w, info, i, out);
			if (functions_crc(w, &info->modules.at[i], i) != s->functions_crc)
				s->functions = 0;
			s->checked = true;
		}
		new_functions(w, info, i, out);
		new_strings(w, info, i, out);
		new_globals(w, info, i, out);
		w->modules_checked += module_is_whole(w, info, i);
	}
}

/* Counts of records are known only at the end. */
static void changed_threads(struct info_writer *w, const struct trace_info *info, struct bytes *out)
{
	for (; w->threads_checked < w->threads.n && out->n < ENOUGH; w->threads_checked++)
		write_thread(w, info, w->threads_checked, out);
}

void info_write(struct info_writer *w, const struct trace_info *info, bool last, struct bytes *out)
{
	size_t from = out->n;

	/* The host's item comes with the first packet: readers take a file without it for empty. */
	if (!w->host_crc || last) {
		write_host(w, info, out);
		write_run(w, &info->run, out);
		write_settings(w, info, out);
		write_cost(w, &info->cost, out);
	}
	/* Its rate may be known only after the first packet: readers of a file that is being
	 * recorded, and of one without an end, need it. */
	clock_item(w, &info->clock, out);
	/* An item comes after those that it refers to: readers refuse an index of something
	 * unknown. */
	new_images(w, info, out);
	new_events(w, info, out);
	new_modules(w, info, out);
	new_threads(w, info, out);
	new_renames(w, info, out);
	new_clock_pairs(w, info, out);
	sites_of_open_images(w, info, out);
	if (!last)
		return;
	changed_images(w, info, out);
	changed_modules(w, info, out);
	changed_threads(w, info, out);
	write_messages(w, info, out);
	/* The totals come last, when a call had nothing else to say. */
	if (out->n == from && !w->total_done)
		write_total(w, &info->total, out);
}
