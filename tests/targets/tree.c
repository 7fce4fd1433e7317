#include "tree.h"

#include <string.h>

__thread struct tree tree_own;
__thread struct tree *tree_now;
static char *text;
static size_t n_text, room;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int coroutines;

void tree_log(char sign, const char *name)
{
	char line[128];
	int n;

	if (!tree_now)
		tree_now = &tree_own;
	if (tree_now->coroutine)
		n = snprintf(line, sizeof(line), "co%d %d %c%s\n", tree_now->coroutine, tree_now->depth, sign, name);
	else
		n = snprintf(line, sizeof(line), "%ld %d %c%s\n", syscall(SYS_gettid), tree_now->depth, sign, name);
	pthread_mutex_lock(&lock);
	if (n_text + (size_t)n > room) {
		room = room ? 2 * room : 65536;
		text = realloc(text, room);
	}
	memcpy(text + n_text, line, (size_t)n);
	n_text += (size_t)n;
	pthread_mutex_unlock(&lock);
}

void tree_cut(int depth)
{
	while (tree_now->depth > depth) {
		tree_now->depth--;
		tree_log('-', tree_now->open[tree_now->depth]);
	}
}

void tree_coroutine(struct tree *t)
{
	*t = (struct tree){ .coroutine = ++coroutines };
}

void tree_write(const char *path)
{
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	size_t done = 0;

	while (fd >= 0 && done < n_text) {
		ssize_t n = write(fd, text + done, n_text - done);

		require(n > 0, "the account can be written");
		done += (size_t)n;
	}
	close(fd);
}
