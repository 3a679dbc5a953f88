/* The keys of the configuration. This table is all that config.c knows of a key. */
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
	KIND_MEMTRACE
};

struct config_key {
	enum section section;
	const char *name;
	enum kind kind;
	size_t offset;	      /* offset in struct config; in struct policy for a policy's key */
	uint64_t least, most; /* limits of a number, inclusive */
	const char *hint;     /* the expected value, for error sentences */
};

/* Sorted as mprofd.conf describes them; at most 32. */
extern const struct config_key config_keys[];
extern const size_t config_n_keys;

/*
 * Parse VALUE into the field at OUT. Return false if VALUE is of another kind or outside the key's
 * limits. Do not use it for addresses and paths.
 */
bool config_key_parse(const struct config_key *key, const char *value, void *out);
/* Return the size in bytes of the key's field in struct policy. */
size_t config_key_policy_size(const struct config_key *key);

#endif
