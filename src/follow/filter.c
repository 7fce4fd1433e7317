/* SPDX-License-Identifier: MIT */
/* libpcap is no part of brace: it is opened for the one expression of a run, so that no other start
 * of brace pays for it, and brace without it is still brace. Its interface has been the same since
 * version 0.8. Called on brace's thread before anything is watched. */
#include "follow/filter.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/vec.h"

#define LIBRARY "libpcap.so.0.8"
#define LINKTYPE_IP 12       /* DLT_RAW: packets begin with their IP header */
#define BYTES_MOST 65535
#define ANY_NETMASK 0xffffffffu

/* As pcap/bpf.h has them. */
struct pcap_insn { uint16_t code; uint8_t yes, no; uint32_t k; };
struct pcap_program { unsigned n; struct pcap_insn *at; };

struct pcap {
	void *library, *handle;
	void *(*open_dead)(int linktype, int bytes);
	int (*compile)(void *handle, struct pcap_program *out, const char *text, int optimize,
		       uint32_t netmask);
	char *(*geterr)(void *handle);
	void (*freecode)(struct pcap_program *program);
	void (*close)(void *handle);
};

/* A function of the library, as ISO C lets it be taken. False: there is none. */
static bool find(const struct pcap *p, const char *name, void *to)
{
	void *at = dlsym(p->library, name);

	memcpy(to, &at, sizeof(at));
	return at;
}

/* RTLD_NOW tells of a libpcap that lacks libraries of its own here, and not in the middle of a
 * call. A handle without a device is enough to compile: pcap_open_dead(3). */
static int open_library(struct pcap *p, struct err *err)
{
	p->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!p->library)
		return err_set(err, ENOENT, "packet: an expression takes %s, which is not there: install libpcap0.8",
			       LIBRARY);
	if (find(p, "pcap_open_dead", &p->open_dead) && find(p, "pcap_compile", &p->compile) &&
	    find(p, "pcap_geterr", &p->geterr) && find(p, "pcap_freecode", &p->freecode) &&
	    find(p, "pcap_close", &p->close))
		p->handle = p->open_dead(LINKTYPE_IP, BYTES_MOST);
	if (p->handle)
		return 0;
	dlclose(p->library);
	return err_set(err, ENOTSUP, "packet: %s is not the libpcap that brace knows", LIBRARY);
}

/* A filter that is longer than the plan's room is refused: cut, it would let other packets
 * through. */
static int take_program(const struct pcap_program *from, const char *text,
			struct follow_filter *out, struct err *err)
{
	if (!from->n || from->n > FOLLOW_FILTER_INSNS)
		return err_set(err, E2BIG, "packet: %s takes %u instructions, and %u are the most that run in the kernel: make it simpler",
			       text, from->n, FOLLOW_FILTER_INSNS);
	out->n = from->n;
	for (unsigned i = 0; i < from->n; i++)
		out->insns[i] = (struct follow_insn){ from->at[i].code, from->at[i].yes,
						      from->at[i].no, from->at[i].k };
	return 0;
}

/* The library's sentence names no column. */
int follow_filter_compile(const char *text, struct follow_filter *out, struct err *err)
{
	struct pcap_program program = { 0 };
	struct pcap p = { 0 };
	int e = open_library(&p, err);

	if (e)
		return e;
	if (p.compile(p.handle, &program, text, 1, ANY_NETMASK)) {
		e = err_set(err, EINVAL, "packet: %s: %s (pcap-filter(7))", text,
			    p.geterr(p.handle));
	} else {
		e = take_program(&program, text, out, err);
		p.freecode(&program);
	}
	p.close(p.handle);
	dlclose(p.library);
	return e;
}
