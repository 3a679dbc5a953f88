/*
 * Packets are made anew of the events: what was packed, wrapped, damaged or an old log is then what a page can read, and only the period that was
 * asked for is in it.  Times stay as they are, since the viewer's decoder, unlike others, takes them in any order.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "html-part.h"
#include "spool.h"

#define NOTES_MAX 100u

static int add_stream(struct html_part *p)
{
	int fd = spool_file(), r;

	if (fd < 0) {
		say("cannot write a file aside: %s; TMPDIR says where", strerror(-fd));
		p->told = true;
		return fd;
	}
	r = ctf_stream_init(&p->streams[p->n++], fd);
	p->streams[p->n - 1].verbatim = true;
	return r;
}

static int part_streams(void *data, char *const *names, unsigned int count)
{
	struct html_part *p = data;
	unsigned int i;
	int r = 0;

	p->streams = calloc(count, sizeof(*p->streams));
	p->names = names ? calloc(count, sizeof(*p->names)) : NULL;
	p->tails = malloc(count * sizeof(*p->tails));
	if (!p->streams || (names && !p->names) || !p->tails)
		return -ENOMEM;
	memset(p->tails, 0xff, count * sizeof(*p->tails));
	for (i = 0; i < count && !r; i++) {
		r = add_stream(p);
		if (!r && names && !(p->names[i] = strdup(names[i])))
			r = -ENOMEM;
	}
	return r;
}

/* Where there is one stream nobody names it. */
static int reserve(struct html_part *p)
{
	return p->streams ? 0 : part_streams(p, NULL, 1);
}

/* So much is aside already. */
static uint64_t bytes_aside(const struct html_part *p)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < p->n; i++) {
		off_t at = lseek(p->streams[i].fd, 0, SEEK_CUR);

		sum += at > 0 ? (uint64_t)at : 0;
	}
	return sum;
}

static int part_events(void *data, unsigned int stream, const struct mprof_event *events, size_t n)
{
	struct html_part *p = data;
	int r = reserve(p);
	size_t i;

	for (i = 0; i < n && !r; i++)
		r = ctf_stream_event(&p->streams[stream], &events[i].raw);
	if (r || bytes_aside(p) <= HTML_BYTES_MAX)
		return r;
	say("%s is longer than the %llu MiB that one page can hold: take a part of it with --from and --to, or, of a "
	    "guest, --last; or open it in the viewer of mprofd-http, which loads what it shows",
	    p->name, HTML_BYTES_MAX >> 20);
	p->told = true;
	return -EFBIG;
}

static int part_gap(void *data, unsigned int stream, uint64_t packets)
{
	struct html_part *p = data;
	int r = reserve(p);

	return r ? r : ctf_stream_gap(&p->streams[stream], packets);
}

/* The damage does not go along, but what was said of it does. */
static int part_damage(void *data, unsigned int stream, const struct mprof_damage *damage)
{
	struct html_part *p = data;
	char sentence[256];
	int r = reserve(p);

	(void)stream;
	if (r || p->damages++ >= NOTES_MAX)
		return r;
	mprof_damage_text(damage, sentence, sizeof(sentence));
	return json_array_append_new(p->notes, json_sprintf("Damage: %s.", sentence)) ? -ENOMEM : 0;
}

static int part_tail(void *data, unsigned int stream, uint64_t from_ns)
{
	struct html_part *p = data;
	int r = reserve(p);

	if (!r && stream < p->n)
		p->tails[stream] = from_ns;
	return r;
}

bool html_part_init(struct html_part *p, const char *name)
{
	*p = (struct html_part){
		.sink = {.streams = part_streams,
			 .events = part_events,
			 .gap = part_gap,
			 .damage = part_damage,
			 .tail = part_tail,
			 .data = p},
		.name = name,
		.notes = json_array(),
	};
	return p->notes != NULL;
}

void html_part_deinit(struct html_part *p)
{
	unsigned int i;

	for (i = 0; i < p->n; i++) {
		ctf_stream_deinit(&p->streams[i]);
		if (p->names)
			free(p->names[i]);
	}
	free(p->streams);
	free(p->names);
	free(p->tails);
	json_decref(p->notes);
	*p = (struct html_part){0};
}

int html_part_finish(struct html_part *p)
{
	unsigned int i;
	int r = reserve(p);

	for (i = 0; i < p->n && !r; i++)
		r = ctf_stream_end(&p->streams[i]);
	if (!r && p->damages > NOTES_MAX)
		r = json_array_append_new(p->notes, json_string("Further damage is not listed.")) ? -ENOMEM : 0;
	return r;
}
