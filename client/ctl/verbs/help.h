/* The help texts of the verbs and of the program. */
#ifndef CTL_HELP_H
#define CTL_HELP_H

#include "options.h"

/* Print the help of VERB, or of the program if VERB is VERB_NONE. */
void help_print(enum verb_number verb);

#endif
