/* SPDX-License-Identifier: MIT */
/* Plans the patches of one address space. Called by planners (session/setup.c), and in holders by
 * inject/attach.c and inject/change.c; each works on structs of its own, and shared caches have
 * locks of theirs. A plan that fails leaves the process untouched. The agent's answers come from
 * memory that the program can write: each is read once and compared. */
#include "image/image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/page.h"
#include "collect/clock.h"
#include "image/bindings.h"
#include "image/describe.h"
#include "image/providers.h"
#include "image/handlers.h"
#include "image/maps.h"
#include "image/modules.h"
#include "image/objects.h"
#include "collect/messages.h"
#include "image/patches.h"
#include "image/probe_outcomes.h"
#include "collect/shared_memory.h"


/* Makes the memory in which threads note call sites: the process maps it, and the session reads
 * it. */
static int make_image_memory(struct image *im, const struct memory_ends *ends, struct err *err)
{
	void *at;

	im->image_fd =
		shared_memory_file("brace-image", sizeof(struct image_memory), false, &at, err);
	if (im->image_fd < 0)
		return im->image_fd;
	im->update.memory = at;
	im->update.ends = ends;
	im->update.watch = memory_ends_watch(ends, &im->image_fd);
	im->setup.image_size = sizeof(struct image_memory);
	return 0;
}

/* By kind or by reason: every function is in exactly one count. */
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
	/* A plan that is no addition stands for all of the process. */
	if (!addition) {
		*total = *more;
		return;
	}
	total->functions += more->functions;
	total->hooked += more->hooked;
	total->code_bytes += more->code_bytes;
	total->unknown_bytes += more->unknown_bytes;
	argument_count_add(&total->arguments, &more->arguments);
	for (size_t i = 0; i < sizeof(total->by_kind) / sizeof(total->by_kind[0]); i++)
		total->by_kind[i] += more->by_kind[i];
	for (size_t i = 0; i < sizeof(total->by_reason) / sizeof(total->by_reason[0]); i++)
		total->by_reason[i] += more->by_reason[i];
}

/* Bytes of code, of opened modules only: a closed one was not asked for. */
static void count_code(const struct modules *m, struct image_count *count)
{
	for (size_t i = 0; i < m->at.n; i++) {
		const struct hook_module *h =
			m->at.at[i].choice == MODULE_OPEN ? m->at.at[i].hooks : NULL;

		count->code_bytes += h ? h->code_bytes : 0;
		count->unknown_bytes += h ? h->unknown_bytes : 0;
	}
}

/* Counts anew: refusals change functions after the plan. */
static void count_all(struct image *im)
{
	im->count = (struct image_count){ .code_bytes = im->count.code_bytes,
					  .unknown_bytes = im->count.unknown_bytes,
					  .arguments = im->count.arguments };
	for (size_t i = 0; i < im->update.modules.n; i++) {
		const struct trace_module *m = &im->update.modules.at[i];

		for (size_t k = 0; k < m->functions.n; k++)
			count_function(&im->count, &m->functions.at[k]);
	}
}

/* The first opened module that the Go compiler made; NULL: none. */
static const struct module *find_go(const struct modules *m)
{
	for (size_t i = 0; i < m->at.n; i++)
		if (m->at.at[i].choice == MODULE_OPEN && m->at.at[i].hooks &&
		    m->at.at[i].hooks->language == SYM_LANG_GO)
			return &m->at.at[i];
	return NULL;
}

/* Goroutines have stacks of their own, which move: calls cannot be told apart by their places
 * there. */
static int check_depths(const struct modules *m, const struct settings *set, struct err *err)
{
	const struct module *go = find_go(m);
	const char *what = set->max_graph_depth ? "how deep a call is (--max-graph-depth)" :
			   set->graph_function.patterns.n ? "what a function calls (-g)" :
			   set->tracing_thresh_ns ? "how long a call lasts (--threshold)" : NULL;

	if (!go || !what || !set->tracer->exits)
		return 0;
	return err_set(
		err, EOPNOTSUPP,
		"%s is a Go program, of which no return is followed: %s is not known; choose functions with -l",
		go->name, what);
}

