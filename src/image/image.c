/* SPDX-License-Identifier: MIT */
#include "image/image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/clock.h"
#include "image/bindings.h"
#include "image/describe.h"
#include "image/event_sites.h"
#include "image/handlers.h"
#include "image/maps.h"
#include "image/modules.h"
#include "collect/notes.h"
#include "image/patches.h"
#include "collect/shared_memory.h"

#define PAGE UINT64_C(4096)

static int make_image_memory(struct image *im, struct err *err)
{
	void *at;

	im->image_fd = memory_file("brace-image", sizeof(struct image_memory), false, &at, err);
	if (im->image_fd < 0)
		return im->image_fd;
	im->news.memory = at;
	im->welcome.image_size = sizeof(struct image_memory);
	return 0;
}

static void count_function(struct image_count *c, const struct trace_function *f)
{
	c->functions++;
	c->hooked += f->hook != HOOK_NONE;
	if (f->hook != HOOK_NONE)
		c->by_kind[f->hook]++;
	else
		c->by_reason[f->reason]++;
}

void image_count_add(struct image_count *total, const struct image_count *more, bool addition)
{
	if (!addition) {
		*total = *more;
		return;
	}
	total->functions += more->functions;
	total->hooked += more->hooked;
	for (size_t i = 0; i < sizeof(total->by_kind) / sizeof(total->by_kind[0]); i++)
		total->by_kind[i] += more->by_kind[i];
	for (size_t i = 0; i < sizeof(total->by_reason) / sizeof(total->by_reason[0]); i++)
		total->by_reason[i] += more->by_reason[i];
}

static void count_all(struct image *im)
{
	im->count = (struct image_count){ 0 };
	for (size_t i = 0; i < im->news.modules.n; i++) {
		const struct trace_module *m = &im->news.modules.at[i];

		for (size_t k = 0; k < m->functions.n; k++)
			count_function(&im->count, &m->functions.at[k]);
	}
}

static bool is_go(const struct modules *m)
{
	for (size_t i = 0; i < m->at.n; i++)
		if (m->at.at[i].choice == MODULE_OPEN && m->at.at[i].hooks && m->at.at[i].hooks->language == SYM_LANG_GO)
			return true;
	return false;
}

/* Threads that a module starts by itself may have no thread pointer, or share one. */
static uint32_t flags_of(const struct modules *m, const struct protocol_hello *hello)
{
	uint32_t flags = hello->flags;

	for (size_t i = 0; i < m->at.n && hello->request != PROTOCOL_DLOPEN; i++)
		if (m->at.at[i].hooks && m->at.at[i].hooks->starts_threads)
			flags |= AGENT_FAR;
	return is_go(m) ? flags : flags & ~AGENT_GO;
}

static void keep_unread(const struct modules *m, struct image *out)
{
	for (size_t i = 0; i < m->unread.n; i++) {
		struct image_unread *u = vec_add(&out->unread);

		u->code = m->unread.at[i].code;
		snprintf(u->name, sizeof(u->name), "%s", m->unread.at[i].name);
	}
}

void image_tell_unread(const struct image *im, pid_t pid, struct memory_notes *notes)
{
	for (size_t i = 0; i < im->unread.n; i++)
		notes_add_file(notes, im->unread.at[i].code, pid, im->unread.at[i].name);
}

int image_prepare(const struct image_request *asked, struct image *out, struct err *err)
{
	struct protocol_hello hello = *asked->hello;
	struct image_request request = *asked, *const req = &request;
	struct modules modules = { 0 };
	struct maps maps;
	int r;

	memset(out, 0, sizeof(*out));
	out->image_fd = out->code_fd = -1;
	out->news.image = req->index;
	out->news.about = (struct trace_image){ .pid = (uint32_t)req->pid, .tsc = clock_tsc(),
						.exe = describe_exe(req->pid), .cmdline = describe_cmdline(req->pid) };
	r = maps_read(req->pid, &maps, err);
	if (r < 0)
		return r;
	if (req->taken_bytes)
		maps_take(&maps, req->taken_from, req->taken_bytes);
	maps.distance = req->distance;
	out->next_id = req->first_id;
	r = modules_find(&maps, out->news.about.exe, req, &modules, err);
	keep_unread(&modules, out);
	req->hello = &hello;
	hello.flags = out->welcome.flags = flags_of(&modules, asked->hello);
	out->selected = modules_select(&modules, req->settings, req->hello->flags & AGENT_BY_HAND, &out->next_id);
	modules_note_ids(&modules, req);
	out->news.again = out->news.addition = req->again;
	if (r == 0 && !req->again)
		r = make_image_memory(out, err);
	if (r == 0)
		r = patches_make(req, &modules, &maps, out, err);
	if (r == 0)
		handlers_plan(req, &modules, out);
	if (r == 0)
		bindings_find(&maps, out->news.about.exe, req->agent_path, &modules);
	if (r == 0)
		modules_describe(&modules, req->index, &out->news);
	if (r == 0)
		event_sites_describe(&modules, req->events, &out->news);
	count_all(out);
	out->welcome.trace = 1;
	out->welcome.oom_score_adj = describe_oom_score_adj(req->pid);
	out->welcome.image = req->index;
	out->welcome.signals = req->events && handlers_wanted(req->events);
	out->welcome.watch = req->settings->modules.patterns.n > 0 || event_sites_wanted(req->events);
	modules_free(&modules);
	maps_free(&maps);
	return r;
}

