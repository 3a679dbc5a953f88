/*
 * model-dump: print the model of a trace as JSON lines for model-oracles.py: model-dump [-r] FILE
 *
 * There is one line per thread; the last line has the rest of the model. Times are in ns since the
 * first event, and strings are arrays of bytes. With -r, binds are as recorded, not simplified.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/model.h>

#include "loader.h"

#define PIECE 100000u

struct dump {
	const struct mprof_model_view *v;
	int64_t zero; /* time of the first event, in ns */
};

static void *need(void *p)
{
	if (p)
		return p;
	fprintf(stderr, "model-dump: no memory\n");
	exit(1);
}

static uint8_t *read_all(const char *path, size_t *len)
{
	FILE *file = fopen(path, "rb");
	size_t room = 1 << 20, n;
	uint8_t *bytes = need(malloc(room));

	if (!file) {
		perror(path);
		exit(1);
	}
	for (*len = 0; (n = fread(bytes + *len, 1, room - *len, file)) > 0;) {
		*len += n;
		if (*len == room)
			bytes = need(realloc(bytes, room *= 2));
	}
	fclose(file);
	return bytes;
}

/* Load the trace with the loader, as the viewer does. */
static struct loader *load(const uint8_t *bytes, size_t len, bool simplify)
{
	struct loader *l = need(loader_new(&(struct mprof_model_options){.simplify = simplify}));
	size_t at, n;

	if (loader_stream(l, &(struct mprof_model_source){0}, INPUT_FILE) == MPROF_NONE)
		need(NULL);
	for (at = 0; at < len; at += n) {
		n = len - at < PIECE ? len - at : PIECE;
		memcpy(need(loader_room(l, 0, n)), bytes + at, n);
		if (loader_came(l, 0, n) != MPROF_OK)
			need(NULL);
	}
	if (loader_end(l, 0) != MPROF_OK || loader_finish(l) != MPROF_OK)
		need(NULL);
	return l;
}

static void put_bytes(const char *text, size_t bytes)
{
	size_t i;

	putchar('[');
	for (i = 0; i < bytes; i++)
		printf("%s%d", i ? "," : "", (uint8_t)text[i]);
	putchar(']');
}

static void put_string(const struct dump *d, uint32_t i)
{
	if (i == MPROF_NONE)
		fputs("null", stdout);
	else
		put_bytes(d->v->text + d->v->strings[i].offset, d->v->strings[i].bytes);
}

static void put_time(const struct dump *d, uint64_t time)
{
	printf("%" PRId64, (int64_t)time - d->zero);
}

static void put_label(const struct dump *d, uint32_t i)
{
	size_t bytes = mprof_label_text(d->v, i, NULL, 0);
	char *text = need(malloc(bytes + 1));

	mprof_label_text(d->v, i, text, bytes + 1);
	putchar('[');
	put_time(d, d->v->labels[i].time);
	putchar(',');
	put_bytes(text, bytes);
	putchar(']');
	free(text);
}

static void put_chains(const struct dump *d, const struct mprof_thread *t)
{
	static const char *const kinds[] = {"resolve", "read", "try_read", "signal"};
	uint32_t i;

	printf(",\"creates\":[");
	for (i = t->first_child; i != MPROF_NONE; i = d->v->threads[i].next_sibling)
		printf("%s%" PRId64, i == t->first_child ? "" : ",", d->v->threads[i].id);
	printf("],\"labels\":[");
	for (i = t->first_label; i != MPROF_NONE; i = d->v->labels[i].next) {
		put_label(d, i);
		fputs(d->v->labels[i].next == MPROF_NONE ? "" : ",", stdout);
	}
	printf("],\"interactions\":[");
	for (i = t->first_interaction; i != MPROF_NONE; i = d->v->interactions[i].next) {
		const struct mprof_interaction *a = &d->v->interactions[i];

		putchar('[');
		put_time(d, a->time);
		printf(",\"%s\",%" PRId64 "]%s", kinds[a->kind], d->v->threads[a->other].id,
		       a->next == MPROF_NONE ? "" : ",");
	}
	printf("],\"activations\":[");
	for (i = t->first_activation; i != MPROF_NONE; i = d->v->activations[i].next) {
		putchar('[');
		put_time(d, d->v->activations[i].start);
		putchar(',');
		put_time(d, d->v->activations[i].end);
		fputs(d->v->activations[i].next == MPROF_NONE ? "]" : "],", stdout);
	}
	putchar(']');
}

