/* Damage of a memtrace stream as a sentence. */
#include <inttypes.h>
#include <stdio.h>

#include <mprof/memtrace.h>

static const char *const reasons[] = {
	[MPROF_MEM_DAMAGE_HEADER] = "no packet where one should be",
	[MPROF_MEM_DAMAGE_FOREIGN] = "a packet of another process",
	[MPROF_MEM_DAMAGE_NO_INFO] = "a packet before the trace says what it is",
	[MPROF_MEM_DAMAGE_INFO] = "what the trace says of itself cannot be",
	[MPROF_MEM_DAMAGE_EVENT] = "an event that cannot be",
	[MPROF_MEM_DAMAGE_NAMES] =
		"a table of names is damaged, so further places in the source stay without their names",
	[MPROF_MEM_DAMAGE_STACKS] = "bytes are missing before it, so further stacks are not known",
	[MPROF_MEM_DAMAGE_IDS] = "more or fewer allocations than it says",
	[MPROF_MEM_DAMAGE_CUT] = "the input ends inside the packet",
};

size_t mprof_mem_damage_text(const struct mprof_mem_damage *damage, char *buf, size_t size)
{
	int n = snprintf(
		buf, size, "packet %" PRIu64 " at byte %" PRIu64 ": %s, at byte %" PRIu64 "; %" PRIu64 " bytes skipped",
		damage->packet, damage->packet_offset, reasons[damage->reason], damage->offset, damage->skipped);

	return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size ? size - 1 : 0;
}
