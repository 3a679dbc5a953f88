/* Tokens on the command line. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "access.h"
#include "log.h"
#include "quantity.h"
#include "token-command.h"
#include "tokens.h"

static int fail(int code, const char *sentence)
{
	fprintf(stderr, "mprofd-http: %s\n", sentence);
	return code;
}

/* Write SECONDS since 1970 as a date in UTC to TEXT (24 bytes). */
static void date_text(uint64_t seconds, char text[24])
{
	time_t time = (time_t)seconds;
	struct tm tm;

	if (seconds == 0 || !gmtime_r(&time, &tm) || !strftime(text, 24, "%Y-%m-%dT%H:%M:%SZ", &tm))
		strcpy(text, "never");
}

/* Write into the journal that the token ID was DONE. */
static void audit(const char *done, const char *id)
{
	log_journal_id(ACCESS_AUDIT_ID, "token %s was %s: who=uid:%u peer=--token", id, done, (unsigned)getuid());
}

static int list(struct tokens *t)
{
	char made[24], expires[24];

	for (size_t i = 0; i < tokens_count(t); i++) {
		const struct token *token = tokens_at(t, i);

		date_text(token->made, made);
		date_text(token->expires, expires);
		printf("%s %s made=%s expires=%s %s\n", token->id, token->name, made, expires,
		       scopes_text(token->scopes));
	}
	return 0;
}

/* Return the scopes of C, or NULL after a sentence. */
static struct scopes *parse_scopes(const struct token_command *c)
{
	CLEANUP(freep) char *text = NULL;
	char sentence[512] = "no memory left";
	struct scopes *scopes = NULL;
	size_t bytes;
	FILE *joined = open_memstream(&text, &bytes);

	for (size_t i = 0; joined && i < c->n_scopes; i++)
		fprintf(joined, "%s;", c->scopes[i]);
	if (joined && fclose(joined) == 0)
		scopes = scopes_parse(text, sentence, sizeof(sentence));
	if (!scopes)
		fail(2, sentence);
	return scopes;
}

static int make(struct tokens *t, const struct token_command *c)
{
	char text[TOKEN_TEXT], sentence[512], expires[24];
	const struct token *made;
	struct scopes *scopes;
	uint64_t days = TOKEN_DAYS;
	int rc;

	if (!token_name_ok(c->words[0]))
		return fail(2, "a token's name has 1 to 63 letters, digits, or any of . _ @ -");
	if (c->days && (!quantity_whole(c->days, TOKEN_DAYS_MOST, &days) || days == 0)) {
		snprintf(sentence, sizeof(sentence), "--days takes a number from 1 to %u", TOKEN_DAYS_MOST);
		return fail(2, sentence);
	}
	scopes = parse_scopes(c);
	if (!scopes)
		return 2;
	rc = tokens_make(t, c->words[0], scopes, (uint64_t)time(NULL) + days * 86400, text, &made, sentence,
			 sizeof(sentence));
	if (rc == 0) {
		date_text(made->expires, expires);
		audit("made", made->id);
		fprintf(stderr, "token %s of %s, until %s: %s\n", made->id, made->name, expires,
			scopes_text(made->scopes));
		puts(text);
	}
	scopes_unref(scopes);
	return rc < 0 ? fail(1, sentence) : 0;
}

int token_command_run(const struct token_command *c, const char *path)
{
	CLEANUP(tokens_freep) struct tokens *t = NULL;
	bool is_list = strcmp(c->verb, "list") == 0, is_new = strcmp(c->verb, "new") == 0;
	char sentence[512];

	if ((!is_list && !is_new && strcmp(c->verb, "revoke") != 0) || c->n_words != (is_list ? 0 : 1))
		return fail(2, "write --token new NAME, --token list or --token revoke ID");
	if (tokens_new(&t, path) < 0)
		return fail(1, "no memory left");
	if (is_new)
		return make(t, c);
	if (is_list)
		return tokens_refresh(t, sentence, sizeof(sentence)) < 0 ? fail(1, sentence) : list(t);
	if (tokens_revoke(t, c->words[0], sentence, sizeof(sentence)) < 0)
		return fail(1, sentence);
	audit("revoked", c->words[0]);
	return 0;
}
