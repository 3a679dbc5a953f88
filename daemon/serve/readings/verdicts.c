/* Tell the collector whether main threads failed. */
#include "verdicts.h"

#define MOST 16u /* captures of a tick: the collector takes 200 messages a second of a client */

struct unread {
	int64_t captures[MOST];
	unsigned n;
};

static int take(void *context, int64_t capture)
{
	struct unread *list = context;

	list->captures[list->n++] = capture;
	return 0;
}

/* Have CAPTURE read, or tell what was found. The answer says nothing new: a capture that is still unread is told again. */
static void tell(struct verdicts *v, int64_t capture)
{
	const struct reading_result *found = readings_find(v->readings, capture, true);
	struct message_writer w;
	char text[128];

	if (!found || *found->failure || (!found->main_failed && !found->whole_end))
		return;
	message_begin(&w, text, sizeof(text), "judge-capture", notice_tag(v->collector));
	message_add_number(&w, "capture", (uint64_t)capture);
	message_add_number(&w, "crashed", found->main_failed);
	(void)notice_send(v->collector, &w);
}

void verdicts_tick(struct verdicts *v)
{
	struct unread list = {.n = 0};

	if (!notice_connected(v->collector) || reader_ready(v->reader) != 0 ||
	    reader_unread(v->reader, v->after, MOST, take, &list) != 0)
		return;
	v->after = list.n == MOST ? list.captures[MOST - 1] : 0;
	for (unsigned i = 0; i < list.n; i++)
		tell(v, list.captures[i]);
}
