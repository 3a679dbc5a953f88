/* Tokens on the command line. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "access.h"
#include "array.h"
#include "clock.h"
#include "fleet-tokens.h"
#include "log.h"
#include "memory-stream.h"
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
	if (joined && memory_stream_close(joined, &text))
		scopes = scopes_parse(text, sentence, sizeof(sentence));
	if (!scopes)
		fail(2, sentence);
	return scopes;
}

/*
 * Take the name, the scopes and the life of the token that C makes. Return 0, and the caller drops the
 * reference *SCOPES; or an exit code, after a sentence.
 */
static int parse_new(const struct token_command *c, struct scopes **scopes, uint64_t *seconds)
{
	uint64_t days = TOKEN_DAYS;
	char sentence[64];

	if (!token_name_ok(c->words[0]))
		return fail(2, "a token's name has 1 to 63 letters, digits, or any of . _ @ -");
	if (c->days && (!quantity_whole(c->days, TOKEN_DAYS_MOST, &days) || days == 0)) {
		snprintf(sentence, sizeof(sentence), "--days takes a number from 1 to %u", TOKEN_DAYS_MOST);
		return fail(2, sentence);
	}
	*seconds = days * 86400;
	*scopes = parse_scopes(c);
	return *scopes ? 0 : 2;
}

/* Tell the person who makes the token ID what it is. Its text alone goes to standard output. */
static void print_made(const char *id, const char *name, uint64_t expires, const char *scopes)
{
	char text[24];

	date_text(expires, text);
	audit("made", id);
	fprintf(stderr, "token %s of %s, until %s: %s\n", id, name, text, scopes);
}

static int make(struct tokens *t, const struct token_command *c)
{
	char text[TOKEN_TEXT], sentence[512];
	const struct token *made;
	struct scopes *scopes;
	uint64_t seconds;
	int rc = parse_new(c, &scopes, &seconds);

	if (rc)
		return rc;
	rc = tokens_make(t, c->words[0], scopes, clock_real_seconds() + seconds, text, &made, sentence,
			 sizeof(sentence));
	if (rc == 0) {
		print_made(made->id, made->name, made->expires, scopes_text(made->scopes));
		puts(text);
	}
	scopes_unref(scopes);
	return rc < 0 ? fail(1, sentence) : 0;
}

/* ---- the fleet ---- */

static void print_token(const char *id, const char *name, const char *scopes, uint64_t made, uint64_t expires,
			uint64_t revoked)
{
	char from[24], until[24], end[24];

	if (!made) {
		print_made(id, name, expires, scopes);
		return;
	}
	date_text(made, from);
	date_text(expires, until);
	date_text(revoked, end);
	printf("%s %s made=%s expires=%s %s%s%s\n", id, name, from, until, revoked ? "revoked=" : "",
	       revoked ? end : "", revoked ? "" : scopes);
}

static int run_fleet(const struct token_command *c, const char *fleet)
{
	static const char *const verbs[] = {
		[FLEET_TOKENS_NEW] = "new",
		[FLEET_TOKENS_LIST] = "list",
		[FLEET_TOKENS_REVOKE] = "revoke",
		[FLEET_TOKENS_ADMIT] = "admit",
	};
	struct fleet_tokens_command command = {.print = print_token};
	struct scopes *scopes = NULL;
	char sentence[768];
	int rc = 0;

	while (command.verb < ARRAY_SIZE(verbs) && strcmp(c->verb, verbs[command.verb]) != 0)
		command.verb++;
	if (command.verb == ARRAY_SIZE(verbs) || c->n_words != (command.verb == FLEET_TOKENS_LIST ? 0 : 1))
		return fail(2, "write --token new NAME, --token list, --token revoke ID|WHO or --token admit WHO");
	command.word = c->n_words ? c->words[0] : NULL;
	if (command.verb == FLEET_TOKENS_NEW)
		rc = parse_new(c, &scopes, &command.seconds);
	if (rc)
		return rc;
	command.scopes = scopes;
	rc = fleet_tokens_run(&command, fleet, sentence, sizeof(sentence));
	scopes_unref(scopes);
	if (rc < 0)
		return fail(1, sentence);
	if (command.verb == FLEET_TOKENS_REVOKE || command.verb == FLEET_TOKENS_ADMIT)
		audit(command.verb == FLEET_TOKENS_REVOKE ? "revoked" : "admitted", command.word);
	return 0;
}

int token_command_run(const struct token_command *c, const char *path, const char *fleet)
{
	CLEANUP(tokens_freep) struct tokens *t = NULL;
	bool is_list = strcmp(c->verb, "list") == 0, is_new = strcmp(c->verb, "new") == 0;
	char sentence[512];

	if (fleet)
		return run_fleet(c, fleet);
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
