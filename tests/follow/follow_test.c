/* Cases that the kernel's part of the tests (tests/vm/follow.sh) cannot bring about: every fault
 * of an expression with its column, and events that are missing, late, or of an object in the
 * memory of another. The events are made by hand, the objects and their text are what brace
 * prints. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "arch/kernel_arguments.h"
#include "follow/copies.h"
#include "follow/merge.h"
#include "follow/presets.h"
#include "follow/print.h"

/* --- expressions ------------------------------------------------------------------------------ */

static void parses_conditions(void **state)
{
	struct follow_expression x;
	struct err err;

	assert_int_equal(follow_expression_parse(" struct inode.i_ino >= -1 && i_sb->s_dev[2]&0xf0 != 'x'", &x, &err), -EINVAL);
	assert_int_equal(follow_expression_parse("struct inode.i_ino >= -1 && i_sb->s_dev[2]&0xf0 != 7 && a.b==0xbeef/0xff", &x, &err), 0);
	assert_string_equal(x.type, "inode");
	assert_int_equal(x.n, 3);
	assert_int_equal(x.conditions[0].compare, FOLLOW_GREATER_EQUAL);
	assert_true(x.conditions[0].value == UINT64_MAX && x.conditions[0].mask == UINT64_MAX);
	assert_int_equal(x.conditions[1].path.n, 3);
	assert_true(x.conditions[1].path.names[1].pointer && !*x.conditions[1].path.names[2].text);
	assert_int_equal(x.conditions[1].path.names[2].index, 2);
	assert_int_equal(x.conditions[1].mask, 0xf0);
	assert_int_equal(x.conditions[2].value, 0xef);
	assert_int_equal(follow_expression_parse("bio", &x, &err), 0);
	assert_int_equal(x.n, 0);
}

static void points_at_faults(void **state)
{
	static const struct { const char *text; size_t column; const char *says; } faults[] = {
		{ "", 0, "a structure's name" }, { "struct ", 7, "a structure's name" }, { "bio x", 4, "a dot, or the end" },
		{ "bio.", 4, "a field's name" }, { "bio.x", 5, "a comparison" }, { "bio.x=1", 5, "equal is ==" },
		{ "bio.x==", 7, "a number" }, { "bio.x==1y", 7, "a number" }, { "bio.x==1 && ", 12, "a field's name" },
		{ "bio.x==1 || y==2", 9, "&&, or the end" }, { "bio.x[1==2", 7, "]" }, { "bio.x==0x10000000000000000", 7, "too large" },
		{ "bio.a==1&&b==1&&c==1&&d==1&&e==1", 28, "at most 4" }, { "bio.a.b.c.d.e.f.g.h.i.j.k.l.m==1", 28, "at most 12" },
		{ "$arg7==1", 1, "any, or arg1 to arg6" }, { "$any>1", 4, "== and" }, { "$any==1 x", 8, "the end" }, { "a::.x==1", 3, "a structure's name" },
		{ "bio.a1234567890123456789012345678901234567890123456789012345678901234==1", 4, "at most 63" },
	};
	struct follow_expression x;
	struct err err;

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		assert_int_equal(follow_expression_parse(faults[i].text, &x, &err), -EINVAL);
		assert_int_equal(err.column, faults[i].column);
		if (!strstr(err.text, faults[i].says))
			fail_msg("%s: %s", faults[i].text, err.text);
	}
}

static void parses_programs_types(void **state)
{
	struct follow_expression x;
	struct err err;

	assert_int_equal(follow_expression_parse("class shop::in::Order.n==1", &x, &err), 0);
	assert_string_equal(x.type, "shop::in::Order");
	assert_int_equal(x.conditions[0].path.end, 23);
	assert_int_equal(follow_expression_parse("$any==0x10", &x, &err), 0);
	assert_true(x.by_value && x.nth == FOLLOW_ARGUMENTS && x.value == 16);
	assert_int_equal(follow_expression_parse("$arg6 == 7", &x, &err), 0);
	assert_int_equal(x.nth, 5);
}

