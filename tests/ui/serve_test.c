/* The server of a session in the background (daemon/serve.h): what its clients' threads use may be
 * freed when serve_run has returned. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/mem.h"
#include "daemon/ask.h"
#include "daemon/serve.h"

#define NAME "serve-test"

static sem_t asked;
static atomic_bool returned, used_late;

/* serve_request.is_over: stays for a second once it was asked, in which serve_run would return
 * if it did not wait. */
static bool is_over(void *context)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	sem_post(&asked);
	for (int i = 0; i < 1000 && !returned; i++)
		nanosleep(&ms, NULL);
	if (returned)
		used_late = true;
	return false;
}

static void *serve(void *server)
{
	serve_run(server);
	returned = true;
	return NULL;
}

static void *wait_for_end(void *unused)
{
	struct err err;

	ask_wait(NAME, &err);
	return NULL;
}

static void nobody_is_served_behind_the_end(void **state)
{
	const struct serve_request req = { .name = NAME, .is_over = is_over };
	struct server *server;
	pthread_t serving, waiting;
	struct err err;

	(void)state;
	sem_init(&asked, 0, 0);
	assert_int_equal(serve_open(&req, &server, &err), 0);
	assert_int_equal(pthread_create(&serving, NULL, serve, server), 0);
	assert_int_equal(pthread_create(&waiting, NULL, wait_for_end, NULL), 0);
	while (sem_wait(&asked) && errno == EINTR)
		;
	serve_stop(server);
	pthread_join(serving, NULL);
	serve_close(server);
	pthread_join(waiting, NULL);
	assert_false(used_late);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(nobody_is_served_behind_the_end) };
	char dir[] = "/tmp/serve-test.XXXXXX", *command;
	int failed;

	if (!mkdtemp(dir) || setenv("XDG_RUNTIME_DIR", dir, 1))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	command = mem_printf("rm -r %s", dir);
	failed |= system(command) != 0;
	free(command);
	return failed;
}
