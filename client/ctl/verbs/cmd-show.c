/*
 * `mprofctl show`: tell a person on call why a capture was taken, and of which guest.
 *
 * Nearly all text of a capture was written by guests, toolstacks and users, so all text is escaped.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "array.h"
#include "cleanup.h"
#include "download.h"
#include "http.h"
#include "json.h"
#include "options.h"
#include "table.h"
#include "trace-source.h"
#include "verbs.h"

/*
 * Longest part of a XenStore value that is printed; the grant references of a ring can take 4,096
 * bytes.
 */
#define VALUE_SHOWN 200u
struct shown {
	json_t *capture, *context, *overviews; /* owned */
};

static void shown_deinit(struct shown *s)
{
	json_decref(s->capture);
	json_decref(s->context);
	json_decref(s->overviews);
}

/* Print LEN bytes of TEXT, escaped as by printable(). */
static void put_bytes(const char *text, size_t len)
{
	CLEANUP(freep) char *safe = len ? printable(text, len) : strdup("");

	fputs(safe ? safe : "?", stdout);
}

static void put_string(const char *text)
{
	put_bytes(text, strlen(text));
}

static void put_field(const char *name, const char *text)
{
	printf("%-10s ", name);
	put_string(text ? text : "-");
	putchar('\n');
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/*
 * Return TEXT, an RFC 3339 time in UTC, in seconds since 1970. Return -1 if TEXT is NULL or no
 * time.
 */
static time_t seconds_of(const char *text)
{
	struct tm tm = {0};

	return text && strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) ? timegm(&tm) : -1;
}

/*
 * Write a duration to BUF of SIZE bytes, in its two largest units: "1 d 3 h", "3 h 5 min", "5 min 7
 * s", "7 s".
 */
static void time_span_text(time_t seconds, char *buf, size_t size)
{
	static const struct {
		time_t seconds;
		const char *name;
	} units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
	size_t i = 0;

	while (i < 3 && seconds < units[i].seconds)
		i++;
	if (i == 3)
		snprintf(buf, size, "%lld s", (long long)seconds);
	else
		snprintf(buf, size, "%lld %s %lld %s", (long long)(seconds / units[i].seconds), units[i].name,
			 (long long)(seconds % units[i].seconds / units[i + 1].seconds), units[i + 1].name);
}

static void put_times(const struct shown *s, struct wall_zone *zone)
{
	const char *stamp = text_of(s->context, "time"), *right = text_of(s->context, "time_corrected");
	const char *began_right = text_of(s->context, "began_corrected"), *taken = right ? right : stamp;
	const char *began = began_right ? began_right : text_of(s->context, "began");
	time_t from = seconds_of(began), to = seconds_of(taken);
	char text[48], span[64];

	time_text(taken ? taken : "-", zone, text, sizeof(text));
	put_field("when", text);
	if (right) {
		time_text(stamp ? stamp : "-", zone, text, sizeof(text));
		put_field("host's clock", text);
	}
	time_text(began ? began : "-", zone, text, sizeof(text));
	put_field("began", text);
	if (from >= 0 && to >= from) {
		time_span_text(to - from, span, sizeof(span));
		put_field("lived", span);
	}
}

static void put_number(const char *name, const json_t *value)
{
	char text[24] = "-";

	if (json_is_string(value)) { /* an id of a hub */
		put_field(name, json_string_value(value));
		return;
	}
	if (json_is_integer(value))
		snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	put_field(name, text);
}

