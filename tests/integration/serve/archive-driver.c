/*
 * archive-driver: run the archive's writer by the commands of a test. Each line of standard input
 * is a command. When the command is done, the program prints "ok" or "error N".
 *
 *  begin | commit | level N
 *  age SECONDS (the copy times of all later chunks are this long ago; -SECONDS: this long ahead)
 *  run ID SOURCE KEY NAME UUID|- DOMID STATE REASON|-
 *  stream ID RUN NUMBER RING_BYTES RING_PACKETS FLAGS [NAME]
 *  piece STREAM SEQUENCE OFFSET FLAGS ROOM TIMESTAMP END[,END…]|- HEX|-
 *  gap STREAM KIND REASON AFTER_SEQUENCE AFTER_OFFSET NEXT_SEQUENCE PACKETS AT_LEAST
 *  capture ID RUN KIND [NOTE|- [CONTEXT in hex|- [TIME in ns]]] (a second time: adds the context)
 *  range CAPTURE STREAM FIRST LAST OFFSET
 *  tail CAPTURE STREAM SEQUENCE OFFSET ROOM TIMESTAMP HEX
 *  patch ID PINNED NOTE|- | delete ID | enforce NAME BYTES
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "writer.h"

#define WORDS_MAX 12
#define ENDS_MAX  4096

struct line {
	char *words[WORDS_MAX];
	size_t n;
};

static uint64_t number(const struct line *l, size_t i)
{
	return i < l->n ? strtoull(l->words[i], NULL, 10) : 0;
}

static const char *word(const struct line *l, size_t i)
{
	return i < l->n && strcmp(l->words[i], "-") != 0 ? l->words[i] : NULL;
}

static unsigned digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static uint8_t *unhex(const char *hex, size_t *bytes)
{
	size_t n = strlen(hex) / 2;
	uint8_t *out = malloc(n + 1);

	for (*bytes = 0; out && *bytes < n; (*bytes)++)
		out[*bytes] = (uint8_t)(digit(hex[2 * *bytes]) << 4 | digit(hex[2 * *bytes + 1]));
	return out;
}

static uint64_t age;

static size_t parse_ends(const char *text, struct archive_end *ends)
{
	struct moment now = moment_now();
	size_t n = 0;
	char *next;

	while (text && *text && n < ENDS_MAX) {
		ends[n++] = (struct archive_end){(uint32_t)strtoul(text, &next, 10), now.mono - age, now.real - age};
		text = *next == ',' ? next + 1 : NULL;
	}
	return n;
}

static int put_piece(struct archive_writer *w, const struct line *l, int64_t capture, size_t at)
{
	static struct archive_end ends[ENDS_MAX];
	struct archive_piece p = {
		.stream = (int64_t)number(l, at), .sequence = number(l, at + 1), .offset = (uint32_t)number(l, at + 2)};
	const char *hex;
	uint8_t *data;
	size_t bytes;
	int rc;

	at += 3;
	if (!capture)
		p.flags = (uint32_t)number(l, at++);
	p.packet_bytes = (uint32_t)number(l, at);
	p.first_timestamp = number(l, at + 1);
	at += 2;
	if (!capture) {
		p.ends = ends;
		p.n_ends = parse_ends(word(l, at++), ends);
	}
	hex = word(l, at);
	data = unhex(hex ? hex : "", &bytes);
	p.data = data;
	p.length = (uint32_t)bytes;
	rc = capture ? archive_writer_tail(w, capture, &p) : archive_writer_append(w, &p);
	free(data);
	return rc;
}

static int put_gap(struct archive_writer *w, const struct line *l)
{
	struct moment now = moment_now();
	struct archive_gap g = {.stream = (int64_t)number(l, 1),
				.kind = word(l, 2),
				.reason = word(l, 3),
				.after_sequence = number(l, 4),
				.after_offset = (uint32_t)number(l, 5),
				.next_sequence = number(l, 6),
				.packets = number(l, 7),
				.at_least = number(l, 8) != 0,
				.real = now.real,
				.mono = now.mono};

	return archive_writer_gap(w, &g);
}

static int put_run(struct archive_writer *w, const struct line *l)
{
	struct archive_run run = {.id = (int64_t)number(l, 1),
				  .source = word(l, 2),
				  .key = word(l, 3),
				  .name = word(l, 4),
				  .uuid = word(l, 5),
				  .domid = word(l, 6) && *word(l, 6) != '-' ? (int64_t)number(l, 6) : -1,
				  .state = word(l, 7),
				  .began_real = clock_real(),
				  .reason = word(l, 8)};

	if (!run.state)
		run.state = "running";
	run.ended_real = strcmp(run.state, "ended") == 0 ? clock_real() : 0;
	return archive_writer_put_run(w, &run);
}

static int put_stream(struct archive_writer *w, const struct line *l)
{
	struct archive_stream s = {.id = (int64_t)number(l, 1),
				   .run = (int64_t)number(l, 2),
				   .number = (uint32_t)number(l, 3),
				   .ring_bytes = number(l, 4),
				   .ring_packets = (uint32_t)number(l, 5),
				   .flags = (uint32_t)number(l, 6),
				   .name = word(l, 7)};

	return archive_writer_put_stream(w, &s);
}

static int put_capture(struct archive_writer *w, const struct line *l)
{
	struct moment now = moment_now();
	size_t bytes = 0;
	CLEANUP(freep) uint8_t *context = word(l, 5) ? unhex(word(l, 5), &bytes) : NULL;
	struct archive_capture c = {.id = (int64_t)number(l, 1),
				    .run = (int64_t)number(l, 2),
				    .kind = word(l, 3),
				    .real = word(l, 6) ? number(l, 6) : now.real,
				    .mono = now.mono,
				    .note = word(l, 4),
				    .context = (const char *)context};

	if (context)
		context[bytes] = '\0';
	return archive_writer_put_capture(w, &c);
}

static int put_range(struct archive_writer *w, const struct line *l)
{
	struct archive_capture_stream r = {.capture = (int64_t)number(l, 1),
					   .stream = (int64_t)number(l, 2),
					   .first_sequence = number(l, 3),
					   .last_sequence = number(l, 4),
					   .last_offset = (uint32_t)number(l, 5)};

	return archive_writer_put_capture_stream(w, &r);
}

static int enforce(struct archive_writer *w, const struct line *l)
{
	bool more = true;
	int rc = 0;

	while (rc == 0 && more)
		rc = archive_writer_enforce(w, word(l, 1), number(l, 2), 0, 1000, &more);
	return rc;
}

static int run_line(struct archive_writer *w, const struct line *l)
{
	const char *verb = l->words[0];

	if (strcmp(verb, "begin") == 0)
		return archive_writer_begin(w);
	if (strcmp(verb, "commit") == 0)
		return archive_writer_commit(w);
	if (strcmp(verb, "level") == 0)
		return archive_writer_level(w, (int)number(l, 1)), 0;
	if (strcmp(verb, "age") == 0)
		return age = (uint64_t)strtoll(l->n > 1 ? l->words[1] : "0", NULL, 10) * NS_PER_S, 0;
	if (strcmp(verb, "run") == 0)
		return put_run(w, l);
	if (strcmp(verb, "stream") == 0)
		return put_stream(w, l);
	if (strcmp(verb, "piece") == 0)
		return put_piece(w, l, 0, 1);
	if (strcmp(verb, "tail") == 0)
		return put_piece(w, l, (int64_t)number(l, 1), 2);
	if (strcmp(verb, "gap") == 0)
		return put_gap(w, l);
	if (strcmp(verb, "capture") == 0)
		return put_capture(w, l);
	if (strcmp(verb, "range") == 0)
		return put_range(w, l);
	if (strcmp(verb, "patch") == 0)
		return archive_writer_change_capture(w,
						     &(struct archive_capture_change){.capture = (int64_t)number(l, 1),
										      .pinned = (int)number(l, 2),
										      .note = word(l, 3),
										      .version = -1});
	if (strcmp(verb, "delete") == 0)
		return archive_writer_delete_capture(w, (int64_t)number(l, 1));
	return strcmp(verb, "enforce") == 0 ? enforce(w, l) : -1;
}

int main(int argc, char **argv)
{
	struct archive_options options = {.wal_limit_bytes = 64u << 20, .level = 3};
	CLEANUP(archive_writer_freep) struct archive_writer *w = NULL;
	CLEANUP(freep) char *text = NULL;
	char sentence[256];
	size_t size = 0;

	if (argc != 2 || archive_writer_open(&w, argv[1], &options, sentence, sizeof(sentence)) != 0) {
		fprintf(stderr, "archive-driver: %s\n", argc == 2 ? sentence : "give the state directory");
		return 1;
	}
	puts("ok");
	fflush(stdout);
	while (getline(&text, &size, stdin) > 0) {
		struct line l = {.n = 0};
		char *save = text, *part;
		int rc;

		while (l.n < WORDS_MAX && (part = strsep(&save, " \n")))
			if (*part)
				l.words[l.n++] = part;
		rc = l.n ? run_line(w, &l) : -1;
		if (rc == 0)
			puts("ok");
		else
			printf("error %d\n", rc);
		fflush(stdout);
	}
	return 0;
}
