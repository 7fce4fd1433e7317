/* SPDX-License-Identifier: MIT */
/* Requests that change something. The caller may be a thread of the traced program itself, which
 * has to be stopped for the change: it must be answered before the change is made (base/caller.h),
 * or it could not be stopped. An operation's -errno is the caller's answer. */
#include "tree/fuse_internal.h"

/* Registers the caller of the request for the calling worker thread. */
void fuse_call_begin(struct fuse_call *c, fuse_req_t req, void (*answer)(struct caller *c),
		     int64_t result)
{
	c->caller = (struct caller){ .tid = fuse_req_ctx(req)->pid,
				     .result = result,
				     .answer = answer };
	c->req = req;
	caller_begin(&c->caller);
}

void fuse_answer_done(struct caller *c)
{
	fuse_reply_err(((struct fuse_call *)c)->req, 0);
}
