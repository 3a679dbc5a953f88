/*
 * Access control.
 *
 * A request with several credentials is judged by the first of: header Authorization, cookie,
 * certificate, user. A wrong token is refused, also where a right certificate came with it: who sends
 * a token wants the token's rights.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

#include "access.h"
#include "array.h"
#include "clock.h"
#include "host-registry.h"
#include "log.h"

#define GROUPS_MOST 256u
#define EVERYTHING  "read=*;context=*;write=*;metrics=yes"

/* A grant of the configuration. */
struct grant {
	const struct config_grant *config;
	uint32_t id; /* of a user or group */
	bool known;  /* the user or group exists */
	struct scopes *scopes;
};

struct access {
	const struct config *config;
	const char *remote;
	struct scopes *everything;
	struct grant *grants;
	size_t n_grants;
	struct tls *tls;
	struct host_registry *host; /* NULL = the registry is the fleet's */
	struct registry registry;
	struct throttle throttle;
	/* The user whose name was looked up last; NAMED "" = none. A lookup reads files. */
	uid_t named_uid;
	char named[TLS_NAME];
	struct log_limit log, wrong;
};

static uint64_t seconds(void)
{
	return clock_real_seconds();
}

/* ---- creation ---- */

static int grant_init(struct grant *g, const struct config_grant *c, char *sentence, size_t size)
{
	char text[4 * SCOPES_TEXT_MAX], wrong[512] = "";
	const struct passwd *user;
	const struct group *group;

	g->config = c;
	snprintf(text, sizeof(text), "read=%s;context=%s;write=%s;metrics=%s", c->read, c->context, c->write,
		 c->metrics ? "yes" : "no");
	g->scopes = scopes_parse(text, wrong, sizeof(wrong));
	if (!g->scopes) {
		snprintf(sentence, size, "[grant %s]: %s", c->who, wrong);
		return -EINVAL;
	}
	if (c->kind == GRANT_USER && (user = getpwnam(c->name))) {
		g->id = user->pw_uid;
		g->known = true;
	} else if (c->kind == GRANT_GROUP && (group = getgrnam(c->name))) {
		g->id = group->gr_gid;
		g->known = true;
	}
	if (!g->known && (c->kind == GRANT_USER || c->kind == GRANT_GROUP))
		log_warning("[grant %s] names nobody of this host; make the user or group, and start mprofd-http again",
			    c->who);
	return 0;
}

static int grants_init(struct access *a, char *sentence, size_t size)
{
	const struct config *c = a->config;
	int rc = 0;

	a->grants = calloc(c->n_grants + 1, sizeof(*a->grants));
	if (!a->grants)
		return -ENOMEM;
	for (; a->n_grants < c->n_grants && rc == 0; a->n_grants++)
		rc = grant_init(&a->grants[a->n_grants], &c->grants[a->n_grants], sentence, size);
	return rc;
}

static int files_init(struct access *a, char *sentence, size_t size)
{
	const struct config *c = a->config;
	struct tls_files files = {c->access_certificate, c->access_key, c->access_client_ca, c->access_client_crl};

	if (*c->access_certificate != '\0' && *c->access_key != '\0')
		return tls_new(&a->tls, &files, sentence, size);
	if (*c->access_certificate || *c->access_key || *c->access_client_ca) {
		snprintf(sentence, size, "[access] needs both certificate and key for HTTPS: add the missing one");
		return -EINVAL;
	}
	return 0;
}

/* Return 0 if a grant names the remote of A, or A has none; else -EACCES with a sentence. */
static int remote_check(const struct access *a, char *sentence, size_t size)
{
	const struct config *c = a->config;

	for (size_t i = 0; a->remote && i < c->n_grants; i++)
		if (c->grants[i].kind == GRANT_REMOTE && strcmp(c->grants[i].name, a->remote) == 0)
			return 0;
	if (!a->remote)
		return 0;
	snprintf(sentence, size, "--as %s is refused: write [access] and [grant remote:%s] in mprofd.conf", a->remote,
		 a->remote);
	return -EACCES;
}

