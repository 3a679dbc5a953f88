/*
 * libmprof: memory profiles.  Bytes of a memtrace stream in, allocations and their ends out.
 *
 *   d = mprof_mem_new(&(struct mprof_mem_options){.stacks = true, .seed = random});
 *   while ((n = read(fd, buf, sizeof(buf))) > 0) {
 *           mprof_mem_feed(d, buf, n);
 *           while ((status = mprof_mem_next(d, &event)) != MPROF_MORE)
 *                   ...                       // MPROF_OK: event; MPROF_CORRUPT: mprof_mem_damage(d)
 *   }
 *   mprof_mem_finish(d);
 *   while ((status = mprof_mem_next(d, &event)) != MPROF_END)
 *           ...
 *
 * A memtrace stream is what the OCaml runtime's statistical memory profiler tells of a program: of a sampled allocation its size and the
 * stack that made it, later whether it was promoted to the major heap, and when it was freed.  Each word is sampled with the probability
 * RATE, so that an allocation stands for SAMPLES / RATE words.  Versions 1, 2 and 3 of the format are read.
 *
 * Everything in a stream is hostile, and real streams are cut and damaged too: what can be kept is kept, what was lost is told.  No I/O.
 * Memory: what distinct codes and names the stream explains, up to a fixed limit, and of each domain (at most MPROF_MEM_DOMAINS_MAX) its
 * caches; nothing grows with the length of the stream.
 *
 * No call is thread safe on one object; different objects share nothing.
 */
#ifndef MPROF_MEMTRACE_H
#define MPROF_MEMTRACE_H

#include <mprof/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The writers' packets have 32,768 bytes at most; one longer than this is none. */
#define MPROF_MEM_PACKET_BYTES_MAX (256u << 10)
/* As many domains as OCaml 5 has at a time; of further ones there are no stacks. */
#define MPROF_MEM_DOMAINS_MAX 128u
/* Frames of one stack; one that is longer is not followed. */
#define MPROF_MEM_FRAMES_MAX (1u << 20)

struct mprof_mem_options {
	/* Decode stacks; without them nothing is kept of codes, and caches are not checked. */
	bool stacks;
	/* Any number that the writer of a stream cannot know: it keeps crafted codes from meeting in one place of a table. */
	uint64_t seed;
	/* Where several recordings are joined in one stream: only the one of this number, from 1.  0: all, one after the other. */
	uint64_t recording;
};

/* What a trace says of itself.  Texts are raw bytes, terminated by a NUL, never NULL. */
struct mprof_mem_info {
	double rate;	     /* of each word to be sampled, more than 0 and at most 1 */
	uint64_t start_us;   /* since the Unix epoch */
	int64_t pid;	     /* -1 from a unikernel */
	uint32_t word_bytes; /* 4 or 8 */
	uint32_t version;    /* 1 to 3 */
	const char *program;
	const char *host;
	const char *parameters; /* as OCAMLRUNPARAM */
	const char *context;	/* "" where it has none */
};

enum mprof_mem_kind {
	MPROF_MEM_BEGIN, /* a trace begins: mprof_mem_info() is new, ids and codes begin anew.  A second one follows where recordings are joined */
	MPROF_MEM_ALLOC,
	MPROF_MEM_PROMOTE, /* it survived a minor collection */
	MPROF_MEM_COLLECT, /* it is gone */
};

enum mprof_mem_source {
	MPROF_MEM_MINOR,
	MPROF_MEM_MAJOR,
	MPROF_MEM_EXTERNAL, /* outside of the heap, as the program says */
};

enum mprof_mem_flag {
	MPROF_MEM_TRUNCATED = 1, /* the writer cut the stack: its inner end, the place of the allocation, is missing */
	MPROF_MEM_NO_STACK = 2,	 /* the stack is not known, because bytes were lost before or there is no room for it */
	MPROF_MEM_OWN_CLOCK = 4, /* the clock stepped back: TIME_US is the latest time before it */
};

struct mprof_mem_event {
	uint64_t time_us; /* since the Unix epoch; never falls within a domain */
	int64_t id;	  /* of the object, equal in its alloc, promote and collect */
	/* Of an alloc: */
	uint64_t length;       /* words without the header */
	uint64_t samples;      /* how many words were hit */
	const uint32_t *stack; /* codes, the caller first; lent until the next call of mprof_mem_next() */
	uint32_t frames;       /* of STACK; 0 is possible */
	uint32_t common;       /* so many first frames are those of the domain's alloc before */
	uint32_t prefix;       /* the same number as the stream says it, which a cut stack can make larger */
	uint16_t domain;
	uint8_t kind;	/* enum mprof_mem_kind */
	uint8_t source; /* enum mprof_mem_source */
	uint8_t flags;	/* enum mprof_mem_flag */
};

/* A place in the source.  Names are strings of the decoder. */
struct mprof_mem_location {
	uint32_t file;
	uint32_t function;
	uint32_t line;
	uint16_t first; /* column */
	uint16_t last;	/* column, counted from the start of the first line */
};

