/*
 * bare-http FILE: answer each GET with the bytes of FILE, with libmicrohttpd and nothing else, to
 * compare mprofd-http with. The program prints its port, and serves until it is killed.
 */
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url, const char *method,
			      const char *version, const char *data, size_t *bytes, void **seen)
{
	(void)url;
	(void)method;
	(void)version;
	(void)data;
	(void)bytes;
	if (!*seen) {
		*seen = context;
		return MHD_YES;
	}
	return MHD_queue_response(connection, MHD_HTTP_OK, context);
}

static struct MHD_Response *response_of(const char *path)
{
	FILE *file = fopen(path, "r");
	char *bytes = malloc(1u << 20);
	size_t n;

	if (!file || !bytes)
		return NULL;
	n = fread(bytes, 1, 1u << 20, file);
	fclose(file);
	return MHD_create_response_from_buffer(n, bytes, MHD_RESPMEM_MUST_FREE);
}

int main(int argc, char **argv)
{
	struct sockaddr_in local = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct MHD_Response *response = argc == 2 ? response_of(argv[1]) : NULL;
	struct MHD_Daemon *daemon;

	if (!response) {
		fprintf(stderr, "Usage: bare-http FILE\n");
		return 2;
	}
	daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, answer, response, MHD_OPTION_SOCK_ADDR,
				  &local, MHD_OPTION_END);
	if (!daemon)
		return 1;
	printf("%u\n", (unsigned)MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
	fflush(stdout);
	for (;;)
		pause();
}
