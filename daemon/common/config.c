/*
 * The configuration.
 *
 * inih takes the lines apart; the sections are read here, before a line reaches it, because inih cuts long section names off
 * in silence, does not speak of a section without keys, and does not tell line numbers.  The table below is everything the parser
 * knows of a key: section, place, limits, and the words that tell a person what to write.
 *
 * The first fault ends the reading, so a sentence always speaks of the first one.
 */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <ini.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "config.h"

#ifndef CONFIG_FILE
#define CONFIG_FILE "/etc/mprofd/mprofd.conf"
#endif

/* Where xenconsoled writes them when it is told to. */
#define CONSOLE_LOGS "/var/log/xen/console"

#define MIB	     (1ull << 20)
#define GIB	     (1ull << 30)
#define DAY	     (86400 * NS_PER_S)
#define POLICIES_MAX 1024u
#define LISTEN_MAX   64u

enum section {
	SECTION_NONE,
	SECTION_COLLECTOR,
	SECTION_XEN,
	SECTION_ARCHIVE,
	SECTION_HTTP,
	SECTION_SINK,
	SECTION_POLICY,
	SECTIONS,
};

static const char *const section_names[SECTIONS] = {
	[SECTION_COLLECTOR] = "collector", [SECTION_XEN] = "xen",   [SECTION_ARCHIVE] = "archive",
	[SECTION_HTTP] = "http",	   [SECTION_SINK] = "sink", [SECTION_POLICY] = "policy",
};

enum kind {
	KIND_BYTES,
	KIND_DURATION,
	KIND_COUNT,
	KIND_NUMBER,
	KIND_SHARE,
	KIND_LISTEN,
	KIND_PATH,
	KIND_MODE,
	KIND_MEMTRACE
};

struct key {
	enum section section;
	const char *name;
	enum kind kind;
	size_t offset; /* in struct config, of a policy's key in struct policy */
	uint64_t least, most;
	const char *hint;
};

#define BYTES_HINT "a number of bytes such as 512K, 64MB or 1.5G"
#define AGE_HINT   "a duration such as 90s, 12h or 30d, or 0 for no limit"

