/*
 * This file parses the address of a host, and takes the options, the hosts file and the token
 * together.
 *
 * No message quotes an address with a password or a token in it. A token is sent only over TLS and to
 * loopback addresses. A token of the environment is meant for one host, so it is not sent if the
 * command line has several.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <curl/curl.h>

#include "array.h"
#include "cleanup.h"
#include "host.h"
#include "hosts-file.h"
#include "hosts.h"
#include "token-file.h"

#define DEFAULT_SOCKET "/run/mprofd/http.sock"
#define DEFAULT_URL    "http://127.0.0.1:7080"
/* The bytes of a path that every remote shell takes as they are. */
#define PLAIN_PATH "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-"
/* The same for [USER@]HOST. ssh gets it as an argument of its own, and checks it further. */
#define SSH_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@+%\\"

void host_deinit(struct host *h)
{
	char *strings[] = {h->label, h->base, h->socket, h->ssh, h->ca, h->cert, h->key};

	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		free(strings[i]);
	token_free(h->token);
	*h = (struct host){0};
}

/* ---- addresses */

static int parse_unix(struct host *h, const char *path)
{
	h->kind = HOST_UNIX;
	h->socket = strdup(path);
	h->base = strdup("http://localhost");
	return h->socket && h->base ? CTL_OK : say_memory();
}

/* Parse "[USER@]HOST[:SOCKET]"; an IPv6 address stands in brackets. */
static int parse_ssh(struct host *h, const char *address)
{
	const char *at = strrchr(address, '@'), *host = at ? at + 1 : address, *colon;
	const char *close = host[0] == '[' ? strchr(host, ']') : NULL;

	colon = strchr(close ? close : host, ':');
	h->kind = HOST_SSH;
	h->ssh = colon ? strndup(address, (size_t)(colon - address)) : strdup(address);
	h->base = strdup("http://localhost");
	if (!h->ssh || !h->base)
		return say_memory();
	host = h->ssh + (host - address);
	if (h->ssh[0] == '-' || host[0] == '-')
		return say_usage(NULL, "ssh:%s: a host or user that begins with \"-\" would be an option of ssh",
				 address);
	if (close) {
		/* ssh wants an IPv6 address without brackets. */
		size_t n = strspn(host + 1, SSH_BYTES ":");

		if (host[1 + n] != ']' || host[2 + n])
			return say_usage(NULL, "ssh:%s is not ssh:[USER@]HOST[:SOCKET]", address);
		memmove(h->ssh + (host - h->ssh), host + 1, n);
		h->ssh[(size_t)(host - h->ssh) + n] = 0;
	} else if (!host[0] || h->ssh[0] == '@' || h->ssh[strspn(h->ssh, SSH_BYTES)]) {
		return say_usage(NULL, "ssh:%s is not ssh:[USER@]HOST[:SOCKET]", address);
	}
	if (!colon)
		return CTL_OK;
	if (colon[1] != '/' || colon[1 + strspn(colon + 1, PLAIN_PATH)])
		return say_usage(NULL,
				 "ssh:%s: the socket is an absolute path of letters, digits, \".\", \"_\" and \"-\"; "
				 "a port stands in ~/.ssh/config",
				 address);
	h->socket = strdup(colon + 1);
	return h->socket ? CTL_OK : say_memory();
}

static void curl_freep(char **p)
{
	curl_free(*p);
	*p = NULL;
}

static void urlp(CURLU **url)
{
	curl_url_cleanup(*url);
	*url = NULL;
}

/* Return true if HOST of an http URL is this machine, without asking a name server. */
static bool is_loopback(const char *host)
{
	struct in_addr v4;

	if (strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0)
		return true;
	return inet_pton(AF_INET, host, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127;
}

/* Return true if URL has PART. */
static bool has(CURLU *url, CURLUPart part)
{
	CLEANUP(curl_freep) char *text = NULL;

	return curl_url_get(url, part, &text, 0) == CURLUE_OK;
}

static int parse_url(struct host *h, const char *address)
{
	CLEANUP(urlp) CURLU *url = curl_url();
	CLEANUP(curl_freep) char *host = NULL;

	if (!url)
		return say_memory();
	if (curl_url_set(url, CURLUPART_URL, address, 0) != CURLUE_OK ||
	    curl_url_get(url, CURLUPART_HOST, &host, 0) != CURLUE_OK)
		return strchr(address, '@') ? say_usage(NULL, "the address of --host is no URL")
					    : say_usage(NULL, "\"%s\" is no URL", address);
	if (has(url, CURLUPART_USER) || has(url, CURLUPART_PASSWORD) || strchr(address, '@'))
		return say_usage(NULL,
				 "the address of %s has a user or a password in it: leave them out, and give a token "
				 "with --token FILE or a certificate with --cert FILE",
				 host);
	if (has(url, CURLUPART_QUERY) || has(url, CURLUPART_FRAGMENT) || strpbrk(address, "?#") || token_in(address))
		return say_usage(NULL,
				 "the address of %s has more in it than host, port and path: leave it out, and give a "
				 "token with --token FILE",
				 host);
	h->kind = strncmp(address, "https:", 6) == 0 ? HOST_HTTPS : HOST_HTTP;
	h->loopback = is_loopback(host);
	h->base = strdup(address);
	if (!h->base)
		return say_memory();
	for (size_t n = strlen(h->base); n && h->base[n - 1] == '/'; n--)
		h->base[n - 1] = 0;
	return CTL_OK;
}

static int parse_address(struct host *h, const char *address)
{
	if (strncmp(address, "unix:", 5) == 0 && address[5])
		return parse_unix(h, address + 5);
	if (strncmp(address, "ssh:", 4) == 0)
		return parse_ssh(h, address + 4);
	if (strncmp(address, "http://", 7) == 0 || strncmp(address, "https://", 8) == 0)
		return parse_url(h, address);
	if (token_in(address) || strchr(address, '@'))
		return say_usage(NULL, "the address of --host begins with neither https://, http://, ssh: nor unix:");
	return say_usage(NULL,
			 "host \"%s\" is neither a name of the hosts file, unix:PATH, ssh:[USER@]HOST nor a URL with "
			 "http:// or https://",
			 address);
}

/* ---- files and the token */

/* Set *SLOT to a copy of OPTION, if that is given, or else of *LINE, a string of the hosts file. */
static bool settle(char **slot, const char *option, char **line)
{
	if (!option) {
		*slot = *line;
		*line = NULL;
		return true;
	}
	*slot = strdup(option);
	return *slot != NULL;
}

/* Check that the file PATH of the option NAME can be read; PATH may be NULL. Return an exit code. */
static int check_file(const char *name, const char *path)
{
	CLEANUP(closep) int fd = -1;

	if (!path)
		return CTL_OK;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd >= 0)
		return CTL_OK;
	say("cannot read %s, the file of --%s: %s", path, name, strerror(errno));
	return errno == ENOENT ? CTL_NOT_FOUND : CTL_FAILED;
}

