/*
 * Read parts of a request: its headers, the numbers in its query, and the JSON object in its body.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "exchange.h"
#include "json-parse.h"
#include "quantity.h"

const char *exchange_header(struct exchange *x, const char *name)
{
	return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

bool exchange_number(struct exchange *x, const char *key, uint64_t least, uint64_t most, uint64_t default_,
		     uint64_t *value)
{
	const char *text = request_query(&x->request, key);

	*value = default_;
	if (!text)
		return true;
	if (quantity_whole(text, most < 9 ? 9 : most, value) && *value >= least && *value <= most)
		return true;
	exchange_problem(x, MHD_HTTP_BAD_REQUEST, "The query parameter %s must be a number from %llu to %llu.", key,
			 (unsigned long long)least, (unsigned long long)most);
	return false;
}

bool exchange_upload(struct exchange *x, const char *const *allowed, json_t **object)
{
	const char *type = exchange_header(x, MHD_HTTP_HEADER_CONTENT_TYPE), *key;
	json_error_t error;
	json_t *value;
	size_t i;
	int r = 0;

	if (x->upload_bytes && type && strncasecmp(type, "application/json", 16) != 0) {
		exchange_problem(x, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "The body must be application/json.");
		return false;
	}
	if (x->upload_bytes)
		r = json_parse(object, x->upload, x->upload_bytes, JSON_REJECT_DUPLICATES, &error);
	else
		*object = json_object();
	if (r == -ENOMEM || (!x->upload_bytes && !*object)) {
		exchange_reader_problem(x, -ENOMEM, "");
		return false;
	}
	if (!json_is_object(*object)) {
		exchange_problem(x, MHD_HTTP_BAD_REQUEST, "The body is not a JSON object%s%s.", *object ? "" : ": ",
				 *object ? "" : error.text);
		return false;
	}
	json_object_foreach(*object, key, value)
	{
		for (i = 0; allowed[i] && strcmp(allowed[i], key) != 0; i++)
			;
		if (!allowed[i]) {
			exchange_problem(x, MHD_HTTP_BAD_REQUEST, "The body has an unknown member %.100s.", key);
			return false;
		}
	}
	return true;
}

bool exchange_upload_note(struct exchange *x, json_t *object, const char **note)
{
	json_t *member = json_object_get(object, "note");

	*note = json_string_value(member);
	if (!member ||
	    (*note && json_string_length(member) <= EXCHANGE_NOTE_MOST && strlen(*note) == json_string_length(member)))
		return true;
	exchange_problem(x, MHD_HTTP_BAD_REQUEST, "note must be a text of at most %u bytes, without NUL.",
			 EXCHANGE_NOTE_MOST);
	return false;
}