/* In the order in which mprofd.conf describes them. */
static const struct key keys[] = {
	{SECTION_COLLECTOR, "queue", KIND_BYTES, offsetof(struct config, queue_bytes), MIB, 64 * GIB,
	 BYTES_HINT ", from 1M to 64G"},
	{SECTION_COLLECTOR, "queue-per-guest", KIND_BYTES, offsetof(struct config, queue_per_guest_bytes), MIB,
	 64 * GIB, BYTES_HINT ", from 1M to 64G"},
	{SECTION_COLLECTOR, "queue-reserve", KIND_BYTES, offsetof(struct config, queue_reserve_bytes), MIB, 64 * GIB,
	 BYTES_HINT ", from 1M to 64G"},
	{SECTION_COLLECTOR, "flush-interval", KIND_DURATION, offsetof(struct config, flush_interval_ns), 10 * NS_PER_MS,
	 60 * NS_PER_S, "a duration such as 500ms or 1s, from 10ms to 60s"},
	{SECTION_COLLECTOR, "burst-rate", KIND_BYTES, offsetof(struct config, burst_rate), 1024, 64 * GIB,
	 "bytes per second such as 4M, from 1K to 64G"},
	{SECTION_COLLECTOR, "cpu-budget", KIND_SHARE, offsetof(struct config, cpu_budget), 1000, 1000000,
	 "a share of one core such as 0.05, from 0.001 to 1"},
	{SECTION_XEN, "pages", KIND_NUMBER, offsetof(struct config, xen_pages), 0, UINT32_MAX,
	 "a whole number of pages up to 4294967295, or 0 for a quarter of what dom0 can map"},
	{SECTION_XEN, "console-logs", KIND_PATH, offsetof(struct config, xen_console_logs), 0, 0,
	 "a directory from / on, or nothing to read no console logs"},
	{SECTION_ARCHIVE, "bytes", KIND_BYTES, offsetof(struct config, archive_bytes), 0, INT64_MAX,
	 BYTES_HINT ", or 0 for no limit"},
	{SECTION_ARCHIVE, "age", KIND_DURATION, offsetof(struct config, archive_age_ns), 0, INT64_MAX, AGE_HINT},
	{SECTION_ARCHIVE, "free-space", KIND_BYTES, offsetof(struct config, free_space_bytes), 0, INT64_MAX,
	 BYTES_HINT ", or 0 to fill the disk"},
	{SECTION_ARCHIVE, "wal-limit", KIND_BYTES, offsetof(struct config, wal_limit_bytes), MIB, 64 * GIB,
	 BYTES_HINT ", from 1M to 64G"},
	{SECTION_ARCHIVE, "reserve", KIND_BYTES, offsetof(struct config, reserve_bytes), 0, 64 * GIB,
	 BYTES_HINT ", at most 64G, or 0 for none"},
	{SECTION_HTTP, "listen", KIND_LISTEN, offsetof(struct config, listen), 0, 0,
	 "unix:PATH or HOST:PORT, or nothing to forget those before it"},
	{SECTION_HTTP, "connections", KIND_COUNT, offsetof(struct config, connections), 1, 65536,
	 "a whole number from 1 to 65536"},
	{SECTION_SINK, "listen", KIND_LISTEN, offsetof(struct config, sink_listen), 0, 0,
	 "HOST:PORT with a numeric address, or nothing to forget those before it"},
	{SECTION_SINK, "streams", KIND_COUNT, offsetof(struct config, sink_streams), 1, 65536,
	 "a whole number from 1 to 65536"},
	{SECTION_SINK, "streams-per-guest", KIND_COUNT, offsetof(struct config, sink_guest_streams), 1, 65536,
	 "a whole number from 1 to 65536"},
	{SECTION_SINK, "rate", KIND_BYTES, offsetof(struct config, sink_rate), 0, INT64_MAX,
	 "bytes per second such as 64M, or 0 for no limit"},
	{SECTION_SINK, "rate-per-guest", KIND_BYTES, offsetof(struct config, sink_guest_rate), 0, INT64_MAX,
	 "bytes per second such as 16M, or 0 for no limit"},
	{SECTION_SINK, "bytes", KIND_BYTES, offsetof(struct config, sink_bytes), 0, INT64_MAX,
	 BYTES_HINT ", or 0 for no limit"},
	{SECTION_SINK, "bytes-per-guest", KIND_BYTES, offsetof(struct config, sink_guest_bytes), 0, INT64_MAX,
	 BYTES_HINT ", or 0 for no limit"},
	{SECTION_SINK, "age", KIND_DURATION, offsetof(struct config, sink_age_ns), 0, INT64_MAX, AGE_HINT},
	{SECTION_SINK, "queue", KIND_BYTES, offsetof(struct config, sink_queue_bytes), 4 * MIB, 64 * GIB,
	 BYTES_HINT ", from 4M to 64G"},
	{SECTION_SINK, "reconnect", KIND_DURATION, offsetof(struct config, sink_reconnect_ns), 0, 365 * DAY,
	 "a duration such as 60s, or 0 not to connect again"},
	{SECTION_POLICY, "mode", KIND_MODE, offsetof(struct policy, mode), 0, 0, "continuous, periodic or on-crash"},
	{SECTION_POLICY, "interval", KIND_DURATION, offsetof(struct policy, interval_ns), 100 * NS_PER_MS, 365 * DAY,
	 "a duration such as 60s, from 100ms to 365d"},
	{SECTION_POLICY, "bytes", KIND_BYTES, offsetof(struct policy, bytes), 0, INT64_MAX,
	 BYTES_HINT ", or 0 for no limit"},
	{SECTION_POLICY, "age", KIND_DURATION, offsetof(struct policy, age_ns), 0, INT64_MAX, AGE_HINT},
	{SECTION_POLICY, "memtrace", KIND_MEMTRACE, offsetof(struct policy, memtrace), 0, 0, "automatic or asked"},
};
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

/* One policy section.  A key's bit of SET is its index in the table. */
struct config_policy {
	char *glob; /* NULL = every guest */
	uint32_t set;
	struct policy values;
};
_Static_assert(N_KEYS <= 32, "a bit for each key");

