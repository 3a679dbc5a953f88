/*
 * Read, check and write tokens. The file is small, so each change reads it under the lock, and
 * writes it anew.
 */
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "file-state.h"
#include "regular.h"
#include "tokens.h"

#define PREFIX	  "mprof_"
#define ID_DIGITS 16u
#define LINE_MAX_ (SCOPES_TEXT_MAX + 512u)

struct tokens {
	char *path, *lock;
	struct token *list;
	size_t n;
	struct stat read; /* the file as it was read; zeroed = it was absent */
	bool known;	  /* the file was read, or found absent, without an error */
};

static void tokens_clear(struct tokens *t)
{
	for (size_t i = 0; i < t->n; i++)
		scopes_unref(t->list[i].scopes);
	free(t->list);
	t->list = NULL;
	t->n = 0;
	t->known = false;
}

struct tokens *tokens_free(struct tokens *t)
{
	if (!t)
		return NULL;
	tokens_clear(t);
	free(t->path);
	free(t->lock);
	free(t);
	return NULL;
}

int tokens_new(struct tokens **tp, const char *path)
{
	CLEANUP(tokens_freep) struct tokens *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->path = strdup(path);
	if (!t->path || asprintf(&t->lock, "%s.lock", path) < 0) {
		t->lock = NULL;
		return -ENOMEM;
	}
	*tp = TAKE_PTR(t);
	return 0;
}

bool token_name_ok(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@-";
	size_t n = strlen(name);

	return n > 0 && n < TOKEN_NAME_MAX && strspn(name, allowed) == n;
}

/* ---- reading ---- */

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_hex(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (digit(text[i]) < 0)
			return false;
	return true;
}

