/*
 * This file writes and reads the file beside a fetched trace. Anybody can have written the file, so
 * its size, its form and each value are checked before any is used.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <curl/curl.h>
#include <jansson.h>

#include "api.h"
#include "array.h"
#include "cleanup.h"
#include "clock-file.h"
#include "ctl.h"
#include "json.h"
#include "wall-time.h"

#define VERSION	      1
#define BYTES_MAX     (64u << 10)
#define NUMBER_DIGITS 20u

/* ---- writing */

static json_t *number_json(const char *digits)
{
	return digits ? json_integer(strtoll(digits, NULL, 10)) : json_null();
}

static json_t *time_json(bool known, int64_t ns)
{
	struct wall_zone utc = {.utc = true};
	char text[WALL_TEXT_MAX];

	if (!known)
		return json_null();
	wall_text(&utc, ns, true, text);
	return json_string(text);
}

char *clock_file_text(const struct clock_file *f)
{
	const struct clock_offset *c = &f->offset;
	int64_t fetched = f->fetched ? curl_getdate(f->fetched, NULL) : -1;
	CLEANUP(json_decrefp)
	json_t *json = json_pack(
		"{si so so so sI so so sb so so}", "version", VERSION, "guest", text_json(f->guest, strlen(f->guest)),
		"run", number_json(f->run), "stream", number_json(f->stream), "bytes", (json_int_t)f->bytes,
		"offset_ns", c->known ? json_sprintf("%" PRId64, c->ns) : json_null(), "uncertainty_ns",
		c->known && c->uncertainty_ns != UINT64_MAX ? json_sprintf("%" PRIu64, c->uncertainty_ns) : json_null(),
		"stepped", (int)c->stepped, "copied", time_json(c->ends, c->end_ns), "fetched",
		time_json(fetched >= 0 && fetched < INT64_MAX / 1000000000, fetched * 1000000000));

	return json_text(json, JSON_INDENT(2));
}

/* ---- reading */

/*
 * Parse a string of decimal digits into *SIZE; with NEGATIVE a minus sign may be in front, which
 * sets *MINUS. Return false if JSON is none, or larger than MOST.
 */
static bool take_number(const json_t *json, bool negative, uint64_t most, uint64_t *size, bool *minus)
{
	const char *text = json_string_value(json);
	char *end;

	if (!text)
		return false;
	*minus = negative && *text == '-';
	text += *minus;
	if (text[0] < '0' || text[0] > '9' || strlen(text) > NUMBER_DIGITS)
		return false;
	errno = 0;
	*size = strtoull(text, &end, 10);
	return !errno && !*end && *size <= most;
}

static bool take_offset(const json_t *json, struct clock_offset *c)
{
	const json_t *uncertainty = json_object_get(json, "uncertainty_ns");
	uint64_t size;
	bool minus;

	if (!take_number(json_object_get(json, "offset_ns"), true, INT64_MAX, &size, &minus))
		return false;
	c->ns = minus ? -(int64_t)size : (int64_t)size;
	c->uncertainty_ns = UINT64_MAX;
	return json_is_null(uncertainty) || take_number(uncertainty, false, INT64_MAX, &c->uncertainty_ns, &minus);
}

static bool take_end(const json_t *json, struct clock_offset *c)
{
	const json_t *copied = json_object_get(json, "copied");
	uint64_t ns;

	if (json_is_null(copied))
		return true;
	c->ends = api_real(copied, &ns) && ns <= INT64_MAX;
	c->end_ns = c->ends ? (int64_t)ns : 0;
	return c->ends;
}

/*
 * Take the offset from JSON. BYTES is the size of the trace, 0 = unknown. Return NULL, or what is
 * wrong.
 */
static const char *take(const json_t *json, uint64_t bytes, struct clock_offset *c)
{
	const json_t *size = json_object_get(json, "bytes");

	if (!json_is_object(json))
		return "it is not a JSON object";
	if (json_integer_value(json_object_get(json, "version")) != VERSION)
		return "it is of another version";
	if (!json_is_integer(size) || !json_is_boolean(json_object_get(json, "stepped")))
		return "a member is missing";
	if (bytes && (uint64_t)json_integer_value(size) != bytes)
		return "it belongs to a trace of another size";
	if (json_is_null(json_object_get(json, "offset_ns"))) {
		c->missing = CLOCK_MISSING_FETCHED;
		return NULL;
	}
	if (!take_offset(json, c) || !take_end(json, c))
		return "a time in it is invalid";
	c->stepped = json_is_true(json_object_get(json, "stepped"));
	c->known = true;
	return NULL;
}

/* Return the path of the file beside TRACE without the last STRIP characters of its name. */
static char *path_beside(const char *trace, size_t strip)
{
	size_t n = strlen(trace) - strip;
	char *path;

	while (n > 1 && trace[n - 1] == '/') /* a directory */
		n--;
	return asprintf(&path, "%.*s" CLOCK_FILE_SUFFIX, (int)n, trace) < 0 ? NULL : path;
}

/* Open the file beside TRACE. Set *PATH to its path. Return a descriptor, -ENOENT or -ENOMEM. */
static int open_beside(const char *trace, char **path)
{
	static const char *const suffixes[] = {"", ".gz", ".xz", ".zst"};
	size_t n = strlen(trace), strip;
	int fd;

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		strip = strlen(suffixes[i]);
		if (strip >= n || strcmp(trace + n - strip, suffixes[i]) != 0)
			continue;
		free(*path);
		*path = path_beside(trace, strip);
		if (!*path)
			return -ENOMEM;
		/* A pipe must not make mprofctl wait. */
		fd = open(*path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (fd >= 0)
			return fd;
	}
	return -ENOENT;
}

/* Read the file FD. Return its JSON, or NULL and set *WRONG. */
static json_t *read_json(int fd, const char **wrong)
{
	CLEANUP(freep) char *text = malloc(BYTES_MAX + 1);
	struct stat st;
	size_t used = 0;
	ssize_t n = 1;
	json_t *json;

	*wrong = "there is no memory for it";
	if (!text)
		return NULL;
	*wrong = "it is not a regular file";
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return NULL;
	while (n > 0 && used <= BYTES_MAX) {
		n = read(fd, text + used, BYTES_MAX + 1 - used);
		used += n > 0 ? (size_t)n : 0;
	}
	*wrong = n < 0 ? "it cannot be read" : "it is too large";
	if (n < 0 || used > BYTES_MAX)
		return NULL;
	json = json_loadb(text, used, JSON_REJECT_DUPLICATES, NULL);
	*wrong = "it is not a JSON object";
	return json;
}

int clock_file_read(struct clock_offset *c, const char *trace, uint64_t bytes)
{
	CLEANUP(freep) char *path = NULL;
	CLEANUP(closep) int fd = open_beside(trace, &path);
	CLEANUP(json_decrefp) json_t *json = NULL;
	struct clock_offset taken = {0};
	const char *wrong;

	*c = (struct clock_offset){.missing = CLOCK_MISSING_FILE};
	if (fd < 0)
		return fd == -ENOMEM ? say_memory() : CTL_OK;
	json = read_json(fd, &wrong);
	if (json)
		wrong = take(json, bytes, &taken);
	if (!wrong) {
		*c = taken;
		return CTL_OK;
	}
	say("%s cannot be used: %s", path, wrong);
	c->missing = CLOCK_MISSING_REFUSED;
	return CTL_OK;
}