/* Whether every place in the module where a thread may begin can be hooked; *clone: libc's function
 * is one of them. */
static bool shows_starts(const struct hook_module *h, bool *clone)
{
	bool all = true;

	for (uint32_t i = 0; i < h->n; i++) {
		const struct hook_plan_entry *e = &h->entries[i];
		bool hooked = e->kind != HOOK_NONE && !hook_by_callers(e->kind);

		*clone |= e->starts == START_BY_CLONE && hooked;
		all &= e->starts != START_BY_HAND || hooked;
	}
	return all;
}

/* Threads that a module starts by itself may have no thread pointer, or share one. The agent is
 * told where such threads begin (agent/no_tls.c); if that cannot be told, AGENT_NO_TLS is set at
 * once. */
static uint32_t flags_of(const struct modules *m, const struct settings *set,
			 const struct protocol_hello *hello)
{
	uint32_t flags = hello->flags;
	bool starts = false, all = set->tracer->functions, clone = false;

	for (size_t i = 0; i < m->at.n && hello->request != PROTOCOL_DLOPEN; i++) {
		const struct hook_module *h =
			m->at.at[i].choice == MODULE_PROBED ? NULL : m->at.at[i].hooks;

		starts |= m->at.at[i].hooks && m->at.at[i].hooks->starts_threads;
		all &= h ? shows_starts(h, &clone)
			 : !m->at.at[i].hooks || !m->at.at[i].hooks->starts_threads;
	}
	if (starts && !(all && clone))
		flags |= AGENT_NO_TLS;
	return find_go(m) ? flags : flags & ~AGENT_GO;
}

/* Copies the names: the modules end with the plan, and users are told later. */
static void keep_unread(const struct modules *m, struct image *out)
{
	for (size_t i = 0; i < m->unread.n; i++) {
		struct image_unread *u = vec_add(&out->unread);

		u->code = m->unread.at[i].code;
		snprintf(u->name, sizeof(u->name), "%s", m->unread.at[i].name);
	}
}

enum hook_reason image_patch_reason(const struct image *im, uint64_t address)
{
	static const enum hook_reason reasons[PATCH_GONE + 1] = {
		[PATCH_PENDING] = REASON_NO_ROOM,
		[PATCH_REFUSED] = REASON_PAGE_END,
		[PATCH_CHANGED] = REASON_CHANGED,
		[PATCH_BUSY] = REASON_BUSY,
		[PATCH_GONE] = REASON_NONE,
		[PATCH_APPLIED] = REASON_NONE,
	};

	/* PENDING after the agent is done: its region found no place. */
	for (uint32_t i = 0; i < im->setup.n_patches; i++)
		if (im->patches[i].address == address &&
		    im->patches[i].status < sizeof(reasons) / sizeof(*reasons))
			return reasons[im->patches[i].status];
	return REASON_NONE;
}

/* One message for each file, with the errno: what could not be read is not traced, and the user
 * has to know. */
void image_tell_unread(const struct image *im, pid_t pid, struct memory_messages *messages)
{
	for (size_t i = 0; i < im->unread.n; i++)
		messages_add_file(messages, im->unread.at[i].code, pid, im->unread.at[i].name);
}

static void begin_image(const struct image_request *req, struct image *out)
{
	memset(out, 0, sizeof(*out));
	out->image_fd = out->code_fd = out->answers_fd = -1;
	out->update.image = req->index;
	/* The image's modules count from this time on. */
	out->update.about = (struct trace_image){ .pid = (uint32_t)req->pid,
						  .tsc = clock_tsc(),
						  .exe = describe_exe(req->pid),
						  .cmdline = describe_cmdline(req->pid),
						  .files = describe_files(req->pid) };
}

/* Fills in the parts of the setup reply that are neither flags nor patches. */
static void fill_setup(const struct image_request *req, struct protocol_setup *setup)
{
	setup->trace = 1;
	setup->oom_score_adj = describe_oom_score_adj(req->pid);
	setup->image = req->index;
	setup->signals = req->events && handlers_wanted(req->events);
	setup->watch = req->settings->modules.patterns.n > 0 || providers_wanted(req->events);
}