/* The number that a signed bit field has. */
static void fits_numbers(void **state)
{
	const struct follow_field bits = { .bytes = 4, .mask = 7, .sign = 3 };
	uint64_t v = UINT64_MAX;

	assert_true(follow_field_fit(&bits, &v));
	assert_true(v == UINT64_MAX);
	v = 7;
	assert_true(follow_field_fit(&bits, &v));
	assert_true(v == UINT64_MAX);
	v = 8;
	assert_false(follow_field_fit(&bits, &v));
}

static void parses_what_is_shown(void **state)
{
	struct follow_shown s;
	struct err err;

	assert_int_equal(follow_shown_parse("skb->len , dev->name", &s, &err), 0);
	assert_int_equal(s.n, 2);
	assert_string_equal(s.labels[1], "dev->name");
	follow_shown_free(&s);
	assert_int_equal(follow_shown_parse("a,b,c,d,e,f,g", &s, &err), -EINVAL);
	assert_int_equal(err.column, 12);
	assert_int_equal(follow_shown_parse("a,,b", &s, &err), -EINVAL);
	assert_int_equal(err.column, 2);
}

static void knows_presets(void **state)
{
	static const char *const no_buffers[] = {
		"buffer:", "buffer:x", "buffer:0", "buffer:0xffff888000000000", "buffer:1+0", "buffer:1+", "buffer:1+x", "buffer:1-2",
	};
	struct follow_preset p;
	struct err err;

	assert_int_equal(follow_preset_read("packet:tcp port 80", &p, &err), 0);
	assert_string_equal(p.filter, "tcp port 80");
	follow_preset_free(&p);
	assert_int_equal(follow_preset_read("packet:7", &p, &err), 0);
	assert_string_equal(p.text, "struct sk_buff.mark==7");
	follow_preset_ends(&p, "sk_buff");
	assert_string_equal(p.ends[0], "kfree_skbmem");
	follow_preset_free(&p);
	assert_int_equal(follow_preset_read("fd:17", &p, &err), 0);
	assert_int_equal(p.descriptor, 17);
	follow_preset_free(&p);
	assert_int_equal(follow_preset_read("fd:17x", &p, &err), -EINVAL);
	assert_int_equal(err.column, 3);
	follow_preset_free(&p);
	assert_int_equal(follow_preset_read("buffer:0x7e5000000000+0x40", &p, &err), 0);
	assert_true(p.buffer == 0x7e5000000000 && p.buffer_bytes == 64 && p.descriptor < 0);
	follow_preset_free(&p);
	assert_int_equal(follow_preset_read("buffer:4096", &p, &err), 0);
	assert_true(p.buffer == 4096 && p.buffer_bytes == 1);
	follow_preset_free(&p);
	for (size_t i = 0; i < sizeof(no_buffers) / sizeof(*no_buffers); i++) {
		assert_int_equal(follow_preset_read(no_buffers[i], &p, &err), -EINVAL);
		assert_non_null(strstr(err.text, "takes an address of the program"));
		follow_preset_free(&p);
	}
	assert_int_equal(err.column, 7);
	assert_true(follow_preset_gives("sk_buff"));
	assert_false(follow_preset_gives("task_struct"));
	assert_int_equal(follow_preset_read("file:/nowhere/at all", &p, &err), -ENOENT);
	follow_preset_free(&p);
}

