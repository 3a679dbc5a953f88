/*
 * Messages of the control sockets. Another process wrote the message, so this file checks all of
 * it: the text must be UTF-8 without NUL, before and after percent decoding. So every string of a
 * struct message is safe for a log and for JSON.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "message.h"

/*
 * Return the length in bytes of the UTF-8 sequence at P (LEN bytes), or 0 if it is invalid
 * (overlong, surrogate, NUL).
 */
static size_t utf8_sequence(const unsigned char *p, size_t len)
{
	uint32_t c, least;
	size_t n;

	if (p[0] < 0x80)
		return p[0] != 0;
	if (p[0] >= 0xc2 && p[0] < 0xe0) {
		n = 2, least = 0x80, c = p[0] & 0x1fu;
	} else if (p[0] >= 0xe0 && p[0] < 0xf0) {
		n = 3, least = 0x800, c = p[0] & 0x0fu;
	} else if (p[0] >= 0xf0 && p[0] < 0xf5) {
		n = 4, least = 0x10000, c = p[0] & 0x07u;
	} else {
		return 0;
	}
	if (len < n)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3fu);
	}
	return c < least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

bool message_is_text(const char *text, size_t len)
{
	const unsigned char *p = (const unsigned char *)text;

	for (size_t at = 0; at < len;) {
		size_t n = utf8_sequence(p + at, len - at);

		if (n == 0)
			return false;
		at += n;
	}
	return true;
}

/*
 * Return whether TEXT can be a verb or a key: lower-case letters, digits, hyphens and underscores.
 */
static bool is_word(const char *text)
{
	return *text && text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-_")] == '\0';
}

static bool parse_number(const char *text, uint64_t *value)
{
	uint64_t v = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(*text - '0'), &v))
			return false;
	}
	*value = v;
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/*
 * Decode the percent escapes of VALUE in place. Return false if an escape or the decoded text is
 * invalid.
 */
static bool decode_value(char *value)
{
	char *out = value;

	for (const char *in = value; *in; in++) {
		if (*in == '%') {
			int high = hex_digit(in[1]), low = high < 0 ? -1 : hex_digit(in[2]);

			if (low < 0)
				return false;
			*out++ = (char)(high << 4 | low);
			in += 2;
		} else {
			*out++ = *in;
		}
	}
	*out = '\0';
	return message_is_text(value, (size_t)(out - value)); /* also refuses %00, which would end the string */
}

static bool parse_first_line(struct message *m, char *line)
{
	char *space = strchr(line, ' ');

	if (space)
		*space = '\0';
	if (!is_word(line))
		return false;
	m->verb = line;
	return !space || parse_number(space + 1, &m->tag);
}

static bool parse_pair(struct message *m, char *line)
{
	char *equals = strchr(line, '=');

	if (!equals || m->n_pairs == MESSAGE_KEYS_MAX)
		return false;
	*equals = '\0';
	if (!is_word(line) || !decode_value(equals + 1))
		return false;
	m->pairs[m->n_pairs].key = line;
	m->pairs[m->n_pairs++].value = equals + 1;
	return true;
}

bool message_parse(struct message *m, char *text, size_t len)
{
	bool is_valid;
	char *next;

	memset(m, 0, sizeof(*m));
	m->verb = "";
	if (len == 0 || len > MESSAGE_BYTES_MAX)
		return false;
	text[len] = '\0';
	is_valid = message_is_text(text, len);
	/*
	 * Parse the first line even if the text is invalid: the refusal is sent with the tag of
	 * that line.
	 */
	next = strchr(text, '\n');
	if (next)
		*next++ = '\0';
	if (!parse_first_line(m, text) || !is_valid)
		return false;
	while (next && *next) {
		char *line = next;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!parse_pair(m, line))
			return false;
	}
	return true;
}

const char *message_value(const struct message *m, const char *key)
{
	for (size_t i = 0; i < m->n_pairs; i++)
		if (strcmp(m->pairs[i].key, key) == 0)
			return m->pairs[i].value;
	return NULL;
}

bool message_number(const struct message *m, const char *key, uint64_t *value)
{
	const char *text = message_value(m, key);

	return text && parse_number(text, value);
}

static void put(struct message_writer *w, const char *text, size_t len)
{
	if (w->overflow || len > w->size - w->len) {
		w->overflow = true;
		return;
	}
	memcpy(w->text + w->len, text, len);
	w->len += len;
}

static void put_number(struct message_writer *w, uint64_t value)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, value);

	put(w, digits, (size_t)n);
}

void message_begin(struct message_writer *w, char *text, size_t size, const char *verb, uint64_t tag)
{
	*w = (struct message_writer){.text = text, .size = size < MESSAGE_BYTES_MAX ? size : MESSAGE_BYTES_MAX};
	put(w, verb, strlen(verb));
	if (tag) {
		put(w, " ", 1);
		put_number(w, tag);
	}
}

static void put_key(struct message_writer *w, const char *key)
{
	put(w, "\n", 1);
	put(w, key, strlen(key));
	put(w, "=", 1);
}

void message_add(struct message_writer *w, const char *key, const char *value)
{
	put_key(w, key);
	while (*value) {
		size_t plain = strcspn(value, "%\r\n");

		put(w, value, plain);
		value += plain;
		if (*value) {
			put(w, *value == '%' ? "%25" : *value == '\r' ? "%0D" : "%0A", 3);
			value++;
		}
	}
}

void message_add_number(struct message_writer *w, const char *key, uint64_t value)
{
	put_key(w, key);
	put_number(w, value);
}

size_t message_end(const struct message_writer *w)
{
	return w->overflow ? 0 : w->len;
}
