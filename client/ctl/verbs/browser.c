/*
 * Open a page in a browser: one that the variable BROWSER names, or the browser of the desktop.
 * Without a desktop, xdg-open would start a text browser, which cannot show the page. So xdg-open
 * runs only if DISPLAY or WAYLAND_DISPLAY is set.
 *
 * A browser may run for hours, so mprofctl does not wait for its end. mprofctl waits PATIENCE_MS
 * for a failure, because a browser that cannot start ends at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "browser.h"
#include "cleanup.h"

#define PATIENCE_MS 3000
#define STEP_MS	    20
#define WORDS_MAX   64 /* most words of a command in BROWSER */

/* Return true if the process PID still runs after PATIENCE_MS or has ended with exit code 0. */
static bool went_well(pid_t pid)
{
	const struct timespec step = {.tv_nsec = STEP_MS * 1000000};
	int status;
	pid_t r = 0;

	for (int ms = 0; ms < PATIENCE_MS; ms += STEP_MS) {
		r = waitpid(pid, &status, WNOHANG);
		if (r && !(r < 0 && errno == EINTR))
			return r == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
		nanosleep(&step, NULL);
	}
	return true;
}

/*
 * Start the program ARGV in a new session without a terminal, and with the default action for
 * SIGPIPE, which mprofctl ignores. FILES and HOW are initialized and otherwise empty. Return true
 * if the program was started and did not fail.
 */
static bool start(char **argv, posix_spawn_file_actions_t *files, posix_spawnattr_t *how)
{
	sigset_t pipe;
	pid_t pid;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	if (posix_spawnattr_setflags(how, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF) ||
	    posix_spawnattr_setsigdefault(how, &pipe) ||
	    posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDWR, 0) ||
	    posix_spawn_file_actions_adddup2(files, STDIN_FILENO, STDOUT_FILENO) ||
	    posix_spawn_file_actions_adddup2(files, STDIN_FILENO, STDERR_FILENO))
		return false;
	return posix_spawnp(&pid, argv[0], files, how, argv, environ) == 0 && went_well(pid);
}

static bool run(char **argv)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	bool started;

	if (posix_spawn_file_actions_init(&files))
		return false;
	if (posix_spawnattr_init(&how)) {
		posix_spawn_file_actions_destroy(&files);
		return false;
	}
	started = start(argv, &files, &how);
	posix_spawnattr_destroy(&how);
	posix_spawn_file_actions_destroy(&files);
	return started;
}

/*
 * Return a copy of WORD in which PATH replaces each "%s". The caller frees it. Return NULL without
 * memory.
 */
static char *with_path(const char *word, const char *path)
{
	char *whole = strdup(word), *longer;
	size_t at = 0;

	while (whole && strstr(whole + at, "%s")) {
		size_t head = (size_t)(strstr(whole + at, "%s") - whole);

		if (asprintf(&longer, "%.*s%s%s", (int)head, whole, path, whole + head + 2) < 0)
			longer = NULL;
		free(whole);
		whole = longer;
		at = head + strlen(path);
	}
	return whole;
}

/* A program and its arguments. */
struct command {
	char *argv[WORDS_MAX + 1]; /* owned */
	size_t n;
	bool bad; /* too many words, or out of memory */
};

/* Append WORD to C, which then owns WORD. If WORD is NULL or C is full, set C->bad. */
static void command_add(struct command *c, char *word)
{
	c->bad = c->bad || !word || c->n == WORDS_MAX;
	if (c->bad)
		free(word);
	else
		c->argv[c->n++] = word;
}

/*
 * Add the words of LINE, one command of BROWSER, to C. PATH replaces each "%s"; without a "%s" PATH
 * is the last argument.
 */
static void command_read(struct command *c, char *line, const char *path)
{
	bool named = false;
	char *word;

	/* If the whole line is the path of a program, it is one word, even with spaces. */
	if (strchr(line, '/') && access(line, X_OK) == 0) {
		command_add(c, strdup(line));
		line = NULL;
	}
	while ((word = strsep(&line, " \t"))) {
		if (!*word)
			continue;
		named = named || strstr(word, "%s");
		command_add(c, with_path(word, path));
	}
	if (!named)
		command_add(c, strdup(path));
}

static void command_deinit(struct command *c)
{
	while (c->n)
		free(c->argv[--c->n]);
}

static bool run_line(char *line, const char *path)
{
	CLEANUP(command_deinit) struct command c = {0};

	if (!line[strspn(line, " \t")])
		return false;
	command_read(&c, line, path);
	return !c.bad && run(c.argv);
}

static const char *setting(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

bool browser_open(const char *path)
{
	CLEANUP(freep) char *list = strdup(setting("BROWSER"));
	char *rest = list, *line;

	while (rest && (line = strsep(&rest, ":")))
		if (run_line(line, path))
			return true;
	if (!*setting("DISPLAY") && !*setting("WAYLAND_DISPLAY"))
		return false;
	return run((char *[]){"xdg-open", (char *)path, NULL}) ||
	       run((char *[]){"sensible-browser", (char *)path, NULL});
}
