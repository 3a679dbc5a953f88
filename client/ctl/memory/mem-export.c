/* `mprofctl mem export`: write a memory profile for other programs. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "cleanup.h"
#include "html.h"
#include "mem-formats.h"
#include "mem-page.h"
#include "mem.h"
#include "options.h"
#include "output-writer.h"
#include "output.h"
#include "suggestion.h"

/*
 * The HTML page decodes the memtrace stream itself and shows the damage in the stream. So mprofctl
 * unpacks the stream and otherwise copies it unchanged.
 */

/* Number of first bytes that mprof_mem_begins() needs to recognize a memtrace stream. */
#define HEAD_BYTES 64u

static int take_bytes(void *context, const void *bytes, size_t len)
{
	struct mem_page *p = context;

	p->bytes += len;
	return p->bytes > HTML_BYTES_MAX ? -EFBIG : write_all(p->fd, bytes, len);
}

static int pass_event(void *context, const struct mprof_mem *m, const struct mprof_mem_event *event)
{
	(void)context;
	(void)m;
	(void)event;
	return 0;
}

/* Report why the unpacked bytes could not be stored in the temporary file. Return an exit code. */
static int aside_failed(const struct mem_page *p)
{
	if (p->in.refused == -EFBIG)
		say("%s is longer than the %llu MiB that one page can hold: reduce it with `mprofctl mem subsample`, "
		    "or select a part with its --from and --to",
		    p->in.name, HTML_BYTES_MAX >> 20);
	else
		say("cannot write a temporary file: %s; set TMPDIR to another directory", strerror(-p->in.refused));
	return CTL_FAILED;
}

int mem_page_read(struct mem_page *p, const char *operand, uint64_t recording)
{
	const struct mem_consumer consumer = {.event = pass_event, .bytes = take_bytes, .context = p};
	int r;

	*p = (struct mem_page){
		.in = {.fd = -1, .hosts = p->in.hosts}, .operand = operand, .recording = recording, .fd = -1};
	r = mem_input_open(&p->in, operand, false);
	if (r)
		return r;
	p->fd = spool_file();
	if (p->fd < 0) {
		p->in.refused = p->fd;
		return aside_failed(p);
	}
	p->in.recording = recording;
	p->in.each = true; /* the page shows all recordings of the stream */
	r = mem_input_run(&p->in, &consumer, false);
	return p->in.refused ? aside_failed(p) : r;
}

void mem_page_deinit(struct mem_page *p)
{
	mem_input_close(&p->in);
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

/* ---- recognizing a memory profile */
struct head {
	uint8_t bytes[HEAD_BYTES];
	size_t n;
};

/*
 * Copy the first HEAD_BYTES unpacked bytes to the struct head. Return 0 to go on, or -ECANCELED
 * when all are there, to stop unpacking.
 */
static int take_head(void *context, const void *bytes, size_t len)
{
	struct head *h = context;
	size_t n = len < HEAD_BYTES - h->n ? len : HEAD_BYTES - h->n;

	memcpy(h->bytes + h->n, bytes, n);
	h->n += n;
	return h->n == HEAD_BYTES ? -ECANCELED : 0;
}

static int no_member(void *context, const char *path)
{
	(void)context;
	(void)path;
	return -EISDIR;
}

static bool begins(int fd, const char *name)
{
	struct head head = {0};
	const struct unpack_ops ops = {.bytes = take_head, .member = no_member, .context = &head};
	uint8_t packed[UNPACK_HEAD];
	ssize_t n = pread(fd, packed, sizeof(packed), 0);

	if (n <= 0)
		return false;
	if (!unpack_wanted(packed, (size_t)n))
		return mprof_mem_begins(packed, (size_t)n);
	/*
	 * This unpacks only the beginning. Damage farther behind is reported when the profile is
	 * read.
	 */
	if (lseek(fd, n, SEEK_SET) < 0 || unpack_run(fd, packed, (size_t)n, name, &ops) > 0)
		return false;
	return mprof_mem_begins(head.bytes, head.n);
}

/*
 * Return true if OPERAND is standard input or a readable regular file. Other operands are not
 * opened. A capture or domain would be reported as a missing file. A named pipe would be closed
 * after its first bytes were read, and its writer would fail.
 */
static bool is_file(const char *operand)
{
	const char *path = strncmp(operand, "file:", 5) == 0 ? operand + 5 : operand;
	struct stat st;

	return strcmp(operand, "-") == 0 || (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, R_OK) == 0);
}

bool mem_page_is(const char *operand)
{
	struct mem_input in = {.fd = -1};
	bool is = false;

	if (!is_file(operand))
		return false;
	if (mem_input_open(&in, operand, false) == CTL_OK && in.again) {
		is = begins(in.fd, in.name);
		lseek(in.fd, 0, SEEK_SET);
	}
	mem_input_close(&in);
	return is;
}

