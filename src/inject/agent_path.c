/* SPDX-License-Identifier: MIT */
/* Only reads the file system, on the session's thread as it starts. session.c calls it. Without the
 * agent's file it fails, and says where it looked. */
#include "inject/agent_path.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define AGENT "libbrace-agent.so"

/* Frees path. True: *out is the real path of a readable file. */
static bool take_path(char *path, char **out)
{
	char *real = access(path, R_OK) == 0 ? realpath(path, NULL) : NULL;

	free(path);
	*out = real;
	return real != NULL;
}

/* The directory of our own executable; the caller frees it. */
static char *own_dir(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	return mem_strdup(path);
}

/* In the order: as built (beside brace), as installed, as configured. realpath(), because programs
 * change their directories. */
int agent_path_find(const char *wanted, char **out, struct err *err)
{
	char *dir = own_dir();
	bool found;

	if (wanted)
		found = take_path(mem_strdup(wanted), out);
	else
		found = take_path(mem_printf("%s/" AGENT, dir), out) ||
			take_path(mem_printf("%s/../lib/brace/" AGENT, dir), out) ||
			take_path(mem_printf(BRACE_LIBDIR "/brace/" AGENT), out);
	free(dir);
	if (!found)
		return err_set(err, ENOENT,
			       "cannot find the agent %s beside brace or in " BRACE_LIBDIR
			       "/brace: "
			       "build it (make) or install it (make install)",
			       wanted ? wanted : AGENT);
	if (strpbrk(*out, ": "))
		return err_set(err, EINVAL,
			       "the agent's path \"%s\" has a colon or a space, which LD_PRELOAD "
			       "cannot express: move it",
			       *out);
	return 0;
}
