/*
 * mprof-run: record a Linux program, unchanged.
 *
 * The program keeps mprof-run's process: mprof-run starts the keeper, puts the shim into LD_PRELOAD
 * and executes the program.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mprof/ring.h>

#include "attach.h"
#include "keeper.h"
#include "kernel-clock.h"
#include "mprof-run-options.h"
#include "program.h"
#include "seccomp-level.h"
#include "shared.h"
#include "xen-guest.h"

#define MEMORY	       "/dev/shm"
#define EXIT_USAGE     2
#define EXIT_CANNOT    125 /* as env(1): mprof-run itself failed */
#define EXIT_NOT_RUN   126
#define EXIT_NOT_FOUND 127
#define RING_DEFAULT   (1u << 20)
#define LIBRARY	       "libmprof-run.so"

#define SANITIZER_ENV	"ASAN_OPTIONS"
#define SANITIZER_ORDER "verify_asan_link_order"

struct options {
	struct keeper_options keeper;
	char *dir;     /* owned; NULL = not found yet */
	char *runtime; /* owned */
	pid_t pid;     /* the process to look at; 0 = run the command */
	char **command;
};

/* Parse TEXT, digits with a K, M or G behind them, as the size of a ring. */
static bool ring_parse(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMG";
	char *rest;
	const char *unit;

	errno = 0;
	*bytes = strtoull(text, &rest, 10);
	unit = *rest ? strchr(units, *rest) : NULL;
	if (unit && !rest[1] && *bytes <= MPROF_RING_BYTES_MAX)
		*bytes <<= 10 * (unit - units + 1);
	else if (*rest)
		return false;
	return !errno && *text >= '0' && *text <= '9' && *bytes >= MPROF_RING_BYTES_MIN &&
	       *bytes <= MPROF_RING_BYTES_MAX;
}

/* Take GIVEN, which names a process to look at, into *O. Return -1 to continue, or the exit code. */
static int pid_take(struct options *o, const struct program_options *given, char **words)
{
	char *rest;
	long pid;

	errno = 0;
	pid = strtol(given->pid, &rest, 10);
	if (errno || *rest || *given->pid < '1' || *given->pid > '9' || pid > INT32_MAX) {
		fprintf(stderr,
			"mprof-run: --pid %s: not the number of a process; write one of those that `ps -e` lists.\n",
			given->pid);
		return EXIT_USAGE;
	}
	if (given->xen || given->keep || given->ring || *words) {
		fprintf(stderr,
			"mprof-run: --pid and %s: a process that runs already is looked at, and not recorded; leave "
			"one out.\n",
			given->xen    ? "--xen"
			: given->keep ? "--keep"
			: given->ring ? "--ring"
				      : "a command");
		return EXIT_USAGE;
	}
	o->pid = (pid_t)pid;
	return -1;
}

/* Parse the command line into *O. Return -1 to continue, or the exit code. */
static int options_parse(struct options *o, int argc, char **argv)
{
	struct program_options given = {0};
	int code = program_options_take(&given, MPROF_VERSION, argc, argv);

	if (code >= 0)
		return code;
	if (given.ring && !ring_parse(given.ring, &o->keeper.ring_bytes)) {
		fprintf(stderr, "mprof-run: --ring %s: not the size of a ring; write 1K to 256M.\n", given.ring);
		return EXIT_USAGE;
	}
	o->keeper.dir = given.dir;
	o->keeper.xen = given.xen;
	o->keeper.keep = given.keep;
	if (given.xen && (given.dir || given.keep)) {
		fprintf(stderr,
			"mprof-run: --xen and --%s: rings that are published to domain 0 are no files; leave one "
			"out.\n",
			given.dir ? "dir" : "keep");
		return EXIT_USAGE;
	}
	o->command = argv + optind;
	if (given.pid)
		return pid_take(o, &given, o->command);
	if (*o->command)
		return -1;
	fputs("mprof-run: no command; write the program to run behind the options, or see --help.\n", stderr);
	return EXIT_USAGE;
}

