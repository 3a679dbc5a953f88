/*
 * A library for LD_PRELOAD: one allocation fails, of those that jansson makes and of the headers that are added to an answer of
 * libmicrohttpd.
 *
 * $FAIL_MEMORY names a file of three native 64-bit numbers, which is mapped. The first one counts the allocations. The second one is
 * how many succeed before one fails; it counts down to -1, then none fails. Those of jansson's parser succeed, unless the third number is 1: then
 * those alone count, and all of them fail when the second number is 0. But the parser leaves out bytes of a string when the buffer of
 * a token cannot grow, and then ends the program by an assertion, so allocations of the buffer's sizes, the powers of two, succeed.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int64_t *counts;
static _Thread_local bool parses;

static bool fails(size_t size)
{
	if (!counts || parses != (counts[2] != 0) || (parses && (size & (size - 1)) == 0))
		return false;
	counts[0]++;
	if (parses)
		return counts[1] == 0 || (counts[1] > 0 && counts[1]-- == 0);
	return counts[1] >= 0 && counts[1]-- == 0;
}

static void *scarce_malloc(size_t size)
{
	return fails(size) ? NULL : malloc(size);
}

__attribute__((constructor)) static void begin(void)
{
	void (*set)(void *(*)(size_t), void (*)(void *)) =
		(void (*)(void *(*)(size_t), void (*)(void *)))dlsym(RTLD_DEFAULT, "json_set_alloc_funcs");
	const char *path = getenv("FAIL_MEMORY");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *mapped =
		fd >= 0 ? mmap(NULL, 3 * sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;

	if (fd >= 0)
		close(fd);
	if (mapped == MAP_FAILED || !set)
		return;
	counts = mapped;
	set(scarce_malloc, free);
}

/* The declarations are in headers that not every build has. */
void *json_loadb(const char *text, size_t n, size_t flags, void *error);
void *json_loadb(const char *text, size_t n, size_t flags, void *error)
{
	void *(*real)(const char *, size_t, size_t, void *) =
		(void *(*)(const char *, size_t, size_t, void *))dlsym(RTLD_NEXT, "json_loadb");
	void *json;

	parses = true;
	json = real ? real(text, n, flags, error) : NULL;
	parses = false;
	return json;
}

void *json_loads(const char *text, size_t flags, void *error);
void *json_loads(const char *text, size_t flags, void *error)
{
	void *(*real)(const char *, size_t, void *) =
		(void *(*)(const char *, size_t, void *))dlsym(RTLD_NEXT, "json_loads");
	void *json;

	parses = true;
	json = real ? real(text, flags, error) : NULL;
	parses = false;
	return json;
}

int MHD_add_response_header(void *response, const char *name, const char *value);
int MHD_add_response_header(void *response, const char *name, const char *value)
{
	int (*real)(void *, const char *, const char *) =
		(int (*)(void *, const char *, const char *))dlsym(RTLD_NEXT, "MHD_add_response_header");

	return fails(3) || !real ? 0 : real(response, name, value);
}
