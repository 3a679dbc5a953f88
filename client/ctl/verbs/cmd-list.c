/* The verbs `mprofctl domains`, `captures` and `snapshot`. */
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "array.h"
#include "cleanup.h"
#include "hosts.h"
#include "http.h"
#include "json.h"
#include "options.h"
#include "table.h"
#include "verbs.h"

/* Return the sum of the integers under KEY in all objects of ARRAY. */
static uint64_t sum(const json_t *array, const char *key)
{
	const json_t *entry;
	uint64_t total = 0;
	size_t i;

	json_array_foreach(array, i, entry) total += (uint64_t)json_integer_value(json_object_get(entry, key));
	return total;
}

static void add_rate(struct table *t, uint64_t bytes)
{
	char buf[32], text[36];

	bytes_text(bytes, buf, sizeof(buf));
	snprintf(text, sizeof(text), "%s/s", buf);
	table_add(t, text);
}

static int print_domains(const struct hosts *hosts, const json_t *domains, struct wall_zone *zone)
{
	static const char *const heads[] = {"NAME",	 "STATE",    "SOURCE", ">DOMID", ">STREAMS", ">RUNS",
					    ">CAPTURES", ">PACKETS", ">BYTES", ">RATE",	 ">LOST",    "LAST SEEN"};
	CLEANUP(table_deinit) struct table t;
	const json_t *domain;
	size_t i;

	table_init(&t, heads, ARRAY_SIZE(heads));
	json_array_foreach(domains, i, domain)
	{
		const json_t *streams = json_object_get(domain, "streams");

		hosts_add_cell(&t, hosts, domain, "name");
		table_add_json(&t, json_object_get(domain, "state"));
		table_add_json(&t, json_object_get(domain, "source"));
		table_add_json(&t, json_object_get(domain, "domid"));
		table_add_number(&t, json_array_size(streams));
		table_add_json(&t, json_object_get(domain, "runs"));
		table_add_json(&t, json_object_get(domain, "captures"));
		table_add_number(&t, sum(streams, "packets"));
		table_add_bytes(&t, sum(streams, "bytes"));
		add_rate(&t, sum(streams, "rate"));
		table_add_number(&t, sum(streams, "lost_packets"));
		table_add_time(&t, hosts_time(domain, "last_seen"), zone);
	}
	return table_print(&t);
}

static int print_captures(const struct hosts *hosts, const json_t *captures, struct wall_zone *zone)
{
	static const char *const heads[] = {">ID",    "DOMAIN",	  ">RUN", "KIND", "TIME",
					    "PINNED", ">STREAMS", "NOTE", "CAUSE"};
	/* A hub has the causes that its annotator found, and a host those of its reader. */
	const bool causes = json_object_get(json_array_get(captures, 0), "cause") != NULL;
	CLEANUP(table_deinit) struct table t;
	const json_t *capture;
	size_t i;

	table_init(&t, heads, ARRAY_SIZE(heads) - !causes);
	json_array_foreach(captures, i, capture)
	{
		hosts_add_cell(&t, hosts, capture, "id");
		hosts_add_cell(&t, hosts, capture, "domain");
		table_add_json(&t, json_object_get(capture, "run"));
		table_add_json(&t, json_object_get(capture, "kind"));
		table_add_time(&t, hosts_time(capture, "time"), zone);
		table_add_json(&t, json_object_get(capture, "pinned"));
		table_add_number(&t, json_array_size(json_object_get(capture, "streams")));
		table_add_json(&t, json_object_get(capture, "note"));
		if (causes)
			table_add_json(&t, json_object_get(capture, "sentence"));
	}
	return table_print(&t);
}

int cmd_domains(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(json_decrefp) json_t *list = NULL;
	struct wall_zone zone;
	struct options o;
	struct operands left;
	int r = options_parse(ctl, argc, argv, &o, &left), printed;

	zone = (struct wall_zone){.utc = o.utc};
	r = r ? r : hosts_list(&ctl->hosts, "/v1/domains", "domains", &list);
	if (!list)
		return r;
	printed = ctl->json ? json_print(list) : print_domains(&ctl->hosts, json_object_get(list, "domains"), &zone);
	return printed ? printed : r;
}

/*
 * Set *PATH to the path of the list of captures: those of OPERAND, whose host is chosen in HOSTS, or
 * all if OPERAND is NULL. The caller frees *PATH. Return an exit code.
 */
static int captures_path(struct hosts *hosts, const char *operand, char **path)
{
	struct http h = HTTP_CLOSED; /* domain_path() only needs it to escape the name */
	const char *domain = operand ? hosts_choose(hosts, operand) : NULL;
	int r = domain ? hosts_check_single(hosts) : CTL_OK;

	if (r)
		return r;
	*path = domain ? domain_path(&h, domain, "captures") : strdup("/v1/captures");
	return *path ? CTL_OK : say_memory();
}

int cmd_captures(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(json_decrefp) json_t *list = NULL;
	CLEANUP(freep) char *path = NULL;
	struct hosts hosts = ctl->hosts;
	struct wall_zone zone;
	struct options o;
	struct operands left;
	int r = options_parse(ctl, argc, argv, &o, &left), printed;

	zone = (struct wall_zone){.utc = o.utc};
	r = r ? r : captures_path(&hosts, left.n ? left.at[0] : NULL, &path);
	r = r ? r : hosts_list(&hosts, path, "captures", &list);
	if (!list)
		return r;
	printed = hosts_sort(&hosts, list, "captures", "time");
	if (printed)
		return printed;
	printed = ctl->json ? json_print(list) : print_captures(&hosts, json_object_get(list, "captures"), &zone);
	return printed ? printed : r;
}

/*
 * Return the JSON body of a snapshot request, with NOTE if NOTE is not NULL. The caller frees the
 * body. Return NULL without memory, or if NOTE is not UTF-8.
 */
static char *snapshot_body(const char *note)
{
	CLEANUP(json_decrefp) json_t *body = json_object();

	if (!body || (note && json_object_set_new(body, "note", json_string(note)) < 0))
		return NULL;
	return json_text(body, JSON_COMPACT);
}

int cmd_snapshot(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(json_decrefp) json_t *capture = NULL;
	CLEANUP(freep) char *path = NULL;
	CLEANUP(freep) char *body = NULL;
	CLEANUP(http_close) struct http h = HTTP_CLOSED;
	struct hosts hosts = ctl->hosts;
	const char *domain;
	struct options o;
	struct operands left;
	int r = options_parse(ctl, argc, argv, &o, &left);

	if (r)
		return r;
	domain = hosts_choose(&hosts, left.at[0]);
	r = http_open(&h, &hosts);
	if (r)
		return r;
	path = domain_path(&h, domain, "captures");
	body = snapshot_body(o.note);
	if (!path || !body)
		return o.note && path ? say_usage(argv[0], "the note is not UTF-8 text") : say_memory();
	r = http_json(&h, "POST", path, body, &capture);
	if (r)
		return r;
	if (ctl->json)
		return json_print(capture);
	hosts_print_id(&hosts, (long long)json_integer_value(json_object_get(capture, "id")));
	return CTL_OK;
}
