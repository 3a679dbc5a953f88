/*
 * The memory profiles of mprofd: the verbs `mem list`, `mem start` and `mem stop`, and the download
 * of a recording.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api.h"
#include "array.h"
#include "cleanup.h"
#include "download.h"
#include "hosts.h"
#include "http.h"
#include "json.h"
#include "mem-recordings.h"
#include "mem.h"
#include "options.h"
#include "output-writer.h"
#include "output.h"
#include "table.h"

/*
 * A recording that still grows is downloaded once, to a file. So all readings of the profile see
 * the same bytes.
 */

#define PREFIX "recording:"

bool mem_recording_is(struct hosts *hosts, const char *operand, const char **id)
{
	struct stat st;
	bool forced;

	if (stat(operand, &st) != 0)
		operand = hosts_choose(hosts, operand);
	forced = strncmp(operand, PREFIX, strlen(PREFIX)) == 0;

	*id = forced ? operand + strlen(PREFIX) : operand;
	return forced || (api_is_id(operand, true) && stat(operand, &st) != 0);
}

int mem_recording_id(struct hosts *hosts, const char *operand, const char **id)
{
	operand = hosts_choose(hosts, operand);
	*id = strncmp(operand, PREFIX, strlen(PREFIX)) == 0 ? operand + strlen(PREFIX) : operand;
	return api_is_id(*id, true) ? CTL_OK
				    : say_usage("mem",
						"\"%s\" is not a recording's id, which is a number; "
						"`mprofctl mem list` lists them",
						*id);
}

static int put(void *context, const uint8_t *bytes, size_t len)
{
	const int *fd = context;

	return write_all(*fd, bytes, len);
}

static int start_over(void *context)
{
	const int *fd = context;

	return ftruncate(*fd, 0) < 0 || lseek(*fd, 0, SEEK_SET) < 0 ? -errno : 0;
}

int mem_recording_fetch(const struct hosts *hosts, const char *id, int *fd)
{
	struct hosts one = *hosts;
	CLEANUP(http_close) struct http h = HTTP_CLOSED;
	CLEANUP(download_deinit) struct download d = {.write = put, .start_over = start_over, .context = fd};
	char path[256];
	int r;

	r = mem_recording_id(&one, id, &id);
	if (r)
		return r;
	snprintf(path, sizeof(path), "/v1/memtraces/%s/data", id);
	r = http_open(&h, &one);
	if (r)
		return r;
	*fd = spool_file();
	if (*fd < 0) {
		say("cannot write a temporary file: %s; set TMPDIR to another directory", strerror(-*fd));
		return CTL_FAILED;
	}
	r = download_run(&d, &h, path);
	if (r && d.refused)
		say("cannot write the fetched profile to a temporary file: %s; set TMPDIR to another directory",
		    strerror(-d.refused));
	return r;
}

/*
 * Return the state of MEMTRACE for people: the reason why it ended, or its "state" if there is no
 * reason. The result belongs to MEMTRACE.
 */
static const json_t *state_of(const json_t *memtrace)
{
	const json_t *reason = json_object_get(memtrace, "reason");

	return json_is_string(reason) ? reason : json_object_get(memtrace, "state");
}

static int print_list(const struct hosts *hosts, const json_t *list, struct wall_zone *zone)
{
	static const char *const heads[] = {">ID",    "DOMAIN", "ADDRESS", "PROGRAM", "BEGAN",
					    ">BYTES", "STATE",	"PINNED",  "NOTE"};
	CLEANUP(table_deinit) struct table t;
	const json_t *memtrace;
	size_t i;

	table_init(&t, heads, ARRAY_SIZE(heads));
	json_array_foreach(list, i, memtrace)
	{
		hosts_add_cell(&t, hosts, memtrace, "id");
		hosts_add_cell(&t, hosts, memtrace, "domain");
		table_add_json(&t, json_object_get(memtrace, "address"));
		table_add_json(&t, json_object_get(json_object_get(memtrace, "says"), "program"));
		table_add_time(&t, hosts_time(memtrace, "began"), zone);
		table_add_bytes(&t, (uint64_t)json_integer_value(json_object_get(memtrace, "bytes")));
		table_add_json(&t, state_of(memtrace));
		table_add_json(&t, json_object_get(memtrace, "pinned"));
		table_add_json(&t, json_object_get(memtrace, "note"));
	}
	return table_print(&t);
}

/* Return true if DOMAIN (a name, UUID, or domid) is the guest of MEMTRACE. */
static bool is_of(const json_t *memtrace, const char *domain)
{
	const char *name = json_string_value(json_object_get(memtrace, "domain"));
	const char *uuid = json_string_value(json_object_get(memtrace, "uuid"));
	const json_t *domid = json_object_get(memtrace, "domid");
	char number[24];

	snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(domid));
	return (name && strcmp(name, domain) == 0) || (uuid && strcasecmp(uuid, domain) == 0) ||
	       (json_is_integer(domid) && strcmp(number, domain) == 0);
}

