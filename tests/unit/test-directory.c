/*
 * Pages of a XenStore ring directory: references up to the first zero, the next page, and pages
 * that are refused.
 */
#include "check.h"
#include "value.h"

#define WORDS 1024u

static void put(uint8_t *page, size_t i, uint32_t word)
{
	for (size_t k = 0; k < 4; k++)
		page[4 * i + k] = (uint8_t)(word >> (8 * k));
}

/*
 * Write references FIRST, FIRST + 1 and so on to every word of PAGE but the last. Write NEXT to the
 * last word.
 */
static void fill(uint8_t *page, uint32_t first, uint32_t next)
{
	for (uint32_t i = 0; i < DIRECTORY_REFS; i++)
		put(page, i, first + i);
	put(page, WORDS - 1, next);
}

static void test_chain(void)
{
	static uint8_t page[4 * WORDS];
	static uint32_t refs[2 * DIRECTORY_REFS];
	uint32_t next = 1;
	size_t n = 0;

	fill(page, 0xfffffb00u, 0xdeadbeefu);
	CHECK_EQ_INT(directory_page(page, refs, 2 * DIRECTORY_REFS, &n, &next), FAULT_NONE);
	CHECK_EQ_UINT(n, DIRECTORY_REFS);
	CHECK_EQ_UINT(next, 0xdeadbeefu);
	CHECK(refs[0] == 0xfffffb00u && refs[1022] == 0xfffffefeu);
	fill(page, 5000, 0);
	put(page, 2, 0);
	put(page, 3, 1); /* behind the first zero nothing is read, not even the last word */
	put(page, WORDS - 1, 3);
	CHECK_EQ_INT(directory_page(page, refs, 2 * DIRECTORY_REFS, &n, &next), FAULT_NONE);
	CHECK_EQ_UINT(n, DIRECTORY_REFS + 2);
	CHECK_EQ_UINT(next, 0);
	CHECK(refs[1023] == 5000 && refs[1024] == 5001);
}

static void test_empty(void)
{
	static const uint8_t page[4 * WORDS];
	uint32_t next = 1;
	size_t n = 5;

	CHECK_EQ_INT(directory_page(page, NULL, 5, &n, &next), FAULT_NONE);
	CHECK(n == 5 && next == 0);
}

static void test_refused(void)
{
	static uint8_t page[4 * WORDS];
	static uint32_t refs[DIRECTORY_REFS];
	uint32_t next;
	size_t n = 0;

	fill(page, 8, 7);
	CHECK_EQ_INT(directory_page(page, refs, DIRECTORY_REFS, &n, &next), FAULT_REFERENCE);
	n = 0;
	fill(page, 8, 8);
	CHECK_EQ_INT(directory_page(page, refs, DIRECTORY_REFS, &n, &next), FAULT_NONE);
	n = 0;
	CHECK_EQ_INT(directory_page(page, refs, DIRECTORY_REFS - 1, &n, &next), FAULT_PAGES);
	CHECK_EQ_UINT(n, DIRECTORY_REFS - 1);
	n = 1;
	CHECK_EQ_INT(directory_page(page, refs, DIRECTORY_REFS, &n, &next), FAULT_PAGES);
	n = 0;
	put(page, 1022, 7);
	CHECK_EQ_INT(directory_page(page, refs, DIRECTORY_REFS, &n, &next), FAULT_REFERENCE);
}

int main(void)
{
	CHECK_RUN(test_chain);
	CHECK_RUN(test_empty);
	CHECK_RUN(test_refused);
	return check_done();
}
