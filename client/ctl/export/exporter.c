/* The table of formats. */
#include <stdio.h>
#include <string.h>

#include "ctl.h"
#include "exporter.h"
#include "near.h"

/* One line each. */
/* clang-format off */
static const struct exporter *const exporters[] = {
	&export_ctf,
	&export_perfetto,
	&export_svg,
	&export_html,
	&export_chrome,
	&export_fxt,
	&export_json,
	&export_csv,
};
/* clang-format on */

const struct exporter *exporter_at(size_t i)
{
	return i < sizeof(exporters) / sizeof(exporters[0]) ? exporters[i] : NULL;
}

/* All names, separated by spaces, into BUF. */
static const char *list_names(char *buf, size_t size)
{
	const struct exporter *e;
	size_t i, used = 0;

	buf[0] = 0;
	for (i = 0; (e = exporter_at(i)) && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? " " : "", e->name);
	return buf;
}

const struct exporter *exporter_find(const char *name, const char *verb)
{
	struct near near = {.word = name};
	const struct exporter *e;
	char names[256];
	size_t i;

	for (i = 0; (e = exporter_at(i)); i++) {
		if (strcmp(e->name, name) == 0)
			return e;
		near_offer(&near, e->name);
	}
	if (near.best)
		say_usage(verb, "there is no format \"%s\"; did you mean %s?", name, near.best);
	else
		say_usage(verb, "there is no format \"%s\"; these are: %s", name, list_names(names, sizeof(names)));
	return NULL;
}
