/* mprof-annotate: parse the arguments, and run the annotator or, in a process of its own, a reader. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "annotator.h"
#include "log.h"
#include "mprof-annotate-options.h"
#include "quantity.h"

/* End at once: the hub hands out again what was not stored. */
static void on_end(int signal)
{
	(void)signal;
	_exit(0);
}

/* Read the texts of OPTIONS into *A. Return false with a sentence on stderr. */
static bool take_values(const struct program_options *options, struct annotator_options *a)
{
	uint64_t n;

	*a = (struct annotator_options){.connection = options->fleet, .work = options->work};
	if (!*a->connection) {
		fputs("mprof-annotate: no hub is named: give --fleet CONNECTION\n", stderr);
		return false;
	}
	if (!quantity_bytes(options->most, &a->most) || a->most < KIB || a->most > 64 * GIB) {
		fprintf(stderr, "mprof-annotate: --most %s is no size of 1KB to 64GB\n", options->most);
		return false;
	}
	if (!quantity_bytes(options->memory, &a->limits.memory) || a->limits.memory < 64 * MIB ||
	    a->limits.memory > 1024 * GIB) {
		fprintf(stderr, "mprof-annotate: --memory %s is no size of 64MB to 1024GB\n", options->memory);
		return false;
	}
	if (!quantity_whole(options->seconds, 600, &n) || n == 0) {
		fprintf(stderr, "mprof-annotate: --seconds %s is no whole number of 1 to 600\n", options->seconds);
		return false;
	}
	a->limits.seconds = (unsigned)n;
	a->limits.wall_seconds = 2 * a->limits.seconds;
	return true;
}

int main(int argc, char **argv)
{
	struct program_options options = {
		.fleet = "", .work = "/var/cache/mprof-annotate", .most = "256MB", .memory = "2GB", .seconds = "30"};
	struct annotator_options with;
	char sentence[512];
	int r;

	if (argc == 4 && strcmp(argv[1], READER_WORD) == 0)
		return reader_process_be(argv[2], argv[3]);
	r = program_options_take(&options, VERSION, argc, argv);
	if (r >= 0)
		return r;
	if (!take_values(&options, &with))
		return 2;
	log_init("mprof-annotate");
	signal(SIGTERM, on_end);
	signal(SIGINT, on_end);
	signal(SIGPIPE, SIG_IGN);
	r = annotator_run(&with, sentence, sizeof(sentence));
	log_error("%s", sentence);
	return r;
}
