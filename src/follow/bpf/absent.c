/* SPDX-License-Identifier: MIT */
/* In place of kernel.c where brace is built without BPF: libbpf or clang was not there. Following
 * in the kernel fails with the sentence that says so; nothing else is ever called. Any thread. */
#include "follow/kernel.h"

#include <errno.h>

int follow_kernel_open(const struct follow_spec *spec, struct follow_kernel **out,
		       struct err *err)
{
	return err_set(err, ENOTSUP,
		       "this brace was built without BPF, by which objects of the kernel are followed: build it where libbpf and clang are");
}

int follow_kernel_attach(struct follow_kernel *k, struct err *err) { return -ENOTSUP; }
bool follow_kernel_ask_for(struct follow_kernel *k, uint32_t pid, bool waits) { return false; }
enum follow_way follow_kernel_way(const struct follow_kernel *k) { return FOLLOW_SINGLE; }
const char *follow_kernel_way_name(enum follow_way way) { return ""; }
const struct follow_census *follow_kernel_census(const struct follow_kernel *k) { return NULL; }

const struct follow_function *follow_kernel_function(const struct follow_kernel *k, uint32_t n)
{
	return NULL;
}

const struct follow_plan *follow_kernel_plan(const struct follow_kernel *k) { return NULL; }

int follow_kernel_read(struct follow_kernel *k, int wait_ms, follow_sink *sink, void *context,
		       struct err *err)
{
	return -ENOTSUP;
}

void follow_kernel_detach(struct follow_kernel *k) {}
void follow_kernel_losses(struct follow_kernel *k, struct follow_losses *out) {}
void follow_kernel_close(struct follow_kernel *k) {}
