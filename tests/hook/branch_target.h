/* Lines of `objdump -d`, the truth that plans of probes and hooks are compared with. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The operand of a direct jump, call or loop, as objdump writes it: "jne 41f2a0 <...>". */
static inline bool branch_target(const char *line, uint64_t *target)
{
	const char *tab = strrchr(line, '\t'), *operand;
	char *end;

	if (!tab)
		return false;
	tab++;
	tab += strncmp(tab, "bnd ", 4) == 0 ? 4 : 0;
	if (*tab != 'j' && strncmp(tab, "call", 4) != 0 && strncmp(tab, "loop", 4) != 0)
		return false;
	operand = tab + strcspn(tab, " \n");
	operand += strspn(operand, " ");
	*target = strtoull(operand, &end, 16);
	return end != operand && (*end == ' ' || *end == '\n');
}
