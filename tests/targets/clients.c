/* A small server without a network: clients come, are read, answered, copied and freed, by two
 * threads. Its functions take a `struct client` in every manner: const, by typedef, behind other
 * arguments, two at once, and one only inside of a structure, which nobody can know. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

struct session { char user[12]; int level; };
typedef struct client {
	char pad[200];
	int fd;
	unsigned flags : 3, urgent : 2;
	struct session *session;
	const char *name;
	long served;
	struct client *next;
} client_t;
struct pair { client_t *a; long n; };
struct wide { double x, y, z; };

NOINLINE int parse(const struct client *c, const char *text)
{
	asm volatile("");
	return c->fd + (int)strlen(text);
}

NOINLINE static long answer(long size, client_t *c)
{
	asm volatile("");
	c->served += size;
	return -size;
}

/* Behind a structure that goes on the stack, and numbers in vector registers. */
NOINLINE void measure(struct wide w, double d, float f, struct client *const c)
{
	asm volatile("" ::"x"(d), "x"(f));
	c->served += (long)w.x;
}

NOINLINE void link_to(client_t *from, client_t *to)
{
	asm volatile("");
	from->next = to;
}

NOINLINE long hidden(struct pair p)
{
	asm volatile("");
	return p.a->served + p.n;
}

NOINLINE client_t *copy(const client_t *c)
{
	client_t *n = malloc(sizeof(*n));

	*n = *c;
	n->fd = -1;
	n->session = NULL;
	return n;
}

NOINLINE void handle(client_t *c)
{
	struct wide w = { 1, 2, 3 };
	struct pair p = { c, 2 };

	c->flags = 5;
	parse(c, c->name);
	answer(40 + c->fd, c);
	measure(w, 1, 2, c);
	hidden(p);
	/* From here on the field no longer says which client it is. */
	if (c->fd == 17)
		c->fd = 1017;
	answer(2, c);
}

NOINLINE void drop(client_t *c)
{
	parse(c, "");
	free(c->session);
	free(c);
}

NOINLINE client_t *meet(int fd)
{
	client_t *c = calloc(1, sizeof(*c));

	c->fd = fd;
	c->name = fd % 2 ? "odd" : "even";
	c->session = calloc(1, sizeof(*c->session));
	snprintf(c->session->user, sizeof(c->session->user), "user%d", fd);
	c->session->level = -fd;
	return c;
}

static void *serve(void *first)
{
	for (int fd = (int)(long)first; fd < 40; fd += 2) {
		client_t *c = meet(fd), *other;

		handle(c);
		other = copy(c);
		link_to(other, c);
		parse(other, "copied");
		drop(c);
		drop(other);
	}
	return NULL;
}

/* "wait": tells where the first client is, and waits for a line, so that it can be followed by its
 * address. */
int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc > 1 && !strcmp(argv[1], "wait")) {
		client_t *c = meet(2017);

		printf("%p\n", (void *)c);
		fflush(stdout);
		getchar();
		handle(c);
		drop(c);
		return 0;
	}
	pthread_create(&thread, NULL, serve, (void *)1L);
	serve((void *)0L);
	pthread_join(thread, NULL);
	return 0;
}