struct parser {
	struct config *config;
	const char *file;
	FILE *stream;
	unsigned line;
	enum section section;
	char *error;
	size_t error_size;
	int fault; /* -errno of the first fault, or 0 */
};

bool config_key(size_t index, const char **section, const char **key)
{
	if (index >= N_KEYS)
		return false;
	*section = section_names[keys[index].section];
	*key = keys[index].name;
	return true;
}

/* A decimal number at TEXT times UNIT, rounded down; false if it is none or does not fit. */
static bool scale_number(const char *text, size_t len, uint64_t unit, uint64_t *value)
{
	size_t whole = strspn(text, "0123456789"), end = whole;
	uint64_t v = 0, fraction = 0;

	if (whole == 0 || whole > len)
		return false;
	for (size_t i = 0; i < whole; i++)
		if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(text[i] - '0'), &v))
			return false;
	if (text[whole] == '.') {
		end = whole + 1 + strspn(text + whole + 1, "0123456789");
		if (end == whole + 1)
			return false;
		/* From the last digit on, so that nothing is ever larger than ten units. */
		for (size_t i = end - 1; i > whole; i--)
			fraction = ((uint64_t)(text[i] - '0') * unit + fraction) / 10;
	}
	if (end != len || __builtin_mul_overflow(v, unit, &v))
		return false;
	return !__builtin_add_overflow(v, fraction, value);
}

struct unit {
	const char *name;
	uint64_t size;
};

static bool parse_unit(const char *text, const struct unit *units, size_t n_units, uint64_t *value)
{
	size_t len = strspn(text, "0123456789.");

	for (size_t i = 0; i < n_units; i++)
		if (strcmp(text + len, units[i].name) == 0)
			return scale_number(text, len, units[i].size, value);
	return false;
}

bool parse_duration(const char *text, uint64_t *ns)
{
	static const struct unit units[] = {
		{"ns", 1},	 {"us", NS_PER_US},    {"ms", NS_PER_MS},
		{"s", NS_PER_S}, {"m", 60 * NS_PER_S}, {"h", 3600 * NS_PER_S},
		{"d", DAY},
	};

	if (strcmp(text, "0") == 0) {
		*ns = 0;
		return true;
	}
	return parse_unit(text, units, sizeof(units) / sizeof(units[0]), ns);
}

bool parse_bytes(const char *text, uint64_t *bytes)
{
	static const struct unit units[] = {
		{"", 1}, {"B", 1}, {"K", 1024}, {"KB", 1024}, {"M", MIB}, {"MB", MIB}, {"G", GIB}, {"GB", GIB},
	};

	return parse_unit(text, units, sizeof(units) / sizeof(units[0]), bytes);
}

static int fail(struct parser *p, int fault, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Note the first fault with its place.  Returns the handler's "no". */
static int fail(struct parser *p, int fault, const char *format, ...)
{
	char sentence[512];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	if (p->fault)
		return 0;
	p->fault = fault;
	if (p->line)
		snprintf(p->error, p->error_size, "%s:%u: %s", p->file, p->line, sentence);
	else
		snprintf(p->error, p->error_size, "%s: %s", p->file, sentence);
	return 0;
}

static int fail_memory(struct parser *p)
{
	return fail(p, -ENOMEM, "no memory left to read the configuration");
}

static char **free_list(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
	return NULL;
}

static int set_listen(struct parser *p, const struct key *key, const char *value)
{
	char ***list = (char ***)((uint8_t *)p->config + key->offset);
	size_t n = 0;
	char **more;

	while (*list && (*list)[n])
		n++;
	if (!*value) {
		*list = free_list(*list);
		return 1;
	}
	if (!strchr(value, ':') || value[0] == ':' || value[strlen(value) - 1] == ':')
		return fail(p, -EINVAL, "listen = %s is no address: write %s", value, key->hint);
	if (n == LISTEN_MAX)
		return fail(p, -EINVAL, "more than %u listen addresses: remove some", LISTEN_MAX);
	more = realloc(*list, (n + 2) * sizeof(*more));
	if (!more)
		return fail_memory(p);
	*list = more;
	more[n + 1] = NULL;
	more[n] = strdup(value);
	return more[n] ? 1 : fail_memory(p);
}

/* A path replaces the one before it, the default's too. */
static int set_path(struct parser *p, const struct key *key, const char *value, char **path)
{
	char *copy;

	if (*value && *value != '/')
		return fail(p, -EINVAL, "%s = %s does not do: write %s", key->name, value, key->hint);
	copy = strdup(value);
	if (!copy)
		return fail_memory(p);
	free(*path);
	*path = copy;
	return 1;
}

static bool parse_mode(const char *value, enum policy_mode *mode)
{
	static const char *const names[] = {
		[POLICY_CONTINUOUS] = "continuous",
		[POLICY_PERIODIC] = "periodic",
		[POLICY_ON_CRASH] = "on-crash",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(value, names[i]) == 0) {
			*mode = (enum policy_mode)i;
			return true;
		}
	}
	return false;
}

