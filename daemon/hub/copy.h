/*
 * A capture of the hub, copied into a trace archive of its own.
 *
 * The copy is an ordinary archive (daemon/archive/reader.h) with one run, its streams, and the
 * capture, under the identifiers that they have on their host. So whatever reads a host's capture
 * reads this one: the same packets, tails, gaps and context. Rows are compressed anew. Values
 * that a head lacks are filled in: gaps have the time 0, and the run has ended when the capture was taken.
 *
 * The hub's rows come from hosts and are not trusted: each is checked before it is written.
 */
#ifndef HUB_COPY_H
#define HUB_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "postgres.h"

/* The key of a capture (schema/fleet/README.md). Strings are borrowed. */
struct capture_key {
	const char *host;
	const char *month;   /* its first day, as 2026-01-01 */
	const char *archive; /* UUID of the host's archive */
	int64_t capture;     /* its number on the host */
};

enum copy_condition {
	COPY_E_LOST = 1, /* the database did not answer, or refused: try again later */
	COPY_E_ABSENT,	 /* there is no such finished capture */
	COPY_E_REFUSED,	 /* the hub's rows are no capture, or too large: trying again does not help */
	COPY_E_DISK,	 /* the copy cannot be written: the disk is full, or STATE cannot be used */
};

/*
 * Copy the capture KEY from P, which is connected, to the archive below STATE, a directory that exists and
 * has no archive. P's role must have fleet_read. The bodies, decoded, may have at most MOST bytes; in
 * memory are at most 16 MiB at a time. Return 0, a copy_condition or -ENOMEM, with a sentence in
 * SENTENCE (SIZE bytes) unless 0. After a failure STATE may have a part of the copy, which the caller
 * deletes.
 */
int capture_copy(struct postgres *p, const struct capture_key *key, const char *state, uint64_t most, char *sentence,
		 size_t size);

/* Add the key's four members to PARAMS, as $1 to $4 of a statement: host, month, archive, capture. */
void capture_key_add(const struct capture_key *key, struct postgres_params *params);

#endif
