/*
 * Fuzz the names of a hub: an id that parses is written and parsed again as the same id, and a
 * pattern that fits is one array of PostgreSQL. The input is a text.
 */
#include <stdio.h>
#include <string.h>

#include "fleet-names.h"
#include "fuzz.h"

#define PATTERN_MOST 600u

/* Parse TEXT as an id, and what is written of it. */
static void check_id(const char *text, bool memtrace)
{
	struct capture_id id, again;
	char written[FLEET_ID_TEXT];

	if (!capture_id_parse(text, memtrace, &id))
		return;
	require(fleet_is_host(id.host) && id.capture > 0);
	require(memtrace ? id.recording >= 0 : id.recording == -1);
	require(strlen(id.archive) == 8 || strlen(id.archive) == FLEET_UUID - 1);
	capture_id_text(&id, written);
	require(capture_id_parse(written, memtrace, &again));
	require(strcmp(again.host, id.host) == 0 && memcmp(again.archive, id.archive, 8) == 0);
	require(again.capture == id.capture && again.recording == id.recording);
}

static void check_guest(const char *text, bool plain)
{
	struct guest_name name;

	if (!guest_name_parse(text, plain, &name))
		return;
	require(fleet_is_host(name.host) && name.guest[0] && strlen(name.guest) < FLEET_GUEST);
	require(strncmp(text, name.host, strlen(name.host)) == 0);
	require(strcmp(text + strlen(text) - strlen(name.guest), name.guest) == 0);
}

/* Return whether TEXT is an array of quoted strings, as PostgreSQL reads it. */
static bool is_array(const char *text)
{
	bool quoted = false;

	if (*text++ != '{')
		return false;
	for (; *text && (quoted || *text != '}'); text++) {
		if (*text == '"')
			quoted = !quoted;
		else if (!quoted && *text != ',')
			return false;
		else if (quoted && *text == '\\' && !*++text)
			return false;
	}
	return !quoted && strcmp(text, "}") == 0;
}

static void check_patterns(const char *text)
{
	char words[1024], sentence[256], out[PATTERN_MOST];
	struct scopes *scopes;
	bool bytes;

	snprintf(words, sizeof(words), "read=%s", text);
	scopes = scopes_parse(words, sentence, sizeof(sentence));
	if (!scopes)
		return;
	for (size_t size = 8; size <= sizeof(out); size += size / 2)
		if (fleet_patterns(scopes, out, size, &bytes))
			require(strlen(out) < size && is_array(out));
	(void)fleet_allows(scopes, SCOPE_READ, "a", text);
	scopes_unref(scopes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	for (int i = 0; i < 2; i++) {
		check_id(text, i);
		check_guest(text, i);
	}
	check_patterns(text);
	free(text);
	return 0;
}
