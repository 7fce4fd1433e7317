/* SPDX-License-Identifier: MIT */
/* One connection to a session: the question, what is done, the answer. */
#pragma once
#include <stdatomic.h>

#include "daemon/serve.h"

struct attended {
	const struct serve_request *request;
	const atomic_bool *stopping; /* streams end then */
	int stop;                    /* readable when they do */
	atomic_bool *asked;          /* set when the question is known; NULL: nobody wants to know */
	bool crowded;                /* there are too many: only a request to end is heard */
};

/* The kernel's word: our own user, or root. */
bool attend_allows(int fd);
/* True: the visitor wants the session to end, and is to be answered when it has. Any bytes may come. */
bool attend(const struct attended *a, int fd);
/* False: the visitor is gone. err: if error is not 0. */
bool attend_answer(int fd, int error, const struct err *err, uint64_t bytes);
