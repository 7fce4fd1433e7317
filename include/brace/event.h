/* SPDX-License-Identifier: MIT
 *
 * Events of a program's own, for brace: in the manner of the kernel's TRACE_EVENT, without a
 * library. A disabled event is a nop. For C (gnu99 and later) and C++ with gcc or clang, x86-64
 * Linux, in programs and shared libraries.
 *
 *	BRACE_EVENT(shop, sale,
 *		BRACE_PROTO(int customer, unsigned long cents, const char *item),
 *		BRACE_ARGS(customer, cents, item),
 *		BRACE_FIELDS(
 *			BRACE_FIELD(int, customer, customer),
 *			BRACE_FIELD(unsigned long, cents, cents),
 *			BRACE_STRING(item, item)),
 *		BRACE_PRINT("customer=%d cents=%lu item=%s",
 *			    REC->customer, REC->cents, __get_str(item)))
 *
 *	brace_shop_sale(7, 250, "tea");
 *
 * BRACE_EVENT stands outside of functions, in as many source files as use it. An event has up to 16
 * fields:
 *
 *	BRACE_FIELD(type, name, value)           an integer of 1, 2, 4 or 8 bytes, an enum or a bool
 *	BRACE_ARRAY(type, name, n, from)         n elements, n a constant, copied from a pointer
 *	BRACE_DYNAMIC_ARRAY(type, name, n, from) n elements, n known when it happens
 *	BRACE_STRING(name, from)                 of any length; NULL is "(null)"
 *
 * A record has at most 512 bytes; strings and dynamic arrays are cut to fit. Values are computed
 * only while the event is enabled; arguments of the call always are. BRACE_PRINT is the kernel's
 * `print fmt`: REC->field, __get_str(field),
 * __print_array(__get_dynamic_array(field), count, size), ...
 *
 * Another record at the same call sites, with other fields of the same arguments (in any file of
 * the same module, with the same BRACE_PROTO and BRACE_ARGS):
 *
 *	BRACE_CUSTOM_EVENT(shop, sale, audit, big_sale,
 *		BRACE_PROTO(...), BRACE_ARGS(...), BRACE_FIELDS(...), BRACE_PRINT(...))
 *
 * is the event audit:big_sale, which happens where shop:sale does. */
#ifndef BRACE_EVENT_H
#define BRACE_EVENT_H

/* Filled in by who traces; all 0 otherwise. The function may be called whenever it is there. */
struct brace__state {
	void (*commit)(struct brace__state *state, void *record, unsigned bytes);
	const void *block;
};

#define BRACE__BYTES 512u

#define BRACE_PROTO(...) (__VA_ARGS__)
#define BRACE_ARGS(...) (__VA_ARGS__)
#define BRACE_FIELDS(...) __VA_ARGS__
#define BRACE_PRINT(...) #__VA_ARGS__

#define BRACE_FIELD(type, name, value) (FIELD, type, name, 1, value)
#define BRACE_ARRAY(type, name, n, from) (ARRAY, type, name, n, from)
#define BRACE_DYNAMIC_ARRAY(type, name, n, from) (DYNAMIC, type, name, n, from)
#define BRACE_STRING(name, from) (STRING, char, name, 0, from)

/* --- for each field ------------------------------------------------------------------------ */

