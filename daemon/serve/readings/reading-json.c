/* Show a reading as JSON. Its texts are UTF-8, which reading-result.c has checked. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "reading-json.h"
#include "row-json.h"

/* Return TEXT as JSON; null if it is empty. */
static json_t *text_or_null(const char *text)
{
	return *text ? json_string(text) : json_null();
}

/* Return N as JSON, if it is known of R. */
static json_t *number_or_null(const struct reading_result *r, uint64_t n)
{
	return r && r->damage_known ? json_integer((json_int_t)n) : json_null();
}

int reading_json_add(struct readings *readings, int64_t capture, bool wanted, json_t *json)
{
	CLEANUP(json_unrefp) json_t *more = NULL;
	const struct reading_result *r = readings ? readings_find(readings, capture, wanted) : NULL;

	if (!readings)
		return 0;
	more = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "cause", text_or_null(r ? r->cause : ""),
			 "sentence", text_or_null(r ? r->sentence : ""), "last_ran", text_or_null(r ? r->last : ""),
			 "exception", text_or_null(r ? r->exception : ""), "failure", text_or_null(r ? r->failure : ""),
			 "damages", number_or_null(r, r ? r->damages : 0), "skipped_bytes",
			 number_or_null(r, r ? r->skipped : 0), "unproven_events",
			 number_or_null(r, r ? r->unproven : 0));
	return more && json_object_update(json, more) == 0 ? 0 : -ENOMEM;
}

bool reading_damages_text(const uint64_t damages[3], char text[READING_DAMAGES_TEXT])
{
	snprintf(text, READING_DAMAGES_TEXT, "places=%" PRIu64 "; bytes=%" PRIu64 "; events=%" PRIu64, damages[0],
		 damages[1], damages[2]);
	return damages[0] != 0;
}

bool reading_damages(struct readings *readings, int64_t capture, char text[READING_DAMAGES_TEXT])
{
	const struct reading_result *r = readings ? readings_find(readings, capture, true) : NULL;

	if (!r || !r->damage_known)
		return false;
	return reading_damages_text((const uint64_t[]){r->damages, r->skipped, r->unproven}, text);
}
