/* SPDX-License-Identifier: MIT */
/* What the slides of the talk look at, in a program: ip_rcv_core(skb) with skb->dev->name, malloc,
 * openat, netif_receive_skb, a thread that another one wakes. Each line that it reads is a round,
 * which it answers: 3 packets, 10 + 20 + 30 bytes, /etc/passwd and a file that is not there, 5
 * wakings. */
#include <brace/event.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct net_device { char name[16]; };
struct sk_buff { void *next, *prev; struct net_device *dev; };
_Static_assert(__builtin_offsetof(struct sk_buff, dev) == 0x10, "as on the slide");

BRACE_EVENT(net, netif_receive_skb, BRACE_PROTO(struct sk_buff *skb), BRACE_ARGS(skb),
	BRACE_FIELDS(BRACE_FIELD(unsigned long, skbaddr, (unsigned long)skb), BRACE_FIELD(unsigned, len, 64), BRACE_STRING(name, skb->dev->name)),
	BRACE_PRINT("dev=%s skbaddr=%p len=%u", __get_str(name), (void *)REC->skbaddr, REC->len))

static struct net_device devices[2] = { { "enp1s0" }, { "lo" } };
static struct sk_buff packets[3] = { { .dev = &devices[0] }, { .dev = &devices[0] }, { .dev = &devices[1] } };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int wakings, woken, worker_tid;
static const char worker_name[16] = "worker";

__attribute__((noipa)) long ip_rcv_core(struct sk_buff *skb, void *net)
{
	return (long)skb->dev + (long)net;
}

static void *worker(void *arg)
{
	pthread_setname_np(pthread_self(), worker_name);
	pthread_mutex_lock(&lock);
	worker_tid = (int)syscall(SYS_gettid);
	pthread_cond_broadcast(&changed);
	for (;;) {
		while (woken == wakings)
			pthread_cond_wait(&changed, &lock);
		woken = wakings;
		pthread_cond_broadcast(&changed);
	}
	return arg;
}

static void wake(void)
{
	pthread_mutex_lock(&lock);
	wakings++;
	pthread_cond_broadcast(&changed);
	while (woken != wakings)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void one_round(void)
{
	int file = open("/etc/passwd", O_RDONLY);

	close(file);
	close(open("/nonexistent/talk", O_RDONLY));
	for (int i = 0; i < 3; i++) {
		char *volatile p = malloc((size_t)(i + 1) * 10);

		free(p);
		ip_rcv_core(&packets[i], packets);
		brace_net_netif_receive_skb(&packets[i]);
	}
	for (int i = 0; i < 5; i++)
		wake();
}

int main(void)
{
	static char out[64];
	pthread_t thread;
	char c;

	pthread_create(&thread, NULL, worker, NULL);
	pthread_mutex_lock(&lock);
	while (!worker_tid)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	snprintf(out, sizeof(out), "ready %d\n", worker_tid);
	if (write(1, out, strlen(out)) < 0)
		return 1;
	while (read(0, &c, 1) == 1 && c != 'q')
		if (c == '\n') {
			one_round();
			if (write(1, "done\n", 5) < 0)
				return 1;
		}
	return 0;
}
