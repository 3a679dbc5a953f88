/*
 * Fuzz the messages of control sockets with any bytes. A message that parses has at most the
 * allowed size, lies inside the buffer, and stays the same when it is written and parsed again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "message.h"

static void check_inside(const char *text, size_t len, const char *part)
{
	require(part >= text && part <= text + len && part + strlen(part) <= text + len);
}

/* Write the parsed message and parse the result, which must be the same message. */
static void check_again(const struct message *m)
{
	static char text[4 * MESSAGE_BYTES_MAX + 1];
	struct message_writer w;
	struct message again;
	size_t len;

	message_begin(&w, text, sizeof(text) - 1, m->verb, m->tag);
	for (size_t i = 0; i < m->n_pairs; i++)
		message_add(&w, m->pairs[i].key, m->pairs[i].value);
	len = message_end(&w);
	require(len <= sizeof(text) - 1);
	if (len == 0 || len > MESSAGE_BYTES_MAX)
		return;
	require(message_parse(&again, text, len));
	require(strcmp(again.verb, m->verb) == 0 && again.tag == m->tag && again.n_pairs == m->n_pairs);
	for (size_t i = 0; i < m->n_pairs; i++) {
		require(strcmp(again.pairs[i].key, m->pairs[i].key) == 0);
		require(strcmp(again.pairs[i].value, m->pairs[i].value) == 0);
	}
}

/*
 * Write the message to a buffer that is too small. Nothing goes past its end, and the writer
 * reports that the message does not fit.
 */
static void check_small(const struct message *m)
{
	char text[32];
	struct message_writer w;
	size_t len;

	memset(text, 0x55, sizeof(text));
	message_begin(&w, text, sizeof(text) - 1, m->verb, m->tag);
	for (size_t i = 0; i < m->n_pairs; i++)
		message_add(&w, m->pairs[i].key, m->pairs[i].value);
	len = message_end(&w);
	require(len <= sizeof(text) - 1 && text[sizeof(text) - 1] == 0x55);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t number;
	struct message m;
	char *text;

	if (size > MESSAGE_BYTES_MAX)
		return 0;
	text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (message_parse(&m, text, size)) {
		require(m.verb && m.verb[0] && m.n_pairs <= MESSAGE_KEYS_MAX);
		check_inside(text, size, m.verb);
		for (size_t i = 0; i < m.n_pairs; i++) {
			check_inside(text, size, m.pairs[i].key);
			check_inside(text, size, m.pairs[i].value);
			require(message_value(&m, m.pairs[i].key) != NULL);
			message_number(&m, m.pairs[i].key, &number);
		}
		require(!message_value(&m, "no such key"));
		check_again(&m);
		check_small(&m);
	}
	free(text);
	return 0;
}
