/*
 * writer-recorder: record events of each kind at a given rate with mprofd's recorder, and record
 * the truth. The truth (--truth FILE) is a CTF stream of all packets that were written, the oldest
 * first. A packet is copied from the ring when the recorder has moved to the next packet: the
 * packet's bytes do not change until the packet is reused.
 */
#include <inttypes.h>

#include <mprof/recorder-file.h>
#include <mprof/recorder.h>

#include "writer.h"

struct recording {
	struct mprof_recorder recorder;
	const uint8_t *memory;
	FILE *truth;
	/* TAKEN is the number of packets in the truth, BYTES the number of their content bytes. */
	uint64_t random, taken, bytes;
	int64_t serial;
};

static uint64_t now(void *context)
{
	(void)context;
	return writer_now();
}

/* Return packet I of the ring. The headers before it give its place. */
static const uint8_t *packet_at(const struct recording *r, uint32_t i)
{
	const uint8_t *p = r->memory;

	while (i-- > 0)
		p += mprof_load32(p + 20) / 8;
	return p;
}

static void truth_put(struct recording *r, uint32_t slot)
{
	const uint8_t *p = packet_at(r, slot);
	struct mprof_packet_header h;
	uint8_t header[MPROF_PACKET_HEADER_BYTES];

	if (mprof_packet_load(&h, p, MPROF_PACKET_HEADER_BYTES) != MPROF_PACKET_OK || h.count != (uint16_t)r->taken)
		writer_die("packet %" PRIu64 " is not where it belongs", r->taken);
	h.packet_bytes = h.content_bytes;
	mprof_packet_store(&h, header);
	if (r->truth && (fwrite(header, sizeof(header), 1, r->truth) != 1 ||
			 fwrite(p + sizeof(header), 1, h.content_bytes - sizeof(header), r->truth) !=
				 h.content_bytes - sizeof(header)))
		writer_die("the truth: %s", strerror(errno));
	r->taken++;
	r->bytes += h.content_bytes - MPROF_PACKET_HEADER_BYTES;
}

static void event_write(struct recording *r)
{
	static const char text[] = "the quick brown fox jumps over the lazy dog, and the lazy dog sleeps on";
	struct mprof_recorder *m = &r->recorder;
	int64_t n = ++r->serial;
	size_t len = writer_random(&r->random, sizeof(text));

	switch (writer_random(&r->random, 14)) {
	case 0:
		mprof_recorder_creates(m, n, (enum mprof_thread_type)writer_random(&r->random, MPROF_THREAD_TYPES));
		break;
	case 1:
		mprof_recorder_read(m, n, n - 1);
		break;
	case 2:
		mprof_recorder_fulfills(m, n);
		break;
	case 3:
		mprof_recorder_fails(m, n, text, len);
		break;
	case 4:
		mprof_recorder_becomes(m, n, n - 1);
		break;
	case 5:
		mprof_recorder_label(m, n, text, len);
		break;
	case 6:
		mprof_recorder_increase(m, n, text, len);
		break;
	case 7:
		mprof_recorder_switch(m, n);
		break;
	case 8:
		mprof_recorder_gc(m, (uint64_t)n);
		break;
	case 9:
		mprof_recorder_signal(m, n, n - 1);
		break;
	case 10:
		mprof_recorder_try_read(m, n, n - 1);
		break;
	case 11:
		mprof_recorder_counter(m, n, text, len);
		break;
	case 12:
		mprof_recorder_read_later(m, n, n - 1);
		break;
	default:
		mprof_recorder_signal_noswitch(m, n, n - 1);
	}
}

static void run(struct recording *r, uint64_t rate, uint64_t until, uint64_t count)
{
	const struct mprof_recorder *m = &r->recorder;
	uint64_t began = writer_now(), due, written = 0;

	while (!writer_ended && (!count || m->events < count) && (!until || m->events % 16 || writer_now() < until)) {
		event_write(r);
		while (r->taken < mprof_recorder_sequence(m))
			truth_put(r, (uint32_t)(r->taken % m->packets));
		if (!rate || m->events % 16)
			continue;
		written = r->bytes + m->content;
		due = began + (uint64_t)((double)written / (double)rate * (double)NS_PER_S);
		if (due > writer_now() + 200000)
			writer_sleep_until(due);
	}
	truth_put(r, (uint32_t)(r->taken % m->packets));
}

int main(int argc, char **argv)
{
	uint64_t size = 65536, packets = 0, rate = 0, seconds = 0, count = 0;
	const char *ring = NULL, *truth = NULL, *after = NULL;
	static const struct option options[] = {
		{"ring", required_argument, NULL, 0},	 {"truth", required_argument, NULL, 0},
		{"after", required_argument, NULL, 0},	 {"size", required_argument, NULL, 0},
		{"packets", required_argument, NULL, 0}, {"rate", required_argument, NULL, 0},
		{"seconds", required_argument, NULL, 0}, {"events", required_argument, NULL, 0},
		{"seed", required_argument, NULL, 0},	 {0}};
	struct recording r = {0};
	uint64_t *const numbers[] = {NULL, NULL, NULL, &size, &packets, &rate, &seconds, &count, &r.random};
	const char **const texts[] = {&ring, &truth, &after};
	struct mprof_recorder_file file;
	enum mprof_recorder_status status;

	writer_options(argc, argv, options, numbers, texts);
	if (!ring || size > MPROF_RING_BYTES_MAX)
		writer_die(
			"Usage: writer-recorder --ring FILE [--truth FILE] [--after FILE, which is waited for]\n"
			"       [--size BYTES] [--packets N] [--rate BYTES/S] [--seconds N] [--events N] [--seed N]");
	r.truth = truth ? fopen(truth, "we") : NULL;
	if ((truth && !r.truth) || mprof_recorder_file_open(&file, ring, size) < 0)
		writer_die("%s: cannot be made", ring);
	r.memory = (const uint8_t *)file.memory;
	status = mprof_recorder_init(&r.recorder, file.memory, file.size, (unsigned)packets, now, NULL);
	if (status != MPROF_RECORDER_OK)
		writer_die("%s", mprof_recorder_status_text(status));
	writer_catch_end();
	while (after && !writer_ended && access(after, F_OK) < 0)
		writer_sleep(NS_PER_S / 1000);
	run(&r, rate, seconds ? writer_now() + seconds * NS_PER_S : 0, count);
	if (r.truth && fclose(r.truth) != 0)
		writer_die("%s: %s", truth, strerror(errno));
	/* The declaration that begins each packet is in the truth, too. */
	printf("{\"events\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"packets\": %" PRIu64 ", \"dropped\": %" PRIu64
	       "}\n",
	       r.recorder.events + (r.recorder.declaration ? r.taken : 0), r.bytes, r.taken,
	       mprof_recorder_dropped(&r.recorder));
	mprof_recorder_file_close(&file);
	return 0;
}
