/* Programs for the machine, drawn from its random numbers: healthy ones, and some that can hang. */
#ifndef JUDGE_PROGRAMS_H
#define JUDGE_PROGRAMS_H

#include "world.h"

/* Make the programs, objects and variables of W, whose RANDOM is set and whose other fields are 0. */
void programs_make(struct world *w);

#endif
