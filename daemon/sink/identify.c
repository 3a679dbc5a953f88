/* Who is it?  The collector knows which addresses its domains have; the sink knows none by itself. */
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "sink.h"

/* The collector may not know a new guest, or its addresses, yet: it is asked again, ever more seldom, for two minutes. */
#define WHO_AGAIN_NS NS_PER_S
#define WHO_TRIES    7u

static const char *some(const struct message *m, const char *key)
{
	const char *value = message_value(m, key);

	return value && *value ? value : NULL;
}

static void on_answer(void *context, uint64_t tag, const struct message *m)
{
	struct sink *s = context;
	bool ok = strcmp(m->verb, "ok") == 0;
	uint64_t run = 0, domid = 0;
	struct stream *stream = s->streams;
	struct target *target = s->targets;

	if (tag == s->offers) {
		offers_answer(s, ok ? m : NULL);
		return;
	}
	for (; stream && stream->who != tag; stream = stream->next)
		;
	for (; target && target->where != tag; target = target->next)
		;
	if (target)
		target_where(target, ok ? m : NULL);
	if (!stream)
		return;
	stream->who = 0;
	message_number(m, "run", &run);
	if (ok)
		stream_identify(stream, (int64_t)run, some(m, "name"), some(m, "uuid"),
				message_number(m, "domid", &domid) ? (int64_t)domid : -1);
	else if (stream->state == STREAM_ENDED)
		stream_end(stream, "closed");
}

/* What was asked is not answered any more. */
static void on_lost(void *context)
{
	struct sink *s = context;

	for (struct stream *stream = s->streams; stream; stream = stream->next)
		stream->who = 0; /* one that has ended goes at its deadline */
	s->offers = 0;
}

static const struct notice_calls calls = {.answer = on_answer, .lost = on_lost};

int identify_open(struct sink *s, const char *run)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/collect.sock", run);
	return notice_new(&s->collector, s->event, path, &calls, s);
}

void identify_stream(struct stream *s)
{
	struct message_writer w;
	char text[256];
	uint64_t tag;

	if (s->about.run) /* who asked for it said so */
		return;
	s->who_next = clock_mono() + (WHO_AGAIN_NS << s->who_tries++);
	tag = notice_tag(s->sink->collector);
	message_begin(&w, text, sizeof(text), "who", tag);
	message_add(&w, "address", s->address);
	if (notice_send(s->sink->collector, &w))
		s->who = tag;
}

void identify_tick(struct sink *s)
{
	uint64_t now = clock_mono();

	if (!notice_connected(s->collector))
		return;
	for (struct stream *stream = s->streams; stream; stream = stream->next)
		if (stream->state == STREAM_RECORDING && !stream->about.run && !stream->who &&
		    stream->who_tries < WHO_TRIES && now >= stream->who_next)
			identify_stream(stream);
}

bool identify_target(struct target *t)
{
	struct message_writer w;
	char text[256];

	t->where = notice_tag(t->sink->collector);
	message_begin(&w, text, sizeof(text), "where", t->where);
	message_add_number(&w, "domid", (uint64_t)t->domid);
	if (!notice_send(t->sink->collector, &w))
		t->where = 0;
	return t->where != 0;
}
