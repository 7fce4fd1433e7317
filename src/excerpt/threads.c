/* SPDX-License-Identifier: MIT */
/* The threads of a trace that a spec means: by number, or by a pattern of names. excerpt_open()
 * calls it. Fails on a word that no thread fits. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "base/mem.h"
#include "base/number_map.h"
#include "excerpt/internal.h"

#define LISTED 6 /* threads, or processes, that a sentence names */

/* A name of 16 characters has no NUL. */
static bool has_name(const char *comm, const char *glob)
{
	char name[TRACE_COMM + 1];

	snprintf(name, sizeof(name), "%.*s", TRACE_COMM, comm);
	return glob_match(glob, name);
}

/* "1234", or "NAME-1234" as tables print it. */
static bool is_number(const char *word, const char *comm, uint32_t id)
{
	char text[TRACE_COMM + 16];

	snprintf(text, sizeof(text), "%u", id);
	if (!strcmp(word, text))
		return true;
	snprintf(text, sizeof(text), "%.*s-%u", TRACE_COMM, comm, id);
	return !strcmp(word, text);
}

/* The newest name counts: every thread begins with that of the thread which made it. */
static bool is_meant(const struct trace_thread *t, uint32_t id, const char *word)
{
	const char *name = trace_thread_name(t);

	return is_number(word, name, id) || has_name(name, word);
}

/* A process has the name of its first thread; pid and tid are equal there. */
static bool process_is_meant(const struct trace_info *info, const struct trace_thread *t,
			     const char *word)
{
	for (size_t i = 0; i < info->threads.n; i++) {
		const struct trace_thread *first = &info->threads.at[i];

		if (first->pid == t->pid && first->tid == t->pid && is_meant(first, t->pid, word))
			return true;
	}
	return is_number(word, "", t->pid);
}

/* A thread goes by its own name, a process by its first thread's. */
static bool thread_is_meant(const struct trace_info *info, const struct trace_thread *t,
			    const char *word)
{
	(void)info;
	return is_meant(t, t->tid, word);
}

typedef bool meant(const struct trace_info *info, const struct trace_thread *t, const char *word);

/* "main-1234, worker-1235, ..." of threads that have records, or of processes. */
static void list_names(const struct excerpt *x, bool processes, char *out, size_t n)
{
	size_t at = 0, listed = 0;

	*out = '\0';
	for (size_t i = 0; i < x->info->threads.n && listed <= LISTED; i++) {
		const struct trace_thread *t = &x->info->threads.at[i];

		if (!t->records || (processes && t->tid != t->pid) || at + 40 > n)
			continue;
		at += (size_t)(listed++ == LISTED
			? snprintf(out + at, n - at, ", ...")
			: snprintf(out + at, n - at, "%s%.*s-%u", at ? ", " : "", TRACE_COMM,
				   trace_thread_name(t), t->tid));
	}
}

/* Sets `out` for the threads that any of the words means. */
static int find_threads(const struct excerpt *x, const excerpt_words *words, bool processes,
			bool *out, struct err *err)
{
	meant *const is = processes ? process_is_meant : thread_is_meant;
	char names[300];

	memset(out, !words->n, x->info->threads.n);
	for (size_t w = 0; w < words->n; w++) {
		bool found = false;

		for (size_t i = 0; i < x->info->threads.n; i++) {
			bool fits = is(x->info, &x->info->threads.at[i], words->at[w]);

			out[i] |= fits;
			found |= fits;
		}
		list_names(x, processes, names, sizeof(names));
		if (!found)
			return err_at(err, ENOENT, words->at[w], 0,
				      "no %s of the trace has this name or number; %s",
				      processes ? "process" : "thread",
				      *names ? names : "none has records");
	}
	return 0;
}

/* Coroutines run on any thread of a process, so that all of it has to be followed. */
static void find_readers(struct excerpt *x)
{
	const struct trace_thread *threads = x->info->threads.at;
	struct number_map pids = { 0 };

	for (size_t i = 0; i < x->threads.n; i++)
		if (x->threads.at[i])
			number_map_set(&pids, threads[i].pid, 1);
	for (size_t i = 0; i < x->threads.n; i++)
		*vec_add(&x->readers) = x->threads.at[i] ||
					number_map_get(&pids, threads[i].pid) != NUMBER_NONE;
	number_map_free(&pids);
}

/* A thread is shown if both kinds of words mean it. */
int excerpt_find_threads(struct excerpt *x, struct err *err)
{
	const size_t n = x->info->threads.n;
	bool *by_thread = mem_zalloc(n + 1), *by_process = mem_zalloc(n + 1);
	int r = find_threads(x, &x->spec->threads, false, by_thread, err);

	if (!r)
		r = find_threads(x, &x->spec->processes, true, by_process, err);
	for (size_t i = 0; i < n; i++)
		*vec_add(&x->threads) = by_thread[i] && by_process[i] &&
					trace_info_shows(x->info, (uint32_t)i);
	free(by_thread);
	free(by_process);
	find_readers(x);
	return r;
}