static void put_head(const struct shown *s, struct wall_zone *zone)
{
	const char *reason = text_of(s->context, "reason"), *note = text_of(s->capture, "note");

	put_number("capture", json_object_get(s->capture, "id"));
	put_field("why", text_of(s->capture, "kind"));
	if (reason && strcmp(reason, "unknown") == 0)
		put_field("reason", "unknown: Xen could not be asked");
	else if (reason)
		put_field("reason", reason);
	if (text_of(s->capture, "host"))
		put_field("host", text_of(s->capture, "host"));
	put_field("guest", text_of(s->context, "domain"));
	put_field("uuid", text_of(s->context, "uuid"));
	put_number("domid", json_object_get(s->context, "domid"));
	put_number("run", json_object_get(s->context, "run"));
	put_times(s, zone);
	if (json_is_true(json_object_get(s->capture, "pinned")))
		put_field("pinned", "yes");
	if (note && *note)
		put_field("note", note);
	if (text_of(s->capture, "sentence"))
		put_field("cause", text_of(s->capture, "sentence"));
	if (text_of(s->capture, "exception"))
		put_field("exception", text_of(s->capture, "exception"));
}

/*
 * Return the overview of stream NUMBER, a single bucket with the stream's counts of packets and
 * bytes. The result belongs to S. Return NULL if no packet of the stream is left.
 */
static const json_t *bucket_of(const struct shown *s, json_int_t number)
{
	const json_t *overview;
	size_t i;

	json_array_foreach(s->overviews, i, overview)
	{
		if (json_integer_value(json_object_get(overview, "stream")) == number)
			return json_array_get(json_object_get(overview, "buckets"), 0);
	}
	return NULL;
}

static void add_range(struct table *t, const struct shown *s, const json_t *range)
{
	const json_t *bucket = bucket_of(s, json_integer_value(json_object_get(range, "stream")));
	char sequences[64];

	snprintf(sequences, sizeof(sequences), "%" JSON_INTEGER_FORMAT "-%" JSON_INTEGER_FORMAT,
		 json_integer_value(json_object_get(range, "first_sequence")),
		 json_integer_value(json_object_get(range, "last_sequence")));
	table_add_json(t, json_object_get(range, "stream"));
	table_add_json(t, json_object_get(range, "name"));
	table_add(t, sequences);
	table_add_json(t, json_object_get(bucket, "packets"));
	table_add_bytes(t, (uint64_t)json_integer_value(json_object_get(bucket, "bytes")));
	table_add_json(t, json_object_get(bucket, "lost_packets"));
	table_add_json(t, json_object_get(bucket, "skipped_packets"));
	table_add_bytes(t, (uint64_t)json_integer_value(json_object_get(range, "tail_bytes")));
}

static void put_cuts(const json_t *ranges)
{
	const json_t *range;
	json_int_t bytes = 0;
	size_t i;

	json_array_foreach(ranges, i, range)
	{
		bytes += json_integer_value(json_object_get(range, "cut_bytes"));
	}
	if (bytes)
		printf("%" JSON_INTEGER_FORMAT " bytes of the unproven end were cut: no event can be read in them.\n",
		       bytes);
	json_array_foreach(ranges, i, range)
	{
		if (json_is_true(json_object_get(range, "lost")))
			printf("The archive has lost stream %" JSON_INTEGER_FORMAT
			       " of the capture: it was damaged on the disk.\n",
			       json_integer_value(json_object_get(range, "stream")));
	}
}

/* Say how many places the reader of the host could not decode, in proven bytes, too. */
static void put_damages(const json_t *capture)
{
	json_int_t places = json_integer_value(json_object_get(capture, "damages"));
	json_int_t events = json_integer_value(json_object_get(capture, "unproven_events"));

	if (places <= 0)
		return;
	fputs("The trace is damaged in ", stdout);
	print_count(places, "place");
	fputs(": ", stdout);
	print_count(json_integer_value(json_object_get(capture, "skipped_bytes")), "byte");
	fputs(" cannot be decoded", stdout);
	if (events > 0) {
		fputs(", and ", stdout);
		print_count(events, "event");
		fputs(" behind, to the ends of their packets, are unproven", stdout);
	}
	puts(".");
}

