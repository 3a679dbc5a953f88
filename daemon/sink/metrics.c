#include <inttypes.h>
#include <stdio.h>

#include "sink.h"

struct line {
	const char *name, *type, *help;
	uint64_t value;
};

void sink_metrics(const struct sink *s, char *text, size_t size)
{
	const struct sink_counts *c = &s->counts;
	const struct line lines[] = {
		{"streams", "gauge", "Memtrace streams that are received.", s->n_streams},
		{"held_bytes", "gauge", "Bytes received that are not committed yet.", s->held},
		{"archiving", "gauge", "Whether the archive of memory profiles takes bytes.",
		 !s->state.full && !s->state.failed},
		{"accepted", "counter", "Guests that connected.", c->accepted},
		{"connected", "counter", "Guests that were connected to.", c->connected},
		{"recordings", "counter", "Recordings begun.", c->recordings},
		{"received_bytes", "counter", "Bytes of whole packets received.", c->bytes},
		{"received_packets", "counter", "Whole packets received.", c->packets},
		{"committed_bytes", "counter", "Bytes committed to the archive.", s->state.bytes},
		{"dropped_bytes", "counter", "Bytes behind the last whole packet of streams that broke off.",
		 c->dropped},
		{"refused", "counter", "Guests refused, for they or all had as many streams as they may.", c->refused},
		{"garbage", "counter", "Streams ended because what came was no memtrace packet.", c->garbage},
		{"reset", "counter", "Streams that broke.", c->reset},
		{"cut", "counter", "Streams that ended within a packet.", c->cut},
		{"overrun", "counter", "Streams cut off because memory for what is not committed was full.",
		 c->overrun},
		{"over_rate", "counter", "Streams cut off because too much came in a time.", c->rate},
		{"over_quota", "counter", "Streams cut off because their recordings were too large.", c->quota},
		{"damaged_pieces", "counter", "Pieces of recordings that do not agree with their checksums.",
		 s->state.damaged_pieces},
		{"deleted", "counter", "Recordings deleted by quotas.", s->state.deleted},
	};
	size_t at = 0;

	*text = '\0';
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]) && at < size; i++)
		at += (size_t)snprintf(text + at, size - at,
				       "# TYPE mprofd_sink_%s %s\n# HELP mprofd_sink_%s %s\nmprofd_sink_%s%s %" PRIu64
				       "\n",
				       lines[i].name, lines[i].type, lines[i].name, lines[i].help, lines[i].name,
				       lines[i].type[0] == 'c' ? "_total" : "", lines[i].value);
}