/* Use REGISTRY, or without one the host's. */
static int registry_init(struct access *a, const struct registry *registry)
{
	int rc;

	if (registry) {
		a->registry = *registry;
		return 0;
	}
	rc = host_registry_new(&a->host, a->config->access_tokens);
	if (rc == 0)
		a->registry = host_registry(a->host);
	return rc;
}

int access_new(struct access **ap, const struct config *c, const char *remote, const struct registry *registry,
	       char *sentence, size_t size)
{
	CLEANUP(access_freep) struct access *a = calloc(1, sizeof(*a));
	int rc = a ? 0 : -ENOMEM;

	snprintf(sentence, size, "no memory left for access control");
	if (!a)
		return rc;
	a->config = c;
	a->remote = remote;
	a->everything = scopes_parse(EVERYTHING, sentence, size);
	if (!a->everything)
		return -ENOMEM;
	rc = remote_check(a, sentence, size);
	if (rc < 0)
		return rc;
	if (c->access) {
		rc = registry_init(a, registry);
		if (rc == 0)
			rc = grants_init(a, sentence, size);
		if (rc == 0)
			rc = files_init(a, sentence, size);
		if (rc < 0)
			return rc;
		access_refresh(a, false);
	}
	*ap = TAKE_PTR(a);
	return 0;
}

struct access *access_free(struct access *a)
{
	if (!a)
		return NULL;
	for (size_t i = 0; i < a->n_grants; i++)
		scopes_unref(a->grants[i].scopes);
	free(a->grants);
	scopes_unref(a->everything);
	tls_free(a->tls);
	host_registry_free(a->host);
	free(a);
	return NULL;
}

bool access_is_on(const struct access *a)
{
	return a->config->access;
}

struct tls *access_tls(const struct access *a)
{
	return a->tls;
}

struct tokens *access_tokens(const struct access *a)
{
	return a->host ? host_registry_tokens(a->host) : NULL;
}

bool access_database(const struct access *a, bool *connected)
{
	const struct registry *r = &a->registry;

	if (!r->calls || !r->calls->connected)
		return false;
	*connected = r->calls->connected(r->context);
	return true;
}

struct throttle *access_throttle(struct access *a)
{
	return &a->throttle;
}

const struct config *access_limits(const struct access *a)
{
	return a->config;
}

bool access_is_host(const struct access *a, const char *host)
{
	for (size_t i = 0; a->config->access_names && a->config->access_names[i]; i++)
		if (strcasecmp(a->config->access_names[i], host) == 0)
			return true;
	return a->tls && tls_is_host(a->tls, host);
}

/* ---- what changes while the server runs ---- */

static void refresh_tls(struct access *a, bool now_)
{
	char sentence[512];
	int rc;

	if (!now_ && !tls_changed(a->tls))
		return;
	rc = tls_reload(a->tls, sentence, sizeof(sentence));
	if (rc == 0)
		log_info("the certificate was read again");
	else
		log_write_limited(&a->log, LOG_LEVEL_WARNING, NULL, "the old certificate stays in use: %s", sentence);
}

/*
 * Log that N wrong credentials of PEER were refused. A client may have many addresses, so the lines of all are
 * limited.
 */
static void log_refused(struct access *a, struct peer peer, uint32_t n)
{
	char text[PEER_TEXT];

	access_peer_text(peer, text);
	log_write_limited(&a->wrong, LOG_LEVEL_WARNING, NULL, "Wrong credentials were refused: peer=%s number=%" PRIu32,
			  text, n);
}

/* Log wrong credentials that throttle_wrong() has held back. */
static void log_held_back(struct access *a)
{
	uint64_t now = clock_mono();
	const struct peer *peer;
	uint32_t n;

	while ((peer = throttle_due(&a->throttle, now, &n)))
		log_refused(a, *peer, n);
}

void access_refresh(struct access *a, bool now_)
{
	if (!a->config->access)
		return;
	if (a->tls)
		refresh_tls(a, now_);
	a->registry.calls->refresh(a->registry.context);
	log_held_back(a);
}

/* ---- who ---- */

static enum access_status refused(struct access *a, struct peer peer, const char **why, const char *sentence)
{
	uint32_t n = throttle_wrong(&a->throttle, peer, clock_mono());

	*why = sentence;
	if (n)
		log_refused(a, peer, n);
	return ACCESS_WRONG;
}

