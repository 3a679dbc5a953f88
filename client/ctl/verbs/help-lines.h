/* The texts of help, as what they say: verbs, options, values. */
#ifndef CTL_HELP_LINES_H
#define CTL_HELP_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* The next line of *TEXT, without its end; false behind the last. */
bool help_line_next(const char **text, const char **line, size_t *len);
/* Does it tell of an option? */
bool help_line_is_option(const char *line, size_t len);
/* Behind the gap of such a line, or the whole of the line behind, what the option does: *WHAT_LEN bytes. */
const char *help_line_what(const char *line, size_t len, size_t *what_len);
/* How long the word is, up to a space or a comma. */
size_t help_word_len(const char *word);
/* What help calls the value of OPTION of VERB, or of the program where that is NULL; NULL where it takes none. */
const char *help_value(const char *verb, const char *option);

#endif