/* The hello's flags are corrected for this image first; a copy of the request carries them to the
 * steps that follow. */
int image_prepare(const struct image_request *asked, struct image *out, struct err *err)
{
	struct protocol_hello hello = *asked->hello;
	struct image_request request = *asked, *const req = &request;
	struct modules modules = { 0 };
	struct maps maps;
	int r;

	begin_image(req, out);
	r = maps_read(req->pid, &maps, err);
	if (r < 0)
		return r;
	/* The agent's place counts as mapped, although the agent is not there yet. */
	if (req->taken_bytes)
		maps_take(&maps, req->taken_from, req->taken_bytes);
	maps.distance = req->distance;
	out->next_id = req->first_id;
	r = modules_find(&maps, out->update.about.exe, req, &modules, err);
	keep_unread(&modules, out);
	req->hello = &hello;
	hello.flags = out->setup.flags = flags_of(&modules, req->settings, asked->hello);
	/* Each step needs those before: patches need the selection, and descriptions tell what
	 * patches turned down. */
	if (r == 0)
		r = check_depths(&modules, req->settings, err);
	out->selected = modules_select(&modules, req->settings, req->hello->flags & AGENT_BY_HAND,
				       modules_writes_code(req), &out->next_id);
	modules_note_ids(&modules, req);
	/* A new plan for a known image is told as an addition to it. */
	out->update.again = out->update.addition = req->again;
	if (r == 0 && !req->again)
		r = make_image_memory(out, req->ends, err);
	if (r == 0)
		r = patches_make(req, &modules, &maps, out, err);
	if (r == 0)
		handlers_plan(req, &modules, out);
	if (r == 0)
		probe_outcomes_plan(req, &modules, out);
	if (r == 0)
		bindings_find(&maps, out->update.about.exe, req->agent_path, &modules);
	if (r == 0)
		modules_describe(&modules, req->index, &out->update);
	if (r == 0)
		patches_describe(&modules, req->events, &out->update);
	/* Counts are wanted of a plan that failed, too: the error tells of them. */
	count_code(&modules, &out->count);
	out->count.arguments = modules.asked_for;
	count_all(out);
	fill_setup(req, &out->setup);
	modules_free(&modules);
	maps_free(&maps);
	return r;
}

/* Called when a plan has come out empty. The most exact of the reasons is told; -errno of *err. */
int image_none_selected(const struct image *im, const struct settings *settings, struct err *err)
{
	const char *exe = im->update.about.exe ? im->update.about.exe : "the program";
	uint32_t reason = 1;

	/* Index 0 is "no reason"; the first real one stands for all in the sentence. */
	while (reason < REASONS_N &&
	       (!im->count.by_reason[reason] || reason == REASON_FILTERED || reason == REASON_COLD))
		reason++;
	if (im->count.arguments.unfit) {
		*err = im->count.arguments.fault;
		return -err->code;
	}
	if (settings->follows)
		return objects_none_watched(&im->count.arguments.objects, settings->follows, err);
	if (im->count.hooked && settings->graph_function.patterns.n)
		return err_set(
			err, EINVAL,
			"no function of %s that can be hooked begins a graph (-g): brace list -f %s --why tells of each",
			exe, exe);
	if (im->count.hooked || reason == REASONS_N)
		return err_set(
			err, EINVAL,
			"no function of %s matches the filters: brace list -f shows their names",
			exe);
	return err_set(
		err, EINVAL,
		"no function of %s that matches the filters can be hooked: the first is %s (%s); brace list -f %s --why "
		"tells of each",
		exe, hook_reason_words[reason], hook_reason_texts[reason], exe);
}

/* Without code memory: the process has its patches already. */
int image_copy(pid_t pid, uint32_t of, const struct memory_ends *ends, struct image *out,
	       struct err *err)
{
	memset(out, 0, sizeof(*out));
	out->image_fd = out->code_fd = out->answers_fd = -1;
	out->update.is_copy = true;
	out->update.of = of;
	out->update.about = (struct trace_image){ .pid = (uint32_t)pid,
						  .tsc = clock_tsc(),
						  .exe = describe_exe(pid),
						  .cmdline = describe_cmdline(pid),
						  .files = describe_files(pid) };
	out->setup.trace = 1;
	return make_image_memory(out, ends, err);
}

