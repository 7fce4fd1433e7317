/* Built without unwind tables, and stripped by tests/run/called.sh: its functions are known by
 * their callers alone. It holds what must not be taken for one: data between the code, labels, code
 * behind calls that do not return. It prints a sum of its work and of the data, which a patch in a
 * wrong place changes. */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))
static volatile uint64_t sum;

NOINLINE static uint64_t leaf(uint64_t n) { return n * 3 + sum; }
NOINLINE static uint64_t recursive(uint64_t n) { return n < 2 ? leaf(n) : recursive(n - 1) + recursive(n - 2) + 1; }
NOINLINE static void stops(const char *why) { printf("stops: %s\n", why); exit(3); }
NOINLINE static uint64_t behind_stops(uint64_t n) { if (n > 1000) stops("large"); return leaf(n) ^ 5; }

NOINLINE static uint64_t of_variable_size(unsigned n)
{
	char *text = __builtin_alloca(n + 1);

	memset(text, 'x', n);
	text[n] = 0;
	sum += strlen(text);
	return leaf(sum);
}

NOINLINE static uint64_t realigned(uint64_t n)
{
	volatile struct { uint64_t a[4]; } s __attribute__((aligned(64))) = { { n, 2, 3, leaf(n) } };

	return s.a[0] + s.a[3] + ((uintptr_t)&s & 63);
}

NOINLINE static uint64_t one(uint64_t n) { sum += n; return n; }
NOINLINE static uint64_t two(uint64_t n) { sum ^= n; return n + 2; }
NOINLINE static uint64_t three(uint64_t n) { sum *= 3; return one(n) + 3; }

NOINLINE static uint64_t chooses(unsigned which, uint64_t n)
{
	switch (which) {
	case 0: return one(n) + 1;
	case 1: return two(n) * 2;
	case 2: return three(n) - 3;
	case 3: return one(n) ^ two(n);
	case 4: return two(n) | 4;
	case 5: return leaf(n) % 5;
	case 6: return three(n) / 6;
	default: return 7;
	}
}

/* Labels that data names are aligned, behind nops, and no functions. */
NOINLINE static uint64_t interprets(const uint8_t *code)
{
	static const void *const labels[] = { &&add, &&mix, &&end };
	uint64_t value = 0;

	goto *labels[*code++];
	__asm__ volatile(".p2align 4");
add:
	value += leaf(value);
	goto *labels[*code++];
	__asm__ volatile(".p2align 4");
mix:
	value = value * 31 + two(value);
	goto *labels[*code++];
	__asm__ volatile(".p2align 4");
end:
	return value;
}

NOINLINE static int compares(const void *a, const void *b)
{
	uint64_t x = leaf(*(const uint32_t *)a), y = leaf(*(const uint32_t *)b);

	return x < y ? -1 : x > y;
}

NOINLINE static uint64_t sorts(void)
{
	uint32_t list[64];

	for (uint32_t i = 0; i < 64; i++)
		list[i] = i * 2654435761u;
	qsort(list, 64, sizeof(*list), compares);
	return list[7];
}

static jmp_buf back;
NOINLINE static void jumps(uint64_t n) { if (leaf(n)) longjmp(back, 1); }
NOINLINE static uint64_t returns_twice(uint64_t n) { if (!setjmp(back)) jumps(n | 1); return leaf(n); }

/* Data in the text. Behind a call that does not return: bytes that read as a call into the middle
 * of decoy. Aligned and named: bytes that read as a function. A thunk pops its return address;
 * another one is called to tell an address. */
__asm__(".text; .p2align 4; .type fails, @function; fails: sub $8, %rsp; lea .Lwhy(%rip), %rdi; call stops;"
	".Ldata: .byte 0xe8; .long decoy + 6 - . - 4; .byte 0xc3; .asciz \"data of fails\"; .size fails, . - fails;"
	".p2align 4; .type decoy, @function; decoy: mov $0x11223344, %eax; push %rbx; mov %rdi, %rbx; add %rbx, %rax;"
	"pop %rbx; ret; .size decoy, . - decoy;"
	".p2align 4, 0x90; .type table, @object; table: .byte 0xb8, 1, 0, 0, 0, 0x48, 0x83, 0xc0, 7, 0xc3; .fill 22, 1, 0x90;"
	".size table, . - table;"
	".p2align 4; .type asks, @function; asks: call 1f; 1: pop %rax; sub $(1b - table), %rax; movzbl 5(%rax), %eax; ret;"
	".size asks, . - asks;"
	".p2align 4; .type enters, @function; enters: push %rbx; call inner; add $1, %rax; pop %rbx; ret; nop; .type inner, @function; inner:"
	"mov %rdi, %rbx; lea 5(%rbx), %rax; test %rax, %rax; ret; .size inner, . - inner; .size enters, . - enters;"
	/* An aligned label in the middle, which data names; behind its call that does not return
	 * stands a function. */
	".p2align 4; .type holds, @function; holds: push %rbx; sub $16, %rsp; mov %rdi, %rbx; cmp $900, %rbx; jbe 1f; jmp *.Lwhere(%rip); 1:"
	"call leaf_of_holds; add %rbx, %rax; add $16, %rsp; pop %rbx; ret;"
	".p2align 4, 0x90; .Llabel: lea .Lwhy(%rip), %rdi; call stops; .size holds, . - holds;"
	".p2align 4; .type unreached, @function; unreached: push %rbx; mov %rdi, %rbx; call leaf_of_holds; pop %rbx; ret;"
	".size unreached, . - unreached; .type leaf_of_holds, @function; leaf_of_holds: lea 9(%rdi), %rax; ret;"
	".size leaf_of_holds, . - leaf_of_holds; .data; .Lwhere: .quad .Llabel; .text;"
	".section .rodata; .Lwhy: .asciz \"fails\"; .text");
uint64_t decoy(uint64_t n), asks(void), enters(uint64_t n), holds(uint64_t n);
void fails(void);
extern const uint8_t table[32];
static const uint8_t *volatile named = table;

NOINLINE static uint64_t bytes_of_table(void)
{
	uint64_t h = 0;

	for (unsigned i = 0; i < sizeof(table); i++)
		h = h * 131 + named[i];
	return h;
}

int main(int argc, char **argv)
{
	static const uint8_t code[] = { 0, 1, 0, 1, 1, 0, 2 };

	if (argc > 1 && !strcmp(argv[1], "fails"))
		fails();
	for (uint64_t i = 0; i < 50; i++) {
		sum += recursive(10) + behind_stops(i) + of_variable_size((unsigned)i) + realigned(i) + interprets(code);
		for (unsigned which = 0; which < 8; which++)
			sum += chooses(which, i);
		sum += sorts() + returns_twice(i) + decoy(i) + asks() + enters(i) + holds(i) + bytes_of_table();
	}
	printf("%llx %llx\n", (unsigned long long)sum, (unsigned long long)bytes_of_table());
	return 0;
}
