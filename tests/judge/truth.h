/* Compare the claims of answers with the truth. */
#ifndef JUDGE_TRUTH_H
#define JUDGE_TRUTH_H

#include <jansson.h>

#include "figures.h"
#include "recording.h"

struct trial {
	struct figures *figures;
	const struct world *world;
	const struct recording *recording;
};

/* ANSWER is what `why`, `threads` or `stats` printed of the recording. */
void truth_of_why(const struct trial *t, const json_t *why);
/* GROUPS is what `why` printed without a name, ALL what it printed with --all. */
void truth_of_groups(const struct trial *t, const json_t *groups, const json_t *all);
void truth_of_threads(const struct trial *t, const json_t *answer);
void truth_of_stats(const struct trial *t, const json_t *answer);
/* ANSWER is what `diff` printed of the recording and itself. */
void truth_of_diff(const struct trial *t, const json_t *answer);
/*
 * ANSWER is what `diff` printed of the recording of T and of one of the same history of which nothing is hidden. The recording of T is
 * the good run, or with BAD the bad one.
 */
void truth_of_hidden(const struct trial *t, const json_t *answer, bool bad);
/*
 * Compare the page's table of threads, and the exports, of the recording whose files are in the directory PATH. The
 * exports are judged only if nothing is hidden. Return false on an error.
 */
bool truth_of_area(const struct trial *t, const char *path);
bool truth_of_exports(const struct trial *t, const char *path);
/* Compare the causes that WHY names with those that the program has. */
void truth_of_causes(const struct trial *t, const json_t *why);

#endif
