/* SPDX-License-Identifier: MIT */
/* Call sites: return addresses, their numbers and their stubs (site.c). On the thread that
 * calls. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "agent/agent.h"

/* site.c. Returns the stub of a return address, made on first use; NULL: there is no room, or the
 * caller is code of no file. */
uint8_t *site_stub(uint64_t ret);
/* The stub of a return address behind a call that returns such a value; site_stub()'s is a
 * word. */
uint8_t *site_stub_of(uint64_t ret, enum memory_returned returned);
/* The word of a stub whose call returns a string: the site, and above it enum memory_returned. */
#define TEXT_KIND_SHIFT 24
/* Reads the code at a return address: true if it is a sigreturn. */
bool site_is_sigreturn(uint64_t ret);
/* site_is_sigreturn() for a call whose signal frame was seen: a call with this return address is a
 * handler's. The answer is remembered, since such an address is never in the site table. */
bool site_is_of_handler(uint64_t ret);
static inline bool site_is_in_arena(uint64_t addr)
{
	return addr - (uint64_t)agent.arena < SITE_ARENA_BYTES;
}
/* The return address that an address in the arena leads to; 0: none. */
uint64_t site_return(uint64_t stub);
/* A child of fork, by its first slow path: the copies that fork made are its own. Undoes what
 * other threads had half done. */
void site_after_fork(void);
void site_begin(void);  /* before anything is hooked, by each tracer */
void site_adopt(void);  /* attach: the sites of before go into the new image */
void site_keep(void);   /* detach: keeps the sites without the tracer's memory */
/* Another tracer: calls get new stubs; old ones stay for returns through them. */
void site_renew(void);
/* agent_entry() of a signal's handler; 0: it is not one. */
uint64_t agent_handler(uint64_t ret, uint32_t id_word, uint64_t sp);
/* Entry of a function: returns its stub, or 0. sp: stack address of the return address. */
uint64_t agent_entry(uint64_t ret, uint32_t id_word, uint64_t sp);
/* agent_call_stub() for a trampoline; sp as above. */
uint64_t agent_call_site(uint64_t ret, uint64_t unused, uint64_t sp);
/* Returns the stub of a return address, or the arena itself, which is site 0. */
uint64_t agent_call_stub(uint64_t ret);
