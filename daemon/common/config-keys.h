/* The keys of the configuration, as config.c reads them: everything that it knows of a key stands in the table. */
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

/* As they are written; there is none of SECTION_NONE. */
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
	size_t offset;	      /* in struct config, of a policy's key in struct policy */
	uint64_t least, most; /* of a number, both included */
	const char *hint;     /* what to write */
};

/* In the order in which mprofd.conf describes them; at most 32. */
extern const struct config_key config_keys[];
extern const size_t config_n_keys;

/* Parse VALUE into the field at OUT; false if it is not of the key's kind or outside its limits.  Not for addresses and paths. */
bool config_key_parse(const struct config_key *key, const char *value, void *out);
/* Bytes of the field in struct policy. */
size_t config_key_policy_size(const struct config_key *key);

#endif
