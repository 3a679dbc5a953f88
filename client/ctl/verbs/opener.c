/*
 * Without a desktop xdg-open would take the terminal for a browser of text, which shows nothing of such a page: it is asked only where there is one.
 * A browser may go on for hours, so it is not waited for; what fails does so at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "opener.h"
#include "scope.h"

#define PATIENCE_MS 3000
#define STEP_MS	    20

/* Does it go on, or has it ended well? */
static bool went_well(pid_t pid)
{
	const struct timespec step = {.tv_nsec = STEP_MS * 1000000};
	int status, ms;
	pid_t r = 0;

	for (ms = 0; ms < PATIENCE_MS; ms += STEP_MS) {
		r = waitpid(pid, &status, WNOHANG);
		if (r && !(r < 0 && errno == EINTR))
			return r == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
		nanosleep(&step, NULL);
	}
	return true;
}

/* Away from this terminal, and from our ignoring SIGPIPE. */
static bool start(const char *program, const char *path, posix_spawn_file_actions_t *files, posix_spawnattr_t *how)
{
	char *argv[] = {(char *)program, (char *)path, NULL};
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
	return posix_spawnp(&pid, program, files, how, argv, environ) == 0 && went_well(pid);
}

static bool run(const char *program, const char *path)
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
	started = start(program, path, &files, &how);
	posix_spawnattr_destroy(&how);
	posix_spawn_file_actions_destroy(&files);
	return started;
}

static const char *setting(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

bool opener_run(const char *path)
{
	SCOPED(freep) char *list = strdup(setting("BROWSER"));
	char *rest = list, *program;

	while (rest && (program = strsep(&rest, ":")))
		if (*program && run(program, path))
			return true;
	if (!*setting("DISPLAY") && !*setting("WAYLAND_DISPLAY"))
		return false;
	return run("xdg-open", path) || run("sensible-browser", path);
}
