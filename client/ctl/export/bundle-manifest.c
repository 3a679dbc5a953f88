/*
 * Version 1 of Perfetto's manifest.  A file that is pinned has one clock of its own; the manifest says that this clock reads T when the
 * reference reads T + offset_ns.  Readers pass over keys that they do not know, so that what else we know of a file stands there under
 * `mprof`.
 */
#include <stdlib.h>
#include <string.h>

#include "bundle-manifest.h"
#include "scope.h"
#include "text-json.h"

static const char *clock_name(const struct bundle *b)
{
	return b->realtime ? "REALTIME" : "MONOTONIC";
}

static json_t *text(const char *s)
{
	return text_json(s, strlen(s));
}

static json_t *number_or_null(bool known, uint64_t number)
{
	/* JSON's integers are signed here: what does not fit is as good as not known. */
	return known && number <= INT64_MAX ? json_integer((json_int_t)number) : json_null();
}

/* What stands of a member in the manifest and in the verb's answer. */
static json_t *member_json(const struct bundle_member *m)
{
	return json_pack("{s:o, s:o, s:o, s:I, s:b, s:I, s:o, s:b}", "trace", text(m->trace), "run",
			 number_or_null(m->run >= 0, (uint64_t)m->run), "stream",
			 number_or_null(m->run >= 0, (uint64_t)m->stream), "events", (json_int_t)m->events,
			 "offset_known", (int)m->known, "offset_ns", (json_int_t)m->offset_ns, "uncertainty_ns",
			 number_or_null(m->known, m->uncertainty_ns), "clock_stepped", (int)m->clocks.stepped);
}

static json_t *file_json(const struct bundle *b, const struct bundle_member *m)
{
	return json_pack("{s:s, s:{s:o}, s:{s:{s:s, s:s}, s:I}, s:o}", "path", m->path, "machine", "name",
			 text(m->machine), "clocks", "sync_to", "file", BUNDLE_HOST, "clock", clock_name(b),
			 "offset_ns", (json_int_t)m->offset_ns, "mprof", member_json(m));
}

char *bundle_manifest(const struct bundle *b)
{
	SCOPED(freep) char *inner = NULL;
	json_t *files = json_array(), *json;
	char *all = NULL;
	size_t i;
	int n = -1;

	json_array_append_new(files, json_pack("{s:s, s:{s:s}}", "path", BUNDLE_HOST, "machine", "name", "dom0"));
	for (i = 0; i < b->n; i++)
		if (json_array_append_new(files, file_json(b, &b->list[i])))
			break;
	json = i == b->n ? json_pack("{s:i, s:{s:s, s:s}, s:O}", "version", 1, "trace_time", "clock", clock_name(b),
				     "file", BUNDLE_HOST, "files", files)
			 : NULL;
	json_decref(files);
	inner = json ? json_text(json, JSON_INDENT(1)) : NULL;
	json_decref(json);
	/* It is known by how it begins, so that no space may stand there. */
	if (inner)
		n = asprintf(&all, "{\"perfetto_manifest\":%s}\n", inner);
	return n < 0 ? NULL : all;
}

json_t *bundle_json(const struct bundle *b)
{
	json_t *files = json_array(), *file;
	size_t i;

	for (i = 0; i < b->n; i++) {
		file = member_json(&b->list[i]);
		json_object_set_new(file, "file", json_string(b->list[i].path));
		json_object_set_new(file, "name", text(b->list[i].machine));
		if (json_array_append_new(files, file)) {
			json_decref(files);
			return NULL;
		}
	}
	return json_pack("{s:s, s:o}", "clock", clock_name(b), "traces", files);
}