static void set_who(struct identity *who, enum identity_kind kind, const char *name, struct scopes *scopes)
{
	who->kind = kind;
	snprintf(who->name, sizeof(who->name), "%s", name);
	who->scopes = scopes_ref(scopes);
}

#define UNKNOWN_NOW "The fleet's database does not answer, so nobody can tell whether you may do this. Try again."

/* Return what to do after ANSWER, which is neither REGISTRY_YES nor REGISTRY_NO. */
static enum access_status not_known(enum registry_answer answer, const char **why)
{
	*why = UNKNOWN_NOW;
	return answer == REGISTRY_LATER ? ACCESS_LATER : ACCESS_AWAY;
}

/*
 * Wrong tokens of a peer never refuse its valid ones: others may share its address. To check one costs no
 * more than to refuse it: a hash and a look-up, or on a hub a place in the next batch of questions.
 */
static enum access_status by_token(struct access *a, const char *text, struct peer peer, struct identity *who,
				   const char **why)
{
	enum registry_answer answer = a->registry.calls->token(a->registry.context, text, who);

	if (answer == REGISTRY_YES)
		return ACCESS_OK;
	if (answer != REGISTRY_NO)
		return not_known(answer, why);
	if (throttle_is_wrong(&a->throttle, peer, clock_mono())) {
		refused(a, peer, why,
			"This is no valid token, and this address has sent too many wrong ones. Send a valid one, "
			"or wait some seconds.");
		return ACCESS_TOO_MANY;
	}
	return refused(a, peer, why,
		       "This is no valid token: it is misspelt, has expired, or was revoked. Ask for a new one.");
}

static enum access_status by_cookie(struct access *a, const char *cookie, struct identity *who, const char **why)
{
	enum registry_answer answer = a->registry.calls->session(a->registry.context, cookie, who);

	if (answer == REGISTRY_YES)
		return ACCESS_OK;
	if (answer != REGISTRY_NO)
		return not_known(answer, why);
	/* Browsers go on sending cookies of sessions that have ended, so this is no attack. */
	*why = "The session has ended. Sign in again.";
	return ACCESS_NONE;
}

/* Add the rights of grant G to *SCOPES. Return false without memory, or if they are too long. */
static bool add_grant(struct scopes **scopes, const struct grant *g)
{
	struct scopes *joined;
	char sentence[256];

	if (!*scopes) {
		*scopes = scopes_ref(g->scopes);
		return true;
	}
	joined = scopes_join(*scopes, g->scopes, sentence, sizeof(sentence));
	if (!joined)
		return false;
	scopes_unref(*scopes);
	*scopes = joined;
	return true;
}

/* Return the rights of NAME by the grants of KIND, with a reference; NULL: it has none. */
static struct scopes *granted(const struct access *a, enum grant_kind kind, const char *name)
{
	struct scopes *scopes = NULL;

	for (size_t i = 0; i < a->n_grants; i++) {
		const struct config_grant *c = a->grants[i].config;

		if (c->kind == kind && strcmp(c->name, name) == 0 && !add_grant(&scopes, &a->grants[i]))
			break;
	}
	return scopes;
}

/* Return the verdict on the certificate of C, from the connection if it is new enough. */
static const struct tls_verdict *verdict(struct access *a, const struct credentials *c)
{
	uint64_t now = seconds();
	struct kept_verdict *k = c->kept;

	if (k->reads == tls_reads(a->tls) && now < k->until)
		return &k->verdict;
	k->verdict = tls_verify(a->tls, c->session, now);
	k->reads = tls_reads(a->tls);
	k->until = now + VERDICT_S;
	if (k->verdict.client == TLS_CLIENT_GOOD && k->verdict.expires < k->until)
		k->until = k->verdict.expires;
	return &k->verdict;
}

