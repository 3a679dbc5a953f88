/*
 * mprofd: parse the arguments, load the configuration, and run the collector with the chosen
 * source.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector.h"
#include "fsck.h"
#include "log.h"
#include "mprofd-options.h"
#include "source-dir.h"
#include "source-xen.h"

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

static int collect(const struct program_options *options, const struct config *config)
{
	struct chosen chosen = {0};
	const struct collector_options with = {
		.source_open = chosen_open,
		.source_context = &chosen,
		.state = options->state,
		.run = options->run,
	};
	struct collector collector;
	char sentence[512];
	int r;

	r = source_choose(&chosen, options->source, config, sentence, sizeof(sentence));
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
	struct program_options options = {.source = "xen", .state = "/var/lib/mprofd", .run = "/run/mprofd"};
	struct config config;
	char sentence[512];
	int r;

	r = program_options_take(&options, VERSION, argc, argv);
	if (r >= 0)
		return r;
	log_init("mprofd");
	/*
	 * A write beyond the limit of file sizes then fails with EFBIG, and is handled like a full
	 * disk.
	 */
	signal(SIGXFSZ, SIG_IGN);
	if (options.fsck)
		return archive_fsck(options.state, stdout);
	r = config_load(&config, options.config, sentence, sizeof(sentence));
	if (r) {
		log_error("%s", sentence);
		return 2;
	}
	r = collect(&options, &config);
	config_deinit(&config);
	return r ? 1 : 0;
}