/* btrfs, whose stat() tells 0:38 of the files of this mount. */
static void reads_mounts(void **state)
{
	unsigned major, minor;

	assert_true(follow_preset_mount("30 1 0:37 / /mnt/disk rw,relatime - btrfs /dev/sdb1 rw", 30,
					&major, &minor));
	assert_int_equal(major, 0);
	assert_int_equal(minor, 37);
	assert_true(follow_preset_mount("29 1 254:1 / / rw - ext4 /dev/vda1 rw", 29, &major, &minor));
	assert_int_equal(major, 254);
	assert_false(follow_preset_mount("29 1 254:1 / / rw - ext4 /dev/vda1 rw", 2, &major, &minor));
	assert_false(follow_preset_mount("30 1 x", 30, &major, &minor));
	assert_false(follow_preset_mount("", 0, &major, &minor));
}

/* What a preset stands for is not the user's text: faults in it are shown in what was typed. */
static void blames_what_was_typed(void **state)
{
	static const struct { const char *text; size_t column; } faults[] = {
		{ "packet:0xbeeg", 7 }, { "task:77 ||", 8 }, { "task:", 5 }, { "connection:http", 11 }, { "connection:80 && x", 18 },
		{ "struct sk_buff.mark==x", 21 },
	};
	struct follow_expression x;
	struct follow_preset p;
	struct err err;

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		assert_int_equal(follow_preset_read(faults[i].text, &p, &err), 0);
		assert_int_equal(follow_expression_parse(p.text, &x, &err), -EINVAL);
		follow_preset_blame(&p, &err);
		assert_string_equal(err.input, faults[i].text);
		assert_int_equal(err.column, faults[i].column);
		follow_preset_free(&p);
	}
	/* A field's fault lies before the value, and another text's is none of the preset's. */
	assert_int_equal(follow_preset_read("connection:70000", &p, &err), 0);
	err_at(&err, EINVAL, p.text, 24, "the field has 16 bits");
	follow_preset_blame(&p, &err);
	assert_string_equal(err.input, "connection:70000");
	assert_int_equal(err.column, 11);
	err_at(&err, EINVAL, "kfree_skbmen", 0, "no such function");
	follow_preset_blame(&p, &err);
	assert_string_equal(err.input, "kfree_skbmen");
	follow_preset_free(&p);
}

/* One event of thread tid at function f. */
static struct follow_event copying(uint32_t tid, uint32_t function, enum follow_why why, bool is_return, uint64_t result)
{
	return (struct follow_event){ .tid = tid, .function = function, .why = why, .is_return = is_return, .result = result,
				      .kind = FOLLOW_ITERATOR, .group = FOLLOW_IS_BUFFER };
}

/* Of calls that take bytes of a buffer elsewhere those count in which no copy was told. */
static void loses_sight_of_copies(void **state)
{
	enum { PIPE, TCP, ENTAIL, READ };
	static const struct follow_function functions[] = {
		{ .name = "pipe_write" }, { .name = "tcp_sendmsg_locked" }, { .name = "tcp_skb_entail" }, { .name = "vfs_read" },
	};
	const struct follow_event events[] = {
		copying(1, TCP, FOLLOW_BY_ADDRESS, false, 0), copying(2, PIPE, FOLLOW_BY_ADDRESS, false, 0),
		copying(1, ENTAIL, FOLLOW_BY_COPY, false, 0), copying(1, ENTAIL, 0, true, 0),
		copying(1, TCP, 0, true, 30), copying(2, PIPE, 0, true, 40),                  /* the copy was the other thread's */
		copying(1, TCP, FOLLOW_BY_ADDRESS, false, 0), copying(1, TCP, 0, true, (uint64_t)-11),
		copying(1, READ, FOLLOW_BY_ADDRESS, false, 0), copying(1, READ, 0, true, 5),
		copying(1, TCP, FOLLOW_BY_ADDRESS, false, 0), copying(1, TCP, FOLLOW_BY_ADDRESS, false, 0),
		copying(1, TCP, 0, true, 5), copying(1, TCP, 0, true, 5),                     /* nested: once */
		copying(3, PIPE, 0, true, 5),                                                 /* its entry is not known */
	};
	struct follow_copies c = { 0 };

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		follow_copies_event(&c, &events[i], &functions[events[i].function]);
	assert_true(c.buffer);
	assert_int_equal(c.rows.n, 2);
	assert_string_equal(c.rows.at[0].function, "pipe_write");
	assert_int_equal(c.rows.at[0].calls, 1);
	assert_string_equal(c.rows.at[1].function, "tcp_sendmsg_locked");
	assert_int_equal(c.rows.at[1].calls, 1);
	assert_int_equal(follow_copies_calls(&c), 2);
	/* Returns that never come do not fill the memory. */
	for (uint32_t tid = 0; tid < 5000; tid++) {
		const struct follow_event e = copying(tid, PIPE, FOLLOW_BY_ADDRESS, false, 0);

		follow_copies_event(&c, &e, &functions[PIPE]);
	}
	assert_true(c.open.n <= 1024);
	follow_copies_free(&c);
}

