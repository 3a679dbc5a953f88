/*
 * Find out what the name of a trace means.
 *
 * An existing file comes first, then a capture with that id, then a domain. The order never
 * changes, because users must be able to predict it. HOST/ in front of a capture or domain selects one
 * of several hosts, or a guest of a hub; the name of a guest itself has no slash. With a prefix ("file:",
 * "capture:", "domain:") a name has only that meaning. A capture's id is a decimal number; on a hub it is
 * HOST.ARCHIVE.NUMBER, with 8 or more hexadecimal digits of the archive's UUID.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "api.h"
#include "array.h"
#include "cleanup.h"
#include "hosts.h"
#include "trace-source.h"

#define DIGITS "0123456789"

static bool forced(struct trace_source *t, const char *name, const char *prefix, enum trace_source_kind kind)
{
	size_t n = strlen(prefix);

	if (strncmp(name, prefix, n) != 0)
		return false;
	t->kind = kind;
	t->name = name + n;
	return true;
}

bool trace_source_parse(struct trace_source *t, const struct hosts *hosts, const char *name, bool files)
{
	struct stat st;

	*t = (struct trace_source){.kind = SOURCE_DOMAIN, .name = name};
	if (hosts)
		t->hosts = *hosts;
	if (hosts && (!files || stat(name, &st) != 0))
		t->name = name = hosts_choose(&t->hosts, name);
	if (forced(t, name, "capture:", SOURCE_CAPTURE))
		return true;
	if (forced(t, name, "domain:", SOURCE_DOMAIN))
		return !strchr(t->name, '/');
	if (files && forced(t, name, "file:", SOURCE_FILE))
		return true;
	if (files && strcmp(name, "-") == 0)
		t->kind = SOURCE_STDIN;
	else if (files && stat(name, &st) == 0)
		t->kind = SOURCE_FILE;
	return t->kind != SOURCE_DOMAIN || !(api_is_id(name, false) || strchr(name, '/'));
}

/* Make T, a guest of a hub, its newest capture. */
static int take_newest(struct trace_source *t, struct http *h)
{
	CLEANUP(freep) char *path = trace_source_path(t, h, "captures?limit=1", &(struct selection){0});
	CLEANUP(json_decrefp) json_t *json = NULL;
	const json_t *first;
	const char *id;
	int r = path ? http_json(h, "GET", path, NULL, &json) : say_memory();

	if (r)
		return r;
	first = json_array_get(json_object_get(json, "captures"), 0);
	if (!first) {
		say("there is no capture of a guest %s", t->name);
		return CTL_NOT_FOUND;
	}
	id = json_string_value(json_object_get(first, "id"));
	if (!id || strlen(id) >= sizeof(t->id))
		return CTL_OK; /* no hub: the name of a guest with a slash */
	strcpy(t->id, id);
	t->name = t->id;
	t->kind = SOURCE_CAPTURE;
	return CTL_OK;
}

int trace_source_ask(struct trace_source *t, struct http *h)
{
	CLEANUP(http_answer_deinit) struct http_answer answer = {0};
	char path[256];
	struct http_request request = {.path = path};
	int r;

	if (strchr(t->name, '/'))
		return take_newest(t, h);
	snprintf(path, sizeof(path), "/v1/captures/%s", t->name);
	r = http_perform(h, &request, &answer);
	if (r)
		return http_complain(h, r, &answer);
	if (answer.status / 100 == 2)
		t->kind = SOURCE_CAPTURE;
	else if (answer.status != 404 && (api_is_number(t->name) || answer.status != 400))
		return http_complain(h, r, &answer); /* a host answers 400 to an id of a hub */
	return CTL_OK;
}

/* Return true if the daemon has a guest, or a capture if KIND says so, called NAME. */
static bool exists(struct http *h, const char *name, enum trace_source_kind kind)
{
	const struct trace_source t = {.kind = kind, .name = name};
	CLEANUP(http_answer_deinit) struct http_answer answer = {0};
	CLEANUP(freep) char *path = trace_source_path(&t, h, "", &(struct selection){0});
	struct http_request request = {.path = path};

	if (!path)
		return false;
	path[strlen(path) - 1] = 0; /* without the slash: the whole object */
	return http_perform(h, &request, &answer) == 0 && answer.status / 100 == 2;
}

void trace_source_other(const struct trace_source *t, const char *operand)
{
	CLEANUP(http_close) struct http h = HTTP_CLOSED;

	/* The name of a guest has no slash. */
	if (t->kind != SOURCE_FILE || t->name != operand || strchr(operand, '/') || hosts_count(&t->hosts) > 1 ||
	    http_open(&h, &t->hosts))
		return;
	if (api_is_id(operand, false) && exists(&h, operand, SOURCE_CAPTURE))
		say("%s is a file here and a capture, and the file was taken: write capture:%s for the capture",
		    operand, operand);
	else if (exists(&h, operand, SOURCE_DOMAIN))
		say("%s is a file here and a guest, and the file was taken: write domain:%s for the guest", operand,
		    operand);
}

