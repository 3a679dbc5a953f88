/* This file has the table of the export formats. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "array.h"
#include "cleanup.h"
#include "ctl.h"
#include "exporter.h"
#include "suggestion.h"
#include "trace-source.h"

/* One per line. */
/* clang-format off */
static const struct exporter *const exporters[] = {
	&export_ctf,
	&export_perfetto,
	&export_svg,
	&export_html,
	&export_chrome,
	&export_fxt,
	&export_sqlite,
	&export_json,
	&export_csv,
};
/* clang-format on */

const struct exporter *exporter_at(size_t i)
{
	return i < ARRAY_SIZE(exporters) ? exporters[i] : NULL;
}

/* Write all names to BUF, separated by spaces. */
static const char *list_names(char *buf, size_t size)
{
	const struct exporter *e;
	size_t used = 0;

	buf[0] = 0;
	for (size_t i = 0; (e = exporter_at(i)) && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? " " : "", e->name);
	return buf;
}

const struct exporter *exporter_find(const char *name, const char *verb)
{
	struct suggestion suggestion = {.word = name};
	const struct exporter *e;
	char names[256];

	for (size_t i = 0; (e = exporter_at(i)); i++) {
		if (strcmp(e->name, name) == 0)
			return e;
		suggestion_consider(&suggestion, e->name);
	}
	if (suggestion.best)
		say_usage(verb, "there is no format \"%s\"; did you mean %s?", name, suggestion.best);
	else
		say_usage(verb, "there is no format \"%s\"; these are: %s", name, list_names(names, sizeof(names)));
	return NULL;
}

char *export_path(const char *operand, const char *suffix)
{
	static const char *const endings[] = {".gz", ".xz", ".zst", ".tar", ".ctf", ".events", ".sexp"};
	CLEANUP(freep) char *name = NULL;
	struct trace_source t;
	const char *slash;
	size_t i, len, n;

	trace_source_parse(&t, NULL, operand, true);
	if (t.kind == SOURCE_STDIN)
		t.name = "trace";
	for (len = strlen(t.name); t.kind == SOURCE_FILE && len > 1 && t.name[len - 1] == '/'; len--)
		;
	slash = t.kind == SOURCE_FILE ? memrchr(t.name, '/', len) : NULL;
	name = slash ? strndup(slash + 1, len - (size_t)(slash + 1 - t.name)) : strndup(t.name, len);
	for (i = 0, len = name ? strlen(name) : 0; i < ARRAY_SIZE(endings); i++) {
		n = strlen(endings[i]);
		if (t.kind == SOURCE_FILE && len > n && strcmp(name + len - n, endings[i]) == 0)
			name[len -= n] = 0;
	}
	t.name = name;
	return name ? trace_source_file_name(&t, suffix) : NULL;
}

void slices_report_refused(const struct slices *s)
{
	if (s->refused)
		say("threads beyond the limit share one track, and counters beyond it are left out; events of them: "
		    "%" PRIu64,
		    s->refused);
}