static bool parse_memtrace(const char *value, enum policy_memtrace *memtrace)
{
	*memtrace = strcmp(value, "asked") == 0 ? MEMTRACE_ASKED : MEMTRACE_AUTOMATIC;
	return *memtrace == MEMTRACE_ASKED || strcmp(value, "automatic") == 0;
}

/* Parse VALUE into the field at OUT; false if it is not of the key's kind or outside its limits. */
static bool parse_value(const struct key *key, const char *value, void *out)
{
	uint64_t number = 0;
	bool is_number;

	switch (key->kind) {
	case KIND_MODE:
		return parse_mode(value, (enum policy_mode *)out);
	case KIND_MEMTRACE:
		return parse_memtrace(value, (enum policy_memtrace *)out);
	case KIND_DURATION:
		is_number = parse_duration(value, &number);
		break;
	case KIND_SHARE: /* in millionths, so that limits and parser are those of the others */
		is_number = scale_number(value, strlen(value), 1000000, &number);
		break;
	case KIND_COUNT:
	case KIND_NUMBER:
		is_number = scale_number(value, strlen(value), 1, &number) && !strchr(value, '.');
		break;
	default:
		is_number = parse_bytes(value, &number);
		break;
	}
	if (!is_number || number < key->least || number > key->most)
		return false;
	if (key->kind == KIND_SHARE)
		*(double *)out = (double)number / 1e6;
	else if (key->kind == KIND_COUNT)
		*(uint32_t *)out = (uint32_t)number;
	else
		*(uint64_t *)out = number;
	return true;
}

static int fail_unknown(struct parser *p, const char *name)
{
	char known[256] = "";
	size_t at = 0;

	for (size_t i = 0; i < N_KEYS; i++)
		if (keys[i].section == p->section && at < sizeof(known))
			at += (size_t)snprintf(known + at, sizeof(known) - at, "%s%s", at ? ", " : "", keys[i].name);
	return fail(p, -EINVAL, "[%s] has no key %s: write one of %s", section_names[p->section], name, known);
}

/* inih's handler: 0 is an error there.  The section that it passes is not used. */
static int handle_pair(void *context, const char *section, const char *name, const char *value)
{
	struct parser *p = context;
	uint8_t *base = (uint8_t *)p->config;
	size_t i = 0;

	(void)section;
	if (p->fault)
		return 0;
	if (p->section == SECTION_NONE)
		return fail(
			p, -EINVAL,
			"%s stands before any section: write [collector], [xen], [archive], [http], [sink] or [policy] "
			"above it",
			name);
	while (i < N_KEYS && (keys[i].section != p->section || strcmp(keys[i].name, name) != 0))
		i++;
	if (i == N_KEYS)
		return fail_unknown(p, name);
	if (keys[i].kind == KIND_LISTEN)
		return set_listen(p, &keys[i], value);
	if (keys[i].kind == KIND_PATH)
		return set_path(p, &keys[i], value, (char **)(base + keys[i].offset));
	if (p->section == SECTION_POLICY) {
		struct config_policy *policy = &p->config->policies[p->config->n_policies - 1];

		policy->set |= 1u << i;
		base = (uint8_t *)&policy->values;
	}
	if (!parse_value(&keys[i], value, base + keys[i].offset))
		return fail(p, -EINVAL, "%s = %s does not do: write %s", name, value, keys[i].hint);
	return 1;
}

