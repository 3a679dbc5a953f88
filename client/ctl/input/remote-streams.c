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

/* The run of a guest that X says; NULL where it is not told. */
static const json_t *run_of(const struct remote *x, const struct selection *s)
{
	const json_t *list = json_object_get(x->json, "run_list"), *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		if (json_integer_value(json_object_get(one, "run")) == x->run)
			return one;
	}
	return s->run ? NULL : x->json;
}

int remote_ask(struct remote *x, struct http *h, const struct target *t, const struct selection *s)
{
	const json_t *of;
	int r;

	*x = (struct remote){.target = t};
	r = target_json(t, h, &x->json);
	if (r)
		return r;
	x->run = s->run ? strtoll(s->run, NULL, 10) : json_integer_value(json_object_get(x->json, "run"));
	of = t->kind == TARGET_CAPTURE ? x->json : run_of(x, s);
	x->streams = json_object_get(of, "streams");
	x->state = json_string_value(json_object_get(of, "state"));
	return CTL_OK;
}

void remote_deinit(struct remote *x)
{
	json_decref(x->json);
	x->json = NULL;
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

static int fetch_stream(struct lanes *l, struct http *h, const struct remote *x, const struct selection *s,
			const json_t *stream)
{
	bool runs = x->target->kind == TARGET_DOMAIN && x->run >= 0;
	int64_t number = json_integer_value(json_object_get(stream, "stream"));
	const char *name = json_string_value(json_object_get(stream, "name"));
	char number_text[24], run_text[24], otherwise[40];
	struct selection one = {.last = s->last, .stream = number_text, .run = runs ? run_text : NULL};
	SCOPED(freep) char *path = NULL;

	snprintf(number_text, sizeof(number_text), "%" PRId64, number);
	snprintf(run_text, sizeof(run_text), "%" PRId64, x->run);
	snprintf(otherwise, sizeof(otherwise), "stream %" PRId64, number);
	path = target_path(x->target, h, "trace", &one);
	return path ? fetch(l, h, path, name && *name ? name : otherwise) : -ENOMEM;
}

int remote_streams(struct lanes *l, struct http *h, const struct remote *x, const struct selection *s)
{
	const json_t *stream;
	size_t i;
	int r = 0;

	json_array_foreach(x->streams, i, stream)
	{
		r = r ? r : fetch_stream(l, h, x, s, stream);
	}
	return r;
}
