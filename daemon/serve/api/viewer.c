/*
 * / and the viewer's files. For /, a client that accepts HTML (a browser) gets the page; other
 * clients get a sentence. File names do not change with the content, so a browser revalidates each
 * file each time, and gets 304 if it has not changed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "assets.h"
#include "routes.h"

#define ROOT                                                                                            \
	"mprofd archives the trace rings of this host's guests. See /v1/openapi.yaml for the API, and " \
	"/v1/domains for the guests.\n"

/*
 * The page loads nothing from other hosts, and no text becomes a script, whatever names guests
 * have. Compiling wasm needs 'wasm-unsafe-eval'. The page makes pictures as data: and blob: URLs
 * and saves them. OPENER lets windows that the page opens talk to it: Perfetto gets a trace that
 * way.
 */
#define POLICY                                                                                              \
	"default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; " \
	"style-src 'self'; img-src 'self' data: blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
#define OPENER "same-origin-allow-popups"

static const struct asset *asset_find(const char *name)
{
	for (size_t i = 0; i < assets_count; i++)
		if (strcmp(assets[i].name, name) == 0)
			return &assets[i];
	return NULL;
}

static void asset_headers(struct exchange *x, struct MHD_Response *response, const struct asset *asset,
			  const char *etag, bool packed)
{
	exchange_add_header(x, response, MHD_HTTP_HEADER_ETAG, etag);
	exchange_add_header(x, response, MHD_HTTP_HEADER_CONTENT_TYPE, asset->type);
	exchange_add_header(x, response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
	exchange_add_header(x, response, MHD_HTTP_HEADER_VARY, "Accept, Accept-Encoding");
	exchange_add_header(x, response, "Content-Security-Policy", POLICY);
	exchange_add_header(x, response, "Cross-Origin-Opener-Policy", OPENER);
	exchange_add_header(x, response, "Cross-Origin-Resource-Policy", "same-origin");
	exchange_add_header(x, response, "Referrer-Policy", "no-referrer");
	if (packed)
		exchange_add_header(x, response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
}

static enum outcome asset_respond(struct exchange *x, const struct asset *asset)
{
	bool packed = asset->gzip && request_accepts(exchange_header(x, MHD_HTTP_HEADER_ACCEPT_ENCODING), "gzip");
	const uint8_t *data = packed ? asset->gzip : asset->plain;
	size_t bytes = packed ? asset->gzip_bytes : asset->plain_bytes;
	struct MHD_Response *response;
	char etag[64];
	bool unchanged;

	snprintf(etag, sizeof(etag), "\"%s%s\"", asset->hash, packed ? "-gzip" : "");
	unchanged = request_etag_matches(exchange_header(x, MHD_HTTP_HEADER_IF_NONE_MATCH), etag);
	response = MHD_create_response_from_buffer(bytes, (void *)(uintptr_t)data, MHD_RESPMEM_PERSISTENT);
	if (!response)
		return exchange_reader_problem(x, -ENOMEM, "");
	asset_headers(x, response, asset, etag, packed && !unchanged);
	return exchange_respond(x, unchanged ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK, response);
}

enum outcome get_root(struct exchange *x)
{
	const struct asset *page = asset_find("index.html");
	struct MHD_Response *response;

	if (page && request_accepts(exchange_header(x, MHD_HTTP_HEADER_ACCEPT), "text/html"))
		return asset_respond(x, page);
	response = MHD_create_response_from_buffer(strlen(ROOT), (void *)(uintptr_t)ROOT, MHD_RESPMEM_PERSISTENT);
	if (!response)
		return exchange_reader_problem(x, -ENOMEM, "");
	exchange_add_header(x, response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain; charset=utf-8");
	exchange_add_header(x, response, MHD_HTTP_HEADER_VARY, "Accept");
	return exchange_respond(x, MHD_HTTP_OK, response);
}

enum outcome get_viewer_file(struct exchange *x)
{
	const struct request *r = &x->request;
	const struct asset *asset;
	char name[128];

	/*
	 * Join the segments behind "viewer": a folder, if there is one, and the file. If the name
	 * is too long it is cut, and then matches no file.
	 */
	snprintf(name, sizeof(name), "%s%s%s", r->segments[1], r->n_segments > 2 ? "/" : "",
		 r->n_segments > 2 ? r->segments[2] : "");
	asset = asset_find(name);
	/* The page itself is served at / only, because its links are relative to /. */
	if (!asset || strcmp(asset->name, "index.html") == 0)
		return exchange_problem(x, MHD_HTTP_NOT_FOUND, "The viewer has no file %.100s; the page is at /.",
					name);
	return asset_respond(x, asset);
}
