/*
 * This file splits the list of hosts, and asks all hosts of it for one list.
 *
 * Only names can stand in a list, because an address may have commas and slashes itself. Each host
 * is asked in a thread of its own, so a host that does not answer delays no other. The threads share
 * nothing but standard error, which gets whole lines.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "cleanup.h"
#include "hosts.h"
#include "http.h"

#define NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define NAME_MAX_  64u

bool hosts_is_name(const char *text, size_t len)
{
	return len && len <= NAME_MAX_ && text[0] != '-' && text[0] != '.' && strspn(text, NAME_BYTES) >= len;
}

bool hosts_several(const struct hosts *hosts)
{
	return hosts->list && strchr(hosts->list, ',') && !hosts->list[strspn(hosts->list, NAME_BYTES ",")];
}

size_t hosts_count(const struct hosts *hosts)
{
	size_t n = 1;

	if (hosts->one || !hosts_several(hosts))
		return 1;
	for (const char *at = hosts->list; (at = strchr(at, ',')); at++)
		n++;
	return n;
}

int hosts_check_single(const struct hosts *hosts)
{
	if (hosts_count(hosts) == 1)
		return CTL_OK;
	return say_usage(
		NULL,
		"this works on one host at a time, and --host has several: write HOST/GUEST (or HOST/ID), as in "
		"%.*s/web",
		(int)strcspn(hosts->list, ","), hosts->list);
}

struct hosts hosts_at(const struct hosts *hosts, size_t i)
{
	struct hosts one = *hosts;

	if (hosts_count(hosts) == 1)
		return one;
	one.one = hosts->list;
	while (i--)
		one.one = strchr(one.one, ',') + 1;
	one.one_len = strcspn(one.one, ",");
	return one;
}

const char *hosts_choose(struct hosts *hosts, const char *operand)
{
	const char *slash = strchr(operand, '/');
	struct hosts all = *hosts;

	all.one = NULL;
	if (!slash || !slash[1] || !hosts->list || hosts->list[strspn(hosts->list, NAME_BYTES ",")])
		return operand;
	for (size_t i = 0; i < hosts_count(&all); i++) {
		struct hosts one = hosts_at(&all, i);

		if (!one.one) {
			one.one = hosts->list;
			one.one_len = strlen(hosts->list);
		}
		if (one.one_len == (size_t)(slash - operand) && memcmp(one.one, operand, one.one_len) == 0) {
			*hosts = one;
			return slash + 1;
		}
	}
	return operand;
}

/* ---- one list of all hosts */

/* The list of one host, which a thread requests. */
struct asked {
	struct hosts host;
	const char *path, *key; /* borrowed */
	json_t *json;		/* owned */
	int exit;
	bool threaded;
	pthread_t thread;
};

static void *ask(void *context)
{
	struct asked *a = context;
	CLEANUP(http_close) struct http h = HTTP_CLOSED;

	a->exit = http_open(&h, &a->host);
	a->exit = a->exit ? a->exit : http_list(&h, a->path, a->key, &a->json);
	return NULL;
}

static void asked_free(struct asked **a)
{
	for (size_t i = 0; *a && i < HOSTS_MAX; i++)
		json_decref((*a)[i].json);
	free(*a);
}

/*
 * Add the name of the host to each entry of A; an entry of a hub gets "HUB/HOST". Return false without
 * memory.
 */
static bool name_entries(const struct asked *a)
{
	json_t *entries = json_object_get(a->json, a->key), *entry;
	size_t i;

	json_array_foreach(entries, i, entry)
	{
		const char *inner = json_string_value(json_object_get(entry, "host"));

		if (json_is_object(entry) &&
		    json_object_set_new(entry, "host",
					json_sprintf("%.*s%s%s", (int)a->host.one_len, a->host.one, inner ? "/" : "",
						     inner ? inner : "")) < 0)
			return false;
	}
	return true;
}

/* Ask the N hosts of A at the same time. */
static void ask_all(struct asked *a, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		a[i].threaded = pthread_create(&a[i].thread, NULL, ask, &a[i]) == 0;
		if (!a[i].threaded)
			ask(&a[i]);
	}
	for (size_t i = 0; i < n; i++)
		if (a[i].threaded)
			pthread_join(a[i].thread, NULL);
}

