/* SPDX-License-Identifier: MIT */
/* The words between brace and its BPF program: which objects are followed, and the events. No
 * libc: the program has none. */
#pragma once

#ifdef __bpf__
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __INT64_TYPE__ int64_t;
#else
#include <stdint.h>
#endif

#define FOLLOW_STEPS 4u      /* pointers on the way to a field */
#define FOLLOW_CONDITIONS 4u
#define FOLLOW_SHOWN 6u      /* fields of --show */
#define FOLLOW_TEXT 16u      /* bytes of one that is text, and of a task's name */
#define FOLLOW_PIDS 8u
#define FOLLOW_PROCESSES 1024u /* whose calls are asked for, at once */
#define FOLLOW_SLOTS 3u      /* arguments of a function that may be objects */

/* Kinds of objects that an argument points to. Those from FOLLOW_FILE to FOLLOW_INODE are looked at
 * where a descriptor is followed: the objects behind it, and those on the way through it. Those
 * from FOLLOW_BYTES on, and packets, where a buffer of a program is. */
enum follow_kind {
	FOLLOW_THE_TYPE,     /* the expression's */
	FOLLOW_FILE, FOLLOW_SOCKET, FOLLOW_SOCK,
	FOLLOW_PACKET,       /* belongs to a socket, or is handed to one */
	FOLLOW_TRANSFER,     /* struct kiocb: stands for its file */
	FOLLOW_INODE,        /* the file's; in these processes alone: others use it, too */
	FOLLOW_BYTES,        /* the program's memory: the number is an address of it */
	FOLLOW_ITERATOR,     /* struct iov_iter: what is to be copied, and where */
	FOLLOW_MESSAGE,      /* struct msghdr: has an iterator */
	FOLLOW_PAGE,         /* may be a copy of the buffer, as may a FOLLOW_PACKET */
	FOLLOW_FOLIO,        /* its address is that of its first page */
	FOLLOW_QUEUE,        /* a struct sock of TCP: the last packet that it has not sent yet */
	FOLLOW_BIO,          /* has data of an inode that is followed */
	FOLLOW_REQUEST,      /* has a bio that is followed */
	FOLLOW_KINDS_N,
};

/* A descriptor of the processes that are asked for: offsets from the task to its file, and on. */
struct follow_descriptor {
	uint32_t is_wanted, number;
	uint32_t task_files, files_table, table_size, table_files;
	uint32_t file_inode, inode_mode, file_private; /* of a socket: the struct socket */
	uint32_t socket_sock, packet_sock, transfer_file;
};

/* Memory of the processes that are asked for; bytes 0: none is wanted. Offsets in a struct
 * iov_iter, and of that in a struct msghdr. */
struct follow_buffer {
	uint64_t from, bytes;
	uint32_t start, skipped, left; /* of one segment: its address, bytes done, bytes to come */
	uint32_t segments;             /* of several: how many; `start` is where they are listed */
	uint32_t message_iterator;
	uint32_t is_source;            /* of an iterator: it is copied from, not to */
	uint32_t first_page;           /* of a page: its folio, if the lowest bit is set */
	uint32_t queue, queue_last;    /* of a struct sock: packets to send; the last of these */
};

/* The way from a request to its bios, and from a bio to the inode, as offsets: a file's data goes
 * to the device in these. A bio of direct I/O has the structure that the file system made of the
 * program's kiocb (struct dio, iomap_dio); the first page of any other one is the file's. */
struct follow_io {
	uint32_t is_wanted;
	uint32_t request_bio, bio_next, bio_private, bio_bytes, bio_pages, bio_page;
	uint32_t dio_transfer, iomap_transfer, transfer_file, file_inode;
	uint32_t first_page, page_mapping, mapping_inode;
};

/* From an object to a field: at each of `steps` offsets lies a pointer to what comes next. */
struct follow_field {
	uint32_t offset[FOLLOW_STEPS], steps;
	uint32_t last;       /* offset of the field behind the last pointer */
	uint32_t bytes;      /* of the number that is read: 1, 2, 4 or 8; 0: text */
	uint32_t shift;      /* a bit field: to its lowest bit */
	uint32_t sign;       /* bits of a signed number; 0: it is unsigned */
	uint32_t pointer;    /* the number is an address */
	uint64_t mask;       /* a bit field's; otherwise of all bits */
};

