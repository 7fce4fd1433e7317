/* SPDX-License-Identifier: MIT */
/* Messages to the user in the session memory. Any thread may write one, and so may a child of
 * vfork: only atomic additions and a claimed place are needed, and no lock. Two threads may claim a
 * place each for one note; readers add them up. With all places taken only the count by kind is
 * kept. Nothing fails. */
#include "agent/message.h"

#include <asm/unistd.h>
#include <linux/prctl.h>

#include "agent/agent.h"
#include "agent/needs.h"
#include "agent/sys.h"

static uint32_t own_pid(void)
{
	return agent_forbids(NEED_THREADS) ? 0 : (uint32_t)sys0(__NR_getpid);
}

static bool is_same_message(const struct memory_message *n, enum message_kind kind, uint32_t number,
			    const char *name)
{
	/* Pairs with the release at the end of index_of(): the fields hold. */
	if (!__atomic_load_n(&n->written, __ATOMIC_ACQUIRE) || n->kind != kind ||
	    n->number != number)
		return false;
	for (unsigned i = 0; i < MESSAGE_NAME; i++)
		if (n->name[i] != name[i])
			return false;
	return true;
}

static uint32_t index_of(struct memory_messages *messages, enum message_kind kind, uint32_t number,
			 const char *name)
{
	uint32_t used = __atomic_load_n(&messages->used, __ATOMIC_RELAXED), i;
	struct memory_message *n;

	for (i = 0; i < used && i < MESSAGES_MAX; i++)
		if (is_same_message(&messages->at[i], kind, number, name))
			return i;
	if (used >= MESSAGES_MAX)
		return MESSAGES_MAX;
	i = __atomic_fetch_add(&messages->used, 1, __ATOMIC_RELAXED);
	if (i >= MESSAGES_MAX)
		return MESSAGES_MAX;
	n = &messages->at[i];
	n->kind = kind;
	n->number = number;
	n->pid = own_pid();
	for (unsigned c = 0; c < MESSAGE_NAME; c++)
		n->name[c] = name[c];
	/* Pairs with is_same_message(), and with messages_take() of collect/messages.c. */
	__atomic_store_n(&n->written, 1, __ATOMIC_RELEASE);
	return i;
}

static void add_count(uint32_t message, uint32_t more)
{
	struct memory_messages *messages = &agent.memory->messages;
	uint32_t i = message & 0xffff;

	__atomic_fetch_add(&messages->counts[message >> 16], more, __ATOMIC_RELAXED);
	if (i < MESSAGES_MAX)
		__atomic_fetch_add(&messages->at[i].count, more, __ATOMIC_RELAXED);
}

uint32_t message_write(enum message_kind kind, uint32_t number, const char *name)
{
	uint32_t message = kind << 16 | index_of(&agent.memory->messages, kind, number, name);

	add_count(message, 1);
	return message;
}

/* Adding UINT32_MAX subtracts one. */
void message_process(enum message_kind kind)
{
	char name[MESSAGE_NAME] = "<...>"; /* where a filter forbids to ask */

	if (!agent_forbids(NEED_THREADS))
		sys2(__NR_prctl, PR_GET_NAME, name);
	message_write(kind, 0, name);
}

uint32_t message_stopped(uint32_t number)
{
	char name[MESSAGE_NAME] = { 0 };

	sys2(__NR_prctl, PR_GET_NAME, name);
	return message_write(MESSAGE_STOPPED, number, name);
}

void message_withdraw(uint32_t message)
{
	add_count(message, UINT32_MAX);
}