struct mprof_mem_code {
	uint64_t code; /* 63 bits are a number with a sign */
	uint32_t first_location;
	uint16_t
		locations; /* the outermost caller first; more than one where calls were inlined; 0: nothing is known of the place */
	bool explained; /* the stream told what it is, or that nothing is known */
};

enum mprof_mem_damage_reason {
	MPROF_MEM_DAMAGE_HEADER,  /* no packet where one should be: bytes are passed over up to the next */
	MPROF_MEM_DAMAGE_FOREIGN, /* a packet of another process: passed over */
	MPROF_MEM_DAMAGE_NO_INFO, /* a packet before anything was said of the trace */
	MPROF_MEM_DAMAGE_INFO,	  /* what the trace says of itself cannot be */
	MPROF_MEM_DAMAGE_EVENT,	  /* an event that cannot be: the rest of its packet is passed over */
	MPROF_MEM_DAMAGE_NAMES,	  /* a table of names is not the writer's: the domain's further codes stay without */
	MPROF_MEM_DAMAGE_STACKS, /* a domain's caches or ids say that bytes were lost: its further stacks are not known */
	MPROF_MEM_DAMAGE_IDS,	 /* a packet holds more or fewer allocations than it says */
	MPROF_MEM_DAMAGE_CUT,	 /* the input ends inside a packet */
};

struct mprof_mem_damage {
	enum mprof_mem_damage_reason reason;
	uint64_t packet;	/* index, from 0 */
	uint64_t packet_offset; /* in bytes from the start of the input */
	uint64_t offset;	/* where the fault is */
	uint64_t skipped;	/* bytes passed over */
	uint16_t domain;
};

struct mprof_mem_totals {
	uint64_t bytes;
	uint64_t packets;
	uint64_t damages;
	uint64_t skipped;    /* bytes passed over because of damage */
	uint64_t foreign;    /* packets of other processes */
	uint64_t clock;	     /* events that were stamped before one that came before them */
	uint64_t truncated;  /* stacks that the writer cut */
	uint64_t stackless;  /* allocs with MPROF_MEM_NO_STACK */
	uint64_t unnamed;    /* codes, locations and names past the limits */
	uint64_t recordings; /* that began, up to the one after the one that was asked for */
};

struct mprof_mem;

/* A decoder at the start of a stream, or NULL without memory.  OPTIONS are copied. */
MPROF_API struct mprof_mem *mprof_mem_new(const struct mprof_mem_options *options);
/* Takes NULL too; returns NULL. */
MPROF_API struct mprof_mem *mprof_mem_free(struct mprof_mem *d);

/* May an input that begins with LEN bytes at BYTES be a memtrace stream? */
MPROF_API bool mprof_mem_begins(const void *bytes, size_t len);

/* As mprof_decoder_feed() and mprof_decoder_finish(). */
MPROF_API void mprof_mem_feed(struct mprof_mem *d, const void *bytes, size_t len);
MPROF_API void mprof_mem_finish(struct mprof_mem *d);
/* The next event into *EVENT, on MPROF_OK only; a MPROF_CORRUPT is described by mprof_mem_damage(). */
MPROF_API enum mprof_status mprof_mem_next(struct mprof_mem *d, struct mprof_mem_event *event);

/* Lent: of the trace that began last, NULL before the first MPROF_MEM_BEGIN; valid until the next one. */
MPROF_API const struct mprof_mem_info *mprof_mem_info(const struct mprof_mem *d);
/* Lent until the next event is asked for. */
MPROF_API const struct mprof_mem_damage *mprof_mem_damage(const struct mprof_mem *d);
/* Lent; stays true while the decoder goes on. */
MPROF_API const struct mprof_mem_totals *mprof_mem_totals(const struct mprof_mem *d);
/* The damage as a sentence without a full stop in BUF of SIZE bytes (200 hold every one), always terminated; returns its length. */
MPROF_API size_t mprof_mem_damage_text(const struct mprof_mem_damage *damage, char *buf, size_t size);

/*
 * What is known of the codes in stacks, by their index there: codes from 0 up to the number returned by mprof_mem_codes().  What is explained
 * later than it was used (it is not, by sound writers) appears later.  All of it is lent until mprof_mem_next() is called.
 */
MPROF_API uint32_t mprof_mem_codes(const struct mprof_mem *d);
MPROF_API const struct mprof_mem_code *mprof_mem_code(const struct mprof_mem *d, uint32_t i);
MPROF_API const struct mprof_mem_location *mprof_mem_location(const struct mprof_mem *d, uint32_t i);
MPROF_API uint32_t mprof_mem_locations(const struct mprof_mem *d);
MPROF_API uint32_t mprof_mem_strings(const struct mprof_mem *d);
/* A name: raw bytes, their number into *BYTES, not terminated. */
MPROF_API const char *mprof_mem_string(const struct mprof_mem *d, uint32_t i, size_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