int image_none_selected(const struct image *im, const struct settings *settings, struct err *err)
{
	const char *exe = im->news.about.exe ? im->news.about.exe : "the program";
	uint32_t reason = 1;

	while (reason < REASONS_N && (!im->count.by_reason[reason] || reason == REASON_FILTERED || reason == REASON_COLD))
		reason++;
	if (im->count.hooked && settings->graph_function.patterns.n)
		return err_set(err, EINVAL, "no function of %s that can be hooked begins a graph (-g): brace list -f %s --why tells of each",
			       exe, exe);
	if (im->count.hooked || reason == REASONS_N)
		return err_set(err, EINVAL, "no function of %s matches the filters: brace list -f shows their names", exe);
	return err_set(err, EINVAL, "no function of %s that matches the filters can be hooked: the first is %s (%s); brace list -f %s --why "
				    "tells of each", exe, hook_reason_words[reason], hook_reason_texts[reason], exe);
}

int image_copy(pid_t pid, uint32_t of, struct image *out, struct err *err)
{
	memset(out, 0, sizeof(*out));
	out->image_fd = out->code_fd = -1;
	out->news.is_copy = true;
	out->news.of = of;
	out->news.about = (struct trace_image){ .pid = (uint32_t)pid, .tsc = clock_tsc(), .exe = describe_exe(pid),
						.cmdline = describe_cmdline(pid) };
	out->welcome.trace = 1;
	return make_image_memory(out, err);
}

void known_modules_copy(struct known_modules *to, const struct known_modules *from)
{
	for (size_t i = 0; i < from->at.n; i++) {
		struct known_module copy = from->at.at[i];

		copy.path = mem_strdup(copy.path);
		*vec_add(&to->at) = copy;
	}
}

void known_modules_free(struct known_modules *k)
{
	for (size_t i = 0; i < k->at.n; i++)
		free(k->at.at[i].path);
	vec_free(&k->at);
}

static bool has_module(const struct known_modules *k, const struct known_module *m)
{
	for (size_t i = 0; i < k->at.n; i++)
		if (k->at.at[i].start == m->start && strcmp(k->at.at[i].path, m->path) == 0)
			return true;
	return false;
}

static bool has_process(const struct known_modules *k, pid_t pid)
{
	for (size_t i = 0; i < k->at.n; i++)
		if (k->at.at[i].pid == pid)
			return true;
	return false;
}

void known_modules_of(struct known_modules *to, const struct known_modules *from, pid_t pid)
{
	bool own = has_process(from, pid);

	for (size_t i = 0; i < from->at.n; i++) {
		struct known_module copy = from->at.at[i];

		if ((own && copy.pid != pid) || has_module(to, &copy))
			continue;
		copy.pid = pid;
		copy.path = mem_strdup(copy.path);
		*vec_add(&to->at) = copy;
	}
}

void known_modules_replace(struct known_modules *of, pid_t pid, struct known_modules *by)
{
	size_t kept = 0;

	for (size_t i = 0; i < of->at.n; i++) {
		if (of->at.at[i].pid == pid)
			free(of->at.at[i].path);
		else
			of->at.at[kept++] = of->at.at[i];
	}
	of->at.n = kept;
	for (size_t i = 0; i < by->at.n; i++)
		*vec_add(&of->at) = by->at.at[i];
	vec_free(&by->at);
}

static struct trace_function *function_of_id(struct image *im, uint32_t id)
{
	for (size_t i = 0; i < im->news.modules.n; i++) {
		struct trace_module *m = &im->news.modules.at[i];

		if (id >= m->first_id && id - m->first_id < m->functions.n)
			return &m->functions.at[id - m->first_id];
	}
	return NULL;
}

static void forget(struct known_modules *k, pid_t pid, uint64_t start)
{
	for (size_t i = 0; i < k->at.n; i++) {
		if (k->at.at[i].pid != pid || k->at.at[i].start != start)
			continue;
		free(k->at.at[i].path);
		k->at.at[i] = k->at.at[--k->at.n];
		return;
	}
}

void image_forget_unmapped(const struct image *im, struct known_modules *known, pid_t pid)
{
	for (uint32_t i = 0; i < im->welcome.n_regions; i++)
		if (!im->regions[i].mapped)
			forget(known, pid, im->regions[i].module);
}

