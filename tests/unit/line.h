/* One event of a model that is made by hand, in a short form. */
#ifndef UNIT_LINE_H
#define UNIT_LINE_H

#include <string.h>

#include <mprof/model.h>

#include "check.h"

struct line {
	uint64_t time;
	uint8_t id;
	int64_t context;
	int64_t number; /* for `creates`: the id of the new thread */
	uint8_t type;
	const char *text;
};

#define CREATES(t, parent, child, kind) {t, MPROF_EVENT_creates, parent, child, MPROF_THREAD_##kind, NULL}
#define DOES(t, what, context, number)	{t, MPROF_EVENT_##what, context, number, 0, NULL}
#define SAYS(t, thread, text)		{t, MPROF_EVENT_label, thread, 0, 0, text}
#define MARKS(t, thread)		SAYS(t, thread, "__should_resolve")

/* Add the event L of STREAM to M. */
static inline void line_add(struct mprof_model *m, uint32_t stream, const struct line *l)
{
	struct mprof_raw_event e = {
		.timestamp = l->time,
		.id = l->id,
		.type = l->type,
		.context = l->context,
		.number = l->number,
		.text = l->text,
		.text_bytes = l->text ? strlen(l->text) : 0,
	};

	CHECK_EQ_INT(mprof_model_add(m, stream, &e), MPROF_OK);
}

#endif
