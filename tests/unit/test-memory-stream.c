/* Streams of open_memstream() that are closed: whether their text is whole. */
#include <stdlib.h>

#include "check.h"
#include "memory-stream.h"

static ssize_t take(void *cookie, const char *bytes, size_t n)
{
	(void)cookie;
	(void)bytes;
	return (ssize_t)n;
}

static ssize_t refuse(void *cookie, const char *bytes, size_t n)
{
	(void)cookie;
	(void)bytes;
	(void)n;
	return 0;
}

static void test_whole(void)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = open_memstream(&text, &bytes);

	CHECK(f && fputs("all", f) >= 0);
	CHECK(memory_stream_close(f, &text));
	CHECK(bytes == 3 && strcmp(text, "all") == 0);
	free(text);
	f = open_memstream(&text, &bytes);
	CHECK(f && memory_stream_close(f, &text) && bytes == 0 && text[0] == '\0');
	free(text);
}

/* Without memory for the text, fclose() of glibc returns 0, and the text is absent. */
static void test_absent(void)
{
	char *text = NULL;
	FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = take});

	CHECK(f && fputs("all", f) >= 0);
	CHECK(!memory_stream_close(f, &text));
}

/* Without memory for more of the text, fclose() fails, and a part is there. */
static void test_part(void)
{
	char part[] = "a", *text = part;
	FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = refuse});

	CHECK(f && fputs("all", f) >= 0);
	CHECK(!memory_stream_close(f, &text));
}

int main(void)
{
	CHECK_RUN(test_whole);
	CHECK_RUN(test_absent);
	CHECK_RUN(test_part);
	return check_done();
}
