/*
 * libmprof: write JSON as a stream.
 *
 *   struct mprof_json j = {.put = put_to_file, .context = file, .pretty = true};
 *   mprof_json_open(&j, NULL, '{');
 *   mprof_json_time(&j, "end_ns", view->streams[0].end);
 *   mprof_json_close(&j, '}');
 *
 * All answers of the library are written by it. Texts are bytes of any kind: what is not UTF-8 becomes the replacement
 * character, and what could move a cursor or look like another text is escaped. KEY is the member's key, a constant of
 * printable ASCII; NULL in an array and at the outermost level.
 */
#ifndef MPROF_JSON_WRITER_H
#define MPROF_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Most objects and arrays that stand inside of each other. */
#define MPROF_JSON_DEPTH 16u
/* Most bytes of a wall time in JSON, with its quotes. */
#define MPROF_JSON_WALL_MAX 64u
/* Most bytes of a text that SHOWN keeps. */
#define MPROF_JSON_SHOWN_MAX 4096u
/* Number of keys of times that have a wall time; see mprof_json_time(). */
#define MPROF_JSON_TIMES 10u

/* Set the first fields, and zero the others. */
struct mprof_json {
	/* Take N bytes of the output. An error is the caller's to remember. */
	void (*put)(void *context, const char *text, size_t n);
	/*
	 * Write the wall time of NS by CLOCK, a JSON value, to TEXT, which has MPROF_JSON_WALL_MAX bytes, and return its length.
	 * NULL: the output has no wall times.
	 */
	size_t (*wall)(void *clock, uint64_t ns, char *text);
	void *context; /* of PUT */
	void *clock;   /* of WALL; an answer about two traces sets it to that of each */
	bool pretty;   /* each member on a line of its own, indented by two blanks */
	/*
	 * In place of PRETTY, for long lists: each item of the arrays of the outermost object on a line of its own, all else on one line, with
	 * blanks. The outermost object has no objects.
	 */
	bool rows;
	/*
	 * Write texts as a page shows them, with unprintable characters escaped, and cut; and numbers of more than 53 bits, which
	 * JavaScript would round, as strings.
	 */
	bool shown;
	/* Fields of the writer. */
	bool filled; /* the innermost object or array has a member */
	uint32_t depth;
	struct {
		uint32_t has; /* bit I: the object has a time of the key I */
		uint64_t ns[MPROF_JSON_TIMES];
	} times[MPROF_JSON_DEPTH];
};

/* Begin and end an object, BRACKET '{' and '}', or an array, '[' and ']'. */
MPROF_API void mprof_json_open(struct mprof_json *j, const char *key, char bracket);
MPROF_API void mprof_json_close(struct mprof_json *j, char bracket);
/*
 * Begin an object whose key is the N bytes at NAME, with OF and ": " before it if OF is not NULL. A key is written as a text,
 * so two names that are not UTF-8 can give the same key.
 */
MPROF_API void mprof_json_open_named(struct mprof_json *j, const char *of, const char *name, size_t n);

MPROF_API void mprof_json_null(struct mprof_json *j, const char *key);
MPROF_API void mprof_json_boolean(struct mprof_json *j, const char *key, bool value);
MPROF_API void mprof_json_number(struct mprof_json *j, const char *key, int64_t value);
/* Write VALUE with all its digits; null if it is not finite, for which JSON has no number. */
MPROF_API void mprof_json_real(struct mprof_json *j, const char *key, double value);
/* Write the N bytes at TEXT as a string. */
MPROF_API void mprof_json_text(struct mprof_json *j, const char *key, const char *text, size_t n);
/* Write the terminated TEXT as a string, or null if it is NULL. */
MPROF_API void mprof_json_word(struct mprof_json *j, const char *key, const char *text);
/*
 * Write NS as a string of decimal digits, which keeps all 64 bits. If the output has wall times and KEY is `X_ns`, where
 * X is time, start, end, created, since, from, to, first, last or sleeping_from, the object ends with `X_wall`; for
 * `time_ns` with `wall`.
 */
MPROF_API void mprof_json_time(struct mprof_json *j, const char *key, uint64_t ns);

#ifdef __cplusplus
}
#endif

#endif
