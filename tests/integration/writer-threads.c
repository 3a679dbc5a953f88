/*
 * writer-threads: record events with the tracer from many threads at once, and record the truth: for each
 * ring a CTF stream of all packets that were written (--truth PREFIX gives the files PREFIX.RING), as
 * writer-recorder does. No ring is shared, so each has one thread's events, which have numbers.
 */
#include <inttypes.h>
#include <pthread.h>

#include <mprof/tracer.h>

#include "writer.h"

#define THREADS_MAX MPROF_TRACER_OWN_MAX

struct work {
	FILE *truth;
	uint64_t random, taken, bytes, events, count, rate;
	int64_t number;
};

static struct mprof_publisher_files files;
static struct mprof_publisher inner;
static const char *truth_prefix;
static pthread_barrier_t all;	    /* no thread ends before each has its ring */
static __thread char ring_name[16]; /* name of the thread's ring */

static int note_name(void *context, unsigned index, const char *name)
{
	(void)context;
	snprintf(ring_name, sizeof(ring_name), "%s", name);
	return inner.say(inner.context, index, name);
}

/* Copy packet W->taken, which is complete, from the ring of R to the truth. */
static void truth_put(struct work *w, const struct mprof_recorder *r)
{
	const uint8_t *p = r->memory + (size_t)(w->taken % r->packets) * r->packet_bytes;
	struct mprof_packet_header h;
	uint8_t header[MPROF_PACKET_HEADER_BYTES];

	if (mprof_packet_load(&h, p, MPROF_PACKET_HEADER_BYTES) != MPROF_PACKET_OK || h.count != (uint16_t)w->taken)
		writer_die("packet %" PRIu64 " is not where it belongs", w->taken);
	h.packet_bytes = h.content_bytes;
	mprof_packet_store(&h, header);
	if (fwrite(header, sizeof(header), 1, w->truth) != 1 ||
	    fwrite(p + sizeof(header), 1, h.content_bytes - sizeof(header), w->truth) !=
		    h.content_bytes - sizeof(header))
		writer_die("the truth: %s", strerror(errno));
	w->taken++;
	w->bytes += h.content_bytes - MPROF_PACKET_HEADER_BYTES;
}

static void event_write(struct work *w, struct mprof_recorder *r)
{
	static const struct mprof_text texts[] = {MPROF_TEXT("read"), MPROF_TEXT("write"), MPROF_TEXT("a longer name"),
						  MPROF_TEXT("")};
	const struct mprof_text *text = &texts[writer_random(&w->random, 4)];
	int64_t n = ++w->number;

	switch (writer_random(&w->random, 7)) {
	case 0:
		mprof_recorder_label_text(r, n, text);
		break;
	case 1:
		mprof_recorder_counter_text(r, n, text);
		break;
	case 2:
		mprof_recorder_duration_text(r, n, 5, text);
		break;
	case 3:
		mprof_recorder_duration(r, n, 5, "in line", 7);
		break;
	case 4:
		mprof_recorder_counter(r, n, "counter", 7);
		break;
	case 5:
		mprof_recorder_signal_noswitch(r, n, 1);
		break;
	default:
		mprof_recorder_try_read(r, n, n - 1);
	}
}

static void *work(void *context)
{
	struct work *w = context;
	struct mprof_recorder *r;
	uint64_t began = writer_now(), due, written;
	char path[256];

	for (; !writer_ended && (!w->count || w->events < w->count); w->events++) {
		r = mprof_tracer_begin();
		if (!r)
			writer_die("no ring");
		if (!w->truth) {
			snprintf(path, sizeof(path), "%s.%s", truth_prefix, ring_name);
			w->truth = fopen(path, "we");
			if (!w->truth)
				writer_die("%s: %s", path, strerror(errno));
		}
		event_write(w, r);
		while (w->taken < mprof_recorder_sequence(r))
			truth_put(w, r);
		written = w->bytes + r->content;
		mprof_tracer_end(r);
		due = w->rate ? began + (uint64_t)((double)written / (double)w->rate * (double)NS_PER_S) : 0;
		if (w->events % 16 == 0 && due > writer_now() + 200000)
			writer_sleep_until(due);
	}
	pthread_barrier_wait(&all);
	r = mprof_tracer_begin();
	truth_put(w, r);
	mprof_tracer_end(r);
	if (fclose(w->truth) != 0)
		writer_die("the truth: %s", strerror(errno));
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t size = 65536, packets = 0, threads = 10, rate = 0, count = 0, seed = 1, events = 0;
	const char *dir = NULL, *name = "threads";
	static const struct option options[] = {
		{"dir", required_argument, NULL, 0},	 {"name", required_argument, NULL, 0},
		{"truth", required_argument, NULL, 0},	 {"size", required_argument, NULL, 0},
		{"packets", required_argument, NULL, 0}, {"threads", required_argument, NULL, 0},
		{"rate", required_argument, NULL, 0},	 {"events", required_argument, NULL, 0},
		{"seed", required_argument, NULL, 0},	 {0}};
	uint64_t *const numbers[] = {NULL, NULL, NULL, &size, &packets, &threads, &rate, &count, &seed};
	const char **const texts[] = {&dir, &name, &truth_prefix};
	struct mprof_tracer_options tracer = {0};
	struct mprof_publisher publisher;
	static pthread_t ids[THREADS_MAX];
	static struct work works[THREADS_MAX];

	writer_options(argc, argv, options, numbers, texts);
	if (!dir || !truth_prefix || threads > THREADS_MAX || mprof_publisher_files_open(&files, &inner, dir, name) < 0)
		writer_die("Usage: writer-threads --dir DIRECTORY --truth PREFIX [--name NAME] [--size BYTES] "
			   "[--packets N]\n"
			   "       [--threads N] [--rate BYTES/S] [--events N] [--seed N]");
	publisher = inner;
	publisher.say = note_name;
	tracer = (struct mprof_tracer_options){
		.publisher = &publisher, .ring_bytes = size, .packets = (unsigned)packets};
	if (mprof_tracer_start(&tracer))
		writer_die("the tracer cannot be started");
	writer_catch_end();
	pthread_barrier_init(&all, NULL, (unsigned)threads);
	for (uint64_t i = 0; i < threads; i++) {
		works[i] = (struct work){.random = seed + i, .count = count, .rate = rate};
		if (pthread_create(&ids[i], NULL, work, &works[i]))
			writer_die("no thread");
	}
	for (uint64_t i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		events += works[i].events;
	}
	printf("{\"events\": %" PRIu64 ", \"dropped\": %" PRIu64 ", \"rings\": %u, \"folder\": \"%s\"}\n", events,
	       mprof_tracer_dropped(), mprof_tracer_rings(), files.folder);
	mprof_tracer_stop();
	mprof_publisher_files_close(&files, 0);
	return 0;
}
