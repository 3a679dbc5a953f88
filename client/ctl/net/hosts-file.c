/*
 * This file reads the file with named hosts. Every line is checked, also those of other hosts: a bad
 * line is reported when it is written, and not when its host is needed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "cleanup.h"
#include "ctl.h"
#include "hosts-file.h"
#include "hosts.h"
#include "suggestion.h"

#define LINE_MAX_  4096u
#define FILE_BYTES (1u << 20) /* longest file */
#define BLANKS	   " \t\r\n"

void named_host_deinit(struct named_host *h)
{
	char *strings[] = {h->name, h->address, h->ca, h->cert, h->key, h->token};

	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		free(strings[i]);
	*h = (struct named_host){0};
}

/* The file while it is read. */
struct hosts_reader {
	char *path; /* owned */
	FILE *f;    /* owned; NULL if the file does not exist */
	char *line; /* owned */
	size_t room;
	size_t number;	 /* number of the present line, from 1 */
	bool silent;	 /* report no errors */
	char seen[8192]; /* the names so far, with a blank in front of and behind each */
};

static void reader_deinit(struct hosts_reader *r)
{
	fclosep(&r->f);
	free(r->path);
	free(r->line);
}

static char *file_path(void)
{
	const char *file = getenv("MPROFCTL_HOSTS"), *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char *path = NULL;
	int n;

	if (file && *file)
		return strdup(file);
	if (config && config[0] == '/')
		n = asprintf(&path, "%s/mprofctl/hosts", config);
	else
		n = asprintf(&path, "%s/.config/mprofctl/hosts", home ? home : "");
	return n < 0 ? NULL : path;
}

/* Open the file. A file that does not exist is no error. Return an exit code. */
static int reader_open(struct hosts_reader *r)
{
	struct stat st;
	int fd;

	r->path = file_path();
	if (!r->path)
		return say_memory();
	fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return CTL_OK;
	r->f = fd < 0 ? NULL : fdopen(fd, "r");
	if (r->f && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= FILE_BYTES)
		return CTL_OK;
	if (!r->silent)
		say("cannot read the hosts file %s: %s", r->path,
		    !r->f ? strerror(errno) : "it is no file of at most 1 MiB");
	return CTL_FAILED;
}

/* Report that the present line is wrong, and the reason. Return CTL_FAILED. */
static int bad_line(const struct hosts_reader *r, const char *why, const char *word)
{
	if (!r->silent)
		say("%s:%zu: %s \"%s\"; a line is NAME ADDRESS [ca=FILE] [cert=FILE] [key=FILE] [token=FILE]", r->path,
		    r->number, why, word);
	return CTL_FAILED;
}

/*
 * Return the path of FILE in the hosts file: "~/" is the home directory, and a relative path begins
 * in the directory of the hosts file. The caller frees it. Return NULL without memory.
 */
static char *path_of(const struct hosts_reader *r, const char *file)
{
	const char *home = getenv("HOME"), *slash = strrchr(r->path, '/');
	char *path = NULL;
	int n;

	if (strncmp(file, "~/", 2) == 0)
		n = asprintf(&path, "%s/%s", home ? home : "", file + 2);
	else if (file[0] == '/' || !slash)
		return strdup(file);
	else
		n = asprintf(&path, "%.*s/%s", (int)(slash - r->path), r->path, file);
	return n < 0 ? NULL : path;
}

/* Take "KEY=FILE" into H. Return an exit code. */
static int take_file(const struct hosts_reader *r, struct named_host *h, const char *word)
{
	const struct {
		const char *key;
		char **slot;
	} files[] = {{"ca=", &h->ca}, {"cert=", &h->cert}, {"key=", &h->key}, {"token=", &h->token}};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		size_t n = strlen(files[i].key);

		if (strncmp(word, files[i].key, n) != 0)
			continue;
		if (!word[n] || *files[i].slot)
			return bad_line(r, word[n] ? "a second" : "no file behind", files[i].key);
		*files[i].slot = path_of(r, word + n);
		return *files[i].slot ? CTL_OK : say_memory();
	}
	return bad_line(r, "there is no setting", strncmp(word, "mprof_", 6) == 0 ? "mprof_…" : word);
}

