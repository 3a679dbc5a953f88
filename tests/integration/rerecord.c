/*
 * rerecord: record the events of FILE again, in their order, into the ring RING: rerecord HOW FILE RING BYTES
 *
 * FILE has events without packets. HOW is `compatible`, or `interned`: then each text that an event `extra`
 * can name is interned. The ring has two packets. The program fails if an event is dropped or if the recorder
 * does not record it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/event.h>
#include <mprof/recorder-file.h>
#include <mprof/recorder.h>

#define FILE_MAX (16u << 20)
#define TEXTS	 65536u

static uint8_t bytes[FILE_MAX];
static struct mprof_text texts[TEXTS];
static unsigned n_texts;

static void die(const char *what)
{
	fprintf(stderr, "rerecord: %s\n", what);
	exit(1);
}

/* Return the text of E as the program's own, which has one for each. */
static const struct mprof_text *intern(const struct mprof_raw_event *e)
{
	for (unsigned i = 0; i < n_texts; i++)
		if (texts[i].bytes == e->text_bytes && memcmp(texts[i].text, e->text, e->text_bytes) == 0)
			return &texts[i];
	if (n_texts == TEXTS)
		die("too many texts");
	texts[n_texts] = (struct mprof_text){e->text, e->text_bytes, MPROF_COUNTER_UNDECLARED};
	return &texts[n_texts++];
}

static void record_with_text(struct mprof_recorder *r, const struct mprof_raw_event *e)
{
	switch (e->id) {
	case MPROF_EVENT_fails:
		mprof_recorder_fails(r, e->number, e->text, e->text_bytes);
		break;
	case MPROF_EVENT_label:
		mprof_recorder_label_text(r, e->context, intern(e));
		break;
	case MPROF_EVENT_increase:
		mprof_recorder_increase_text(r, e->number, intern(e));
		break;
	default:
		mprof_recorder_counter_text(r, e->number, intern(e));
	}
}

static void record_plain(struct mprof_recorder *r, const struct mprof_raw_event *e)
{
	switch (e->id) {
	case MPROF_EVENT_creates:
		mprof_recorder_creates(r, e->number, (enum mprof_thread_type)e->type);
		break;
	case MPROF_EVENT_read:
		mprof_recorder_read(r, e->context, e->number);
		break;
	case MPROF_EVENT_fulfills:
		mprof_recorder_fulfills(r, e->number);
		break;
	case MPROF_EVENT_becomes:
		mprof_recorder_becomes(r, e->context, e->number);
		break;
	case MPROF_EVENT_gc:
		mprof_recorder_gc(r, (uint64_t)e->number);
		break;
	case MPROF_EVENT_signal:
		mprof_recorder_signal(r, e->context, e->number);
		break;
	case MPROF_EVENT_try_read:
		mprof_recorder_try_read(r, e->context, e->number);
		break;
	case MPROF_EVENT_read_later:
		mprof_recorder_read_later(r, e->context, e->number);
		break;
	case MPROF_EVENT_signal_noswitch:
		mprof_recorder_signal_noswitch(r, e->context, e->number);
		break;
	default:
		die("an event that mirage-profile does not have");
	}
}

static void record(struct mprof_recorder *r, const struct mprof_raw_event *e)
{
	mprof_recorder_at(r, e->timestamp);
	if (e->id == MPROF_EVENT_switch && e->context == MPROF_THREAD_NONE) {
		mprof_recorder_suspend(r);
	} else if (e->id == MPROF_EVENT_switch) {
		/* A switch to the running thread would not be recorded. */
		r->current = e->context + 1;
		mprof_recorder_switch(r, e->context);
	} else {
		/* The events that name the running thread have it as their context. */
		r->current = e->context;
		if (e->text)
			record_with_text(r, e);
		else
			record_plain(r, e);
	}
}

int main(int argc, char **argv)
{
	static struct mprof_recorder recorder;
	struct mprof_recorder_file ring;
	struct mprof_raw_event e;
	size_t used, at = 0;
	uint64_t n = 0;
	FILE *f;

	if (argc != 5)
		die("four arguments are needed");
	f = fopen(argv[2], "rb");
	if (!f)
		die("no such file");
	used = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	if (mprof_recorder_file_open(&ring, argv[3], strtoul(argv[4], NULL, 10)) < 0 ||
	    mprof_recorder_init(&recorder, ring.memory, ring.size, 2, NULL, NULL) != MPROF_RECORDER_OK)
		die("no ring");
	mprof_recorder_compatible(&recorder, strcmp(argv[1], "compatible") == 0);
	for (; at < used; at += e.bytes, n++) {
		if (mprof_event_load(&e, bytes + at, used - at) != MPROF_EVENT_OK)
			die("no event");
		record(&recorder, &e);
	}
	if (mprof_recorder_dropped(&recorder) || mprof_recorder_sequence(&recorder))
		die("events do not fit the first packet");
	if (recorder.compatible && recorder.events != n)
		die("events are missing");
	mprof_recorder_stop(&recorder);
	mprof_recorder_file_close(&ring);
	return 0;
}
