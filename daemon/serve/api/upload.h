/* The JSON object that a client sends. */
#ifndef SERVE_UPLOAD_H
#define SERVE_UPLOAD_H

#include "exchange.h"

#define UPLOAD_NOTE_MOST 4096u

/*
 * The upload as an object (an empty one where nothing came) with no members but those in ALLOWED, which ends with NULL.  False: it was
 * answered; *OBJECT is the caller's in any case.
 */
bool upload_object(struct exchange *x, const char *const *allowed, json_t **object);
/* The member note, borrowed from OBJECT; NULL where there is none.  False: it was answered. */
bool upload_note(struct exchange *x, json_t *object, const char **note);

#endif
