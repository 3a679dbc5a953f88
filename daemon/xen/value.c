/*
 * Parse the values that guests write. A value is read once from left to right, and the first fault
 * is returned. No character is skipped or corrected.
 */
#include "value.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "printable.h"

struct fault_text {
	const char *name, *sentence;
};

static const struct fault_text faults[FAULT_MAX] = {
	[FAULT_NONE] = {"none", "nothing is wrong"},
	[FAULT_GRAMMAR] = {"grammar", "a value is not of its form: decimal numbers without spaces, signs or leading "
				      "zeros, references with single commas between them"},
	[FAULT_REFERENCE] = {"reference", "a grant reference is below 8: Xen keeps 0 to 7 for itself"},
	[FAULT_DUPLICATE] = {"duplicate",
			     "a grant reference stands twice: each page of a guest's rings has a reference of its own"},
	[FAULT_PAGES] = {"pages", "too many pages: one ring, and a guest's rings together, may have 65536 (256 MiB)"},
	[FAULT_HOST_PAGES] = {"host-pages", "this host's pages for traces are used up: see the key pages of [xen] in "
					    "mprofd.conf"},
	[FAULT_STREAMS] = {"streams", "too many streams, or a number that is none: a guest may have 64, of numbers "
				      "from 1 to 1023 beside stream 0"},
	[FAULT_BOTH] = {"both", "ring-ref and directory-ref are both there: write one of them"},
	[FAULT_STREAM_ZERO] = {"stream-zero",
			       "stream/0 stands beside the keys right below data/mprof: they are stream 0 already"},
	[FAULT_MAP] = {"map", "Xen does not map its pages: each must be granted to domain 0, and stay so until the "
			      "keys are removed"},
	[FAULT_DIRECTORY] = {"directory", "its directory pages go round, or are more than its ring can need: the last "
					  "word of a page is the next one, or 0"},
	[FAULT_EMPTY] = {"empty", "its directory page lists no page: the first word is 0, which ends the list"},
	[FAULT_RING] = {"ring", "its pages hold no ring: every packet must have a valid header before the keys are "
				"written"},
	[FAULT_CHANGES] = {"changes", "its keys change too often, more than 400 times in a second or 1000 in a minute, "
				      "or its ring more than 10 times: "
				      "they are looked at again after a minute"},
	[FAULT_EVENT_CHANNEL] = {"event-channel", "its event channel is no port of 1 to 131071, or cannot be bound: it "
						  "must be unbound and meant for domain 0; the ring is polled"},
	[FAULT_STORE] = {"store", "XenStore does not give out its keys"},
};

const char *fault_name(enum fault fault)
{
	return (unsigned)fault < FAULT_MAX ? faults[fault].name : "unknown";
}

const char *fault_sentence(enum fault fault)
{
	return (unsigned)fault < FAULT_MAX ? faults[fault].sentence : "an unknown fault";
}

bool value_number(const char *text, size_t len, uint32_t min, uint32_t max, uint32_t *number)
{
	uint64_t value = 0;

	if (len < 1 || len > 10 || (text[0] == '0' && len > 1))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(text[i] - '0');
	}
	if (value < min || value > max)
		return false;
	*number = (uint32_t)value;
	return true;
}

enum fault value_refs(const char *text, size_t len, uint32_t *refs, size_t max, size_t *n)
{
	size_t at = 0, count = 0;

	*n = 0;
	for (;;) {
		const char *comma = memchr(text + at, ',', len - at);
		size_t end = comma ? (size_t)(comma - text) : len;
		uint32_t ref;

		if (!value_number(text + at, end - at, 0, UINT32_MAX, &ref))
			return FAULT_GRAMMAR;
		if (ref < VALUE_REF_MIN)
			return FAULT_REFERENCE;
		if (count == max)
			return FAULT_PAGES;
		refs[count++] = ref;
		if (!comma)
			break;
		at = end + 1;
	}
	*n = count;
	return FAULT_NONE;
}

bool value_label(const char *text, size_t len, char *to, size_t size)
{
	CLEANUP(freep) char *printable = NULL;

	if (len < 1 || len > VALUE_LABEL_MAX)
		return false;
	printable = text_printable_bytes(text, len, false);
	if (!printable || strlen(printable) >= size)
		return false;
	strcpy(to, printable);
	return true;
}

static int ref_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

bool value_duplicates(const uint32_t *refs, size_t n, uint32_t *scratch)
{
	bool ascending = true;

	/* Guests mostly write ascending references, which need no sorting. */
	for (size_t i = 1; i < n && ascending; i++)
		ascending = refs[i - 1] < refs[i];
	if (ascending)
		return false;
	memcpy(scratch, refs, n * sizeof(*refs));
	qsort(scratch, n, sizeof(*scratch), ref_compare);
	for (size_t i = 1; i < n; i++)
		if (scratch[i - 1] == scratch[i])
			return true;
	return false;
}

/* ---- directory pages ------------------------------------------------------------------------- */

static uint32_t word(const uint8_t *page, size_t i)
{
	const uint8_t *p = page + 4 * i;

	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

enum fault directory_page(const uint8_t *page, uint32_t *refs, size_t max, size_t *n, uint32_t *next)
{
	*next = 0;
	for (size_t i = 0; i < DIRECTORY_REFS; i++) {
		uint32_t ref = word(page, i);

		if (!ref)
			return FAULT_NONE;
		if (ref < VALUE_REF_MIN)
			return FAULT_REFERENCE;
		if (*n >= max)
			return FAULT_PAGES;
		refs[(*n)++] = ref;
	}
	*next = word(page, DIRECTORY_REFS);
	return *next && *next < VALUE_REF_MIN ? FAULT_REFERENCE : FAULT_NONE;
}
