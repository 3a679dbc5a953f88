/*
 * The configuration: one INI file, then every *.conf of the drop-in directory beside it (FILE.d),
 * sorted by name.
 *
 *  [collector]  queue, queue-per-guest, queue-reserve, flush-interval, burst-rate, cpu-budget
 *  [xen]        pages, console-logs, vcpu-interval
 *  [archive]    bytes, age, free-space, wal-limit, reserve, keep-unread
 *  [http]       listen, proxy (repeatable; an empty one clears the list), connections, reader; fleet, copies: of a hub
 *  [sink]       listen (as above), streams, streams-per-guest, rate, rate-per-guest, bytes,
 *               bytes-per-guest, age, queue, reconnect
 *  [policy]     every guest; [policy GLOB]: guests whose name matches. The last match wins per key:
 *               mode = continuous | periodic | on-crash, interval, bytes, age,
 *               memtrace = automatic | asked, vcpu = yes | no
 *  [fleet]      connection, rate; [fleet] and [fleet GLOB]: send = nothing | captures | all
 *  [access]     turns on access control of mprofd-http: certificate, key, client-ca, client-crl,
 *               names (repeatable), tokens, session-life, requests-per-identity, live-per-identity,
 *               handshakes-per-peer
 *  [grant WHO]  rights of user:NAME, group:NAME, certificate:NAME or remote:NAME: read, context,
 *               write, metrics
 *
 * If a section or key is unknown or a value does not parse, the program prints one sentence (file,
 * line, error, accepted values) and does not start. So nobody finds a typo in a quota only when the
 * disk is full.
 */
#ifndef COMMON_CONFIG_H
#define COMMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum policy_mode { POLICY_CONTINUOUS, POLICY_PERIODIC, POLICY_ON_CRASH };
/* When to connect to a guest that offers its memory profile: automatically, or on request. */
enum policy_memtrace { MEMTRACE_AUTOMATIC, MEMTRACE_ASKED };
/* The parts of a guest that mprofd-forward sends to the hub of a fleet. */
enum policy_send { SEND_NOTHING, SEND_CAPTURES, SEND_ALL };

/* How to record one guest and how long to keep its data. */
struct policy {
	enum policy_mode mode;	       /* default continuous */
	uint64_t interval_ns;	       /* time between snapshots, if mode is periodic; default 60 s */
	uint64_t bytes;		       /* limit of archived content per guest; 0 = no limit; default 1 GiB */
	uint64_t age_ns;	       /* age at which content is deleted; 0 = no limit; default 30 days */
	enum policy_memtrace memtrace; /* default automatic */
	bool vcpu;		       /* record when the guest's vCPUs ran; default no */
	enum policy_send send; /* default nothing; of [fleet], not of [policy]; SEND_ALL of no guest with on-crash */
};

enum grant_kind { GRANT_USER, GRANT_GROUP, GRANT_CERTIFICATE, GRANT_REMOTE };

/* The rights of one WHO, each a list of globs of guest names, separated by blanks ("" = none). */
struct config_grant {
	enum grant_kind kind;
	char *who;	  /* user:NAME, group:NAME, certificate:NAME or remote:NAME; owned, as the globs */
	const char *name; /* the NAME in WHO */
	char *read, *context, *write;
	bool metrics;
};

