// SPDX-License-Identifier: MIT
/* operate TREE OPERATIONS: does to a directory of ftrace's what the operations say, one a line, and
 * prints what came of it. It is run in a kernel's tracefs and in a tree of brace's, and the answers
 * are compared (compare.py); so it has no opinion of its own: it prints errors by name, and what
 * the files then say, as it is.
 *
 *	t FILE TEXT...         open as a shell's > does, write each, close; then what the file
 *	                       says, and the error_log
 *	a FILE TEXT...         as >> does
 *	w FILE TEXT...         neither truncated nor appended to
 *	T, A, W                the same, but the file is not read
 *	r FILE [LINES]         what it says (its first lines)
 *	s FILE                 the same, of which only the shape is compared: numbers and blanks
 *	                       are not
 *	n FILE                 the first word of each line, sorted
 *	open NAME FLAGS FILE   a descriptor that stays: r, w, rw, with t, a, n (O_NONBLOCK)
 *	read NAME BYTES (sread: its shape), write NAME TEXT, seek NAME OFFSET, close NAME
 *	mkdir rmdir unlink create DIRECTORY|FILE; rename A B; link A B; symlink A B;
 *	truncate FILE SIZE
 *	chmod MODE FILE; mode FILE; ls DIRECTORY
 *
 * A TEXT is a word or "...", with \n \t \\ \" \xHH; "..."*N repeats it; %{NAME} in it is the number
 * of the line that NAME has in available_filter_functions. A line that begins with # is printed
 * only. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORDS = 16, SLOTS = 16, TEXT = 1 << 20 };

struct text {
	char *bytes;
	size_t length;
};

struct slot {
	char name[32];
	int fd;
};

static struct slot slots[SLOTS];
static char buffer[TEXT];

static const char *name_of(long result)
{
	static char number[32];

	if (result < 0)
		return strerrorname_np(errno);
	snprintf(number, sizeof(number), "%ld", result);
	return number;
}

static void say(const char *what, long result)
{
	printf("%s %s\n", what, result < 0 ? strerrorname_np(errno) : "ok");
}

/* The whole file, cut at what the buffer holds; how far it came before an error. */
static ssize_t slurp(const char *file, int *error)
{
	int fd = open(file, O_RDONLY | O_NONBLOCK);
	ssize_t n, length = 0;

	*error = fd < 0 ? errno : 0;
	if (fd < 0)
		return -1;
	while ((n = read(fd, buffer + length, sizeof(buffer) - 1 - (size_t)length)) > 0)
		length += n;
	*error = n < 0 ? errno : 0;
	close(fd);
	buffer[length] = 0;
	return length;
}

static void print_lines(const char *mark, long most)
{
	char *line = buffer, *end;

	for (; *line && most; line = end, most--) {
		end = strchrnul(line, '\n');
		printf("%s %.*s\n", mark, (int)(end - line), line);
		end += *end == '\n';
	}
}

static void show(const char *file, long most)
{
	int error;
	ssize_t length = slurp(file, &error);

	if (length > 0)
		print_lines("|", most);
	if (error)
		printf("| (%s)\n", strerrorname_np(error));
}

/* The text of the top directory's error_log, which is then cleared. */
static void show_errors(void)
{
	int error, fd;

	if (slurp("error_log", &error) <= 0)
		return;
	print_lines("!", -1);
	fd = open("error_log", O_WRONLY | O_TRUNC);
	if (fd >= 0)
		close(fd);
}

static long number_of(const char *function)
{
	size_t length = strlen(function);
	long number = 1;
	char *line;
	int error;

	if (slurp("available_filter_functions", &error) <= 0)
		return 0;
	for (line = buffer; *line; line = strchrnul(line, '\n'), line += *line == '\n', number++)
		if (!strncmp(line, function, length) && isspace((unsigned char)line[length]))
			return number;
	return 0;
}

static char *put_number(char *out, const char **in)
{
	char name[128] = "";

	sscanf(*in, "%%{%127[^}]}", name);
	*in += strlen(name) + 3;
	return out + sprintf(out, "%ld", number_of(name));
}