static int check_files(const struct host *h)
{
	int r;

	if (h->kind != HOST_HTTPS && (h->ca || h->cert || h->key))
		return say_usage(NULL, "--ca, --cert and --key are for https:// addresses, and %s is none", h->label);
	if (h->key && !h->cert)
		return say_usage(NULL, "--key needs --cert, the certificate of that key");
	r = check_file("ca", h->ca);
	r = r ? r : check_file("cert", h->cert);
	return r ? r : check_file("key", h->key);
}

/* Take the token from FILE, or if that is NULL, from the environment. Return an exit code. */
static int take_token(struct host *h, const char *file)
{
	bool http = h->kind == HOST_HTTP || h->kind == HOST_HTTPS;
	int r = CTL_OK;

	if (file && !http)
		return say_usage(NULL,
				 "a token is for https:// addresses: at %s the Unix user is the identity, so leave out "
				 "--token",
				 h->label);
	if (file)
		r = token_read(file, &h->token);
	else if (http && !h->several)
		r = token_of_environment(&h->token);
	if (r || !h->token || h->kind == HOST_HTTPS || h->loopback)
		return r;
	return say_usage(NULL,
			 "a token is not sent to %s, because others could read it on the way: use https://, or leave "
			 "out the token",
			 h->label);
}

/* ---- named hosts */

/* Return true if LIST stands for names of the hosts file, and for no address. */
static bool is_name(const char *list)
{
	return !strpbrk(list, ":/") && list[0];
}

/* Report that an option is for a single host. Return CTL_USAGE. */
static int no_options(void)
{
	return say_usage(NULL,
			 "--ca, --cert, --key and --token are for one host; with several, write ca=FILE and so on "
			 "behind each in the hosts file");
}

static int find_named(struct named_host *line, const struct hosts *hosts)
{
	const char *name = hosts->one ? hosts->one : hosts->list;
	size_t len = hosts->one ? hosts->one_len : strlen(name);

	if (hosts_several(hosts) && (hosts->ca || hosts->cert || hosts->key || hosts->token))
		return no_options();
	if (token_in(name))
		return say_usage(NULL, "--host takes an address or a name, and no token");
	if (!hosts_is_name(name, len))
		return say_usage(NULL, "--host has \"%.*s\", which is no name", (int)len, name);
	return hosts_file_find(line, name, len);
}

static const char *default_address(void)
{
	return access(DEFAULT_SOCKET, F_OK) == 0 ? "unix:" DEFAULT_SOCKET : DEFAULT_URL;
}

int host_resolve(struct host *h, const struct hosts *hosts)
{
	CLEANUP(named_host_deinit) struct named_host line = {0};
	const char *address = hosts->list ? hosts->list : default_address();
	char *none = NULL; /* the key in the file belongs to the certificate there */
	int r = hosts_check_single(hosts);

	*h = (struct host){.several = hosts_several(hosts), .unattended = hosts->unattended};
	if (r)
		return r;
	if (is_name(address)) {
		r = find_named(&line, hosts);
		if (r)
			return r;
		address = line.address;
	}
	r = parse_address(h, address);
	if (r)
		return r;
	h->label = strdup(line.name ? line.name : address);
	if (!h->label || !settle(&h->ca, hosts->ca, &line.ca) || !settle(&h->cert, hosts->cert, &line.cert) ||
	    !settle(&h->key, hosts->key, hosts->cert ? &none : &line.key))
		return say_memory();
	r = check_files(h);
	return r ? r : take_token(h, hosts->token ? hosts->token : line.token);
}
