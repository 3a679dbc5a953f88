/* The framing of a request, by RFC 9112, sections 3.2, 5.1, 6.1 and 6.3. */
#include <string.h>
#include <strings.h>

#include "request-framing.h"

/* Return whether the N bytes at NAME are a token. */
static bool is_token(const char *name, size_t n)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < n; i++) {
		char c = name[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		if (!letter && !(c >= '0' && c <= '9') && (!c || !strchr(others, c)))
			return false;
	}
	return n > 0;
}

/* Return whether the N bytes at VALUE have no control character but tabs. */
static bool is_text(const char *value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)value[i] < ' ' ? value[i] != '\t' : value[i] == 0x7f)
			return false;
	return true;
}

/* Parse the N digits at VALUE into *NUMBER; UINT64_MAX = too large. Return false if they are no number. */
static bool parse_number(const char *value, size_t n, uint64_t *number)
{
	size_t i = 0;

	*number = 0;
	for (; i < n && value[i] >= '0' && value[i] <= '9'; i++) {
		unsigned digit = (unsigned)(value[i] - '0');

		*number = *number > (UINT64_MAX - digit) / 10 ? UINT64_MAX : *number * 10 + digit;
	}
	return n > 0 && i == n;
}

static bool is(const char *text, size_t n, const char *word)
{
	return strlen(word) == n && strncasecmp(text, word, n) == 0;
}

#define LINE_END 2u /* bytes of CR and LF */

void request_framing_place(struct request_framing *f, const struct request_line *line)
{
	f->malformed |= line->method + strlen(line->method) + 1 != line->target;
	f->malformed |= line->target + line->target_bytes + 1 != line->version;
	f->next = line->version + strlen(line->version) + LINE_END;
}

void request_framing_end(struct request_framing *f, const char *method, size_t bytes)
{
	f->malformed |= f->next + LINE_END != method + bytes;
}

void request_framing_add(struct request_framing *f, const char *name, size_t name_bytes, const char *value,
			 size_t value_bytes)
{
	f->malformed |= !is_token(name, name_bytes) || !is_text(value, value_bytes);
	if (f->next) {
		f->malformed |= name != f->next;
		f->next = value + value_bytes + LINE_END;
	}
	f->hosts += is(name, name_bytes, "Host");
	if (is(name, name_bytes, "Content-Length")) {
		f->lengths++;
		f->malformed |= !parse_number(value, value_bytes, &f->body);
	} else if (is(name, name_bytes, "Transfer-Encoding")) {
		f->encodings++;
		f->malformed |= !is(value, value_bytes, "chunked");
	} else if (is(name, name_bytes, "Expect")) {
		f->expects = true;
	}
}

bool request_framing_ok(const struct request_framing *f, bool http10)
{
	return !f->malformed && f->hosts <= 1 && f->lengths + f->encodings <= 1 && !(http10 && f->encodings) &&
	       !(f->expects && f->body == 0 && !f->encodings);
}
