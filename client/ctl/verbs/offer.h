/* What the word can be that a shell asks about: each candidate is a line on standard output, a word, a tab and what it is. */
#ifndef CTL_OFFER_H
#define CTL_OFFER_H

#include <stdbool.h>
#include <stddef.h>

struct offer {
	const char *word; /* the part of it that is to be completed; borrowed */
	const char *kept; /* what stands before that and stays, up to WORD; a list up to its last comma */
};

/* TEXT of LEN bytes, where it begins as the word does; WHAT says what it is. */
void offer_text(const struct offer *o, const char *text, size_t len, const char *what, size_t what_len);
/* The same of strings. */
void offer_word(const struct offer *o, const char *word, const char *what);
/* The guests, and the captures' ids, that the daemon at HOST has.  Where it does not answer soon the program ends, with what was offered before. */
void offer_remote(const struct offer *o, const char *host, bool domains, bool captures);

#endif
