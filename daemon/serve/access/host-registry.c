/* The host's registry. Each call knows its answer at once. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "host-registry.h"
#include "log.h"

struct host_registry {
	struct tokens *tokens;
	struct sessions sessions;
	bool failed; /* the last read of the tokens failed */
};

static uint64_t seconds(void)
{
	return clock_real_seconds();
}

static void on_refresh(void *context)
{
	struct host_registry *r = context;
	char sentence[512];
	int rc = tokens_refresh(r->tokens, sentence, sizeof(sentence));

	if (rc < 0 && !r->failed)
		log_write(LOG_LEVEL_WARNING, NULL, "no token is accepted: %s", sentence);
	r->failed = rc < 0;
}

static void set_who(struct identity *who, enum identity_kind kind, const struct token *token)
{
	who->kind = kind;
	snprintf(who->name, sizeof(who->name), "%s", token->name);
	who->scopes = scopes_ref(token->scopes);
	who->expires = token->expires;
	snprintf(who->token, sizeof(who->token), "%s", token->id);
}

static enum registry_answer on_token(void *context, const char *text, struct identity *who)
{
	struct host_registry *r = context;
	const struct token *token = tokens_check(r->tokens, text, seconds());

	if (!token) { /* it may have been made since the file was read */
		on_refresh(r);
		token = tokens_check(r->tokens, text, seconds());
	}
	if (!token)
		return REGISTRY_NO;
	set_who(who, IDENTITY_TOKEN, token);
	return REGISTRY_YES;
}

static enum registry_answer on_session(void *context, const char *cookie, struct identity *who)
{
	struct host_registry *r = context;
	uint64_t now = seconds();
	const struct session *session = sessions_check(&r->sessions, cookie, now);
	const struct token *token = session ? tokens_find(r->tokens, session->token, now) : NULL;

	if (!token)
		return REGISTRY_NO;
	set_who(who, IDENTITY_SESSION, token);
	who->session = session->serial;
	if (!who->expires || session->expires < who->expires)
		who->expires = session->expires;
	return REGISTRY_YES;
}

static enum registry_answer on_holds(void *context, const struct identity *who)
{
	struct host_registry *r = context;
	uint64_t now = seconds();
	const struct token *token = tokens_find(r->tokens, who->token, now);

	return token && strcmp(scopes_text(token->scopes), scopes_text(who->scopes)) == 0 &&
			       (who->kind == IDENTITY_TOKEN || sessions_find(&r->sessions, who->session, now))
		       ? REGISTRY_YES
		       : REGISTRY_NO;
}

static enum registry_answer on_admits(void *context, enum identity_kind kind, const char *name)
{
	(void)context;
	(void)kind;
	(void)name;
	return REGISTRY_YES;
}

static enum registry_answer on_begin(void *context, struct registry_change *c, struct identity *who, uint64_t expires)
{
	struct host_registry *r = context;
	const struct session *session = sessions_begin(&r->sessions, who->token, expires, c->cookie);

	if (!session)
		return REGISTRY_AWAY;
	who->kind = IDENTITY_SESSION;
	who->session = session->serial;
	who->expires = expires;
	return REGISTRY_YES;
}

static enum registry_answer on_end(void *context, struct registry_change *c, const struct identity *who)
{
	struct host_registry *r = context;

	(void)c;
	sessions_end(&r->sessions, who->session);
	return REGISTRY_YES;
}

static const struct registry_calls calls = {.token = on_token,
					    .session = on_session,
					    .holds = on_holds,
					    .admits = on_admits,
					    .begin = on_begin,
					    .end = on_end,
					    .refresh = on_refresh};

struct registry host_registry(struct host_registry *r)
{
	return (struct registry){.calls = &calls, .context = r};
}

struct tokens *host_registry_tokens(struct host_registry *r)
{
	return r->tokens;
}

int host_registry_new(struct host_registry **rp, const char *path)
{
	CLEANUP(host_registry_freep) struct host_registry *r = calloc(1, sizeof(*r));
	int rc = r ? tokens_new(&r->tokens, path) : -ENOMEM;

	if (rc == 0)
		*rp = TAKE_PTR(r);
	return rc;
}

struct host_registry *host_registry_free(struct host_registry *r)
{
	if (!r)
		return NULL;
	tokens_free(r->tokens);
	free(r);
	return NULL;
}
