/*
 * A domain's XenStore subtree, as last seen: what is left of it when the toolstack has removed its nodes.
 *
 * Read a few nodes at a time, since each is a round trip to xenstored and rings must be looked at meanwhile.  Until a walk is through, the one
 * before it is what there is.  Bounded: SUBTREE_NODES nodes, SUBTREE_BYTES bytes, SUBTREE_DEPTH levels; what is beyond is left out and said.
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
	json_t *seen;  /* relative path -> value, both printable as by text.h, or NULL: nothing was read yet; owned */
	bool complete; /* of SEEN */
	struct walk *walk; /* under way, or NULL */
};

void subtree_init(struct subtree *subtree);
void subtree_deinit(struct subtree *subtree);
/* Begin to read /local/domain/<DOMID>, data/mprof first; one that is under way begins again, and where none came to its end what it saw is kept.
 * -ENOMEM. */
int subtree_begin(struct subtree *subtree, uint32_t domid);
/*
 * Read at most NODES more nodes, two questions to xenstored each.  1: there is more, 0: done, and SEEN is new (or nothing is under way);
 * a walk that finds the subtree gone ends, keeps what was seen before (or, where nothing was, the part that it still found, as not
 * complete), and is done as well.  -EPIPE: the connection is lost; -ENOMEM.
 */
int subtree_step(struct subtree *subtree, struct xen *xen, unsigned nodes);

/* Why a capture was taken and around what, as the archive keeps it: the JSON of column captures.context. */
struct context {
	const char *reason;	       /* "crash", "poweroff", … or "unknown" */
	const struct subtree *subtree; /* NULL: none */
	const char *console;	       /* CONSOLE_LEN bytes as the guest wrote them, or NULL: none */
	size_t console_len;
	bool console_complete;
};

/* The text, which the caller frees, or NULL: no memory.  Guest bytes that are not printable UTF-8 stand in it as \xNN; line ends stay. */
char *context_json(const struct context *context);

#endif
