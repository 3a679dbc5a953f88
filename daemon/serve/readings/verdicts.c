/* Tell the collector whether main threads failed. */
#include "verdicts.h"

/* Captures of the archive's list. */
struct unread {
	int64_t captures[VERDICTS_OPEN];
	unsigned n;
};

static int take(void *context, int64_t capture)
{
	struct unread *list = context;

	list->captures[list->n++] = capture;
	return 0;
}

static bool is_told(const struct verdicts *v, int64_t capture)
{
	for (unsigned i = 0; i < v->n_open; i++)
		if (v->open[i].capture == capture)
			return true;
	return false;
}

/* Have CAPTURE read, or tell what was found, unless that waits for its answer. There is room in OPEN. */
static void tell(struct verdicts *v, int64_t capture)
{
	const struct reading_result *found = is_told(v, capture) ? NULL : readings_find(v->readings, capture, true);
	struct verdict_told told = {.capture = capture};
	struct message_writer w;
	char archive[READER_ARCHIVE_BYTES], text[192];

	if (!found || *found->failure || (!found->main_failed && !found->whole_end) ||
	    reader_archive(v->reader, archive) != 0)
		return;
	told.tag = notice_tag(v->collector);
	message_begin(&w, text, sizeof(text), "judge-capture", told.tag);
	message_add_number(&w, "capture", (uint64_t)capture);
	message_add_number(&w, "crashed", found->main_failed);
	message_add(&w, "archive", archive);
	if (notice_send(v->collector, &w))
		v->open[v->n_open++] = told;
}

void verdicts_tick(struct verdicts *v)
{
	struct unread list = {.n = 0};
	unsigned i = 0;

	if (v->n_open == VERDICTS_OPEN || !notice_connected(v->collector) || reader_ready(v->reader) != 0 ||
	    reader_unread(v->reader, v->after, VERDICTS_OPEN, take, &list) != 0)
		return;
	for (; i < list.n && v->n_open < VERDICTS_OPEN; i++) {
		tell(v, list.captures[i]);
		v->after = list.captures[i];
	}
	if (i == list.n && list.n < VERDICTS_OPEN)
		v->after = 0;
}

bool verdicts_answer(struct verdicts *v, uint64_t tag)
{
	for (unsigned i = 0; i < v->n_open; i++)
		if (v->open[i].tag == tag) {
			v->open[i] = v->open[--v->n_open];
			return true;
		}
	return false;
}

void verdicts_lost(struct verdicts *v)
{
	v->n_open = 0;
}
