/* Threads by what their labels say. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene-state.h"

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* A text that is searched for, and of each of its beginnings the longest one that ends it. */
struct needle {
	char *text;
	uint32_t *borders;
	size_t bytes;
};

static bool needle_init(struct needle *n, const char *text, size_t bytes)
{
	size_t i, k = 0;

	*n = (struct needle){malloc(bytes + 1), malloc((bytes + 1) * sizeof(*n->borders)), bytes};
	if (!n->text || !n->borders)
		return false;
	for (i = 0; i < bytes; i++) {
		n->text[i] = lower(text[i]);
		while (i && k && n->text[k] != n->text[i])
			k = n->borders[k - 1];
		k += i && n->text[k] == n->text[i];
		n->borders[i] = (uint32_t)k;
	}
	return true;
}

static void needle_deinit(struct needle *n)
{
	free(n->text);
	free(n->borders);
}

static bool matches(const struct needle *n, const char *text, size_t bytes)
{
	size_t i, k = 0;

	for (i = 0; i < bytes && k < n->bytes; i++) {
		char c = lower(text[i]);

		while (k && n->text[k] != c)
			k = n->borders[k - 1];
		k += n->text[k] == c;
	}
	return k == n->bytes;
}

struct search {
	const struct mprof_model_view *v;
	struct needle needle;
	uint8_t *strings; /* of each: does it match? */
	uint64_t *when;	  /* of each thread: its first match, UINT64_MAX for none */
};

static void see(struct search *s, uint32_t thread, uint64_t time)
{
	if (time < s->when[thread])
		s->when[thread] = time;
}

static void search_labels(struct search *s)
{
	const struct mprof_model_view *v = s->v;
	char text[128];
	uint32_t i;

	for (i = 0; i < v->n_strings; i++)
		s->strings[i] = matches(&s->needle, v->strings[i].bytes ? v->text + v->strings[i].offset : "",
					v->strings[i].bytes);
	for (i = 0; i < v->n_labels; i++) {
		const struct mprof_label *label = &v->labels[i];
		size_t bytes = label->sample != MPROF_NONE && !s->strings[label->text]
				       ? mprof_label_text(v, i, text, sizeof(text))
				       : 0;

		if (s->strings[label->text] || (bytes && matches(&s->needle, text, strnlen(text, sizeof(text)))))
			see(s, label->thread, label->time);
	}
}

static void search_threads(struct search *s)
{
	const struct mprof_thread *t = s->v->threads;
	char text[24];
	uint32_t i;

	for (i = 0; i < s->v->n_threads; i++) {
		if (t[i].failure != MPROF_NONE && s->strings[t[i].failure])
			see(s, i, t[i].end);
		snprintf(text, sizeof(text), "%" PRId64, t[i].id);
		if (matches(&s->needle, text, strlen(text)))
			see(s, i, t[i].start);
		if (t[i].flags & MPROF_THREAD_ROOT)
			s->when[i] = UINT64_MAX;
	}
}

static uint32_t group_of(const void *data, uint32_t item)
{
	return ((const struct search *)data)->when[item] == UINT64_MAX ? UINT32_MAX : 0;
}

static uint64_t time_of(const void *data, uint32_t item)
{
	return ((const struct search *)data)->when[item];
}

static bool run(struct search *s, struct scene_groups *found, const char *text, size_t bytes)
{
	s->strings = calloc((size_t)s->v->n_strings + 1, 1);
	s->when = malloc(((size_t)s->v->n_threads + 1) * sizeof(*s->when));
	if (!needle_init(&s->needle, text, bytes) || !s->strings || !s->when)
		return false;
	memset(s->when, 0xff, s->v->n_threads * sizeof(*s->when));
	if (bytes) {
		search_labels(s);
		search_threads(s);
	}
	return scene_group(found, &(struct scene_source){s, s->v->n_threads, 1, group_of, time_of});
}

enum mprof_status mprof_scene_find(struct mprof_scene *s, const char *text, size_t bytes, const uint32_t **threads,
				   uint32_t *n)
{
	struct search search = {.v = s->view};
	struct scene_groups found = {0};
	bool ok = bytes < UINT32_MAX && run(&search, &found, text, bytes);

	needle_deinit(&search.needle);
	free(search.strings);
	free(search.when);
	free(found.starts);
	free(s->found);
	s->found = found.items;
	*threads = s->found;
	*n = found.n;
	return ok ? MPROF_OK : MPROF_NOMEM;
}
