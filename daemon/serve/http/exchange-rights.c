/*
 * The rights of an exchange: who has sent it, and which guests its handler sees.
 *
 * The readers have a view (daemon/archive/view.h): while a handler runs, they show only the guests for
 * which the request's scope is held, so a hidden guest is the same as an absent one. A request that
 * needs more than to read looks for its guest with the right to read first. Then a guest that may be
 * read gives 403, and any other 404.
 */
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "clock.h"
#include "http-state.h"
#include "log.h"

#define ACCESS_WAIT_NS (3 * NS_PER_S) /* to wait for what the registry says */

struct credentials exchange_credentials(struct exchange *x)
{
	struct credentials c = {
		.authorization = exchange_header(x, MHD_HTTP_HEADER_AUTHORIZATION),
		.cookie = MHD_lookup_connection_value(x->connection, MHD_COOKIE_KIND, SESSION_COOKIE),
		.session = x->tls ? client_session(x->connection) : NULL,
		.kept = &x->client->verdict,
		.unix_socket = x->tcp ? -1 : x->client->fd,
		.remote = x->client->listener->remote,
		.peer = x->client->peer,
	};

	return c;
}

enum outcome exchange_unauthorised(struct exchange *x, enum access_status status, const char *why)
{
	uint64_t now = clock_mono();

	if (status == ACCESS_LATER || status == ACCESS_AWAY) {
		x->access_deadline = x->access_deadline ? x->access_deadline : now + ACCESS_WAIT_NS;
		if (status == ACCESS_LATER && now < x->access_deadline)
			return OUTCOME_ACCESS;
		return exchange_problem(x, MHD_HTTP_SERVICE_UNAVAILABLE, "%s", why);
	}
	x->http->counts.unauthorised++;
	return exchange_problem(x, status == ACCESS_TOO_MANY ? MHD_HTTP_TOO_MANY_REQUESTS : MHD_HTTP_UNAUTHORIZED, "%s",
				why);
}

/* ---- the view ---- */

static bool on_sees(const void *context, const char *name)
{
	const struct exchange *x = context;

	return scopes_allow(x->who.scopes, x->scope, name);
}

/* Let the readers show what VIEW does. A hub has none but those of copies. */
static void look(struct exchange *x, struct view view)
{
	if (exchange_reader(x))
		reader_look(exchange_reader(x), view);
	if (exchange_memtraces(x))
		memtraces_look(exchange_memtraces(x), view);
}

void exchange_look(struct exchange *x)
{
	/* A copy has one capture, whose guest the handler has checked, by its name in the fleet. */
	look(x, x->sees && !x->reader ? (struct view){.sees = on_sees, .context = x} : (struct view){0});
}

void exchange_look_away(struct exchange *x)
{
	look(x, (struct view){0});
}

static void set_scope(struct exchange *x, enum scope scope)
{
	x->scope = scope;
	x->sees = !scopes_all(x->who.scopes, scope);
}

/* Return what the route's FINDS returns in the view of SCOPE. */
static int find(struct exchange *x, enum scope scope)
{
	int rc;

	set_scope(x, scope);
	exchange_look(x);
	rc = x->route->finds(x);
	exchange_look_away(x);
	return rc;
}

/*
 * Check that SCOPE, more than reading, is held for the guest that X names. Return false if not; the
 * request is then answered. A guest that may not be read is left to the handler, which answers 404.
 */
static bool may(struct exchange *x, enum scope scope)
{
	if (x->http->options.hub) { /* its handlers ask the database first, and then check the scope */
		set_scope(x, SCOPE_READ);
		return true;
	}
	if (!scopes_all(x->who.scopes, scope) && find(x, SCOPE_READ) == 0 && find(x, scope) == ARCHIVE_E_ABSENT) {
		exchange_problem(x, MHD_HTTP_FORBIDDEN,
				 "You may read this guest, but not do this: it needs the scope %s.",
				 scope_names[scope]);
		return false;
	}
	set_scope(x, scope);
	return true;
}

/* ---- limits ---- */

/* Return whether the identity of X has too many requests in progress; the request is then answered. */
static bool is_crowded(struct exchange *x)
{
	const struct config *limits = access_limits(exchange_access(x));
	unsigned requests = 0, live = 0;

	for (const struct exchange *other = x->http->exchanges; other; other = other->next) {
		if (other == x || !identity_same(&other->who, &x->who))
			continue;
		requests++;
		live += other->live || other->events;
	}
	if (requests < limits->identity_requests && (live < limits->identity_live || !x->route->lives))
		return false;
	exchange_problem(x, MHD_HTTP_TOO_MANY_REQUESTS,
			 "You have %u requests in progress, %u of them live. End some, or try again later.", requests,
			 live);
	return true;
}