enum follow_compare {
	FOLLOW_EQUAL, FOLLOW_UNEQUAL, FOLLOW_LESS, FOLLOW_LESS_EQUAL, FOLLOW_GREATER,
	FOLLOW_GREATER_EQUAL, FOLLOW_COMPARISONS_N,
};

/* (field & mask) COMPARE value */
struct follow_test {
	struct follow_field field;
	uint64_t mask, value;
	uint32_t compare, pad;
};

/* Whether v COMPARE value holds. Both have the field's form already (follow_field_fit()): 64 bits,
 * which are all of the sign in signed fields. Inlined, as the kernel's verifier wants it. */
static inline __attribute__((always_inline)) int
follow_test_holds(const volatile struct follow_test *t, uint64_t v)
{
	uint64_t than = t->value;
	int below = t->field.sign ? (int64_t)v < (int64_t)than : v < than;

	switch (t->compare) {
	case FOLLOW_EQUAL: return v == than;
	case FOLLOW_UNEQUAL: return v != than;
	case FOLLOW_LESS: return below;
	case FOLLOW_LESS_EQUAL: return below || v == than;
	case FOLLOW_GREATER: return !below && v != than;
	default: return !below;
	}
}

/* An expression of pcap, as libpcap compiles it for packets that begin with their IP header:
 * classic BPF, which the program carries out. Offsets within a struct sk_buff. */
#define FOLLOW_FILTER_INSNS 128u
struct follow_insn { uint16_t code; uint8_t yes, no; uint32_t k; };
struct follow_filter {
	uint32_t n;          /* instructions; 0: there is no expression */
	uint32_t head, network, tail;
	struct follow_insn insns[FOLLOW_FILTER_INSNS];
};

/* Constants of the loaded program, before its first instruction runs. */
struct follow_plan {
	struct follow_test tests[FOLLOW_CONDITIONS];
	struct follow_field shown[FOLLOW_SHOWN];
	uint32_t n_tests, n_shown;
	/* an object that has passed the tests is followed by its address, to its end */
	uint32_t by_identity;
	uint32_t own;        /* brace's pid: its calls are passed over */
	uint32_t some;       /* objects pass the tests in processes of the table only */
	struct follow_descriptor descriptor;
	struct follow_buffer buffer;
	struct follow_filter filter;
	struct follow_io io;
	uint32_t packet_next; /* of a packet in a list: the next one */
	uint32_t packet_head, packet_tail; /* of a packet: its memory; where its bytes end there */
	uint32_t task_execs, task_parent_execs; /* counts of execs, of a task and of its parent */
};

/* The cookie of a function: FUNCTION << 40 | FLAGS << 24 | SLOT << 16 | SLOT << 8 | SLOT. A slot is
 * an argument: KIND << 3 | REGISTER, or FOLLOW_NO_SLOT. */
#define FOLLOW_FUNCTION_AT 40
#define FOLLOW_FLAGS_AT 24
#define FOLLOW_NO_SLOT 0xffu
#define FOLLOW_SLOT(kind, nth) ((kind) << 3 | (nth))
#define FOLLOW_SLOT_SHIFT(i) (8 * (i))
#define FOLLOW_ENDS 1u       /* the first slot's object is gone when this function returns */
#define FOLLOW_GIVES 2u      /* it returns a pointer to such an object */
/* Flags of functions at which a buffer is looked for: */
#define FOLLOW_FILLS 4u      /* it copies from its iterator into packets or pages that it makes */
/* Called by one that FILLS, with the packet that is filled next, or, FOLLOW_QUEUE, behind bytes
 * that may have been added to the last packet. */
