/* `mprofd-http --token`: make, list and revoke tokens, without the server. */
#ifndef SERVE_TOKEN_COMMAND_H
#define SERVE_TOKEN_COMMAND_H

#include <stddef.h>

struct token_command {
	const char *verb;	  /* new, list, revoke, or with a fleet admit */
	const char *const *words; /* N_WORDS words behind the verb: NAME, ID or WHO */
	size_t n_words;
	const char *const *scopes; /* N_SCOPES values of --scope */
	size_t n_scopes;
	const char *days; /* value of --days; NULL = not given */
};

/*
 * Run the command on the file PATH; or on the fleet's database, if FLEET is libpq's connection string and not
 * NULL. Return the exit code: 0, 1 = it failed, 2 = it is misspelt.
 */
int token_command_run(const struct token_command *c, const char *path, const char *fleet);

#endif