/* Return whether PATH is a directory of this user's own: another user may have made it first. */
static bool is_own(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* Find the directory, and create the default one. Return false after an error message. */
static bool dir_find(struct options *o)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char *path = NULL;
	int r = 0;

	if (!o->keeper.dir) {
		if (runtime && *runtime == '/')
			r = asprintf(&path, "%s/mprof", runtime);
		else
			r = asprintf(&path, MEMORY "/mprof-%u", (unsigned int)geteuid());
		if (r < 0 || (mkdir(path, 0700) < 0 && errno != EEXIST)) {
			fprintf(stderr, "mprof-run: %s: cannot make this directory: %s; name one with --dir.\n",
				r < 0 ? "the default" : path, strerror(errno));
			return false;
		}
		if (!is_own(path)) {
			fprintf(stderr, "mprof-run: %s is no directory of this user; name one with --dir.\n", path);
			free(path);
			return false;
		}
	}
	o->dir = realpath(path ? path : o->keeper.dir, NULL);
	if (!o->dir || access(o->dir, W_OK | X_OK) < 0) {
		fprintf(stderr, "mprof-run: %s: cannot make rings there: %s.\n", path ? path : o->keeper.dir,
			strerror(errno));
		free(path);
		return false;
	}
	free(path);
	o->keeper.dir = o->dir;
	return true;
}

/* Find where the rings are made: in a directory or in Xen. Return false after an error message. */
static bool place_find(struct options *o)
{
	char text[400];

	if (!o->keeper.xen)
		return dir_find(o);
	o->keeper.ring_bytes = guest_ring_bytes(o->keeper.ring_bytes);
	if (guest_check(o->keeper.ring_bytes, text, sizeof(text)))
		return true;
	fprintf(stderr, "mprof-run: --xen: %s.\n", text);
	return false;
}

/* Return DIR/WAY without symbolic links and dots if it is a file that can be read, or NULL. */
static char *file_beside(const char *dir, const char *way)
{
	char *path, *found = NULL;

	if (asprintf(&path, "%s/%s", dir, way) < 0)
		return NULL;
	if (access(path, R_OK) == 0)
		found = realpath(path, NULL);
	free(path);
	return found;
}

/*
 * Return the path of the shim: beside this program in a build directory, else where it lies from this
 * program in an installation, which may have been moved, else where it was to be installed.
 */
static char *shim_path(void)
{
	static const char way[] = MPROF_RUN_LIBRARY_WAY;
	char self[4096], *path = NULL;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n > 0) {
		self[n] = '\0';
		*strrchr(self, '/') = '\0';
		path = file_beside(self, LIBRARY);
		if (!path && *way)
			path = file_beside(self, way);
	}
	if (!path && access(MPROF_RUN_LIBRARY, R_OK) == 0)
		path = strdup(MPROF_RUN_LIBRARY);
	return path;
}

/* Append the shim to LD_PRELOAD. Return false after an error message. */
static bool preload(void)
{
	const char *before = getenv("LD_PRELOAD");
	char *shim = shim_path(), *value = NULL;
	bool done;

	if (!shim) {
		fprintf(stderr,
			"mprof-run: " LIBRARY " lies neither beside this program, nor in its installation, nor at %s; "
			"install mprof-run again.\n",
			MPROF_RUN_LIBRARY);
		return false;
	}
	if (strpbrk(shim, " :")) {
		fprintf(stderr, "mprof-run: %s: LD_PRELOAD cannot name a path with a space or a colon.\n", shim);
		free(shim);
		return false;
	}
	done = asprintf(&value, "%s%s%s", before ? before : "", before && *before ? ":" : "", shim) >= 0 &&
	       setenv("LD_PRELOAD", value, 1) == 0;
	if (!done)
		fputs("mprof-run: out of memory.\n", stderr);
	free(value);
	free(shim);
	return done;
}

/*
 * gcc's AddressSanitizer ends a program before main() if another library comes before its own. The shim does, and may: its
 * functions call those of the sanitizer. Say so, without other options of the environment. Return false without memory.
 */