#define FOLLOW_FILLED 8u
#define FOLLOW_WRITTEN 16u   /* called by one that FILLS, with the page that has been filled */
/* The second slot's packet gets bytes of the first one's, of which it is a part then. */
#define FOLLOW_SPLITS 32u
/* The function returns a list of packets that are parts of the first slot's. */
#define FOLLOW_LISTS 64u
/* The argument of one that is WRITTEN which says how many bytes: with FOLLOW_EARLIER the first of
 * these two. */
#define FOLLOW_EARLIER 128u
/* The first slot's packet has got bytes of the second one's where the result is not 0; with
 * FOLLOW_BYTE only its lowest byte counts. */
#define FOLLOW_JOINS 256u
#define FOLLOW_BYTE 512u
#define FOLLOW_PUTS 1024u    /* it makes room at the end of the first slot's packet */
/* It copies bytes of the first slot's packet to an address: into the packet in which room has been
 * made for them last, if that is there. */
#define FOLLOW_TAKES 2048u
#define FOLLOW_TAKES_TO 2u     /* the arguments: where, and how many bytes */
#define FOLLOW_TAKES_BYTES 3u
#define FOLLOW_COPIED_EARLIER 3u
#define FOLLOW_COPIED 4u

/* Numbers of helpers that no kernel has, in the program as it is compiled: calls of
 * kprobe.session's own functions, whose numbers are the running kernel's. */
#define FOLLOW_IS_RETURN 0x7b7ace01      /* bpf_session_is_return() */
#define FOLLOW_SESSION_COOKIE 0x7b7ace02 /* bpf_session_cookie() */

enum follow_why {
	FOLLOW_BY_FIELD = 1, FOLLOW_BY_IDENTITY,
	FOLLOW_BY_DESCRIPTOR, /* it is what the descriptor stands for */
	FOLLOW_BY_SOCKET,     /* a packet of a followed socket */
	FOLLOW_BY_ADDRESS,    /* a buffer's bytes */
	FOLLOW_BY_COPY,       /* the call copies the buffer's bytes there */
	FOLLOW_BY_PART,       /* the call takes it bytes of a followed packet */
	FOLLOW_BY_DATA,       /* it has the data of a followed inode, or a followed bio */
	FOLLOW_WHYS_N,
};

#define FOLLOW_IS_BUFFER (1u << 31) /* in a group: larger than each descriptor */

union follow_value { uint64_t number; char text[FOLLOW_TEXT]; };

struct follow_event {
	uint64_t ns;         /* CLOCK_MONOTONIC */
	uint64_t object;     /* its address */
	uint64_t result;     /* of a return; of an entry by copy: the buffer's group;
			      * by part: the packet that is split; by data: whose it is */
	uint32_t function, cpu, pid, tid;
	uint8_t is_return;
	uint8_t why;         /* enum follow_why, of an entry */
	uint8_t child;       /* of a return: the result is followed from now on */
	uint8_t valid;       /* of an entry: the values of --show that could be read, a bit each */
	uint8_t first;       /* of an entry: by identity, the object was not followed before */
	/* unwound: of a program's return: the call ended without returning (an exception,
	 * longjmp). single: of an entry: a program's: the return is not told; the kernel's: one
	 * more object of the call of the entry before it, whose return is its own, too */
	uint8_t unwound, single;
	uint8_t kind;        /* enum follow_kind */
	uint32_t space;      /* of a program's: the process that the address is one of; else 0 */
	uint32_t beyond;     /* of the kernel's, followed from a program's objects on */
	/* objects with the same one are one: PID << 32 | DESCRIPTOR, or FOLLOW_IS_BUFFER; 0: it
	 * is by itself */
	uint64_t group;
	char comm[FOLLOW_TEXT];
	union follow_value shown[FOLLOW_SHOWN];
};

/* Counters of the program, each by CPU. */
enum follow_count {
	FOLLOW_CALLS,        /* of watched functions */
	FOLLOW_FULL,         /* events without room */
	FOLLOW_DEEP,         /* calls whose return is not told: more than the program remembers */
	FOLLOW_CROWDED,      /* objects that there was no room to remember */
	FOLLOW_COUNTS_N,
};
