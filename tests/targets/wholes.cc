/* Returns a value of every class of the calling convention, which rax or xmm0 alone does not hold: in two registers of either sort or
 * of both, in st0, in memory; numbers that are no structures; classes of C++ that are copied by constructors.
 *
 *     wholes CALLS
 */
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <variant>

#define TRACED extern "C" __attribute__((noipa))

/* In registers, by their sizes. */
struct one { char a; };
struct three { char a, b, c; };
struct five { int a; char b; };
struct eight { int a, b; };
struct nine { long a; char b; };
struct twelve { int a, b, c; };
struct sixteen { long a, b; };
struct names { const char *first; uint8_t *second; };
struct one_float { float x; };
struct two_floats { float x, y; };
struct three_floats { float x, y, z; };
struct one_double { double x; };
struct two_doubles { double x, y; };
struct number_first { long n; double x; };
struct number_last { double x; long n; };
struct both_in_one { int n; float x; double y; };
struct float_last { long n; float x; };
struct nested { struct { int a, b; } in; double x; };
struct listed { short at[6]; };
struct lettered { char text[12]; int n; };
struct flagged { bool is; enum { RED, GREEN } colour; double x; };
struct bits { unsigned a : 3, b : 7; long n; };
struct ext { long double x; };
struct wide { __int128 n; };

/* In memory. */
struct big { long a, b, c; };
struct doubles { double x, y, z; };
struct huge { long at[20]; int last; };
struct mixed_ext { long double x; int n; };
struct __attribute__((packed)) packed { char a; long b; };

/* Not copied as bytes: in memory, however small. */
struct copied {
	int a, b;
	copied(int a, int b) : a(a), b(b) {}
	copied(const copied &from) : a(from.a), b(from.b) {}
};
struct destroyed {
	long n;
	~destroyed() { asm volatile(""); }
};
struct based : eight { int c; };

/* In memory, since a member lies at no multiple of its size, or shares the long double's word. */
struct __attribute__((packed)) packed_small { char c; int i; short s; };
struct packed_within { packed_small p; char last; };
struct __attribute__((packed, aligned(8))) packed_aligned { short a; int b; };
struct __attribute__((packed)) packed_well { int a; short b; };
union ext_or_int { long double x; int n; };
/* With clang in memory, with gcc in a register. */
struct flexible { int n; int at[]; };
struct no_elements { int n; int at[0]; double x; };

/* Of the constructors that copy and move, not all are deleted, or all are; then in memory. */
struct moved { int n; moved(int n) : n(n) {} moved(const moved &) = delete; moved(moved &&) = default; };
struct defaulted { int n; defaulted(int n) : n(n) {} defaulted(const defaulted &) = default; ~defaulted() = default; };
struct kept { const int n; kept(int n) : n(n) {} kept(const kept &) = delete; kept &operator=(const kept &) = delete; };
struct unmoved { int n; unmoved(int n) : n(n) {} unmoved(unmoved &&) = delete; };
struct assigned { int n; assigned(int n) : n(n) {} assigned &operator=(assigned &&) = default; };
struct keeper { kept k; int n; };
struct mover { int n; moved m; };
struct referrer { int n; int &&of; };
struct empty {};

/* All members of a union are shown, and those of parts without a name. */
union number_float { int n; float x; };
union double_pair { double d[2]; long n[2]; };
union three_longs { long at[3]; int n; };
struct float_parts { int n; union { int a; float b; }; struct { short x, y; }; };
/* In vector registers, whole; 8 bytes of one. */
typedef float float4 __attribute__((vector_size(16)));
typedef float float2 __attribute__((vector_size(8)));
typedef long long2 __attribute__((vector_size(16)));
typedef double double2 __attribute__((vector_size(16)));
typedef unsigned short short4 __attribute__((vector_size(8)));
struct holder { double2 in; };
struct two_pairs { float2 a, b; };
struct pair_number { float2 a; int b; };
struct two_vectors { float4 a; long2 b; };
typedef float float8 __attribute__((vector_size(32)));
/* Decimal and half numbers, which are in vector registers. clang has no decimal ones. */
#ifdef __clang__
typedef double decimal;
typedef float half;
#else
typedef float decimal __attribute__((mode(DD)));
typedef float half __attribute__((mode(HF)));
#endif
struct decimal_first { decimal a; long n; };
struct decimal_last { long n; decimal a; };
union decimal_double { decimal a; double x; };

