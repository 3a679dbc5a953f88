#include <mprof/trace.h>

#include "csv-text.h"

#define PIECE	    8192u
#define REPLACEMENT "\xef\xbf\xbd"

/*
 * Return true if a spreadsheet may take TEXT for a formula. Some spreadsheets also interpret the
 * full-width forms of the signs =, +, - and @.
 */
static bool is_risky(const char *text, size_t len)
{
	static const char *const wide[] = {"\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0"};

	if (len && memchr("=+-@'\t\r\n", text[0], 8))
		return true;
	for (size_t i = 0; i < 4; i++)
		if (len >= 3 && memcmp(text, wide[i], 3) == 0)
			return true;
	return false;
}

/*
 * Return the number of bytes of the UTF-8 character at TEXT, or 0 if the bytes are no valid
 * character.
 */
static size_t character(const char *text, size_t len)
{
	for (size_t n = 1; n <= 4 && n <= len; n++)
		if (mprof_text_is_utf8(text, n))
			return n;
	return 0;
}

/* Write a text between the quotes of a cell: double each quote, and replace each invalid byte by U+FFFD. VALID: the text is valid UTF-8. */
static void put_inside(struct writer *w, const char *text, size_t len, bool valid)
{
	size_t i = 0, n;

	while (i < len && !w->error) {
		size_t stop = len - i < PIECE ? len : i + PIECE, used = 0;
		char *out = writer_room(w, 3 * (PIECE + 4));

		while (i < stop) {
			n = valid ? 1 : character(text + i, len - i);
			if (text[i] == '"')
				out[used++] = '"';
			memcpy(out + used, n ? text + i : REPLACEMENT, n ? n : 3);
			used += n ? n : 3;
			i += n ? n : 1;
		}
		writer_advance(w, used);
	}
}

void csv_text_put(struct writer *w, const char *text, size_t len)
{
	bool risky = is_risky(text, len);

	writer_put(w, risky ? "\"'" : "\"", risky ? 2 : 1);
	put_inside(w, text, len, mprof_text_is_utf8(text, len));
	writer_put(w, "\"", 1);
}
