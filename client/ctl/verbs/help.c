/*
 * The help texts. docs/man/mprofctl.1 documents the same options, and tests/lint/options compares
 * the two. complete.c takes the candidates for completion from these texts.
 */
#include <stdio.h>
#include <string.h>

#include "array.h"
#include "exporter.h"
#include "help.h"

struct help {
	const char *verb;
	const char *text;
};

/* clang-format off */

static const char program[] =
	"Usage: mprofctl [--host HOST] [--json] VERB [ARGUMENT...]\n"
	"\n"
	"Works with the traces that mprofd archives, and with trace files.\n"
	"\n"
	"  domains                  list running and remembered guests\n"
	"  captures [DOMAIN]        list captures\n"
	"  show CAPTURE             explain why a capture was taken\n"
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
	"       [--stream K]        summarize a trace in numbers\n"
	"  threads FILE|-|DOMAIN|CAPTURE [--label GLOB] [--unresolved] [--longest N]\n"
	"       [--from TIME] [--to TIME] [--last 10s|5MB] [--run N] [--stream K]\n"
	"                           list the threads of a trace\n"
	"  why FILE|-|DOMAIN|CAPTURE [THREAD|LABEL] [--all] [--from TIME] [--to TIME]\n"
	"       [--last 10s|5MB] [--run N] [--stream K]\n"
	"                           explain waits, name causes of hangs\n"
	"  diff GOOD BAD [--from TIME] [--to TIME] [--last 10s|5MB] [--stream K] [--good-run N]\n"
	"       [--bad-run N]       compare two runs: where they part\n"
	"  export FILE|-|DOMAIN|CAPTURE --to FORMAT [-o FILE|DIR|-] [--from TIME] [--to TIME]\n"
	"       [--last 10s|5MB] [--run N] [--stream K]\n"
	"                           write a trace in the format of another program\n"
	"  bundle FILE|-|DOMAIN|CAPTURE... [-o FILE|-] [--last 10s|5MB]\n"
	"                           put several traces on one time line, for Perfetto\n"
	"  view FILE|-|DOMAIN|CAPTURE [FILE|-|DOMAIN|CAPTURE] [-o FILE] [--from TIME] [--to TIME]\n"
	"       [--last 10s|5MB] [--run N] [--stream K]\n"
	"                           open one or two traces in a browser\n"
	"  mem VERB PROFILE         memory profiles: dump, identify, hotspots, flame, peak, leaks,\n"
	"                           timeline, diff, subsample, export\n"
	"  mem list|start|stop      memory profiles that the daemon records\n"
	"  token new|list|revoke    tokens for https\n"
	"  hosts                    list the hosts of a hub\n"
	"  fleet QUESTION           ask a hub about its fleet\n"
	"\n"
	"Options, before the verb or behind it:\n"
	"  --host HOST              unix:PATH, https://HOST, ssh:HOST, or names of the hosts file;\n"
	"                           default: MPROFCTL_HOST, else unix:/run/mprofd/http.sock, else\n"
	"                           http://127.0.0.1:7080\n"
	"  --ca FILE                https: trust these CAs\n"
	"  --cert FILE, --key FILE  https: show this certificate\n"
	"  --token FILE             https: send this token; default: MPROFCTL_TOKEN\n"
	"  --stdio-proxy            the other end of --host ssh:\n"
	"  --json                   answer as JSON\n"
	"  --help                   print this text; `mprofctl VERB --help` describes a verb\n"
	"  --version                print the version\n"
	"  -o, --output FILE, --last AMOUNT, --run N, --stream K, --note TEXT, --from TIME,\n"
	"  --to TIME, --time wall|guest|relative, --utc, --event NAME, --thread ID, --label GLOB,\n"
	"  --follow, --unresolved, --longest N, --all, --good-run N, --bad-run N, --scope LIST,\n"
	"  --days N\n"
	"                           options of single verbs\n"
	"\n"
	"A trace is, in this order, an existing file, a capture's id, or a domain (a UUID, a name,\n"
	"or the domid of a running guest). The prefixes file:, capture: and domain: force one of\n"
	"these; domid:N and name:NAME force the kind of domain.\n"
	"A file is a CTF stream, a ring's image, OCaml 5's PID.events, a log of 2014, one of these\n"
	"compressed (gzip, xz, zstd), a CTF directory, or a tar of one.\n"
	"\n"
	"Exit codes:\n"
	"  0  success\n"
	"  1  an error, with a message on stderr\n"
	"  2  a mistake on the command line\n"
	"  3  the trace is damaged or cut; mprofctl wrote out all that is intact\n"
	"  4  no such guest, capture, run, stream, file or thread, or it was deleted\n"
	"  5  the daemon cannot be reached\n";