#define RETURNS(type, name, ...) TRACED type ret_##name(int i) { return type __VA_ARGS__; }

static char text[] = "abcdefghijkl";

RETURNS(one, one, { (char)('a' + i) })
RETURNS(three, three, { 'x', (char)('a' + i), 'z' })
RETURNS(five, five, { i * 1000, (char)('a' + i) })
RETURNS(eight, eight, { i, -i })
RETURNS(nine, nine, { -5L * i, (char)('a' + i) })
RETURNS(twelve, twelve, { i, i + 1, -i })
RETURNS(sixteen, sixteen, { i * 10000000000, ~(long)i })
RETURNS(names, names, { text + i, nullptr })
RETURNS(one_float, one_float, { i + 0.25f })
RETURNS(two_floats, two_floats, { i + 0.25f, -i - 0.5f })
RETURNS(three_floats, three_floats, { i + 0.25f, -i - 0.5f, i * 1e10f })
RETURNS(one_double, one_double, { i / 3.0 })
RETURNS(two_doubles, two_doubles, { i / 3.0, i * -1e300 })
RETURNS(number_first, number_first, { i + 7, i / 7.0 })
RETURNS(number_last, number_last, { i / 7.0, i - 7 })
RETURNS(both_in_one, both_in_one, { i, i + 0.5f, i / 9.0 })
RETURNS(float_last, float_last, { i, i + 0.125f })
RETURNS(nested, nested, { { i, i + 1 }, i + 0.5 })
RETURNS(listed, listed, { { (short)i, 2, 3, 4, 5, (short)-i } })
RETURNS(lettered, lettered, { { 'n', (char)('a' + i) }, i })
RETURNS(flagged, flagged, { i & 1 ? true : false, i & 2 ? flagged::GREEN : flagged::RED, i + 0.5 })
RETURNS(bits, bits, { 5, (unsigned)i & 127, i * 3L })
RETURNS(ext, ext, { i / 3.0L })
RETURNS(wide, wide, { (__int128)(i - 2) << 80 })
RETURNS(big, big, { i, -i, i * 10000000000 })
RETURNS(doubles, doubles, { i / 3.0, i / 7.0, -i * 1.0 })
RETURNS(huge, huge, { { i, 2, 3, 4, 5, 6, 7, 8, 9 }, i })
RETURNS(mixed_ext, mixed_ext, { i / 3.0L, i })
RETURNS(packed, packed, { (char)('a' + i), i * 10000000000 })
RETURNS(copied, copied, (i, -i))
RETURNS(destroyed, destroyed, { i * 3L })
RETURNS(based, based, { { i, i + 1 }, i + 2 })
RETURNS(packed_small, packed_small, { (char)('a' + i), i * 1000, (short)-i })
RETURNS(packed_aligned, packed_aligned, { (short)i, i * 1000 })
RETURNS(packed_well, packed_well, { i * 1000, (short)-i })
RETURNS(no_elements, no_elements, { i, {}, i / 3.0 })
/* Not what is only moved or cannot be: gdb 13 looks for that in the other place. */
RETURNS(defaulted, defaulted, { i + 2 })
RETURNS(kept, kept, { i + 3 })
RETURNS(keeper, keeper, { { i }, i + 6 })
__attribute__((noipa)) auto ret_local(int i)
{
	struct local { int a; float b; };
	return local{ i, i + 0.5f };
}
TRACED std::unique_ptr<int> ret_owner(int i) { return i & 1 ? std::unique_ptr<int>(new int(i)) : nullptr; }
TRACED long double ret_long_double(int i) { return i * 1e4000L / 3; }
TRACED __int128 ret_int128(int i) { return ((__int128)(i - 2) << 90) + i; }
TRACED unsigned __int128 ret_uint128(int i) { return ((unsigned __int128)i << 100) + i; }
TRACED _Complex float ret_complex_float(int i) { _Complex float z; __real__ z = i + 0.5f, __imag__ z = -i; return z; }
TRACED _Complex double ret_complex_double(int i) { _Complex double z; __real__ z = i / 3.0, __imag__ z = 2.0 * i; return z; }

