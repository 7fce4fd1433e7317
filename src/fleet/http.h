/* SPDX-License-Identifier: MIT */
/* Requests over HTTP and HTTPS, carried out by the program curl, one process each: what a server
 * answers is parsed there, and brace's start does not load its libraries. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/stop.h"

#define HTTP_ANSWER_MOST (64u << 20) /* bytes; what a server says beyond is not read */

struct http_server {
	char *url;          /* SCHEME://HOST:PORT */
	const char *user, *key; /* NULL: none is told */
	const char *ca;     /* file of certificates to trust; NULL: the system's */
	bool insecure;      /* any certificate */
	const struct stop *stop; /* or NULL; asked: a request that waits is ended */
};

struct http_answer {
	int status;         /* HTTP's; 0: there was no answer, or none to its end */
	bool too_long;      /* of status 0: it was more than HTTP_ANSWER_MOST */
	bool sent;          /* of status 0: the server may have what was sent */
	char *text;         /* the body; of status 0 curl's words. free() it; never NULL */
	size_t n;
};

/* Sends n bytes to a path with its parameters, which are encoded already, by POST or GET. 0,
 * whatever the server says; or -errno and *err: curl could not be run. Any thread. */
int http_ask(const struct http_server *s, const char *method, const char *path, const void *body,
	     size_t n, struct http_answer *a, struct err *err);
/* The text with all but letters, digits and "-_.~" as %XX, for a parameter of a path; free() it. */
char *http_encode(const char *text);
