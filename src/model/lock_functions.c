/* SPDX-License-Identifier: MIT */
/* A table, and the search in it. Constants: any thread. Nothing fails but the look-up of a name. */
#include "model/lock_functions.h"

#include <string.h>

/* In glibc one function is both spin_unlock and spin_init: of a lock that is not held it releases
 * nothing. */
const struct lock_function lock_functions[] = {
	{ "pthread_mutex_lock", LOCK_MUTEX, ACT_TAKE },
	{ "pthread_mutex_trylock", LOCK_MUTEX, ACT_TRY },
	{ "pthread_mutex_timedlock", LOCK_MUTEX, ACT_TAKE },
	{ "pthread_mutex_clocklock", LOCK_MUTEX, ACT_TAKE },
	{ "pthread_mutex_unlock", LOCK_MUTEX, ACT_RELEASE },
	{ "pthread_rwlock_rdlock", LOCK_RWLOCK, ACT_SHARED },
	{ "pthread_rwlock_wrlock", LOCK_RWLOCK, ACT_TAKE },
	{ "pthread_rwlock_tryrdlock", LOCK_RWLOCK, ACT_TRY_SHARED },
	{ "pthread_rwlock_trywrlock", LOCK_RWLOCK, ACT_TRY },
	{ "pthread_rwlock_timedrdlock", LOCK_RWLOCK, ACT_SHARED },
	{ "pthread_rwlock_timedwrlock", LOCK_RWLOCK, ACT_TAKE },
	{ "pthread_rwlock_clockrdlock", LOCK_RWLOCK, ACT_SHARED },
	{ "pthread_rwlock_clockwrlock", LOCK_RWLOCK, ACT_TAKE },
	{ "pthread_rwlock_unlock", LOCK_RWLOCK, ACT_RELEASE },
	{ "pthread_spin_lock", LOCK_SPIN, ACT_TAKE },
	{ "pthread_spin_trylock", LOCK_SPIN, ACT_TRY },
	{ "pthread_spin_unlock", LOCK_SPIN, ACT_RELEASE },
	{ "pthread_spin_init", LOCK_SPIN, ACT_RELEASE },
	{ "pthread_cond_wait", LOCK_COND, ACT_WAIT },
	{ "pthread_cond_timedwait", LOCK_COND, ACT_WAIT },
	{ "pthread_cond_clockwait", LOCK_COND, ACT_WAIT },
	{ "sem_wait", LOCK_SEM, ACT_TAKE },
	{ "sem_timedwait", LOCK_SEM, ACT_TAKE },
	{ "sem_clockwait", LOCK_SEM, ACT_TAKE },
	{ "sem_trywait", LOCK_SEM, ACT_TRY },
	{ NULL, LOCK_KINDS_N, ACT_TAKE },
};

/* Underscores in front and a symbol's version behind do not count:
 * __pthread_mutex_lock@GLIBC_2.2.5 is pthread_mutex_lock. */
const struct lock_function *lock_function_find(const char *name, size_t n)
{
	while (n && *name == '_') {
		name++;
		n--;
	}
	for (const struct lock_function *f = lock_functions; f->name; f++) {
		size_t length = strlen(f->name);

		if (n >= length && !strncmp(name, f->name, length) &&
		    (n == length || name[length] == '@'))
			return f;
	}
	return NULL;
}
