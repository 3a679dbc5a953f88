/*
 * JSON that is whole, or absent. If there is no memory for a part, its owner is released and becomes NULL; and so does, in turn, what that
 * would be a part of, because a part that is NULL cannot be added. An answer without one of its parts would be false.
 */
#ifndef JSON_WHOLE_H
#define JSON_WHOLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Add the member KEY to *OBJECT, which the caller owns; if that is NULL, add nothing. Release VALUE in any case; NULL: there was no memory. */
static inline void json_add_member(json_t **object, const char *key, json_t *value)
{
	if (json_object_set_new(*object, key, value) < 0) {
		json_decref(*object);
		*object = NULL;
	}
}

/* Add an item to *ARRAY, otherwise as json_add_member(). */
static inline void json_add_item(json_t **array, json_t *value)
{
	if (json_array_append_new(*array, value) < 0) {
		json_decref(*array);
		*array = NULL;
	}
}

struct json_whole {
	char *text;
	size_t len, room;
	bool failed;
};

static inline int json_whole_put(const char *text, size_t len, void *context)
{
	struct json_whole *w = (struct json_whole *)context;

	if (w->room - w->len <= len) {
		size_t room = 2 * (w->len + len) + 256;
		char *more = w->failed ? NULL : (char *)realloc(w->text, room);

		if (!more) {
			w->failed = true;
			return -1;
		}
		w->text = more;
		w->room = room;
	}
	memcpy(w->text + w->len, text, len);
	w->len += len;
	w->text[w->len] = '\0';
	return 0;
}

/*
 * Return JSON as text, which the caller frees, or NULL: JSON is NULL, or there is no memory. FLAGS are those of json_dumps(), which leaves out
 * a key if there is no memory for it (jansson 2.14).
 */
static inline char *json_whole_text(const json_t *json, size_t flags)
{
	struct json_whole w = {0};

	if (json && json_dump_callback(json, json_whole_put, &w, flags) == 0 && !w.failed)
		return w.text;
	free(w.text);
	return NULL;
}

#endif