/* Adds to what *to has; paths are copied. */
void image_known_copy(struct known_modules *to, const struct known_modules *from)
{
	for (size_t i = 0; i < from->at.n; i++) {
		struct known_module copy = from->at.at[i];

		copy.path = mem_strdup(copy.path);
		*vec_add(&to->at) = copy;
	}
}

/* When the process is gone, or the session ends. */
void image_known_free(struct known_modules *k)
{
	for (size_t i = 0; i < k->at.n; i++)
		free(k->at.at[i].path);
	vec_free(&k->at);
}

/* Whether the list has the same file at the same address. */
static bool has_module(const struct known_modules *k, const struct known_module *m)
{
	for (size_t i = 0; i < k->at.n; i++)
		if (k->at.at[i].start == m->start && strcmp(k->at.at[i].path, m->path) == 0)
			return true;
	return false;
}

/* Whether any module is known of the process: a child that has just been forked has none. */
static bool has_process(const struct known_modules *k, pid_t pid)
{
	for (size_t i = 0; i < k->at.n; i++)
		if (k->at.at[i].pid == pid)
			return true;
	return false;
}

/* A child of a fork has the mappings of its parent, which stand under another pid: it gets all of
 * the image's, until it has some of its own. */
void image_known_of(struct known_modules *to, const struct known_modules *from, pid_t pid)
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

/* Paths of the new ones change hands; those of the old ones are freed. */
void image_known_replace(struct known_modules *of, pid_t pid, struct known_modules *by)
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

/* The function with this id in the update, or NULL. */
static struct trace_function *function_of_id(struct image *im, uint32_t id)
{
	for (size_t i = 0; i < im->update.modules.n; i++) {
		struct trace_module *m = &im->update.modules.at[i];

		if (id >= m->first_id && id - m->first_id < m->functions.n)
			return &m->functions.at[id - m->first_id];
	}
	return NULL;
}

/* The list has no order: the last one takes the place. */
static void forget_module(struct known_modules *k, pid_t pid, uint64_t start)
{
	for (size_t i = 0; i < k->at.n; i++) {
		if (k->at.at[i].pid != pid || k->at.at[i].start != start)
			continue;
		free(k->at.at[i].path);
		k->at.at[i] = k->at.at[--k->at.n];
		return;
	}
}

/* A region without a place has no trampolines: were its module still known, the agent would not ask
 * for it again. */
void image_forget_unmapped(const struct image *im, struct known_modules *known, pid_t pid)
{
	for (uint32_t i = 0; i < im->setup.n_regions; i++)
		if (!im->regions[i].mapped)
			forget_module(known, pid, im->regions[i].module);
}

/* Reads the answer once, because the process may change it meanwhile. False: no agent gives this
 * one. */
static bool hear_patch(struct patch *ours, const volatile uint8_t *answer)
{
	const uint8_t told = *answer;
	const bool is_one = told == PATCH_PENDING || told == PATCH_APPLIED || told == PATCH_CHANGED;

	ours->status = is_one ? told : PATCH_PENDING;
	return is_one;
}

/* Takes over which regions are mapped. False: no agent gives this answer. */
static bool hear_mapped(struct image *im)
{
	const volatile uint8_t *answers = im->answers;
	bool honest = true;

	for (uint32_t i = 0; i < im->setup.n_regions; i++) {
		const uint8_t told = answers[i];

		im->regions[i].mapped = told == 1;
		honest &= told <= 1;
	}
	return honest;
}

/* Every patch is read, also after a dishonest one: the honest ones count. */
bool image_hear(struct image *im)
{
	const uint8_t *answers = im->answers;
	bool honest;

	if (!answers) /* a copy of an image has none */
		return true;
	honest = hear_mapped(im);
	for (uint32_t i = 0; i < im->setup.n_patches; i++)
		honest &= hear_patch(&im->patches[i], &answers[im->setup.n_regions + i]);
	return honest;
}

