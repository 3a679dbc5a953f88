/*
 * This file writes single-file pages: the viewer and the traces in one HTML document. A browser
 * limits the length of one text in a page, and a trace is far longer than that limit. So each
 * stream is cut into pieces of PIECE_BYTES.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include "cleanup.h"
#include "ctl.h"
#include "exporter.h"
#include "html.h"
#include "json.h"
#include "modeller.h"
#include "output-writer.h"
#include "output.h"
#include "trace-source.h"
#include "viewer-page.h"

/*
 * Write the events of a trace into new packets, as the first step of making a page. So a page can
 * be made from packed, wrapped or damaged input or an old log, and can hold only the selected
 * period. The times are not changed, because the viewer's decoder accepts times in any order.
 */

#define NOTES_MAX 100u

static int add_stream(struct html_part *p)
{
	int fd = spool_file(), r;

	if (fd < 0) {
		say("cannot write a temporary file: %s; set TMPDIR to another directory", strerror(-fd));
		p->reported = true;
		return fd;
	}
	r = ctf_stream_init(&p->streams[p->n++], fd);
	p->streams[p->n - 1].verbatim = true;
	return r;
}

static int part_streams(void *context, char *const *names, unsigned int count)
{
	struct html_part *p = context;
	int r = 0;

	p->streams = calloc(count, sizeof(*p->streams));
	p->names = names ? calloc(count, sizeof(*p->names)) : NULL;
	p->tails = malloc(count * sizeof(*p->tails));
	if (!p->streams || (names && !p->names) || !p->tails)
		return -ENOMEM;
	memset(p->tails, 0xff, count * sizeof(*p->tails));
	for (unsigned int i = 0; i < count && !r; i++) {
		r = add_stream(p);
		if (!r && names && !(p->names[i] = strdup(names[i])))
			r = -ENOMEM;
	}
	return r;
}

/*
 * Make the single stream before its first event: the consumer's streams() is not called for a
 * single stream. Return 0 or -errno.
 */
static int reserve(struct html_part *p)
{
	return p->streams ? 0 : part_streams(p, NULL, 1);
}

/* Return the number of bytes in the temporary files of all streams. */
static uint64_t bytes_aside(const struct html_part *p)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < p->n; i++) {
		off_t at = lseek(p->streams[i].fd, 0, SEEK_CUR);

		sum += at > 0 ? (uint64_t)at : 0;
	}
	return sum;
}

static int part_events(void *context, unsigned int stream, const struct mprof_event *events, size_t n)
{
	struct html_part *p = context;
	int r = reserve(p);

	for (size_t i = 0; i < n && !r; i++)
		r = ctf_stream_event(&p->streams[stream], &events[i].raw);
	if (r || bytes_aside(p) <= HTML_BYTES_MAX)
		return r;
	say("%s is longer than the %llu MiB that one page can hold: select a part with --from and --to, or with --last "
	    "for a guest; or open it in the viewer of mprofd-http, which loads only what it shows",
	    p->name, HTML_BYTES_MAX >> 20);
	p->reported = true;
	return -EFBIG;
}

static int part_gap(void *context, unsigned int stream, uint64_t packets)
{
	struct html_part *p = context;
	int r = reserve(p);

	return r ? r : ctf_stream_gap(&p->streams[stream], packets);
}

/*
 * Add a sentence about the damage to P's notes. The page shows this sentence, because the new
 * packets do not contain the damaged bytes. At most NOTES_MAX sentences are added.
 */
static int part_damage(void *context, unsigned int stream, const struct mprof_damage *damage)
{
	struct html_part *p = context;
	char sentence[256];
	int r = reserve(p);

	(void)stream;
	if (r || p->damages++ >= NOTES_MAX)
		return r;
	mprof_damage_text(damage, sentence, sizeof(sentence));
	return json_array_append_new(p->notes, json_sprintf("Damage: %s.", sentence)) ? -ENOMEM : 0;
}

static int part_tail(void *context, unsigned int stream, uint64_t from_ns)
{
	struct html_part *p = context;
	int r = reserve(p);

	if (!r && stream < p->n)
		p->tails[stream] = from_ns;
	return r;
}

bool html_part_init(struct html_part *p, const char *name)
{
	*p = (struct html_part){
		.consumer = {.streams = part_streams,
			     .events = part_events,
			     .gap = part_gap,
			     .damage = part_damage,
			     .tail = part_tail,
			     .context = p},
		.name = name,
		.notes = json_array(),
	};
	return p->notes != NULL;
}

void html_part_deinit(struct html_part *p)
{
	for (unsigned int i = 0; i < p->n; i++) {
		ctf_stream_deinit(&p->streams[i]);
		if (p->names)
			free(p->names[i]);
	}
	free(p->streams);
	free(p->names);
	free(p->tails);
	json_decref(p->notes);
	*p = (struct html_part){0};
}

