/* Returns a value of every class of the calling convention, which rax or xmm0 alone does not hold: in two registers of either sort or
 * of both, in st0, in memory; numbers that are no structures; classes of C++ that are copied by constructors.
 *
 *     wholes CALLS
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

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
TRACED std::unique_ptr<int> ret_owner(int i) { return i & 1 ? std::unique_ptr<int>(new int(i)) : nullptr; }
TRACED long double ret_long_double(int i) { return i * 1e4000L / 3; }
TRACED __int128 ret_int128(int i) { return ((__int128)(i - 2) << 90) + i; }
TRACED unsigned __int128 ret_uint128(int i) { return ((unsigned __int128)i << 100) + i; }
TRACED _Complex float ret_complex_float(int i) { _Complex float z; __real__ z = i + 0.5f, __imag__ z = -i; return z; }
TRACED _Complex double ret_complex_double(int i) { _Complex double z; __real__ z = i / 3.0, __imag__ z = 2.0 * i; return z; }

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
}

int main(int argc, char **argv)
{
	/* What the program computes on the x87 meanwhile stays. */
	long double sum = 0;

	for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 3); i++) {
		call_all(i);
		sum += ret_long_double(i) + ret_ext(i).x;
	}
	printf("%La\n", sum);
	return 0;
}