RETURNS(decimal_first, decimal_first, { (decimal)i, i * 3L })
RETURNS(decimal_last, decimal_last, { i * 3L, (decimal)i })
TRACED decimal_double ret_decimal_double(int i) { decimal_double u; u.x = i + 0.5; return u; }
RETURNS(number_float, number_float, { i + 5 })
RETURNS(double_pair, double_pair, { { i + 0.5, i / 3.0 } })
RETURNS(three_longs, three_longs, { { i, -i, 7 } })
RETURNS(float_parts, float_parts, { i, { i + 1065353216 }, { (short)i, 9 } })
TRACED float4 ret_float4(int i) { return float4{ 1, i + 0.5f, i / 3.0f, -4 }; }
TRACED float2 ret_float2(int i) { return float2{ i + 0.5f, i / 3.0f }; }
TRACED long2 ret_long2(int i) { return long2{ i - 2L, i * 10000000000L }; }
TRACED double2 ret_double2(int i) { return double2{ i / 7.0, -0.5 }; }
TRACED short4 ret_short4(int i) { return short4{ 1, (unsigned short)i, 65535, 4 }; }
TRACED __float128 ret_quad(int i) { return (__float128)i / 3; }
/* There is no part of these that can be told. */
TRACED holder ret_hidden_holder(int i) { return holder{ { i / 7.0, 1 } }; }
TRACED decimal ret_decimal(int i) { return (decimal)i; }
TRACED half ret_half(int i) { static half kept[4] = { 1, 2, 3, 4 }; return kept[i & 3]; }

/* What is returned decides where the arguments are. */
#define SHIFTS(type, name, ...) \
	__attribute__((noipa)) type arg_##name(int i, double x, long last) { return (void)i, (void)x, (void)last, type __VA_ARGS__; }
SHIFTS(packed_small, packed_small, { 'a', 1, 2 })
SHIFTS(packed_within, packed_within, { { 'a', 1, 2 }, 'b' })
SHIFTS(packed_aligned, packed_aligned, { 1, 2 })
SHIFTS(packed_well, packed_well, { 1, 2 })
SHIFTS(ext_or_int, ext_or_int, { 1 })
SHIFTS(flexible, flexible, { 1 })
SHIFTS(no_elements, no_elements, { 1 })
SHIFTS(ext, ext, { 1 })
SHIFTS(moved, moved, (1))
SHIFTS(defaulted, defaulted, (1))
SHIFTS(kept, kept, (1))
SHIFTS(unmoved, unmoved, (1))
SHIFTS(assigned, assigned, (1))
SHIFTS(keeper, keeper, { { 1 }, 2 })
SHIFTS(mover, mover, { 1, { 2 } })
SHIFTS(referrer, referrer, { 1, std::move(*new int(2)) })
SHIFTS(empty, empty, {})
SHIFTS(std::atomic<long>, atomic, (1))
SHIFTS(std::string, string, ("a"))
using either = std::variant<int, double>;
SHIFTS(either, either, (1))
__attribute__((noipa)) auto arg_local(int i, double x, long last)
{
	struct local { int a; float b; };
	return local{ (int)(i + last), (float)x };
}

/* An argument by value decides where those behind it are. Of a packed_well gcc 12 tells the wrong place at -O2. */
template <typename T> __attribute__((noipa)) long arg_value(int i, T f, double x, long last)
{
	asm volatile("" : : "m"(f));
	return i + (long)x + last;
}
/* Vector registers, whole; then memory, at multiples of 16 bytes. */
__attribute__((noipa)) long arg_full(int i, float4 a, float4 b, double c, float4 d, __float128 e, float4 g, double2 h, long2 j, int k, float4 l,
				     long m, long double n, int o, __float128 p, float2 q, double x, long last)
{
	asm volatile("" : : "m"(a), "m"(b), "m"(c), "m"(d), "m"(e), "m"(g), "m"(h), "m"(j), "m"(l), "m"(n), "m"(p), "m"(q));
	return i + k + m + o + (long)x + last;
}
/* Structures of vectors, as long as there are registers; then memory. */
__attribute__((noipa)) long arg_more(int i, holder a, double b, two_pairs c, double d, double e, decimal f, holder g, int k, long m, holder h, pair_number j,
				     two_vectors n, int o, holder p, double x, long last)
{
	asm volatile("" : : "m"(a), "m"(c), "m"(f), "m"(g), "m"(h), "m"(j), "m"(n), "m"(p));
	return i + (long)(b + d + e) + k + m + o + (long)x + last;
}
/* gdb does not know the half type in the name of a C++ function. */
extern "C" __attribute__((noipa)) long arg_half(int i, half f, double x, long last)
{
	asm volatile("" : : "m"(f));
	return i + (long)x + last;
}
/* Whether the vector is in a register is the machine's for which the program is compiled. */
__attribute__((noipa)) long odd_vector(int i, float8 f, long last, double x)
{
	asm volatile("" : : "m"(f));
	return i + last + (long)x;
}
template <typename F> __attribute__((noipa)) long arg_lambda(int i, F f, double x, long last) { return i + f() + (long)x + last; }

