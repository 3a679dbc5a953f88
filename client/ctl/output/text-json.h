/* A string of a trace as JSON. */
#ifndef CTL_TEXT_JSON_H
#define CTL_TEXT_JSON_H

#include <jansson.h>
#include <stddef.h>

/* What is no UTF-8 of it becomes the replacement character.  To be decref'd; NULL without memory. */
json_t *text_json(const char *text, size_t len);

#endif
