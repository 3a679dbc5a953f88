/*
 * A text in a page has a length at which browsers give up, far below what a trace can have: a stream is cut into pieces.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base64.h"
#include "ctl.h"
#include "html.h"
#include "modeller.h"
#include "scope.h"
#include "target.h"
#include "text-json.h"
#include "viewer-page.h"

#define PIECE_BYTES (3u << 20) /* of what is packed, in an element; divisible by 3 */
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
	    "libclang-rt-14-dev-wasm32");
	return false;
}

const char *html_name(const char *operand)
{
	struct target t;
	const char *slash;

	target_parse(&t, operand, true);
	if (t.kind == TARGET_STDIN)
		return "standard input";
	slash = t.kind == TARGET_FILE ? strrchr(t.name, '/') : NULL;
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

struct packing {
	struct base64 text;
	char head[128]; /* of an element */
	size_t pieces;
	size_t left; /* of this one */
};

static void end_piece(struct packing *x)
{
	base64_end(&x->text);
	put(x->text.out, "</script>\n");
}

static la_ssize_t pack(struct archive *a, void *data, const void *bytes, size_t len)
{
	struct packing *x = data;
	const char *p = bytes;
	size_t rest = len, n;

	(void)a;
	for (; rest && !x->text.out->error; rest -= n, p += n) {
		if (!x->left) {
			if (x->pieces++)
				end_piece(x);
			put(x->text.out, x->head);
			x->left = PIECE_BYTES;
		}
		n = rest < x->left ? rest : x->left;
		base64_put(&x->text, p, n);
		x->left -= n;
	}
	return x->text.out->error ? -1 : (la_ssize_t)len;
}

/* What libarchive complains of: our own write, or itself. */
static int complaint(struct archive *a, const struct packing *x)
{
	int error = x->text.out->error ? x->text.out->error : archive_errno(a);

	return error > 0 ? -error : -EIO;
}

static int copy(struct archive *a, struct packing *x, int fd)
{
	SCOPED(freep) char *buf = malloc(COPY_BYTES);
	off_t at = 0;
	ssize_t n = 1;

	if (!buf)
		return -ENOMEM;
	while (n > 0) {
		n = pread(fd, buf, COPY_BYTES, at);
		if (n < 0)
			return -errno;
		if (n && archive_write_data(a, buf, (size_t)n) != n)
			return complaint(a, x);
		at += n;
	}
	return archive_write_close(a) == ARCHIVE_OK ? 0 : complaint(a, x);
}

/* The same trace makes the same file, whenever it is written: no time in what gzip says of itself. */
static int open_gzip(struct archive *a, struct packing *x, struct archive_entry *e)
{
	archive_entry_set_pathname(e, "stream");
	archive_entry_set_filetype(e, AE_IFREG);
	if (archive_write_set_format_raw(a) != ARCHIVE_OK || archive_write_add_filter_gzip(a) != ARCHIVE_OK ||
	    archive_write_set_filter_option(a, "gzip", "timestamp", NULL) != ARCHIVE_OK)
		return -ENOTSUP;
	archive_write_set_bytes_in_last_block(a, 1);
	if (archive_write_open(a, x, NULL, pack, NULL) != ARCHIVE_OK || archive_write_header(a, e) != ARCHIVE_OK)
		return complaint(a, x);
	return 0;
}

static int put_stream(struct packing *x, int fd)
{
	struct archive_entry *e = archive_entry_new();
	struct archive *a = archive_write_new();
	int r = a && e ? open_gzip(a, x, e) : -ENOMEM;

	r = r ? r : copy(a, x, fd);
	archive_write_free(a);
	archive_entry_free(e);
	if (!r && x->pieces)
		end_piece(x);
	return r;
}

/* What the contents say of stream I; NULL without memory. */
static json_t *stream_json(const struct html_part *p, unsigned int i, size_t pieces)
{
	const char *name = p->names ? p->names[i] : "";
	json_t *json = json_pack("{so sI}", "name", text_json(name, strlen(name)), "pieces", (json_int_t)pieces);

	if (!json || p->tails[i] == UINT64_MAX || json_object_set_new(json, "tail", modeller_time(p->tails[i])) == 0)
		return json;
	json_decref(json);
	return NULL;
}

int html_add(struct html *h, const struct html_part *p)
{
	json_t *streams = json_array();
	unsigned int i;
	int r = streams ? 0 : -ENOMEM;

	for (i = 0; i < p->n && !r; i++) {
		struct packing x = {.text = {.out = h->out}};

		snprintf(x.head, sizeof(x.head), "<script type=\"application/octet-stream\" data-part=\"%zu.%u\">",
			 json_array_size(h->traces), i);
		r = put_stream(&x, p->streams[i].fd);
		if (!r && json_array_append_new(streams, stream_json(p, i, x.pieces)))
			r = -ENOMEM;
	}
	if (!r && json_array_append_new(h->traces, json_pack("{so sO sO}", "name", text_json(p->name, strlen(p->name)),
							     "streams", streams, "notes", p->notes)))
		r = -ENOMEM;
	json_decref(streams);
	return r;
}

int html_add_memory(struct html *h, const char *name, int fd, uint64_t recording)
{
	struct packing x = {.text = {.out = h->out}};
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
	SCOPED(freep) char *text = contents ? json_text(contents, JSON_COMPACT) : NULL;
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
