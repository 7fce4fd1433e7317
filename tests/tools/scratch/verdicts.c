/* A test whose verdicts are given: verdicts FILE PF... passes or fails as the next letter says;
 * FILE remembers how often it ran. C crashes it. Every run prints two cases of TAP, and only the
 * second may fail. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int runs_before(const char *path)
{
	FILE *file = fopen(path, "a+");
	int runs;

	if (!file)
		return -1;
	fseek(file, 0, SEEK_END);
	runs = (int)ftell(file);
	fputc('.', file);
	fclose(file);
	return runs;
}

int main(int argc, char **argv)
{
	int run = argc == 3 ? runs_before(argv[1]) : -1;
	char verdict;

	if (run < 0 || run >= (int)strlen(argv[2])) {
		fprintf(stderr, "run %d was not foreseen\n", run);
		return 99;
	}
	verdict = argv[2][run];
	if (verdict == 'C')
		abort();
	printf("ok 1 - steady\n%sok 2 - by chance\n", verdict == 'P' ? "" : "not ");
	if (verdict != 'P')
		printf("# told to fail in run %d\n", run + 1);
	printf("1..2\n");
	fprintf(stderr, "this was run %d\n", run + 1);
	return verdict == 'P' ? 0 : 1;
}
