/*
 * The values that a guest writes to XenStore (schema/xenstore.md): pure functions over private
 * bytes.
 *
 * The grammar is strict: no spaces, signs, leading zeros or terminators. A refused value gives a
 * fault, which is a label of the metric and a sentence of the log.
 */
#ifndef XEN_VALUE_H
#define XEN_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VALUE_REF_MIN	8u
#define VALUE_PORT_MAX	131071u
#define VALUE_STREAMS	1024u /* stream numbers are below this */
#define VALUE_LABEL_MAX 64u

/* Why a guest's XenStore keys, or the ring that they name, are refused. */
enum fault {
	FAULT_NONE,
	FAULT_GRAMMAR,	     /* a value breaks the contract's grammar */
	FAULT_REFERENCE,     /* a grant reference below 8 */
	FAULT_DUPLICATE,     /* a reference occurs twice in the guest's streams */
	FAULT_PAGES,	     /* more pages than a ring, or the guest's rings together, may have */
	FAULT_HOST_PAGES,    /* more pages than this host gives to traces */
	FAULT_STREAMS,	     /* more streams than a guest may have, or a wrong stream number */
	FAULT_BOTH,	     /* ring-ref and directory-ref */
	FAULT_STREAM_ZERO,   /* stream/0 beside the keys of stream 0 */
	FAULT_MAP,	     /* Xen does not map the pages */
	FAULT_DIRECTORY,     /* a directory page that occurs twice, or too many of them */
	FAULT_RING,	     /* the pages hold no ring */
	FAULT_CHANGES,	     /* the keys change too often */
	FAULT_EVENT_CHANNEL, /* a wrong port, or one that cannot be bound: the ring is polled */
	FAULT_STORE,	     /* XenStore does not answer */
	FAULT_MAX,
};

/*
 * Return the fault's label in mprofd_xenstore_refused_total{reason="…"}: lower case, with dashes. A
 * constant.
 */
const char *fault_name(enum fault fault);
/*
 * Return what is wrong and what would be right, to follow "NAME: stream=0 refused: ". A constant.
 */
const char *fault_sentence(enum fault fault);

/* Parse a number from MIN to MAX. */
bool value_number(const char *text, size_t len, uint32_t min, uint32_t max, uint32_t *number);
/*
 * Parse references: at most MAX of them to REFS, their number to *N. Return FAULT_NONE, _GRAMMAR
 * (an empty value too), _REFERENCE or _PAGES, the first from the left; *N is then 0 and REFS is
 * undefined.
 */
enum fault value_refs(const char *text, size_t len, uint32_t *refs, size_t max, size_t *n);
/*
 * Copy a label, printable with \xNN, to TO of 4 * VALUE_LABEL_MAX + 1 bytes. Return false if it is
 * empty or too long, or without memory.
 */
bool value_label(const char *text, size_t len, char *to, size_t size);
/* Return true if a reference occurs twice. SCRATCH has room for N words. */
bool value_duplicates(const uint32_t *refs, size_t n, uint32_t *scratch);

/* ---- directory pages: the references of a large ring's pages ---- */

#define DIRECTORY_REFS 1023u /* references in one directory page */

/*
 * Append the references of PAGE (4,096 bytes) to REFS, which holds *N of at most MAX. *NEXT is the
 * reference of the next directory page, or 0. A zero among the references ends the ring: *NEXT is
 * then 0, whatever the last word is. Return FAULT_NONE, FAULT_REFERENCE or FAULT_PAGES; after a
 * fault the appended references are undefined.
 */
enum fault directory_page(const uint8_t *page, uint32_t *refs, size_t max, size_t *n, uint32_t *next);

#endif