static long pass_all(int i)
{
	long a = i, b = 7;
	double d = i + 0.5;
	std::string text = "text";
	big large = { i, 2, 3 };
	long sum = 0;
	struct local { int a; float b; } local = { i, 0.5f };

	arg_packed_small(i, 0.5, -i), arg_packed_within(i, 1.5, -i), arg_packed_aligned(i, 2.5, -i), arg_packed_well(i, 3.5, -i);
	arg_ext_or_int(i, 4.5, -i), arg_flexible(i, 5.5, -i), arg_no_elements(i, 6.5, -i), arg_ext(i, 7.5, -i), arg_moved(i, 8.5, -i);
	arg_defaulted(i, 9.5, -i), arg_kept(i, 10.5, -i), arg_unmoved(i, 11.5, -i), arg_assigned(i, 12.5, -i), arg_keeper(i, 13.5, -i);
	arg_mover(i, 14.5, -i), arg_referrer(i, 15.5, -i), arg_empty(i, 16.5, -i), arg_atomic(i, 17.5, -i), arg_string(i, 18.5, -i);
	arg_local(i, 19.5, -i), arg_either(i, 42.5, -i);
	sum += arg_value(i, packed_small{ 'a', i, 2 }, 20.5, -i) + arg_value(i, packed_within{ { 'a', i, 2 }, 'b' }, 21.5, -i);
	sum += arg_value(i, packed_aligned{ 1, i }, 22.5, -i);
	sum += arg_value(i, no_elements{ i }, 24.5, -i) + arg_value(i, moved(i), 25.5, -i) + arg_value(i, defaulted(i), 26.5, -i);
	sum += arg_value(i, kept(i), 27.5, -i) + arg_value(i, keeper{ { i }, i }, 28.5, -i) + arg_value(i, empty(), 29.5, -i);
	sum += arg_value(i, local, 30.5, -i) + arg_value(i, bits{ 1, 2, i }, 31.5, -i) + arg_value(i, nested{ { 1, i }, 2 }, 32.5, -i);
	sum += arg_value(i, either(i), 43.5, -i);
#ifndef __OPTIMIZE__ /* gdb 13 looks for these in the wrong place then */
	sum += arg_value(i, number_float{ i }, 44.5, -i) + arg_value(i, double_pair{ { 0.5, i / 3.0 } }, 45.5, -i);
	sum += arg_value(i, float_parts{ i, { 1065353216 }, { 2, 3 } }, 47.5, -i);
	sum += arg_value(i, decimal_first{ (decimal)i, i }, 55.5, -i) + arg_value(i, decimal_last{ i, (decimal)i }, 56.5, -i);
	sum += arg_value(i, decimal_double{ (decimal)i }, 57.5, -i);
#endif
	sum += arg_value(i, three_longs{ { i, 2, 3 } }, 46.5, -i);
	sum += arg_value(i, float4{ 1, i + 0.5f, 3, 4 }, 48.5, -i) + arg_value(i, float2{ i / 3.0f, 2 }, 49.5, -i);
	sum += arg_value(i, long2{ i, -3 }, 50.5, -i) + arg_value(i, short4{ 1, 2, (unsigned short)i, 65535 }, 51.5, -i);
	sum += arg_value(i, (__float128)i / 3, 52.5, -i) + arg_value(i, i / 3.0L, 53.5, -i);
	sum += arg_full(i, float4{ 1, 2 }, float4{ 3, 4 }, 5.5, float4{ 6, 7 }, (__float128)i / 7, float4{ 8 }, double2{ 9.5, 10 }, long2{ 11, i }, 12,
			float4{ 13, 14, 15, 16 }, 17, 18.5L, 19, (__float128)20, float2{ 21, 22 }, 54.5, -i);
	sum += arg_value(i, holder{ { i / 3.0, 2 } }, 58.5, -i) + arg_value(i, two_pairs{ { 1, i + 0.5f }, { 3, 4 } }, 59.5, -i);
	sum += arg_value(i, pair_number{ { 1, i + 0.5f }, i }, 60.5, -i) + arg_value(i, two_vectors{ { 1, 2 }, { i, -3 } }, 61.5, -i);
	sum += arg_half(i, (half)i, 62.5, -i) + arg_value(i, (decimal)i, 63.5, -i);
	sum += arg_more(i, holder{ { 1, 2 } }, 2.5, two_pairs{ { 3, 4 }, { 5, 6 } }, 7.5, 8.5, (decimal)i, holder{ { 9, 10 } }, 11, 12, holder{ { 13, 14 } },
			pair_number{ { 15, 16 }, 17 }, two_vectors{ { 18, 19 }, { 20, i } }, 21, holder{ { 22, 23 } }, 64.5, -i);
	sum += odd_vector(i, float8{ 1, 2 }, -i, 65.5);
	sum += arg_value(i, destroyed{ i }, 33.5, -i) + arg_value(i, flexible{ i }, 34.5, -i);
	sum += arg_lambda(i, [a, b] { return a + b; }, 35.5, -i) + arg_lambda(i, [a] { return a; }, 36.5, -i);
	sum += arg_lambda(i, [d] { return (long)d; }, 37.5, -i) + arg_lambda(i, [] { return 1L; }, 38.5, -i);
	sum += arg_lambda(i, [text] { return (long)text.size(); }, 39.5, -i) + arg_lambda(i, [large] { return large.a; }, 40.5, -i);
	sum += arg_lambda(i, [&a, &d] { return a + (long)d; }, 41.5, -i);
	return sum;
}