static void begin_policy(struct parser *p, const char *glob)
{
	struct config *c = p->config;
	struct config_policy *more;

	if (c->n_policies == POLICIES_MAX) {
		fail(p, -EINVAL, "more than %u policy sections: join some by their globs", POLICIES_MAX);
		return;
	}
	more = realloc(c->policies, (c->n_policies + 1) * sizeof(*more));
	if (!more) {
		fail_memory(p);
		return;
	}
	c->policies = more;
	more[c->n_policies] = (struct config_policy){0};
	if (*glob) {
		more[c->n_policies].glob = strdup(glob);
		if (!more[c->n_policies].glob) {
			fail_memory(p);
			return;
		}
	}
	c->n_policies++;
}

/* The ']' that ends the section: the first with nothing but a comment behind it, since a glob may have brackets of its own. */
static char *section_end(char *line)
{
	for (char *end = strchr(line, ']'); end; end = strchr(end + 1, ']')) {
		const char *rest = end + 1 + strspn(end + 1, " \t\r\n");

		if (*rest == '\0' || *rest == '#' || *rest == ';')
			return end;
	}
	return NULL;
}

static void begin_section(struct parser *p, char *line)
{
	char *end = section_end(line), *name = line + 1, *glob;

	if (!end) {
		fail(p, -EINVAL, "a section must end with ] and nothing behind it");
		return;
	}
	*end = '\0';
	name += strspn(name, " \t");
	while (end > name && strchr(" \t", end[-1]))
		*--end = '\0';
	glob = name + strcspn(name, " \t");
	if (*glob)
		*glob++ = '\0';
	glob += strspn(glob, " \t");
	p->section = SECTION_NONE + 1;
	while (p->section < SECTIONS && strcmp(section_names[p->section], name) != 0)
		p->section++;
	if (p->section == SECTION_POLICY)
		begin_policy(p, glob);
	else if (p->section == SECTIONS || *glob)
		fail(p, -EINVAL,
		     "there is no section [%s%s%s]: write [collector], [xen], [archive], [http], [sink], [policy] or "
		     "[policy "
		     "GLOB]",
		     name, *glob ? " " : "", glob);
}

/* inih's reader: one line a call.  Leading blanks go, because inih would take such a line for more of the value before it. */
static char *next_line(char *out, int size, void *context)
{
	struct parser *p = context;
	size_t len, blank;

	if (p->fault || !fgets(out, size, p->stream))
		return NULL;
	p->line++;
	len = strlen(out);
	if ((len == 0 || out[len - 1] != '\n') && !feof(p->stream)) {
		if (len + 1 == (size_t)size)
			fail(p, -EINVAL, "the line is longer than %zu bytes: shorten it", len);
		else
			fail(p, -EINVAL, "the line holds a NUL byte: this is no text file");
		return NULL;
	}
	blank = strspn(out, " \t");
	if (p->line == 1 && strncmp(out, "\xef\xbb\xbf", 3) == 0)
		blank = 3 + strspn(out + 3, " \t");
	memmove(out, out + blank, len - blank + 1);
	if (out[0] == '[') {
		begin_section(p, out);
		out[0] = '\0';
	}
	return out;
}

/* Read one file into C.  An absent one is none if MAY_BE_ABSENT. */
static int load_file(struct config *c, const char *file, bool may_be_absent, char *error, size_t error_size)
{
	struct parser p = {.config = c, .file = file, .error = error, .error_size = error_size};
	CLEANUP(fclosep) FILE *stream = fopen(file, "re");
	int line;

	if (!stream) {
		if (errno == ENOENT && may_be_absent)
			return 0;
		fail(&p, -errno, "the configuration cannot be read: %s", strerror(errno));
		return p.fault;
	}
	p.stream = stream;
	line = ini_parse_stream(next_line, &p, handle_pair, &p);
	if (ferror(stream)) {
		p.line = 0;
		fail(&p, -EIO, "the configuration cannot be read to its end: %s", strerror(errno));
	} else if (line == -2) {
		fail_memory(&p);
	} else if (line > 0) {
		p.line = (unsigned)line;
		fail(&p, -EINVAL, "this is no section, no comment and no KEY = VALUE");
	}
	return p.fault;
}

