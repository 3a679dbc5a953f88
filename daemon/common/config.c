/*
 * Load the configuration.
 *
 * The library inih splits a line into key and value. This file parses the section headers itself,
 * before inih sees the line, because inih truncates long section names without an error, does not
 * report sections without keys, and gives no line numbers. The table of config-keys.c describes the
 * keys. Parsing ends at the first error.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <ini.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cleanup.h"
#include "config-keys.h"
#include "glob.h"
#include "network.h"
#include "quantity.h"

#ifndef CONFIG_FILE
#define CONFIG_FILE "/etc/mprofd/mprofd.conf"
#endif

/* Xenconsoled's log directory, if xenconsoled is configured to write logs. */
#define CONSOLE_LOGS "/var/log/xen/console"

/* Tokens of mprofd-http, in the directory that its unit gives it. */
#define TOKENS "/var/lib/mprofd-http/tokens"

#define POLICIES_MAX 1024u
#define GRANTS_MAX   1024u
#define NAMES_MAX    64u
#define LISTEN_MAX   64u
#define WORDS_MAX    4096u

/* One policy section of a file. Bit I of SET: the section sets the key of config_keys[I]. */
struct config_policy {
	char *glob; /* NULL = every guest */
	uint64_t set;
	struct policy values;
};

struct parser {
	struct config *config;
	const char *file;
	FILE *stream;
	unsigned line;
	enum section section;
	char *error;
	size_t error_size;
	int fault; /* -errno of the first error, or 0 */
};

static int fail(struct parser *p, int fault, const char *format, ...) __attribute__((format(printf, 3, 4)));

/*
 * Record the first error, with its file and line. Return 0, by which a handler tells inih that it
 * failed.
 */
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

static void grant_deinit(struct config_grant *grant)
{
	free(grant->who);
	free(grant->read);
	free(grant->context);
	free(grant->write);
}

/*
 * Append the BYTES bytes at TEXT to LIST, which has at most MOST entries; WHAT names them. Return 1,
 * or 0 after fail().
 */
static int list_append(struct parser *p, char ***list, const char *text, size_t bytes, size_t most, const char *what)
{
	size_t n = 0;
	char **more;

	while (*list && (*list)[n])
		n++;
	if (n == most)
		return fail(p, -EINVAL, "more than %zu %s: remove some", most, what);
	more = realloc(*list, (n + 2) * sizeof(*more));
	if (!more)
		return fail_memory(p);
	*list = more;
	more[n + 1] = NULL;
	more[n] = strndup(text, bytes);
	return more[n] ? 1 : fail_memory(p);
}

/* Return whether HOST, BYTES long, is a numeric address. */
static bool is_numeric(const char *host, size_t bytes)
{
	unsigned char address[16];
	char text[64];

	if (bytes >= sizeof(text))
		return false;
	memcpy(text, host, bytes);
	text[bytes] = '\0';
	if (bytes < 2 || text[0] != '[' || text[bytes - 1] != ']')
		return inet_pton(AF_INET, text, address) == 1;
	text[bytes - 1] = '\0';
	return inet_pton(AF_INET6, text + 1, address) == 1;
}

/* Return whether VALUE is an address at which the daemon of KEY can listen. */
static bool is_listen(const struct config_key *key, const char *value)
{
	bool http = key->section == SECTION_HTTP;
	const char *colon;
	uint64_t port;

	if (http && strncmp(value, "unix:", 5) == 0)
		return value[5] != '\0';
	if (http && strncmp(value, "https:", 6) == 0)
		value += 6;
	colon = strrchr(value, ':');
	return colon && quantity_whole(colon + 1, 65535, &port) &&
	       ((http && strncmp(value, "localhost:", 10) == 0 && colon == value + 9) ||
		is_numeric(value, (size_t)(colon - value)));
}

static int set_listen(struct parser *p, const struct config_key *key, const char *value, char ***list)
{
	if (!*value) {
		*list = free_list(*list);
		return 1;
	}
	if (!is_listen(key, value))
		return fail(p, -EINVAL, "listen = %s is no address: write %s", value, key->hint);
	return list_append(p, list, value, strlen(value), LISTEN_MAX, "listen addresses");
}

/* Append the names in VALUE, separated by blanks, to LIST; an empty VALUE clears it. */
static int set_names(struct parser *p, const char *value, char ***list)
{
	int ok = 1;

	if (!*value)
		*list = free_list(*list);
	for (size_t n; ok && *(value += strspn(value, " \t")); value += n) {
		n = strcspn(value, " \t");
		ok = list_append(p, list, value, n, NAMES_MAX, "names");
	}
	return ok;
}

