/* The session's agent socket, with peers that come all at once: processes of this program's, which
 * speak as an agent does, or do not. They say hello, ask for more, and say that they are done, at
 * the same time; one is silent throughout, one ends in the middle, one says what nobody says. The
 * updates must come in order and complete. Also for ThreadSanitizer. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/vec.h"
#include "collect/switches.h"
#include "session/control.h"

enum { PEERS = 6, HELLOS = 4 };

static char cache[] = "/tmp/brace-control-XXXXXX";

struct place { struct sockaddr_un at; socklen_t n; char token[PROTOCOL_TOKEN]; };

/* --- one peer ----------------------------------------------------------------------------- */

static int come(const struct place *to)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&to->at, to->n) < 0)
		_exit(2);
	return fd;
}

static void say(int fd, const struct place *to, enum protocol_request request, uint32_t image)
{
	struct protocol_hello hello = { .request = request, .version = PROTOCOL_VERSION, .image = image };

	memcpy(hello.token, to->token, sizeof(hello.token));
	if (send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello))
		_exit(3);
}

/* The image's number; the memories that come along are let go. */
static uint32_t welcomed(int fd)
{
	struct protocol_setup w;
	char control[CMSG_SPACE(3 * sizeof(int))];
	struct iovec iov = { &w, sizeof(w) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	int fds[3];

	if (recvmsg(fd, &m, 0) != sizeof(w) || !CMSG_FIRSTHDR(&m))
		_exit(4);
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fds));
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	return w.image;
}

static void be_done(int fd)
{
	const struct protocol_done done = { .request = PROTOCOL_DONE };

	if (send(fd, &done, sizeof(done), MSG_NOSIGNAL) != sizeof(done))
		_exit(5);
	close(fd);
}

/* Again and again a new image, and more of it. */
static void behave(const struct place *to)
{
	for (int i = 0; i < HELLOS; i++) {
		int fd = come(to);
		uint32_t image;

		say(fd, to, PROTOCOL_HELLO, MEMORY_NONE);
		image = welcomed(fd);
		be_done(fd);
		fd = come(to);
		say(fd, to, PROTOCOL_DLOPEN, image);
		if (welcomed(fd) != image)
			_exit(6);
		be_done(fd);
	}
	_exit(0);
}

static void misbehave(const struct place *to)
{
	uint8_t nonsense[3] = { 1, 2, 3 };
	struct place stranger = *to;
	int silent = come(to), fd = come(to);

	if (send(fd, nonsense, sizeof(nonsense), MSG_NOSIGNAL) != sizeof(nonsense) || recv(fd, nonsense, 1, 0) > 0)
		_exit(7);
	close(fd);
	fd = come(to);
	say(fd, to, PROTOCOL_DLOPEN, 4711); /* there is no such image */
	if (recv(fd, nonsense, 1, 0) > 0)
		_exit(8);
	stranger.token[PROTOCOL_TOKEN - 1] ^= 1;
	fd = come(to);
	say(fd, &stranger, PROTOCOL_HELLO, MEMORY_NONE);
	if (recv(fd, nonsense, 1, 0) > 0)
		_exit(10);
	fd = come(to);
	say(fd, to, PROTOCOL_HELLO, MEMORY_NONE); /* and is gone */
	if (fd < silent)
		_exit(9);
	_exit(0);
}

/* Peers are made before the threads are: they wait for the socket's name. */
struct crowd { int out; VEC(pid_t) pids; };

static void peer(int in, void (*way)(const struct place *to))
{
	struct place to = { .at.sun_family = AF_UNIX };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(in, &to, sizeof(to)) != sizeof(to))
		_exit(1);
	way(&to);
}

static void crowd_make(struct crowd *c, int n, void (*way)(const struct place *to))
{
	int to_peers[2];

	assert_int_equal(pipe(to_peers), 0);
	c->out = to_peers[1];
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid)
			peer(to_peers[0], way);
		*vec_add(&c->pids) = pid;
	}
	close(to_peers[0]);
}

static void crowd_let_go(struct crowd *c, const char *way)
{
	struct place to = { .at.sun_family = AF_UNIX };
	const size_t length = strcspn(way, ":");

	memcpy(to.at.sun_path + 1, way + 1, length - 1);
	to.n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
	assert_int_equal(strlen(way + length + 1), PROTOCOL_TOKEN);
	memcpy(to.token, way + length + 1, PROTOCOL_TOKEN);
	for (size_t i = 0; i < c->pids.n; i++)
		assert_int_equal(write(c->out, &to, sizeof(to)), sizeof(to));
	close(c->out);
}

