/* SPDX-License-Identifier: MIT */
/* Requests that change something: whoever makes one may be a thread of the traced program itself, which has to stand for it. */
#include "tree/fuse_internal.h"

void fuse_call_begin(struct fuse_call *c, fuse_req_t req, void (*answer)(struct caller *c), int64_t result)
{
	c->caller = (struct caller){ .tid = fuse_req_ctx(req)->pid, .result = result, .answer = answer };
	c->req = req;
	caller_begin(&c->caller);
}

void fuse_answer_done(struct caller *c)
{
	fuse_reply_err(((struct fuse_call *)c)->req, 0);
}