/* Asked when the process has written its patches, or could not. */
void image_refused(const struct image *im, image_refusals *out)
{
	/* By the patch's status. A patch that is still pending counts as one whose region found no
	 * room. */
	static const enum hook_reason reasons[PATCH_GONE + 1] = {
		[PATCH_PENDING] = REASON_NO_ROOM, [PATCH_REFUSED] = REASON_PAGE_END,
		[PATCH_CHANGED] = REASON_CHANGED, [PATCH_BUSY] = REASON_BUSY,
	};

	for (uint32_t i = 0; i < im->setup.n_patches; i++) {
		const struct patch *p = &im->patches[i];

		if (p->status != PATCH_APPLIED && p->status <= PATCH_BUSY)
			*vec_add(out) =
				(struct image_refusal){ p->function, (uint8_t)reasons[p->status] };
	}
}

/* Functions whose patches did not go in become unhooked in the update, and the counts follow. */
void image_note_refused(struct image *im, const struct image_request *req)
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

/* Modules carry the image's number too, for readers of the trace. */
void image_number(struct image *im, uint32_t index)
{
	im->update.image = im->setup.image = index;
	for (size_t i = 0; i < im->update.modules.n; i++)
		im->update.modules.at[i].image = index;
}

/* The maps were read after the plan was made. */
bool image_addresses_free(const struct image *im, const struct maps *maps)
{
	for (uint32_t i = 0; i < im->setup.n_regions; i++)
		/* A region's fork guard is the page before it. */
		if (!maps_are_free(maps, im->regions[i].fork_guard,
				   im->regions[i].bytes + ARCH_PAGE))
			return false;
	return true;
}

/* -EAGAIN: the process has mapped something in the way since its maps were read, and a new plan
 * would go. */
int image_check_mapped(struct image *im, struct err *err)
{
	hear_mapped(im);
	for (uint32_t i = 0; i < im->setup.n_regions; i++)
		if (!im->regions[i].mapped)
			return err_set(
				err, EAGAIN,
				"%s would not map trampolines where there was room a moment ago",
				im->update.about.exe);
	return 0;
}

/* Without its look-ups patched the unwinder does not find frames through stubs: an exception
 * would end the program. */
int image_check_look_ups(const struct image *im, struct err *err)
{
	for (uint32_t i = 0; i < im->setup.n_patches; i++)
		if (im->patches[i].function == PATCH_LOOK_UP &&
		    im->patches[i].status != PATCH_APPLIED)
			return err_set(
				err, im->patches[i].status == PATCH_BUSY ? EAGAIN : EPERM,
				"the unwinder of %s is not as in its file, or in use at every try",
				im->update.about.exe);
	return 0;
}

/* The update stays: it may belong to the session by now. */
void image_close(struct image *im)
{
	const int fds[] = { im->image_fd, im->code_fd, im->answers_fd };

	if (im->code)
		munmap(im->code, im->setup.code_size);
	if (im->answers)
		munmap(im->answers, im->setup.answers_size);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	vec_free(&im->handlers);
	vec_free(&im->probes);
	vec_free(&im->unread);
	free(im->patches);
	free(im->regions);
	im->patches = NULL;
	im->regions = NULL;
	im->code = im->answers = NULL;
	im->code_fd = im->image_fd = im->answers_fd = -1;
}

void image_module_free(struct trace_module *m)
{
	free(m->path);
	free(m->name);
	vec_free(&m->functions);
	vec_free(&m->strings);
	vec_free(&m->globals);
}

/* Frees the parts that the session has not taken over. */
void image_update_free(struct image_update *update)
{
	for (size_t i = 0; i < update->modules.n; i++)
		image_module_free(&update->modules.at[i]);
	vec_free(&update->modules);
	vec_free(&update->events);
	vec_free(&update->refused);
	image_update_drop(update);
}

void image_update_drop(struct image_update *update)
{
	free(update->about.exe);
	free(update->about.cmdline);
	free(update->about.files);
	if (update->memory) {
		memory_ends_forget(update->ends, update->watch);
		munmap((void *)update->memory, sizeof(*update->memory));
	}
	/* The last of several tries to attach is forgotten twice: by the try, and by the caller. */
	update->about.exe = update->about.cmdline = update->about.files = NULL;
	update->memory = NULL;
}
