/* A build without libpq knows no fleet. */
#include <errno.h>
#include <stdio.h>

#include "fleet-registry.h"
#include "fleet-tokens.h"

bool fleet_connection_ok(const char *connection, char *sentence, size_t size)
{
	(void)connection;
	snprintf(sentence, size, "this mprofd-http was built without libpq, and knows no fleet");
	return false;
}

int fleet_registry_new(struct fleet_registry **rp, sd_event *event, const char *connection)
{
	(void)rp;
	(void)event;
	(void)connection;
	return -ENOTSUP;
}

struct fleet_registry *fleet_registry_free(struct fleet_registry *r)
{
	(void)r;
	return NULL;
}

struct registry fleet_registry(struct fleet_registry *r)
{
	(void)r;
	return (struct registry){0};
}

void fleet_registry_watch(struct fleet_registry *r, void (*call)(void *context), void *context)
{
	(void)r;
	(void)call;
	(void)context;
}

int fleet_tokens_run(const struct fleet_tokens_command *c, const char *connection, char *sentence, size_t size)
{
	(void)c;
	return fleet_connection_ok(connection, sentence, size) ? 0 : -ENOTSUP;
}
