/*
 * Runs a fuzz target over its corpus, as a test: fuzz-x DIRECTORY…
 *
 * Each file is tried as it is, then with single bytes changed in a fixed, repeatable way, so that a small corpus reaches some of what
 * a fuzzer would.  With libFuzzer (meson option `fuzzer`) this file is not linked.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#define INPUT_MAX (4u << 20)
#define CHANGES	  400u

/* Each input is a heap block of exactly its size, so that a sanitizer sees any step past it. */
static void try_input(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static void try_changes(uint8_t *data, size_t size)
{
	uint64_t random = 0x9e3779b97f4a7c15;
	unsigned int i;

	for (i = 0; i < CHANGES && size; i++) {
		size_t at;
		uint8_t was;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		/* Half of the changes fall into the first 64 bytes, where most headers are. */
		at = (size_t)(random >> 32) % (i % 2 || size < 64 ? size : 64);
		was = data[at];
		data[at] = i % 8 == 7 ? 0xff : (uint8_t)random;
		try_input(data, i % 16 == 15 ? at : size);
		data[at] = was;
	}
}

static int try_file(const char *directory, const char *name)
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
	try_changes(data, size);
	return 0;
}

static int try_directory(const char *directory, unsigned int *tried)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	int r = 0;

	if (!dir) {
		perror(directory);
		return 1;
	}
	while (!r && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		r = try_file(directory, entry->d_name);
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
