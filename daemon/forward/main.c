/* mprofd-forward: parse the arguments, load the configuration, and run the forwarder. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "config.h"
#include "forwarder.h"
#include "log.h"
#include "mprofd-forward-options.h"

/* End at once: the hub and the archive hold whole transactions, and nothing else is to be kept. */
static void on_end(int signal)
{
	(void)signal;
	_exit(0);
}

int main(int argc, char **argv)
{
	struct program_options options = {
		.state = "/var/lib/mprofd", .run = "/run/mprofd", .own = "/var/lib/mprofd-forward"};
	struct forwarder_options with;
	struct config config;
	char sentence[512];
	int r = program_options_take(&options, VERSION, argc, argv);

	if (r >= 0)
		return r;
	log_init("mprofd-forward");
	r = config_load(&config, options.config, sentence, sizeof(sentence));
	if (r) {
		log_error("%s", sentence);
		return 2;
	}
	signal(SIGTERM, on_end);
	signal(SIGINT, on_end);
	signal(SIGPIPE, SIG_IGN);
	with = (struct forwarder_options){.state = options.state, .run = options.run, .own = options.own};
	r = forwarder_run(&config, &with, sentence, sizeof(sentence));
	log_error("%s", sentence);
	config_deinit(&config);
	return r;
}
