/* Tokens and sessions: made, checked, expired, revoked, and the files that are refused. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "sessions.h"
#include "tokens.h"

#define NOW UINT64_C(2000000000)

struct fixture {
	char directory[64], path[96];
	struct tokens *t;
	struct scopes *scopes;
};

static bool begin(struct fixture *f)
{
	char sentence[256];

	strcpy(f->directory, "/tmp/mprof-tokens.XXXXXX");
	if (!CHECK(mkdtemp(f->directory) != NULL))
		return false;
	snprintf(f->path, sizeof(f->path), "%s/tokens", f->directory);
	f->scopes = scopes_parse("read=web*;metrics=yes", sentence, sizeof(sentence));
	return CHECK(tokens_new(&f->t, f->path) == 0 && f->scopes);
}

static void end(struct fixture *f)
{
	char path[128];

	f->t = tokens_free(f->t);
	scopes_unref(f->scopes);
	unlink(f->path);
	snprintf(path, sizeof(path), "%s.lock", f->path);
	unlink(path);
	CHECK_EQ_INT(rmdir(f->directory), 0);
}

static bool make(struct fixture *f, const char *name, uint64_t expires, char text[TOKEN_TEXT])
{
	const struct token *made;
	char sentence[256] = "";

	return CHECK_EQ_INT(tokens_make(f->t, name, f->scopes, expires, text, &made, sentence, sizeof(sentence)), 0) &&
	       CHECK_EQ_STR(made->name, name);
}

static int refresh(struct tokens *t, char sentence[256])
{
	*sentence = '\0';
	return tokens_refresh(t, sentence, 256);
}

static void write_file(struct fixture *f, const char *text)
{
	FILE *file = fopen(f->path, "w");

	if (CHECK(file != NULL)) {
		fputs(text, file);
		fclose(file);
	}
}

static void test_check(void)
{
	struct fixture f;
	char text[TOKEN_TEXT], other[TOKEN_TEXT], sentence[256];
	const struct token *token;
	struct stat st;

	if (!begin(&f))
		return;
	CHECK_EQ_INT(refresh(f.t, sentence), 0);
	CHECK_EQ_UINT(tokens_count(f.t), 0);
	if (make(&f, "grafana", NOW, text) && make(&f, "ever", 0, other)) {
		CHECK_EQ_UINT(strlen(text), TOKEN_TEXT - 1);
		CHECK(strcmp(text, other) != 0);
		token = tokens_check(f.t, text, NOW - 1);
		CHECK(token && strcmp(token->name, "grafana") == 0 && scopes_metrics(token->scopes));
		CHECK(token && tokens_find(f.t, token->id, NOW - 1) == token && !tokens_find(f.t, token->id, NOW));
		CHECK(!tokens_check(f.t, text, NOW) && tokens_check(f.t, other, UINT64_MAX));
		/* Each byte matters. */
		for (size_t i = 0; i < TOKEN_TEXT - 1; i++) {
			char was = text[i];

			text[i] = was == '0' ? '1' : '0';
			CHECK(!tokens_check(f.t, text, NOW - 1));
			text[i] = was;
		}
		CHECK(!tokens_check(f.t, "", NOW) && !tokens_check(f.t, "mprof_", NOW));
		/* The file has no secret, and only its owner reads it. */
		CHECK(stat(f.path, &st) == 0 && (st.st_mode & 0777) == 0600);
	}
	end(&f);
}

/* A second program changes the file. */
static void test_refresh(void)
{
	struct fixture f;
	struct tokens *second = NULL;
	char text[TOKEN_TEXT], sentence[256], id[TOKEN_ID_TEXT];

	if (!begin(&f))
		return;
	if (make(&f, "a", 0, text) && CHECK_EQ_INT(tokens_new(&second, f.path), 0)) {
		CHECK(!tokens_check(second, text, NOW));
		CHECK_EQ_INT(refresh(second, sentence), 0);
		CHECK(tokens_check(second, text, NOW) != NULL);
		snprintf(id, sizeof(id), "%s", tokens_at(second, 0)->id);
		CHECK_EQ_INT(tokens_revoke(f.t, id, sentence, sizeof(sentence)), 0);
		CHECK_EQ_INT(refresh(second, sentence), 0);
		CHECK(!tokens_check(second, text, NOW));
		CHECK_EQ_INT(tokens_revoke(f.t, id, sentence, sizeof(sentence)), -ENOENT);
		CHECK(strstr(sentence, "there is no token") != NULL);
	}
	tokens_free(second);
	end(&f);
}