static int ask_several(const struct hosts *hosts, const char *path, const char *key, json_t **json)
{
	CLEANUP(asked_free) struct asked *a = calloc(HOSTS_MAX, sizeof(*a));
	CLEANUP(json_decrefp) json_t *list = json_object();
	size_t n = hosts_count(hosts), failed = 0;
	json_t *array;

	if (n > HOSTS_MAX)
		return say_usage(NULL, "--host has %zu names, and at most %u are possible", n, HOSTS_MAX);
	array = json_array();
	if (!a || !list || json_object_set_new(list, key, array) < 0)
		return say_memory();
	for (size_t i = 0; i < n; i++) {
		a[i] = (struct asked){.host = hosts_at(hosts, i), .path = path, .key = key};
		if (!hosts_is_name(a[i].host.one, a[i].host.one_len))
			return say_usage(NULL, "--host has \"%.*s\", which is no name", (int)a[i].host.one_len,
					 a[i].host.one);
	}
	ask_all(a, n);
	for (size_t i = 0; i < n; i++) {
		if (!a[i].exit &&
		    (!name_entries(&a[i]) || json_array_extend(array, json_object_get(a[i].json, key)) < 0))
			return say_memory();
		failed += a[i].exit != CTL_OK;
	}
	if (failed == n)
		return a[0].exit;
	*json = json_incref(list);
	return failed ? CTL_FAILED : CTL_OK;
}

int hosts_list(const struct hosts *hosts, const char *path, const char *key, json_t **json)
{
	struct asked a = {.host = *hosts, .path = path, .key = key};

	if (hosts_count(hosts) > 1)
		return ask_several(hosts, path, key, json);
	ask(&a);
	*json = a.json;
	if (a.exit == CTL_OK && hosts_several(hosts) && !name_entries(&a))
		return say_memory();
	return a.exit;
}

/* ---- names and order */

struct dated {
	json_t *entry; /* borrowed */
	uint64_t ns;   /* its time; 0 if that is no time */
	size_t order;  /* its place in the list before */
};

/* A comparison for qsort(): the newer entry first; of equal ones the earlier one of the list. */
static int dated_compare(const void *a, const void *b)
{
	const struct dated *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

const json_t *hosts_time(const json_t *entry, const char *time)
{
	char corrected[64];
	const json_t *right;

	snprintf(corrected, sizeof(corrected), "%s_corrected", time);
	right = json_object_get(entry, corrected);
	return json_is_string(right) ? right : json_object_get(entry, time);
}

/* Return the time of ENTRY under TIME, as hosts_time(), in ns. 0 = there is none. */
static uint64_t time_of(const json_t *entry, const char *time)
{
	uint64_t ns;

	return api_real(hosts_time(entry, time), &ns) ? ns : 0;
}

int hosts_sort(const struct hosts *hosts, json_t *list, const char *key, const char *time)
{
	json_t *array = json_object_get(list, key), *entry;
	CLEANUP(freep) struct dated *dated = calloc(json_array_size(array) + 1, sizeof(*dated));
	CLEANUP(json_decrefp) json_t *sorted = json_array();
	size_t i;

	if (hosts_count(hosts) == 1)
		return CTL_OK;
	if (!dated || !sorted)
		return say_memory();
	json_array_foreach(array, i, entry) dated[i] =
		(struct dated){.entry = entry, .ns = time_of(entry, time), .order = i};
	qsort(dated, json_array_size(array), sizeof(*dated), dated_compare);
	for (i = 0; i < json_array_size(array); i++)
		if (json_array_append(sorted, dated[i].entry) < 0)
			return say_memory();
	return json_object_set(list, key, sorted) < 0 ? say_memory() : CTL_OK;
}

void hosts_add_cell(struct table *t, const struct hosts *hosts, const json_t *entry, const char *key)
{
	const char *host = json_string_value(json_object_get(entry, "host"));
	const json_t *value = json_object_get(entry, key);
	CLEANUP(freep) char *text = NULL;
	int n = -1;

	/* The id of a hub has the host in it. */
	if (host && json_is_string(value) && strcmp(key, "id") == 0)
		n = hosts_several(hosts)
			    ? asprintf(&text, "%.*s/%s", (int)strcspn(host, "/"), host, json_string_value(value))
			    : -1;
	else if (host && json_is_string(value))
		n = asprintf(&text, "%s/%s", host, json_string_value(value));
	else if (host && json_is_integer(value))
		n = asprintf(&text, "%s/%" JSON_INTEGER_FORMAT, host, json_integer_value(value));
	if (n >= 0)
		table_add(t, text);
	else
		table_add_json(t, value);
}

void hosts_print_id(const struct hosts *hosts, long long id)
{
	if (hosts_several(hosts) && hosts->one)
		printf("%.*s/", (int)hosts->one_len, hosts->one);
	printf("%lld\n", id);
}
