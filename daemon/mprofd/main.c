/*
 * mprofd: parse the arguments, load the configuration, and run the collector with the chosen
 * source.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector.h"
#include "daemon-options.h"
#include "fsck.h"
#include "log.h"
#include "source-dir.h"
#include "source-xen.h"

static const char help[] =
	"Usage: mprofd [OPTION]...\n"
	"Copy the trace rings of guests into an archive, as they are written.\n"
	"\n"
	"  --source xen|dir:PATH  find guests in this dom0, or as ring files in a directory (default: xen)\n"
	"  --state DIR            keep the archive there (default: /var/lib/mprofd)\n"
	"  --run DIR              make the control socket there (default: /run/mprofd)\n"
	"  --config FILE          read the configuration (default: /etc/mprofd/mprofd.conf, and FILE.d/*.conf)\n"
	"  --fsck                 check both archives, save what is whole, and exit; stop mprofd and mprofd-sink "
	"first\n"
	"  --help                 print this text\n"
	"  --version              print the version\n"
	"\n"
	"Runs in the foreground until SIGTERM. See mprofd(8) and mprofd.conf(5).\n";

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
	const char *source, *state, *run, *config;
	bool fsck;
	int exit_code; /* -1 = continue */
};

static void arguments_parse(struct arguments *a, int argc, char **argv)
{
	*a = (struct arguments){.state = "/var/lib/mprofd", .run = "/run/mprofd", .exit_code = -1};
	for (;;) {
		switch (getopt_long(argc, argv, "", options, NULL)) {
		case OPTION_SOURCE:
			if (a->source) {
				fprintf(stderr, "mprofd: --source %s: --source was given before; name one source\n",
					optarg);
				a->exit_code = 2;
				return;
			}
			a->source = optarg;
			break;
		case OPTION_STATE:
			a->state = optarg;
			break;
		case OPTION_RUN:
			a->run = optarg;
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
				if (!option_directory("mprofd", "--state", a->state) ||
				    !option_directory("mprofd", "--run", a->run))
					a->exit_code = 2;
				return;
			}
			fprintf(stderr, "mprofd: %s: unexpected argument; see mprofd --help\n", argv[optind]);
			a->exit_code = 2;
			return;
		default:
			fprintf(stderr, "mprofd: see mprofd --help\n");
			a->exit_code = 2;
			return;
		}
	}
}

/* The source that the option --source chooses. */
struct chosen {
	const char *directory; /* directory of ring files; NULL = Xen */
	struct xen_access xen;
};

/*
 * Choose the source NAME. For `xen`, open Xen's handles and fork the helper here, before there is
 * another thread or a file that the helper would inherit. Return 0; or -errno, with a sentence in
 * SENTENCE (SIZE bytes).
 */
static int source_choose(struct chosen *chosen, const char *name, const struct config *config, char *sentence,
			 size_t size)
{
	if (strcmp(name, "xen") == 0)
		return xen_access_open(&chosen->xen, config, sentence, size);
	if (strncmp(name, "dir:", 4) == 0 && name[4]) {
		chosen->directory = name + 4;
		return 0;
	}
	snprintf(sentence, size, "--source %s: not a source; write dir:PATH or xen", name);
	return -EINVAL;
}

static int chosen_open(void *context, struct source **sp, struct collector *collector, char *sentence, size_t size)
{
	struct chosen *chosen = context;

	if (chosen->directory)
		return source_dir_open(sp, collector, chosen->directory, sentence, size);
	return source_xen_open(sp, collector, &chosen->xen, sentence, size);
}

static int collect(const struct arguments *arguments, const struct config *config)
{
	struct chosen chosen = {0};
	const struct collector_options with = {
		.source_open = chosen_open,
		.source_context = &chosen,
		.state = arguments->state,
		.run = arguments->run,
	};
	struct collector collector;
	char sentence[512];
	int r;

	r = source_choose(&chosen, arguments->source, config, sentence, sizeof(sentence));
	if (r) {
		log_error("%s", sentence);
		xen_access_close(&chosen.xen);
		return r;
	}
	r = collector_init(&collector, config, &with, sentence, sizeof(sentence));
	xen_access_close(&chosen.xen);
	if (r)
		log_error("%s", sentence);
	else
		r = collector_run(&collector);
	collector_deinit(&collector);
	return r;
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
	if (!arguments.source)
		arguments.source = "xen";
	log_init("mprofd");
	/*
	 * A write beyond the limit of file sizes then fails with EFBIG, and is handled like a full
	 * disk.
	 */
	signal(SIGXFSZ, SIG_IGN);
	if (arguments.fsck)
		return archive_fsck(arguments.state, stdout);
	r = config_load(&config, arguments.config, sentence, sizeof(sentence));
	if (r) {
		log_error("%s", sentence);
		return 2;
	}
	r = collect(&arguments, &config);
	config_deinit(&config);
	return r ? 1 : 0;
}
