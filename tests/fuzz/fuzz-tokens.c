/*
 * Fuzz the token file and scopes with any bytes. Either each token of the file is well-formed, and
 * its scopes are the same when their text is parsed again; or one sentence says what is wrong, and
 * there is no token.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "tokens.h"

static void check_scopes(const struct scopes *s)
{
	static const char *const names[] = {"", "web", "web-1", "*", "[", "\xff\xfe", "a/b"};
	char sentence[256];
	struct scopes *again = scopes_parse(scopes_text(s), sentence, sizeof(sentence));

	require(again && strcmp(scopes_text(again), scopes_text(s)) == 0 && !strchr(scopes_text(s), '\n'));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (enum scope scope = 0; scope < SCOPES; scope++) {
			require(scopes_allow(s, scope, names[i]) == scopes_allow(again, scope, names[i]));
			require(!scopes_all(s, scope) || scopes_allow(s, scope, names[i]));
			require(!scopes_allow(s, scope, names[i]) || scopes_allow(s, SCOPE_READ, names[i]));
		}
	scopes_unref(again);
}

static void check_tokens(const struct tokens *t)
{
	require(tokens_count(t) <= TOKENS_MAX);
	for (size_t i = 0; i < tokens_count(t); i++) {
		const struct token *token = tokens_at(t, i);

		require(strlen(token->id) == TOKEN_ID_TEXT - 1 && token_name_ok(token->name));
		check_scopes(token->scopes);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("tokens", MFD_CLOEXEC);
	char path[64], sentence[300] = "", *text = calloc(1, size + 1);
	struct tokens *t = NULL;
	struct scopes *s;

	require(fd >= 0 && text && write(fd, data, size) == (ssize_t)size);
	/* This path opens the file again, so it is read from its beginning. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	require(tokens_new(&t, path) == 0);
	if (tokens_refresh(t, sentence, sizeof(sentence)) < 0)
		require(*sentence && !strchr(sentence, '\n') && tokens_count(t) == 0);
	check_tokens(t);
	tokens_free(t);
	memcpy(text, data, size);
	s = scopes_parse(text, sentence, sizeof(sentence));
	if (s)
		check_scopes(s);
	require(s || *sentence);
	scopes_unref(s);
	free(text);
	close(fd);
	return 0;
}
