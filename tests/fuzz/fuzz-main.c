/*
 * Run a fuzz target over the files of its corpus, as a test: fuzz-x DIRECTORY…
 *
 * Each file is tried as it is, and then with single bytes changed. The changes are the same in each
 * run, so that a small corpus reaches a part of what a fuzzer would reach. The files of a large
 * corpus get fewer changes each. With $MPROF_BRIEF, each file gets one change of each kind. With
 * libFuzzer (meson option `fuzzer`) this file is not linked.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#define INPUT_MAX     (4u << 20)
#define CHANGES	      400u /* most changes per file */
#define CHANGES_LEAST 50u  /* fewest changes per file */
#define CHANGES_ALL   60000u
#define CHANGES_BRIEF 16u /* changes per file of a brief run: one of each kind */

/*
 * Try one input, in memory of exactly its size, so that a sanitizer detects accesses past its end.
 */
static void try_input(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static void try_changes(uint8_t *data, size_t size, unsigned int changes)
{
	uint64_t random = 0x9e3779b97f4a7c15;
	unsigned int i;

	for (i = 0; i < changes && size; i++) {
		size_t at;
		uint8_t was;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		/*
		 * Change a byte; every other time one of the first 64, where headers usually are.
		 */
		at = (size_t)(random >> 32) % (i % 2 || size < 64 ? size : 64);
		was = data[at];
		data[at] = i % 8 == 7 ? 0xff : (uint8_t)random;
		try_input(data, i % 16 == 15 ? at : size);
		data[at] = was;
	}
}

static int try_file(const char *directory, const char *name, unsigned int changes)
{
	static uint8_t data[INPUT_MAX];
	char path[4096];
	FILE *file;
	size_t size;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "rb");
	if (!file) {
		perror(path);
		return 1;
	}
	size = fread(data, 1, sizeof(data), file);
	fclose(file);
	fprintf(stderr, "%s\n", path);
	try_input(data, size);
	try_changes(data, size, changes);
	return 0;
}

/* Return the number of changes per file of DIR. All files together get about CHANGES_ALL. */
static unsigned int changes_of(DIR *dir)
{
	unsigned int files = 0, changes;
	struct dirent *entry;

	while ((entry = readdir(dir)))
		files += entry->d_name[0] != '.';
	rewinddir(dir);
	changes = CHANGES_ALL / (files ? files : 1);
	changes = changes > CHANGES ? CHANGES : changes < CHANGES_LEAST ? CHANGES_LEAST : changes;
	return getenv("MPROF_BRIEF") ? CHANGES_BRIEF : changes;
}

static int try_directory(const char *directory, unsigned int *tried)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	unsigned int changes;
	int r = 0;

	if (!dir) {
		perror(directory);
		return 1;
	}
	changes = changes_of(dir);
	while (!r && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		r = try_file(directory, entry->d_name, changes);
		++*tried;
	}
	closedir(dir);
	return r;
}

int main(int argc, char **argv)
{
	unsigned int tried = 0;
	int i, r = 0;

	for (i = 1; i < argc && !r; i++)
		r = try_directory(argv[i], &tried);
	fprintf(stderr, "%u inputs\n", tried);
	return r || !tried;
}