static const struct help verbs[] = {
	{"domains",
	 "Usage: mprofctl domains [--utc]\n"
	 "\n"
	 "Lists running and remembered guests, with the archived part of the latest run of each. Times\n"
	 "are in your zone, with --utc in UTC. On a hub a guest is HOST/GUEST, and its trace is that of\n"
	 "its newest capture.\n"
	 "With --json: an object with the array `domains`, as in the API.\n"},
	{"captures",
	 "Usage: mprofctl captures [DOMAIN] [--utc]\n"
	 "\n"
	 "Lists captures, newest first: of all guests, or of DOMAIN. Times are in your zone, with --utc\n"
	 "in UTC. With --json: an object with the array `captures`, as in the API.\n"},
	{"show",
	 "Usage: mprofctl show CAPTURE [--utc]\n"
	 "\n"
	 "Explains a capture: why and when it was taken and of which guest, what it holds of each\n"
	 "stream, how many packets were lost there, and what else was kept of the guest: its XenStore\n"
	 "subtree as last seen, and the end of its console. CAPTURE is an id; `mprofctl captures`\n"
	 "lists them. Times are in your zone, with --utc in UTC. Long XenStore values are cut; --json\n"
	 "has them in full.\n"
	 "\n"
	 "With --json: an object with `capture` and `context` as in the API, and `overviews`, one for\n"
	 "each stream that still has packets.\n"},
	{"fetch",
	 "Usage: mprofctl fetch DOMAIN|CAPTURE [-o FILE|-] [--last AMOUNT] [--run N] [--stream K]\n"
	 "\n"
	 "Downloads a trace: a CTF stream, oldest packet first. Without -o the trace goes to NAME.ctf\n"
	 "in the current directory; an existing file is never overwritten. The file appears when it\n"
	 "is complete. A broken connection is resumed. Beside the file, FILE.clock.json keeps the offset\n"
	 "of the guest's clock, for wall times.\n"
	 "\n"
	 "  -o, --output FILE\n"
	 "                    write to FILE, replacing it; - is standard output\n"
	 "  --last AMOUNT     only the packets that cover the last 10s, 5m, 2h (ns us ms s m h d), or the\n"
	 "                    last 300KB, 5MB, 1GB\n"
	 "  --run N           run N of the guest instead of its latest\n"
	 "  --stream K        stream K; needed if the guest has several\n"},
	{"snapshot",
	 "Usage: mprofctl snapshot DOMAIN [--note TEXT]\n"
	 "\n"
	 "Takes a capture of a running guest now and prints its id. With --json: the capture.\n"
	 "\n"
	 "  --note TEXT       a note to keep with the capture\n"},
	{"follow",
	 "Usage: mprofctl follow DOMAIN [-o FILE|-] [--run N] [--stream K]\n"
	 "\n"
	 "Downloads the archived part of a guest's trace, and then each new piece, until the guest's\n"
	 "run ends or SIGINT comes. Only whole packets are written. A broken connection is resumed for\n"
	 "up to two minutes, without losing or repeating a byte. At the end FILE.clock.json beside the\n"
	 "file keeps the offset of the guest's clock, for wall times.\n"
	 "\n"
	 "  -o, --output FILE\n"
	 "                    write to FILE, from its start; without it, or with -, to standard output\n"
	 "  --run N           run N of the guest instead of its latest\n"
	 "  --stream K        stream K; needed if the guest has several\n"},
	{"dump",
	 "Usage: mprofctl dump FILE...|-|DOMAIN|CAPTURE [OPTION...]\n"
	 "\n"
	 "Prints a trace, one event per line: `SECONDS.NANOSECONDS NAME key=value ...`. Packets come in\n"
	 "logical order: the image of a wrapped ring is put in order, up to 256 MiB. A larger input, and\n"
	 "a trace from the daemon, is printed in its own order. Several streams of one directory, and\n"
	 "several FILEs, which are rings of one program, are merged by time, and each line ends with its\n"
	 "stream's name. Strings are in double quotes:\n"
	 "printable UTF-8 as it is, \" and \\ behind a backslash, any other byte as \\xNN.\n"
	 "\n"
	 "Behind a damaged event, events go on where their sizes lead exactly to the packet's end; else the\n"
	 "rest of the packet is skipped. A message on stderr gives packet, offset, reason and the number\n"
	 "of such events, which are unproven, and the exit code is 3. With --json: one object per line; `time_ns` is a decimal string, and with\n"
	 "--time wall `wall` is an RFC 3339 time.\n"
	 "\n"
	 "  --event NAME,...  only these events, by the names that dump prints\n"
	 "  --thread ID,...   only events that name one of these threads\n"
	 "  --label GLOB      only events of threads with a matching label (* and ?), from the label on\n"
	 "  --from TIME       only events at this time or later: as dump prints it, behind the first event\n"
	 "                    (+1.5s, +250ms), or a wall time (03:12:44, '2026-11-23 03:12:44',\n"
	 "                    '10 min ago')\n"
	 "  --to TIME         only events at this time or earlier\n"
	 "  --time wall|guest|relative\n"
	 "                    dom0's wall time, the guest's own clock (the default), or since the first event\n"
	 "  --utc             wall times in UTC instead of your zone\n"
	 "  --follow          for a domain: go on with new events until its run ends or SIGINT comes\n"
	 "  --runtime NAME    for a ring file of OCaml: ocaml-5.N or oxcaml numbered its phases and counters\n"
	 "  --last, --run, --stream for a domain or a capture, as for fetch\n"},
	{"stats",
	 "Usage: mprofctl stats FILE...|-|DOMAIN|CAPTURE [OPTION...]\n"
	 "\n"
	 "Summarizes a trace, and each stream of a directory, or of several FILEs, which are rings of one\n"
	 "program: the number of events of each kind and of threads of each type, packets and time, the\n"
	 "counters' values, the time of collections, the threads that ran longest, the time that the\n"
	 "program slept, and the threads that should resolve and never did.\n"
	 "\n"
	 "With --json: an object; mprofctl(1) lists its keys. For several streams it has their sum and an\n"
	 "array `streams` with an object for each. Memory is bounded: at more than four million threads\n"
	 "at once, or labels, the rest is left out and `truncated` is true.\n"
	 "\n"
	 "  --from TIME       only from this time on, as for dump; packets are counted in the whole trace\n"
	 "  --to TIME         only up to this time\n"
	 "  --time wall|guest|relative\n"
	 "                    dom0's wall time, the guest's own clock (the default), or since the first event\n"
	 "  --utc             wall times in UTC instead of your zone\n"
	 "  --runtime NAME    the numbering of a ring file of OCaml, as for dump\n"
	 "  --last, --run, --stream for a domain or a capture, as for fetch\n"},
	{"threads",
	 "Usage: mprofctl threads FILE...|-|DOMAIN|CAPTURE [OPTION...]\n"
	 "\n"
	 "Lists the threads of a trace in the order of their creation, or of their first mention if they\n"
	 "are older than the trace: id, type, start, duration, state, the thread that it became (TO), the\n"
	 "thread that created it, and its first label. A thread that is unresolved and not marked as one\n"
	 "that should resolve ends shortly behind the last event that names it.\n"
	 "\n"
	 "With --json: an object with the array `threads`; mprofctl(1) lists its keys.\n"
	 "\n"
	 "  --label GLOB      only threads with a matching label (* and ?)\n"
	 "  --unresolved      only unresolved threads\n"
	 "  --longest N       only the N threads that lasted longest, longest first\n"
	 "  --from TIME       only threads that existed at this time or later; TIME as for dump\n"
	 "  --to TIME         only threads that existed at this time or earlier\n"
	 "  --time wall|guest|relative\n"
	 "                    dom0's wall time, the guest's own clock (the default), or since the first event\n"
	 "  --utc             wall times in UTC instead of your zone\n"
	 "  --runtime NAME    the numbering of a ring file of OCaml, as for dump\n"
	 "  --last, --run, --stream for a domain or a capture, as for fetch\n"},
	{"why",
	 "Usage: mprofctl why FILE...|-|DOMAIN|CAPTURE [THREAD|LABEL] [OPTION...]\n"
	 "\n"
	 "Names each cause of a hang that the trace proves, once, the worst first: threads that wait on each\n"
	 "other, a wake-up that came too early, the holder of a lock that ended. Then it explains what the\n"
	 "threads wait on that should resolve and never did, or if none is marked, the five longest waits of\n"
	 "named threads. Threads that wait for the same are one answer. An answer goes down to the root that\n"
	 "somebody had to resolve: since when, whether it was signalled or resolved before, by whom, and who\n"
	 "resolved similar threads. At the end it shows what ran last, if the guest crashed or its end is\n"
	 "unknown, as for files.\n"
	 "\n"
	 "With a THREAD (an id) or a LABEL (a pattern of * and ?) it explains those threads, whether they\n"
	 "should resolve or not, unresolved ones first. It gives at most 100 answers. Several FILEs, or a\n"
	 "directory, are the rings of one program; a label that is also a file's name is taken for the file.\n"
	 "\n"
	 "With --json: an object; mprofctl(1) lists its keys.\n"
	 "\n"
	 "  --all             an answer for each thread that should resolve and never did, or if none is\n"
	 "                    marked, for each that waits; at most 10,000\n"
	 "  --from TIME       only threads that were created at this time or later; TIME as for dump\n"
	 "  --to TIME         the state at this time: later events are left out\n"
	 "  --time wall|guest|relative\n"
	 "                    dom0's wall time, the guest's own clock (the default), or since the first event\n"
	 "  --utc             wall times in UTC instead of your zone\n"
	 "  --runtime NAME    the numbering of a ring file of OCaml, as for dump\n"
	 "  --last, --run, --stream for a domain or a capture, as for fetch\n"},
	{"mem",
	 "Usage: mprofctl mem dump|identify|hotspots|flame|peak|leaks|timeline PROFILE [OPTION...]\n"
	 "       mprofctl mem diff A B [OPTION...]\n"
	 "       mprofctl mem subsample FACTOR PROFILE [-o FILE|-] [--from TIME] [--to TIME]\n"
	 "       mprofctl mem export PROFILE --to FORMAT [-o FILE|-] [OPTION...]\n"
	 "       mprofctl mem list [DOMAIN] [--utc]\n"
	 "       mprofctl mem start DOMAIN [--address ADDRESS] [--port PORT]\n"
	 "       mprofctl mem stop PROFILE\n"
	 "\n"
	 "Reads the memory profile of an OCaml program or unikernel: a memtrace stream of version 1, 2\n"
	 "or 3. PROFILE is a file or - for standard input, also compressed with gzip, xz or zstd; or the\n"
	 "number of one of the daemon's recordings, also while it grows (recording:N if a file is called\n"
	 "N).\n"
	 "\n"
	 "  mem dump       prints one event per line: microseconds since the start, the object, and for\n"
	 "                 an allocation its samples, words and stack, the caller first\n"
	 "  mem identify   shows the program and the totals\n"
	 "  mem hotspots   shows which functions allocate most, where, and through which callers\n"
	 "  mem flame      draws a flame graph as an SVG for any browser, with zoom and search\n"
	 "  mem peak       as hotspots, for the objects that lived at the peak\n"
	 "  mem leaks      shows what was allocated throughout the run and never freed, and how sure that is\n"
	 "  mem timeline   shows how much lived at which time\n"
	 "  mem diff       shows which functions allocate more per second in B than in A, and which less\n"
	 "  mem subsample  keeps each sample with the probability 1 / FACTOR, as a memtrace stream\n"
	 "  mem export     writes the profile for other programs: collapsed, json, pprof or speedscope; or,\n"
	 "                 as html, the viewer with the whole profile in one file, as `mprofctl view` opens it\n"
	 "  mem list       lists the daemon's recordings, newest first: all, or those of DOMAIN;\n"
	 "                 times are in your zone, with --utc in UTC\n"
	 "  mem start      connects to the guest's service and records; prints the recording's number\n"
	 "  mem stop       ends a recording, with all samples that the guest still sends\n"
	 "\n"
	 "All sizes are estimates; the estimate of N samples has a relative error of about 1 / sqrt(N).\n"
	 "Damage is reported on stderr, all intact parts are used, and the exit code is 3. With --json:\n"
	 "one object per line, or one object; mprofctl(1) lists the keys.\n"
	 "\n"
	 "All but dump, identify and subsample take only objects that meet all of these conditions. Times\n"
	 "count from the start. A range is A..B, A.., ..B, or one value for both; its ends are included:\n"
	 "  --allocated RANGE      time of allocation: 1.5s..2s, 250ms..\n"
	 "  --live RANGE|end|peak  alive at a time, at some time of a range, at the end, or at the peak\n"
	 "  --collected RANGE|never  time of collection\n"
	 "  --lifetime RANGE       length of its life: ..10ms\n"
	 "  --size RANGE           size of the block in bytes: 64..256, 1K..\n"
	 "  --heap LIST            minor, major, external\n"
	 "  --inside LIST          functions: a part of a name, or =NAME for the whole; all must be on the\n"
	 "                         stack; a comma in a name is written as \\,\n"
	 "  --outside LIST         functions, as above: none may be on the stack\n"
	 "\n"
	 "Further options:\n"
	 "  --recording N          the Nth of several recordings joined in one file; by default the last, and\n"
	 "                         for dump and subsample all of them\n"
	 "  --hide LIST            flame, export: leave out frames of these functions, but keep their samples\n"
	 "  --callers              flame: inverted, from the functions that allocate down to their callers\n"
	 "  --title TEXT           flame: title of the picture instead of the program's name\n"
	 "  --points N             timeline: number of points instead of 40, or of 450 with --json\n"
	 "  --to FORMAT            export: the format; subsample: TIME, only objects allocated before it\n"
	 "  --from TIME            subsample: only objects allocated at this time or later\n"
	 "  -o, --output FILE      flame: instead of flame.svg; subsample, export: instead of standard output\n"
	 "  --address ADDRESS      start: numeric, instead of the address that the toolstack wrote\n"
	 "  --port PORT            start: instead of the guest's memtrace-port, or 4242\n"},
	{"hosts",
	 "Usage: mprofctl hosts [--utc]\n"
	 "\n"
	 "Lists the hosts of a fleet: --host names its hub. Times are in your zone, with --utc in UTC.\n"
	 "With --json: an object with the array `hosts`, as in the API.\n"},
	{"fleet",
	 "Usage: mprofctl fleet crashes-by-image|crashes-by-cause|crashes-by-host-week [--utc]\n"
	 "       mprofctl fleet causes-returned|loss-by-host|newest [--utc]\n"
	 "\n"
	 "Asks the hub of a fleet, which --host names: which images crash and how often, which captures\n"
	 "end alike, the crashes of each host in each week, which causes came back after four quiet weeks,\n"
	 "the losses of each host, and the newest of everything. A crash is a capture of kind crash or\n"
	 "watchdog. Times are in your zone, with --utc in UTC. With --json: an object with the array\n"
	 "`rows`, as in the API.\n"},
	{"token",
	 "Usage: mprofctl token new NAME [--scope LIST] [--days N]\n"
	 "       mprofctl token list [--utc]\n"
	 "       mprofctl token revoke ID\n"
	 "\n"
	 "Makes, lists and revokes the tokens with which others ask mprofd-http over https. It takes these\n"
	 "requests over its Unix socket only, from root and from users who may do everything; use\n"
	 "--host ssh:HOST for another machine. A new token is shown once, alone on standard output:\n"
	 "\n"
	 "  (umask 077; mprofctl token new grafana --scope read=*,metrics=yes >grafana.token)\n"
	 "\n"
	 "With --json: what the API answers; for revoke, an object with `id` and `revoked`.\n"
	 "\n"
	 "  --scope LIST      with commas: read=GLOB, context=GLOB and write=GLOB for the guests whose names\n"
	 "                    match, also several times, and metrics=yes; default: read=*\n"
	 "  --days N          the token expires after N days instead of 365\n"
	 "  --utc             times in UTC instead of your zone\n"},
	{"diff",
	 "Usage: mprofctl diff GOOD BAD [OPTION...]\n"
	 "\n"
	 "Compares a good run with a bad one; each is a FILE, -, a DOMAIN or a CAPTURE. Threads are matched\n"
	 "by type, label and place below their creators, never by id or time. The answer begins with the\n"
	 "most important differences: threads that resolved or failed in one run only, and what they wait\n"
	 "on; the step at which they part from their counterparts, and what each does next; threads that\n"
	 "took much longer; threads without a counterpart; and counters that differ. By default times count\n"
	 "from each trace's first event.\n"
	 "\n"
	 "With --json: an object; mprofctl(1) lists its keys. The exit code does not depend on the answer.\n"
	 "\n"
	 "  --from TIME       only threads that were created at this time or later, in either run; TIME as\n"
	 "                    for dump, and a duration counts from the first event of each\n"
	 "  --to TIME         the state of both at this time: later events are left out\n"
	 "  --time wall|guest|relative\n"
	 "                    dom0's wall time, the guest's own clock, or since the first event (the default)\n"
	 "  --utc             wall times in UTC instead of your zone\n"
	 "  --runtime NAME    the numbering of a ring file of OCaml, as for dump\n"
	 "  --last AMOUNT, --stream K for a domain or a capture, as for fetch\n"
	 "  --good-run N, --bad-run N run N of a domain instead of its latest\n"},
	{"bundle",
	 "Usage: mprofctl bundle FILE|-|DOMAIN|CAPTURE... [-o FILE|-] [--last AMOUNT]\n"
	 "\n"
	 "Puts several traces on one time line: a tar with a Perfetto trace of each stream and a manifest\n"
	 "with their clock offsets. Perfetto 58 and later opens it as one trace. Without -o it goes to\n"
	 "bundle.tar; an existing file is never overwritten. For guests and captures, the stamps of their\n"
	 "packets give the offset of their clock to dom0's; the answer shows the offset and how much less\n"
	 "the true one can be. For files the offset is unknown, and their times are used as they are.\n"
	 "With --json: an object; mprofctl(1) lists its keys.\n"
	 "\n"
	 "  -o, --output FILE\n"
	 "                    write to FILE, replacing it; - is standard output\n"
	 "  --last AMOUNT     for guests and captures only the last 10s or 5MB, as for fetch\n"},
	{"view",
	 "Usage: mprofctl view FILE|-|DOMAIN|CAPTURE [FILE|-|DOMAIN|CAPTURE] [-o FILE] [OPTION...]\n"
	 "\n"
	 "Writes the viewer and one or two traces into one HTML file and opens it: with the commands in the\n"
	 "environment variable BROWSER, separated by colons, each a program and its arguments, %s for the\n"
	 "file; on a desktop also with xdg-open or sensible-browser. If none can be started, the file's path\n"
	 "is printed. A FILE may be a memory profile; the page shows all of it, and only -o applies to it.\n"
	 "\n"
	 "The page needs neither a server nor a network. It shows traces as mprofd-http does, except for the\n"
	 "page of a host and following a guest. Without -o it lies in a new directory in TMPDIR, else /tmp,\n"
	 "which nobody else may read; remove the directory when you do not need it any more.\n"
	 "With --json: an object with `path` and `opened`.\n"
	 "\n"
	 "  -o, --output FILE write to FILE, replacing it\n"
	 "  --from TIME       only events at this time or later: as dump prints it, behind the first event\n"
	 "                    (+1.5s, +250ms), or a wall time (03:12:44, '2026-11-23 03:12:44',\n"
	 "                    '10 min ago')\n"
	 "  --to TIME         only events at this time or earlier\n"
	 "  --utc             wall times in UTC instead of your zone\n"
	 "  --last, --run, --stream for domains and captures, as for fetch\n"},
	{"export",
	 "Usage: mprofctl export FILE...|-|DOMAIN|CAPTURE --to FORMAT [-o FILE|DIR|-] [OPTION...]\n"
	 "\n"
	 "Writes a trace in the format of another program. Without -o it goes to a file or directory named\n"
	 "like the trace in the current directory; nothing is ever overwritten. The output appears when it is\n"
	 "complete. With --json: an object with `format`, `path` and `events`.\n"
	 "\n"
	 "  --to FORMAT       one of the formats below\n"
	 "  -o, --output PATH write to this file, replacing it, or to this directory, which must be\n"
	 "                    new or empty; - is standard output, for formats that are a file\n"
	 "  --from TIME       only events at this time or later: as dump prints it, behind the first event\n"
	 "                    (+1.5s, +250ms), or a wall time (03:12:44, '2026-11-23 03:12:44',\n"
	 "                    '10 min ago')\n"
	 "  --to TIME         only events at this time or earlier; beside --to FORMAT\n"
	 "  --utc             wall times in UTC instead of your zone\n"
	 "  --runtime NAME    the numbering of a ring file of OCaml, as for dump\n"
	 "  --last, --run, --stream for a domain or a capture, as for fetch\n"
	 "\n"
	 "Formats:\n"},
};
/* clang-format on */

/* Print a line with name and description for each format of exporter.c. */
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
