/*
 * XenStore values that guests write: values that the contract allows are accepted, and no others.
 */
#include <stdlib.h>

#include "check.h"
#include "value.h"

#define MAX 4u

static bool number(const char *text, uint32_t min, uint32_t max, uint32_t *value)
{
	return value_number(text, strlen(text), min, max, value);
}

static void test_numbers(void)
{
	static const char *const bad[] = {"", " 1", "1 ", "+1", "-1", "01", "00", "1\n", "0x1", "1.", "1e1",
					  "4294967296",
					  /* The last one is 7 if bits above the 64th are lost. */
					  "9999999999", "10000000000", "18446744073709551623"};
	uint32_t value = 7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!number(bad[i], 0, UINT32_MAX, &value));
	CHECK(!value_number("1\0", 2, 0, 9, &value));
	CHECK_EQ_UINT(value, 7);
	CHECK(number("0", 0, 9, &value) && value == 0);
	CHECK(number("4294967295", 0, UINT32_MAX, &value) && value == UINT32_MAX);
	CHECK(value_number("123", 2, 0, 99, &value) && value == 12);
	CHECK(number("1", 1, VALUE_PORT_MAX, &value) && number("131071", 1, VALUE_PORT_MAX, &value));
	CHECK(!number("0", 1, VALUE_PORT_MAX, &value) && !number("131072", 1, VALUE_PORT_MAX, &value));
}

static enum fault refs(const char *text, uint32_t *to, size_t *n)
{
	return value_refs(text, strlen(text), to, MAX, n);
}

static void test_refs(void)
{
	static const char *const bad[] = {"",	 ",",  "8,",  ",8",	    "8,,9", "8, 9",
					  "8;9", "08", "8\n", "4294967296", "8,x,1"};
	uint32_t to[MAX];
	size_t n;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		n = 9;
		CHECK_EQ_INT(refs(bad[i], to, &n), FAULT_GRAMMAR);
		CHECK_EQ_UINT(n, 0);
	}
	CHECK_EQ_INT(refs("7", to, &n), FAULT_REFERENCE);
	CHECK_EQ_INT(refs("8,0", to, &n), FAULT_REFERENCE);
	CHECK_EQ_INT(refs("8,9,10,11,12", to, &n), FAULT_PAGES);
	CHECK_EQ_UINT(n, 0);
	CHECK_EQ_INT(refs("8,9,10,11,12x", to, &n), FAULT_GRAMMAR);
	CHECK_EQ_INT(refs("8", to, &n), FAULT_NONE);
	CHECK(n == 1 && to[0] == 8);
	CHECK_EQ_INT(refs("4294967295,8,900,8", to, &n), FAULT_NONE);
	CHECK(n == 4 && to[0] == UINT32_MAX && to[1] == 8 && to[2] == 900 && to[3] == 8);
}

static void test_labels(void)
{
	char long_label[VALUE_LABEL_MAX + 1], to[4 * VALUE_LABEL_MAX + 1] = "before";

	CHECK(!value_label("", 0, to, sizeof(to)));
	memset(long_label, '\1', sizeof(long_label));
	CHECK(!value_label(long_label, VALUE_LABEL_MAX + 1, to, sizeof(to)));
	CHECK_EQ_STR(to, "before");
	CHECK(value_label(long_label, VALUE_LABEL_MAX, to, sizeof(to)));
	CHECK_EQ_UINT(strlen(to), 4 * VALUE_LABEL_MAX);
	CHECK(!value_label(long_label, VALUE_LABEL_MAX, to, sizeof(to) - 1));
	CHECK(value_label("vcpu \xc3\xa9\0\x1b[31m\xff\\\xe2\x80\xae", 18, to, sizeof(to)));
	CHECK_EQ_STR(to, "vcpu \xc3\xa9\\x00\\x1b[31m\\xff\\\\\\xe2\\x80\\xae");
	/* A character must end inside the label. */
	CHECK(value_label("a\xc3\xa9", 2, to, sizeof(to)));
	CHECK_EQ_STR(to, "a\\xc3");
}

static void test_duplicates(void)
{
	enum { N = 2000 };
	static uint32_t list[N], scratch[N];

	CHECK(!value_duplicates(list, 0, scratch) && !value_duplicates(list, 1, scratch));
	for (uint32_t i = 0; i < N; i++)
		list[i] = 8 + i * 7919u % N;
	CHECK(!value_duplicates(list, N, scratch));
	list[N - 1] = list[3];
	CHECK(value_duplicates(list, N, scratch));
	CHECK(!value_duplicates(list, N - 1, scratch));
	for (uint32_t i = 0; i < N; i++)
		list[i] = 100 + i;
	CHECK(!value_duplicates(list, N, scratch));
	list[500] = list[499];
	CHECK(value_duplicates(list, N, scratch));
	list[0] = list[1] = UINT32_MAX;
	CHECK(value_duplicates(list, 2, scratch));
}

/* Each fault has a label for a metric, which no other fault has, and a sentence for people. */
static void test_faults(void)
{
	for (int i = 0; i < FAULT_MAX; i++) {
		const char *name = fault_name((enum fault)i);

		CHECK(name[0] && strspn(name, "abcdefghijklmnopqrstuvwxyz-") == strlen(name));
		CHECK(fault_sentence((enum fault)i)[0]);
		for (int k = 0; k < i; k++)
			CHECK(strcmp(name, fault_name((enum fault)k)) != 0);
	}
}

int main(void)
{
	CHECK_RUN(test_numbers);
	CHECK_RUN(test_refs);
	CHECK_RUN(test_labels);
	CHECK_RUN(test_duplicates);
	CHECK_RUN(test_faults);
	return check_done();
}
