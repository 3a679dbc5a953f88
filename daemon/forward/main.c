/* mprofd-forward: parse the arguments, load the configuration, and run the forwarder. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "config.h"
#include "forwarder.h"
#include "log.h"
#include "options.h"

static const char help[] =
	"Usage: mprofd-forward [OPTION]...\n"
	"Send captures of this host to the hub of a fleet, a PostgreSQL database.\n"
	"\n"
	"  --state DIR    where mprofd's archive is (default: /var/lib/mprofd)\n"
	"  --run DIR      where mprofd's control socket is (default: /run/mprofd)\n"
	"  --own DIR      keep the state of this program there (default: /var/lib/mprofd-forward)\n"
	"  --config FILE  the configuration (default: /etc/mprofd/mprofd.conf, and FILE.d/*.conf)\n"
	"  --help         this text\n"
	"  --version      the version\n"
	"\n"
	"Runs in the foreground until SIGTERM.  See mprofd-forward(8) and the section [fleet] in mprofd.conf(5).\n";

enum option_code { OPTION_STATE = 1, OPTION_RUN, OPTION_OWN, OPTION_CONFIG, OPTION_HELP, OPTION_VERSION };

static const struct option options[] = {
	{"state", required_argument, NULL, OPTION_STATE},
	{"run", required_argument, NULL, OPTION_RUN},
	{"own", required_argument, NULL, OPTION_OWN},
	{"config", required_argument, NULL, OPTION_CONFIG},
	{"help", no_argument, NULL, OPTION_HELP},
	{"version", no_argument, NULL, OPTION_VERSION},
	{NULL, 0, NULL, 0},
};

struct arguments {
	struct forwarder_options forwarder;
	const char *config;
	int exit_code; /* -1 = continue */
};

/* All options are taken: check what they say. */
static void arguments_check(struct arguments *a, int argc, char **argv)
{
	if (optind != argc) {
		fprintf(stderr, "mprofd-forward: %s: it takes options only; see mprofd-forward --help\n", argv[optind]);
		a->exit_code = 2;
	} else if (!option_directory("mprofd-forward", "--state", a->forwarder.state) ||
		   !option_directory("mprofd-forward", "--run", a->forwarder.run) ||
		   !option_directory("mprofd-forward", "--own", a->forwarder.own)) {
		a->exit_code = 2;
	}
}

static void arguments_parse(struct arguments *a, int argc, char **argv)
{
	*a = (struct arguments){
		.forwarder = {.state = "/var/lib/mprofd", .run = "/run/mprofd", .own = "/var/lib/mprofd-forward"},
		.exit_code = -1,
	};
	for (;;) {
		switch (getopt_long(argc, argv, "", options, NULL)) {
		case OPTION_STATE:
			a->forwarder.state = optarg;
			break;
		case OPTION_RUN:
			a->forwarder.run = optarg;
			break;
		case OPTION_OWN:
			a->forwarder.own = optarg;
			break;
		case OPTION_CONFIG:
			a->config = optarg;
			break;
		case OPTION_HELP:
			fputs(help, stdout);
			a->exit_code = 0;
			return;
		case OPTION_VERSION:
			puts("mprofd-forward " VERSION);
			a->exit_code = 0;
			return;
		case -1:
			arguments_check(a, argc, argv);
			return;
		default:
			fprintf(stderr, "mprofd-forward: see mprofd-forward --help\n");
			a->exit_code = 2;
			return;
		}
	}
}

/* End at once: the hub and the archive hold whole transactions, and nothing else is to be kept. */
static void on_end(int signal)
{
	(void)signal;
	_exit(0);
}

int main(int argc, char **argv)
{
	struct arguments arguments;
	struct config config;
	char sentence[512];
	int r;

	arguments_parse(&arguments, argc, argv);
	if (arguments.exit_code >= 0)
		return arguments.exit_code;
	log_init("mprofd-forward");
	r = config_load(&config, arguments.config, sentence, sizeof(sentence));
	if (r) {
		log_error("%s", sentence);
		return 2;
	}
	signal(SIGTERM, on_end);
	signal(SIGINT, on_end);
	signal(SIGPIPE, SIG_IGN);
	r = forwarder_run(&config, &arguments.forwarder, sentence, sizeof(sentence));
	log_error("%s", sentence);
	config_deinit(&config);
	return r;
}
