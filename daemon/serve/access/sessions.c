/* Begin, find and end sessions. */
#include <stdio.h>
#include <string.h>

#include "sessions.h"

/* Return a place for a session of TOKEN: a free one, or that of the session that must make room. */
static struct session *place(struct sessions *s, const char *token)
{
	struct session *free_ = NULL, *oldest = NULL, *own = NULL;
	size_t n = 0;

	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		struct session *at = &s->list[i];

		if (at->serial == 0) {
			free_ = at;
			continue;
		}
		oldest = oldest && oldest->serial < at->serial ? oldest : at;
		if (strcmp(at->token, token) != 0)
			continue;
		n++;
		own = own && own->serial < at->serial ? own : at;
	}
	if (n >= TOKEN_SESSIONS_MAX)
		return own;
	return free_ ? free_ : oldest;
}

const struct session *sessions_begin(struct sessions *s, const char *token, uint64_t expires, char text[SESSION_TEXT])
{
	struct session session = {.serial = s->begun + 1, .expires = expires}, *at;

	if (!secret_new(SECRET_BYTES, text) || !secret_hash(text, session.hash))
		return NULL;
	snprintf(session.token, sizeof(session.token), "%s", token);
	at = place(s, token);
	*at = session;
	s->begun++;
	return at;
}

const struct session *sessions_check(const struct sessions *s, const char *text, uint64_t now)
{
	uint8_t wanted[SECRET_HASH];

	if (strlen(text) != SESSION_TEXT - 1 || !secret_hash(text, wanted))
		return NULL;
	for (size_t i = 0; i < SESSIONS_MAX; i++)
		if (s->list[i].serial && memcmp(s->list[i].hash, wanted, sizeof(wanted)) == 0)
			return now < s->list[i].expires ? &s->list[i] : NULL;
	return NULL;
}

const struct session *sessions_find(const struct sessions *s, uint64_t serial, uint64_t now)
{
	for (size_t i = 0; serial && i < SESSIONS_MAX; i++)
		if (s->list[i].serial == serial)
			return now < s->list[i].expires ? &s->list[i] : NULL;
	return NULL;
}

void sessions_end(struct sessions *s, uint64_t serial)
{
	for (size_t i = 0; serial && i < SESSIONS_MAX; i++)
		if (s->list[i].serial == serial)
			s->list[i] = (struct session){0};
}
