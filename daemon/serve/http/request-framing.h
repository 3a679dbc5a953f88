/*
 * The framing of a request: whether its header says in exactly one way where its body ends.
 *
 * If a proxy and this server understood a header in two ways, a part of one client's body could become another
 * client's request. libmicrohttpd accepts several such headers. Pure functions over untrusted bytes.
 *
 * libmicrohttpd 0.9.75 takes a line that ends with LF alone, and cuts names and values at NUL, before this
 * server sees them. But it leaves the header in its buffer, and replaces only what separates the parts. So the
 * places of the parts tell what stood between them: two bytes, if a line ended with CR and LF.
 *
 * 0.9.75 also takes what follows a header with Expect and no body for a part of that body, so such a header is
 * refused, as HTTP forbids it.
 */
#ifndef SERVE_REQUEST_FRAMING_H
#define SERVE_REQUEST_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zeroed struct is the framing of a header without lines. */
struct request_framing {
	unsigned hosts, lengths, encodings; /* lines with Host, Content-Length and Transfer-Encoding */
	uint64_t body;			    /* bytes of the body by its length; UINT64_MAX = that many or more */
	bool expects;			    /* there is a line Expect */
	bool malformed;			    /* a part of the header has bytes that it may not have */
	const char *next;		    /* where the next line must begin; NULL = places are not compared */
};

/* The request line, as libmicrohttpd passes it, before it unescapes TARGET. Borrowed. */
struct request_line {
	const char *method, *target, *version;
	size_t target_bytes;
};

/*
 * Compare the places of the parts of the header, which begins with LINE, from now on. All lines that are
 * added then must be in one buffer. Call it before the first line is added.
 */
void request_framing_place(struct request_framing *f, const struct request_line *line);

/* Add a line of the header: NAME and VALUE, which need not end with NUL. */
void request_framing_add(struct request_framing *f, const char *name, size_t name_bytes, const char *value,
			 size_t value_bytes);
/*
 * All lines of the header, which begins at METHOD and has BYTES with its empty line, were added, and their
 * places were compared.
 */
void request_framing_end(struct request_framing *f, const char *method, size_t bytes);
/* Return whether the header of a request, of HTTP/1.0 if HTTP10, has exactly one meaning. */
bool request_framing_ok(const struct request_framing *f, bool http10);

#endif
