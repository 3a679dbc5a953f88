/*
 * Fuzz the pages of ring directories. The input is a sequence of pages, of which the last is filled
 * up with zeros. Each page is parsed as if the page before it named it. The check parses the page
 * in another way: it looks for the first zero, the first invalid reference, and the end of the
 * room.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "value.h"

#define PAGE	4096u
#define WORDS	(PAGE / 4)
#define PAGES	4u
#define REFS	(3 * DIRECTORY_REFS / 2) /* less than two full pages have */
#define NOWHERE SIZE_MAX

/* Return the index of the first of N words that is less than LIMIT, or NOWHERE. */
static size_t first_below(const uint32_t *words, size_t n, uint32_t limit)
{
	for (size_t i = 0; i < n; i++)
		if (words[i] < limit)
			return i;
	return NOWHERE;
}

static enum fault judge(const uint32_t *words, size_t room, size_t *taken, uint32_t *next)
{
	size_t zero = first_below(words, DIRECTORY_REFS, 1);
	size_t refs = zero == NOWHERE ? DIRECTORY_REFS : zero;
	size_t bad = first_below(words, refs, 8);

	*next = zero == NOWHERE ? words[WORDS - 1] : 0;
	*taken = refs;
	if (bad == NOWHERE && refs <= room)
		return *next > 0 && *next < 8 ? FAULT_REFERENCE : FAULT_NONE;
	return bad != NOWHERE && bad <= room ? FAULT_REFERENCE : FAULT_PAGES;
}

/* Parse PAGE, and check the result. Return whether the directory has a next page. */
static bool check_page(const uint8_t *page, uint32_t *refs, size_t *n)
{
	uint32_t words[WORDS], next = 77, want_next;
	size_t before = *n, taken;
	enum fault fault, want;

	memcpy(words, page, PAGE);
	for (size_t i = 0; i < WORDS; i++)
		words[i] = le32toh(words[i]);
	want = judge(words, REFS - before, &taken, &want_next);
	fault = directory_page(page, refs, REFS, n, &next);
	require(fault == want && *n >= before && *n <= REFS);
	if (fault != FAULT_NONE)
		return false;
	require(*n == before + taken && next == want_next);
	require(taken == 0 || memcmp(refs + before, words, taken * sizeof(*words)) == 0);
	return next != 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t *refs = malloc(REFS * sizeof(*refs));
	size_t n = 0;

	require(refs);
	for (size_t i = 0; i < PAGES; i++) {
		uint8_t *page = calloc(1, PAGE);
		size_t at = i * PAGE < size ? i * PAGE : size;
		bool more;

		require(page);
		if (at < size)
			memcpy(page, data + at, size - at < PAGE ? size - at : PAGE);
		more = check_page(page, refs, &n);
		free(page);
		if (!more)
			break;
	}
	free(refs);
	return 0;
}
