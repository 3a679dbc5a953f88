/* The bearer token that mprofctl sends: from a file, a systemd credential, or the environment. */
#ifndef CTL_TOKEN_FILE_H
#define CTL_TOKEN_FILE_H

#include <stdbool.h>

/*
 * Read the token in the file PATH, which only its owner may be able to read. Set *TOKEN, which the
 * caller frees with token_free(). Return an exit code. No message has any part of the token.
 */
int token_read(const char *path, char **token);
/*
 * Take the token of $CREDENTIALS_DIRECTORY/mprofctl-token, else of MPROFCTL_TOKEN. Set *TOKEN as
 * token_read(), or to NULL if there is neither. Return an exit code.
 */
int token_of_environment(char **token);
/* Overwrite TOKEN, which may be NULL, and free it. Return NULL. */
char *token_free(char *token);

/* Return true if TEXT has a token of mprofd-http in it. */
bool token_in(const char *text);

#endif