/* A structure of at most 16 bytes goes in registers, and moves what comes behind it. */
static void counts_registers(void **state)
{
	assert_int_equal(kernel_arguments_taken(4, 0), 1);
	assert_int_equal(kernel_arguments_taken(16, 0), 2);
	assert_int_equal(kernel_arguments_taken(16, 1), 2);
	assert_int_equal(kernel_arguments_taken(24, 1), 0);
}

/* --- events ----------------------------------------------------------------------------------- */

enum { SEND, COPY, FREE, TOUCH };
static const struct follow_function functions[] = {
	[SEND] = { "send", "vmlinux", 1, 0, FOLLOW_SIGNED, 4 },
	[COPY] = { "copy", "vmlinux", 2, FOLLOW_GIVES, FOLLOW_POINTER, 8 },
	[FREE] = { "free", "vmlinux", 3, FOLLOW_ENDS, FOLLOW_VOID, 8 },
	[TOUCH] = { "touch", "mod", 4, 0, FOLLOW_UNSIGNED, 1 },
};

static const struct follow_function *function_of(void *context, uint32_t n)
{
	return n < 4 ? &functions[n] : NULL;
}

struct printed { char text[8192]; size_t n; struct out out; struct follow_print print; struct follow_objects *objects; uint64_t ns; };

static int keep(void *context, const char *bytes, size_t n)
{
	struct printed *p = context;

	assert_true(p->n + n < sizeof(p->text));
	memcpy(p->text + p->n, bytes, n);
	p->n += n;
	return 0;
}

static void print_object(void *context, const struct follow_object *o)
{
	follow_print_object(&((struct printed *)context)->print, o);
}

static const struct follow_plan plan;
static const struct follow_shown shown;

static void begin(struct printed *p)
{
	struct follow_readers readers = { .object = print_object, .function = function_of, .context = p };

	memset(p, 0, sizeof(*p));
	out_init(&p->out, keep, p);
	p->print = (struct follow_print){ .to = &p->out, .plan = &plan, .shown = &shown, .type = "struct x", .function = function_of };
	p->objects = follow_objects_new(&readers);
}

/* Each event a microsecond after the one before. */
static void event(struct printed *p, struct follow_event e)
{
	e.ns = p->ns += 1000;
	e.why = e.is_return ? 0 : e.why ? e.why : FOLLOW_BY_FIELD;
	memcpy(e.comm, "task", 5);
	follow_objects_event(p->objects, &e);
}

static void enter(struct printed *p, uint32_t tid, uint32_t function, uint64_t object, bool first)
{
	event(p, (struct follow_event){ .tid = tid, .function = function, .object = object, .first = first });
}

static void leave(struct printed *p, uint32_t tid, uint32_t function, uint64_t object, uint64_t result, bool child)
{
	event(p, (struct follow_event){ .tid = tid, .function = function, .object = object, .result = result, .child = child,
					.is_return = true });
}

