/*
 * Programs with the runtime of OCaml 5.
 *
 * Such a program writes its runtime events into a file, if its environment asks for that. The keeper
 * follows the file. Without an own wish in the environment, the file lies in the keeper's directory
 * and stays at the process's end: the keeper removes it.
 *
 * OCaml ends a program whose directory it cannot write. So the environment asks for nothing that is
 * not possible, for example after a change of the user or of the root.
 */
#include "shim.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel.h"

#define START	 "OCAML_RUNTIME_EVENTS_START"
#define DIR	 "OCAML_RUNTIME_EVENTS_DIR"
#define PRESERVE "OCAML_RUNTIME_EVENTS_PRESERVE"
#define SUFFIX	 ".events"
#define DIGITS	 12u

/* The runtime has this function since OCaml 5.0. In any other program its address is NULL. */
extern void caml_runtime_events_start(void) __attribute__((weak, visibility("default")));

static char path[RUN_RUNTIME_PATH]; /* the directory with a slash, then the name of the file */
static size_t directory_bytes;	    /* 0 = there is no file */

const char *runtime_path(void)
{
	char digits[DIGITS];
	size_t n = DIGITS;
	unsigned long pid = (unsigned long)KERNEL0(SYS_getpid);

	if (!directory_bytes)
		return "";
	for (; n && (pid || n == DIGITS); pid /= 10)
		digits[--n] = (char)('0' + pid % 10);
	memcpy(path + directory_bytes, digits + n, DIGITS - n);
	memcpy(path + directory_bytes + DIGITS - n, SUFFIX, sizeof(SUFFIX));
	return path;
}

/* Store DIRECTORY, which may be relative, if it is not too long. */
static void directory_set(const char *directory)
{
	size_t n = 0, bytes = strlen(directory);

	if (*directory != '/') {
		if (!getcwd(path, sizeof(path)))
			return;
		n = strlen(path);
		path[n++] = '/';
	}
	if (n + bytes + 1 + DIGITS + sizeof(SUFFIX) > sizeof(path))
		return;
	memcpy(path + n, directory, bytes);
	n += bytes;
	path[n++] = '/';
	directory_bytes = n;
}

/* Ask for a file in the keeper's directory OWN, if the program can write there. */
static void own_begin(const char *own)
{
	if (access(own, W_OK | X_OK) == 0 && setenv(DIR, own, 1) == 0 && setenv(PRESERVE, "1", 1) == 0 &&
	    setenv(START, "1", 1) == 0)
		directory_set(own);
	else
		unsetenv(START);
}

/* The environment has a wish of its own: the program keeps the file as it says. */
static void users_begin(void)
{
	const char *directory = getenv(DIR);

	setenv(START, "1", 0);
	directory_set(directory ? directory : ".");
}

/* A forked child begins before its runtime makes a file of its own. */
static void forked(void)
{
	struct self *s = self_enter();

	if (s)
		self_leave(s);
	runtime_clear();
}

void runtime_clear(void)
{
	if (directory_bytes)
		KERNEL3(SYS_unlinkat, AT_FDCWD, runtime_path(), 0);
}

void runtime_start(void)
{
	const char *own = getenv(RUN_RUNTIME_ENV), *directory = getenv(DIR);

	if (!caml_runtime_events_start || !own || !*own)
		return;
	if (directory ? strcmp(directory, own) == 0 : !getenv(START) && !getenv(PRESERVE))
		own_begin(own);
	else
		users_begin();
	pthread_atfork(NULL, NULL, forked);
}
