/* The fleet's tokens on the command line: made, listed and revoked in the hub's database. */
#ifndef SERVE_FLEET_TOKENS_H
#define SERVE_FLEET_TOKENS_H

#include <stddef.h>
#include <stdint.h>

struct scopes;

enum fleet_tokens_verb { FLEET_TOKENS_NEW, FLEET_TOKENS_LIST, FLEET_TOKENS_REVOKE, FLEET_TOKENS_ADMIT };

struct fleet_tokens_command {
	enum fleet_tokens_verb verb;
	/*
	 * NEW: the token's name; REVOKE: its identifier, or certificate:NAME, token:NAME or user:NAME; ADMIT:
	 * one of the latter.
	 */
	const char *word;
	const struct scopes *scopes; /* of NEW, with its life in seconds */
	uint64_t seconds;
	/* Print a line for the token of NEW or LIST. Times are seconds since 1970; REVOKED 0 = it is not. */
	void (*print)(const char *id, const char *name, const char *scopes, uint64_t made, uint64_t expires,
		      uint64_t revoked);
};

/*
 * Do C in the database of CONNECTION, and print to standard output: the text of the new token, or lines.
 * Return 0; or a negative number, with a sentence in SENTENCE (SIZE bytes). It blocks.
 */
int fleet_tokens_run(const struct fleet_tokens_command *c, const char *connection, char *sentence, size_t size);

#endif