/* Reads the copy once. False: it is not what an agent leaves there. */
static bool hear_patch(struct patch *ours, const volatile struct patch *in_code)
{
	struct patch told = *in_code;
	bool is_one = told.status == PATCH_PENDING || told.status == PATCH_APPLIED || told.status == PATCH_CHANGED;

	ours->status = is_one ? told.status : PATCH_PENDING;
	told.status = ours->status;
	return is_one && memcmp(&told, ours, sizeof(told)) == 0;
}

static bool hear_region(struct patch_region *ours, const volatile struct patch_region *in_code)
{
	struct patch_region told = *in_code;

	ours->mapped = told.mapped == 1;
	told.mapped = ours->mapped;
	return memcmp(&told, ours, sizeof(told)) == 0;
}

static bool hear_mapped(struct image *im)
{
	const struct patch_region *in_code = (const void *)((const char *)im->code + im->welcome.regions_at);
	bool honest = true;

	for (uint32_t i = 0; i < im->welcome.n_regions; i++)
		honest &= hear_region(&im->regions[i], &in_code[i]);
	return honest;
}

bool image_hear(struct image *im)
{
	const struct patch *in_code;
	bool honest;

	if (!im->code) /* a copy of an image has none */
		return true;
	in_code = (const void *)((const char *)im->code + im->welcome.patches_at);
	honest = hear_mapped(im);
	for (uint32_t i = 0; i < im->welcome.n_patches; i++)
		honest &= hear_patch(&im->patches[i], &in_code[i]);
	return honest;
}

void image_refused(const struct image *im, image_refusals *out)
{
	static const enum hook_reason reasons[] = {
		[PATCH_PENDING] = REASON_NO_ROOM, [PATCH_REFUSED] = REASON_PAGE_END,
		[PATCH_CHANGED] = REASON_CHANGED, [PATCH_BUSY] = REASON_BUSY,
	};

	for (uint32_t i = 0; i < im->welcome.n_patches; i++) {
		const struct patch *p = &im->patches[i];

		if (p->status != PATCH_APPLIED && p->status <= PATCH_BUSY)
			*vec_add(out) = (struct image_refusal){ p->function, (uint8_t)reasons[p->status] };
	}
}

void image_settle(struct image *im, const struct image_request *req)
{
	image_refusals refused = { 0 };

	image_forget_unmapped(im, req->known, req->pid);
	image_refused(im, &refused);
	for (size_t i = 0; i < refused.n; i++) {
		struct trace_function *f = function_of_id(im, refused.at[i].function);

		if (!f)
			continue;
		f->hook = HOOK_NONE;
		f->reason = refused.at[i].reason;
	}
	vec_free(&refused);
	count_all(im);
}

void image_number(struct image *im, uint32_t index)
{
	im->news.image = im->welcome.image = index;
	for (size_t i = 0; i < im->news.modules.n; i++)
		im->news.modules.at[i].image = index;
}

bool image_places_free(const struct image *im, const struct maps *maps)
{
	for (uint32_t i = 0; i < im->welcome.n_regions; i++)
		if (!maps_are_free(maps, im->regions[i].gate, im->regions[i].bytes + PAGE))
			return false;
	return true;
}

int image_check_mapped(struct image *im, struct err *err)
{
	hear_mapped(im);
	for (uint32_t i = 0; i < im->welcome.n_regions; i++)
		if (!im->regions[i].mapped)
			return err_set(err, EAGAIN, "%s would not map trampolines where there was room a moment ago",
				       im->news.about.exe);
	return 0;
}

int image_check_look_ups(const struct image *im, struct err *err)
{
	for (uint32_t i = 0; i < im->welcome.n_patches; i++)
		if (im->patches[i].function == PATCH_LOOK_UP && im->patches[i].status != PATCH_APPLIED)
			return err_set(err, im->patches[i].status == PATCH_BUSY ? EAGAIN : EPERM,
				       "the unwinder of %s is not as in its file, or in use at every try",
				       im->news.about.exe);
	return 0;
}

void image_close(struct image *im)
{
	if (im->code)
		munmap(im->code, im->welcome.code_size);
	if (im->code_fd >= 0)
		close(im->code_fd);
	if (im->image_fd >= 0)
		close(im->image_fd);
	vec_free(&im->handlers);
	vec_free(&im->unread);
	free(im->patches);
	free(im->regions);
	im->patches = NULL;
	im->regions = NULL;
	im->code = NULL;
	im->code_fd = im->image_fd = -1;
}

void image_module_free(struct trace_module *m)
{
	free(m->path);
	free(m->name);
	vec_free(&m->functions);
	vec_free(&m->strings);
}

void image_news_free(struct image_news *news)
{
	for (size_t i = 0; i < news->modules.n; i++)
		image_module_free(&news->modules.at[i]);
	vec_free(&news->modules);
	vec_free(&news->events);
	vec_free(&news->refused);
	image_news_drop(news);
}

void image_news_drop(struct image_news *news)
{
	free(news->about.exe);
	free(news->about.cmdline);
	if (news->memory)
		munmap((void *)news->memory, sizeof(*news->memory));
	news->memory = NULL;
}
