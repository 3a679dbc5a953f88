/* Call schema/fleet's functions for people who give access. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "fleet-tokens.h"
#include "postgres.h"
#include "tokens.h"

#define ANSWER_MS 30000u

struct run {
	const struct fleet_tokens_command *command;
	struct postgres *postgres;
	char *sentence;
	size_t size;
};

__attribute__((format(printf, 2, 3))) static int say(const struct run *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->sentence, r->size, format, args);
	va_end(args);
	return -EINVAL;
}

/* Say why the last call to the database failed with RC. */
static int fail(const struct run *r, int rc)
{
	const char *state = postgres_state(r->postgres);

	if (rc < 0)
		return say(r, "%s", strerror(-rc));
	if (strcmp(state, "42501") == 0)
		return say(r, "this role may not give access: an administrator grants it fleet_access");
	if (strcmp(state, "42883") == 0 || strcmp(state, "3F000") == 0)
		return say(r, "the database is older than this mprofd-http: run schema/fleet/migrate");
	return say(r, rc == POSTGRES_E_LOST ? "the fleet's database does not answer: %s" : "%s",
		   postgres_sentence(r->postgres));
}

/* Split the command's word, KIND:NAME. Return false if it is none. */
static bool parse_who(const struct run *r, char kind[16], const char **name)
{
	const char *word = r->command->word, *colon = strchr(word, ':');
	size_t n = colon ? (size_t)(colon - word) : 0;

	if (!colon || n >= 16 || !colon[1])
		return false;
	memcpy(kind, word, n);
	kind[n] = '\0';
	*name = colon + 1;
	return strcmp(kind, "certificate") == 0 || strcmp(kind, "token") == 0 || strcmp(kind, "user") == 0;
}

static int make(const struct run *r)
{
	const struct fleet_tokens_command *c = r->command;
	CLEANUP(postgres_rows_freep) struct postgres_rows *rows = NULL;
	char text[TOKEN_TEXT], id[TOKEN_ID_TEXT];
	struct postgres_params params = {0};
	uint8_t hash[SECRET_HASH];
	int rc;

	if (!token_random(text, id, hash))
		return say(r, "the system gives no random bytes");
	postgres_add_text(&params, id);
	postgres_add_bytes(&params, hash, sizeof(hash));
	postgres_add_text(&params, c->word);
	postgres_add_text(&params, scopes_text(c->scopes));
	postgres_add_number(&params, (int64_t)c->seconds);
	rc = postgres_call(r->postgres, "SELECT fleet.new_token($1, $2::bytea, $3, $4, $5::bigint)", &params, &rows);
	if (rc != 0)
		return fail(r, rc);
	c->print(id, c->word, scopes_text(c->scopes), 0, (uint64_t)postgres_number(rows, 0, 0), 0);
	puts(text);
	return 0;
}

static int list(const struct run *r)
{
	CLEANUP(postgres_rows_freep) struct postgres_rows *rows = NULL, *revoked = NULL;
	int rc = postgres_call(r->postgres, "SELECT id, name, scopes, made, expires, revoked FROM fleet.list_tokens()",
			       NULL, &rows);

	if (rc == 0)
		rc = postgres_call(r->postgres, "SELECT kind, name FROM fleet.list_revocations()", NULL, &revoked);
	if (rc != 0)
		return fail(r, rc);
	for (int i = 0; i < postgres_count(rows); i++)
		r->command->print(postgres_text(rows, i, 0), postgres_text(rows, i, 1), postgres_text(rows, i, 2),
				  (uint64_t)postgres_number(rows, i, 3), (uint64_t)postgres_number(rows, i, 4),
				  (uint64_t)postgres_number(rows, i, 5));
	for (int i = 0; i < postgres_count(revoked); i++)
		printf("revoked %s:%s\n", postgres_text(revoked, i, 0), postgres_text(revoked, i, 1));
	return 0;
}

/* Call SQL, which returns whether it has changed something, with FIRST and SECOND (NULL = none). */
static int change(const struct run *r, const char *sql, const char *first, const char *second, bool *changed)
{
	CLEANUP(postgres_rows_freep) struct postgres_rows *rows = NULL;
	struct postgres_params params = {0};
	int rc;

	postgres_add_text(&params, first);
	if (second)
		postgres_add_text(&params, second);
	rc = postgres_call(r->postgres, sql, &params, &rows);
	*changed = rc == 0 && postgres_number(rows, 0, 0);
	return rc == 0 ? 0 : fail(r, rc);
}

static int revoke_who(const struct run *r)
{
	const char *name, *word = r->command->word;
	bool changed;
	char kind[16];
	int rc;

	if (parse_who(r, kind, &name))
		return change(r, "SELECT fleet.revoke_identity($1, $2) IS NOT NULL", kind, name, &changed);
	if (!token_id_ok(word))
		return say(r, "%.64s is no identifier of a token, certificate:NAME, token:NAME or user:NAME", word);
	rc = change(r, "SELECT fleet.revoke_token($1)", word, NULL, &changed);
	return rc < 0 || changed ? rc
				 : say(r, "there is no token %s that was not revoked: see the list of tokens", word);
}

static int admit_who(const struct run *r)
{
	const char *name;
	bool changed;
	char kind[16];
	int rc;

	if (!parse_who(r, kind, &name))
		return say(r, "%.64s is none of certificate:NAME, token:NAME and user:NAME", r->command->word);
	rc = change(r, "SELECT fleet.admit_identity($1, $2)", kind, name, &changed);
	return rc < 0 || changed ? rc : say(r, "%.300s is not revoked: see the list", r->command->word);
}

int fleet_tokens_run(const struct fleet_tokens_command *c, const char *connection, char *sentence, size_t size)
{
	static int (*const verbs[])(const struct run *r) = {
		[FLEET_TOKENS_NEW] = make,
		[FLEET_TOKENS_LIST] = list,
		[FLEET_TOKENS_REVOKE] = revoke_who,
		[FLEET_TOKENS_ADMIT] = admit_who,
	};
	CLEANUP(postgres_freep) struct postgres *p = NULL;
	struct run r = {.command = c, .sentence = sentence, .size = size};
	int rc = postgres_new(&p, connection, "mprofd-http", ANSWER_MS);

	r.postgres = p;
	if (rc == 0)
		rc = postgres_connect(p);
	return rc == 0 ? verbs[c->verb](&r) : p ? fail(&r, rc) : say(&r, "no memory left");
}
