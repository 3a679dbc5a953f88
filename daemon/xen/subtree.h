/*
 * A domain's XenStore subtree as mprofd saw it last. mprofd reads it while the domain lives,
 * because the toolstack removes the nodes of a dead domain.
 *
 * A *walk* reads the subtree, a few nodes at a time, because reading a node is a round trip to
 * xenstored and rings must be polled meanwhile. Until a walk is complete, the result of the
 * previous one is kept. A walk stops at SUBTREE_NODES nodes, SUBTREE_BYTES bytes and SUBTREE_DEPTH
 * levels; nodes beyond these limits are left out, and COMPLETE is false.
 *
 * Many guests' walks take seconds, and a guest may die sooner. So the nodes that the daemon has read
 * for other reasons, a ring's keys, are noted at once.
 */
#ifndef XEN_SUBTREE_H
#define XEN_SUBTREE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct xen;

#define SUBTREE_NODES 512u
#define SUBTREE_BYTES 65536u /* bytes of paths and values together, in printable form */
#define SUBTREE_DEPTH 10u

struct subtree {
	/*
	 * Object of relative path -> value, made printable by printable.h; NULL = nothing was read yet;
	 * owned.
	 */
	json_t *seen;
	bool walked;	   /* a walk has ended: SEEN is its result, and what was noted since */
	bool complete;	   /* SEEN has the whole subtree */
	struct walk *walk; /* the walk that is being made; NULL = none */
};

void subtree_init(struct subtree *subtree);
void subtree_deinit(struct subtree *subtree);
/*
 * Begin a walk of /local/domain/<DOMID>, which reads data/mprof first. A walk that has not ended is
 * given up; if no walk has ended yet, the nodes that it has read come into SEEN. Return 0 or
 * -ENOMEM.
 */
int subtree_begin(struct subtree *subtree, uint32_t domid);
/*
 * Note a node that the caller has read: PATH, which is relative to the domain's path, with LEN bytes
 * of VALUE. It replaces what SEEN has of PATH. If it goes beyond the limits, it is left out, and
 * COMPLETE is false. Return 0 or -ENOMEM.
 */
int subtree_note(struct subtree *subtree, const char *path, const char *value, size_t len);
/*
 * Read at most NODES more nodes. Each takes two round trips to xenstored. Return 1 (the walk has
 * not ended), 0 (it has ended, or there is none), -EPIPE (the connection is lost) or -ENOMEM. When
 * the walk ends, SEEN is its result. If the whole subtree was removed during the walk, SEEN stays
 * as it was; if no walk has ended before, the part that was read comes into it, with COMPLETE false.
 */
int subtree_step(struct subtree *subtree, struct xen *xen, unsigned nodes);

/* The context of a capture. context_json() makes it the JSON of the column captures.context. */
struct context {
	const char *reason;	       /* how the guest ended: "crash", "poweroff", ... or "unknown" */
	const struct subtree *subtree; /* NULL = none */
	/* CONSOLE_LEN bytes of the console log's end, as the guest wrote them; NULL = none */
	const char *console;
	size_t console_len;
	bool console_complete;
};

/*
 * Return the context as JSON, or NULL without memory. The caller frees it. Bytes of the guest that
 * are not printable UTF-8 become \xNN; line ends stay.
 */
char *context_json(const struct context *context);

#endif