/* Remember NAME. Return false if an earlier line has the same name. */
static bool is_new(struct hosts_reader *r, const char *name)
{
	char spaced[72];
	size_t used = strlen(r->seen), n = (size_t)snprintf(spaced, sizeof(spaced), " %s ", name);

	if (strstr(r->seen, spaced))
		return false;
	if (used + n < sizeof(r->seen))
		memcpy(r->seen + used, spaced, n + 1);
	return true;
}

/* Parse the present line, which has a first word WORD, into H. Return an exit code. */
static int parse(struct hosts_reader *r, struct named_host *h, char *word, char **rest)
{
	int code = CTL_OK;

	if (!hosts_is_name(word, strlen(word)))
		return bad_line(r, "a name has letters, digits, \".\", \"_\" and \"-\", unlike", word);
	if (!is_new(r, word))
		return bad_line(r, "an earlier line has the name", word);
	h->name = strdup(word);
	word = strtok_r(NULL, BLANKS, rest);
	if (!word || !strchr(word, ':'))
		return bad_line(r, "an address (https://HOST:PORT, ssh:HOST or unix:PATH) is missing behind",
				h->name ? h->name : "");
	h->address = strdup(word);
	while (!code && (word = strtok_r(NULL, BLANKS, rest)))
		code = take_file(r, h, word);
	return code || (h->name && h->address) ? code : say_memory();
}

/* Read the next host into H, which is empty. Return an exit code; without H->name the file is over. */
static int reader_next(struct hosts_reader *r, struct named_host *h)
{
	char *word, *rest;
	ssize_t n;

	while (r->f && (n = getline(&r->line, &r->room, r->f)) >= 0) {
		r->number++;
		if ((size_t)n > LINE_MAX_ || memchr(r->line, 0, (size_t)n))
			return bad_line(r, "the line is too long or has a zero byte:", "");
		word = strtok_r(r->line, BLANKS, &rest);
		if (word && word[0] != '#')
			return parse(r, h, word, &rest);
	}
	return CTL_OK;
}

/* Report that there is no host NAME. NEAR is a similar name, or "". Return CTL_USAGE. */
static int no_host(const struct hosts_reader *r, const char *name, const char *near)
{
	if (near[0])
		return say_usage(NULL, "there is no host \"%s\" in %s; did you mean %s?", name, r->path, near);
	return say_usage(NULL,
			 "there is no host \"%s\" in %s%s; --host takes such a name, https://HOST:PORT, ssh:HOST or "
			 "unix:PATH",
			 name, r->path, r->f ? "" : ", which does not exist");
}

int hosts_file_find(struct named_host *h, const char *name, size_t len)
{
	CLEANUP(reader_deinit) struct hosts_reader r = {0};
	CLEANUP(freep) char *wanted = strndup(name, len);
	struct suggestion suggestion = {.word = wanted};
	char near[72] = "";
	int code = wanted ? reader_open(&r) : say_memory();

	*h = (struct named_host){0};
	while (!code) {
		struct named_host one = {0};

		code = reader_next(&r, &one);
		if (code || !one.name) {
			named_host_deinit(&one);
			break;
		}
		if (strcmp(one.name, wanted) == 0) {
			*h = one;
			continue;
		}
		suggestion.best = near[0] ? near : NULL;
		suggestion_consider(&suggestion, one.name);
		if (suggestion.best && suggestion.best != near)
			snprintf(near, sizeof(near), "%s", suggestion.best);
		named_host_deinit(&one);
	}
	return code || h->name ? code : no_host(&r, wanted, near);
}

void hosts_file_each(void (*each)(void *context, const char *name, const char *address), void *context)
{
	CLEANUP(reader_deinit) struct hosts_reader r = {.silent = true};
	bool more = reader_open(&r) == CTL_OK;

	while (more) {
		struct named_host one = {0};

		more = reader_next(&r, &one) == CTL_OK && one.name;
		if (more)
			each(context, one.name, one.address);
		named_host_deinit(&one);
	}
}