int html_part_finish(struct html_part *p)
{
	int r = reserve(p);

	for (unsigned int i = 0; i < p->n && !r; i++)
		r = ctf_stream_end(&p->streams[i]);
	if (!r && p->damages > NOTES_MAX)
		r = json_array_append_new(p->notes, json_string("Further damage is not listed.")) ? -ENOMEM : 0;
	return r;
}

#define PIECE_BYTES (3u << 20) /* packed bytes of an element; divisible by 3 */
#define COPY_BYTES  (256u << 10)

static void put(struct writer *w, const char *text)
{
	writer_put(w, text, strlen(text));
}

bool html_possible(void)
{
	if (viewer_page_bytes)
		return true;
	say("this mprofctl was built without the viewer: build it with clang, lld, wasi-libc and "
	    "libclang-rt-dev-wasm32");
	return false;
}

const char *html_name(const char *operand)
{
	struct trace_source t;
	const char *slash;

	trace_source_parse(&t, NULL, operand, true);
	if (t.kind == SOURCE_STDIN)
		return "standard input";
	slash = t.kind == SOURCE_FILE ? strrchr(t.name, '/') : NULL;
	return slash && slash[1] ? slash + 1 : t.name;
}

int html_begin(struct html *h, struct writer *out)
{
	*h = (struct html){.out = out, .traces = json_array()};
	if (!h->traces)
		return -ENOMEM;
	writer_put_long(out, viewer_page, viewer_page_bytes);
	return 0;
}

void html_deinit(struct html *h)
{
	json_decref(h->traces);
	h->traces = NULL;
}

/* ---- a stream */
struct packer {
	struct base64 text;
	char head[128]; /* an element's opening tag */
	size_t pieces;
	size_t left; /* bytes that the present piece can still take */
};

static void end_piece(struct packer *p)
{
	base64_end(&p->text);
	put(p->text.out, "</script>\n");
}

static la_ssize_t pack(struct archive *a, void *context, const void *bytes, size_t len)
{
	struct packer *packer = context;
	const char *p = bytes;
	size_t rest = len, n;

	(void)a;
	for (; rest && !packer->text.out->error; rest -= n, p += n) {
		if (!packer->left) {
			if (packer->pieces++)
				end_piece(packer);
			put(packer->text.out, packer->head);
			packer->left = PIECE_BYTES;
		}
		n = rest < packer->left ? rest : packer->left;
		base64_put(&packer->text, p, n);
		packer->left -= n;
	}
	return packer->text.out->error ? -1 : (la_ssize_t)len;
}

/* Return the -errno of the failed write to the page, or else libarchive's error. */
static int complaint(struct archive *a, const struct packer *p)
{
	int error = p->text.out->error ? p->text.out->error : archive_errno(a);

	return error > 0 ? -error : -EIO;
}

static int copy(struct archive *a, struct packer *p, int fd)
{
	CLEANUP(freep) char *buf = malloc(COPY_BYTES);
	off_t at = 0;
	ssize_t n = 1;

	if (!buf)
		return -ENOMEM;
	while (n > 0) {
		n = pread(fd, buf, COPY_BYTES, at);
		if (n < 0)
			return -errno;
		if (n && archive_write_data(a, buf, (size_t)n) != n)
			return complaint(a, p);
		at += n;
	}
	return archive_write_close(a) == ARCHIVE_OK ? 0 : complaint(a, p);
}

/* Keep the time out of the gzip header, so that the same trace always makes the same file. */
static int open_gzip(struct archive *a, struct packer *p, struct archive_entry *e)
{
	archive_entry_set_pathname(e, "stream");
	archive_entry_set_filetype(e, AE_IFREG);
	if (archive_write_set_format_raw(a) != ARCHIVE_OK || archive_write_add_filter_gzip(a) != ARCHIVE_OK ||
	    archive_write_set_filter_option(a, "gzip", "timestamp", NULL) != ARCHIVE_OK)
		return -ENOTSUP;
	archive_write_set_bytes_in_last_block(a, 1);
	if (archive_write_open(a, p, NULL, pack, NULL) != ARCHIVE_OK || archive_write_header(a, e) != ARCHIVE_OK)
		return complaint(a, p);
	return 0;
}

static int put_stream(struct packer *p, int fd)
{
	struct archive_entry *e = archive_entry_new();
	struct archive *a = archive_write_new();
	int r = a && e ? open_gzip(a, p, e) : -ENOMEM;

	r = r ? r : copy(a, p, fd);
	archive_write_free(a);
	archive_entry_free(e);
	if (!r && p->pieces)
		end_piece(p);
	return r;
}

/*
 * Return the JSON object that describes stream I in the page's contents. Return NULL without
 * memory.
 */
static json_t *stream_json(const struct html_part *p, unsigned int i, size_t pieces)
{
	const char *name = p->names ? p->names[i] : "";
	json_t *json = json_pack("{so sI}", "name", text_json(name, strlen(name)), "pieces", (json_int_t)pieces);

	if (!json || p->tails[i] == UINT64_MAX ||
	    json_object_set_new(json, "tail", json_sprintf("%" PRIu64, p->tails[i])) == 0)
		return json;
	json_decref(json);
	return NULL;
}