static enum access_status by_certificate(struct access *a, const struct credentials *c, struct identity *who,
					 const char **why)
{
	const struct tls_verdict *v = verdict(a, c);
	enum registry_answer answer;
	struct scopes *scopes;

	if (v->client == TLS_CLIENT_NONE)
		return ACCESS_NONE;
	if (v->client == TLS_CLIENT_WRONG) {
		log_write_limited(&a->log, LOG_LEVEL_INFO, NULL, "A client's certificate was refused: %s", v->why);
		return refused(a, c->peer, why, "The client's certificate is refused.");
	}
	answer = a->registry.calls->admits(a->registry.context, IDENTITY_CERTIFICATE, v->name);
	if (answer == REGISTRY_NO)
		return refused(a, c->peer, why, "The client's certificate is revoked.");
	if (answer != REGISTRY_YES)
		return not_known(answer, why);
	scopes = granted(a, GRANT_CERTIFICATE, v->name);
	if (!scopes)
		return refused(a, c->peer, why, "No grant names the client's certificate.");
	set_who(who, IDENTITY_CERTIFICATE, v->name, scopes);
	scopes_unref(scopes);
	who->expires = v->expires;
	return ACCESS_OK;
}

/* The user and the groups of a peer on a Unix socket. */
struct unix_user {
	struct ucred user;
	gid_t groups[GROUPS_MOST];
	size_t n_groups;
};

static bool unix_user(int fd, struct unix_user *u)
{
	socklen_t size = sizeof(u->user), groups = sizeof(u->groups);

	*u = (struct unix_user){0};
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u->user, &size) < 0)
		return false;
	/* With more groups than fit, the others give no rights. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, u->groups, &groups) == 0)
		u->n_groups = groups / sizeof(gid_t);
	return true;
}

static bool has_grant(const struct grant *g, const struct unix_user *u)
{
	if (!g->known)
		return false;
	if (g->config->kind == GRANT_USER)
		return g->id == u->user.uid;
	if (g->id == u->user.gid)
		return true;
	for (size_t i = 0; i < u->n_groups; i++)
		if (g->id == u->groups[i])
			return true;
	return false;
}

/* Return the name of the user UID, or its number as text. Borrowed until the next call. */
static const char *user_name(struct access *a, uid_t uid)
{
	const struct passwd *user;

	if (*a->named && a->named_uid == uid)
		return a->named;
	user = getpwuid(uid);
	if (user)
		snprintf(a->named, sizeof(a->named), "%s", user->pw_name);
	else
		snprintf(a->named, sizeof(a->named), "%lu", (unsigned long)uid);
	a->named_uid = uid;
	return a->named;
}

static enum access_status by_user(struct access *a, const struct credentials *c, struct identity *who, const char **why)
{
	enum registry_answer answer = REGISTRY_YES;
	struct scopes *scopes = NULL;
	struct unix_user u;

	if (!unix_user(c->unix_socket, &u))
		return ACCESS_NONE;
	if (u.user.uid != 0) /* root reads what the server reads anyway */
		answer = a->registry.calls->admits(a->registry.context, IDENTITY_USER, user_name(a, u.user.uid));
	*why = "This user is revoked.";
	if (answer != REGISTRY_YES)
		return answer == REGISTRY_NO ? ACCESS_NONE : not_known(answer, why);
	for (size_t i = 0; u.user.uid != 0 && i < a->n_grants; i++)
		if (has_grant(&a->grants[i], &u) && !add_grant(&scopes, &a->grants[i]))
			break;
	if (u.user.uid == 0)
		scopes = scopes_ref(a->everything);
	if (!scopes) {
		*why = "No grant names this user or one of its groups. Send a token, or ask for a grant.";
		return ACCESS_NONE;
	}
	set_who(who, IDENTITY_USER, user_name(a, u.user.uid), scopes);
	scopes_unref(scopes);
	return ACCESS_OK;
}

static enum access_status by_remote(struct access *a, struct identity *who, const char **why)
{
	struct scopes *scopes = granted(a, GRANT_REMOTE, a->remote);

	*why = "No grant names this remote.";
	if (!scopes)
		return ACCESS_NONE;
	set_who(who, IDENTITY_REMOTE, a->remote, scopes);
	scopes_unref(scopes);
	return ACCESS_OK;
}

