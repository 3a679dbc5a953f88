/* The help texts of the verbs and of the program. */
#ifndef CTL_HELP_H
#define CTL_HELP_H

#include <stdbool.h>

/*
 * Print the help of VERB, or of the program if VERB is NULL. Return false if there is no such verb.
 */
bool help_print(const char *verb);
/*
 * Return the constant text that help_print() prints. Lists that help_print() makes at run time are
 * not in it. Return NULL if there is no such verb.
 */
const char *help_text(const char *verb);

#endif
