/* mprofd-sink: parse the arguments, load the configuration, and run the receiver. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "config.h"
#include "daemon-options.h"
#include "log.h"
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

int main(int argc, char **argv)
{
	struct receiver_options options = {.state = "/var/lib/mprofd", .run = "/run/mprofd"};
	const char *file = NULL;
	const struct option_value values[] = {
		{"state", &options.state, true}, {"run", &options.run, true}, {"config", &file, false}};
	struct receiver receiver;
	struct config config;
	char sentence[512];
	int r = options_take("mprofd-sink", VERSION, help, values, ARRAY_SIZE(values), argc, argv);

	if (r >= 0)
		return r;
	log_init("mprofd-sink");
	/* A write beyond the limit of file sizes then fails with EFBIG, and is handled like a full disk. */
	signal(SIGXFSZ, SIG_IGN);
	r = config_load(&config, file, sentence, sizeof(sentence));
	if (r) {
		log_error("%s", sentence);
		return 2;
	}
	r = receiver_init(&receiver, &config, &options, sentence, sizeof(sentence));
	if (r)
		log_error("%s", sentence);
	else
		r = receiver_run(&receiver);
	receiver_deinit(&receiver);
	config_deinit(&config);
	return r ? 1 : 0;
}