/* With a file that cannot be read no token is valid: a revocation might be in it. */
static void test_malformed(void)
{
	static const char *const lines[] = {
		"nonsense\n",
		"0123456789abcdef 00 1 2 name read=*\n",
		"0123456789abcdef 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef 1 x name read=*\n",
		"0123456789abcdef 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef -1 2 name read=*\n",
		"0123456789abcdef 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef 1 2 na/me read=*\n",
		"0123456789abcdef 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef 1 2 name raed=*\n",
		"0123456789abcdef 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef 1 2 name\n",
		"0123456789ABCDEF 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef 1 2 name read=*\n",
		"# a line without its end",
	};
	struct fixture f;
	char text[TOKEN_TEXT], sentence[256], old[4096] = "", both[8192];
	FILE *file;

	if (!begin(&f))
		return;
	if (make(&f, "a", 0, text) && CHECK((file = fopen(f.path, "r")) != NULL)) {
		old[fread(old, 1, sizeof(old) - 1, file)] = '\0';
		fclose(file);
	}
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		snprintf(both, sizeof(both), "%s%s", old, lines[i]);
		write_file(&f, both);
		CHECK_EQ_INT(refresh(f.t, sentence), -EINVAL);
		CHECK(strstr(sentence, "tokens:3 is no token") && !tokens_check(f.t, text, NOW));
		CHECK_EQ_INT(refresh(f.t, sentence), -EINVAL);
	}
	write_file(&f, old);
	CHECK_EQ_INT(refresh(f.t, sentence), 0);
	CHECK(tokens_check(f.t, text, NOW) != NULL);
	unlink(f.path);
	CHECK_EQ_INT(mkdir(f.path, 0700), 0);
	CHECK(refresh(f.t, sentence) < 0 && strstr(sentence, "cannot be read") && !tokens_check(f.t, text, NOW));
	CHECK_EQ_INT(rmdir(f.path), 0);
	CHECK_EQ_INT(refresh(f.t, sentence), 0);
	CHECK_EQ_UINT(tokens_count(f.t), 0);
	end(&f);
}

/* Several programs make tokens at once, and each token is in the file. */
static void test_together(void)
{
	enum { PROGRAMS = 8, EACH = 8 };
	struct fixture f;
	char text[TOKEN_TEXT], sentence[256];

	if (!begin(&f))
		return;
	for (int i = 0; i < PROGRAMS; i++) {
		pid_t child = fork();
		const struct token *made;

		if (child != 0)
			continue;
		for (int k = 0; k < EACH; k++)
			if (tokens_make(f.t, "x", f.scopes, 0, text, &made, sentence, sizeof(sentence)) < 0)
				_exit(1);
		_exit(0);
	}
	for (int i = 0, status = 0; i < PROGRAMS; i++)
		CHECK(wait(&status) > 0 && status == 0);
	CHECK_EQ_INT(refresh(f.t, sentence), 0);
	CHECK_EQ_UINT(tokens_count(f.t), PROGRAMS * EACH);
	end(&f);
}

static void test_names(void)
{
	char name[TOKEN_NAME_MAX + 1];

	CHECK(token_name_ok("grafana") && token_name_ok("a@b.c_d-E9"));
	CHECK(!token_name_ok("") && !token_name_ok("a b") && !token_name_ok("a\n") && !token_name_ok("ä"));
	memset(name, 'a', sizeof(name));
	name[TOKEN_NAME_MAX] = '\0';
	CHECK(!token_name_ok(name));
	name[TOKEN_NAME_MAX - 1] = '\0';
	CHECK(token_name_ok(name));
}

static void test_sessions(void)
{
	static struct sessions s;
	char first[SESSION_TEXT], text[SESSION_TEXT];
	const struct session *session = sessions_begin(&s, "0123456789abcdef", NOW + 10, first);
	uint64_t serial = session->serial;

	CHECK_EQ_UINT(strlen(first), SESSION_TEXT - 1);
	CHECK(sessions_check(&s, first, NOW) == session && sessions_find(&s, serial, NOW) == session);
	CHECK(!sessions_check(&s, first, NOW + 10) && !sessions_find(&s, serial, NOW + 10));
	CHECK(!sessions_check(&s, "", NOW) && !sessions_find(&s, 0, NOW) && !sessions_find(&s, serial + 1, NOW));
	/* A token's further session ends its oldest. */
	for (unsigned i = 1; i < TOKEN_SESSIONS_MAX; i++)
		sessions_begin(&s, "0123456789abcdef", NOW + 10, text);
	CHECK(sessions_check(&s, first, NOW) != NULL);
	sessions_begin(&s, "0123456789abcdef", NOW + 10, text);
	CHECK(!sessions_check(&s, first, NOW) && sessions_check(&s, text, NOW));
	sessions_end(&s, s.begun);
	CHECK(!sessions_check(&s, text, NOW));
	/* The number of sessions is bounded. */
	sessions_begin(&s, "ffffffffffffffff", NOW + 10, first);
	for (unsigned i = 0; i < SESSIONS_MAX; i++) {
		char id[TOKEN_ID_TEXT];

		snprintf(id, sizeof(id), "%016x", i);
		sessions_begin(&s, id, NOW + 10, text);
	}
	CHECK(!sessions_check(&s, first, NOW) && sessions_check(&s, text, NOW));
}

int main(void)
{
	CHECK_RUN(test_check);
	CHECK_RUN(test_refresh);
	CHECK_RUN(test_malformed);
	CHECK_RUN(test_together);
	CHECK_RUN(test_names);
	CHECK_RUN(test_sessions);
	return check_done();
}
