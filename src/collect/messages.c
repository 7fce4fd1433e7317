/* SPDX-License-Identifier: MIT */
/* Messages lie in the session memory, so the traced program may change them at any time: counts and
 * names are checked as they are taken. Writers, in brace (on any thread) and in the agent, reserve
 * an entry with an atomic add; there is no lock. When all MESSAGES_MAX entries are taken, only the
 * count of the kind goes up. session/account.c takes them. Nothing fails. */
#include "collect/messages.h"

#include <stdio.h>
#include <string.h>

#include "base/path.h"

#define COUNT_MAX (1u << 30) /* a larger number is one that was lowered below zero */

static uint32_t count_once(const uint32_t *at)
{
	uint32_t n = __atomic_load_n(at, __ATOMIC_RELAXED);

	return n < COUNT_MAX ? n : 0;
}

/* A message that another memory gave already only raises the count. */
static void add_message(struct trace_info *info, const struct trace_message *message)
{
	for (size_t i = 0; i < info->messages.n; i++) {
		struct trace_message *n = &info->messages.at[i];

		if (n->kind != message->kind || n->number != message->number ||
		    strcmp(n->name, message->name) != 0)
			continue;
		n->count += message->count < UINT32_MAX - n->count ? message->count
								   : UINT32_MAX - n->count;
		return;
	}
	*vec_add(&info->messages) = *message;
}

/* Takes one message, unless it is not written yet or makes no sense. rest: those of each kind
 * without an entry of their own. */
static void take_one(const struct memory_message *n, struct trace_info *info, uint32_t *rest)
{
	struct trace_message message = {
		.kind = n->kind, .pid = n->pid, .number = n->number, .count = count_once(&n->count)
	};

	/* Pairs with the release in add_entry(), and with the agent's. */
	if (!__atomic_load_n(&n->written, __ATOMIC_ACQUIRE) || message.kind >= MESSAGE_KINDS ||
	    !message.count)
		return;
	memcpy(message.name, n->name, sizeof(n->name));
	message.name[sizeof(message.name) - 1] = '\0';
	/* The name goes to a terminal: no control characters. */
	for (char *c = message.name; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	rest[message.kind] -=
		message.count < rest[message.kind] ? message.count : rest[message.kind];
	add_message(info, &message);
}

void messages_take(const struct memory_messages *from, struct trace_info *info)
{
	/* Pairs with nothing stronger than the adds of `used`: each entry's `written` is what makes
	 * it readable. */
	uint32_t used = __atomic_load_n(&from->used, __ATOMIC_ACQUIRE), rest[MESSAGE_KINDS];

	for (unsigned k = 0; k < MESSAGE_KINDS; k++)
		rest[k] = count_once(&from->counts[k]);
	for (uint32_t i = 0; i < used && i < MESSAGES_MAX; i++)
		take_one(&from->at[i], info, rest);
	/* Messages that got no entry have no name; their number is told. */
	for (unsigned k = MESSAGE_NONE + 1; k < MESSAGE_KINDS; k++)
		if (rest[k])
			add_message(info, &(struct trace_message){ .kind = k, .count = rest[k] });
}

static void add_entry(struct memory_messages *to, enum message_kind kind, uint32_t number,
		      pid_t pid, const char *name)
{
	uint32_t i = __atomic_fetch_add(&to->used, 1, __ATOMIC_RELAXED);
	struct memory_message *n;

	__atomic_fetch_add(&to->counts[kind], 1, __ATOMIC_RELAXED);
	if (i >= MESSAGES_MAX)
		return;
	n = &to->at[i];
	n->kind = kind;
	n->pid = (uint32_t)pid;
	n->number = number;
	n->count = 1;
	snprintf(n->name, sizeof(n->name), "%s", name);
	/* Pairs with the acquire in take_one(). */
	__atomic_store_n(&n->written, 1, __ATOMIC_RELEASE);
}

void messages_add(struct memory_messages *to, enum message_kind kind, pid_t pid,
		  const char *program)
{
	add_entry(to, kind, 0, pid, path_file_name(program));
}

/* Two threads that note one name at once may both add it; the taker makes one of them. */
static void add_once(struct memory_messages *to, enum message_kind kind, uint32_t number, pid_t pid,
		     const char *name)
{
	uint32_t used = __atomic_load_n(&to->used, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < used && i < MESSAGES_MAX; i++)
		if (to->at[i].kind == kind &&
		    strncmp(to->at[i].name, name, sizeof(to->at[i].name) - 1) == 0)
			return;
	add_entry(to, kind, number, pid, name);
}

void messages_add_handler(struct memory_messages *to, uint32_t reason, pid_t pid,
			  const char *handler)
{
	add_once(to, MESSAGE_HANDLER, reason, pid, handler);
}

void messages_add_probe(struct memory_messages *to, uint32_t reason, pid_t pid, const char *event)
{
	add_once(to, MESSAGE_PROBE, reason, pid, event);
}

void messages_add_file(struct memory_messages *to, int code, pid_t pid, const char *module)
{
	add_once(to, MESSAGE_FILE, (uint32_t)code, pid, module);
}

void messages_add_ended(struct memory_messages *to, int status, pid_t pid, const char *program)
{
	add_entry(to, MESSAGE_ENDED, (uint32_t)status, pid, program);
}
