/*
 * The table of configuration keys, and the parser of their values. A table entry gives a key's
 * section, its field in struct config or struct policy, its limits, and the sentence about accepted
 * values that error messages print.
 */
#include "config-keys.h"

#include <string.h>

#include "array.h"
#include "quantity.h"

const char *const config_sections[SECTIONS] = {
	[SECTION_COLLECTOR] = "collector", [SECTION_XEN] = "xen",	[SECTION_ARCHIVE] = "archive",
	[SECTION_HTTP] = "http",	   [SECTION_SINK] = "sink",	[SECTION_POLICY] = "policy",
	[SECTION_FLEET] = "fleet",	   [SECTION_ACCESS] = "access", [SECTION_GRANT] = "grant",
};

#define BYTES_HINT "a number of bytes such as 512K, 64MB or 1.5G"
#define AGE_HINT   "a duration such as 90s, 12h or 30d, or 0 for no limit"
#define WAIT_HINT  "a duration such as 10s, from 1s to 1d"
#define FILE_HINT  "a file from / on, credential:NAME for a credential of the unit, or nothing for none"
#define GLOBS_HINT "globs of guest names, separated by blanks, such as web* db-?"

/* In the order in which mprofd.conf describes the keys. */
const struct config_key config_keys[] = {
	{SECTION_COLLECTOR, "queue", KIND_BYTES, offsetof(struct config, queue_bytes), MIB, 64 * GIB,
	 BYTES_HINT ", from 1M to 64G"},
	{SECTION_COLLECTOR, "queue-per-guest", KIND_BYTES, offsetof(struct config, queue_per_guest_bytes), MIB,
	 64 * GIB, BYTES_HINT ", from 1M to 64G"},
	{SECTION_COLLECTOR, "queue-reserve", KIND_BYTES, offsetof(struct config, queue_reserve_bytes), MIB, 64 * GIB,
	 BYTES_HINT ", from 1M to 64G"},
	{SECTION_COLLECTOR, "flush-interval", KIND_DURATION, offsetof(struct config, flush_interval_ns), 10 * NS_PER_MS,
	 60 * NS_PER_S, "a duration such as 500ms or 30s, from 10ms to 60s"},
	{SECTION_COLLECTOR, "burst-rate", KIND_BYTES, offsetof(struct config, burst_rate), 1024, 64 * GIB,
	 "bytes per second such as 4M, from 1K to 64G"},
	{SECTION_COLLECTOR, "cpu-budget", KIND_SHARE, offsetof(struct config, cpu_budget), 1000, 1000000,
	 "a share of one core such as 0.05, from 0.001 to 1"},
	{SECTION_XEN, "pages", KIND_NUMBER, offsetof(struct config, xen_pages), 0, UINT32_MAX,
	 "a whole number of pages up to 4294967295, or 0 for a quarter of what dom0 can map"},
	{SECTION_XEN, "console-logs", KIND_PATH, offsetof(struct config, xen_console_logs), 0, 0,
	 "a directory from / on, or nothing to read no console logs"},
	{SECTION_XEN, "vcpu-interval", KIND_DURATION, offsetof(struct config, vcpu_interval_ns), NS_PER_MS, NS_PER_S,
	 "a duration such as 10ms, from 1ms to 1s"},
	{SECTION_ARCHIVE, "bytes", KIND_BYTES, offsetof(struct config, archive_bytes), 0, INT64_MAX,
	 BYTES_HINT ", or 0 for no limit"},
	{SECTION_ARCHIVE, "age", KIND_DURATION, offsetof(struct config, archive_age_ns), 0, INT64_MAX, AGE_HINT},
	{SECTION_ARCHIVE, "free-space", KIND_BYTES, offsetof(struct config, free_space_bytes), 0, INT64_MAX,
	 BYTES_HINT ", or 0 to fill the disk"},
	{SECTION_ARCHIVE, "wal-limit", KIND_BYTES, offsetof(struct config, wal_limit_bytes), MIB, 64 * GIB,
	 BYTES_HINT ", from 1M to 64G"},
	{SECTION_ARCHIVE, "reserve", KIND_BYTES, offsetof(struct config, reserve_bytes), 0, 64 * GIB,
	 BYTES_HINT ", at most 64G, or 0 for none"},
	{SECTION_ARCHIVE, "keep-unread", KIND_DURATION, offsetof(struct config, keep_unread_ns), 0, 365 * DAY,
	 "a duration such as 1h or 1d, at most 365d, or 0 for not at all"},
	{SECTION_HTTP, "listen", KIND_LISTEN, offsetof(struct config, listen), 0, 0,
	 "unix:PATH, HOST:PORT or https:HOST:PORT, or nothing to forget those before it"},
	{SECTION_HTTP, "proxy", KIND_NETWORKS, offsetof(struct config, proxies), 0, 0,
	 "addresses and networks of proxies such as 192.0.2.7 or 2001:db8::/64, separated by blanks, or nothing to "
	 "forget "
	 "those before them"},
	{SECTION_HTTP, "connections", KIND_COUNT, offsetof(struct config, connections), 1, 65536,
	 "a whole number from 1 to 65536"},
	{SECTION_HTTP, "connections-per-peer", KIND_COUNT, offsetof(struct config, peer_connections), 1, 65536,
	 "a whole number from 1 to 65536"},
	{SECTION_HTTP, "header-timeout", KIND_DURATION, offsetof(struct config, header_timeout_ns), NS_PER_S, DAY,
	 WAIT_HINT},
	{SECTION_HTTP, "body-timeout", KIND_DURATION, offsetof(struct config, body_timeout_ns), NS_PER_S, DAY,
	 WAIT_HINT},
	{SECTION_HTTP, "idle-timeout", KIND_DURATION, offsetof(struct config, idle_timeout_ns), NS_PER_S, DAY,
	 WAIT_HINT},
	{SECTION_HTTP, "reader", KIND_YES, offsetof(struct config, http_reader), 0, 0, "yes or no"},
	{SECTION_HTTP, "decoded", KIND_BYTES, offsetof(struct config, http_decoded), 0, INT64_MAX, BYTES_HINT},
	{SECTION_HTTP, "fleet", KIND_WORDS, offsetof(struct config, http_fleet), 0, 0,
	 "a connection string of libpq such as host=hub dbname=fleet, or nothing to forget those before it"},
	{SECTION_HTTP, "copies", KIND_BYTES, offsetof(struct config, http_copies_bytes), 64 * MIB, INT64_MAX,
	 BYTES_HINT ", at least 64M"},
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
	{SECTION_POLICY, "vcpu", KIND_YES, offsetof(struct policy, vcpu), 0, 0, "yes or no"},
	{SECTION_FLEET, "send", KIND_SEND, offsetof(struct policy, send), 0, 0, "nothing, captures or all"},
	{SECTION_FLEET, "connection", KIND_WORDS, offsetof(struct config, fleet_connection), 0, 0,
	 "a connection string of libpq such as host=hub dbname=mprofd"},
	{SECTION_FLEET, "rate", KIND_BYTES, offsetof(struct config, fleet_rate), 0, INT64_MAX,
	 "bytes per second such as 4M, or 0 for no limit"},
	{SECTION_ACCESS, "certificate", KIND_FILE, offsetof(struct config, access_certificate), 0, 0, FILE_HINT},
	{SECTION_ACCESS, "key", KIND_FILE, offsetof(struct config, access_key), 0, 0, FILE_HINT},
	{SECTION_ACCESS, "client-ca", KIND_FILE, offsetof(struct config, access_client_ca), 0, 0, FILE_HINT},
	{SECTION_ACCESS, "client-crl", KIND_FILE, offsetof(struct config, access_client_crl), 0, 0, FILE_HINT},
	{SECTION_ACCESS, "names", KIND_NAMES, offsetof(struct config, access_names), 0, 0,
	 "names and addresses of this server, separated by blanks, or nothing to forget those before them"},
	{SECTION_ACCESS, "tokens", KIND_FILE, offsetof(struct config, access_tokens), 0, 0, FILE_HINT},
	{SECTION_ACCESS, "session-life", KIND_DURATION, offsetof(struct config, session_life_ns), 60 * NS_PER_S,
	 30 * DAY, "a duration such as 12h, from 60s to 30d"},
	{SECTION_ACCESS, "requests-per-identity", KIND_COUNT, offsetof(struct config, identity_requests), 1, 65536,
	 "a whole number from 1 to 65536"},
	{SECTION_ACCESS, "live-per-identity", KIND_COUNT, offsetof(struct config, identity_live), 1, 65536,
	 "a whole number from 1 to 65536"},
	{SECTION_ACCESS, "handshakes-per-peer", KIND_COUNT, offsetof(struct config, peer_handshakes), 1, 65536,
	 "handshakes a second, a whole number from 1 to 65536"},
	{SECTION_GRANT, "read", KIND_GLOBS, offsetof(struct config_grant, read), 0, 0, GLOBS_HINT},
	{SECTION_GRANT, "context", KIND_GLOBS, offsetof(struct config_grant, context), 0, 0, GLOBS_HINT},
	{SECTION_GRANT, "write", KIND_GLOBS, offsetof(struct config_grant, write), 0, 0, GLOBS_HINT},
	{SECTION_GRANT, "metrics", KIND_YES, offsetof(struct config_grant, metrics), 0, 0, "yes or no"},
};
const size_t config_n_keys = ARRAY_SIZE(config_keys);
_Static_assert(ARRAY_SIZE(config_keys) <= 64, "a bit for each key");

