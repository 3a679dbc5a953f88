/*
 * Bearer tokens and the file that holds them.
 *
 * A token is the text mprof_ID_SECRET: an identifier of 16 hexadecimal digits and a secret of 256
 * random bits, as 64 hexadecimal digits. The file has one line for each token:
 *
 *   ID SHA-256-OF-SECRET MADE EXPIRES NAME SCOPES
 *
 * MADE and EXPIRES are seconds since 1970 (EXPIRES 0 = never). NAME has no blanks. SCOPES are the
 * rest of the line (scopes.h). A slow hash is for passwords that people choose; a secret of 256
 * random bits cannot be guessed from its hash.
 *
 * The file is replaced as a whole by a rename. A lock beside it (FILE.lock) lets the server and
 * `mprofd-http --token` change it one after the other.
 */
#ifndef SERVE_TOKENS_H
#define SERVE_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "scopes.h"
#include "secret.h"

#define TOKEN_ID_TEXT	17u /* with NUL, as the others */
#define TOKEN_TEXT	(6u + 16u + 1u + SECRET_DIGITS + 1u)
#define TOKEN_NAME_MAX	64u
#define TOKENS_MAX	4096u
#define TOKEN_DAYS	365u /* life of a token if none is given */
#define TOKEN_DAYS_MOST 3650u

struct token {
	char id[TOKEN_ID_TEXT];
	uint8_t hash[SECRET_HASH]; /* of the secret */
	char name[TOKEN_NAME_MAX];
	uint64_t made, expires; /* seconds since 1970 */
	struct scopes *scopes;	/* a reference */
};

struct tokens;

/*
 * Create the tokens of the file PATH, which is read by tokens_refresh() and may be absent. Return 0,
 * with the tokens in *TP, or -ENOMEM.
 */
int tokens_new(struct tokens **tp, const char *path);
struct tokens *tokens_free(struct tokens *t);
CLEANUP_DEFINE(struct tokens, tokens_free)

/*
 * Read the file if it has changed. Return 0; or -errno, with a sentence in SENTENCE (SIZE bytes), and
 * T has no token any more: a revocation that cannot be read must not be ignored.
 */
int tokens_refresh(struct tokens *t, char *sentence, size_t size);

/*
 * Return the token that TEXT is, if it is valid at NOW (seconds since 1970), or NULL. Borrowed until
 * the next refresh.
 */
const struct token *tokens_check(const struct tokens *t, const char *text, uint64_t now);
/* Return the token ID, if it is valid at NOW, or NULL. Borrowed as above. */
const struct token *tokens_find(const struct tokens *t, const char *id, uint64_t now);
/* Return the number of tokens; tokens_at() returns one of them, borrowed as above. */
size_t tokens_count(const struct tokens *t);
const struct token *tokens_at(const struct tokens *t, size_t i);

/*
 * Take TEXT, mprof_ID_SECRET, apart: its identifier and the hash of its secret. Return false if it is no
 * token's text.
 */
bool token_parse(const char *text, char id[TOKEN_ID_TEXT], uint8_t hash[SECRET_HASH]);
/* Return whether ID has the form of a token's identifier. */
bool token_id_ok(const char *id);
/*
 * Make a random token: its text, identifier and hash. Return false if the system gives no random bytes.
 */
bool token_random(char text[TOKEN_TEXT], char id[TOKEN_ID_TEXT], uint8_t hash[SECRET_HASH]);

/*
 * Return whether NAME can name a token: 1 to 63 letters, digits, and "._@-". The name is shown in
 * lists and in the journal.
 */
bool token_name_ok(const char *name);
/*
 * Make a token for NAME with the rights of SCOPES that expires at EXPIRES, and write the file. TEXT
 * becomes the token, which is not stored anywhere, and *MADE its entry, borrowed as above. Return 0;
 * or -errno, with a sentence in SENTENCE (SIZE bytes).
 */
int tokens_make(struct tokens *t, const char *name, struct scopes *scopes, uint64_t expires, char text[TOKEN_TEXT],
		const struct token **made, char *sentence, size_t size);
/* Remove the token ID and write the file. Return as tokens_make(); -ENOENT: there is none. */
int tokens_revoke(struct tokens *t, const char *id, char *sentence, size_t size);

#endif
