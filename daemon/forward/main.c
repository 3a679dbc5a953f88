/* mprofd-forward: parse the arguments, load the configuration, and run the forwarder. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "array.h"
#include "config.h"
#include "daemon-options.h"
#include "forwarder.h"
#include "log.h"

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

/* End at once: the hub and the archive hold whole transactions, and nothing else is to be kept. */
static void on_end(int signal)
{
	(void)signal;
	_exit(0);
}

int main(int argc, char **argv)
{
	struct forwarder_options options = {
		.state = "/var/lib/mprofd", .run = "/run/mprofd", .own = "/var/lib/mprofd-forward"};
	const char *file = NULL;
	const struct option_value values[] = {{"state", &options.state, true},
					      {"run", &options.run, true},
					      {"own", &options.own, true},
					      {"config", &file, false}};
	struct config config;
	char sentence[512];
	int r = options_take("mprofd-forward", VERSION, help, values, ARRAY_SIZE(values), argc, argv);

	if (r >= 0)
		return r;
	log_init("mprofd-forward");
	r = config_load(&config, file, sentence, sizeof(sentence));
	if (r) {
		log_error("%s", sentence);
		return 2;
	}
	signal(SIGTERM, on_end);
	signal(SIGINT, on_end);
	signal(SIGPIPE, SIG_IGN);
	r = forwarder_run(&config, &options, sentence, sizeof(sentence));
	log_error("%s", sentence);
	config_deinit(&config);
	return r;
}
