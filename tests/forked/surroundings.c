/* surroundings: what a process inherits from its parent, as text. */
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "cleanup.h"
#include "fork-request.h"

/* Copy the lines of the file PATH that begin with one of the N words of BEGIN; all lines if N is 0. */
static bool print_lines(FILE *f, const char *path, const char *const *begin, size_t n)
{
	CLEANUP(fclosep) FILE *file = fopen(path, "re");
	char line[4096];

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		bool wanted = n == 0;

		for (size_t i = 0; i < n && !wanted; i++)
			wanted = strncmp(line, begin[i], strlen(begin[i])) == 0;
		if (wanted)
			fputs(line, f);
	}
	return true;
}

static bool print_namespaces(FILE *f)
{
	static const char *const names[] = {"mnt", "net", "user", "pid", "ipc", "uts", "cgroup"};
	struct stat s;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		if (stat(path, &s) < 0)
			return false;
		fprintf(f, "%s: %ju\n", names[i], (uintmax_t)s.st_ino);
	}
	if (stat("/", &s) < 0)
		return false;
	fprintf(f, "root: %ju %ju\n", (uintmax_t)s.st_dev, (uintmax_t)s.st_ino);
	return true;
}

static void print_variables(FILE *f)
{
	/* GLIBC_TUNABLES is not among them: it is for Python's memory (tests/steps.sh), and sanitizers bring an allocator of their own. */
	static const char *const begin[] = {"ASAN_",   "LSAN_",	   "UBSAN_",   "LD_PRELOAD",
					    "LD_BIND", "LD_DEBUG", "OPENSSL_", "GNUTLS_"};

	for (size_t i = 0; i < ARRAY_SIZE(begin); i++)
		for (char **variable = environ; *variable; variable++)
			if (strncmp(*variable, begin[i], strlen(begin[i])) == 0)
				fprintf(f, "%s\n", *variable);
}

bool surroundings_print(FILE *f)
{
	static const char *const lines[] = {
		"TracerPid:", "Uid:",	 "Gid:",    "Groups:",	"SigBlk:",     "CapInh:",      "CapPrm:",
		"CapEff:",    "CapBnd:", "CapAmb:", "Seccomp:", "NoNewPrivs:", "Cpus_allowed:"};

	print_variables(f);
	return print_lines(f, "/proc/self/status", lines, ARRAY_SIZE(lines)) &&
	       print_lines(f, "/proc/self/limits", NULL, 0) && print_namespaces(f);
}
