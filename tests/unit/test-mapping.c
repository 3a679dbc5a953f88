/*
 * The pages of a ring that a XenStore ring directory lists. The test replaces Xen: reference 8 is
 * page 0, reference 9 is page 1, and so on.
 */
#include <errno.h>
#include <stdlib.h>

#include <mprof/bytes.h>

#include "check.h"
#include "keys.h"
#include "mapping.h"
#include "xen.h"

#define PAGES 8u

static uint8_t pages[PAGES][XEN_PAGE_BYTES];
static int mapped;

int xen_map(struct xen *xen, uint32_t domid, const uint32_t *refs, size_t n, const volatile uint8_t **bytes)
{
	(void)xen;
	CHECK_EQ_UINT(domid, 5);
	CHECK_EQ_UINT(n, 1);
	if (*refs - VALUE_REF_MIN >= PAGES)
		return -EINVAL;
	mapped++;
	*bytes = pages[*refs - VALUE_REF_MIN];
	return 0;
}

void xen_unmap(struct xen *xen, const volatile uint8_t *bytes, size_t n)
{
	(void)xen;
	(void)bytes;
	CHECK_EQ_UINT(n, 1);
	mapped--;
}

/* Write WORD to word I of the directory page with the reference REF. */
static void word_set(uint32_t ref, size_t i, uint32_t word)
{
	mprof_store32(pages[ref - VALUE_REF_MIN] + 4 * i, word);
}

/*
 * Fill the directory page REF with the references FIRST, FIRST + 1 and so on, and with NEXT as the
 * next page.
 */
static void page_fill(uint32_t ref, uint32_t first, uint32_t next)
{
	for (uint32_t i = 0; i < DIRECTORY_REFS; i++)
		word_set(ref, i, first + i);
	word_set(ref, DIRECTORY_REFS, next);
}

/* Find the pages of the directory that begins at reference 8, at most MAX pages. */
static enum fault find(size_t max, size_t *n)
{
	struct keys keys = {.published = true, .directory = 8};
	struct mapping mapping;
	int error = 0;
	enum fault fault = mapping_find(&mapping, NULL, 5, &keys, max, &error);

	*n = mapping.pages;
	CHECK_EQ_INT(mapped, 0);
	CHECK(fault == FAULT_NONE || (!mapping.refs && !mapping.pages));
	mapping_drop(&mapping, NULL);
	memset(pages, 0, sizeof(pages));
	return fault;
}

static void test_pages(void)
{
	size_t n;

	CHECK_EQ_INT(find(100, &n), FAULT_EMPTY); /* all words are zero */
	word_set(8, 1, 100);
	CHECK_EQ_INT(find(100, &n), FAULT_EMPTY);
	word_set(8, 0, 100);
	word_set(8, 1, 101);
	CHECK_EQ_INT(find(2, &n), FAULT_NONE);
	CHECK_EQ_UINT(n, 2);
	word_set(8, 0, 100);
	word_set(8, 1, 101);
	word_set(8, 2, 102);
	CHECK_EQ_INT(find(2, &n), FAULT_PAGES);
	page_fill(8, 100, 9);
	word_set(9, 0, 5000);
	CHECK_EQ_INT(find(DIRECTORY_REFS + 1, &n), FAULT_NONE);
	CHECK_EQ_UINT(n, DIRECTORY_REFS + 1);
	/* If the first page lists MAX pages already, a second directory page is not mapped. */
	page_fill(8, 100, 9);
	word_set(9, 0, 5000);
	CHECK_EQ_INT(find(DIRECTORY_REFS, &n), FAULT_PAGES);
	page_fill(8, 100, 70000);
	CHECK_EQ_INT(find(5000, &n), FAULT_MAP);
}

/* A page that is listed twice is refused, and so is a directory page as a page of the ring. */
static void test_twice(void)
{
	size_t n;

	word_set(8, 0, 100);
	word_set(8, 1, 100);
	CHECK_EQ_INT(find(100, &n), FAULT_DUPLICATE);
	word_set(8, 0, 100);
	word_set(8, 1, 8);
	CHECK_EQ_INT(find(100, &n), FAULT_DUPLICATE);
	page_fill(8, 100, 9);
	word_set(9, 0, 8);
	CHECK_EQ_INT(find(5000, &n), FAULT_DUPLICATE);
	page_fill(8, 100, 9);
	page_fill(9, 3000, 8);
	CHECK_EQ_INT(find(50000, &n), FAULT_DIRECTORY);
}

int main(void)
{
	CHECK_RUN(test_pages);
	CHECK_RUN(test_twice);
	return check_done();
}
