/*
 * `mprofctl token`: make, list and revoke the bearer tokens of mprofd-http.
 *
 * mprofd-http takes these requests over its Unix socket only, so the host is unix: or ssh:. A new
 * token is the only output on standard output, which can thus become a file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "cleanup.h"
#include "http.h"
#include "json.h"
#include "memory-stream.h"
#include "options.h"
#include "table.h"
#include "token-file.h"
#include "verbs.h"

#define DAYS_MAX 36500
#define ID_LEN	 16u

/* Open the connection to a host that is reached over a Unix socket. Return an exit code. */
static int open_local(struct http *h, const struct ctl *ctl)
{
	int r = http_open(h, &ctl->hosts);

	if (r || h->at.kind == HOST_UNIX || h->at.kind == HOST_SSH)
		return r;
	return say_usage("token",
			 "tokens are made over mprofd-http's Unix socket, and %s is none: use unix:PATH, or "
			 "ssh:HOST for another machine",
			 h->host);
}

/* ---- new */

/*
 * Take the scopes of TEXT, as in "read=web*,context=web*,metrics=yes", into SCOPES, an object as in
 * the API. Return an exit code.
 */
static int parse_scopes(json_t *scopes, const char *text)
{
	static const char *const kinds[] = {"read", "context", "write"};

	while (*text) {
		size_t len = strcspn(text, ","), kind = strcspn(text, "=,");
		size_t i = 0;

		while (i < ARRAY_SIZE(kinds) && (strlen(kinds[i]) != kind || memcmp(text, kinds[i], kind) != 0))
			i++;
		if (kind + 1 < len && i < ARRAY_SIZE(kinds)) {
			json_t *glob = json_stringn(text + kind + 1, len - kind - 1);

			if (json_array_append_new(json_object_get(scopes, kinds[i]), glob) < 0)
				return say_usage("token", "--scope is not UTF-8 text");
		} else if (len == 11 && memcmp(text, "metrics=yes", len) == 0) {
			if (json_object_set_new(scopes, "metrics", json_true()) < 0)
				return say_memory();
		} else if (len != 10 || memcmp(text, "metrics=no", len) != 0) {
			return say_usage(
				"token",
				"--scope: \"%.*s\" is neither read=GLOB, context=GLOB, write=GLOB nor metrics=yes",
				(int)len, text);
		}
		text += len + (text[len] == ',');
	}
	return CTL_OK;
}

static int parse_days(const char *text, long *days)
{
	char *end;

	*days = 0;
	if (!text)
		return CTL_OK;
	errno = 0;
	*days = strtol(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || *days < 1 || *days > DAYS_MAX)
		return say_usage("token", "--days is not a number from 1 to %d: \"%s\"", DAYS_MAX, text);
	return CTL_OK;
}

/* Set *BODY to the JSON of a request for a token, which the caller frees. Return an exit code. */
static int new_body(const char *name, const char *scope, long days, char **body)
{
	CLEANUP(json_decrefp)
	json_t *scopes = json_pack("{s[], s[], s[], sb}", "read", "context", "write", "metrics", false);
	CLEANUP(json_decrefp) json_t *json = json_object();
	int r;

	if (!scopes || !json)
		return say_memory();
	r = parse_scopes(scopes, scope);
	if (r)
		return r;
	if (json_object_set_new(json, "name", json_string(name)) < 0)
		return say_usage("token", "the name is not UTF-8 text");
	if (json_object_set(json, "scopes", scopes) < 0 ||
	    (days && json_object_set_new(json, "days", json_integer(days)) < 0))
		return say_memory();
	*body = json_text(json, JSON_COMPACT);
	return *body ? CTL_OK : say_memory();
}

/* Print the new token of ANSWER alone. Return an exit code. */
static int print_new(const struct http *h, const json_t *answer)
{
	const char *token = json_string_value(json_object_get(answer, "token"));
	const char *id = json_string_value(json_object_get(answer, "id"));

	if (!token || !*token) {
		say("the answer of %s has no token", h->host);
		return CTL_FAILED;
	}
	puts(token);
	if (isatty(STDOUT_FILENO))
		say("this is shown once: keep it in a file that only you can read; its ID is %s", id ? id : "unknown");
	return stdout_verdict();
}