/*
 * Remove the memtraces of all guests except DOMAIN from ANSWER, the API's list of all memtraces.
 * The API's own filter lists only memtraces of the guest's latest run, and none of a guest that
 * mprofd does not know. A user expects all memtraces with that name. Return an exit code.
 */
static int keep_of(json_t *answer, const char *domain)
{
	CLEANUP(json_decrefp) json_t *kept = json_array();
	json_t *memtrace;
	size_t i;

	json_array_foreach(json_object_get(answer, "memtraces"), i, memtrace)
	{
		if (is_of(memtrace, domain) && json_array_append(kept, memtrace) < 0)
			return say_memory();
	}
	return kept && json_object_set(answer, "memtraces", kept) == 0 ? CTL_OK : say_memory();
}

int mem_list(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(json_decrefp) json_t *list = NULL;
	struct hosts hosts = ctl->hosts;
	const char *domain = NULL;
	struct wall_zone zone;
	struct options o;
	struct operands left;
	int r = options_parse(ctl, argc, argv, &o, &left), kept = CTL_OK, printed;

	zone = (struct wall_zone){.utc = o.utc};
	if (r)
		return r;
	if (left.n)
		domain = hosts_choose(&hosts, left.at[0]);
	r = domain ? hosts_check_single(&hosts) : CTL_OK;
	r = r ? r : hosts_list(&hosts, "/v1/memtraces", "memtraces", &list);
	if (!list)
		return r;
	if (domain)
		kept = keep_of(list, domain_name(domain));
	kept = kept ? kept : hosts_sort(&hosts, list, "memtraces", "began");
	if (kept)
		return kept;
	printed = ctl->json ? json_print(list) : print_list(&hosts, json_object_get(list, "memtraces"), &zone);
	return printed ? printed : r;
}

/* Set *PORT to the port number in TEXT, or to 0 if TEXT is NULL. Return an exit code. */
static int parse_port(const char *text, long *port)
{
	char *end;

	*port = 0;
	if (!text)
		return CTL_OK;
	errno = 0;
	*port = strtol(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || *port < 1 || *port > 65535)
		return say_usage("mem", "--port is not a number from 1 to 65535: \"%s\"", text);
	return CTL_OK;
}

/*
 * Return the JSON body of the request that starts a recording, with ADDRESS and PORT if they are
 * not NULL or 0. The caller frees the body. Return NULL without memory, or if ADDRESS is not UTF-8.
 */
static char *start_body(const char *address, long port)
{
	CLEANUP(json_decrefp) json_t *body = json_object();

	if (!body || (address && json_object_set_new(body, "address", json_string(address)) < 0) ||
	    (port && json_object_set_new(body, "port", json_integer(port)) < 0))
		return NULL;
	return json_text(body, JSON_COMPACT);
}

int mem_start(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(json_decrefp) json_t *memtrace = NULL;
	CLEANUP(freep) char *path = NULL;
	CLEANUP(freep) char *body = NULL;
	CLEANUP(http_close) struct http h = HTTP_CLOSED;
	struct hosts hosts = ctl->hosts;
	const char *domain;
	struct options o;
	struct operands left;
	long port;
	int r = options_parse(ctl, argc, argv, &o, &left);

	r = r ? r : parse_port(o.port, &port);
	if (r)
		return r;
	domain = hosts_choose(&hosts, left.at[0]);
	r = http_open(&h, &hosts);
	if (r)
		return r;
	path = domain_path(&h, domain, "memtraces");
	body = start_body(o.address, port);
	if (!path || !body)
		return o.address && path ? say_usage("mem", "the address is not UTF-8 text") : say_memory();
	r = http_json(&h, "POST", path, body, &memtrace);
	if (r)
		return r;
	if (ctl->json)
		return json_print(memtrace);
	hosts_print_id(&hosts, (long long)json_integer_value(json_object_get(memtrace, "id")));
	return CTL_OK;
}

int mem_stop(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(json_decrefp) json_t *memtrace = NULL;
	CLEANUP(http_close) struct http h = HTTP_CLOSED;
	struct hosts hosts = ctl->hosts;
	struct operands left;
	struct options o;
	const char *id;
	char path[256];
	int r = options_parse(ctl, argc, argv, &o, &left);

	if (r)
		return r;
	r = mem_recording_id(&hosts, left.at[0], &id);
	r = r ? r : http_open(&h, &hosts);
	if (r)
		return r;
	snprintf(path, sizeof(path), "/v1/memtraces/%s/recording", id);
	r = http_json(&h, "DELETE", path, NULL, &memtrace);
	if (r)
		return r;
	return ctl->json ? json_print(memtrace) : CTL_OK;
}
