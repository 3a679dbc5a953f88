/*
 * Messages of the control sockets (schema/control.md). A message is one packet of text: a line with
 * a verb and a tag, then lines key=value.
 *
 * message_parse() splits the lines and decodes percent escapes in the caller's buffer; the struct
 * message points into that buffer. A struct message_writer builds a message in a buffer of the
 * caller and records whether the message fitted.
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
	uint64_t tag; /* number that the answer repeats; 0 = none */
	struct {
		const char *key, *value;
	} pairs[MESSAGE_KEYS_MAX];
	size_t n_pairs;
};

/*
 * Parse the LEN bytes at TEXT in place. TEXT[LEN] must be writable, for a terminator. Return false
 * if TEXT is not a valid message; M then has the verb and the tag if these were valid.
 */
bool message_parse(struct message *m, char *text, size_t len);

/* Return whether the LEN bytes at TEXT are UTF-8 without NUL. */
bool message_is_text(const char *text, size_t len);

/* Return the decoded value of KEY, or NULL if M has no such key. */
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

/*
 * Begin the message "VERB TAG", or "VERB" if TAG is 0, in the SIZE bytes at TEXT. The text stays
 * the caller's.
 */
void message_begin(struct message_writer *w, char *text, size_t size, const char *verb, uint64_t tag);
void message_add(struct message_writer *w, const char *key, const char *value);
void message_add_number(struct message_writer *w, const char *key, uint64_t value);
/* Return the message's length in bytes, or 0 if it did not fit. */
size_t message_end(const struct message_writer *w);

#endif
