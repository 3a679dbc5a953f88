/*
 * ring-follow: follow a ring file with the reader of daemon/ring (the sequence-checked copy),
 * without the daemon.
 *
 * The program polls the ring every --poll-us and writes OUT.<run>.ctf, a CTF stream in which each
 * chunk is a packet, and OUT.<run>.json with the packets and gaps in the form of /packets, for
 * truth.py. If the ring is initialised again, a new run begins. The program ends at SIGTERM, or
 * --seconds after its start, or after --polls polls. Then it takes the bytes behind the proven ones as those of a dead
 * writer, and writes the valid part of them, which the list calls a tail. It keeps the bytes of the last two laps, to
 * tell an event that was never written from one that was.
 */
#include <inttypes.h>

#include <mprof/event.h>
#include <sys/stat.h>

#include "ring.h"
#include "writer.h"

/* The bytes FROM to TO that were copied of a packet. */
struct lap {
	uint64_t sequence;
	uint8_t *bytes; /* as many as the packet has */
	uint32_t from, to;
};

struct follow {
	struct ring_sink sink;
	struct memory_file file;
	struct ring ring;
	int fd;
	const char *path, *out;
	unsigned run;

	FILE *stream, *list;
	uint8_t *buffer;
	size_t room, held;     /* size of BUFFER, and its bytes of a chunk that is not complete yet */
	struct lap (*laps)[2]; /* for each slot of the ring: the lap that was copied last, and the lap before */
	uint64_t first_ns;     /* first timestamp of the newest packet of which bytes were written */
	uint64_t first_of;     /* its sequence */
	bool any_first;
	uint64_t listed; /* the sequence number that was listed last, plus one */
	bool any_packet, any_gap;
	char *gaps; /* JSON; written when the run ends */
	size_t gaps_bytes;
	FILE *gaps_text;
	uint64_t chunks, bytes, n_gaps, cut, unproven, runs;
};

static uint8_t *follow_reserve(struct ring_sink *sink, size_t n, bool tail)
{
	struct follow *f = (struct follow *)(void *)sink;

	(void)tail;
	if (f->held + n > f->room) {
		f->room = f->held + n;
		f->buffer = realloc(f->buffer, f->room);
		if (!f->buffer)
			writer_die("out of memory");
	}
	return f->buffer + f->held;
}

static void follow_drop(struct ring_sink *sink)
{
	(void)sink;
}

/* Keep the N bytes in the buffer, which begin at offset FROM in the packet of CHUNK, as those of its slot's newest lap. */
static void follow_keep(struct follow *f, const struct ring_chunk *chunk, uint32_t from, size_t n)
{
	struct lap *lap = f->laps[chunk->sequence % f->ring.n];

	if (!lap[0].to || lap[0].sequence != chunk->sequence) {
		struct lap former = lap[1];

		lap[1] = lap[0];
		lap[0] = former;
		lap[0].sequence = chunk->sequence;
		lap[0].from = from;
		if (!lap[0].bytes)
			lap[0].bytes = malloc((size_t)chunk->packet_bytes + 3);
		if (!lap[0].bytes)
			writer_die("out of memory");
	}
	memcpy(lap[0].bytes + from, f->buffer, n);
	lap[0].to = from + (uint32_t)n;
}

/* Set the limits of TAIL, which begins at offset FROM in the packet of CHUNK. */
static void follow_limits(const struct follow *f, const struct ring_chunk *chunk, uint32_t from,
			  struct mprof_tail *tail)
{
	const struct lap *laps = f->laps[chunk->sequence % f->ring.n];
	const struct lap *former = laps[0].to && laps[0].sequence == chunk->sequence ? &laps[1] : &laps[0];

	tail->not_before = f->first_ns;
	tail->begins = from == MPROF_PACKET_HEADER_BYTES;
	tail->not_after = mprof_tail_latest(f->first_ns, chunk->copied.mono, chunk->copied.real);
	if (!former->to || former->sequence + f->ring.n != chunk->sequence || former->from > from || former->to <= from)
		return;
	tail->before = former->bytes + from;
	tail->before_bytes = former->to - from;
}

static void follow_list(struct follow *f, const struct ring_chunk *chunk, size_t n, size_t cut)
{
	if (!n && !cut)
		return;
	fprintf(f->list,
		"%s{\"sequence\": %" PRIu64 ", \"first_timestamp\": \"%" PRIu64
		"\", \"cut\": %zu, \"tail_bytes\": %zu}",
		f->any_packet ? ",\n" : "", chunk->sequence, chunk->first_timestamp, cut, chunk->tail ? n : 0);
	f->any_packet = true;
}

static void follow_chunk(struct ring_sink *sink, const struct ring_chunk *chunk)
{
	struct follow *f = (struct follow *)(void *)sink;
	struct mprof_tail tail = {0};
	struct mprof_packet_header h = {.count = (uint16_t)chunk->sequence};
	uint8_t header[MPROF_PACKET_HEADER_BYTES];
	uint32_t from;
	size_t n;

	f->held += chunk->length;
	f->unproven += chunk->unproven && !chunk->tail;
	if (!chunk->end && !chunk->tail)
		return;
	from = chunk->offset + chunk->length - (uint32_t)f->held;
	follow_limits(f, chunk, from, &tail);
	n = chunk->tail ? mprof_tail_walk(&tail, f->buffer, f->held) : f->held;
	f->cut += f->held - n;
	/* A tail has the truth's first timestamp only if the walk has accepted its first event. */
	if (n)
		follow_list(f, chunk, n, f->held - n);
	h.packet_bytes = h.content_bytes = (uint32_t)(MPROF_PACKET_HEADER_BYTES + n);
	mprof_packet_store(&h, header);
	if (n && (fwrite(header, sizeof(header), 1, f->stream) != 1 || fwrite(f->buffer, n, 1, f->stream) != 1))
		writer_die("the stream: %s", strerror(errno));
	if (n && (!f->any_first || f->first_of != chunk->sequence)) {
		f->any_first = true;
		f->first_of = chunk->sequence;
		f->first_ns = chunk->first_timestamp;
	}
	if (!chunk->tail)
		follow_keep(f, chunk, from, n);
	f->held = 0;
	f->chunks++;
	f->bytes += n;
}

