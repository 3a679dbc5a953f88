/* This file reads the clock stamps of packets from the API. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "cleanup.h"
#include "clocks.h"
#include "http-limits.h"

#define PAGE 1000

static bool take_stamp(const json_t *json, struct mprof_stamp *stamp)
{
	stamp->offset = (uint64_t)json_integer_value(json_object_get(json, "offset"));
	return api_ns(json_object_get(json, "mono"), &stamp->mono) &&
	       api_real(json_object_get(json, "real"), &stamp->real);
}

void clocks_packet(struct mprof_clocks *c, const json_t *packet)
{
	const json_t *copied = json_object_get(packet, "copied");
	json_int_t room = json_integer_value(json_object_get(packet, "room"));
	struct mprof_copied_packet it = {
		.packet_bytes = room < 0 ? UINT64_MAX : (uint64_t)room,
		.stepped = json_is_true(json_object_get(packet, "clock_stepped")),
	};

	if (json_is_true(json_object_get(packet, "unproven")) ||
	    !api_ns(json_object_get(packet, "first_timestamp"), &it.guest_ns) ||
	    !take_stamp(json_object_get(copied, "first"), &it.first) ||
	    !take_stamp(json_object_get(copied, "last"), &it.last))
		return;
	mprof_clocks_packet(c, &it);
}

static char *page_path(const char *path, const char *cursor)
{
	char *page = NULL;
	int n = asprintf(&page, "%s%climit=%d%s%s", path, strchr(path, '?') ? '&' : '?', PAGE, cursor ? "&cursor=" : "",
			 cursor ? cursor : "");

	return n < 0 ? NULL : page;
}

/* Read into C the page of PATH that P selects, then advance P to the next page. */
static int read_page(struct mprof_clocks *c, struct http *h, const char *path, struct pages *p)
{
	CLEANUP(freep) char *page = page_path(path, p->cursor);
	const json_t *packets;
	json_t *json = NULL;
	int r = page ? http_json_unless(h, page, 404, &json) : say_memory();

	if (r)
		return r;
	packets = json_object_get(json, "packets");
	for (size_t i = 0; i < json_array_size(packets); i++)
		clocks_packet(c, json_array_get(packets, i));
	r = pages_turn(p, h, json);
	json_decref(json);
	return r;
}

int clocks_read(struct mprof_clocks *c, struct http *h, const struct trace_source *t, const struct selection *s)
{
	CLEANUP(freep) char *path = trace_source_path(t, h, "packets", s);
	CLEANUP(pages_deinit) struct pages p = {.what = "packets"};
	int r;

	if (!path)
		return say_memory();
	mprof_clocks_stream(c);
	do
		r = read_page(c, h, path, &p);
	while (!r && p.cursor);
	return r;
}
