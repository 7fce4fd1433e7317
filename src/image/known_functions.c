/* SPDX-License-Identifier: MIT */
/* Names and types are those of POSIX's manual pages. The list has what people trace and count by;
 * any other function's arguments are the registers, arg1 to arg6. Asked while a process is planned
 * (arguments.c) and for questions of histograms (ui/), on any thread. pthread_once() makes the
 * texts, which stay. Nothing fails. */
#include "image/known_functions.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "event/syscall_names.h"

/* Arguments of constants (docs/arguments.md) have those of a system call's, which the system's
 * headers tell: {CALL ARGUMENT} stands for the names and numbers. */
#define OPENS "E4{open flags}"
#define PROTECTS "e4{mmap prot}"
#define MAPS "E4{mmap flags}"
#define SEEKS "e4{lseek whence}"
#define ACCESSES "e4{access mode}"

/* Lines of base/prototype.h. off_t and size_t have 8 bytes: only ABIs of 64 bits are traced. open's
 * mode is left out, for it is passed with O_CREAT or O_TMPFILE alone (open(2)); otherwise its
 * register has anything. */
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
	{ "open", "d4(pathname=s,flags=" OPENS ")" },
	{ "open64", "d4(pathname=s,flags=" OPENS ")" },
	{ "openat", "d4(dirfd=d4,pathname=s,flags=" OPENS ")" },
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
	{ "mmap",
	  "p(addr=p,length=u8,prot=" PROTECTS ",flags=" MAPS ",fd=d4,offset=d8)" },
	{ "getenv", "p(name=s)" },
	{ "setenv", "d4(name=s,value=s,overwrite=d4)" },
	{ "unsetenv", "d4(name=s)" },
	{ "memchr", "p(s=p,c=d4,n=u8)" },
	{ "strncmp", "d4(s1=s,s2=s,n=u8)" },
	{ "strcasecmp", "d4(s1=s,s2=s)" },
	{ "strchr", "p(s=s,c=d4)" },
	{ "strrchr", "p(s=s,c=d4)" },
	{ "strstr", "p(haystack=s,needle=s)" },
	{ "strcpy", "p(dest=p,src=s)" },
	{ "strndup", "p(s=s,n=u8)" },
	{ "atoi", "d4(nptr=s)" },
	{ "strtol", "d8(nptr=s,endptr=p,base=d4)" },
	{ "strtoul", "u8(nptr=s,endptr=p,base=d4)" },
	{ "openat64", "d4(dirfd=d4,pathname=s,flags=" OPENS ")" },
	{ "fopen64", "p(pathname=s,mode=s)" },
	{ "fclose", "d4(stream=p)" },
	{ "fflush", "d4(stream=p)" },
	{ "fputs", "d4(s=s,stream=p)" },
	{ "puts", "d4(s=s)" },
	{ "perror", "v(s=s)" },
	{ "access", "d4(pathname=s,mode=" ACCESSES ")" },
	{ "stat", "d4(pathname=s,statbuf=p)" },
	{ "stat64", "d4(pathname=s,statbuf=p)" },
	{ "lstat", "d4(pathname=s,statbuf=p)" },
	{ "lstat64", "d4(pathname=s,statbuf=p)" },
	{ "fstat", "d4(fd=d4,statbuf=p)" },
	{ "fstat64", "d4(fd=d4,statbuf=p)" },
	{ "mkdir", "d4(pathname=s,mode=u4)" },
	{ "rmdir", "d4(pathname=s)" },
	{ "unlink", "d4(pathname=s)" },
	{ "rename", "d4(oldpath=s,newpath=s)" },
	{ "chdir", "d4(path=s)" },
	{ "getcwd", "p(buf=p,size=u8)" },
	{ "opendir", "p(name=s)" },
	{ "readdir", "p(dirp=p)" },
	{ "closedir", "d4(dirp=p)" },
	{ "readlink", "d8(pathname=s,buf=p,bufsiz=u8)" },
	{ "realpath", "p(path=s,resolved_path=p)" },
	{ "lseek", "d8(fd=d4,offset=d8,whence=" SEEKS ")" },
	{ "lseek64", "d8(fd=d4,offset=d8,whence=" SEEKS ")" },
	{ "dup2", "d4(oldfd=d4,newfd=d4)" },
	{ "isatty", "d4(fd=d4)" },
	{ "fsync", "d4(fd=d4)" },
	{ "poll", "d4(fds=p,nfds=u8,timeout=d4)" },
	{ "socket", "d4(domain=d4,type=d4,protocol=d4)" },
	{ "connect", "d4(sockfd=d4,addr=p,addrlen=u4)" },
	{ "bind", "d4(sockfd=d4,addr=p,addrlen=u4)" },
	{ "listen", "d4(sockfd=d4,backlog=d4)" },
	{ "accept", "d4(sockfd=d4,addr=p,addrlen=p)" },
	{ "munmap", "d4(addr=p,length=u8)" },
	{ "mprotect", "d4(addr=p,len=u8,prot=" PROTECTS ")" },
	{ "execvp", "d4(file=s,argv=p)" },
	{ "kill", "d4(pid=d4,sig=d4)" },
	{ "waitpid", "d4(pid=d4,wstatus=p,options=d4)" },
	{ "sleep", "u4(seconds=u4)" },
	{ "usleep", "d4(usec=u4)" },
	{ "dlopen", "p(filename=s,flags=d4)" },
	{ "dlsym", "p(handle=p,symbol=s)" },
	{ "pthread_create", "d4(thread=p,attr=p,start_routine=p,arg=p)" },
	{ "pthread_mutex_lock", "d4(mutex=p)" },
	{ "pthread_mutex_unlock", "d4(mutex=p)" },
};

#define KNOWN (sizeof(known) / sizeof(*known))

/* By index of `known`: the prototype with the names and numbers. They are made once and never
 * freed: callers may keep the pointers. */
static char *prototypes[KNOWN];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void write_names(const struct syscall_name *names, FILE *f)
{
	for (; names && names->name; names++)
		fprintf(f, "%s:%u;", names->name, names->value);
}

/* Returns the characters of the name of both, "CALL ARGUMENT". There is no NULL to look for:
 * known_functions' rows name arguments that syscall_names.c has. */
static size_t write_constants(const char *both, FILE *f)
{
	size_t n = strcspn(both, "}"), n_call = strcspn(both, " ");
	char *call = mem_strndup(both, n_call);
	char *argument = mem_strndup(both + n_call + 1, n - n_call - 1);
	const struct syscall_named *named = syscall_named(call, argument);

	write_names(named->symbols, f);
	write_names(named->flags, f);
	free(call);
	free(argument);
	return n;
}

static void make_prototypes(void)
{
	for (size_t i = 0; i < KNOWN; i++) {
		size_t n;
		FILE *f = mem_stream(&prototypes[i], &n);

		for (const char *p = known[i].prototype; *p; p++) {
			fputc(*p, f);
			if (*p == '{')
				p += write_constants(p + 1, f);
		}
		mem_stream_close(f, &prototypes[i]);
	}
}

/* Knows libc's alone: another library may have functions of these names with other parameters.
 * libc.so.6 is glibc's, libc.so musl's. path NULL: the caller knows that libc's is meant. */
const char *known_functions_prototype(const char *path, const char *name)
{
	if (path && strncmp(path_file_name(path), "libc.so", strlen("libc.so")) != 0)
		return NULL;
	pthread_once(&once, make_prototypes);
	for (size_t i = 0; i < KNOWN; i++)
		if (!strcmp(known[i].name, name))
			return prototypes[i];
	return NULL;
}