template <typename T> static void use(T value)
{
	static T kept;
	kept = std::move(value);
	asm volatile("" : : "r"(&kept) : "memory");
}
template <> void use(destroyed) {}
template <> void use(copied) {}

static void call_all(int i)
{
	use(ret_one(i)), use(ret_three(i)), use(ret_five(i)), use(ret_eight(i)), use(ret_nine(i)), use(ret_twelve(i));
	use(ret_sixteen(i)), use(ret_names(i)), use(ret_one_float(i)), use(ret_two_floats(i)), use(ret_three_floats(i));
	use(ret_one_double(i)), use(ret_two_doubles(i)), use(ret_number_first(i)), use(ret_number_last(i));
	use(ret_both_in_one(i)), use(ret_float_last(i)), use(ret_nested(i)), use(ret_listed(i)), use(ret_lettered(i));
	use(ret_flagged(i)), use(ret_bits(i)), use(ret_ext(i)), use(ret_wide(i)), use(ret_big(i)), use(ret_doubles(i));
	use(ret_huge(i)), use(ret_mixed_ext(i)), use(ret_packed(i)), use(ret_copied(i)), use(ret_destroyed(i));
	use(ret_based(i)), use(ret_owner(i)), use(ret_long_double(i)), use(ret_int128(i)), use(ret_uint128(i));
	use(ret_complex_float(i)), use(ret_complex_double(i));
	use(ret_packed_small(i)), use(ret_packed_aligned(i)), use(ret_packed_well(i)), use(ret_no_elements(i).x);
	use(ret_number_float(i)), use(ret_double_pair(i)), use(ret_three_longs(i)), use(ret_float_parts(i)), use(ret_float4(i)), use(ret_float2(i));
	use(ret_long2(i)), use(ret_double2(i)), use(ret_short4(i)), use(ret_quad(i)), use(ret_hidden_holder(i));
	use(ret_decimal(i)), use(ret_half(i)), use(ret_decimal_first(i)), use(ret_decimal_last(i)), use(ret_decimal_double(i));
	ret_defaulted(i), ret_kept(i), ret_keeper(i), ret_local(i);
}

int main(int argc, char **argv)
{
	/* What the program computes on the x87 meanwhile stays. */
	long double sum = 0;
	long passed = 0;

	for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 3); i++) {
		call_all(i);
		passed += pass_all(i);
		sum += ret_long_double(i) + ret_ext(i).x;
	}
	printf("%La %ld\n", sum, passed);
	return 0;
}
