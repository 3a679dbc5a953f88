/* Readings as the API shows them. */
#ifndef SERVE_READING_JSON_H
#define SERVE_READING_JSON_H

#include <jansson.h>

#include "readings.h"

/*
 * Add what is known of CAPTURE to JSON, its description: eight members, which are null if it was not read yet.
 * With WANTED the capture is read soon. R may be NULL; then nothing is added. Return 0 or -ENOMEM.
 */
int reading_json_add(struct readings *r, int64_t capture, bool wanted, json_t *json);

#define READING_DAMAGES_TEXT 96u
/*
 * Write the header Mprof-Damages of a body of CAPTURE to TEXT. Return false if there is none: nothing is damaged, or nobody
 * knows. R may be NULL.
 */
bool reading_damages(struct readings *r, int64_t capture, char text[READING_DAMAGES_TEXT]);
/* The same of a capture with DAMAGES: places, bytes and events. */
bool reading_damages_text(const uint64_t damages[3], char text[READING_DAMAGES_TEXT]);

#endif
