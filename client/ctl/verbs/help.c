/* The help texts. docs/man/mprofctl.1 says the same; tests/lint/options compares the options. */
#include <stdio.h>
#include <string.h>

#include "array.h"
#include "exporter.h"
#include "options.h"

struct help {
	const char *verb;
	const char *text;
};

/* clang-format off */

static const char program[] =
	"Usage: mprofctl [--host URL|unix:PATH] [--json] VERB [ARGUMENT...]\n"
	"\n"
	"Works with the traces that mprofd archives, and with trace files.\n"
	"\n"
	"  domains                  list running and remembered guests\n"
	"  captures [DOMAIN]        list captures, of all guests or of one\n"
	"  show CAPTURE             say why a capture was taken, and around what\n"
	"  fetch DOMAIN|CAPTURE [-o FILE|-] [--last 10s|5MB] [--run N] [--stream K]\n"
	"                           download a trace into a file\n"
	"  snapshot DOMAIN [--note TEXT]\n"
	"                           take a capture now\n"
	"  follow DOMAIN [-o FILE|-] [--run N] [--stream K]\n"
	"                           download a trace as it grows\n"
	"  dump FILE|-|DOMAIN|CAPTURE [--event NAME,...] [--thread ID,...] [--label GLOB]\n"
	"       [--from TIME] [--to TIME] [--last 10s|5MB] [--run N] [--stream K] [--follow]\n"
	"                           print a trace, one event per line\n"
	"  stats FILE|-|DOMAIN|CAPTURE [--from TIME] [--to TIME] [--last 10s|5MB] [--run N]\n"
	"       [--stream K]        say what is in a trace, in numbers\n"
	"  threads FILE|-|DOMAIN|CAPTURE [--label GLOB] [--unresolved] [--longest N]\n"
	"       [--from TIME] [--to TIME] [--last 10s|5MB] [--run N] [--stream K]\n"
	"                           list the threads of a trace\n"
	"  why FILE|-|DOMAIN|CAPTURE [THREAD|LABEL] [--from TIME] [--to TIME]\n"
	"       [--last 10s|5MB] [--run N] [--stream K]\n"
	"                           say what a thread waits on, and whether it missed its wake-up\n"
	"  diff GOOD BAD [--from TIME] [--to TIME] [--last 10s|5MB] [--stream K] [--good-run N]\n"
	"       [--bad-run N]       say where two runs part, and what ended otherwise\n"
	"  export FILE|-|DOMAIN|CAPTURE --to FORMAT [-o FILE|DIR|-] [--from TIME] [--to TIME]\n"
	"       [--last 10s|5MB] [--run N] [--stream K]\n"
	"                           write a trace in the format of another program\n"
	"  bundle FILE|-|DOMAIN|CAPTURE... [-o FILE|-] [--last 10s|5MB]\n"
	"                           put several traces on one time line, as one archive for Perfetto\n"
	"  view FILE|-|DOMAIN|CAPTURE [FILE|-|DOMAIN|CAPTURE] [-o FILE] [--from TIME] [--to TIME]\n"
	"       [--last 10s|5MB] [--run N] [--stream K]\n"
	"                           open one or two traces in a browser, without a server\n"
	"  mem VERB PROFILE         memory profiles: dump, identify, hotspots, flame, peak, leaks,\n"
	"                           timeline, diff, subsample, export\n"
	"  mem list|start|stop      those that the daemon records\n"
	"\n"
	"Options, before the verb or behind it:\n"
	"  --host URL|unix:PATH     where mprofd-http listens; default: MPROFCTL_HOST, else\n"
	"                           unix:/run/mprofd/http.sock, else http://127.0.0.1:7080\n"
	"  --json                   answers as JSON\n"
	"  --help                   this text; `mprofctl VERB --help` says more of a verb\n"
	"  --version                print the version\n"
	"  -o, --output FILE, --last AMOUNT, --run N, --stream K, --note TEXT, --from TIME,\n"
	"  --to TIME, --event NAME, --thread ID, --label GLOB, --follow,\n"
	"  --unresolved, --longest N, --good-run N, --bad-run N\n"
	"                           of single verbs\n"
	"\n"
	"Where a verb takes a trace it is, in this order, an existing file, a capture's id,\n"
	"or a domain (a UUID, a name, or the domid of a running guest); file:, capture: and\n"
	"domain: before it force one, domid:N and name:NAME the kind of domain.\n"
	"A file is a CTF stream, the image of a ring, a log of s-expressions of 2014, one of these compressed (gzip, xz, zstd), a CTF directory, or a\n"
	"tar of one.\n"
	"\n"
	"Exit codes:\n"
	"  0  all is well\n"
	"  1  something failed; a sentence on stderr says what\n"
	"  2  the command line is wrong\n"
	"  3  the trace is damaged or cut; all that is whole of it was given out\n"
	"  4  there is no such guest, capture, run, stream, file or thread, or it was deleted\n"
	"  5  the daemon cannot be reached\n";