/* Return N as a JSON string of decimal digits. */
static json_t *digits_json(int64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, n);
	return json_string(text);
}

/* Add the offset of the trace's clock to TRACE, if it is known. Return TRACE; NULL without memory. */
static json_t *add_clock(json_t *trace, const struct clock_offset *c)
{
	json_t *wall = trace && c && c->known ? json_pack("{so}", "offset_ns", digits_json(c->ns)) : NULL;

	if (!trace || !c || !c->known)
		return trace;
	if (wall && c->uncertainty_ns <= INT64_MAX &&
	    json_object_set_new(wall, "uncertainty_ns", digits_json((int64_t)c->uncertainty_ns))) {
		json_decref(wall);
		wall = NULL;
	}
	if (json_object_set_new(trace, "wall", wall) == 0)
		return trace;
	json_decref(trace);
	return NULL;
}

int html_add(struct html *h, const struct html_part *p)
{
	json_t *streams = json_array();
	json_t *trace;
	int r = streams ? 0 : -ENOMEM;

	for (unsigned int i = 0; i < p->n && !r; i++) {
		struct packer x = {.text = {.out = h->out}};

		snprintf(x.head, sizeof(x.head), "<script type=\"application/octet-stream\" data-part=\"%zu.%u\">",
			 json_array_size(h->traces), i);
		r = put_stream(&x, p->streams[i].fd);
		if (!r && json_array_append_new(streams, stream_json(p, i, x.pieces)))
			r = -ENOMEM;
	}
	if (!r) {
		trace = json_pack("{so sO sO}", "name", text_json(p->name, strlen(p->name)), "streams", streams,
				  "notes", p->notes);
		r = json_array_append_new(h->traces, add_clock(trace, p->clock)) ? -ENOMEM : 0;
	}
	json_decref(streams);
	return r;
}

int html_add_memory(struct html *h, const char *name, int fd, uint64_t recording)
{
	struct packer x = {.text = {.out = h->out}};
	json_t *trace;
	int r;

	snprintf(x.head, sizeof(x.head), "<script type=\"application/octet-stream\" data-part=\"%zu.0\">",
		 json_array_size(h->traces));
	r = put_stream(&x, fd);
	if (r)
		return r;
	trace = json_pack("{so sb sI s[{ss sI}] s[]}", "name", text_json(name, strlen(name)), "memory", true,
			  "recording", (json_int_t)recording, "streams", "name", "", "pieces", (json_int_t)x.pieces,
			  "notes");
	return json_array_append_new(h->traces, trace) ? -ENOMEM : 0;
}

int html_end(struct html *h)
{
	json_t *contents = json_pack("{si sO}", "version", 1, "traces", h->traces);
	CLEANUP(freep) char *text = contents ? json_text(contents, JSON_COMPACT) : NULL;
	struct base64 b = {.out = h->out};

	json_decref(contents);
	if (!text)
		return -ENOMEM;
	put(h->out, "<script type=\"application/json\" id=\"contents\">");
	base64_put(&b, text, strlen(text));
	base64_end(&b);
	put(h->out, "</script>\n</body>\n</html>\n");
	return writer_flush(h->out);
}

/*
 * The export format `html`: a page that any browser opens without a server or a network. A user can
 * attach the page to an issue or a mail, or open it on a machine without mprofd.
 */

static int html_check(const struct export_job *job, const char *verb)
{
	(void)job;
	(void)verb;
	return html_possible() ? CTL_OK : CTL_FAILED;
}

static int html_open(struct export_job *job, struct consumer *consumer)
{
	struct html_part *p = calloc(1, sizeof(*p));

	job->state = p;
	if (!p || !html_part_init(p, html_name(job->trace)))
		return -ENOMEM;
	*consumer = p->consumer;
	return 0;
}

static int html_finish(struct export_job *job)
{
	struct html_part *p = job->state;
	struct html h;
	int r = html_part_finish(p);

	if (r)
		return r;
	p->clock = job->clock;
	r = html_begin(&h, job->out);
	r = r ? r : html_add(&h, p);
	r = r ? r : html_end(&h);
	html_deinit(&h);
	return r;
}

static bool html_reported(const struct export_job *job)
{
	const struct html_part *p = job->state;

	return p && p->reported;
}

static void html_close(struct export_job *job)
{
	if (job->state)
		html_part_deinit(job->state);
	free(job->state);
}

const struct exporter export_html = {
	.name = "html",
	.what = "the viewer and the trace in one file, which a browser opens without a server",
	.suffix = ".html",
	.all_streams = true,
	.wall = true,
	.check = html_check,
	.open = html_open,
	.finish = html_finish,
	.reported = html_reported,
	.close = html_close,
};
