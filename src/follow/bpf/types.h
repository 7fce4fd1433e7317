/* SPDX-License-Identifier: MIT */
/* The types of the running kernel and of its modules, by their BTF. */
#pragma once
#include <bpf/btf.h>

#include "base/err.h"
#include "base/vec.h"
#include "follow/expression.h"

struct follow_module { struct btf *btf; char *name; uint32_t first; /* its first own type */ };

/* The kernel itself is the first one, "vmlinux". */
struct follow_types { VEC(struct follow_module) modules; };

/* Reads them. 0, or -errno and *err; *out is to be freed in any case. */
int follow_types_read(struct follow_types *out, struct err *err);
void follow_types_free(struct follow_types *t);
/* The type without const, volatile and typedefs; NULL for void. */
const struct btf_type *follow_types_plain(const struct btf *btf, uint32_t id);
/* Whether the type is a pointer to the structure of this name. */
bool follow_types_points_to(const struct btf *btf, uint32_t id, const char *name);
/* Fills in where the fields of conditions and of --show are. 0, or -EINVAL and *err with the column
 * of the name that is unknown, or no integer. */
int follow_types_plan(const struct follow_types *t, const struct follow_expression *x,
		      const struct follow_shown *shown, struct follow_plan *out, struct err *err);
/* Fills in where the bytes of a packet are. Works like follow_types_descriptor(). */
int follow_types_packet(const struct follow_types *t, struct follow_filter *out, struct err *err);
/* Fills in how packets are listed, and where their bytes end; a kernel that has none leaves that as
 * it is. */
void follow_types_lists(const struct follow_types *t, struct follow_plan *out);
/* Fills in where a task counts execs; both are the same place if this kernel does not. */
void follow_types_execs(const struct follow_types *t, struct follow_plan *out);
/* Fills in where an iterator has its addresses. Works like follow_types_descriptor(). */
int follow_types_buffer(const struct follow_types *t, struct follow_buffer *out, struct err *err);
/* Fills in the way from a request to its bios, and from a bio to its inode. is_wanted is 0 if this
 * kernel has other structures. */
void follow_types_io(const struct follow_types *t, struct follow_io *out);
/* Fills in the way from a task to its descriptor of this number. 0, or -EINVAL and *err: this
 * kernel has other structures. */
int follow_types_descriptor(const struct follow_types *t, uint32_t number,
			    struct follow_descriptor *out, struct err *err);