#define BRACE__GET(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, x, ...) x
#define BRACE__COUNT(...) \
	BRACE__GET(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
/* BRACE__IS_FIELD is 1 of a text in parentheses, as a field is, and 0 of nothing: by it
 * BRACE__FIELDS_N tells no field from one. */
#define BRACE__COMMA(...) ,
#define BRACE__THIRD(a, b, c, ...) c
#define BRACE__IS(...) BRACE__THIRD(__VA_ARGS__)
#define BRACE__IS_FIELD(a) BRACE__IS(BRACE__COMMA a, 1, 0, 0)
#define BRACE__FIRST(a, ...) a
#define BRACE__FIELDS_N(...) \
	(BRACE__COUNT(__VA_ARGS__) * BRACE__IS_FIELD(BRACE__FIRST(__VA_ARGS__, )))
#define BRACE__JOIN(a, b) a##b
#define BRACE__CALL(m, n, ...) BRACE__JOIN(m, n)(__VA_ARGS__)
#define BRACE__OPEN(...) __VA_ARGS__
#define BRACE__WITH(m, tuple) m tuple
#define BRACE__APPLY(m, of, tuple) BRACE__WITH(m, (of, BRACE__OPEN tuple))
#define BRACE__MAP(m, of, ...) \
	BRACE__CALL(BRACE__MAP, BRACE__COUNT(__VA_ARGS__), m, of, __VA_ARGS__)
#define BRACE__MAP1(m, of, a) BRACE__CHOOSE(BRACE__MAP1_, BRACE__IS_FIELD(a))(m, of, a)
#define BRACE__MAP1_1(m, of, a) BRACE__APPLY(m, of, a)
#define BRACE__MAP1_0(m, of, a)
#define BRACE__CHOOSE(m, n) BRACE__PASTE(m, n) /* BRACE__CALL is not expanded within itself */
#define BRACE__PASTE(a, b) a##b
#define BRACE__MAP2(m, of, a, ...) BRACE__APPLY(m, of, a) BRACE__MAP1(m, of, __VA_ARGS__)
#define BRACE__MAP3(m, of, a, ...) BRACE__APPLY(m, of, a) BRACE__MAP2(m, of, __VA_ARGS__)
#define BRACE__MAP4(m, of, a, ...) BRACE__APPLY(m, of, a) BRACE__MAP3(m, of, __VA_ARGS__)
#define BRACE__MAP5(m, of, a, ...) BRACE__APPLY(m, of, a) BRACE__MAP4(m, of, __VA_ARGS__)
#define BRACE__MAP6(m, of, a, ...) BRACE__APPLY(m, of, a) BRACE__MAP5(m, of, __VA_ARGS__)
#define BRACE__MAP7(m, of, a, ...) BRACE__APPLY(m, of, a) BRACE__MAP6(m, of, __VA_ARGS__)
#define BRACE__MAP8(m, of, a, ...) BRACE__APPLY(m, of, a) BRACE__MAP7(m, of, __VA_ARGS__)
#define BRACE__MAP9(m, of, a, ...) BRACE__APPLY(m, of, a) BRACE__MAP8(m, of, __VA_ARGS__)
#define BRACE__MAP10(m, of, a, ...) BRACE__APPLY(m, of, a) BRACE__MAP9(m, of, __VA_ARGS__)
#define BRACE__MAP11(m, of, a, ...) BRACE__APPLY(m, of, a) BRACE__MAP10(m, of, __VA_ARGS__)
#define BRACE__MAP12(m, of, a, ...) BRACE__APPLY(m, of, a) BRACE__MAP11(m, of, __VA_ARGS__)
#define BRACE__MAP13(m, of, a, ...) BRACE__APPLY(m, of, a) BRACE__MAP12(m, of, __VA_ARGS__)
#define BRACE__MAP14(m, of, a, ...) BRACE__APPLY(m, of, a) BRACE__MAP13(m, of, __VA_ARGS__)
#define BRACE__MAP15(m, of, a, ...) BRACE__APPLY(m, of, a) BRACE__MAP14(m, of, __VA_ARGS__)
#define BRACE__MAP16(m, of, a, ...) BRACE__APPLY(m, of, a) BRACE__MAP15(m, of, __VA_ARGS__)

/* The record: 8 bytes for who traces, then the fields; a word if there are none. */
#define BRACE__NONE_0 unsigned long long brace__nothing;
#define BRACE__NONE_1
#define BRACE__MEMBER(of, kind, type, name, n, value) BRACE__MEMBER_##kind(type, name, n)
#define BRACE__MEMBER_FIELD(type, name, n) type name;
#define BRACE__MEMBER_ARRAY(type, name, n) type name[n];
#define BRACE__MEMBER_DYNAMIC(type, name, n) unsigned name;
#define BRACE__MEMBER_STRING(type, name, n) unsigned name;

/* A field's kind in the note: 0 number, 1 array, 2 dynamic. */
#ifdef __cplusplus
#define BRACE__ASSERT static_assert
#elif defined(__clang__) /* takes no __extension__ there */
#define BRACE__ASSERT _Static_assert
#else
#define BRACE__ASSERT __extension__ _Static_assert
#endif
#define BRACE__CHECK_FIELD(type)                                                               \
	BRACE__ASSERT((type)1.5 == (type)1, "a field of BRACE_FIELD is an integer: " \
		      "record a fraction multiplied, as thousandths");
#define BRACE__CHECK_ARRAY(type)
#define BRACE__CHECK_DYNAMIC(type)
#define BRACE__CHECK_STRING(type)
#define BRACE__ABOUT(of, kind, type, name, n, value)                                           \
	BRACE__CHECK_##kind(type)                                                              \
	struct {                                                                               \
		unsigned char kind, is_signed;                                                 \
		unsigned short offset, size, element;                                          \
		char type_text[sizeof(#type)], name_text[sizeof(#name)];                       \
	} __attribute__((packed)) about_##name;
#define BRACE__KIND_FIELD 0
#define BRACE__KIND_ARRAY 1
#define BRACE__KIND_DYNAMIC 2
#define BRACE__KIND_STRING 2
#define BRACE__DESCRIBE(of, kind, type, name, n, value)                                        \
	{ BRACE__KIND_##kind, ((type)-1) < ((type)1), __builtin_offsetof(struct of, name),     \
	  sizeof(((struct of *)0)->name), sizeof(type), #type, #name },

#define BRACE__ASSIGN(of, kind, type, name, n, value) BRACE__ASSIGN_##kind(type, name, n, value)
#define BRACE__ASSIGN_FIELD(type, name, n, value) brace__u.record.name = (type)(value);
#define BRACE__ASSIGN_ARRAY(type, name, n, value)                                              \
	__builtin_memcpy(brace__u.record.name, (value), sizeof(brace__u.record.name));
#define BRACE__ASSIGN_DYNAMIC(type, name, n, value)                                            \
	{                                                                                      \
		const type *brace__from = (value);                                             \
		brace__u.record.name = brace__append(brace__u.bytes, &brace__at, brace__from, \
						     (n), sizeof(type));                 \
	}
#define BRACE__ASSIGN_STRING(type, name, n, value)                                             \
	brace__u.record.name = brace__append_string(brace__u.bytes, &brace__at, (value));

/* --- what a record's dynamic parts are written by ----------------------------------------- */

static inline __attribute__((always_inline, unused)) unsigned
brace__append(char *record, unsigned *at, const void *from, unsigned long n, unsigned size)
{
	unsigned offset = *at, room = (BRACE__BYTES - offset) / size;
	unsigned bytes = (n < room ? (unsigned)n : room) * size;

	if (bytes)
		__builtin_memcpy(record + offset, from, bytes);
	*at = offset + bytes;
	return bytes << 16 | offset;
}

static inline __attribute__((always_inline, unused)) unsigned
brace__append_string(char *record, unsigned *at, const char *from)
{
	unsigned offset = *at, room = BRACE__BYTES - offset;
	unsigned long length;
	unsigned bytes;

	if (!room)
		return 0;
	from = from ? from : "(null)";
	length = __builtin_strlen(from);
	bytes = length < room ? (unsigned)length : room - 1;
	__builtin_memcpy(record + offset, from, bytes);
	record[offset + bytes] = '\0';
	*at = offset + bytes + 1;
	return (bytes + 1) << 16 | offset;
}

/* --- an event ------------------------------------------------------------------------------- */

#define BRACE__DATA __attribute__((weak, visibility("hidden"), used))
#ifdef __cplusplus
#define BRACE__ZERO = { 0, 0 }
#else
#define BRACE__ZERO
#endif
#define BRACE__QUIET \
	_Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wunused-parameter\"")
#define BRACE__LOUD _Pragma("GCC diagnostic pop")
#if defined(__has_attribute)
#if __has_attribute(retain)
#define BRACE__KEPT used, retain
#endif
#endif
#ifndef BRACE__KEPT
#define BRACE__KEPT used
#endif

/* A call site: the nop, where its jump would lead, the state; by name whose it is. */
#define BRACE__SITE(system, name)                                                              \
	"990:\t.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"                                           \
	"\t.pushsection .note.brace, \"?\", \"note\"\n"                                        \
	"\t.balign 4\n"                                                                        \
	"\t.4byte 992f - 991f, 994f - 993f, 1\n"                                               \
	"991:\t.asciz \"brace\"\n"                                                             \
	"992:\t.balign 4\n"                                                                    \
	"993:\t.8byte 990b, %l0, brace_state_" #system "_" #name "\n"                          \
	"\t.asciz \"" #system "\"\n"                                                           \
	"\t.asciz \"" #name "\"\n"                                                             \
	"994:\t.balign 4\n"                                                                    \
	"\t.popsection\n"

/* Where the state of an event is that has no sites of its own. */
#define BRACE__STATE(system, name)                                                             \
	"\t.pushsection .note.brace, \"?\", \"note\"\n"                                        \
	"\t.balign 4\n"                                                                        \
	"\t.4byte 992f - 991f, 994f - 993f, 3\n"                                               \
	"991:\t.asciz \"brace\"\n"                                                             \
	"992:\t.balign 4\n"                                                                    \
	"993:\t.8byte brace_state_" #system "_" #name "\n"                                     \
	"\t.asciz \"" #system "\"\n"                                                           \
	"\t.asciz \"" #name "\"\n"                                                             \
	"994:\t.balign 4\n"                                                                    \
	"\t.popsection\n"

/* The state, the note that describes it, and the function that writes a record. `at`: the event
 * whose call sites are its own too, "" if they are all its own. */
#define BRACE__DEFINE(system, name, at, proto, print, ...)                                     \
	BRACE__DATA struct brace__state brace_state_##system##_##name BRACE__ZERO;             \
	struct brace__record_##system##_##name {                                               \
		unsigned long long brace__head;                                                \
		BRACE__CHOOSE(BRACE__NONE_, BRACE__IS_FIELD(BRACE__FIRST(__VA_ARGS__, )))      \
		BRACE__MAP(BRACE__MEMBER, brace__record_##system##_##name, __VA_ARGS__)        \
	};                                                                                     \
	typedef char brace__fits_##system##_##name                                             \
		[sizeof(struct brace__record_##system##_##name) <= BRACE__BYTES ? 1 : -1];     \
	struct brace__note_##system##_##name {                                                 \
		unsigned owner_size, size, type;                                               \
		char owner[8];                                                                 \
		unsigned fields;                                                               \
		char system_text[sizeof(#system)], name_text[sizeof(#name)], at_text[sizeof(at)]; \
		char print_text[sizeof(print)];                                                \
		BRACE__MAP(BRACE__ABOUT, brace__record_##system##_##name, __VA_ARGS__)         \
	} __attribute__((packed, aligned(4)));                                                 \
	static const struct brace__note_##system##_##name brace__note_##system##_##name        \
		__attribute__((BRACE__KEPT, aligned(4), section(".note.brace.event"))) = {     \
		6, sizeof(struct brace__note_##system##_##name) - 20, 2, "brace",              \
		BRACE__FIELDS_N(__VA_ARGS__),                                                  \
		#system, #name, at, print,                                                     \
		BRACE__MAP(BRACE__DESCRIBE, brace__record_##system##_##name, __VA_ARGS__)      \
	};                                                                                     \
	BRACE__QUIET                                                                           \
	static inline __attribute__((always_inline, unused)) void                              \
	brace__write_##system##_##name proto                                                   \
	{                                                                                      \
		struct brace__state *brace__s = &brace_state_##system##_##name;                \
		void (*brace__commit)(struct brace__state *, void *, unsigned) =               \
			__atomic_load_n(&brace__s->commit, __ATOMIC_ACQUIRE);                  \
		unsigned brace__at = sizeof(struct brace__record_##system##_##name);           \
		union {                                                                        \
			struct brace__record_##system##_##name record;                         \
			char bytes[BRACE__BYTES];                                              \
		} brace__u;                                                                    \
		if (!brace__commit)                                                            \
			return;                                                                \
		__builtin_memset(&brace__u.record, 0, sizeof(brace__u.record));                \
		BRACE__MAP(BRACE__ASSIGN, brace__record_##system##_##name, __VA_ARGS__)        \
		brace__commit(brace__s, &brace__u, brace__at);                                 \
	}                                                                                      \
	BRACE__LOUD

#define BRACE_EVENT(system, name, proto, args, fields, print)                                  \
	BRACE__EVENT(system, name, proto, args, print, fields)
#define BRACE__EVENT(system, name, proto, args, print, ...)                                    \
	BRACE__DEFINE(system, name, "", proto, print, __VA_ARGS__)                             \
	static void (*brace__none_##system##_##name)proto                                      \
		__attribute__((BRACE__KEPT, section("brace_custom_" #system "_" #name))) = 0;  \
	extern void (*__start_brace_custom_##system##_##name[])proto                           \
		__attribute__((visibility("hidden")));                                         \
	extern void (*__stop_brace_custom_##system##_##name[])proto                            \
		__attribute__((visibility("hidden")));                                         \
	static __attribute__((noinline, cold, unused)) void brace__hit_##system##_##name proto \
	{                                                                                      \
		void(**brace__f) proto = __start_brace_custom_##system##_##name;               \
		brace__write_##system##_##name args;                                           \
		for (; brace__f < __stop_brace_custom_##system##_##name; brace__f++)           \
			if (*brace__f)                                                         \
				(*brace__f)args;                                               \
	}                                                                                      \
	static inline __attribute__((always_inline, unused)) void brace_##system##_##name proto \
	{                                                                                      \
		__asm__ goto(BRACE__SITE(system, name) : : : : brace__hit);                    \
		return;                                                                        \
	brace__hit:                                                                            \
		brace__hit_##system##_##name args;                                             \
	}

#define BRACE_CUSTOM_EVENT(system, name, own_system, own_name, proto, args, fields, print)     \
	BRACE__CUSTOM(system, name, own_system, own_name, proto, args, print, fields)
#define BRACE__CUSTOM(system, name, own_system, own_name, proto, args, print, ...)             \
	BRACE__DEFINE(own_system, own_name, #system ":" #name, proto, print, __VA_ARGS__)      \
	static __attribute__((noinline, cold, unused)) void                                    \
	brace__hit_##own_system##_##own_name proto                                             \
	{                                                                                      \
		__asm__ volatile(BRACE__STATE(own_system, own_name));                          \
		brace__write_##own_system##_##own_name args;                                   \
	}                                                                                      \
	static void (*brace__custom_##own_system##_##own_name)proto                            \
		__attribute__((BRACE__KEPT, section("brace_custom_" #system "_" #name))) =     \
		brace__hit_##own_system##_##own_name;

#endif
