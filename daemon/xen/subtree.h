/*
 * A domain's XenStore subtree as last seen, for the time after the toolstack has removed its nodes.
 *
 * A few nodes are read at a time, because each is a round trip to xenstored and rings must be
 * polled meanwhile. Until a walk is complete, the result of the one before it stands. Bounded by
 * SUBTREE_NODES nodes, SUBTREE_BYTES bytes and SUBTREE_DEPTH levels; the rest is left out, and
 * COMPLETE is false.
 */
#ifndef XEN_SUBTREE_H
#define XEN_SUBTREE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct xen;

#define SUBTREE_NODES 512u
#define SUBTREE_BYTES 65536u /* of paths and values together, as printed */
#define SUBTREE_DEPTH 10u

struct subtree {
	json_t *seen;	   /* relative path -> value, both printable as by text.h; NULL = nothing was read yet; owned */
	bool complete;	   /* SEEN is all of it */
	struct walk *walk; /* under way; NULL = none */
};

void subtree_init(struct subtree *subtree);
void subtree_deinit(struct subtree *subtree);
/*
 * Begin to read /local/domain/<DOMID>, data/mprof first. A walk under way begins again; if none was
 * ever complete, its result is kept. Return 0 or -ENOMEM.
 */
int subtree_begin(struct subtree *subtree, uint32_t domid);
/*
 * Read at most NODES more nodes, with two questions to xenstored each. Return 1 (there is more), 0
 * (done: SEEN is new, or no walk is under way), -EPIPE (the connection is lost) or -ENOMEM. A walk
 * that finds the subtree gone is done, and keeps the result before it, or if there is none, the
 * part that it still found, as not complete.
 */
int subtree_step(struct subtree *subtree, struct xen *xen, unsigned nodes);

/* The context of a capture, as the archive keeps it: the JSON of column captures.context. */
struct context {
	const char *reason;	       /* "crash", "poweroff", … or "unknown" */
	const struct subtree *subtree; /* NULL = none */
	const char *console;	       /* CONSOLE_LEN bytes as the guest wrote them; NULL = none */
	size_t console_len;
	bool console_complete;
};

/*
 * Return the text, which the caller frees, or NULL without memory. Guest bytes that are not
 * printable UTF-8 become \xNN; line ends stay.
 */
char *context_json(const struct context *context);

#endif
