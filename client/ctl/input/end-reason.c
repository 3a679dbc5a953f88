/* Ask the daemon how the guest of a trace ended. */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cleanup.h"
#include "end-reason.h"

/*
 * Return true if KIND is a crash. KIND is a capture's kind or a run's end reason in the API, or
 * NULL if unknown.
 */
static bool is_crash(const char *kind)
{
	static const char *const crashes[] = {"crash", "watchdog", "destroyed", "ended", "unread"};

	for (size_t i = 0; kind && i < ARRAY_SIZE(crashes); i++)
		if (strcmp(kind, crashes[i]) == 0)
			return true;
	return !kind;
}

/* Return true if the run with the number NAME, by default the guest's latest, ended in a crash. */
static bool run_crashed(const json_t *domain, const char *name)
{
	json_int_t wanted = name ? strtoll(name, NULL, 10) : json_integer_value(json_object_get(domain, "run"));
	const json_t *run, *runs = json_object_get(domain, "run_list");
	size_t i;

	json_array_foreach(runs, i, run)
	{
		const char *state = json_string_value(json_object_get(run, "state"));

		if (json_integer_value(json_object_get(run, "run")) == wanted)
			return state && strcmp(state, "ended") == 0 &&
			       is_crash(json_string_value(json_object_get(run, "reason")));
	}
	return true;
}

/* Return the API's object of the trace, or NULL. The caller decrefs it. */
static json_t *ask(struct http *h, const struct trace_source *t)
{
	CLEANUP(freep) char *path = trace_source_path(t, h, "", &(struct selection){0});
	json_t *json = NULL;

	if (!path)
		return NULL;
	path[strlen(path) - 1] = 0; /* without the slash: the whole object */
	return http_json_unless(h, path, 404, &json) == CTL_OK ? json : NULL;
}

bool end_reason_is_crash(const struct ctl *ctl, const char *operand, const struct selection *s)
{
	CLEANUP(http_close) struct http h = HTTP_CLOSED;
	struct trace_source t;
	bool settled = trace_source_parse(&t, &ctl->hosts, operand, true), crash = true;
	json_t *json;

	if (t.kind == SOURCE_FILE || t.kind == SOURCE_STDIN)
		return true;
	if (http_open(&h, &t.hosts) || (!settled && trace_source_ask(&t, &h)))
		return true;
	json = ask(&h, &t);
	if (json)
		crash = t.kind == SOURCE_CAPTURE ? is_crash(json_string_value(json_object_get(json, "kind")))
						 : run_crashed(json, s->run);
	json_decref(json);
	return crash;
}
