/* A program for the commands of "I want to ...": a function with an argument, memory, calls that
 * last, an event, and a system call that fails. With an argument it waits until its input ends. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "brace/event.h"

BRACE_EVENT(shop, sale,
	BRACE_PROTO(int sum),
	BRACE_ARGS(sum),
	BRACE_FIELDS(
		BRACE_FIELD(int, sum, sum)),
	BRACE_PRINT("sum=%d", REC->sum))

__attribute__((noinline)) int price(int count)
{
	char *volatile memory = malloc((size_t)count);
	int sum = 0;

	for (int i = 0; i < count; i++)
		sum += memory ? i : 0;
	free(memory);
	usleep(5000);
	return sum;
}

int main(int argc, char **argv)
{
	char byte;
	int sum = 0;

	for (int i = 1; i < 6; i++)
		sum += price(i);
	brace_shop_sale(sum);
	sum += open("/nonexistent/file", O_RDONLY);
	if (argc > 1)
		while (read(0, &byte, 1) > 0)
			continue;
	return sum < 0;
}