/* Append the networks in VALUE to LIST, as set_names() does. */
static int set_networks(struct parser *p, const struct config_key *key, const char *value, char ***list)
{
	size_t n = 0, before = 0;
	struct network network;

	while (*list && (*list)[before])
		before++;
	if (!set_names(p, value, list))
		return 0;
	for (n = *value ? before : 0; *list && (*list)[n]; n++)
		if (!network_parse((*list)[n], &network))
			return fail(p, -EINVAL, "%s = %s: %.64s is no address and no network: write %s", key->name,
				    value, (*list)[n], key->hint);
	return 1;
}

/* Set *TEXT to a copy of VALUE and free the previous text. Return 1, or 0 after fail(). */
static int set_text(struct parser *p, const char *value, char **text)
{
	char *copy = strdup(value);

	if (!copy)
		return fail_memory(p);
	free(*text);
	*text = copy;
	return 1;
}

/* Append VALUE to *TEXT, behind a blank; an empty VALUE clears it. Return 1, or 0 after fail(). */
static int add_words(struct parser *p, const struct config_key *key, const char *value, char **text)
{
	char *joined = NULL;

	if (!*value || !**text)
		return set_text(p, value, text);
	if (strlen(*text) + strlen(value) + 1 > WORDS_MAX)
		return fail(p, -EINVAL, "%s is longer than %u bytes: shorten it", key->name, WORDS_MAX);
	if (asprintf(&joined, "%s %s", *text, value) < 0)
		return fail_memory(p);
	free(*text);
	*text = joined;
	return 1;
}

static int set_file(struct parser *p, const struct config_key *key, const char *value, char **file)
{
	const char *name = strncmp(value, "credential:", 11) == 0 ? value + 11 : NULL;

	if (name ? !*name || strchr(name, '/') != NULL : *value && *value != '/')
		return fail(p, -EINVAL, "%s = %s does not do: write %s", key->name, value, key->hint);
	return set_text(p, value, file);
}

static int set_globs(struct parser *p, const struct config_key *key, const char *value, char **globs)
{
	if (!glob_closed(value))
		return fail(p, -EINVAL, "%s = %s has a [ without its ]: write %s", key->name, value, key->hint);
	return set_text(p, value, globs);
}

/* Set *PATH to a copy of VALUE and free the previous path. Return 1, or 0 after fail(). */
static int set_path(struct parser *p, const struct config_key *key, const char *value, char **path)
{
	if (*value && *value != '/')
		return fail(p, -EINVAL, "%s = %s does not do: write %s", key->name, value, key->hint);
	return set_text(p, value, path);
}

/* Set the text of KEY in the struct at BASE. Return 1, or 0 after fail(). */
static int set_texts(struct parser *p, const struct config_key *key, const char *value, uint8_t *base)
{
	char **text = (char **)(base + key->offset);
	char ***list = (char ***)(base + key->offset);

	switch (key->kind) {
	case KIND_LISTEN:
		return set_listen(p, key, value, list);
	case KIND_NAMES:
		return set_names(p, value, list);
	case KIND_NETWORKS:
		return set_networks(p, key, value, list);
	case KIND_PATH:
		return set_path(p, key, value, text);
	case KIND_FILE:
		return set_file(p, key, value, text);
	case KIND_WORDS:
		return add_words(p, key, value, text);
	default:
		return set_globs(p, key, value, text);
	}
}

static bool is_text(const struct config_key *key)
{
	return key->kind == KIND_LISTEN || key->kind == KIND_NAMES || key->kind == KIND_NETWORKS ||
	       key->kind == KIND_PATH || key->kind == KIND_FILE || key->kind == KIND_GLOBS || key->kind == KIND_WORDS;
}

static int fail_unknown(struct parser *p, const char *name)
{
	char known[512] = "";
	size_t at = 0;

	for (size_t i = 0; i < config_n_keys; i++)
		if (config_keys[i].section == p->section && at < sizeof(known))
			at += (size_t)snprintf(known + at, sizeof(known) - at, "%s%s", at ? ", " : "",
					       config_keys[i].name);
	return fail(p, -EINVAL, "[%s] has no key %s: write one of %s", config_sections[p->section], name, known);
}

