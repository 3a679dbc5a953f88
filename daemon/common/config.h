/*
 * The configuration: one INI file, then every *.conf of the drop-in directory beside it (FILE.d) in order of name.
 *
 *   [collector]  queue, queue-per-guest, queue-reserve, flush-interval, burst-rate, cpu-budget
 *   [xen]        pages, console-logs
 *   [archive]    bytes, age, free-space, wal-limit, reserve
 *   [http]       listen (repeatable; an empty one forgets those before it), connections
 *   [sink]       listen (as above), streams, streams-per-guest, rate, rate-per-guest, bytes, bytes-per-guest, age, queue, reconnect
 *   [policy]     applies to every guest; [policy GLOB] to guests whose name matches; the last match wins per key:
 *                mode = continuous | periodic | on-crash, interval, bytes, age, memtrace = automatic | asked
 *
 * An unknown section or key, or a value that does not parse, is one clear sentence (file, line, what, what to write
 * instead) and the program does not start: a typo in a quota must not be found out when the disk is full.
 */
#ifndef COMMON_CONFIG_H
#define COMMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum policy_mode { POLICY_CONTINUOUS, POLICY_PERIODIC, POLICY_ON_CRASH };
/* A guest that offers its memory profile is connected to: by itself, or when somebody asks for that. */
enum policy_memtrace { MEMTRACE_AUTOMATIC, MEMTRACE_ASKED };

/* What is kept of one guest. */
struct policy {
	enum policy_mode mode;	       /* default continuous */
	uint64_t interval_ns;	       /* periodic: between snapshots; default 60 s */
	uint64_t bytes;		       /* of archived content per guest; 0 = no limit; default 1 GiB */
	uint64_t age_ns;	       /* 0 = no limit; default 30 days */
	enum policy_memtrace memtrace; /* default automatic */
};

struct config {
	uint64_t queue_bytes;		/* default 64 MiB, least 1 MiB */
	uint64_t queue_per_guest_bytes; /* default 32 MiB */
	uint64_t queue_reserve_bytes;	/* room for the dead; default 64 MiB */
	uint64_t flush_interval_ns;	/* default 1 s; 10 ms to 60 s */
	uint64_t burst_rate;		/* bytes per second an idle ring is assumed to burst at; default 4 MiB/s */
	double cpu_budget;		/* share of one core for looking at rings; default 0.003 */
	uint64_t xen_pages;	     /* over all guests' rings; 0 = a quarter of dom0's maptrack entries; default 0 */
	char *xen_console_logs;	     /* directory, absolute; "" = read none; default /var/log/xen/console */
	uint64_t archive_bytes;	     /* of the whole archive; 0 = no limit; default 0 */
	uint64_t archive_age_ns;     /* 0 = no limit; default 0 */
	uint64_t free_space_bytes;   /* keep this much of the file system free; default 256 MiB */
	uint64_t wal_limit_bytes;    /* default 64 MiB */
	uint64_t reserve_bytes;	     /* the reserve file given up on a full disk; default 64 MiB; 0 = none */
	char **listen;		     /* NULL-terminated; NULL = none configured */
	uint32_t connections;	     /* per listener; default 256 */
	uint32_t peer_connections;   /* the same, of one peer; default 192 */
	uint64_t header_timeout_ns;  /* for a whole request header; default 10 s; 1 s to 1 d */
	uint64_t body_timeout_ns;    /* for a whole request body; default 30 s; the same range */
	uint64_t idle_timeout_ns;    /* for anything to move; default 120 s; the same range */
	char **sink_listen;	     /* NULL-terminated; NULL = guests cannot connect */
	uint32_t sink_streams;	     /* at a time; default 1024 */
	uint32_t sink_guest_streams; /* the same, per guest; default 4 */
	uint64_t sink_rate;	     /* bytes per second, over all; 0 = no limit; default 256 MiB */
	uint64_t sink_guest_rate;    /* the same, per guest; default 16 MiB */
	uint64_t sink_bytes;	     /* of recordings, over all; 0 = no limit; default 16 GiB */
	uint64_t sink_guest_bytes;   /* the same, per guest; default 1 GiB */
	uint64_t sink_age_ns;	     /* 0 = no limit; default 30 days */
	uint64_t sink_queue_bytes;   /* received and not committed; default 64 MiB, least 4 MiB */
	uint64_t sink_reconnect_ns;  /* how long a guest that was asked for is tried again; 0 = not; default 60 s */
	struct config_policy *policies; /* in the order of the file */
	size_t n_policies;
};

/*
 * Read FILE (NULL: /etc/mprofd/mprofd.conf, or where the build's sysconfdir puts it, which may be absent) and its drop-ins.
 * Returns 0, or -errno with a sentence in ERROR (of ERROR_SIZE bytes) and *C untouched.  Bytes take K, M, G (powers of 1024) with
 * an optional B; durations end in ns, us, ms, s, m, h or d.
 */
int config_load(struct config *c, const char *file, char *error, size_t error_size);
void config_deinit(struct config *c);

/*
 * So many bytes are to be free on the archives' file system, the reserve not counted: what is asked for, and what the write-ahead log can take, which is
 * twice its limit before a checkpoint gives it back.
 */
uint64_t config_free_space(const struct config *c);

/* The policy for a guest of this NAME. */
struct policy config_policy(const struct config *c, const char *name);

/* The key that the parser knows at INDEX and its section; false past the last.  The names are constants. */
bool config_key(size_t index, const char **section, const char **key);

#endif
