/* Functions of many types, for `brace list --signatures`: signatures.sh gives what brace says back
 * to the compiler, which knows these declarations. */
#include <complex.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define FUNCTION __attribute__((noinline, used))

struct item { char name[16]; int cents; };
union either { int i; float f; };
enum colour { RED, GREEN };
typedef struct { double x, y; } point;
typedef enum { LOW = -1, HIGH } level;
typedef int (*comparison)(const void *, const void *);
typedef char grid[3][4];

FUNCTION int no_parameters(void) { return 1; }
FUNCTION void nothing(int a) { (void)a; }
FUNCTION int opened(const char *pathname, int flags, ...) { return pathname != NULL && flags; }
FUNCTION struct item by_value(struct item one, union either two, enum colour three) { one.cents += two.i + (int)three; return one; }
FUNCTION point *typedefs(point *const at, level how, comparison by, size_t n, uint8_t small) { return by || n || small || how ? at : NULL; }
FUNCTION double floats(float a, double b, long double c, double complex d) { return a + b + (double)c + creal(d); }
FUNCTION bool sizes(char a, signed char b, unsigned char c, short d, unsigned long long e, __int128 f) { return a && b && c && d && e && f; }
FUNCTION int matrix(int (*rows)[4], grid *g, char *const argv[]) { return rows[0][0] + (*g)[0][0] + argv[0][0]; }
FUNCTION const volatile int *qualified(const volatile int *a, const char *const *restrict b, volatile struct item *c) { return a && b && c ? a : NULL; }
FUNCTION int (*chooses(int which, int (*other)(int)))(int) { return which ? other : NULL; }
FUNCTION int (*(*deeply(void (*f[2])(int (*)[3])))(void))[5] { return f ? NULL : NULL; }
FUNCTION int old_style(a, b) int a; char *b; { return a + *b; }
FUNCTION void *listed(FILE *f, va_list args) { return f && args ? f : NULL; }
static FUNCTION long only_here(long unsigned a) { return (long)a; }

int main(void)
{
	return only_here(0) != 0;
}