static bool follow_gap(struct ring_sink *sink, const struct ring_gap *gap)
{
	struct follow *f = (struct follow *)(void *)sink;

	fprintf(f->gaps_text,
		"%s{\"after_sequence\": %" PRIu64 ", \"after_offset\": %u, \"next_sequence\": %" PRIu64
		", \"packets\": %" PRIu64 ", \"at_least\": %s}",
		f->any_gap ? ",\n" : "", gap->after_sequence, gap->after_offset, gap->next_sequence, gap->packets,
		gap->at_least ? "true" : "false");
	f->any_gap = true;
	f->n_gaps++;
	f->held = 0;
	return true;
}

static FILE *follow_open(const struct follow *f, const char *suffix)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s.%u.%s", f->out, f->run, suffix);
	file = fopen(path, "we");
	if (!file)
		writer_die("%s: %s", path, strerror(errno));
	return file;
}

/* Attach the ring at the path, and begin a new run. Return false if there is no ring yet. */
static bool follow_attach(struct follow *f)
{
	const char *fault;
	struct stat st;
	int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);

	if (fd < 0)
		return false;
	memory_file_init(&f->file, fd);
	if (fstat(fd, &st) < 0 ||
	    ring_attach(&f->ring, &f->file.memory, (uint64_t)st.st_size, NULL, false, &fault) != 0) {
		close(fd);
		return false;
	}
	f->fd = fd;
	f->stream = follow_open(f, "ctf");
	f->list = follow_open(f, "json");
	f->gaps_text = open_memstream(&f->gaps, &f->gaps_bytes);
	if (!f->gaps_text)
		writer_die("out of memory");
	fputs("{\"packets\": [\n", f->list);
	f->any_packet = f->any_gap = false;
	f->laps = calloc(f->ring.n, sizeof(*f->laps));
	if (!f->laps)
		writer_die("out of memory");
	f->any_first = false;
	f->first_ns = 0;
	f->held = 0;
	f->run++;
	return true;
}

/* End the run. With DEAD, copy the tail before. */
static void follow_detach(struct follow *f, bool dead)
{
	struct ring_mark at = {0};

	if (dead && ring_poll(&f->ring, &f->sink) == 0)
		ring_capture(&f->ring, &f->sink, true, &at);
	for (uint32_t i = 0; i < f->ring.n; i++) {
		free(f->laps[i][0].bytes);
		free(f->laps[i][1].bytes);
	}
	free(f->laps);
	ring_detach(&f->ring);
	close(f->fd);
	f->fd = -1;
	fclose(f->gaps_text);
	fprintf(f->list, "\n], \"gaps\": [\n%s\n]}\n", f->gaps);
	free(f->gaps);
	if (fclose(f->stream) != 0 || fclose(f->list) != 0)
		writer_die("the output: %s", strerror(errno));
}

/*
 * Return whether the path now has another file than the followed one, or the followed file has
 * another size.
 */
static bool follow_replaced(const struct follow *f)
{
	struct stat at, open;

	return stat(f->path, &at) < 0 || fstat(f->fd, &open) < 0 || at.st_ino != open.st_ino ||
	       (uint64_t)open.st_size != f->ring.bytes;
}

int main(int argc, char **argv)
{
	struct follow f = {.sink = {follow_reserve, follow_chunk, follow_drop, follow_gap}, .fd = -1};
	uint64_t poll_us = 300, seconds = 3600, polls = UINT64_MAX, until, spin = 0;
	static const struct option options[] = {
		{"ring", required_argument, NULL, 0},	 {"out", required_argument, NULL, 0},
		{"poll-us", required_argument, NULL, 0}, {"seconds", required_argument, NULL, 0},
		{"polls", required_argument, NULL, 0},	 {0}};
	uint64_t *const numbers[] = {NULL, NULL, &poll_us, &seconds, &polls};
	const char **const texts[] = {&f.path, &f.out};
	int r;

	writer_options(argc, argv, options, numbers, texts);
	if (!f.path || !f.out)
		writer_die("Usage: ring-follow --ring FILE --out PREFIX [--poll-us N] [--seconds N] [--polls N]");
	writer_catch_end();
	for (until = writer_now() + seconds * NS_PER_S; !writer_ended && polls && writer_now() < until;
	     writer_sleep(poll_us * 1000)) {
		if (f.fd < 0 && !follow_attach(&f))
			continue;
		polls--;
		r = ring_poll(&f.ring, &f.sink);
		if (r < 0)
			writer_die("ring_poll: %s", strerror(-r));
		if (r == RING_E_RENEWED || r == RING_E_GONE || (spin++ % 16 == 0 && follow_replaced(&f)))
			follow_detach(&f, false);
	}
	if (f.fd >= 0)
		follow_detach(&f, true);
	free(f.buffer);
	printf("{\"runs\": %u, \"chunks\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"gaps\": %" PRIu64
	       ", \"cut\": %" PRIu64 ", \"unproven\": %" PRIu64 "}\n",
	       f.run, f.chunks, f.bytes, f.n_gaps, f.cut, f.unproven);
	return 0;
}