/* Only what follows the columns of a line. */
static void expect(struct printed *p, const char *wanted)
{
	char got[4096] = "", *rest = p->text, *line;

	follow_objects_end(p->objects);
	out_flush(&p->out);
	while ((line = strsep(&rest, "\n"))) {
		char *behind = strrchr(line, '|');

		if (*line == '#' && !behind)
			strcat(strcat(got, line), "\n");
		else if (*line != '#' && behind)
			strcat(strcat(got, behind + 3), "\n");
	}
	assert_string_equal(got, wanted);
	follow_objects_free(p->objects);
	out_free(&p->out);
}

static void nests_and_ends(void **state)
{
	struct printed p;

	begin(&p);
	enter(&p, 1, SEND, 0x10, true);
	enter(&p, 1, TOUCH, 0x10, false);
	enter(&p, 2, TOUCH, 0x10, false); /* another task: a depth of its own */
	leave(&p, 1, TOUCH, 0x10, 0x1ff, false);
	leave(&p, 2, TOUCH, 0x10, 1, false);
	enter(&p, 1, FREE, 0x10, false);
	enter(&p, 1, TOUCH, 0x10, false);
	leave(&p, 1, TOUCH, 0x10, 0, false);
	leave(&p, 1, FREE, 0x10, 0, false);
	enter(&p, 2, SEND, 0x10, true); /* another object in its memory, while its first call is open */
	leave(&p, 2, SEND, 0x10, 5, false);
	leave(&p, 1, SEND, 0x10, (uint32_t)-5, false);
	expect(&p, "# object 1: struct x at 0x10, 5 calls, ended by free\n"
		   "send() {\n  touch() {\ntouch() {\n  } /* touch ret=255 */\n} /* touch ret=1 */\n"
		   "  free() {\n    touch(); /* ret=0 */\n  } /* free */\n} /* send ret=-5 */\n"
		   "# object 2: struct x at 0x10, 1 call\nsend(); /* ret=5 */\n");
}

static void makes_children(void **state)
{
	struct printed p;

	begin(&p);
	enter(&p, 1, COPY, 0x10, true);
	leave(&p, 1, COPY, 0x10, 0x20, true);
	enter(&p, 1, TOUCH, 0x20, false);
	leave(&p, 1, TOUCH, 0x20, 0, false);
	expect(&p, "# object 1: struct x at 0x10, 1 call\ncopy(); /* ret=0x20 (object 2) */\n"
		   "# object 2: struct x at 0x20, made of object 1 by copy, 1 call\ntouch(); /* ret=0 */\n");
}

/* One call that takes bytes of a packet into another one: each has it in its graph, and its
 * return. */
static void splits_objects(void **state)
{
	struct printed p;

	begin(&p);
	enter(&p, 1, SEND, 0x10, true);
	event(&p, (struct follow_event){ .tid = 1, .function = SEND, .object = 0x20, .first = true, .single = true,
					 .why = FOLLOW_BY_PART, .result = 0x10 });
	leave(&p, 1, SEND, 0x10, 0, false);
	enter(&p, 1, TOUCH, 0x20, false);
	leave(&p, 1, TOUCH, 0x20, 0, false);
	expect(&p, "# object 1: struct x at 0x10, 1 call\nsend(); /* ret=0 */\n"
		   "# object 2: struct x at 0x20, made of object 1 by send, 2 calls\nsend(); /* ret=0 */\ntouch(); /* ret=0 */\n");
}

/* A bio that has an object's data is its child, and is named by its own type. */
static void data_of_objects(void **state)
{
	struct printed p;

	begin(&p);
	enter(&p, 1, TOUCH, 0x10, true);
	leave(&p, 1, TOUCH, 0x10, 0, false);
	event(&p, (struct follow_event){ .tid = 2, .function = SEND, .object = 0x20, .first = true, .kind = FOLLOW_BIO,
					 .why = FOLLOW_BY_DATA, .result = 0x10 });
	leave(&p, 2, SEND, 0x20, 0, false);
	expect(&p, "# object 1: struct x at 0x10, 1 call\ntouch(); /* ret=0 */\n"
		   "# object 2: struct bio at 0x20, made of object 1 by send, 1 call\nsend(); /* bio ret=0 */\n");
}

