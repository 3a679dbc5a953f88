/* The daemon knows why a guest ended; the trace does not. */
#include "ending.h"

#include <stdlib.h>
#include <string.h>

#include "scope.h"

/* An ending as the API names captures' kinds, which a run's reason is too; NULL where it is not known. */
static bool is_crash(const char *kind)
{
	static const char *const crashes[] = {"crash", "watchdog", "destroyed", "ended"};
	size_t i;

	for (i = 0; kind && i < sizeof(crashes) / sizeof(crashes[0]); i++)
		if (strcmp(kind, crashes[i]) == 0)
			return true;
	return !kind;
}

/* Of the run that was meant: number NAME, or by default the guest's latest. */
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

/* What the API says of the target, or NULL; to be decref'd. */
static json_t *ask(struct http *h, const struct target *t)
{
	SCOPED(freep) char *path = target_path(t, h, "", &(struct selection){0});
	json_t *json = NULL;

	if (!path)
		return NULL;
	path[strlen(path) - 1] = 0; /* no part of it, but all */
	return http_json_unless(h, path, 404, &json) == CTL_OK ? json : NULL;
}

bool ending_is_crash(const struct ctl *ctl, const char *operand, const struct selection *s)
{
	SCOPED(http_close) struct http h = {.signals = -1};
	struct target t;
	bool settled = target_parse(&t, operand, true), crash = true;
	json_t *json;

	if (t.kind == TARGET_FILE || t.kind == TARGET_STDIN)
		return true;
	if (http_open(&h, ctl->host) || (!settled && target_ask(&t, &h)))
		return true;
	json = ask(&h, &t);
	if (json)
		crash = t.kind == TARGET_CAPTURE ? is_crash(json_string_value(json_object_get(json, "kind")))
						 : run_crashed(json, s->run);
	json_decref(json);
	return crash;
}
