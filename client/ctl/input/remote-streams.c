/* The API gives a stream at a time, and streams are merged from files: each is downloaded to a file without a name first. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ctl.h"
#include "download.h"
#include "output.h"
#include "remote-streams.h"
#include "scope.h"
#include "spool.h"

/* The streams of the run that S names, else of the newest, or of the capture; lent by JSON.  *RUN is which, or -1. */
static const json_t *streams_of(const json_t *json, const struct target *t, const struct selection *s, int64_t *run)
{
	const json_t *list = json_object_get(json, "run_list"), *one;
	size_t i;

	*run = -1;
	if (t->kind == TARGET_CAPTURE)
		return json_object_get(json, "streams");
	*run = s->run ? strtoll(s->run, NULL, 10) : json_integer_value(json_object_get(json, "run"));
	json_array_foreach(list, i, one)
	{
		if (json_integer_value(json_object_get(one, "run")) == *run)
			return json_object_get(one, "streams");
	}
	return s->run ? NULL : json_object_get(json, "streams");
}

static int to_file(void *data, const uint8_t *bytes, size_t len)
{
	return output_write(data, bytes, len);
}

static int start_over(void *data)
{
	return output_start_over(data);
}

static int fetch(struct lanes *l, struct http *h, const char *path, const char *name)
{
	SCOPED(closep) int fd = spool_file();
	struct output out = {.fd = fd};
	SCOPED(download_deinit) struct download d = {.write = to_file, .start_over = start_over, .data = &out};
	int r;

	if (fd < 0)
		return fd;
	r = download_run(&d, h, path);
	if (r)
		return d.refused ? d.refused : r;
	r = lanes_add(l, name, fd);
	fd = -1; /* theirs in any case */
	return r;
}

static int fetch_stream(struct lanes *l, struct http *h, const struct target *t, const struct selection *s, int64_t run,
			const json_t *stream)
{
	int64_t number = json_integer_value(json_object_get(stream, "stream"));
	const char *name = json_string_value(json_object_get(stream, "name"));
	char number_text[24], run_text[24], otherwise[40];
	struct selection one = {.last = s->last, .stream = number_text, .run = run >= 0 ? run_text : NULL};
	SCOPED(freep) char *path = NULL;

	snprintf(number_text, sizeof(number_text), "%" PRId64, number);
	snprintf(run_text, sizeof(run_text), "%" PRId64, run);
	snprintf(otherwise, sizeof(otherwise), "stream %" PRId64, number);
	path = target_path(t, h, "trace", &one);
	return path ? fetch(l, h, path, name && *name ? name : otherwise) : -ENOMEM;
}

int remote_streams(struct lanes *l, struct http *h, const struct target *t, const struct selection *s)
{
	const json_t *streams, *stream;
	json_t *json = NULL;
	int64_t run = -1;
	size_t i;
	int r = target_json(t, h, &json);

	streams = r ? NULL : streams_of(json, t, s, &run);
	if (json_array_size(streams) > 1) {
		json_array_foreach(streams, i, stream)
		{
			r = r ? r : fetch_stream(l, h, t, s, run, stream);
		}
	}
	json_decref(json);
	return r;
}
