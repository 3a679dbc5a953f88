/* Heads of captures on the hub, and copies, without memory: that is no fault of the capture, so it is no refusal. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture-head.h"
#include "check.h"
#include "memory-copy.h"
#include "scarce.h"

static const char json[] = "{\"kind\": \"crash\", \"guest\": \"web\", \"run\": 4, \"real\": \"1000\", \"mono\": \"10\","
			   " \"streams\": [{\"id\": 5, \"number\": 0}], \"gaps\": []}";

static void test_head(void)
{
	struct capture_head *head = NULL;
	char sentence[256] = "";
	int r = -ENOMEM;

	for (long n = 0; n < 1000 && r == -ENOMEM; n++) {
		fail_in = n;
		r = capture_head_read(&head, json, sentence, sizeof(sentence));
		CHECK(r == 0 || !head);
	}
	fail_in = -1;
	CHECK_EQ_INT(r, 0);
	CHECK_EQ_STR(sentence, "");
	if (CHECK(head != NULL))
		CHECK_EQ_UINT(capture_head_streams(head), 1);
	capture_head_free(head);
}

static void test_refused(void)
{
	static const char *const bad[] = {"[]", "{}", "{\"kind\": \"crash\", \"guest\": \"web\", \"real\": \"x\"}",
					  "{\"kind\": 1e999}"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct capture_head *head = NULL;
		char sentence[256] = "";

		CHECK_EQ_INT(capture_head_read(&head, bad[i], sentence, sizeof(sentence)), -EINVAL);
		CHECK(!head && *sentence);
	}
}

/* The sentence of a profile that was not copied for want of memory does not say that there is no such profile. */
static void test_memory_copy(void)
{
	const struct capture_key key = {"host", "2026-01-01", "00000000-0000-4000-8000-000000000000", 3};
	char sentence[256] = "";

	fail_in = 0;
	CHECK_EQ_INT(memory_copy(NULL, &key, 1, "/nonexistent", 1000, sentence, sizeof(sentence)), -ENOMEM);
	fail_in = -1;
	CHECK_EQ_STR(sentence, "there is no memory left to copy the memory profile");
}

static int answer; /* of the database */

/* They stand before those of daemon/postgres. */
int __wrap_postgres_call_binary(struct postgres *p, const char *sql, const struct postgres_params *params,
				struct postgres_rows **rows);
const char *__wrap_postgres_sentence(const struct postgres *p);

int __wrap_postgres_call_binary(struct postgres *p, const char *sql, const struct postgres_params *params,
				struct postgres_rows **rows)
{
	(void)p;
	(void)sql;
	(void)params;
	(void)rows;
	return answer;
}

const char *__wrap_postgres_sentence(const struct postgres *p)
{
	(void)p;
	return "the database says no";
}

/* A database that is lost, or that refuses, does not mean that there is no such profile. */
static void test_database_fails(void)
{
	const struct capture_key key = {"host", "2026-01-01", "00000000-0000-4000-8000-000000000000", 3};

	for (answer = POSTGRES_E_LOST; answer <= POSTGRES_E_REFUSED; answer++) {
		char directory[] = "/tmp/mprof-test-XXXXXX", path[64], sentence[256] = "";

		CHECK(mkdtemp(directory) != NULL);
		CHECK_EQ_INT(memory_copy(NULL, &key, 1, directory, 1000, sentence, sizeof(sentence)), COPY_E_LOST);
		CHECK_EQ_STR(sentence, "the database says no");
		snprintf(path, sizeof(path), "%s/" MEMORY_COPY_FILE, directory);
		CHECK(unlink(path) == 0 && rmdir(directory) == 0);
	}
}

int main(void)
{
	json_set_alloc_funcs(malloc, free); /* those that fail */
	CHECK_RUN(test_head);
	CHECK_RUN(test_refused);
	CHECK_RUN(test_memory_copy);
	CHECK_RUN(test_database_fails);
	return check_done();
}
