/*
 * Messages of the control sockets (schema/control.md): one packet of text, a verb with a tag, then key=value lines.
 *
 * A struct message borrows the buffer that it was parsed from: message_parse cuts the lines apart in place and undoes the percent
 * encoding there.  A struct message_writer fills a buffer of its caller's and remembers when it ran out.
 */
#ifndef COMMON_MESSAGE_H
#define COMMON_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MESSAGE_BYTES_MAX 65536u
#define MESSAGE_KEYS_MAX  16u

struct message {
	const char *verb;
	uint64_t tag; /* 0 where there is none */
	struct {
		const char *key, *value;
	} pairs[MESSAGE_KEYS_MAX];
	size_t n_pairs;
};

/* Parse LEN bytes at TEXT, which has room for a terminator at TEXT[LEN].  False: not a message; verb and tag are set as far as they were read. */
bool message_parse(struct message *m, char *text, size_t len);

/* The value of KEY, or NULL. */
const char *message_value(const struct message *m, const char *key);
/* The value of KEY as a decimal number; false where it is absent or anything else. */
bool message_number(const struct message *m, const char *key, uint64_t *value);

struct message_writer {
	char *text;
	size_t size, len;
	bool overflow;
};

/* Begin "VERB TAG" (TAG 0: "VERB") in SIZE bytes at TEXT. */
void message_begin(struct message_writer *w, char *text, size_t size, const char *verb, uint64_t tag);
void message_add(struct message_writer *w, const char *key, const char *value);
void message_add_number(struct message_writer *w, const char *key, uint64_t value);
/* The message's length, or 0 if it did not fit. */
size_t message_end(const struct message_writer *w);

#endif