/* Parse TEXT, only decimal digits, to *N. Return false if it is anything else. */
static bool parse_seconds(const char *text, uint64_t *n)
{
	char *end;

	errno = 0;
	*n = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

/* Parse LINE, which is changed. Return false if it is malformed. */
static bool parse_line(char *line, struct token *token)
{
	char sentence[256], *fields[5], *rest = line;

	for (size_t i = 0; i < 5; i++) {
		fields[i] = rest;
		rest = strchr(rest, ' ');
		if (!rest)
			return false;
		*rest++ = '\0';
	}
	*token = (struct token){0};
	if (strlen(fields[0]) != ID_DIGITS || !is_hex(fields[0], ID_DIGITS) || strlen(fields[1]) != 2 * SECRET_HASH ||
	    !is_hex(fields[1], 2 * SECRET_HASH) || !token_name_ok(fields[4]) ||
	    !parse_seconds(fields[2], &token->made) || !parse_seconds(fields[3], &token->expires))
		return false;
	strcpy(token->id, fields[0]);
	strcpy(token->name, fields[4]);
	for (size_t i = 0; i < sizeof(token->hash); i++)
		token->hash[i] = (uint8_t)(digit(fields[1][2 * i]) << 4 | digit(fields[1][2 * i + 1]));
	token->scopes = scopes_parse(rest, sentence, sizeof(sentence));
	return token->scopes != NULL;
}

/* Append TOKEN, whose reference is taken over. Return 0 or -errno. */
static int append(struct tokens *t, const struct token *token)
{
	struct token *more = t->n < TOKENS_MAX ? realloc(t->list, (t->n + 1) * sizeof(*more)) : NULL;

	if (!more) {
		scopes_unref(token->scopes);
		return t->n < TOKENS_MAX ? -ENOMEM : -E2BIG;
	}
	t->list = more;
	t->list[t->n++] = *token;
	return 0;
}

static int read_lines(struct tokens *t, FILE *file, char *sentence, size_t size)
{
	char line[LINE_MAX_];
	struct token token;
	unsigned number = 0;
	int rc = 0;

	while (rc == 0 && fgets(line, sizeof(line), file)) {
		char *end = strchr(line, '\n');

		number++;
		if (!end || (*end = '\0', *line && *line != '#' && !parse_line(line, &token))) {
			snprintf(sentence, size, "%s:%u is no token: remove the line, and make the token again",
				 t->path, number);
			rc = -EINVAL;
		} else if (*line && *line != '#') {
			rc = append(t, &token);
		}
	}
	if (rc == 0 && ferror(file))
		rc = -EIO;
	if (rc < 0 && rc != -EINVAL)
		snprintf(sentence, size, "%s cannot be read: %s", t->path, strerror(-rc));
	return rc;
}

/* Read the file, whether or not it has changed. Return as tokens_refresh(). */
static int tokens_read(struct tokens *t, char *sentence, size_t size)
{
	CLEANUP(fclosep) FILE *file = NULL;
	int rc = regular_open(t->path, &file);

	tokens_clear(t);
	t->read = (struct stat){0};
	if (rc == -ENOENT) {
		t->known = true;
		return 0;
	}
	if (rc == 0 && fstat(fileno(file), &t->read) < 0)
		rc = -errno;
	if (rc != 0) {
		snprintf(sentence, size, "%s cannot be read: %s", t->path, regular_words(rc));
		return rc < 0 ? rc : -EINVAL;
	}
	rc = read_lines(t, file, sentence, size);
	if (rc < 0)
		tokens_clear(t);
	t->known = rc == 0;
	return rc;
}

int tokens_refresh(struct tokens *t, char *sentence, size_t size)
{
	struct stat now = {0};

	if (stat(t->path, &now) < 0 && errno != ENOENT)
		now = (struct stat){.st_size = -1}; /* let tokens_read() say why */
	return t->known && file_state_same(&now, &t->read) ? 0 : tokens_read(t, sentence, size);
}

/* ---- checking ---- */

static const struct token *find(const struct tokens *t, const char *id, size_t bytes)
{
	for (size_t i = 0; i < t->n; i++)
		if (bytes == ID_DIGITS && memcmp(t->list[i].id, id, ID_DIGITS) == 0)
			return &t->list[i];
	return NULL;
}

static bool is_valid(const struct token *token, uint64_t now)
{
	return token->expires == 0 || now < token->expires;
}

const struct token *tokens_find(const struct tokens *t, const char *id, uint64_t now)
{
	const struct token *token = find(t, id, strlen(id));

	return token && is_valid(token, now) ? token : NULL;
}

bool token_id_ok(const char *id)
{
	return strlen(id) == ID_DIGITS && is_hex(id, ID_DIGITS);
}

bool token_parse(const char *text, char id[TOKEN_ID_TEXT], uint8_t hash[SECRET_HASH])
{
	const char *secret = text + sizeof(PREFIX) - 1 + ID_DIGITS + 1;

	if (strlen(text) != TOKEN_TEXT - 1 || strncmp(text, PREFIX, sizeof(PREFIX) - 1) != 0 || secret[-1] != '_')
		return false;
	memcpy(id, text + sizeof(PREFIX) - 1, ID_DIGITS);
	id[ID_DIGITS] = '\0';
	return is_hex(id, ID_DIGITS) && secret_hash(secret, hash);
}

const struct token *tokens_check(const struct tokens *t, const char *text, uint64_t now)
{
	const struct token *token;
	uint8_t hash[SECRET_HASH];
	char id[TOKEN_ID_TEXT];

	token = token_parse(text, id, hash) ? find(t, id, ID_DIGITS) : NULL;
	if (!token || gnutls_memcmp(hash, token->hash, sizeof(hash)) != 0)
		return NULL;
	return is_valid(token, now) ? token : NULL;
}

size_t tokens_count(const struct tokens *t)
{
	return t->n;
}

const struct token *tokens_at(const struct tokens *t, size_t i)
{
	return &t->list[i];
}

/* ---- changing ---- */

static int say(int rc, const char *what, const char *path, char *sentence, size_t size)
{
	snprintf(sentence, size, "%s cannot be %s: %s", path, what, strerror(-rc));
	return rc;
}

/* Take the lock in *FD, and read the file as it is now. Return 0 or -errno with a sentence. */
static int begin_change(struct tokens *t, int *fd, char *sentence, size_t size)
{
	*fd = open(t->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (*fd < 0 || flock(*fd, LOCK_EX) < 0)
		return say(-errno, "locked", t->lock, sentence, size);
	return tokens_read(t, sentence, size);
}

static int write_lines(const struct tokens *t, FILE *out)
{
	char hash[2 * SECRET_HASH + 1];

	fputs("# Tokens of mprofd-http: mprofd-http --token new|list|revoke changes this file.\n", out);
	for (size_t i = 0; i < t->n; i++) {
		const struct token *token = &t->list[i];

		secret_digits(token->hash, sizeof(token->hash), hash);
		fprintf(out, "%s %s %" PRIu64 " %" PRIu64 " %s %s\n", token->id, hash, token->made, token->expires,
			token->name, scopes_text(token->scopes));
	}
	return fflush(out) == 0 && fsync(fileno(out)) == 0 ? 0 : -errno;
}

/* Open the directory of PATH. Return the descriptor, or -errno. */
static int open_directory(const char *path)
{
	CLEANUP(freep) char *directory = strdup(path);
	char *slash = directory ? strrchr(directory, '/') : NULL;
	int fd;

	if (!directory)
		return -ENOMEM;
	if (slash)
		slash[slash == directory] = '\0';
	fd = open(slash ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * Root makes files for the server, which reads and writes them as another user: give FD the owner of
 * DIRECTORY.
 */
static int give_away(int fd, int directory)
{
	struct stat st;

	if (geteuid() != 0)
		return 0;
	return fstat(directory, &st) < 0 || fchown(fd, st.st_uid, st.st_gid) < 0 ? -errno : 0;
}

/* Replace the file by the tokens of T. Return 0 or -errno with a sentence. */
static int tokens_write(struct tokens *t, int lock, char *sentence, size_t size)
{
	CLEANUP(freep) char *path = NULL;
	CLEANUP(fclosep) FILE *out = NULL;
	CLEANUP(closep) int directory = open_directory(t->path);
	int fd, rc;

	if (directory < 0)
		return say(directory, "written", t->path, sentence, size);
	if (asprintf(&path, "%s.new", t->path) < 0) {
		path = NULL;
		return say(-ENOMEM, "written", t->path, sentence, size);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW, 0600);
	out = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!out) {
		rc = -errno;
		if (fd >= 0)
			close(fd);
		return say(rc, "written", path, sentence, size);
	}
	rc = write_lines(t, out);
	if (rc == 0)
		rc = give_away(fd, directory);
	if (rc == 0)
		rc = give_away(lock, directory);
	/* A revocation must hold after a power failure, so the rename is flushed, too. */
	if (rc == 0 && (rename(path, t->path) < 0 || fsync(directory) < 0))
		rc = -errno;
	if (rc == 0 && fstat(fd, &t->read) < 0)
		rc = -errno;
	if (rc < 0) {
		unlink(path);
		t->known = false; /* the list has what the file has not */
		return say(rc, "written", path, sentence, size);
	}
	return 0;
}

bool token_random(char text[TOKEN_TEXT], char id[TOKEN_ID_TEXT], uint8_t hash[SECRET_HASH])
{
	char secret[SECRET_DIGITS + 1];

	if (!secret_new(ID_DIGITS / 2, id) || !secret_new(SECRET_BYTES, secret) || !secret_hash(secret, hash))
		return false;
	snprintf(text, TOKEN_TEXT, PREFIX "%s_%s", id, secret);
	gnutls_memset(secret, 0, sizeof(secret));
	return true;
}

static int new_token(struct tokens *t, struct token *token, char text[TOKEN_TEXT])
{
	do {
		if (!token_random(text, token->id, token->hash))
			return -EIO;
	} while (find(t, token->id, ID_DIGITS));
	return 0;
}

int tokens_make(struct tokens *t, const char *name, struct scopes *scopes, uint64_t expires, char text[TOKEN_TEXT],
		const struct token **made, char *sentence, size_t size)
{
	CLEANUP(closep) int lock = -1;
	struct token token = {.made = clock_real_seconds(), .expires = expires};
	int rc = begin_change(t, &lock, sentence, size);

	if (rc < 0)
		return rc;
	snprintf(token.name, sizeof(token.name), "%s", name);
	rc = new_token(t, &token, text);
	token.scopes = scopes_ref(scopes);
	if (rc == 0)
		rc = append(t, &token);
	else
		scopes_unref(scopes);
	if (rc == -E2BIG) {
		snprintf(sentence, size, "%s has %u tokens already: revoke some", t->path, TOKENS_MAX);
		return rc;
	}
	if (rc < 0)
		return say(rc, "extended", t->path, sentence, size);
	*made = &t->list[t->n - 1];
	return tokens_write(t, lock, sentence, size);
}

int tokens_revoke(struct tokens *t, const char *id, char *sentence, size_t size)
{
	CLEANUP(closep) int lock = -1;
	int rc = begin_change(t, &lock, sentence, size);
	const struct token *token = rc == 0 ? find(t, id, strlen(id)) : NULL;

	if (rc < 0)
		return rc;
	if (!token) {
		snprintf(sentence, size, "there is no token %.64s: see the list of tokens", id);
		return -ENOENT;
	}
	scopes_unref(token->scopes);
	t->n--;
	memmove(&t->list[token - t->list], token + 1, (size_t)(t->list + t->n - token) * sizeof(*token));
	return tokens_write(t, lock, sentence, size);
}
