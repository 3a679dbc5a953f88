/*
 * The CTF metadata agrees with the event table: the test makes the generated part again and
 * compares.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/event.h>

#include "check.h"

#define MARK_BEGIN "/* <events.def> */\n"
#define MARK_END   "/* </events.def> */\n"

static char made[65536];
static size_t made_bytes;

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(made + made_bytes, sizeof(made) - made_bytes, format, ap);
	va_end(ap);
	if (CHECK(n >= 0 && (size_t)n < sizeof(made) - made_bytes))
		made_bytes += (size_t)n;
}

static void put_event(unsigned id, const char *name, bool context, enum mprof_shape shape, const char *number,
		      const char *text)
{
	put("\nevent {\n\tname = \"%s\";\n\tid = %u;\n", name, id);
	if (context)
		put("\tcontext := struct event_thread;\n");
	if (shape != MPROF_SHAPE_NONE)
		put("\tfields := struct {\n");
	if (*number)
		put("\t\t%s %s;\n", shape == MPROF_SHAPE_DURATION ? "u64" : "i64", number);
	if (shape == MPROF_SHAPE_EXTRA)
		put("\t\tu16 length;\n\t\tenum extra_kind kind;\n\t\tu8 data[length];\n");
	if (shape == MPROF_SHAPE_THREAD_TYPE)
		put("\t\tenum thread_type thread_type;\n");
	if (*text)
		put("\t\tstring %s;\n", text);
	if (shape != MPROF_SHAPE_NONE)
		put("\t};\n");
	put("};\n");
}

static void make(void)
{
	made_bytes = 0;
	put("enum thread_type : u8 {\n");
#define MPROF_THREAD_TYPE(id, name) put("\t\"%s\" = %u,\n", #name, (unsigned)(id));
#include <mprof/events.def>
	put("};\n\nenum extra_kind : u8 {\n");
#define MPROF_EXTRA(id, name, number, text) put("\t\"%s\" = %u,\n", #name, (unsigned)(id));
#include <mprof/events.def>
	put("};\n");
#define MPROF_EVENT(id, name, ctx, key, shape, number, text) \
	put_event(id, #name, ctx, MPROF_SHAPE_##shape, number, text);
#include <mprof/events.def>
}

/* Read the file at PATH as text, at most SIZE - 1 bytes. */
static bool file_read(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "r");
	size_t n;

	if (!CHECK(f != NULL))
		return false;
	n = fread(text, 1, size - 1, f);
	text[n] = 0;
	fclose(f);
	return CHECK(n > 0 && n < size - 1);
}

static void test_generated_part(void)
{
	static char text[sizeof(made)];
	char *begin, *end;

	make();
	if (!file_read(METADATA, text, sizeof(text)))
		return;
	begin = strstr(text, MARK_BEGIN);
	end = strstr(text, MARK_END);
	if (!CHECK(begin && end && begin < end))
		return;
	*end = 0;
	CHECK_EQ_STR(begin + strlen(MARK_BEGIN), made);
}

/* Constants in the other part agree with schema/mprof. */
static void test_constants(void)
{
	static const uint8_t uuid[16] = MPROF_PACKET_UUID;
	static char text[sizeof(made)];
	char want[64], *at = want;

	if (!file_read(METADATA, text, sizeof(text)))
		return;
	CHECK(strncmp(text, "/* CTF 1.8 */\n", 14) == 0);
	for (unsigned i = 0; i < sizeof(uuid); i++)
		at += sprintf(at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
	CHECK(strstr(text, want) != NULL);
}

/* With --print, print the generated part. */
int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--print") == 0) {
		make();
		fputs(made, stdout);
		return 0;
	}
	CHECK_RUN(test_generated_part);
	CHECK_RUN(test_constants);
	return check_done();
}
