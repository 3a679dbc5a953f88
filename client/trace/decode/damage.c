/* Damage as a sentence: which packet, where, why, and what was passed over. */
#include <inttypes.h>
#include <stdio.h>

#include <mprof/trace.h>

static size_t clamp(int n, size_t size)
{
	return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size ? size - 1 : 0;
}

static void reason_text(const struct mprof_damage *damage, char *buf, size_t size)
{
	switch (damage->reason) {
	case MPROF_DAMAGE_HEADER:
		snprintf(buf, size, "no packet header: %s", mprof_packet_status_text(damage->header));
		break;
	case MPROF_DAMAGE_UNKNOWN_ID:
		snprintf(buf, size, "unknown event id %u", damage->id);
		break;
	case MPROF_DAMAGE_CUT_EVENT:
		snprintf(buf, size, "the packet's content ends inside an event");
		break;
	case MPROF_DAMAGE_LONG_EVENT:
		snprintf(buf, size, "an event longer than %u bytes", MPROF_EVENT_BYTES_MAX);
		break;
	case MPROF_DAMAGE_CUT_INPUT:
		snprintf(buf, size, "the input ends inside the packet");
		break;
	case MPROF_DAMAGE_LINE:
		snprintf(buf, size, "not an event");
		break;
	}
}

size_t mprof_damage_text(const struct mprof_damage *damage, char *buf, size_t size)
{
	char reason[80] = "unknown", count[24] = "";
	int n;

	if (damage->reason == MPROF_DAMAGE_LINE) {
		n = snprintf(buf, size, "line %" PRIu64 " at byte %" PRIu64 ": not an event; %" PRIu64 " bytes skipped",
			     damage->packet + 1, damage->offset, damage->skipped);
		return clamp(n, size);
	}
	reason_text(damage, reason, sizeof(reason));
	if (damage->counted)
		snprintf(count, sizeof(count), " (count %u)", damage->count);
	n = snprintf(buf, size,
		     "packet %" PRIu64 "%s at byte %" PRIu64 ": %s at byte %" PRIu64 "; %" PRIu64 " bytes skipped",
		     damage->packet, count, damage->packet_offset, reason, damage->offset, damage->skipped);
	return clamp(n, size);
}
