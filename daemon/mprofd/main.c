/* mprofd: arguments, the configuration, and the collector. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector.h"
#include "fsck.h"
#include "log.h"
#include "options.h"

static const char help[] =
	"Usage: mprofd [OPTION]...\n"
	"Copy the trace rings of guests into an archive, as they are written.\n"
	"\n"
	"  --source xen|dir:PATH  where guests are found: this dom0's, or ring files in a directory (default: xen)\n"
	"  --state DIR            where the archive is (default: /var/lib/mprofd)\n"
	"  --run DIR              where the control socket is (default: /run/mprofd)\n"
	"  --config FILE          the configuration (default: /etc/mprofd/mprofd.conf, and FILE.d/*.conf)\n"
	"  --fsck                 check both archives, save what is whole, and end; mprofd and mprofd-sink must not "
	"run\n"
	"  --help                 this text\n"
	"  --version              the version\n"
	"\n"
	"Runs in the foreground until SIGTERM.  See mprofd(8) and mprofd.conf(5).\n";

enum option_code {
	OPTION_SOURCE = 1,
	OPTION_STATE,
	OPTION_RUN,
	OPTION_CONFIG,
	OPTION_FSCK,
	OPTION_HELP,
	OPTION_VERSION
};

static const struct option options[] = {
	{"source", required_argument, NULL, OPTION_SOURCE}, {"state", required_argument, NULL, OPTION_STATE},
	{"run", required_argument, NULL, OPTION_RUN},	    {"config", required_argument, NULL, OPTION_CONFIG},
	{"fsck", no_argument, NULL, OPTION_FSCK},	    {"help", no_argument, NULL, OPTION_HELP},
	{"version", no_argument, NULL, OPTION_VERSION},	    {NULL, 0, NULL, 0},
};

struct arguments {
	struct collector_options collector;
	const char *config;
	bool fsck;
	int exit_code; /* -1: go on */
};

static void arguments_parse(struct arguments *a, int argc, char **argv)
{
	*a = (struct arguments){
		.collector = {.source = NULL, .state = "/var/lib/mprofd", .run = "/run/mprofd"},
		.exit_code = -1,
	};
	for (;;) {
		switch (getopt_long(argc, argv, "", options, NULL)) {
		case OPTION_SOURCE:
			if (a->collector.source) {
				fprintf(stderr,
					"mprofd: --source %s: one source was named before, and there is only one\n",
					optarg);
				a->exit_code = 2;
				return;
			}
			a->collector.source = optarg;
			break;
		case OPTION_STATE:
			a->collector.state = optarg;
			break;
		case OPTION_RUN:
			a->collector.run = optarg;
			break;
		case OPTION_CONFIG:
			a->config = optarg;
			break;
		case OPTION_FSCK:
			a->fsck = true;
			break;
		case OPTION_HELP:
			fputs(help, stdout);
			a->exit_code = 0;
			return;
		case OPTION_VERSION:
			puts("mprofd " VERSION);
			a->exit_code = 0;
			return;
		case -1:
			if (optind == argc) {
				if (!option_directory("mprofd", "--state", a->collector.state) ||
				    !option_directory("mprofd", "--run", a->collector.run))
					a->exit_code = 2;
				return;
			}
			fprintf(stderr, "mprofd: %s: it takes options only; see mprofd --help\n", argv[optind]);
			a->exit_code = 2;
			return;
		default:
			fprintf(stderr, "mprofd: see mprofd --help\n");
			a->exit_code = 2;
			return;
		}
	}
}

int main(int argc, char **argv)
{
	struct arguments arguments;
	struct collector collector;
	struct config config;
	char sentence[512];
	int r;

	arguments_parse(&arguments, argc, argv);
	if (arguments.exit_code >= 0)
		return arguments.exit_code;
	if (!arguments.collector.source)
		arguments.collector.source = "xen";
	log_init("mprofd");
	/* A write past a size limit of files then fails like one on a full disk. */
	signal(SIGXFSZ, SIG_IGN);
	if (arguments.fsck)
		return archive_fsck(arguments.collector.state, stdout);
	r = config_load(&config, arguments.config, sentence, sizeof(sentence));
	if (r) {
		log_error("%s", sentence);
		return 2;
	}
	r = collector_init(&collector, &config, &arguments.collector, sentence, sizeof(sentence));
	if (r)
		log_error("%s", sentence);
	else
		r = collector_run(&collector);
	collector_deinit(&collector);
	config_deinit(&config);
	return r ? 1 : 0;
}