/*
 * Inih calls this for each key. Return 1, or 0 on failure. SECTION is not used, because this file
 * parses section headers itself.
 */
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
			"%s stands before any section: write [collector], [xen], [archive], [http], [sink], [policy], "
			"[fleet], [access] or [grant WHO] above it",
			name);
	while (i < config_n_keys && (config_keys[i].section != p->section || strcmp(config_keys[i].name, name) != 0))
		i++;
	if (i == config_n_keys)
		return fail_unknown(p, name);
	if (p->section == SECTION_GRANT)
		base = (uint8_t *)&p->config->grants[p->config->n_grants - 1];
	if (p->section == SECTION_FLEET && config_keys[i].kind != KIND_SEND &&
	    p->config->policies[p->config->n_policies - 1].glob)
		return fail(p, -EINVAL, "%s belongs to all guests: write it below [fleet], not below [fleet GLOB]",
			    name);
	if (is_text(&config_keys[i]))
		return set_texts(p, &config_keys[i], value, base);
	if (p->section == SECTION_POLICY || config_keys[i].kind == KIND_SEND) {
		struct config_policy *policy = &p->config->policies[p->config->n_policies - 1];

		policy->set |= UINT64_C(1) << i;
		base = (uint8_t *)&policy->values;
	}
	if (!config_key_parse(&config_keys[i], value, base + config_keys[i].offset))
		return fail(p, -EINVAL, "%s = %s does not do: write %s", name, value, config_keys[i].hint);
	return 1;
}

static void begin_policy(struct parser *p, const char *glob)
{
	struct config *c = p->config;
	struct config_policy *more;

	if (!glob_closed(glob)) {
		fail(p, -EINVAL,
		     "the glob %s has a [ without its ]: write [policy web-[0-9]] for a set of characters, or \\[ for "
		     "the character",
		     glob);
		return;
	}
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

/* Set KIND and NAME from WHO. Return false if WHO is malformed. */
static bool parse_who(struct config_grant *grant)
{
	static const char *const kinds[] = {[GRANT_USER] = "user:",
					    [GRANT_GROUP] = "group:",
					    [GRANT_CERTIFICATE] = "certificate:",
					    [GRANT_REMOTE] = "remote:"};

	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strncmp(grant->who, kinds[i], strlen(kinds[i])) != 0)
			continue;
		grant->kind = (enum grant_kind)i;
		grant->name = grant->who + strlen(kinds[i]);
		return *grant->name != '\0';
	}
	return false;
}

static void begin_grant(struct parser *p, const char *who)
{
	struct config *c = p->config;
	struct config_grant grant = {0}, *more;

	if (c->n_grants == GRANTS_MAX) {
		fail(p, -EINVAL, "more than %u grants: use groups", GRANTS_MAX);
		return;
	}
	more = realloc(c->grants, (c->n_grants + 1) * sizeof(*more));
	if (more)
		c->grants = more;
	grant.who = strdup(who);
	grant.read = strdup("");
	grant.context = strdup("");
	grant.write = strdup("");
	if (!more || !grant.who || !grant.read || !grant.context || !grant.write) {
		fail_memory(p);
	} else if (!parse_who(&grant)) {
		fail(p, -EINVAL,
		     "[grant %s] names nobody: write [grant user:NAME], [grant group:NAME], [grant certificate:NAME] "
		     "or [grant remote:NAME]",
		     who);
	} else {
		more[c->n_grants++] = grant;
		return;
	}
	grant_deinit(&grant);
}

/*
 * Return the ']' that ends the section header in LINE, or NULL. It is the first ']' behind which
 * only blanks or a comment follow: a glob may contain brackets, too.
 */
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
	while (p->section < SECTIONS && strcmp(config_sections[p->section], name) != 0)
		p->section++;
	if (p->section == SECTION_POLICY || p->section == SECTION_FLEET)
		begin_policy(p, glob);
	else if (p->section == SECTION_GRANT)
		begin_grant(p, glob);
	else if (p->section == SECTIONS || *glob)
		fail(p, -EINVAL,
		     "there is no section [%s%s%s]: write [collector], [xen], [archive], [http], [sink], [policy], "
		     "[policy GLOB], [fleet], [fleet GLOB], [access] or [grant WHO]",
		     name, *glob ? " " : "", glob);
	p->config->access |= p->section == SECTION_ACCESS;
}

/*
 * Inih calls this for each line. Skip the blanks at the start of a line, because inih would append
 * an indented line to the previous value.
 */
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

/*
 * Read one file into C. If MAY_BE_ABSENT, a missing file is no error. Return 0; or -errno, with a
 * sentence in ERROR (ERROR_SIZE bytes).
 */
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
	return strcmp((*a)->d_name, (*b)->d_name); /* compare bytes, independent of the locale */
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

