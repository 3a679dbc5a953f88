/* /v1/tokens: list, make and revoke bearer tokens. The right to do that was checked before. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "json-whole.h"
#include "routes.h"
#include "row-json.h"
#include "scopes-json.h"

static json_t *json_token(const struct token *t)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:o}", "id", t->id, "name", t->name, "scopes", json_scopes(t->scopes),
			 "made", json_time(t->made * NS_PER_S), "expires", json_time(t->expires * NS_PER_S));
}

/* Return the tokens of the host, or NULL if they are the fleet's; X is then answered. */
static struct tokens *own_tokens(struct exchange *x)
{
	struct tokens *tokens = access_tokens(exchange_access(x));

	if (!tokens)
		exchange_problem(
			x, MHD_HTTP_CONFLICT,
			"A hub's tokens are the fleet's: use mprofd-http --fleet CONNECTION --token, with a role "
			"that is a member of fleet_access.");
	return tokens;
}

enum outcome get_tokens(struct exchange *x)
{
	struct tokens *tokens = own_tokens(x);
	CLEANUP(json_unrefp) json_t *array = json_array();
	char sentence[512];

	if (!tokens)
		return OUTCOME_DONE;
	if (tokens_refresh(tokens, sentence, sizeof(sentence)) < 0)
		return exchange_problem(x, MHD_HTTP_INTERNAL_SERVER_ERROR, "%s", sentence);
	for (size_t i = 0; i < tokens_count(tokens); i++)
		json_add_item(&array, json_token(tokens_at(tokens, i)));
	return exchange_json(x, MHD_HTTP_OK, json_pack("{s:O}", "tokens", array));
}

/* Set *SECONDS to the end of the token's life. Return false if DAYS is malformed; then X is answered. */
static bool expiry(struct exchange *x, const json_t *days, uint64_t *seconds)
{
	json_int_t n = days ? json_integer_value(days) : TOKEN_DAYS;

	*seconds = clock_real_seconds() + (uint64_t)n * 86400;
	if (n >= 1 && n <= TOKEN_DAYS_MOST)
		return true;
	exchange_problem(x, MHD_HTTP_BAD_REQUEST, "days must be a number from 1 to %u.", TOKEN_DAYS_MOST);
	return false;
}

enum outcome post_token(struct exchange *x)
{
	static const char *const members[] = {"name", "scopes", "days", NULL};
	struct tokens *tokens = own_tokens(x);
	CLEANUP(json_unrefp) json_t *object = NULL;
	struct scopes *scopes;
	const struct token *made;
	char text[TOKEN_TEXT], sentence[512];
	const char *name;
	uint64_t expires;
	json_t *json;
	int rc;

	if (!tokens || !exchange_upload(x, members, &object))
		return OUTCOME_DONE;
	name = json_string_value(json_object_get(object, "name"));
	if (!name || !token_name_ok(name))
		return exchange_problem(x, MHD_HTTP_BAD_REQUEST,
					"name must have 1 to %u letters, digits, or any of . _ @ -",
					TOKEN_NAME_MAX - 1);
	if (!expiry(x, json_object_get(object, "days"), &expires))
		return OUTCOME_DONE;
	scopes = scopes_of_json(json_object_get(object, "scopes"), sentence, sizeof(sentence));
	if (!scopes)
		return exchange_problem(x, MHD_HTTP_BAD_REQUEST, "%s.", sentence);
	rc = tokens_make(tokens, name, scopes, expires, text, &made, sentence, sizeof(sentence));
	scopes_unref(scopes);
	if (rc < 0)
		return exchange_problem(x, rc == -E2BIG ? MHD_HTTP_CONFLICT : MHD_HTTP_INTERNAL_SERVER_ERROR, "%s.",
					sentence);
	json = json_token(made);
	json_add_member(&json, "token", json_string(text));
	return exchange_json(x, MHD_HTTP_CREATED, json);
}

enum outcome delete_token(struct exchange *x)
{
	struct tokens *tokens = own_tokens(x);
	char sentence[512];
	int rc;

	if (!tokens)
		return OUTCOME_DONE;
	rc = tokens_revoke(tokens, x->parameter, sentence, sizeof(sentence));

	if (rc < 0)
		return exchange_problem(x, rc == -ENOENT ? MHD_HTTP_NOT_FOUND : MHD_HTTP_INTERNAL_SERVER_ERROR, "%s.",
					sentence);
	return exchange_empty(x, MHD_HTTP_NO_CONTENT);
}