/* ---- mem export */

static int write_page(const struct mem_page *p, struct output *o)
{
	CLEANUP(writer_deinit) struct writer out = {0};
	struct html h;
	int r;

	if (!writer_init(&out, o->fd))
		return say_memory();
	r = html_begin(&h, &out);
	r = r ? r : html_add_memory(&h, html_name(p->operand), p->fd, p->recording);
	r = r ? r : html_end(&h);
	html_deinit(&h);
	if (r)
		return r == -ENOMEM ? say_memory() : output_complain(o, -r);
	return output_commit(o);
}

int mem_page_export(const struct hosts *hosts, const char *operand, uint64_t recording, const char *file)
{
	CLEANUP(mem_page_deinit) struct mem_page p = {.in = {.hosts = *hosts}, .fd = -1};
	CLEANUP(output_close) struct output o = {.fd = -1};
	int r, written;

	if (!html_possible())
		return CTL_FAILED;
	r = mem_page_read(&p, operand, recording);
	if (r != CTL_OK && r != CTL_DAMAGED)
		return r;
	written = output_open(&o, file ? file : "-", OUTPUT_REPLACE, "mem");
	written = written ? written : write_page(&p, &o);
	return written ? written : r;
}

static const struct {
	const char *name;
	int (*write)(struct mem_format_job *f);
	bool hides; /* the option --hide applies to this format */
} formats[] = {
	{"collapsed", mem_write_collapsed, true},
	{"html", NULL, false}, /* mem_page_export() writes this format */
	{"json", mem_write_json, false},
	{"pprof", mem_write_pprof, false},
	{"speedscope", mem_write_speedscope, true},
};

/* Return the index of the format NAME in FORMATS, or -1 after an error message. */
static int format_find(const char *name)
{
	struct suggestion suggestion = {.word = name};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (strcmp(formats[i].name, name) == 0)
			return (int)i;
		suggestion_consider(&suggestion, formats[i].name);
	}
	if (suggestion.best)
		say_usage("mem", "there is no format \"%s\"; did you mean %s?", name, suggestion.best);
	else
		say_usage("mem", "there is no format \"%s\": it takes collapsed, html, json, pprof and speedscope",
			  name);
	return -1;
}

/*
 * Write the profile L in format number FORMAT to FILE. If FILE is NULL, write to standard output.
 * Return an exit code.
 */
static int write_to(struct mem_load *l, const struct mem_filter *filter, int format, const char *file)
{
	CLEANUP(output_close) struct output out = {.fd = -1};
	struct mem_format_job f = {.l = l, .filter = filter, .out = &out};
	int r;

	/*
	 * pprof is binary, so output_open() refuses a terminal. The other formats are text and may
	 * go to a terminal.
	 */
	if (file)
		r = output_open(&out, file, OUTPUT_REPLACE, "mem");
	else if (formats[format].write == mem_write_pprof)
		r = output_open(&out, "-", OUTPUT_REPLACE, "mem");
	else
		r = (out.fd = STDOUT_FILENO, CTL_OK);
	if (r)
		return r;
	r = formats[format].write(&f);
	if (r == -ENOMEM)
		return say_memory();
	if (r)
		return output_complain(&out, -r);
	if (f.cut)
		say("%s: %llu stacks were cut to their %u innermost frames or fewer", l->in.name,
		    (unsigned long long)f.cut, MEM_FRAMES_MAX);
	return output_commit(&out);
}

int mem_export(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(mem_load_deinit) struct mem_load l = {.in = {.fd = -1, .hosts = ctl->hosts}};
	CLEANUP(mem_filter_deinit) struct mem_filter f = {0};
	struct options o;
	struct operands left;
	int r = options_parse(ctl, argc, argv, &o, &left), format, written;

	if (r)
		return r;
	if (!o.to)
		return say_usage(
			"mem",
			"mem export: --to FORMAT is missing; it takes collapsed, html, json, pprof and speedscope");
	format = format_find(o.to);
	if (format < 0)
		return CTL_USAGE;
	if (o.hide && !formats[format].hides)
		return say_usage("mem", "--hide has no effect in the format %s, which has all frames",
				 formats[format].name);
	r = mem_filter_parse(&f, &o);
	if (!r && !formats[format].write)
		return f.given ? say_usage("mem",
					   "the html page always has the whole profile: choose filters in the page")
			       : mem_page_export(&ctl->hosts, left.at[0], f.recording, o.output);
	r = r ? r : mem_load(&l, left.at[0], &f, true, NULL, 0);
	if (r != CTL_OK && r != CTL_DAMAGED)
		return r;
	written = write_to(&l, &f, format, o.output);
	return written ? written : r;
}
