/*
 * This file reads a guest's trace while the trace grows.
 *
 * The position is the place of the next byte in the trace, written as run.stream.sequence.offset.
 * Only whole packets are passed on, and the position advances by whole packets. If a connection
 * breaks, the incomplete packet is dropped, and the next request asks with ?after= for the bytes
 * from the position on. The server then sends that packet again.
 *
 * A body ends without an error in two cases: at the end of the run, and before a gap of more
 * packets than the packets' numbers can show. The next answer tells which case it was: an empty
 * body with the header `Mprof-Run-State: ended`, or the packets after the gap. A body ends before
 * bytes that the server cuts, too, because no event can be read in them; Mprof-Cut of the next answer counts them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <mprof/packet.h>

#include "cleanup.h"
#include "download.h"
#include "follow.h"

#define PATIENCE_MS (120 * 1000) /* longest wait for a packet, in ms, not counting requests */
struct position {
	uint64_t run, stream, sequence, offset;
};

struct follow {
	struct follow_ops *ops; /* borrowed */
	struct position at;
	bool known;	/* AT is valid */
	bool began;	/* the present answer's body has begun */
	bool got;	/* at least one whole packet of the present answer was passed on */
	bool malformed; /* the server sent an invalid packet or position */
	bool no_memory;
	uint8_t *held; /* first USED bytes of the incomplete packet; owned */
	size_t used, room;
};

static void follow_deinit(struct follow *f)
{
	free(f->held);
}

static bool position_parse(struct position *p, const char *text)
{
	char rest;

	return text && sscanf(text, "%" SCNu64 ".%" SCNu64 ".%" SCNu64 ".%" SCNu64 "%c", &p->run, &p->stream,
			      &p->sequence, &p->offset, &rest) == 4;
}

/*
 * Advance P to the end of a whole packet. COUNT is the packet's number, and CONTENT its bytes of
 * content with the header.
 */
static void position_advance(struct position *p, uint16_t count, uint32_t content)
{
	if (count == (uint16_t)p->sequence) {
		p->offset += content - MPROF_PACKET_HEADER_BYTES;
		return;
	}
	p->sequence = mprof_sequence_after(p->sequence, count);
	p->offset = content;
}

static bool begin_body(struct follow *f, const struct http_answer *answer)
{
	f->began = true;
	f->used = 0;
	f->known = position_parse(&f->at, answer->position);
	f->malformed = !f->known;
	f->ops->cut_bytes += download_cut_bytes(answer->cut);
	return f->known;
}

/* Append N bytes to the incomplete packet. Return false without memory. */
static bool hold(struct follow *f, const uint8_t *bytes, size_t n)
{
	if (f->room - f->used < n) {
		size_t room = (f->used + n) * 2;
		uint8_t *grown = realloc(f->held, room);

		if (!grown) {
			f->no_memory = true;
			return false;
		}
		f->held = grown;
		f->room = room;
	}
	memcpy(f->held + f->used, bytes, n);
	f->used += n;
	return true;
}

/*
 * Set *N to the number of bytes that are missing from the incomplete packet, or from its header if
 * the header is incomplete; 0 = the packet is complete. Return false if the bytes are not a packet.
 */
static bool missing(const struct follow *f, struct mprof_packet_header *header, size_t *n)
{
	*n = MPROF_PACKET_HEADER_BYTES - f->used;
	if (f->used < MPROF_PACKET_HEADER_BYTES)
		return true;
	if (mprof_packet_load(header, f->held, f->used) != MPROF_PACKET_OK ||
	    header->packet_bytes > MPROF_RING_BYTES_MAX)
		return false;
	*n = header->packet_bytes - f->used;
	return true;
}