static int is_drop_in(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return entry->d_name[0] != '.' && len > 5 && strcmp(entry->d_name + len - 5, ".conf") == 0;
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name); /* bytes, whatever the locale */
}

static int load_drop_ins(struct config *c, const char *file, char *error, size_t error_size)
{
	struct dirent **entries = NULL;
	char directory[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
	int n, r = 0;

	if ((size_t)snprintf(directory, sizeof(directory), "%s.d", file) >= sizeof(directory)) {
		snprintf(error, error_size, "%.64s…: the name of the configuration is too long", file);
		return -ENAMETOOLONG;
	}
	n = scandir(directory, &entries, is_drop_in, compare_names);
	if (n < 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			return 0;
		r = -errno;
		snprintf(error, error_size, "%s: the drop-ins cannot be listed: %s", directory, strerror(errno));
		return r;
	}
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
		if (r == 0)
			r = load_file(c, path, false, error, error_size);
		free(entries[i]);
	}
	free(entries);
	return r;
}

int config_load(struct config *c, const char *file, char *error, size_t error_size)
{
	struct config fresh = {
		.queue_bytes = 64 * MIB,
		.queue_per_guest_bytes = 32 * MIB,
		.queue_reserve_bytes = 64 * MIB,
		.flush_interval_ns = NS_PER_S,
		.burst_rate = 4 * MIB,
		.cpu_budget = 0.003,
		.xen_console_logs = strdup(CONSOLE_LOGS),
		.free_space_bytes = 256 * MIB,
		.wal_limit_bytes = 64 * MIB,
		.reserve_bytes = 64 * MIB,
		.connections = 256,
		.sink_streams = 1024,
		.sink_guest_streams = 4,
		.sink_rate = 256 * MIB,
		.sink_guest_rate = 16 * MIB,
		.sink_bytes = 16 * GIB,
		.sink_guest_bytes = GIB,
		.sink_age_ns = 30 * DAY,
		.sink_queue_bytes = 64 * MIB,
		.sink_reconnect_ns = 60 * NS_PER_S,
	};
	const char *name = file ? file : CONFIG_FILE;
	int r;

	if (!fresh.xen_console_logs) {
		snprintf(error, error_size, "%s: no memory left to read the configuration", name);
		return -ENOMEM;
	}
	r = load_file(&fresh, name, !file, error, error_size);
	if (r == 0)
		r = load_drop_ins(&fresh, name, error, error_size);
	if (r < 0) {
		config_deinit(&fresh);
		return r;
	}
	*c = fresh;
	return 0;
}

void config_deinit(struct config *c)
{
	free_list(c->listen);
	free_list(c->sink_listen);
	free(c->xen_console_logs);
	for (size_t i = 0; i < c->n_policies; i++)
		free(c->policies[i].glob);
	free(c->policies);
	*c = (struct config){0};
}

/* Of a policy's field. */
static size_t kind_size(enum kind kind)
{
	if (kind == KIND_MODE)
		return sizeof(enum policy_mode);
	return kind == KIND_MEMTRACE ? sizeof(enum policy_memtrace) : sizeof(uint64_t);
}

uint64_t config_free_space(const struct config *c)
{
	return c->free_space_bytes + 2 * c->wal_limit_bytes;
}

struct policy config_policy(const struct config *c, const char *name)
{
	struct policy policy = {
		.mode = POLICY_CONTINUOUS,
		.interval_ns = 60 * NS_PER_S,
		.bytes = GIB,
		.age_ns = 30 * DAY,
	};

	for (size_t i = 0; i < c->n_policies; i++) {
		const struct config_policy *p = &c->policies[i];

		if (p->glob && fnmatch(p->glob, name, 0) != 0)
			continue;
		for (size_t k = 0; k < N_KEYS; k++)
			if (p->set & 1u << k)
				memcpy((uint8_t *)&policy + keys[k].offset,
				       (const uint8_t *)&p->values + keys[k].offset, kind_size(keys[k].kind));
	}
	return policy;
}