/* Set what is not configured. Return 0; or -ENOMEM, and then C needs config_deinit(), too. */
static int config_init(struct config *c)
{
	*c = (struct config){
		.queue_bytes = 64 * MIB,
		.queue_per_guest_bytes = 32 * MIB,
		.queue_reserve_bytes = 64 * MIB,
		.flush_interval_ns = 30 * NS_PER_S,
		.burst_rate = 4 * MIB,
		.cpu_budget = 0.003,
		.xen_console_logs = strdup(CONSOLE_LOGS),
		.vcpu_interval_ns = 10 * NS_PER_MS,
		.free_space_bytes = 256 * MIB,
		.wal_limit_bytes = 64 * MIB,
		.reserve_bytes = 64 * MIB,
		.keep_unread_ns = DAY,
		.connections = 256,
		.peer_connections = 192,
		.header_timeout_ns = 10 * NS_PER_S,
		.body_timeout_ns = 30 * NS_PER_S,
		.idle_timeout_ns = 120 * NS_PER_S,
		.sink_streams = 1024,
		.sink_guest_streams = 4,
		.sink_rate = 256 * MIB,
		.sink_guest_rate = 16 * MIB,
		.sink_bytes = 16 * GIB,
		.sink_guest_bytes = GIB,
		.sink_age_ns = 30 * DAY,
		.sink_queue_bytes = 64 * MIB,
		.sink_reconnect_ns = 60 * NS_PER_S,
		.fleet_connection = strdup(""),
		.http_fleet = strdup(""),
		.http_copies_bytes = 4 * GIB,
		.http_reader = true,
		.http_decoded = 256 * MIB,
		.access_certificate = strdup(""),
		.access_key = strdup(""),
		.access_client_ca = strdup(""),
		.access_client_crl = strdup(""),
		.access_tokens = strdup(TOKENS),
		.session_life_ns = 12 * 3600 * NS_PER_S,
		.identity_requests = 64,
		.identity_live = 32,
		.peer_handshakes = 50,
	};

	return c->xen_console_logs && c->fleet_connection && c->http_fleet && c->access_certificate && c->access_key &&
			       c->access_client_ca && c->access_client_crl && c->access_tokens
		       ? 0
		       : -ENOMEM;
}

int config_load(struct config *c, const char *file, char *error, size_t error_size)
{
	const char *name = file ? file : CONFIG_FILE;
	struct config fresh;
	int r = config_init(&fresh);

	if (r < 0) {
		snprintf(error, error_size, "%s: no memory left to read the configuration", name);
		config_deinit(&fresh);
		return r;
	}
	r = load_file(&fresh, name, !file, error, error_size);
	if (r == 0)
		r = load_drop_ins(&fresh, name, error, error_size);
	if (r == 0 && fresh.n_grants && !fresh.access) {
		snprintf(error, error_size, "%s: [grant %s] stands without access control: write a section [access]",
			 name, fresh.grants[0].who);
		r = -EINVAL;
	}
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
	free_list(c->proxies);
	free_list(c->sink_listen);
	free_list(c->access_names);
	free(c->xen_console_logs);
	free(c->access_certificate);
	free(c->access_key);
	free(c->access_client_ca);
	free(c->access_client_crl);
	free(c->access_tokens);
	free(c->fleet_connection);
	free(c->http_fleet);
	for (size_t i = 0; i < c->n_grants; i++)
		grant_deinit(&c->grants[i]);
	free(c->grants);
	for (size_t i = 0; i < c->n_policies; i++)
		free(c->policies[i].glob);
	free(c->policies);
	*c = (struct config){0};
}

bool config_any_vcpu(const struct config *c)
{
	for (size_t i = 0; i < c->n_policies; i++)
		if (c->policies[i].values.vcpu)
			return true;
	return false;
}

bool config_any_on_crash(const struct config *c)
{
	for (size_t i = 0; i < c->n_policies; i++)
		if (c->policies[i].values.mode == POLICY_ON_CRASH)
			return true;
	return false;
}

uint64_t config_free_space(const struct config *c)
{
	return c->free_space_bytes + 2 * c->wal_limit_bytes;
}

uint64_t config_smallest_space(const struct config *c)
{
	return config_free_space(c) + c->reserve_bytes;
}

uint64_t config_keep_unread(const struct config *c)
{
	return c->http_reader && !*c->http_fleet ? c->keep_unread_ns : 0;
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
		for (size_t k = 0; k < config_n_keys; k++)
			if (p->set & UINT64_C(1) << k)
				memcpy((uint8_t *)&policy + config_keys[k].offset,
				       (const uint8_t *)&p->values + config_keys[k].offset,
				       config_key_policy_size(&config_keys[k]));
	}
	/* Its captures have all packets. Those of a capture that the reader has not looked at are sent if it becomes a crash. */
	if (policy.mode == POLICY_ON_CRASH && policy.send == SEND_ALL)
		policy.send = SEND_CAPTURES;
	return policy;
}

bool config_sends(const struct config *c)
{
	for (size_t i = 0; i < c->n_policies; i++)
		if (c->policies[i].values.send != SEND_NOTHING)
			return true;
	return false;
}
