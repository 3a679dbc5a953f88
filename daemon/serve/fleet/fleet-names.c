/* Parse and write the names of a hub. */
#include "fleet-names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "quantity.h"

bool fleet_is_host(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-");

	return n > 0 && n < FLEET_HOST && text[n] == '\0' && strchr("._-", text[0]) == NULL;
}

static bool is_hex(const char *text, size_t n)
{
	return strspn(text, "0123456789abcdef") >= n;
}

/* Return whether TEXT of N bytes is a UUID in lower case. */
static bool is_uuid(const char *text, size_t n)
{
	return n == FLEET_UUID - 1 && is_hex(text, 8) && text[8] == '-' && is_hex(text + 9, 4) && text[13] == '-' &&
	       is_hex(text + 14, 4) && text[18] == '-' && is_hex(text + 19, 4) && text[23] == '-' &&
	       is_hex(text + 24, 12);
}

/* Cut the last part, behind a dot, off the N bytes of TEXT. Return it, or NULL if there is none. */
static const char *cut_part(const char *text, size_t *n, size_t *part)
{
	for (size_t i = *n; i-- > 0;) {
		if (text[i] != '.')
			continue;
		*part = *n - i - 1;
		*n = i;
		return text + i + 1;
	}
	return NULL;
}

/* Cut a number from 0 to MOST off the N bytes of TEXT. */
static bool cut_number(const char *text, size_t *n, uint64_t most, uint64_t *number)
{
	char digits[24];
	size_t length;
	const char *part = cut_part(text, n, &length);

	if (!part || length == 0 || length >= sizeof(digits) || (part[0] == '0' && length > 1) ||
	    strspn(part, "0123456789") < length)
		return false;
	memcpy(digits, part, length);
	digits[length] = '\0';
	return quantity_whole(digits, most, number);
}

bool capture_id_parse(const char *text, bool memtrace, struct capture_id *id)
{
	size_t n = text ? strlen(text) : 0, length;
	uint64_t recording = 0, capture;
	const char *part;

	if (n >= FLEET_ID_TEXT || (memtrace && !cut_number(text, &n, INT32_MAX, &recording)) ||
	    !cut_number(text, &n, INT64_MAX, &capture) || capture == 0)
		return false;
	part = cut_part(text, &n, &length);
	if (!part || !((length == 8 && is_hex(part, 8)) || is_uuid(part, length)) || n >= FLEET_HOST)
		return false;
	*id = (struct capture_id){.capture = (int64_t)capture, .recording = memtrace ? (int32_t)recording : -1};
	memcpy(id->archive, part, length);
	memcpy(id->host, text, n);
	return fleet_is_host(id->host);
}

void capture_id_text(const struct capture_id *id, char text[FLEET_ID_TEXT])
{
	int n = snprintf(text, FLEET_ID_TEXT, "%s.%.8s.%" PRId64, id->host, id->archive, id->capture);

	if (id->recording >= 0)
		snprintf(text + n, FLEET_ID_TEXT - (size_t)n, ".%" PRId32, id->recording);
}

bool guest_name_parse(const char *text, bool plain, struct guest_name *name)
{
	const char *slash = text ? strchr(text, '/') : NULL;
	size_t n = slash ? (size_t)(slash - text) : 0, length;

	*name = (struct guest_name){0};
	if (n == 0 || n >= FLEET_HOST)
		return false;
	memcpy(name->host, text, n);
	text = slash + 1;
	if (!plain && strncmp(text, "name:", 5) == 0)
		text += 5;
	length = strlen(text);
	if (length == 0 || length >= FLEET_GUEST)
		return false;
	memcpy(name->guest, text, length);
	return fleet_is_host(name->host);
}

bool fleet_allows(const struct scopes *scopes, enum scope scope, const char *host, const char *guest)
{
	char name[FLEET_HOST + FLEET_GUEST];

	snprintf(name, sizeof(name), "%s/%s", host, guest);
	return !scopes || scopes_allow(scopes, scope, name);
}

/* ---- globs as regular expressions ---- */

struct text {
	char *at, *end;
};

/* Append C to a text in an array of PostgreSQL; nothing if it does not fit. */
static void put(struct text *t, char c)
{
	const unsigned char byte = (unsigned char)c;

	if (t->end - t->at < 2) {
		t->at = t->end;
		return;
	}
	if (c == '"' || c == '\\')
		*t->at++ = '\\';
	if (byte >= 0x80) /* the character of LATIN1, in UTF-8 */
		*t->at++ = (char)(0xc0 | byte >> 6);
	*t->at++ = (char)(byte < 0x80 ? byte : 0x80 | (byte & 0x3f));
}

/* Append the set of characters at GLOB, which begins with [. Return its end. */
static const char *put_set(struct text *t, const char *glob, const char *end)
{
	const char *first;

	put(t, '[');
	glob++;
	if (glob < end && (*glob == '!' || *glob == '^')) {
		put(t, '^');
		glob++;
	}
	for (first = glob; glob < end && (*glob != ']' || glob == first); glob++)
		put(t, *glob);
	put(t, ']');
	return glob < end ? glob + 1 : end;
}

static void put_glob(struct text *t, const char *glob, const char *end)
{
	put(t, '^');
	while (glob < end) {
		if (*glob == '*') {
			put(t, '.');
			put(t, '*');
		} else if (*glob == '?') {
			put(t, '.');
		} else if (*glob == '[') {
			glob = put_set(t, glob, end);
			continue;
		} else {
			glob += *glob == '\\' && glob + 1 < end;
			if (strchr(".*+?()[]{}|^$\\", *glob))
				put(t, '\\');
			put(t, *glob);
		}
		glob++;
	}
	put(t, '$');
}

bool fleet_patterns(const struct scopes *scopes, char *out, size_t size, bool *bytes)
{
	struct text t = {out, out + size - 3};
	const char *globs = scopes_globs(scopes, SCOPE_READ);
	bool first = true;

	*bytes = false;
	for (const char *p = globs; p && *p; p++)
		*bytes |= *p == '?' || *p == '[' || (unsigned char)*p >= 0x80;
	*t.at++ = '{';
	while (globs && *globs) {
		size_t n = strcspn(globs, " ");

		if (n > 0) {
			if (!first && t.at < t.end)
				*t.at++ = ',';
			if (t.at < t.end)
				*t.at++ = '"';
			put_glob(&t, globs, globs + n);
			if (t.at < t.end)
				*t.at++ = '"';
			first = false;
		}
		globs += n;
		globs += *globs == ' ';
	}
	if (t.at >= t.end)
		return false;
	*t.at++ = '}';
	*t.at = '\0';
	return true;
}
