/* JSON of mprofctl: strings of a trace into it, and all of it into text.  Programs print or store JSON through here or write-json.h alone. */
#ifndef CTL_TEXT_JSON_H
#define CTL_TEXT_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What is no UTF-8 of it becomes the replacement character.  To be decref'd; NULL without memory. */
json_t *text_json(const char *text, size_t len);

/*
 * Write JSON into F with jansson's FLAGS; what mprof_text_json() escapes is escaped.  Return false if F refuses it (ferror() is set then), if
 * there is no memory, or if JSON is NULL.
 */
bool json_put(const json_t *json, FILE *f, size_t flags);
/* Return the same as a string, to be freed; NULL without memory or if JSON is NULL. */
char *json_text(const json_t *json, size_t flags);

#endif
