/*
 * Parse the values that a guest writes to XenStore (schema/xenstore.md). Pure functions over
 * private bytes.
 *
 * The grammar is strict: no spaces, signs, leading zeros or terminators. A value that is refused
 * gives a fault. Each fault has a label in the metrics and a sentence in the log.
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

/* Why a guest's XenStore keys are refused, or the ring that they name. */
enum fault {
	FAULT_NONE,
	FAULT_GRAMMAR,	     /* a value breaks the grammar of schema/xenstore.md */
	FAULT_REFERENCE,     /* a grant reference below 8 */
	FAULT_DUPLICATE,     /* a grant reference occurs twice in the guest's streams */
	FAULT_PAGES,	     /* more pages than a ring, or all rings of a guest, may have */
	FAULT_HOST_PAGES,    /* more pages than the host maps for all guests (limits.h) */
	FAULT_STREAMS,	     /* more streams than a guest may have, or a wrong stream number */
	FAULT_BOTH,	     /* both ring-ref and directory-ref exist */
	FAULT_STREAM_ZERO,   /* the directory stream/0 exists; the keys of stream 0 are directly below data/mprof */
	FAULT_MAP,	     /* Xen refuses to map the pages */
	FAULT_DIRECTORY,     /* a directory page occurs twice, or there are too many */
	FAULT_EMPTY,	     /* the directory pages list no page */
	FAULT_RING,	     /* the pages hold no valid ring */
	FAULT_CHANGES,	     /* the keys change too often */
	FAULT_EVENT_CHANNEL, /* event-channel is no valid port, or cannot be bound: the ring is polled without it */
	FAULT_STORE,	     /* XenStore does not answer */
	FAULT_MAX,
};

/*
 * Return the fault's label in mprofd_xenstore_refused_total{reason="..."}: lower case, with dashes.
 * A constant.
 */
const char *fault_name(enum fault fault);
/*
 * Return the sentence that follows "NAME: stream=0 refused: " in the log: what is wrong, and what
 * would be right. A constant.
 */
const char *fault_sentence(enum fault fault);

/*
 * Parse the LEN bytes at TEXT as a decimal number from MIN to MAX. Return false if they are
 * anything else.
 */
bool value_number(const char *text, size_t len, uint32_t min, uint32_t max, uint32_t *number);
/*
 * Parse a list of grant references into REFS, which has room for MAX, and their number into *N.
 * Return FAULT_NONE or the first fault from the left: FAULT_GRAMMAR (also for an empty value),
 * FAULT_REFERENCE or FAULT_PAGES. After a fault, *N is 0 and REFS is undefined.
 */
enum fault value_refs(const char *text, size_t len, uint32_t *refs, size_t max, size_t *n);
/*
 * Copy a label to TO (SIZE bytes, at least 4 * VALUE_LABEL_MAX + 1), with unprintable bytes as
 * \xNN. Return false if it is empty or too long, or without memory.
 */
bool value_label(const char *text, size_t len, char *to, size_t size);
/*
 * Return whether a reference occurs twice among the N at REFS. SCRATCH has room for N references
 * and is overwritten.
 */
bool value_duplicates(const uint32_t *refs, size_t n, uint32_t *scratch);

/* ---- directory pages: they list the references of a ring that is too large for ring-ref ---- */

#define DIRECTORY_REFS 1023u /* references in one directory page */

/*
 * Append the references in PAGE (4,096 bytes, a private copy) to REFS, which holds *N of at most
 * MAX. *NEXT is the reference of the next directory page, or 0 if this page is the last. A
 * reference of 0 ends the list: *NEXT is then 0, whatever the page's last word is. Return
 * FAULT_NONE, FAULT_REFERENCE or FAULT_PAGES; after a fault, the appended references are undefined.
 */
enum fault directory_page(const uint8_t *page, uint32_t *refs, size_t max, size_t *n, uint32_t *next);

#endif
