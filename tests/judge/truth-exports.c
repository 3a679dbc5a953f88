/* Exports: the sums of their durations, by name, against those that the recorder wrote. */
#include "truth.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "answers.h"

static void compare(const struct trial *t, const char *format, const double *sums)
{
	for (unsigned i = 0; i < t->world->n_objects; i++) {
		double truth = (double)t->recording->held[i];

		if (truth > 0 || sums[i] > 0)
			figures_note(t->figures, SENTENCE_EXPORTS, fabs(sums[i] - truth) < 1,
				     "%s: \"held object%u\" is %.0f ns, not %.0f", format, i, truth, sums[i]);
	}
}

static void add_sum(const char *name, double ns, double *sums)
{
	unsigned object;

	if (name && sscanf(name, "held object%u", &object) == 1 && object < WORLD_OBJECTS)
		sums[object] += ns;
}

/* Complete events (X) of Chrome's JSON, whose durations are in microseconds. */
static bool read_chrome(const char *path, double *sums)
{
	json_t *json = json_load_file(path, 0, NULL), *it;
	const json_t *events = json_is_array(json) ? json : json_object_get(json, "traceEvents");
	size_t i;

	json_array_foreach(events, i, it)
	{
		if (answers_text(it, "ph") && strcmp(answers_text(it, "ph"), "X") == 0)
			add_sum(answers_text(it, "name"), json_number_value(json_object_get(it, "dur")) * 1000, sums);
	}
	json_decref(json);
	return events;
}

static bool read_sqlite(const char *path, double *sums)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *s = NULL;
	bool good = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
		    sqlite3_prepare_v2(db, "SELECT name, duration_ns FROM durations", -1, &s, NULL) == SQLITE_OK;

	while (good && sqlite3_step(s) == SQLITE_ROW)
		add_sum((const char *)sqlite3_column_text(s, 0), (double)sqlite3_column_int64(s, 1), sums);
	sqlite3_finalize(s);
	sqlite3_close(db);
	return good;
}

bool truth_of_exports(const struct trial *t, const char *path)
{
	static const struct {
		const char *format;
		bool (*read)(const char *path, double *sums);
	} formats[] = {{"chrome", read_chrome}, {"sqlite", read_sqlite}};
	bool good = true;
	char file[300];

	if (!recording_is_whole(t->recording) || t->recording->lwt)
		return true;
	snprintf(file, sizeof(file), "%s.export", path);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]) && good; i++) {
		double sums[WORLD_OBJECTS] = {0};

		good = answers_export(path, formats[i].format, file) && formats[i].read(file, sums);
		if (good)
			compare(t, formats[i].format, sums);
		else
			fprintf(stderr, "the export to %s cannot be made or read\n", formats[i].format);
		unlink(file);
	}
	return good;
}
