/* The help of the program and of its verbs, which mprofctl.options has, with the formats of `export`. */
#include <stdio.h>

#include "exporter.h"
#include "help.h"

void help_print(enum verb_number verb)
{
	const struct exporter *e;

	fputs(verb_rows[verb].help, stdout);
	for (size_t i = 0; verb == VERB_EXPORT && (e = exporter_at(i)); i++)
		printf("  %-9s %s\n", e->name, e->what);
}
