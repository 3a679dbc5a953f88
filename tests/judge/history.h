/* One history: a program that is executed, what of its trace is hidden, and the answers about it. */
#ifndef JUDGE_HISTORY_H
#define JUDGE_HISTORY_H

#include <stdio.h>

#include "figures.h"
#include "recording.h"

struct history {
	struct world world;
	struct recording recording;
	struct hiding hiding;
	uint64_t seed;
	uint64_t until; /* the trace's end */
	bool lwt;	/* recorded as a program with Lwt, not by mprof-run */
	bool stops;	/* at the first process about which a sentence is wrong: its files stay */
	char path[200]; /* directory for the files of the rings */
};

/* Execute the program of SEED, and draw what is hidden of it. */
void history_make(struct history *h, uint64_t seed);
/* Record, ask, and judge the answers. Return false on an error, which has been printed. */
bool history_judge(struct history *h, struct figures *f);
/*
 * Hide less, and end the trace earlier, as long as F counts the same wrong sentence SENTENCE. Return false on
 * an error.
 */
bool history_minimize(struct history *h, enum sentence sentence);
/* Print what is hidden, and the facts up to the end. */
void history_print(const struct history *h, FILE *out);
/* Remove the files of the rings. */
void history_clear(const struct history *h);

#endif
