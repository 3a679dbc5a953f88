/*
 * The offset from a guest's clock to dom0's wall time, with how sure it is. It comes from the stamps
 * of a guest's packets (stamp-clocks.h), from the file beside a fetched trace (clock-file.h), or from the
 * metadata of a CTF directory (ctf-clock.h).
 */
#ifndef CTL_CLOCK_OFFSET_H
#define CTL_CLOCK_OFFSET_H

#include <stdbool.h>
#include <stdint.h>

/* Why an offset is unknown. */
enum clock_missing {
	CLOCK_MISSING_STAMPS,	/* no packet of the guest has a stamp */
	CLOCK_MISSING_GUEST,	/* the daemon knows no such guest or capture */
	CLOCK_MISSING_FILE,	/* no file with the offset is beside the trace */
	CLOCK_MISSING_FETCHED,	/* the file beside the trace says that the daemon knew no offset */
	CLOCK_MISSING_REFUSED,	/* the file or the metadata is invalid; the reason was reported */
	CLOCK_MISSING_METADATA, /* the CTF metadata has no offset */
	CLOCK_MISSING_PIPE,	/* a stream on standard input has no metadata and no file beside it */
};

struct clock_offset {
	bool known;
	enum clock_missing missing; /* the reason, unless KNOWN */
	bool stepped;		    /* the guest's clock went back; the offset is that after the step */
	bool ends;		    /* END_NS is known */
	int64_t ns;		    /* ns to add to a guest time to get ns since 1970 */
	/* The true offset is smaller than NS by at most this many ns; UINT64_MAX = unknown. */
	uint64_t uncertainty_ns;
	int64_t end_ns; /* wall time of the trace's newest copy, ns since 1970: no event is later */
};

/* Store the wall time of the guest time GUEST_NS in *NS. Return false if there is none. */
static inline bool clock_offset_wall(const struct clock_offset *c, uint64_t guest_ns, int64_t *ns)
{
	return c->known && !__builtin_add_overflow(guest_ns, c->ns, ns);
}

/*
 * Report on stderr in one sentence how sure the wall times of the trace NAME are; or why they are
 * unknown, with CONSEQUENCE behind the reason.
 */
void clock_offset_report(const struct clock_offset *c, const char *name, const char *consequence);

#endif