static void put_thread(const struct dump *d, const struct mprof_thread *t)
{
	printf("{\"tid\":%" PRId64 ",\"type\":\"%s\",\"flags\":%u,\"start\":", t->id, mprof_thread_type_name(t->type),
	       t->flags);
	put_time(d, t->start);
	printf(",\"created\":");
	put_time(d, t->created);
	printf(",\"end\":");
	put_time(d, t->end);
	printf(",\"failure\":");
	put_string(d, t->failure);
	if (t->becomes != MPROF_NONE)
		printf(",\"becomes\":%" PRId64, d->v->threads[t->becomes].id);
	else
		printf(",\"becomes\":null");
	put_chains(d, t);
	if (t->row == MPROF_NONE)
		printf(",\"row\":null}\n");
	else
		printf(",\"row\":%" PRIu32 "}\n", t->row);
}

static void put_counters(const struct dump *d)
{
	const struct mprof_model_view *v = d->v;
	uint32_t i, k;

	printf(",\"counters\":[");
	for (i = 0; i < v->n_counters; i++) {
		const struct mprof_counter *c = &v->counters[i];

		printf("%s{\"name\":", i ? "," : "");
		put_string(d, c->name);
		printf(",\"relative\":%d,\"min\":%" PRId64 ",\"max\":%" PRId64 ",\"scale_min\":%" PRId64
		       ",\"scale_max\":%" PRId64 ",\"values\":[",
		       c->relative, c->min, c->max, v->scales[c->scale].min, v->scales[c->scale].max);
		for (k = c->first; k != MPROF_NONE; k = v->samples[k].next)
			printf("%s%" PRId64, k == c->first ? "" : ",", v->samples[k].value);
		printf("]}");
	}
	putchar(']');
}

static void put_rest(const struct dump *d)
{
	const struct mprof_model_view *v = d->v;
	const struct mprof_model_notes *n = &v->notes;
	uint32_t i;

	printf("{\"rest\":true,\"rows\":%" PRIu32 ",\"end\":", v->rows);
	put_time(d, v->streams[0].end);
	printf(",\"events\":%" PRIu64 ",\"gc\":[", v->streams[0].events);
	for (i = 0; i < v->n_collections; i++) {
		printf("%s[", i ? "," : "");
		put_time(d, v->collections[i].time);
		printf(",%" PRIu64 "]", v->collections[i].duration_ns);
	}
	putchar(']');
	put_counters(d);
	printf(",\"expectations\":[");
	for (i = 0; i < v->n_expectations; i++)
		printf("%s[%" PRId64 ",%" PRId64 "]", i ? "," : "", v->threads[v->expectations[i].thread].id,
		       v->threads[v->expectations[i].final].id);
	printf("],\"notes\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]}\n",
	       n->recreated, n->alias_cycles, n->late, n->backwards, n->refused, n->detached, n->rows_not_first);
}

int main(int argc, char **argv)
{
	bool raw = argc > 1 && !strcmp(argv[1], "-r");
	struct loader *l;
	uint8_t *bytes;
	struct dump d;
	uint32_t i;
	size_t len;

	if (argc != 2 + raw) {
		fprintf(stderr, "usage: model-dump [-r] FILE\n");
		return 2;
	}
	bytes = read_all(argv[1 + raw], &len);
	l = load(bytes, len, !raw);
	free(bytes);
	d.v = mprof_model_view(loader_model(l));
	d.zero = (int64_t)d.v->streams[0].start;
	for (i = 0; i < d.v->n_threads; i++)
		put_thread(&d, &d.v->threads[i]);
	put_rest(&d);
	loader_free(l);
	return 0;
}
