/*
 * Who a domain is: its UUID, which never changes, and its name, which may.  Both are the toolstack's.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domain-steps.h"
#include "log.h"
#include "text.h"

#define UUID_LENGTH 36u

static bool uuid_is(const char *text)
{
	for (size_t i = 0; i < UUID_LENGTH; i++)
		if (!isxdigit((unsigned char)text[i]) && text[i] != '-')
			return false;
	return text[UUID_LENGTH] == '\0';
}

static char *node_read(struct domain *domain, const char *node)
{
	char path[64], *value;
	size_t len;

	snprintf(path, sizeof(path), "/local/domain/%u/%s", domain->domid, node);
	return xen_read(domain->host->xen, 0, path, &value, &len) ? NULL : value;
}

char *domain_uuid_read(struct domain *domain)
{
	CLEANUP(freep) char *vm = node_read(domain, "vm");
	const char *slash = vm ? strrchr(vm, '/') : NULL;

	return slash && uuid_is(slash + 1) ? strdup(slash + 1) : NULL;
}

bool domain_is_itself(struct domain *domain)
{
	CLEANUP(freep) char *uuid = domain->uuid ? domain_uuid_read(domain) : NULL;

	return !domain->uuid || (uuid && strcmp(uuid, domain->uuid) == 0);
}

bool domain_name_read(struct domain *domain)
{
	CLEANUP(freep) char *given = node_read(domain, "name");
	char *printable = given && *given ? text_printable(given) : NULL;

	if (!printable)
		return false;
	if (domain->name && strcmp(domain->name, printable) != 0) {
		log_write(LOG_LEVEL_INFO, printable, "was %s", domain->name);
		if (domain->has_guest && guest_rename(&domain->guest, given))
			log_warning("%s: out of memory", printable);
	}
	free(domain->name);
	domain->name = printable;
	free(domain->given);
	domain->given = TAKE_PTR(given);
	return true;
}
