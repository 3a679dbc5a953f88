/*
 * The table of configuration keys. config.c reads everything that it knows about a key from this
 * table.
 */
#ifndef COMMON_CONFIG_KEYS_H
#define COMMON_CONFIG_KEYS_H

#include "config.h"

enum section {
	SECTION_NONE,
	SECTION_COLLECTOR,
	SECTION_XEN,
	SECTION_ARCHIVE,
	SECTION_HTTP,
	SECTION_SINK,
	SECTION_POLICY,
	SECTION_FLEET,
	SECTION_ACCESS,
	SECTION_GRANT,
	SECTIONS,
};

/* Names of the sections as users write them. SECTION_NONE has no name. */
extern const char *const config_sections[SECTIONS];

enum kind {
	KIND_BYTES,
	KIND_DURATION,
	KIND_COUNT,
	KIND_NUMBER,
	KIND_SHARE,
	KIND_LISTEN,
	KIND_PATH,
	KIND_MODE,
	KIND_MEMTRACE,
	KIND_SEND, /* in struct policy */
	KIND_WORDS,
	KIND_FILE,
	KIND_NAMES,
	KIND_NETWORKS,
	KIND_GLOBS,
	KIND_YES
};

struct config_key {
	enum section section;
	const char *name;
	enum kind kind;
	/* in struct config; in struct policy or struct config_grant for a key of these sections or of KIND_SEND */
	size_t offset;
	uint64_t least, most; /* limits of a number, both inclusive */
	const char *hint;     /* accepted values, for error messages */
};

/*
 * In the order in which mprofd.conf describes the keys. At most 64 entries, because config.c keeps
 * a set of them in 64 bits.
 */
extern const struct config_key config_keys[];
extern const size_t config_n_keys;

/*
 * Parse VALUE and store the result at OUT, the key's field. Return false if VALUE does not parse as
 * the key's kind or is outside the key's limits. Not for the kinds whose values are texts: KIND_LISTEN,
 * KIND_PATH, KIND_FILE, KIND_NAMES, KIND_NETWORKS,
 * KIND_GLOBS and KIND_WORDS.
 */
bool config_key_parse(const struct config_key *key, const char *value, void *out);
/* Return the size in bytes of the key's field in struct policy. */
size_t config_key_policy_size(const struct config_key *key);

#endif