static void crowd_end(struct crowd *c)
{
	for (size_t i = 0; i < c->pids.n; i++) {
		int status;

		assert_int_equal(waitpid(c->pids.at[i], &status, 0), c->pids.at[i]);
		assert_int_equal(status, 0);
	}
	vec_free(&c->pids);
}

/* --- the session ----------------------------------------------------------------------------- */

struct fixture {
	struct settings settings;
	struct memories memories;
	struct producers producers;
	struct control *control;
};

static void begin(struct fixture *f)
{
	const struct shared_memory_shape shape = { .mode = MEMORY_STREAM, .settings.tracer = MEMORY_GRAPH, .thread_kb = 1024 };
	struct control_request req = { .settings = &f->settings, .agent_path = "/no/agent", .memories = &f->memories,
				       .producers = &f->producers, .tracer = MEMORY_GRAPH };
	struct err err = { 0 };

	settings_init(&f->settings);
	assert_int_equal(memories_begin(&f->memories, &shape, &err), 0);
	producers_add(&f->producers, switches_producer(switches_new(&f->memories)));
	assert_int_equal(control_start(&req, &f->control, &err), 0);
}

static void end(struct fixture *f)
{
	control_stop(f->control);
	producers_free(&f->producers);
	memories_end(&f->memories);
	settings_free(&f->settings);
}

/* Images in their order, each of them before what is added to it. */
static void take_update(struct fixture *f, uint32_t *images, uint32_t *additions)
{
	struct image_update news;

	while (control_next_update(f->control, &news)) {
		if (news.addition)
			assert_true(news.image < *images);
		else
			assert_int_equal(news.image, (*images)++);
		*additions += news.addition && !news.refused.n;
		image_update_free(&news);
	}
}

static void settings_kept(struct fixture *f, bool *over)
{
	while (!__atomic_load_n(over, __ATOMIC_ACQUIRE))
		control_keep(f->control, &f->settings); /* alone, again and again */
}

struct keeper { struct fixture *f; bool over; };

static void *keep(void *context)
{
	struct keeper *k = context;

	settings_kept(k->f, &k->over);
	return NULL;
}

static void all_come_at_once(void **state)
{
	struct fixture f = { 0 };
	struct crowd good = { 0 }, bad = { 0 };
	struct keeper keeper = { .f = &f };
	uint32_t images = 0, additions = 0;
	pthread_t thread;

	(void)state;
	crowd_make(&good, PEERS, behave);
	crowd_make(&bad, 2, misbehave);
	begin(&f);
	assert_int_equal(pthread_create(&thread, NULL, keep, &keeper), 0);
	crowd_let_go(&bad, control_way(f.control));
	crowd_let_go(&good, control_way(f.control));
	crowd_end(&good);
	crowd_end(&bad);
	__atomic_store_n(&keeper.over, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	control_hear_all(f.control);
	take_update(&f, &images, &additions);
	assert_in_range(images, PEERS * HELLOS, PEERS * HELLOS + 2); /* of those that were gone, maybe */
	assert_int_equal(additions, PEERS * HELLOS);
	assert_false(control_wait_update(f.control, images));
	end(&f);
}

/* A peer that has been welcomed and says no more: the control ends at once all the same. */
static void stay(const struct place *to)
{
	int fd = come(to);

	say(fd, to, PROTOCOL_HELLO, MEMORY_NONE);
	welcomed(fd);
	_exit(recv(fd, &fd, 1, 0) > 0); /* until the tracer goes */
}

static void the_end_waits_for_nobody(void **state)
{
	struct fixture f = { 0 };
	struct crowd silent = { 0 };
	uint32_t images = 0, additions = 0;

	(void)state;
	crowd_make(&silent, 3, stay);
	begin(&f);
	crowd_let_go(&silent, control_way(f.control));
	while (images < 3)
		take_update(&f, &images, &additions);
	end(&f);
	crowd_end(&silent);
}

static int make_cache(void **state)
{
	(void)state;
	return mkdtemp(cache) ? setenv("XDG_CACHE_HOME", cache, 1) : -1;
}

static int remove_cache(void **state)
{
	char *command = mem_printf("rm -r %s", cache);
	int status = system(command);

	(void)state;
	free(command);
	return status;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_come_at_once),
		cmocka_unit_test(the_end_waits_for_nobody),
	};

	return cmocka_run_group_tests(tests, make_cache, remove_cache);
}
