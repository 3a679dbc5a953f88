/* A cursor is the server's and says nothing to us, so that one that comes a second time is all there is to notice. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "pages.h"

void pages_deinit(struct pages *p)
{
	free(p->cursor);
	json_decref(p->seen);
	*p = (struct pages){0};
}

/* Keep CURSOR as one that was given; false without memory. */
static bool note_cursor(struct pages *p, const char *cursor)
{
	if (!p->seen)
		p->seen = json_object();
	free(p->cursor);
	p->cursor = strdup(cursor);
	return p->cursor && p->seen && json_object_set_new(p->seen, cursor, json_true()) == 0;
}

int pages_turn(struct pages *p, const struct http *h, const json_t *page)
{
	const char *next = json_string_value(json_object_get(page, "next"));

	if (!next) {
		free(p->cursor);
		p->cursor = NULL;
		return CTL_OK;
	}
	if (json_object_get(p->seen, next)) {
		say("%s gives the same page of %s again and again", h->host, p->what);
		return CTL_FAILED;
	}
	if (++p->n >= h->limits.pages) {
		say("%s has given %" PRIu64 " pages of %s and has more; MPROFCTL_MAX_PAGES allows them", h->host, p->n,
		    p->what);
		return CTL_FAILED;
	}
	return note_cursor(p, next) ? CTL_OK : say_memory();
}
