/*
 * The values that a guest writes to XenStore, as schema/xenstore.md has them: pure functions over private bytes.
 *
 * Strict: no spaces, signs, leading zeros or terminators.  A value that is refused says why by a fault, which is a label of the metric
 * and a sentence of the log.
 */
#ifndef XEN_VALUE_H
#define XEN_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VALUE_REF_MIN	8u
#define VALUE_PORT_MAX	131071u
#define VALUE_STREAMS	1024u /* k is below this */
#define VALUE_LABEL_MAX 64u

/* Why something of a guest's XenStore keys, or the ring behind them, is not taken. */
enum fault {
	FAULT_NONE,
	FAULT_GRAMMAR,	     /* a value is not what the contract says */
	FAULT_REFERENCE,     /* a grant reference below 8 */
	FAULT_DUPLICATE,     /* a reference that stands twice in the guest's streams */
	FAULT_PAGES,	     /* more pages than a ring, or the guest's rings together, may have */
	FAULT_HOST_PAGES,    /* more than this host gives to traces */
	FAULT_STREAMS,	     /* more streams than a guest may have, or a number that is none */
	FAULT_BOTH,	     /* ring-ref and directory-ref */
	FAULT_STREAM_ZERO,   /* stream/0 beside the keys of stream 0 */
	FAULT_MAP,	     /* Xen does not map it */
	FAULT_DIRECTORY,     /* a directory page that was there before, or too many of them */
	FAULT_RING,	     /* the pages hold no ring */
	FAULT_CHANGES,	     /* the keys change too often */
	FAULT_EVENT_CHANNEL, /* a port that is none, or cannot be bound: the ring is polled */
	FAULT_STORE,	     /* XenStore does not answer for it */
	FAULT_MAX,
};

/* Its label in mprofd_xenstore_refused_total{reason="…"}: lower case, with dashes.  A constant. */
const char *fault_name(enum fault fault);
/* What is wrong and what would be right, to stand behind "NAME: stream=0 refused: ".  A constant. */
const char *fault_sentence(enum fault fault);

/* number, from MIN to MAX. */
bool value_number(const char *text, size_t len, uint32_t min, uint32_t max, uint32_t *number);
/*
 * refs: at most MAX of them go to REFS, their number to *N.  FAULT_NONE, _GRAMMAR (an empty value too), _REFERENCE, _PAGES: the first
 * from the left; *N is then 0, and what is in REFS means nothing.
 */
enum fault value_refs(const char *text, size_t len, uint32_t *refs, size_t max, size_t *n);
/* label: copied printable, with \xNN, into TO of 4 * VALUE_LABEL_MAX + 1 bytes.  False: empty, too long, or no memory. */
bool value_label(const char *text, size_t len, char *to, size_t size);
/* Does a reference stand twice among these?  SCRATCH: room for N words. */
bool value_duplicates(const uint32_t *refs, size_t n, uint32_t *scratch);

/* ---- directory pages: the references of a large ring's pages ---- */

#define DIRECTORY_REFS 1023u /* of ring pages, in one directory page */

/*
 * Append the references of PAGE (4,096 bytes) to REFS, which holds *N of at most MAX.  *NEXT: the reference of the next directory page, or 0.
 * A zero among the references ends the ring: then *NEXT is 0, whatever the last word is.  FAULT_NONE, FAULT_REFERENCE, FAULT_PAGES; after
 * a fault what was appended means nothing.
 */
enum fault directory_page(const uint8_t *page, uint32_t *refs, size_t max, size_t *n, uint32_t *next);

#endif