bool config_key(size_t index, const char **section, const char **key)
{
	if (index >= config_n_keys)
		return false;
	*section = config_sections[config_keys[index].section];
	*key = config_keys[index].name;
	return true;
}

static bool parse_mode(const char *value, enum policy_mode *mode)
{
	static const char *const names[] = {
		[POLICY_CONTINUOUS] = "continuous",
		[POLICY_PERIODIC] = "periodic",
		[POLICY_ON_CRASH] = "on-crash",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
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

static bool parse_send(const char *value, enum policy_send *send)
{
	static const char *const names[] = {
		[SEND_NOTHING] = "nothing",
		[SEND_CAPTURES] = "captures",
		[SEND_ALL] = "all",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(value, names[i]) == 0) {
			*send = (enum policy_send)i;
			return true;
		}
	}
	return false;
}

bool config_key_parse(const struct config_key *key, const char *value, void *out)
{
	uint64_t number = 0;
	bool is_number;

	switch (key->kind) {
	case KIND_YES:
		*(bool *)out = strcmp(value, "yes") == 0;
		return *(bool *)out || strcmp(value, "no") == 0;
	case KIND_MODE:
		return parse_mode(value, (enum policy_mode *)out);
	case KIND_MEMTRACE:
		return parse_memtrace(value, (enum policy_memtrace *)out);
	case KIND_SEND:
		return parse_send(value, (enum policy_send *)out);
	case KIND_DURATION:
		is_number = quantity_duration(value, &number);
		break;
	case KIND_SHARE: /* a fraction of one, parsed as a whole number of millionths */
		is_number = quantity_number(value, 1000000, &number);
		break;
	case KIND_COUNT:
	case KIND_NUMBER:
		is_number = quantity_number(value, 1, &number) && !strchr(value, '.');
		break;
	default:
		is_number = quantity_bytes(value, &number);
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

size_t config_key_policy_size(const struct config_key *key)
{
	if (key->kind == KIND_MODE)
		return sizeof(enum policy_mode);
	if (key->kind == KIND_YES)
		return sizeof(bool);
	if (key->kind == KIND_SEND)
		return sizeof(enum policy_send);
	return key->kind == KIND_MEMTRACE ? sizeof(enum policy_memtrace) : sizeof(uint64_t);
}
