/*
 * Fuzz the parsers of the XenStore values that guests write: references, numbers, labels, and the
 * text of subtrees and consoles. The check parses the same bytes in another way: a number prints as
 * it was written, references join to the value again, and printable text converts back to the
 * bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "printable.h"
#include "value.h"

#define REFS_MAX 4096u

/* Parse LEN bytes of TEXT as a decimal number by printing it again. Return whether they are one. */
static bool number_judge(const char *text, size_t len, uint32_t *number)
{
	char copy[16] = "", print[16];
	unsigned long long value;

	if (len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	value = strtoull(copy, NULL, 10);
	if (value > UINT32_MAX)
		return false;
	*number = (uint32_t)value;
	snprintf(print, sizeof(print), "%u", *number);
	return len == strlen(print) && memcmp(print, text, len) == 0;
}

static void check_number(const char *text, size_t len)
{
	static const uint32_t ranges[][2] = {{0, UINT32_MAX}, {1, VALUE_PORT_MAX}, {1, 65535}, {0, VALUE_STREAMS - 1}};
	uint32_t want, got = 0;
	bool is = number_judge(text, len, &want);

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		bool in = is && want >= ranges[i][0] && want <= ranges[i][1];

		require(value_number(text, len, ranges[i][0], ranges[i][1], &got) == in);
		require(!in || got == want);
	}
}

/* Return the first error from the left. Look at one reference after the other. */
static enum fault refs_judge(const char *text, size_t len, size_t max)
{
	size_t begin = 0, n = 0;

	for (size_t i = 0; i <= len; i++) {
		uint32_t ref;

		if (i < len && text[i] != ',')
			continue;
		if (!number_judge(text + begin, i - begin, &ref))
			return FAULT_GRAMMAR;
		if (ref < 8)
			return FAULT_REFERENCE;
		if (++n > max)
			return FAULT_PAGES;
		begin = i + 1;
	}
	return FAULT_NONE;
}

static bool twice(const uint32_t *refs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if (refs[i] == refs[k])
				return true;
	return false;
}

static void check_refs(const char *text, size_t len, size_t max)
{
	uint32_t *refs = malloc((max ? max : 1) * sizeof(*refs)), scratch[REFS_MAX];
	enum fault fault;
	size_t n = 77, at = 0;

	require(refs);
	fault = value_refs(text, len, refs, max, &n);
	require(fault == refs_judge(text, len, max));
	require(fault == FAULT_NONE ? n > 0 && n <= max : n == 0);
	for (size_t i = 0; i < n; i++) {
		char print[16];
		int bytes = snprintf(print, sizeof(print), "%s%u", i ? "," : "", refs[i]);

		require(at + (size_t)bytes <= len && memcmp(text + at, print, (size_t)bytes) == 0);
		at += (size_t)bytes;
	}
	require(fault != FAULT_NONE || at == len);
	if (n < 1000)
		require(value_duplicates(refs, n, scratch) == twice(refs, n));
	free(refs);
}

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Check that PRINT is printable, and converts back to exactly LEN bytes of TEXT. */
static void check_print(const char *print, const char *text, size_t len, bool lines)
{
	size_t at = 0;

	for (const char *p = print; *p; at++) {
		uint8_t byte = (uint8_t)*p++;

		require(at < len && byte != 0x7f);
		require(byte >= 0x20 || (lines && (byte == '\n' || (byte == '\r' && *p == '\n'))));
		if (byte == '\\' && *p == 'x') {
			require(hex(p[1]) >= 0 && hex(p[2]) >= 0);
			byte = (uint8_t)(hex(p[1]) << 4 | hex(p[2]));
			require(byte < 0x20 || byte >= 0x7f); /* a printable byte must not be escaped */
			p += 3;
		} else if (byte == '\\') {
			require(*p++ == '\\');
		}
		require(byte == (uint8_t)text[at]);
	}
	require(at == len);
}

static void check_text(const char *text, size_t len)
{
	char to[4 * VALUE_LABEL_MAX + 1];
	bool label = value_label(text, len, to, sizeof(to));

	require(label == (len >= 1 && len <= VALUE_LABEL_MAX));
	if (label)
		check_print(to, text, len, false);
	for (int lines = 0; lines < 2; lines++) {
		char *print = text_printable_bytes(text, len, lines);

		require(print);
		check_print(print, text, len, lines);
		free(print);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;

	if (!text)
		text = "";
	check_number(text, size);
	check_refs(text, size, REFS_MAX);
	check_refs(text, size, 3);
	check_refs(text, size, 0);
	check_text(text, size);
	return 0;
}