static const struct help verbs[] = {
	{"domains",
	 "Usage: mprofctl domains\n"
	"\n"
	"Lists the guests that run and those that are remembered, with what is archived of the\n"
	"latest run of each. With --json: an object with the array `domains`, as the API gives it.\n"},
	{"captures",
	 "Usage: mprofctl captures [DOMAIN]\n"
	"\n"
	"Lists captures, the newest first: of all guests, or of DOMAIN. With --json: an object with\n"
	"the array `captures`, as the API gives it.\n"},
	{"show",
	 "Usage: mprofctl show CAPTURE\n"
	"\n"
	"Says of a capture why and when it was taken and of which guest, what trace it holds of each\n"
	"stream and how many packets were lost there, and what was kept of the guest besides: its\n"
	"XenStore subtree as last seen, and the end of its console. CAPTURE is an id; `mprofctl\n"
	"captures` lists them. Long XenStore values are cut; --json has them whole.\n"
	"\n"
	"With --json: an object with `capture` and `context` as the API gives them, and `overviews`,\n"
	"one of each stream of which something is left.\n"},
	{"fetch",
	 "Usage: mprofctl fetch DOMAIN|CAPTURE [-o FILE|-] [--last AMOUNT] [--run N] [--stream K]\n"
	"\n"
	"Downloads a trace: a CTF stream, oldest packet first. Without -o it goes to NAME.ctf in the\n"
	"current directory and never overwrites. The file appears when it is complete; a broken\n"
	"connection is taken up where it broke.\n"
	"\n"
	"  -o, --output FILE\n"
	"                 write to FILE, replacing it; - is standard output\n"
	"  --last AMOUNT  only the packets that cover the last 10s, 5m, 2h (ns us ms s m h d), or the\n"
	"                 last 300KB, 5MB, 1GB\n"
	"  --run N        of run N of the guest instead of its latest\n"
	"  --stream K     of stream K; needed where the guest has several\n"},
	{"snapshot",
	 "Usage: mprofctl snapshot DOMAIN [--note TEXT]\n"
	"\n"
	"Takes a capture of a running guest now and prints its id. With --json: the capture.\n"
	"\n"
	"  --note TEXT    a note that is kept with it\n"},
	{"follow",
	 "Usage: mprofctl follow DOMAIN [-o FILE|-] [--run N] [--stream K]\n"
	"\n"
	"Downloads what is archived of a guest's trace, and then each new piece as it comes, until the\n"
	"guest's run ends or SIGINT. Written are whole packets only; a broken connection is taken\n"
	"up again without losing or repeating a byte, for up to two minutes.\n"
	"\n"
	"  -o, --output FILE\n"
	"                 write to FILE, from its start; without it, or with -, to standard output\n"
	"  --run N        run N of the guest instead of its latest\n"
	"  --stream K     stream K; needed where the guest has several\n"},
	{"dump",
	 "Usage: mprofctl dump FILE|-|DOMAIN|CAPTURE [OPTION...]\n"
	"\n"
	"Prints a trace, one event per line: `SECONDS.NANOSECONDS NAME key=value ...`. Packets come in\n"
	"logical order: the image of a ring that has wrapped is put in order, up to 256 MiB; what is\n"
	"larger, or comes from the daemon, is taken as it is. Several streams of one directory are\n"
	"merged by time, and each line ends in its stream's name. Strings are in double quotes:\n"
	"printable UTF-8 as it is, \" and \\ behind a backslash, any other byte as \\xNN.\n"
	"\n"
	"In a damaged packet the rest is skipped, a sentence on stderr names packet, offset and reason,\n"
	"and the exit code is 3. With --json: one object per line; `time_ns` is a decimal string.\n"
	"\n"
	"  --event NAME,...   only these events, by the names that dump prints\n"
	"  --thread ID,...    only events that name one of these threads\n"
	"  --label GLOB       only events of threads with a label like this (* and ?), from the label on\n"
	"  --from TIME        only events at this time or later: a time as dump prints it, or behind\n"
	"                     the first event, as +1.5s or +250ms\n"
	"  --to TIME          only events at this time or earlier\n"
	"  --follow           of a domain: go on with what comes, until its run ends or SIGINT\n"
	"  --last, --run, --stream   of a domain or a capture, as for fetch\n"},
	{"stats",
	 "Usage: mprofctl stats FILE|-|DOMAIN|CAPTURE [OPTION...]\n"
	"\n"
	"Says of a trace, and of each of several streams of one directory, how many events there are of\n"
	"each kind, how many threads of each type, what its packets and its time are, what the counters\n"
	"were at, how long the collections took, which threads ran for longest, how much of the time the\n"
	"program slept, and which threads that should resolve never did.\n"
	"\n"
	"With --json: an object, whose keys mprofctl(1) lists; of several streams their sum and an array\n"
	"of an object for each, `streams`. Memory is bounded: of a trace with more than four million\n"
	"threads at once, or labels, the rest of them is left out and `truncated` is true.\n"
	"\n"
	"  --from TIME        only from this time on: a time as dump prints it, or behind the first\n"
	"                     event, as +1.5s or +250ms; packets are counted of the whole trace\n"
	"  --to TIME          only up to this time\n"
	"  --last, --run, --stream   of a domain or a capture, as for fetch\n"},
	{"threads",
	 "Usage: mprofctl threads FILE|-|DOMAIN|CAPTURE [OPTION...]\n"
	"\n"
	"Lists the threads of a trace in the order of their creation, those from before the trace where\n"
	"they are first named: id, type, start, duration, state, the thread that it became (TO), the\n"
	"thread that created it, and its first label. A thread that is not resolved, and is not marked\n"
	"as one that should be, ends shortly behind the last event that names it.\n"
	"\n"
	"With --json: an object with the array `threads`, whose keys mprofctl(1) lists.\n"
	"\n"
	"  --label GLOB       only threads with a label like this (* and ?)\n"
	"  --unresolved       only those that are not resolved\n"
	"  --longest N        only the N that lasted for longest, the longest first\n"
	"  --from TIME        only those that were there at this time or later: a time as dump prints\n"
	"                     it, or behind the first event, as +1.5s or +250ms\n"
	"  --to TIME          only those that were there at this time or earlier\n"
	"  --last, --run, --stream   of a domain or a capture, as for fetch\n"},
	{"why",
	 "Usage: mprofctl why FILE|-|DOMAIN|CAPTURE [THREAD|LABEL] [OPTION...]\n"
	"\n"
	"Says of each thread that should resolve and never did what it waits on, and what that waits on,\n"
	"down to the root that somebody had to resolve: since when, whether it was signalled or resolved\n"
	"before anybody waited (a missed wake-up), by whom, and who resolved the like of it. At the end,\n"
	"what ran last, where the guest crashed or it is not known how it ended, as of files.\n"
	"\n"
	"With a THREAD (an id), or a LABEL (a pattern of * and ?), it says that of those threads, whether\n"
	"they should resolve or not; first of those that are not resolved. At most 100 are told.\n"
	"\n"
	"With --json: an object, whose keys mprofctl(1) lists.\n"
	"\n"
	"  --from TIME        only of threads that were created at this time or later: a time as dump\n"
	"                     prints it, or behind the first event, as +1.5s or +250ms\n"
	"  --to TIME          how it was at this time: what came later is left out\n"
	"  --last, --run, --stream   of a domain or a capture, as for fetch\n"},
	{"mem",
	 "Usage: mprofctl mem dump|identify|hotspots|flame|peak|leaks|timeline PROFILE [OPTION...]\n"
	"       mprofctl mem diff A B [OPTION...]\n"
	"       mprofctl mem subsample FACTOR PROFILE [-o FILE|-] [--from TIME] [--to TIME]\n"
	"       mprofctl mem export PROFILE --to FORMAT [-o FILE|-] [OPTION...]\n"
	"       mprofctl mem list [DOMAIN]\n"
	"       mprofctl mem start DOMAIN [--address ADDRESS] [--port PORT]\n"
	"       mprofctl mem stop PROFILE\n"
	"\n"
	"Reads the memory profile of an OCaml program or unikernel: a memtrace stream of version 1, 2\n"
	"or 3. PROFILE is a file or - for standard input, also compressed by gzip, xz or zstd; or the\n"
	"number of a recording that the daemon has, also while it grows (recording:N where a file is\n"
	"called N).\n"
	"\n"
	"  mem dump       prints it, one event per line: microseconds since the start, the object, and of\n"
	"                 an allocation its samples, words and stack, the caller first\n"
	"  mem identify   says of which program it is, and what it adds up to\n"
	"  mem hotspots   which functions allocate most, where, and through which callers\n"
	"  mem flame      draws a flame graph as an SVG for any browser, with zoom and search\n"
	"  mem peak       as hotspots, of what lived when the most did\n"
	"  mem leaks      what was allocated all through the run and never went, and how sure that is\n"
	"  mem timeline   how much lived at which time\n"
	"  mem diff       which functions allocate more a second in B than in A, and which less\n"
	"  mem subsample  keeps each sample with the probability 1 / FACTOR, as a memtrace stream\n"
	"  mem export     writes it for other programs: collapsed, json, pprof or speedscope; or, as html,\n"
	"                 the viewer with all of it in one file, as `mprofctl view` opens it\n"
	"  mem list       the recordings that the daemon has, the newest first: all, or those of DOMAIN\n"
	"  mem start      connects to the guest's service and records; prints the recording's number\n"
	"  mem stop       ends a recording, with all samples that the guest still sends\n"
	"\n"
	"All sizes are estimates; that of N samples has a relative error of about 1 / sqrt(N). What is\n"
	"damaged is told on stderr, all that can be kept is used, and the exit code is 3. With --json:\n"
	"one object per line, or one object; mprofctl(1) lists the keys.\n"
	"\n"
	"All but dump, identify and subsample take only objects for which all of these hold; times are\n"
	"behind the start, a range is A..B, A.., ..B, or one value for both, and ends are included:\n"
	"  --allocated RANGE  when it was allocated: 1.5s..2s, 250ms..\n"
	"  --live RANGE|end|peak   when it lived: at a time, at some time of a range, at the end, at the peak\n"
	"  --collected RANGE|never   when it went\n"
	"  --lifetime RANGE   how long it lived: ..10ms\n"
	"  --size RANGE       of the block, in bytes: 64..256, 1K..\n"
	"  --heap LIST        minor, major, external\n"
	"  --inside LIST      functions: a part of a name, or =NAME for the whole; all must be on the stack;\n"
	"                     a comma of a name is written as \\,\n"
	"  --outside LIST     functions, as above: none may be on the stack\n"
	"\n"
	"Further options:\n"
	"  --recording N      of several recordings joined in one file the Nth; else the last one, and\n"
	"                     each of them for dump and subsample\n"
	"  --hide LIST        flame, export: leave out frames of these functions, but not what they allocate\n"
	"  --callers          flame: the other way round, from those that allocate down to their callers\n"
	"  --title TEXT       flame: above the picture, instead of the program's name\n"
	"  --points N         timeline: so many times instead of 40, or of 450 with --json\n"
	"  --to FORMAT        export: the format; subsample: TIME, up to which objects were allocated\n"
	"  --from TIME        subsample: from which on objects were allocated\n"
	"  -o, --output FILE  flame: instead of flame.svg; subsample, export: instead of standard output\n"
	"  --address ADDRESS  start: numeric, instead of what the toolstack wrote of the guest\n"
	"  --port PORT        start: instead of the guest's memtrace-port, or 4242\n"},
	{"diff",
	 "Usage: mprofctl diff GOOD BAD [OPTION...]\n"
	"\n"
	"Sets a good run beside a bad one; each is a FILE, -, a DOMAIN or a CAPTURE. Threads are counterparts\n"
	"by type, label and place below their creators, never by id or time. Told, the most telling first:\n"
	"which threads were resolved in one run only, or failed in one only, and what they wait on; the step\n"
	"at which they part from their counterparts, and what each does next; which took much longer; which\n"
	"have no counterpart; and which counters differ. Times are those since each trace's first event.\n"
	"\n"
	"With --json: an object, whose keys mprofctl(1) lists. The exit code does not depend on the answer.\n"
	"\n"
	"  --from TIME        only threads that were created at this time or later, in either run: a time\n"
	"                     as dump prints it, or behind the first event of each, as +1.5s or +250ms\n"
	"  --to TIME          how both were at this time: what came later is left out\n"
	"  --last AMOUNT, --stream K   of those of the two that are a domain or a capture, as for fetch\n"
	"  --good-run N, --bad-run N   run N of a domain instead of its latest\n"},
	{"bundle",
	 "Usage: mprofctl bundle FILE|-|DOMAIN|CAPTURE... [-o FILE|-] [--last AMOUNT]\n"
	"\n"
	"Puts several traces on one time line: a tar of Perfetto traces, one of each stream, and of a\n"
	"manifest that says how their clocks stand to each other. Perfetto 58 and later opens it as one\n"
	"trace. Without -o it goes to bundle.tar, and never overwrites. Of guests and captures the\n"
	"offset of their clock to dom0's is known from the stamps of their packets, and said with what\n"
	"the true one can be less; of files nothing is known, and their times are taken as they are.\n"
	"With --json: an object, whose keys mprofctl(1) lists.\n"
	"\n"
	"  -o, --output FILE\n"
	"                 write to FILE, replacing it; - is standard output\n"
	"  --last AMOUNT  of guests and captures only the last 10s or 5MB, as for fetch\n"},
	{"view",
	 "Usage: mprofctl view FILE|-|DOMAIN|CAPTURE [FILE|-|DOMAIN|CAPTURE] [-o FILE] [OPTION...]\n"
	"\n"
	"Writes the viewer and one trace, or two, into one HTML file, and opens it: by the commands that the\n"
	"environment variable BROWSER names, separated by colons, each a program and its arguments, %s for\n"
	"the file; on a desktop also by xdg-open or sensible-browser. Where none can be started, the file's\n"
	"path is printed. A FILE may be a memory profile: all of it is shown, and only -o is for it.\n"
	"\n"
	"The page needs neither a server nor a network, and what is in it is shown as mprofd-http shows it,\n"
	"but for the page of a host, and following a guest. Without -o it lies in a new directory below\n"
	"TMPDIR, else /tmp, which nobody else may read; remove it when it is not needed.\n"
	"With --json: an object with `path` and `opened`.\n"
	"\n"
	"  -o, --output FILE  write to FILE, replacing it\n"
	"  --from TIME        only events at this time or later: a time as dump prints it, or behind\n"
	"                     the first event, as +1.5s or +250ms\n"
	"  --to TIME          only events at this time or earlier\n"
	"  --last, --run, --stream   of domains and captures, as for fetch\n"},
	{"export",
	 "Usage: mprofctl export FILE|-|DOMAIN|CAPTURE --to FORMAT [-o FILE|DIR|-] [OPTION...]\n"
	"\n"
	"Writes a trace in the format of another program. Without -o it goes to a file or directory named\n"
	"like the trace in the current directory, and never overwrites. It appears when it is complete.\n"
	"With --json: an object with `format`, `path` and `events`.\n"
	"\n"
	"  --to FORMAT        one of those below\n"
	"  -o, --output PATH  write to this file, replacing it, or to this directory, which must be\n"
	"                     new or empty; - is standard output, for formats that are a file\n"
	"  --from TIME        only events at this time or later: a time as dump prints it, or behind\n"
	"                     the first event, as +1.5s or +250ms\n"
	"  --to TIME          only events at this time or earlier; beside --to FORMAT\n"
	"  --last, --run, --stream   of a domain or a capture, as for fetch\n"
	"\n"
	"Formats:\n"},
};

/* clang-format on */

/* The formats are listed from their own table, so that no second list exists. */
static void print_formats(void)
{
	const struct exporter *e;

	for (size_t i = 0; (e = exporter_at(i)); i++)
		printf("  %-9s %s\n", e->name, e->what);
}

const char *help_text(const char *verb)
{
	if (!verb)
		return program;
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (strcmp(verb, verbs[i].verb) == 0)
			return verbs[i].text;
	return NULL;
}

bool help_print(const char *verb)
{
	const char *text = help_text(verb);

	if (!text)
		return false;
	fputs(text, stdout);
	if (verb && strcmp(verb, "export") == 0)
		print_formats();
	return true;
}