/*
 * Check that a browser's page, and not one of another site, has sent a change under a session's
 * cookie: another page cannot send this header. Return false if not; the request is then answered.
 */
static bool is_own_page(struct exchange *x)
{
	const char *own = exchange_header(x, "Mprof-Request");

	if (x->who.kind != IDENTITY_SESSION || x->method == METHOD_GET || (own && strcmp(own, "1") == 0))
		return true;
	exchange_problem(x, MHD_HTTP_FORBIDDEN, "A change under a session needs the header Mprof-Request: 1.");
	return false;
}

/* ---- authorising ---- */

static bool forbidden(struct exchange *x, const char *what)
{
	exchange_problem(x, MHD_HTTP_FORBIDDEN, "%s", what);
	return false;
}

/* Check that X may make and revoke tokens. Return false if not; the request is then answered. */
static bool may_make_tokens(struct exchange *x)
{
	if (x->who.kind == IDENTITY_OPEN) {
		exchange_problem(x, MHD_HTTP_CONFLICT,
				 "There is no access control, so tokens have no use. Add [access] to mprofd.conf.");
		return false;
	}
	if (x->tcp || !scopes_everything(x->who.scopes))
		return forbidden(x, "Tokens are made on the host's Unix socket, by who may do everything.");
	return true;
}

static bool has_right(struct exchange *x, enum right right)
{
	switch (right) {
	case RIGHT_CONTEXT:
		return may(x, SCOPE_CONTEXT);
	case RIGHT_WRITE:
		return may(x, SCOPE_WRITE);
	case RIGHT_METRICS:
		return scopes_metrics(x->who.scopes) ||
		       forbidden(x, "The metrics count all guests of the host: this needs the scope metrics.");
	case RIGHT_TOKENS:
		return may_make_tokens(x);
	case RIGHT_ALL:
		return scopes_all(x->who.scopes, SCOPE_READ) ||
		       forbidden(
			       x,
			       "The answer counts all guests of the fleet: this needs the scope read for all of them.");
	default:
		set_scope(x, SCOPE_READ);
		return true;
	}
}

enum outcome exchange_authorise(struct exchange *x)
{
	enum right right = x->route->rights[x->method];
	struct credentials c = exchange_credentials(x);
	enum access_status status;
	const char *why;

	x->authorised = true;
	if (right == RIGHT_NONE)
		return OUTCOME_DONE;
	status = access_identify(exchange_access(x), &c, &x->who, &why);
	if (status != ACCESS_OK) {
		x->authorised = false;
		return exchange_unauthorised(x, status, why);
	}
	x->client->identified = true;
	if (x->who.kind == IDENTITY_OPEN && right != RIGHT_TOKENS)
		return OUTCOME_DONE;
	if (!route_is_elsewhere(x->route, x->method))
		x->authorised = is_own_page(x) && !is_crowded(x) && has_right(x, right);
	return OUTCOME_DONE;
}

static int see_nothing(void *context, const struct archive_run *run)
{
	(void)context;
	(void)run;
	return 0;
}

/* Return whether the guest that X follows has got a name that X may not see. */
static bool is_hidden_now(struct exchange *x)
{
	int rc;

	if (!x->live_run || !x->sees)
		return false;
	exchange_look(x);
	rc = reader_run(exchange_reader(x), x->live_run, see_nothing, NULL);
	exchange_look_away(x);
	return rc == ARCHIVE_E_ABSENT;
}

void exchanges_check(struct http *h)
{
	for (struct exchange *x = h->exchanges; x; x = x->next) {
		struct credentials c;

		if (x->who.kind == IDENTITY_NOBODY || x->who.kind == IDENTITY_OPEN || x->client->ended)
			continue;
		c = exchange_credentials(x);
		if (access_holds(exchange_access(x), &c, &x->who) && !is_hidden_now(x))
			continue;
		x->gone = true;
		client_end(x->client);
		exchange_resume(x);
	}
}

void exchange_audit(struct exchange *x, unsigned status)
{
	static const char *const methods[METHODS] = {"GET", "POST", "PATCH", "DELETE"};
	char peer[PEER_TEXT], path[512] = "", answer[16] = "none";
	size_t at = 0;

	if (x->method == METHOD_GET || status >= 300 || !access_is_on(exchange_access(x)))
		return;
	for (size_t i = 0; i < x->request.n_segments && at < sizeof(path); i++)
		at += (size_t)snprintf(path + at, sizeof(path) - at, "/%s", x->request.segments[i]);
	access_peer_text(x->client->peer, peer);
	if (x->answered)
		snprintf(answer, sizeof(answer), "%u", status);
	log_write_id(LOG_LEVEL_INFO, ACCESS_AUDIT_ID, "%s %s was done: status=%s who=%s kind=%s peer=%s",
		     methods[x->method], path, answer, x->who.name, identity_word(x->who.kind), peer);
}