/* Return true if S is a number with an optional unit: "10s", "5MB", "300K", "4096". */
static bool is_amount(const char *s)
{
	static const char *const units[] = {"",	  "B",	"K",  "KB", "M", "MB", "G", "GB",
					    "ns", "us", "ms", "s",  "m", "h",  "d"};
	size_t digits = strspn(s, DIGITS);

	if (!digits || digits > 18)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strcmp(s + digits, units[i]) == 0)
			return true;
	return false;
}

int selection_check(const struct selection *s, const char *verb)
{
	if (s->last && !is_amount(s->last))
		return say_usage(verb,
				 "--last %s is neither a duration (a whole number and ns, us, ms, s, m, h or d) nor "
				 "bytes (KB, MB or GB)",
				 s->last);
	if (s->run && !api_is_number(s->run))
		return say_usage(verb, "--run %s is not the number of a run", s->run);
	if (s->stream && !api_is_number(s->stream))
		return say_usage(verb, "--stream %s is not the number of a stream", s->stream);
	if (s->runtime && selection_numbering(s) == MPROF_RUNTIME_NUMBERING_UNKNOWN)
		return say_usage(verb, "--runtime %s is neither oxcaml nor ocaml-5.N", s->runtime);
	return CTL_OK;
}

struct selection selection_of(const struct options *o)
{
	return (struct selection){.last = o->last, .run = o->run, .stream = o->stream, .runtime = o->runtime};
}

enum mprof_runtime_numbering selection_numbering(const struct selection *s)
{
	static const char ocaml[] = "ocaml-5.";
	const char *minor = s->runtime ? s->runtime + sizeof(ocaml) - 1 : NULL;

	if (!s->runtime)
		return MPROF_RUNTIME_NUMBERING_UNKNOWN;
	if (strcmp(s->runtime, "oxcaml") == 0)
		return MPROF_RUNTIME_NUMBERING_OXCAML;
	if (strncmp(s->runtime, ocaml, sizeof(ocaml) - 1) != 0 || !api_is_number(minor))
		return MPROF_RUNTIME_NUMBERING_UNKNOWN;
	return strlen(minor) == 1 && minor[0] < '3' ? MPROF_RUNTIME_NUMBERING_5_0 : MPROF_RUNTIME_NUMBERING_5_3;
}

int trace_source_check(const struct trace_source *t, const struct selection *s, const char *verb)
{
	if (!t->name[0])
		return say_usage(verb, "the name is empty");
	if (t->kind == SOURCE_CAPTURE && !api_is_id(t->name, false))
		return say_usage(verb,
				 "\"%s\" is not a capture's id, which is a number, or HOST.ARCHIVE.NUMBER on a hub; "
				 "`mprofctl captures` lists them",
				 t->name);
	if ((t->kind == SOURCE_FILE || t->kind == SOURCE_STDIN) && (s->last || s->run || s->stream))
		return say_usage(verb, "--last, --run and --stream select from the daemon's traces, not from a file");
	if (t->kind == SOURCE_CAPTURE && s->run)
		return say_usage(verb, "a capture has a single run; use --run with a domain");
	return CTL_OK;
}

/*
 * Append "?KEY=VALUE" or, behind another parameter, "&KEY=VALUE" to the URL *PATH, which is
 * replaced. Append nothing if VALUE is NULL. Return false without memory.
 */
static bool query_add(char **path, const char *key, const char *value)
{
	char *longer;

	if (!value)
		return true;
	if (asprintf(&longer, "%s%c%s=%s", *path, strchr(*path, '?') ? '&' : '?', key, value) < 0)
		return false;
	free(*path);
	*path = longer;
	return true;
}

char *trace_source_path(const struct trace_source *t, struct http *h, const char *what, const struct selection *s)
{
	char *name = http_escape(h, t->name), *path = NULL;
	int r = -1;

	if (name)
		r = asprintf(&path, "/v1/%s/%s/%s", t->kind == SOURCE_CAPTURE ? "captures" : "domains", name, what);
	curl_free(name);
	if (r < 0)
		return NULL;
	if (query_add(&path, "run", s->run) && query_add(&path, "stream", s->stream) &&
	    query_add(&path, "last", s->last))
		return path;
	free(path);
	return NULL;
}

int trace_source_json(const struct trace_source *t, struct http *h, json_t **json)
{
	bool capture = t->kind == SOURCE_CAPTURE;
	char *name = http_escape(h, t->name);
	CLEANUP(freep) char *path = NULL;
	int n = -1;

	/* Ask for at most the 1000 newest runs of a domain. */
	if (name)
		n = asprintf(&path, "/v1/%s/%s%s", capture ? "captures" : "domains", name,
			     capture ? "" : "?limit=1000");
	curl_free(name);
	if (n < 0) {
		path = NULL;
		return say_memory();
	}
	return http_json(h, "GET", path, NULL, json);
}

char *trace_source_file_name(const struct trace_source *t, const char *suffix)
{
	char *name = NULL, *p;

	if (asprintf(&name, "%s%s", t->name, suffix) < 0)
		return NULL;
	/*
	 * A guest can choose the name. Replace slashes and control characters, and a leading "." or
	 * "-": the file must be in this directory, visible, and not look like an option.
	 */
	for (p = name; *p; p++)
		if (*p == '/' || (unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '_';
	if (*name == '.' || *name == '-')
		*name = '_';
	return name;
}