static char *put_escaped(char *out, const char **in)
{
	unsigned byte;
	int used;

	switch (*(*in)++) {
	case 'n': *out++ = '\n'; break;
	case 't': *out++ = '\t'; break;
	case 'x':
		if (sscanf(*in, "%2x%n", &byte, &used) == 1) {
			*out++ = (char)byte;
			*in += used;
		}
		break;
	default: *out++ = (*in)[-1];
	}
	return out;
}

static void repeat(struct text *text, const char **in)
{
	long times = strtol(*in + 1, (char **)in, 10), i;
	char *bytes = malloc(text->length * (size_t)times + 1);

	for (i = 0; i < times; i++)
		memcpy(bytes + (size_t)i * text->length, text->bytes, text->length);
	text->bytes = bytes;
	text->length *= (size_t)times;
	bytes[text->length] = 0;
}

/* One word of an operation, or a text in quotes. */
static int next_word(const char **in, struct text *text)
{
	char *out = text->bytes = malloc(strlen(*in) * 2 + 64);
	int quoted;

	*in += strspn(*in, " ");
	if (!**in)
		return 0;
	quoted = **in == '"';
	*in += quoted;
	while (**in && **in != (quoted ? '"' : ' ')) {
		if (**in == '\\' && (*in)[1]) {
			++*in;
			out = put_escaped(out, in);
		} else if (!strncmp(*in, "%{", 2)) {
			out = put_number(out, in);
		} else {
			*out++ = *(*in)++;
		}
	}
	*in += quoted && **in;
	*out = 0;
	text->length = (size_t)(out - text->bytes);
	if (**in == '*')
		repeat(text, in);
	return 1;
}

static void write_file(int verb, struct text *words, int n)
{
	static const char kinds[] = "taw";
	static const int flags[] = {O_TRUNC | O_CREAT, O_APPEND | O_CREAT, 0};
	const char *file = words[1].bytes;
	int fd = open(file, O_WRONLY | flags[strchr(kinds, tolower(verb)) - kinds], 0666), i;

	printf("open %s", fd < 0 ? strerrorname_np(errno) : "ok");
	for (i = 2; fd >= 0 && i < n; i++)
		printf(" write %s", name_of(write(fd, words[i].bytes, words[i].length)));
	if (fd >= 0)
		printf(" close %s", close(fd) ? strerrorname_np(errno) : "ok");
	printf("\n");
	if (islower(verb))
		show(file, -1);
	show_errors();
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void print_names(const char *file)
{
	static char *names[TEXT / 2];
	size_t n = 0, i;
	char *line;
	int error;

	if (slurp(file, &error) < 0) {
		printf("| (%s)\n", strerrorname_np(error));
		return;
	}
	for (line = strtok(buffer, "\n"); line; line = strtok(NULL, "\n")) {
		line[strcspn(line, " \t")] = 0;
		names[n++] = line;
	}
	qsort(names, n, sizeof(*names), compare);
	for (i = 0; i < n; i++)
		printf("| %s\n", names[i]);
}

static void list(const char *directory)
{
	struct dirent **entries;
	int n = scandir(directory, &entries, NULL, alphasort), i;

	if (n < 0)
		printf("| (%s)\n", strerrorname_np(errno));
	for (i = 0; i < n; i++)
		if (entries[i]->d_name[0] != '.')
			printf("| %s%s\n", entries[i]->d_name, entries[i]->d_type == DT_DIR ? "/" : "");
}

static void print_mode(const char *file)
{
	struct stat st;

	if (stat(file, &st))
		printf("| (%s)\n", strerrorname_np(errno));
	else
		printf("| %06o %s size %lld\n", (unsigned)st.st_mode, st.st_uid == getuid() ? "mine" : "another's",
		       (long long)st.st_size);
}

static struct slot *slot_of(const char *name, int fresh)
{
	int i;

	for (i = 0; i < SLOTS; i++) {
		if (fresh ? !slots[i].name[0] : !strcmp(slots[i].name, name))
			return &slots[i];
	}
	return NULL;
}

static void open_slot(struct text *words)
{
	const char *how = words[2].bytes;
	int flags = strstr(how, "rw") ? O_RDWR : strchr(how, 'w') ? O_WRONLY : O_RDONLY;
	struct slot *slot;
	int fd;

	flags |= (strchr(how, 't') ? O_TRUNC : 0) | (strchr(how, 'a') ? O_APPEND : 0) | (strchr(how, 'n') ? O_NONBLOCK : 0);
	fd = open(words[3].bytes, flags);
	say("open", fd);
	slot = fd < 0 ? NULL : slot_of("", 1);
	if (!slot)
		return;
	snprintf(slot->name, sizeof(slot->name), "%s", words[1].bytes);
	slot->fd = fd;
}

static void use_slot(const char *verb, struct text *words)
{
	struct slot *slot = slot_of(words[1].bytes, 0);
	ssize_t n;

	if (!slot) {
		printf("not open\n");
		return;
	}
	if (!strcmp(verb, "close")) {
		say("close", close(slot->fd));
		slot->name[0] = 0;
	} else if (!strcmp(verb, "write")) {
		printf("write %s\n", name_of(write(slot->fd, words[2].bytes, words[2].length)));
	} else if (!strcmp(verb, "seek")) {
		printf("seek %s\n", name_of(lseek(slot->fd, atol(words[2].bytes), SEEK_SET)));
	} else {
		n = read(slot->fd, buffer, (size_t)atol(words[2].bytes));
		printf("read %s\n", name_of(n));
		buffer[n < 0 ? 0 : n] = 0;
		print_lines("|", -1);
	}
	if (!strstr(verb, "read"))
		show_errors();
}

static int create(const char *file)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_EXCL, 0666);

	return fd < 0 ? fd : close(fd);
}

