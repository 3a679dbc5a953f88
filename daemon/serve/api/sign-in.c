/* /v1/session: who has sent the request; sign in with a token, and sign out. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "clock.h"
#include "json.h"
#include "routes.h"
#include "scopes-json.h"

#define COOKIE SESSION_COOKIE "=%s; Path=/; Max-Age=%" PRIu64 "; HttpOnly; Secure; SameSite=Strict"

static json_t *json_identity(const struct exchange *x, const struct identity *who)
{
	bool tokens = who->kind != IDENTITY_OPEN && !x->tcp && scopes_everything(who->scopes);

	return json_pack("{s:o, s:s, s:o, s:b, s:o}", "name", json_text(who->name), "kind", identity_word(who->kind),
			 "scopes", json_scopes(who->scopes), "tokens", (int)tokens, "expires",
			 json_time(who->expires * NS_PER_S));
}

enum outcome get_session(struct exchange *x)
{
	return exchange_json(x, MHD_HTTP_OK, json_identity(x, &x->who));
}

enum outcome post_session(struct exchange *x)
{
	static const char *const members[] = {"token", NULL};
	CLEANUP(json_unrefp) json_t *object = NULL;
	char value[SESSION_TEXT], cookie[256];
	enum access_status status;
	const char *token, *why;
	uint64_t now;

	if (!exchange_upload(x, members, &object))
		return OUTCOME_DONE;
	token = json_string_value(json_object_get(object, "token"));
	if (!token)
		return exchange_problem(x, MHD_HTTP_BAD_REQUEST, "token must be the text of a token.");
	if (!access_is_on(exchange_access(x)))
		return exchange_problem(x, MHD_HTTP_CONFLICT,
					"There is no access control, so nobody needs to sign in.");
	status = access_sign_in(exchange_access(x), token, x->client->peer, &x->who, value, &why);
	if (status != ACCESS_OK)
		return exchange_unauthorised(x, status, why);
	now = clock_real() / NS_PER_S;
	snprintf(cookie, sizeof(cookie), COOKIE, value, x->who.expires > now ? x->who.expires - now : 0);
	return exchange_json_with(x, MHD_HTTP_OK, json_identity(x, &x->who), MHD_HTTP_HEADER_SET_COOKIE, cookie);
}

enum outcome delete_session(struct exchange *x)
{
	if (x->who.kind != IDENTITY_SESSION)
		return exchange_problem(x, MHD_HTTP_CONFLICT, "You are not signed in by a session, so none can end.");
	access_sign_out(exchange_access(x), &x->who);
	return exchange_empty(x, MHD_HTTP_NO_CONTENT);
}
