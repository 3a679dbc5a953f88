/* mprofd-sink: parse the arguments, load the configuration, and run the receiver. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "log.h"
#include "options.h"
#include "receiver.h"

static const char help[] = "Usage: mprofd-sink [OPTION]...\n"
			   "Receive memory profiles (memtrace streams) of guests and keep them.\n"
			   "\n"
			   "  --state DIR    where the archive is (default: /var/lib/mprofd)\n"
			   "  --run DIR      where the control sockets are (default: /run/mprofd)\n"
			   "  --config FILE  the configuration (default: /etc/mprofd/mprofd.conf, and FILE.d/*.conf)\n"
			   "  --help         this text\n"
			   "  --version      the version\n"
			   "\n"
			   "Runs in the foreground until SIGTERM.  See mprofd-sink(8) and mprofd.conf(5).\n";

enum option_code { OPTION_STATE = 1, OPTION_RUN, OPTION_CONFIG, OPTION_HELP, OPTION_VERSION };

static const struct option options[] = {
	{"state", required_argument, NULL, OPTION_STATE},   {"run", required_argument, NULL, OPTION_RUN},
	{"config", required_argument, NULL, OPTION_CONFIG}, {"help", no_argument, NULL, OPTION_HELP},
	{"version", no_argument, NULL, OPTION_VERSION},	    {NULL, 0, NULL, 0},
};

struct arguments {
	struct receiver_options receiver;
	const char *config;
	int exit_code; /* -1 = continue */
};

static void arguments_parse(struct arguments *a, int argc, char **argv)
{
	*a = (struct arguments){
		.receiver = {.state = "/var/lib/mprofd", .run = "/run/mprofd"},
		.exit_code = -1,
	};
	for (;;) {
		switch (getopt_long(argc, argv, "", options, NULL)) {
		case OPTION_STATE:
			a->receiver.state = optarg;
			break;
		case OPTION_RUN:
			a->receiver.run = optarg;
			break;
		case OPTION_CONFIG:
			a->config = optarg;
			break;
		case OPTION_HELP:
			fputs(help, stdout);
			a->exit_code = 0;
			return;
		case OPTION_VERSION:
			puts("mprofd-sink " VERSION);
			a->exit_code = 0;
			return;
		case -1:
			if (optind == argc) {
				if (!option_directory("mprofd-sink", "--state", a->receiver.state) ||
				    !option_directory("mprofd-sink", "--run", a->receiver.run))
					a->exit_code = 2;
				return;
			}
			fprintf(stderr, "mprofd-sink: %s: it takes options only; see mprofd-sink --help\n",
				argv[optind]);
			a->exit_code = 2;
			return;
		default:
			fprintf(stderr, "mprofd-sink: see mprofd-sink --help\n");
			a->exit_code = 2;
			return;
		}
	}
}

int main(int argc, char **argv)
{
	struct arguments arguments;
	struct receiver receiver;
	struct config config;
	char sentence[512];
	int r;

	arguments_parse(&arguments, argc, argv);
	if (arguments.exit_code >= 0)
		return arguments.exit_code;
	log_init("mprofd-sink");
	/* A write beyond the limit of file sizes then fails with EFBIG, and is handled like a full disk. */
	signal(SIGXFSZ, SIG_IGN);
	r = config_load(&config, arguments.config, sentence, sizeof(sentence));
	if (r) {
		log_error("%s", sentence);
		return 2;
	}
	r = receiver_init(&receiver, &config, &arguments.receiver, sentence, sizeof(sentence));
	if (r)
		log_error("%s", sentence);
	else
		r = receiver_run(&receiver);
	receiver_deinit(&receiver);
	config_deinit(&config);
	return r ? 1 : 0;
}