/* Operations on names, and not on the contents of files. */
static int directory_operation(const char *verb, struct text *words, long *result)
{
	const char *a = words[1].bytes, *b = words[2].bytes;

	if (!strcmp(verb, "mkdir"))
		*result = mkdir(a, 0777);
	else if (!strcmp(verb, "rmdir"))
		*result = rmdir(a);
	else if (!strcmp(verb, "unlink"))
		*result = unlink(a);
	else if (!strcmp(verb, "create"))
		*result = create(a);
	else if (!strcmp(verb, "rename"))
		*result = rename(a, b);
	else if (!strcmp(verb, "link"))
		*result = link(a, b);
	else if (!strcmp(verb, "symlink"))
		*result = symlink(a, b);
	else if (!strcmp(verb, "truncate"))
		*result = truncate(a, atol(b));
	else if (!strcmp(verb, "chmod"))
		*result = chmod(b, (mode_t)strtol(a, NULL, 8));
	else
		return 0;
	return 1;
}

static void operate(const char *line)
{
	struct text words[WORDS] = {0};
	const char *rest = line, *verb;
	long result;
	int n = 0;

	while (n < WORDS && next_word(&rest, &words[n]))
		n++;
	verb = words[0].bytes;
	if (strlen(verb) == 1 && strchr("tawTAW", *verb))
		write_file(*verb, words, n);
	else if (!strcmp(verb, "r") || !strcmp(verb, "s"))
		show(words[1].bytes, n > 2 ? atol(words[2].bytes) : -1);
	else if (!strcmp(verb, "n"))
		print_names(words[1].bytes);
	else if (!strcmp(verb, "ls"))
		list(words[1].bytes);
	else if (!strcmp(verb, "mode"))
		print_mode(words[1].bytes);
	else if (!strcmp(verb, "open"))
		open_slot(words);
	else if (directory_operation(verb, words, &result))
		say(verb, result);
	else
		use_slot(verb, words);
}

int main(int argc, char **argv)
{
	FILE *operations = argc == 3 ? fopen(argv[2], "r") : NULL;
	char *line = NULL;
	size_t room = 0;
	ssize_t length;

	if (!operations || chdir(argv[1])) {
		fprintf(stderr, "usage: operate TREE OPERATIONS\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((length = getline(&line, &room, operations)) > 0) {
		line[strcspn(line, "\n")] = 0;
		if (*line)
			printf("%s%s\n", *line == '#' ? "" : "> ", line);
		if (*line && *line != '#')
			operate(line);
	}
	printf("# end\n");
	return 0;
}