/* A return without its entry, entries without their returns, one of another call in between. */
static void bears_losses(void **state)
{
	struct printed p;

	begin(&p);
	leave(&p, 1, SEND, 0x10, 3, false);
	enter(&p, 1, SEND, 0x10, false);
	enter(&p, 1, TOUCH, 0x10, false);
	enter(&p, 1, TOUCH, 0x20, false);
	leave(&p, 1, SEND, 0x10, 4, false);
	leave(&p, 1, TOUCH, 0x10, 4, false);
	enter(&p, 1, FREE, 0x20, false); /* its return is lost */
	enter(&p, 2, SEND, 0x20, true);
	expect(&p, "# object 1: struct x at 0x10, 2 calls, 3 returned\n"
		   "} /* send ret=3 */\nsend() {\n  touch() {\n} /* send ret=4 */\n} /* touch ret=4 */\n"
		   "# object 2: struct x at 0x20, 2 calls, 0 returned, ended by free\ntouch() {\nfree() {\n"
		   "# object 3: struct x at 0x20, 1 call, 0 returned\nsend() {\n");
}

/* --- descriptors, and from a program into the kernel ------------------------------------------ */

static void enter_group(struct printed *p, uint32_t function, uint64_t object, enum follow_kind kind, bool single, bool beyond)
{
	event(p, (struct follow_event){ .tid = 1, .function = function, .object = object, .kind = kind, .single = single,
					.group = 7ull << 32 | 3, .beyond = beyond });
}

/* The object behind a descriptor has one graph, which ends with its file, not with a packet. A call
 * with two of them is one. */
static void shows_descriptors(void **state)
{
	struct printed p;

	begin(&p);
	enter_group(&p, SEND, 0x10, FOLLOW_FILE, false, false);
	enter_group(&p, TOUCH, 0x20, FOLLOW_SOCK, false, false);
	enter_group(&p, TOUCH, 0x30, FOLLOW_PACKET, true, false);
	leave(&p, 1, TOUCH, 0x20, 1, false);
	enter_group(&p, FREE, 0x30, FOLLOW_PACKET, false, false);
	leave(&p, 1, FREE, 0x30, 0, false);
	leave(&p, 1, SEND, 0x10, 2, false);
	enter_group(&p, FREE, 0x10, FOLLOW_FILE, false, false);
	leave(&p, 1, FREE, 0x10, 0, false);
	enter_group(&p, TOUCH, 0x40, FOLLOW_FILE, false, false);
	leave(&p, 1, TOUCH, 0x40, 0, false);
	expect(&p, "# object 1: descriptor 3 of process 7, 4 calls, ended by free\nsend() { /* file */\n  touch(); /* sock sk_buff ret=1 */\n"
		   "  free(); /* sk_buff */\n} /* send ret=2 */\nfree(); /* file */\n"
		   "# object 2: descriptor 3 of process 7, 1 call\ntouch(); /* file ret=0 */\n");
}

/* Two objects of one call: each has its line, and the return is both's. */
static void tells_both_objects(void **state)
{
	struct printed p;

	begin(&p);
	enter(&p, 1, COPY, 0x10, true);
	event(&p, (struct follow_event){ .tid = 1, .function = COPY, .object = 0x20, .single = true });
	enter(&p, 1, TOUCH, 0x20, false);
	leave(&p, 1, TOUCH, 0x20, 1, false);
	leave(&p, 1, COPY, 0x10, 0x30, true);
	expect(&p, "# object 1: struct x at 0x10, 1 call\ncopy(); /* ret=0x30 (object 3) */\n"
		   "# object 2: struct x at 0x20, 2 calls\ncopy() {\n  touch(); /* ret=1 */\n} /* copy ret=0x30 */\n");
}