static bool take_packets(void *context, const struct http_answer *answer, const uint8_t *bytes, size_t len)
{
	struct follow *f = context;
	struct mprof_packet_header header = {0};
	size_t need;

	if (!f->began && !begin_body(f, answer))
		return false;
	for (;;) {
		if (!missing(f, &header, &need)) {
			f->malformed = true;
			return false;
		}
		if (need && !len)
			return true;
		if (need) {
			size_t take = len < need ? len : need;

			if (!hold(f, bytes, take))
				return false;
			bytes += take;
			len -= take;
			continue;
		}
		f->ops->refused = f->ops->write(f->ops->context, f->held, f->used);
		if (f->ops->refused)
			return false;
		f->ops->run = f->at.run;
		position_advance(&f->at, header.count, header.content_bytes);
		f->used = 0;
		f->got = true;
	}
}

/* Return the path of the next request, with the position if there is one. The caller frees it. */
static char *live_path(const struct follow *f, struct http *h, const struct trace_source *t, const struct selection *s)
{
	static const struct selection none = {0};
	CLEANUP(freep) char *base = trace_source_path(t, h, "live", f->known ? &none : s);
	char *path = NULL;

	if (!base || !f->known)
		return base ? strdup(base) : NULL;
	if (asprintf(&path, "%s?after=%" PRIu64 ".%" PRIu64 ".%" PRIu64 ".%" PRIu64, base, f->at.run, f->at.stream,
		     f->at.sequence, f->at.offset) < 0)
		return NULL;
	return path;
}

/*
 * Judge the result R and the answer of one request. Return an exit code that ends following, or -1
 * to send another request.
 */
static int judge(struct follow *f, struct http *h, int r, const struct http_answer *answer)
{
	if (f->ops->refused)
		return CTL_FAILED;
	if (f->no_memory)
		return say_memory();
	if (r == HTTP_E_STOPPED)
		return CTL_OK;
	if (f->malformed) {
		say("%s sent something that is neither a position nor a packet of a trace", h->host);
		return CTL_FAILED;
	}
	if (r == HTTP_E_BROKEN || (r == HTTP_E_UNREACHABLE && f->known) || (r == 0 && answer->status == 503))
		return -1;
	if (r || answer->status / 100 != 2)
		return http_complain(h, r, answer);
	if (!f->got && answer->run_state && strcmp(answer->run_state, "ended") == 0)
		return CTL_OK;
	return -1;
}

/* Make one request and pass on the packets of its answer. Return as judge(). */
static int follow_once(struct follow *f, struct http *h, const struct trace_source *t, const struct selection *s)
{
	CLEANUP(http_answer_deinit) struct http_answer answer = {0};
	CLEANUP(freep) char *path = live_path(f, h, t, s);
	struct http_request request = {.path = path, .unending = true, .body = take_packets, .context = f};
	int r;

	if (!path)
		return say_memory();
	f->began = false;
	f->got = false;
	r = http_perform(h, &request, &answer);
	if (r == 0 && answer.status / 100 == 2 && !f->began)
		begin_body(f, &answer);
	return judge(f, h, r, &answer);
}

/* Send requests until one ends following. Return as follow_run(). */
static int follow_requests(struct http *h, const struct trace_source *t, const struct selection *s,
			   struct follow_ops *ops)
{
	CLEANUP(follow_deinit) struct follow f = {.ops = ops};
	const struct http_answer none = {0};
	int wait = 100, waited = 0, r;

	for (;;) {
		r = follow_once(&f, h, t, s);
		if (r >= 0)
			return r;
		if (f.got) {
			wait = 100;
			waited = 0;
		}
		if (waited >= PATIENCE_MS)
			return http_complain(h, HTTP_E_BROKEN, &none);
		if (!http_sleep(h, wait))
			return CTL_OK;
		waited += wait;
		wait = wait < 2500 ? wait * 2 : 5000;
	}
}

int follow_run(struct http *h, const struct trace_source *t, const struct selection *s, struct follow_ops *ops)
{
	int r = follow_requests(h, t, s, ops);

	if (ops->cut_bytes)
		say("note: %s: %" PRIu64 " unproven bytes were cut: no event can be read in them", t->name,
		    ops->cut_bytes);
	return r;
}