static int put_streams(const struct shown *s)
{
	static const char *const heads[] = {">STREAM", "NAME",	">SEQUENCES", ">PACKETS",
					    ">BYTES",  ">LOST", ">SKIPPED",   ">UNPROVEN"};
	const json_t *ranges = json_object_get(s->capture, "streams"), *range;
	CLEANUP(table_deinit) struct table t = {0};
	size_t i;

	putchar('\n');
	if (json_array_size(ranges) == 0) {
		puts("It holds no trace.");
		return CTL_OK;
	}
	table_init(&t, heads, ARRAY_SIZE(heads));
	json_array_foreach(ranges, i, range)
	{
		add_range(&t, s, range);
	}
	i = (size_t)table_print(&t);
	put_cuts(ranges);
	put_damages(s->capture);
	if (!json_is_true(json_object_get(s->capture, "complete")))
		puts("It is not complete: quotas deleted a part of it, or it was damaged on the disk. The rest can be "
		     "fetched.");
	return (int)i;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/*
 * Print VALUE, a XenStore value, escaped and cut to about VALUE_SHOWN bytes. VALUE is NULL if a
 * server of another version did not send it.
 */
static void put_value(const char *value)
{
	size_t len = value ? strlen(value) : 0, shown = len;

	if (len > VALUE_SHOWN + 40) {
		shown = VALUE_SHOWN;
		while (shown && ((unsigned char)value[shown] & 0xc0) == 0x80)
			shown--;
	}
	put_bytes(value, shown);
	if (shown < len)
		printf(" ... (%zu bytes)", len);
}

static int put_xenstore(const struct shown *s)
{
	json_t *tree = json_object_get(s->context, "xenstore"), *value;
	size_t n = 0, size = json_object_size(tree);
	CLEANUP(freep) const char **paths = calloc(size + 1, sizeof(*paths));
	const char *path;

	if (!paths)
		return say_memory();
	json_object_foreach(tree, path, value) paths[n++] = path;
	qsort(paths, n, sizeof(*paths), compare_texts);
	puts("\nXenStore, as last seen:");
	for (size_t i = 0; i < n; i++) {
		fputs("  ", stdout);
		put_string(paths[i]);
		fputs(" = ", stdout);
		put_value(text_of(tree, paths[i]));
		putchar('\n');
	}
	if (n == 0)
		puts("  (nothing)");
	if (!json_is_true(json_object_get(s->context, "xenstore_complete")))
		puts("  (there were more values than are kept)");
	return CTL_OK;
}

/*
 * Return the length of LINE, LEN bytes, without the carriage return at its end. Most guests end a
 * line of the console with one: as the byte, or escaped as "\x0d".
 */
static size_t trimmed(const char *line, size_t len)
{
	if (len && line[len - 1] == '\r')
		return len - 1;
	return len >= 4 && strncasecmp(line + len - 4, "\\x0d", 4) == 0 ? len - 4 : len;
}

static void put_console(const struct shown *s)
{
	const char *console = text_of(s->context, "console");

	if (!console) {
		puts("\nNo console was logged.");
		return;
	}
	puts(json_is_true(json_object_get(s->context, "console_complete")) ? "\nConsole:" : "\nConsole, its end:");
	while (*console) {
		size_t len = strcspn(console, "\n");

		fputs("  ", stdout);
		put_bytes(console, trimmed(console, len));
		putchar('\n');
		console += len + (console[len] == '\n');
	}
}

static int show_print(const struct shown *s, struct wall_zone *zone)
{
	int r;

	put_head(s, zone);
	r = put_streams(s);
	if (r == CTL_OK && json_is_object(json_object_get(s->context, "xenstore")))
		r = put_xenstore(s);
	if (r)
		return r;
	if (json_is_string(json_object_get(s->context, "reason")))
		put_console(s);
	else
		puts("\nOnly the trace of the guest was kept.");
	return stdout_verdict();
}

/*
 * Ask the daemon for an overview of each stream of the capture ID, in one bucket: the counts of the
 * packets that are left. Set S->overviews. Return an exit code.
 */
static int ask_overviews(struct shown *s, struct http *h, const char *id)
{
	const json_t *range;
	size_t i;

	s->overviews = json_array();
	json_array_foreach(json_object_get(s->capture, "streams"), i, range)
	{
		json_t *overview = NULL;
		char path[256];
		int r;

		snprintf(path, sizeof(path), "/v1/captures/%s/packets?stream=%" JSON_INTEGER_FORMAT "&buckets=1", id,
			 json_integer_value(json_object_get(range, "stream")));
		r = http_json_unless(h, path, 410, &overview);
		if (r)
			return r;
		if (overview && json_array_append_new(s->overviews, overview) < 0)
			return say_memory();
	}
	return s->overviews ? CTL_OK : say_memory();
}

static bool take_none(void *context, const struct http_answer *answer, const uint8_t *bytes, size_t len)
{
	(void)context;
	(void)answer;
	(void)bytes;
	(void)len;
	return false;
}

/*
 * Ask the daemon how much of the unproven end of each stream of the capture ID it cuts, because it cannot be
 * events. Set "cut_bytes" in the streams that were cut. Return an exit code.
 */
static int ask_cuts(struct shown *s, struct http *h, const char *id)
{
	json_t *range;
	size_t i;

	json_array_foreach(json_object_get(s->capture, "streams"), i, range)
	{
		CLEANUP(http_answer_deinit) struct http_answer answer = {0};
		char path[256];
		struct http_request request = {.path = path, .body = take_none};
		uint64_t bytes;
		int r;

		if (!json_integer_value(json_object_get(range, "tail_bytes")))
			continue;
		snprintf(path, sizeof(path), "/v1/captures/%s/trace?stream=%" JSON_INTEGER_FORMAT, id,
			 json_integer_value(json_object_get(range, "stream")));
		r = http_perform(h, &request, &answer);
		if (r && r != HTTP_E_REFUSED)
			return http_complain(h, r, &answer);
		bytes = download_cut_bytes(answer.cut);
		if (bytes && json_object_set_new(range, "cut_bytes", json_integer((json_int_t)bytes)))
			return say_memory();
	}
	return CTL_OK;
}

static int show_ask(struct shown *s, struct http *h, const char *id)
{
	char path[256];
	int r;

	snprintf(path, sizeof(path), "/v1/captures/%s", id);
	r = http_json(h, NULL, path, NULL, &s->capture);
	if (r)
		return r;
	snprintf(path, sizeof(path), "/v1/captures/%s/context", id);
	r = http_json(h, NULL, path, NULL, &s->context);
	r = r ? r : ask_overviews(s, h, id);
	return r ? r : ask_cuts(s, h, id);
}

static int show_json(const struct shown *s)
{
	CLEANUP(json_decrefp)
	json_t *all =
		json_pack("{s:O, s:O, s:O}", "capture", s->capture, "context", s->context, "overviews", s->overviews);

	return all ? json_print(all) : say_memory();
}

int cmd_show(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(http_close) struct http h = HTTP_CLOSED;
	CLEANUP(shown_deinit) struct shown s = {0};
	static const struct selection all = {0};
	struct operands left;
	struct trace_source t;
	struct wall_zone zone;
	struct options o;
	int r = options_parse(ctl, argc, argv, &o, &left);

	zone = (struct wall_zone){.utc = o.utc};
	if (r)
		return r;
	trace_source_parse(&t, &ctl->hosts, left.at[0], false);
	if (t.name == left.at[0] || t.name[-1] == '/')
		t.kind = SOURCE_CAPTURE; /* a number without a prefix is a capture's id */
	else if (t.kind == SOURCE_DOMAIN)
		return say_usage(argv[0], "show takes a capture; `mprofctl captures %s` lists those of the domain",
				 t.name);
	r = trace_source_check(&t, &all, argv[0]);
	r = r ? r : http_open(&h, &t.hosts);
	r = r ? r : show_ask(&s, &h, t.name);
	if (r)
		return r;
	return ctl->json ? show_json(&s) : show_print(&s, &zone);
}