static void enter_program(struct printed *p, uint32_t function, uint64_t object)
{
	event(p, (struct follow_event){ .tid = 1, .function = function, .object = object, .space = 7 });
}

static void leave_program(struct printed *p, uint32_t function, uint64_t object)
{
	event(p, (struct follow_event){ .tid = 1, .function = function, .object = object, .space = 7, .is_return = true });
}

/* The kernel's object is the program's from the first call within one of it, to its end. */
static void crosses_the_border(void **state)
{
	struct printed p;

	begin(&p);
	enter_group(&p, TOUCH, 0x99, FOLLOW_FILE, false, true);
	leave(&p, 1, TOUCH, 0x99, 0, false);
	enter_program(&p, SEND, 0x10);
	enter_group(&p, TOUCH, 0x99, FOLLOW_FILE, false, true);
	leave(&p, 1, TOUCH, 0x99, 0, false);
	leave_program(&p, SEND, 0x10);
	enter_group(&p, SEND, 0x98, FOLLOW_SOCK, false, true);
	leave(&p, 1, SEND, 0x98, 0, false);
	enter_program(&p, FREE, 0x10);
	leave_program(&p, FREE, 0x10);
	enter_group(&p, SEND, 0x98, FOLLOW_SOCK, false, true);
	leave(&p, 1, SEND, 0x98, 0, false);
	expect(&p, "# object 2: struct x at 0x10, 4 calls, ended by free\nsend() {\n  touch(); /* file ret=0 */\n} /* send ret=0 */\n"
		   "send(); /* sock ret=0 */\nfree();\n"
		   "# object 1: descriptor 3 of process 7, 2 calls\ntouch(); /* file ret=0 */\nsend(); /* sock ret=0 */\n");
}

static void keep_time(void *context, const struct follow_event *e)
{
	uint64_t *times = context;

	times[times[0]++] = e->ns * 10 + e->cpu;
}

/* Equal times stay in the order in which they came; what is later than both have told stays. */
static void merges_by_time(void **state)
{
	static const struct { uint64_t ns; uint32_t cpu; } added[] = { { 5, 0 }, { 9, 0 }, { 5, 1 }, { 7, 0 }, { 1, 0 } };
	struct follow_merge m = { { 0 }, 0 };
	uint64_t times[9] = { 1 };

	for (size_t i = 0; i < 5; i++)
		follow_merge_add(&m, &(struct follow_event){ .ns = added[i].ns, .cpu = added[i].cpu });
	follow_merge_give(&m, 5, keep_time, times);
	assert_true(times[0] == 4 && times[1] == 10 && times[2] == 50 && times[3] == 51);
	follow_merge_add(&m, &(struct follow_event){ .ns = 3 }); /* late: it comes at once, not never */
	follow_merge_give(&m, UINT64_MAX, keep_time, times);
	assert_true(times[0] == 7 && times[4] == 30 && times[5] == 70 && times[6] == 90);
	follow_merge_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_conditions), cmocka_unit_test(points_at_faults), cmocka_unit_test(parses_what_is_shown), cmocka_unit_test(parses_programs_types), cmocka_unit_test(fits_numbers),
		cmocka_unit_test(knows_presets), cmocka_unit_test(reads_mounts),    cmocka_unit_test(blames_what_was_typed), cmocka_unit_test(loses_sight_of_copies), cmocka_unit_test(counts_registers), cmocka_unit_test(nests_and_ends),
		cmocka_unit_test(makes_children),    cmocka_unit_test(splits_objects), cmocka_unit_test(data_of_objects), cmocka_unit_test(bears_losses),
		cmocka_unit_test(shows_descriptors), cmocka_unit_test(tells_both_objects), cmocka_unit_test(crosses_the_border), cmocka_unit_test(merges_by_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