static bool sanitizer_tell(void)
{
	const char *before = getenv(SANITIZER_ENV);
	char *value = NULL;
	bool done;

	if (before && strstr(before, SANITIZER_ORDER))
		return true;
	done = asprintf(&value, "%s%s" SANITIZER_ORDER "=0", before ? before : "", before && *before ? ":" : "") >= 0 &&
	       setenv(SANITIZER_ENV, value, 1) == 0;
	free(value);
	return done;
}

/*
 * Make the directory for OCaml's files of runtime events. If that is impossible, these events are not
 * recorded, and the program runs nevertheless.
 */
static void runtime_make(struct options *o)
{
	const char *memory = access(MEMORY, W_OK | X_OK) == 0 ? MEMORY : "/tmp";
	const char *dir = o->dir ? o->dir : memory;

	if (asprintf(&o->runtime, "%s/.runtime-XXXXXX", dir) < 0)
		o->runtime = NULL;
	if (!o->runtime || !mkdtemp(o->runtime)) {
		fprintf(stderr,
			"mprof-run: %s: cannot make a directory there: %s; runtime events of OCaml are not recorded.\n",
			dir, strerror(errno));
		free(o->runtime);
		o->runtime = NULL;
	}
	if (!o->runtime || setenv(RUN_RUNTIME_ENV, o->runtime, 1) < 0)
		unsetenv(RUN_RUNTIME_ENV);
	o->keeper.runtime = o->runtime;
}

/* Remove the directory again: there is no keeper that would. */
static void runtime_remove(const struct options *o)
{
	if (o->runtime)
		rmdir(o->runtime);
}

/* Tell the shim how much of seccomp was on before the program. Return false without memory. */
static bool seccomp_tell(void)
{
	char text[8192], level[24];
	FILE *f = fopen("/proc/self/status", "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	if (f)
		fclose(f);
	text[n] = '\0';
	snprintf(level, sizeof(level), "%" PRId64, seccomp_level(text));
	return setenv(RUN_SECCOMP_ENV, level, 1) == 0;
}

/*
 * Make the directory for OCaml, start the keeper, and prepare the environment. Return false after an
 * error message.
 */
static bool prepare(struct options *o)
{
	char name[80];
	int listening, r;

	runtime_make(o);
	listening = keeper_listen(name, sizeof(name));
	if (listening < 0) {
		fprintf(stderr, "mprof-run: cannot make a socket: %s.\n", strerror(-listening));
		runtime_remove(o);
		return false;
	}
	o->keeper.clock_is_memory = clock_is_memory();
	r = keeper_start(listening, &o->keeper);
	close(listening);
	if (r < 0) {
		fprintf(stderr, "mprof-run: cannot start the keeper: %s.\n", strerror(-r));
		runtime_remove(o);
		return false;
	}
	return setenv(RUN_SOCKET_ENV, name, 1) == 0 && seccomp_tell() && sanitizer_tell();
}

/* Return whether the shim can record the command. Say so if it cannot. */
static bool can_record(const char *command)
{
	static const char *const reasons[] = {
		[PROGRAM_STATIC] = "is statically linked, so it has no C library to watch",
		[PROGRAM_GO] = "is a Go program, whose threads do not wait in the C library",
		[PROGRAM_FOREIGN] = "is built for another processor or another C library",
	};
	enum program_kind kind = program_kind(command);

	if (kind == PROGRAM_DYNAMIC || kind == PROGRAM_UNKNOWN)
		return true;
	fprintf(stderr, "mprof-run: %s %s: it runs, and nothing is recorded.\n", command, reasons[kind]);
	return false;
}

int main(int argc, char **argv)
{
	struct options o = {.keeper.ring_bytes = RING_DEFAULT};
	int code = options_parse(&o, argc, argv);

	if (code >= 0)
		return code;
	code = EXIT_CANNOT;
	if (o.pid) {
		if (dir_find(&o))
			code = attach_run(o.pid, o.dir);
		free(o.dir);
		return code;
	}
	if (!can_record(o.command[0]) || (place_find(&o) && preload() && prepare(&o))) {
		execvp(o.command[0], o.command);
		code = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
		fprintf(stderr, "mprof-run: %s: cannot run it: %s.\n", o.command[0], strerror(errno));
	}
	free(o.dir);
	free(o.runtime);
	return code;
}
