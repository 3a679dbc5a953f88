/*
 * Messages of the control sockets (schema/control.md): one packet of text with a verb and a tag,
 * then key=value lines.
 *
 * message_parse splits the lines and decodes percent escapes in the caller's buffer; a struct
 * message points into that buffer. A struct message_writer fills a buffer of the caller and
 * remembers whether it overflowed.
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
	uint64_t tag; /* 0 = none */
	struct {
		const char *key, *value;
	} pairs[MESSAGE_KEYS_MAX];
	size_t n_pairs;
};

/*
 * Parse LEN bytes at TEXT. TEXT[LEN] must be writable, for a terminator. Return false if TEXT is
 * not a message; verb and tag are set as far as they were parsed.
 */
bool message_parse(struct message *m, char *text, size_t len);

/* Return the value of KEY, or NULL. */
const char *message_value(const struct message *m, const char *key);
/*
 * Parse the value of KEY as a decimal number. Return false if KEY is absent or its value is no
 * number.
 */
bool message_number(const struct message *m, const char *key, uint64_t *value);

struct message_writer {
	char *text;
	size_t size, len;
	bool overflow;
};

/* Begin "VERB TAG" (TAG 0: "VERB") in the SIZE bytes at TEXT. */
void message_begin(struct message_writer *w, char *text, size_t size, const char *verb, uint64_t tag);
void message_add(struct message_writer *w, const char *key, const char *value);
void message_add_number(struct message_writer *w, const char *key, uint64_t value);
/* Return the message's length in bytes, or 0 if it did not fit. */
size_t message_end(const struct message_writer *w);

#endif
