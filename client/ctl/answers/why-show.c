/* The sentences are libmprof's; what there is one of for the whole trace is said here. */
#include <stdio.h>

#include "ctl.h"
#include "table.h"
#include "why-show.h"
#include "words.h"

static void put_tale(const struct mprof_explanation *tale)
{
	const char *text = mprof_explanation_text(tale);
	const struct mprof_explanation_piece *pieces;
	uint32_t i, n, line = 0;

	pieces = mprof_explanation_pieces(tale, &n);
	for (i = 0; i < n; i++) {
		if (pieces[i].line != line)
			putchar('\n');
		line = pieces[i].line;
		fwrite(text + pieces[i].offset, 1, pieces[i].bytes, stdout);
	}
	putchar('\n');
}

static void show_notes(const json_t *json, uint32_t answers)
{
	json_int_t marked = words_count(json, "should_resolve");

	if (words_count(json, "left_out"))
		printf("note: %" JSON_INTEGER_FORMAT " more threads are left out\n", words_count(json, "left_out"));
	if (!answers && !marked)
		puts("no thread is marked as one that should resolve; name one to ask for it");
	else if (!answers)
		printf("all threads that should resolve did, %" JSON_INTEGER_FORMAT " of them\n", marked);
}

int why_show(const json_t *json, struct mprof_explanation *tale, const uint32_t *threads, uint32_t n, uint32_t streams)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (mprof_explanation_why(tale, threads[i]) != MPROF_OK)
			return say_memory();
		put_tale(tale);
		putchar('\n');
	}
	show_notes(json, n);
	for (i = 0; i < streams; i++) {
		if (mprof_explanation_last(tale, i) != MPROF_OK)
			return say_memory();
		put_tale(tale);
	}
	if (words_count(json, "lost_packets"))
		printf("note: %" JSON_INTEGER_FORMAT
		       " packets are missing; what was signalled or resolved there is not known\n",
		       words_count(json, "lost_packets"));
	return stdout_verdict();
}
