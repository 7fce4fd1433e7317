/* SPDX-License-Identifier: MIT */
/* Names and types are those of POSIX. The list has what people count by; any other function's
 * arguments are $arg1 to $arg6. No state. */
#include "ui/known_functions.h"

#include <stddef.h>
#include <string.h>

#include "base/path.h"

static const struct { const char *name, *prototype; } known[] = {
	{ "malloc", "p(size=u8)" },
	{ "calloc", "p(nmemb=u8,size=u8)" },
	{ "realloc", "p(ptr=p,size=u8)" },
	{ "reallocarray", "p(ptr=p,nmemb=u8,size=u8)" },
	{ "aligned_alloc", "p(alignment=u8,size=u8)" },
	{ "posix_memalign", "d4(memptr=p,alignment=u8,size=u8)" },
	{ "free", "v(ptr=p)" },
	{ "memcpy", "p(dest=p,src=p,n=u8)" },
	{ "memmove", "p(dest=p,src=p,n=u8)" },
	{ "memset", "p(s=p,c=d4,n=u8)" },
	{ "memcmp", "d4(s1=p,s2=p,n=u8)" },
	{ "strlen", "u8(s=s)" },
	{ "strcmp", "d4(s1=s,s2=s)" },
	{ "strdup", "p(s=s)" },
	{ "open", "d4(pathname=s,flags=d4)" },
	{ "open64", "d4(pathname=s,flags=d4)" },
	{ "openat", "d4(dirfd=d4,pathname=s,flags=d4)" },
	{ "fopen", "p(pathname=s,mode=s)" },
	{ "close", "d4(fd=d4)" },
	{ "read", "d8(fd=d4,buf=p,count=u8)" },
	{ "write", "d8(fd=d4,buf=p,count=u8)" },
	{ "pread", "d8(fd=d4,buf=p,count=u8,offset=d8)" },
	{ "pwrite", "d8(fd=d4,buf=p,count=u8,offset=d8)" },
	{ "fread", "u8(ptr=p,size=u8,nmemb=u8,stream=p)" },
	{ "fwrite", "u8(ptr=p,size=u8,nmemb=u8,stream=p)" },
	{ "send", "d8(sockfd=d4,buf=p,len=u8,flags=d4)" },
	{ "recv", "d8(sockfd=d4,buf=p,len=u8,flags=d4)" },
	{ "mmap", "p(addr=p,length=u8,prot=d4,flags=d4,fd=d4,offset=d8)" },
	{ "getenv", "p(name=s)" },
};

/* Knows libc alone: another library may have functions of these names with other parameters. */
const char *known_function(const char *path, const char *name)
{
	if (strncmp(path_file_name(path), "libc.so", strlen("libc.so")) != 0)
		return NULL;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(known[i].name, name))
			return known[i].prototype;
	return NULL;
}
