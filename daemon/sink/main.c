/* mprofd-sink: parse the arguments, load the configuration, and run the receiver. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "log.h"
#include "mprofd-sink-options.h"
#include "receiver.h"

int main(int argc, char **argv)
{
	struct program_options options = {.state = "/var/lib/mprofd", .run = "/run/mprofd"};
	struct receiver_options with;
	struct receiver receiver;
	struct config config;
	char sentence[512];
	int r = program_options_take(&options, VERSION, argc, argv);

	if (r >= 0)
		return r;
	log_init("mprofd-sink");
	/* A write beyond the limit of file sizes then fails with EFBIG, and is handled like a full disk. */
	signal(SIGXFSZ, SIG_IGN);
	r = config_load(&config, options.config, sentence, sizeof(sentence));
	if (r) {
		log_error("%s", sentence);
		return 2;
	}
	with = (struct receiver_options){.state = options.state, .run = options.run};
	r = receiver_init(&receiver, &config, &with, sentence, sizeof(sentence));
	if (r)
		log_error("%s", sentence);
	else
		r = receiver_run(&receiver);
	receiver_deinit(&receiver);
	config_deinit(&config);
	return r ? 1 : 0;
}