struct config {
	uint64_t queue_bytes;		/* bytes: limit of the queue of all guests; default 64 MiB, least 1 MiB */
	uint64_t queue_per_guest_bytes; /* bytes: limit of one guest in the queue; default 32 MiB */
	uint64_t queue_reserve_bytes;	/* bytes: further limit for guests that have ended; default 64 MiB */
	uint64_t flush_interval_ns;	/* longest time until a commit; default 30 s; 10 ms to 60 s */
	uint64_t burst_rate;		/* bytes per second that an idle ring may suddenly receive; default 4 MiB/s */
	double cpu_budget;		/* share of one core for polling rings; default 0.003 */
	/* Limit of mapped pages, all guests; 0 = 1/4 of dom0's maptrack entries; default 0. */
	uint64_t xen_pages;
	char *xen_console_logs;	   /* absolute path; "" = read no console logs; default /var/log/xen/console */
	uint64_t vcpu_interval_ns; /* time between samples of a guest's vCPUs; default 10 ms; 1 ms to 1 s */
	uint64_t archive_bytes;	   /* limit of the whole archive; 0 = no limit; default 0 */
	uint64_t archive_age_ns;   /* age at which content is deleted; 0 = no limit; default 0 */
	uint64_t free_space_bytes; /* bytes of the file system to keep free; default 256 MiB */
	uint64_t wal_limit_bytes;  /* limit of the write-ahead log; default 64 MiB */
	/*
	 * Bytes of the reserve file, which is deleted when the disk is full; 0 = no file; default
	 * 64 MiB.
	 */
	uint64_t reserve_bytes;
	uint64_t keep_unread_ns;     /* how long a capture waits for the reader; 0 = not at all; default 1 d */
	char **listen;		     /* addresses; NULL-terminated; NULL = none configured */
	char **proxies;		     /* networks that speak the PROXY protocol; NULL-terminated; NULL = none */
	uint32_t connections;	     /* connections per listener; default 256 */
	uint32_t peer_connections;   /* connections per client address; default 192 */
	uint64_t header_timeout_ns;  /* to receive a whole request header; default 10 s; 1 s to 1 d */
	uint64_t body_timeout_ns;    /* to receive a whole request body; default 30 s; same range */
	uint64_t idle_timeout_ns;    /* time without any byte received or sent; default 120 s; same range */
	char *http_fleet;	     /* the hub's database: libpq's connection string; "" = this is a host; owned */
	bool http_reader;	     /* read captures once, and show what ended them; default yes */
	uint64_t http_decoded;	     /* most bytes of decoded rows in the cache; 0 = none; default 256 MiB */
	uint64_t http_copies_bytes;  /* copies of captures on a hub, at most; default 4 GiB, least 64 MiB */
	char **sink_listen;	     /* addresses; NULL-terminated; NULL = guests cannot connect */
	uint32_t sink_streams;	     /* streams at a time, all guests; default 1024 */
	uint32_t sink_guest_streams; /* streams at a time per guest; default 4 */
	uint64_t sink_rate;	     /* bytes per second, all guests; 0 = no limit; default 256 MiB/s */
	uint64_t sink_guest_rate;    /* bytes per second per guest; default 16 MiB/s */
	uint64_t sink_bytes;	     /* limit of recordings, all guests; 0 = no limit; default 16 GiB */
	uint64_t sink_guest_bytes;   /* limit of recordings per guest; default 1 GiB */
	uint64_t sink_age_ns;	     /* age at which a recording is deleted; 0 = no limit; default 30 days */
	uint64_t sink_queue_bytes;   /* received bytes that are not yet committed; default 64 MiB, least 4 MiB */
	/*
	 * How long to try to reach a guest that a client asked for; 0 = one attempt; default 60 s.
	 */
	uint64_t sink_reconnect_ns;
	char *fleet_connection;		/* libpq's connection string or URI; "" = none; owned */
	uint64_t fleet_rate;		/* bytes per second; 0 = no limit; default 0 */
	struct config_policy *policies; /* owned; in the order of the file */
	size_t n_policies;
	/*
	 * Access control is on. The files are absolute paths or credential:NAME; "" = none; owned.
	 */
	bool access;
	char *access_certificate, *access_key, *access_client_ca, *access_client_crl;
	char *access_tokens;	     /* default /var/lib/mprofd-http/tokens */
	char **access_names;	     /* further names of this server; NULL-terminated; NULL = none */
	uint64_t session_life_ns;    /* after which a browser must sign in again; default 12 h */
	uint32_t identity_requests;  /* requests in progress of one identity; default 64 */
	uint32_t identity_live;	     /* live bodies and streams of events of one identity; default 32 */
	uint32_t peer_handshakes;    /* TLS handshakes a second of one peer; default 50 */
	struct config_grant *grants; /* owned; in the order of the file */
	size_t n_grants;
};

/*
 * Read FILE and its drop-ins into *C. If FILE is NULL, read mprofd.conf in the build's sysconfdir
 * (/etc/mprofd/mprofd.conf), which may be absent. Sizes take K, M, G (powers of 1024) with an
 * optional B; durations end in ns, us, ms, s, m, h or d. Return 0; the caller frees *C with
 * config_deinit(). On failure return -errno, put a sentence into ERROR (ERROR_SIZE bytes) and leave
 * *C untouched.
 */
int config_load(struct config *c, const char *file, char *error, size_t error_size);
void config_deinit(struct config *c);

/* Return whether some policy has vcpu = yes; mode = on-crash. */
bool config_any_vcpu(const struct config *c);
bool config_any_on_crash(const struct config *c);

/*
 * Return the number of bytes to keep free on the archive's file system, not counting the reserve
 * file. It is the configured free space plus twice the limit of the write-ahead log, because the
 * log may grow to twice its limit before a checkpoint.
 */
uint64_t config_free_space(const struct config *c);
/* Return the same with the reserve file: on a file system that is no larger nothing can be kept. */
uint64_t config_smallest_space(const struct config *c);

/*
 * Return how long a capture of an orderly end of a guest whose mode is on-crash waits for the reader of mprofd-http, ns. 0 =
 * not at all: the configuration says that there is no such reader, or that nothing waits.
 */
uint64_t config_keep_unread(const struct config *c);

/* Return the policy for the guest NAME. With mode = on-crash at most its captures are sent: they have all that is archived. */
struct policy config_policy(const struct config *c, const char *name);
/* Return whether the configuration has a guest's captures or packets sent to a hub. */
bool config_sends(const struct config *c);

/*
 * Return in *SECTION and *KEY the names of the key at INDEX of config_keys, as constant strings.
 * Return false if INDEX is past the last key.
 */
bool config_key(size_t index, const char **section, const char **key);

#endif
