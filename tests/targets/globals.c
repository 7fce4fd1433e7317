/* SPDX-License-Identifier: MIT */
/* Calls take() with pointers to variables, beside them and elsewhere, and tells in the file that
 * ACCOUNT names what is at each: the address, and " <NAME+0xOFFSET>" if it is a variable's. */
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

struct item { int cents; char name[12]; };

struct item table[4];
static struct item hidden;
static const int numbers[3] = { 1, 2, 3 };
static __thread int own;
/* Nothing lies right behind it, as far as the program tells. */
static struct { struct item last; long behind[64]; } apart;

static FILE *account;

APART void *take(void *at)
{
	__asm__ volatile("" : "+r"(at));
	return at;
}

static void pass(void *at, const char *name, size_t offset)
{
	take(at);
	if (!account)
		return;
	fprintf(account, "take(at=0x%lx", (unsigned long)at);
	if (name && offset)
		fprintf(account, " <%s+0x%zx>", name, offset);
	else if (name)
		fprintf(account, " <%s>", name);
	fprintf(account, ")\n");
}

int main(void)
{
	const char *file = getenv("ACCOUNT");
	void *heap = malloc(64);
	int local;

	account = file ? fopen(file, "w") : NULL;
	for (size_t i = 0; i < sizeof(table); i++)
		pass((char *)table + i, "table", i);
	pass(&hidden, "hidden", 0);
	pass(hidden.name, "hidden", 4);
	pass((void *)numbers, "numbers", 0);
	pass((void *)&numbers[2], "numbers", 8);
	pass(&apart.behind[63], "apart", sizeof(apart) - 8);
	pass((char *)&apart.behind[63] + 7, "apart", sizeof(apart) - 1);
	pass(&own, NULL, 0);
	pass(&local, NULL, 0);
	pass(heap, NULL, 0);
	pass((void *)16, NULL, 0);
	pass((void *)main, "main", 0);
	if (account)
		fclose(account);
	free(heap);
	return 0;
}
