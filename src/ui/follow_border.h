/* SPDX-License-Identifier: MIT */
/* --into: what a program's object leads to in the kernel is followed there, too, and both sides'
 * events come in the order of time. */
#pragma once
#include "follow/kernel.h"
#include "session/session.h"
#include "trace/event.h"
#include "ui/invocation.h"

/* Functions of the kernel have this bit in events; the program's do not. */
#define FOLLOW_BORDER_FUNCTION (1u << 31)

struct follow_border;

/* Finds the kernel's functions, and watches them; nobody's calls count before the program is there.
 * text: the object, as after -k. With -p the processes are asked for. 0, or -errno and *err. */
int follow_border_open(const struct invocation *inv, const char *text, struct follow_border **out,
		       struct err *err);
/* For run_start(): asks for the program before it is executed. */
const struct session_beside *follow_border_beside(struct follow_border *b);
/* The session runs. sink gets both sides' events. */
void follow_border_begin(struct follow_border *b, struct source *source, follow_sink *sink,
			 void *context);
/* A follow_sink for the program's events. border: a struct follow_border. */
void follow_border_event(void *border, const struct follow_event *e);
/* The stream has come to this event, after its follow_sink. 0, or -errno and *err. */
int follow_border_reach(struct follow_border *b, uint64_t tsc, struct err *err);
/* The stream has nothing: gives what can be older than nothing that comes. */
void follow_border_idle(struct follow_border *b);
/* Both sides have ended: gives the rest. 0, or -errno and *err. */
int follow_border_end(struct follow_border *b, struct err *err);
/* n: with FOLLOW_BORDER_FUNCTION. NULL: there is none. */
const struct follow_function *follow_border_function(const struct follow_border *b, uint32_t n);
/* After follow_border_end(): the functions and the losses, as a line of JSON and as sentences. */
void follow_border_print_json(const struct follow_border *b, struct out *to);
void follow_border_say(const struct follow_border *b);
/* NULL is fine. */
void follow_border_free(struct follow_border *b);
