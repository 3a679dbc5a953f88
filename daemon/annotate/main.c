/* mprof-annotate: parse the arguments, and run the annotator or, in a process of its own, a reader. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "annotator.h"
#include "array.h"
#include "daemon-options.h"
#include "log.h"
#include "quantity.h"

static const char help[] =
	"Usage: mprof-annotate --fleet CONNECTION [OPTION]...\n"
	"Read the captures of a fleet's hub, a PostgreSQL database, and store how each of them ended.\n"
	"\n"
	"  --fleet CONNECTION  the hub, in the form that libpq has for connections\n"
	"  --work DIR          make copies of captures there (default: /var/cache/mprof-annotate)\n"
	"  --most BYTES        mark captures whose bodies are larger (default: 256MB)\n"
	"  --memory BYTES      how much memory reading one capture may take (default: 2GB)\n"
	"  --seconds N         how much processor time reading one capture may take (default: 30)\n"
	"  --help              this text\n"
	"  --version           the version\n"
	"\n"
	"Runs in the foreground until SIGTERM.  See mprof-annotate(8).\n";

/* End at once: the hub hands out again what was not stored. */
static void on_end(int signal)
{
	(void)signal;
	_exit(0);
}

/* Take the options' texts into *OPTIONS. Return false with a sentence on stderr. */
static bool take_values(const char *most, const char *memory, const char *seconds, struct annotator_options *options)
{
	uint64_t n;

	if (!*options->connection) {
		fputs("mprof-annotate: no hub is named: give --fleet CONNECTION\n", stderr);
		return false;
	}
	if (!quantity_bytes(most, &options->most) || options->most < KIB || options->most > 64 * GIB) {
		fprintf(stderr, "mprof-annotate: --most %s is no size of 1KB to 64GB\n", most);
		return false;
	}
	if (!quantity_bytes(memory, &options->limits.memory) || options->limits.memory < 64 * MIB ||
	    options->limits.memory > 1024 * GIB) {
		fprintf(stderr, "mprof-annotate: --memory %s is no size of 64MB to 1024GB\n", memory);
		return false;
	}
	if (!quantity_whole(seconds, 600, &n) || n == 0) {
		fprintf(stderr, "mprof-annotate: --seconds %s is no whole number of 1 to 600\n", seconds);
		return false;
	}
	options->limits.seconds = (unsigned)n;
	return true;
}

int main(int argc, char **argv)
{
	struct annotator_options options = {.connection = "", .work = "/var/cache/mprof-annotate"};
	const char *most = "256MB", *memory = "2GB", *seconds = "30";
	const struct option_value values[] = {{"fleet", &options.connection, false},
					      {"work", &options.work, true},
					      {"most", &most, false},
					      {"memory", &memory, false},
					      {"seconds", &seconds, false}};
	char sentence[512];
	int r;

	if (argc == 4 && strcmp(argv[1], READER_WORD) == 0)
		return reader_process_be(argv[2], argv[3]);
	r = options_take("mprof-annotate", VERSION, help, values, ARRAY_SIZE(values), argc, argv);
	if (r >= 0)
		return r;
	if (!take_values(most, memory, seconds, &options))
		return 2;
	log_init("mprof-annotate");
	signal(SIGTERM, on_end);
	signal(SIGINT, on_end);
	signal(SIGPIPE, SIG_IGN);
	r = annotator_run(&options, sentence, sizeof(sentence));
	log_error("%s", sentence);
	return r;
}
