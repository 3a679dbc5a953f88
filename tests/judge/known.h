/*
 * Known faults: sentences that the truth still contradicts. Each line of the list has the name of a sentence, the
 * most histories of 1,000 in which it is wrong, a seed that shows it, and the number of its issue. A cause need not be
 * named in each history (figures.h).
 */
#ifndef JUDGE_KNOWN_H
#define JUDGE_KNOWN_H

#include "figures.h"

struct known {
	unsigned most[SENTENCE_COUNT]; /* of 1,000 histories; 0 = not known */
	uint64_t seed[SENTENCE_COUNT]; /* 0 = too rare to have one */
	char issue[SENTENCE_COUNT][32];
};

/* Read the list in the file PATH. Return false on an error, which has been printed. */
bool known_read(struct known *k, const char *path);
/*
 * Return whether SENTENCE is wrong in F, of COUNT histories, and not known, or more often than is known. CHANCE histories
 * may be wrong beyond what is known.
 */
bool known_is_new(const struct known *k, const struct figures *f, enum sentence sentence, uint64_t count,
		  uint64_t chance);
/* Return whether no wrong sentence of F, of COUNT histories, is new. Print the new ones. */
bool known_allows(const struct known *k, const struct figures *f, uint64_t count, uint64_t chance);

#endif
