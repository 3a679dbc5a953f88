/*
 * A library for LD_PRELOAD: one allocation fails, of those that jansson makes and of the headers that are added to an answer of
 * libmicrohttpd.
 *
 * $FAIL_MEMORY names a file of two native 64-bit numbers, which is mapped. The first one counts the allocations. The second one is
 * how many succeed before one fails; it counts down to -1, then none fails.
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

static bool fails(void)
{
	if (!counts)
		return false;
	counts[0]++;
	return counts[1] >= 0 && counts[1]-- == 0;
}

static void *scarce_malloc(size_t size)
{
	return fails() ? NULL : malloc(size);
}

__attribute__((constructor)) static void begin(void)
{
	void (*set)(void *(*)(size_t), void (*)(void *)) =
		(void (*)(void *(*)(size_t), void (*)(void *)))dlsym(RTLD_DEFAULT, "json_set_alloc_funcs");
	const char *path = getenv("FAIL_MEMORY");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *mapped =
		fd >= 0 ? mmap(NULL, 2 * sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;

	if (fd >= 0)
		close(fd);
	if (mapped == MAP_FAILED || !set)
		return;
	counts = mapped;
	set(scarce_malloc, free);
}

/* The declaration is in a header that not every build has. */
int MHD_add_response_header(void *response, const char *name, const char *value);
int MHD_add_response_header(void *response, const char *name, const char *value)
{
	int (*real)(void *, const char *, const char *) =
		(int (*)(void *, const char *, const char *))dlsym(RTLD_NEXT, "MHD_add_response_header");

	return fails() || !real ? 0 : real(response, name, value);
}
