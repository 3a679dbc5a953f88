/* /v1/session: who has sent the request; sign in with a token, and sign out. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "clock.h"
#include "routes.h"
#include "row-json.h"
#include "scopes-json.h"

#define COOKIE SESSION_COOKIE "=%s; Path=/; Max-Age=%" PRIu64 "; HttpOnly; Secure; SameSite=Strict"

static json_t *json_identity(const struct exchange *x, const struct identity *who)
{
	bool tokens = who->kind != IDENTITY_OPEN && !x->tcp && scopes_everything(who->scopes);

	return json_pack("{s:o, s:s, s:o, s:b, s:o, s:s}", "name", json_text(who->name), "kind",
			 identity_word(who->kind), "scopes", json_scopes(who->scopes), "tokens", (int)tokens, "expires",
			 json_time(who->expires * NS_PER_S), "serves", exchange_services(x)->fleet ? "hub" : "host");
}

enum outcome get_session(struct exchange *x)
{
	return exchange_json(x, MHD_HTTP_OK, json_identity(x, &x->who));
}

/* Return the change of sessions that X makes, which is kept between the calls of its handler; NULL without memory. */
static struct registry_change *change_of(struct exchange *x)
{
	if (!x->work)
		x->work = calloc(1, sizeof(struct registry_change));
	x->work_free = free;
	return x->work;
}

enum outcome post_session(struct exchange *x)
{
	static const char *const members[] = {"token", NULL};
	CLEANUP(json_unrefp) json_t *object = NULL;
	struct registry_change *change = change_of(x);
	enum access_status status;
	const char *token, *why;
	char cookie[256];
	uint64_t now;

	if (!change || !exchange_upload(x, members, &object))
		return OUTCOME_DONE;
	token = json_string_value(json_object_get(object, "token"));
	if (!token)
		return exchange_problem(x, MHD_HTTP_BAD_REQUEST, "token must be the text of a token.");
	if (!access_is_on(exchange_access(x)))
		return exchange_problem(x, MHD_HTTP_CONFLICT,
					"There is no access control, so nobody needs to sign in.");
	status = access_sign_in(exchange_access(x), token, x->client->peer, change, &x->who, &why);
	if (status != ACCESS_OK)
		return exchange_unauthorised(x, status, why);
	now = clock_real() / NS_PER_S;
	snprintf(cookie, sizeof(cookie), COOKIE, change->cookie, x->who.expires > now ? x->who.expires - now : 0);
	return exchange_json_with(x, MHD_HTTP_OK, json_identity(x, &x->who), MHD_HTTP_HEADER_SET_COOKIE, cookie);
}

enum outcome delete_session(struct exchange *x)
{
	struct registry_change *change = change_of(x);
	enum access_status status;
	const char *why;

	if (!change)
		return OUTCOME_DONE;
	if (x->who.kind != IDENTITY_SESSION)
		return exchange_problem(x, MHD_HTTP_CONFLICT, "You are not signed in by a session, so none can end.");
	status = access_sign_out(exchange_access(x), change, &x->who, &why);
	if (status != ACCESS_OK)
		return exchange_unauthorised(x, status, why);
	return exchange_empty(x, MHD_HTTP_NO_CONTENT);
}
