/*
 * Names of a hub: the id of a capture, HOST.ARCHIVE.NUMBER, that of a memory profile,
 * HOST.ARCHIVE.NUMBER.RECORDING, and a guest, HOST/GUEST. Clients send them.
 */
#ifndef SERVE_FLEET_NAMES_H
#define SERVE_FLEET_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scopes.h"

#define FLEET_HOST    64u  /* bytes of the name of a host, with NUL */
#define FLEET_UUID    37u  /* bytes of a UUID, with NUL */
#define FLEET_GUEST   256u /* bytes of the name of a guest, with NUL */
#define FLEET_ID_TEXT 192u /* bytes of an id, with NUL */

struct capture_id {
	char host[FLEET_HOST];
	char archive[FLEET_UUID]; /* a UUID, or its first eight digits */
	int64_t capture;
	int32_t recording; /* -1: the id of a capture */
};

/* Return whether TEXT is a name of a host. */
bool fleet_is_host(const char *text);
/* Parse TEXT, the id of a memory profile if MEMTRACE, else of a capture. Return false if it is none. */
bool capture_id_parse(const char *text, bool memtrace, struct capture_id *id);
/* Write ID with the first eight digits of its archive. */
void capture_id_text(const struct capture_id *id, char text[FLEET_ID_TEXT]);

struct guest_name {
	char host[FLEET_HOST];
	char guest[FLEET_GUEST];
};

/*
 * Parse TEXT, HOST/GUEST. PLAIN: GUEST is a name as it is; else "name:" before a name is left out. Return
 * false if it is none.
 */
bool guest_name_parse(const char *text, bool plain, struct guest_name *name);

/* Return whether SCOPES (NULL: everything) allow SCOPE for GUEST of HOST. */
bool fleet_allows(const struct scopes *scopes, enum scope scope, const char *host, const char *guest);
/*
 * Write to OUT (SIZE bytes) an array of PostgreSQL with a regular expression for each glob of the scope
 * read in SCOPES. *BYTES: it matches the bytes of a name as characters of LATIN1, since globs match bytes;
 * else it matches a name either way. Return false if it does not fit.
 */
bool fleet_patterns(const struct scopes *scopes, char *out, size_t size, bool *bytes);

#endif