enum access_status access_identify(struct access *a, const struct credentials *c, struct identity *who,
				   const char **why)
{
	enum access_status status = ACCESS_NONE;
	const char *token = c->authorization;

	*who = (struct identity){0};
	*why = "This needs credentials: a bearer token, a sign-in, a client's certificate, or a user of the host.";
	if (!access_is_on(a)) {
		set_who(who, IDENTITY_OPEN, "", a->everything);
		return ACCESS_OK;
	}
	if (token && strncasecmp(token, "Bearer ", 7) == 0)
		return by_token(a, token + 7 + strspn(token + 7, " "), c->peer, who, why);
	if (token)
		return refused(a, c->peer, why, "The header Authorization must be: Bearer TOKEN.");
	if (c->cookie)
		status = by_cookie(a, c->cookie, who, why);
	if (status == ACCESS_NONE && c->session && a->tls)
		status = by_certificate(a, c, who, why);
	if (status == ACCESS_NONE && c->remote)
		status = by_remote(a, who, why);
	if (status == ACCESS_NONE && c->unix_socket >= 0 && !c->remote)
		status = by_user(a, c, who, why);
	return status;
}

/* Return whether NAME of KIND is known to be admitted. */
static bool is_admitted(struct access *a, enum identity_kind kind, const char *name)
{
	return a->registry.calls->admits(a->registry.context, kind, name) == REGISTRY_YES;
}

bool access_holds(struct access *a, const struct credentials *c, const struct identity *who)
{
	const struct tls_verdict *v;
	struct unix_user u;

	if (who->expires && seconds() >= who->expires)
		return false;
	switch (who->kind) {
	case IDENTITY_TOKEN:
	case IDENTITY_SESSION:
		return a->registry.calls->holds(a->registry.context, who) == REGISTRY_YES;
	case IDENTITY_CERTIFICATE:
		v = verdict(a, c);
		return v->client == TLS_CLIENT_GOOD && strcmp(v->name, who->name) == 0 &&
		       is_admitted(a, IDENTITY_CERTIFICATE, v->name);
	case IDENTITY_USER:
		return unix_user(c->unix_socket, &u) && (u.user.uid == 0 || is_admitted(a, IDENTITY_USER, who->name));
	default:
		return who->kind != IDENTITY_NOBODY;
	}
}

enum access_status access_sign_in(struct access *a, const char *text, struct peer peer, struct registry_change *change,
				  struct identity *who, const char **why)
{
	enum registry_answer answer;
	enum access_status status;
	uint64_t expires;

	*who = (struct identity){0};
	*why = "There is no access control: nobody needs to sign in.";
	if (!access_is_on(a))
		return ACCESS_NONE;
	status = by_token(a, text, peer, who, why);
	if (status != ACCESS_OK)
		return status;
	expires = seconds() + a->config->session_life_ns / NS_PER_S;
	if (who->expires && who->expires < expires)
		expires = who->expires;
	answer = a->registry.calls->begin(a->registry.context, change, who, expires);
	if (answer == REGISTRY_YES)
		return ACCESS_OK;
	identity_deinit(who);
	if (answer != REGISTRY_NO)
		return not_known(answer, why);
	*why = "The token has ended. Ask for a new one.";
	return ACCESS_NONE;
}

enum access_status access_sign_out(struct access *a, struct registry_change *change, const struct identity *who,
				   const char **why)
{
	enum registry_answer answer = a->registry.calls->end(a->registry.context, change, who);

	*why = NULL;
	return answer == REGISTRY_YES || answer == REGISTRY_NO ? ACCESS_OK : not_known(answer, why);
}

void access_peer_text(struct peer peer, char text[PEER_TEXT])
{
	struct in6_addr network = {0};
	struct in_addr address = {.s_addr = htonl((uint32_t)peer.id)};
	char buffer[INET6_ADDRSTRLEN] = "?";

	if (peer.family == AF_INET) {
		inet_ntop(AF_INET, &address, buffer, sizeof(buffer));
		snprintf(text, PEER_TEXT, "%s", buffer);
	} else if (peer.family == AF_INET6) {
		for (size_t i = 0; i < 8; i++)
			network.s6_addr[i] = (uint8_t)(peer.id >> (56 - 8 * i));
		inet_ntop(AF_INET6, &network, buffer, sizeof(buffer));
		snprintf(text, PEER_TEXT, "%s/64", buffer);
	} else {
		snprintf(text, PEER_TEXT, peer.family == AF_UNIX ? "user:%" PRIu64 : "unknown", peer.id);
	}
}