int token_new(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(http_close) struct http h = HTTP_CLOSED;
	CLEANUP(json_decrefp) json_t *answer = NULL;
	CLEANUP(freep) char *body = NULL;
	struct options o;
	struct operands left;
	long days;
	int r = options_parse(ctl, argc, argv, &o, &left);

	r = r ? r : parse_days(o.days, &days);
	r = r ? r : new_body(left.at[0], o.scope ? o.scope : "read=*", days, &body);
	r = r ? r : open_local(&h, ctl);
	r = r ? r : http_json(&h, "POST", "/v1/tokens", body, &answer);
	if (r)
		return r;
	return ctl->json ? json_print(answer) : print_new(&h, answer);
}

/* ---- list and revoke */

/* Add a cell with the strings of ARRAY, with blanks between. */
static void add_globs(struct table *t, const json_t *array)
{
	CLEANUP(freep) char *text = NULL;
	const json_t *glob;
	size_t i, n = 0;
	FILE *f = open_memstream(&text, &n);

	if (!f) {
		table_add(t, "?");
		return;
	}
	json_array_foreach(array, i, glob)
	{
		const char *value = json_string_value(glob);

		fprintf(f, "%s%s", i ? " " : "", value ? value : "?");
	}
	table_add(t, memory_stream_close(f, &text) ? text : "?");
}

static int print_list(const json_t *tokens, struct wall_zone *zone)
{
	static const char *const heads[] = {"ID", "NAME", "READ", "CONTEXT", "WRITE", "METRICS", "MADE", "EXPIRES"};
	CLEANUP(table_deinit) struct table t;
	const json_t *token;
	size_t i;

	table_init(&t, heads, ARRAY_SIZE(heads));
	json_array_foreach(tokens, i, token)
	{
		const json_t *scopes = json_object_get(token, "scopes");

		table_add_json(&t, json_object_get(token, "id"));
		table_add_json(&t, json_object_get(token, "name"));
		add_globs(&t, json_object_get(scopes, "read"));
		add_globs(&t, json_object_get(scopes, "context"));
		add_globs(&t, json_object_get(scopes, "write"));
		table_add_json(&t, json_object_get(scopes, "metrics"));
		table_add_time(&t, json_object_get(token, "made"), zone);
		table_add_time(&t, json_object_get(token, "expires"), zone);
	}
	return table_print(&t);
}

int token_list(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(http_close) struct http h = HTTP_CLOSED;
	CLEANUP(json_decrefp) json_t *list = NULL;
	struct wall_zone zone;
	struct options o;
	struct operands left;
	int r = options_parse(ctl, argc, argv, &o, &left);

	zone = (struct wall_zone){.utc = o.utc};
	r = r ? r : open_local(&h, ctl);
	r = r ? r : http_json(&h, NULL, "/v1/tokens", NULL, &list);
	if (r)
		return r;
	return ctl->json ? json_print(list) : print_list(json_object_get(list, "tokens"), &zone);
}

int token_revoke(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(http_close) struct http h = HTTP_CLOSED;
	CLEANUP(json_decrefp) json_t *answer = NULL;
	struct operands left;
	struct options o;
	char path[64];
	const char *id;
	int r = options_parse(ctl, argc, argv, &o, &left);

	if (r)
		return r;
	id = left.at[0];
	/* A person may give the whole token, so the message does not quote it. */
	if (strlen(id) != ID_LEN || strspn(id, "0123456789abcdef") != ID_LEN)
		return say_usage("token", "an ID is %u hexadecimal digits; `mprofctl token list` shows the IDs",
				 ID_LEN);
	snprintf(path, sizeof(path), "/v1/tokens/%s", id);
	r = open_local(&h, ctl);
	r = r ? r : http_do(&h, "DELETE", path);
	if (r || !ctl->json)
		return r;
	answer = json_pack("{ss, sb}", "id", id, "revoked", true);
	return answer ? json_print(answer) : say_memory();
}
