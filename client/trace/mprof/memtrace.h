/*
 * libmprof: memory profiles. Bytes of a memtrace stream in, allocations and their ends out.
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
 * A memtrace stream is the output of the OCaml runtime's statistical memory profiler. For each
 * sampled allocation (*alloc*) it has the size and the stack; later the object's promotion to the
 * major heap (*promote*), and its end (*collect*). A stack is a list of *codes*, the addresses in
 * the program of its frames. A *domain* is a parallel thread of OCaml 5. Each word is sampled with
 * probability RATE, so an allocation stands for SAMPLES / RATE words. The decoder reads versions 1,
 * 2 and 3 of the format of OCaml's memtrace library.
 *
 * Streams are untrusted, and real ones are cut and damaged: the decoder keeps what it can and
 * reports what is lost. The library does no I/O. The decoder's memory holds the distinct codes and
 * names of the stream, up to a fixed limit, and caches for each domain (at most
 * MPROF_MEM_DOMAINS_MAX); nothing grows with the length of the stream.
 *
 * No call is thread safe on one object; different objects share nothing.
 */
#ifndef MPROF_MEMTRACE_H
#define MPROF_MEMTRACE_H

#include <mprof/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Largest packet that is decoded, bytes. A longer one is damage. Writers make packets of at most
 * 32,768 bytes.
 */
#define MPROF_MEM_PACKET_BYTES_MAX (256u << 10)
/*
 * Largest number of domains of which stacks are decoded, as many as OCaml 5 has at most. Stacks of
 * further domains are unknown.
 */
#define MPROF_MEM_DOMAINS_MAX 128u
/* Largest number of frames of a stack. A longer stack is unknown. */
#define MPROF_MEM_FRAMES_MAX (1u << 20)

struct mprof_mem_options {
	/*
	 * Decode stacks. Otherwise events have no stacks, no code is kept, and damage that only
	 * shows in stacks is not found.
	 */
	bool stacks;
	/*
	 * Any number that the writer of a stream cannot know. It keeps crafted codes from colliding
	 * in a hash table.
	 */
	uint64_t seed;
	/*
	 * When several recordings are joined in one stream: the number, from 1, of the only one to
	 * decode. 0: all, one after the other.
	 */
	uint64_t recording;
};

/*
 * Description of a recording, from its first packet. Texts are unescaped bytes, terminated by a
 * NUL, never NULL. The decoder owns them.
 */
struct mprof_mem_info {
	double rate;	     /* probability of each word to be sampled, more than 0 and at most 1 */
	uint64_t start_us;   /* microseconds since the Unix epoch */
	int64_t pid;	     /* -1 from a unikernel */
	uint32_t word_bytes; /* size of a word of the program, 4 or 8 */
	uint32_t version;    /* version of the format, 1 to 3 */
	const char *program;
	const char *host;
	const char *parameters; /* value of OCAMLRUNPARAM */
	const char *context;	/* the program's own description; "" when there is none */
};

enum mprof_mem_kind {
	/*
	 * A recording begins: its mprof_mem_info(), ids and codes replace those of the previous
	 * one. A stream of joined recordings has several.
	 */
	MPROF_MEM_BEGIN,
	MPROF_MEM_ALLOC,
	MPROF_MEM_PROMOTE, /* the object survived a minor collection */
	MPROF_MEM_COLLECT, /* the object was freed */
};

enum mprof_mem_source {
	MPROF_MEM_MINOR,
	MPROF_MEM_MAJOR,
	MPROF_MEM_EXTERNAL, /* memory outside of the heap, as the program reports it */
};

enum mprof_mem_flag {
	/*
	 * The writer cut the stack: the innermost frames, among them the place of the allocation,
	 * are missing.
	 */
	MPROF_MEM_TRUNCATED = 1,
	/* The stack is unknown: earlier bytes were lost, or a limit of the decoder was reached. */
	MPROF_MEM_NO_STACK = 2,
	/* The clock stepped back: TIME_US is the latest time before that. */
	MPROF_MEM_CLOCK_STEPPED = 4,
};

struct mprof_mem_event {
	uint64_t time_us; /* microseconds since the Unix epoch; never falls within a domain */
	int64_t id;	  /* identifies the object in its alloc, promote and collect */
	/* Fields of MPROF_MEM_ALLOC only: */
	uint64_t length;  /* words without the header */
	uint64_t samples; /* number of sampled words, at least 1 */
	/* Indices of codes, the outermost caller first; valid until the next mprof_mem_next(). */
	const uint32_t *stack;
	uint32_t frames; /* length of STACK; can be 0 */
	/*
	 * Number of frames, from the outermost on, that are the same as those of the domain's
	 * previous alloc.
	 */
	uint32_t common;
	uint32_t prefix; /* COMMON as the stream has it; larger than COMMON when the writer cut the previous stack */
	uint16_t domain;
	uint8_t kind;	/* enum mprof_mem_kind */
	uint8_t source; /* enum mprof_mem_source */
	uint8_t flags;	/* enum mprof_mem_flag */
};

/* A place in the source. FILE and FUNCTION are indices of the decoder's strings. */
struct mprof_mem_location {
	uint32_t file;
	uint32_t function;
	uint32_t line;
	uint16_t first; /* column */
	uint16_t last;	/* column of the end, counted from the start of the line LINE */
};

struct mprof_mem_code {
	uint64_t code; /* address of the code in the program, as the runtime has it: 63 bits, signed */
	uint32_t first_location;
	/*
	 * Number of locations of the code, from FIRST_LOCATION on, the outermost caller first:
	 * several when calls were inlined, 0 when unknown.
	 */
	uint16_t locations;
	bool explained; /* the stream has a location event for the code */
};

enum mprof_mem_damage_reason {
	MPROF_MEM_DAMAGE_HEADER,  /* no valid packet header: bytes are skipped up to the next one */
	MPROF_MEM_DAMAGE_FOREIGN, /* a packet of another process: skipped */
	MPROF_MEM_DAMAGE_NO_INFO, /* a packet before the first description of a recording */
	MPROF_MEM_DAMAGE_INFO,	  /* an invalid description of a recording */
	MPROF_MEM_DAMAGE_EVENT,	  /* an invalid event: the rest of its packet is skipped */
	/*
	 * An invalid location event: codes of the domain that are explained later stay without
	 * names.
	 */
	MPROF_MEM_DAMAGE_NAMES,
	/*
	 * The caches or ids of a domain show that bytes were lost: the domain's further stacks are
	 * unknown.
	 */
	MPROF_MEM_DAMAGE_STACKS,
	MPROF_MEM_DAMAGE_IDS, /* a packet with more or fewer allocations than its header says */
	MPROF_MEM_DAMAGE_CUT, /* the input ends inside a packet */
};

struct mprof_mem_damage {
	enum mprof_mem_damage_reason reason;
	uint64_t packet;	/* index of the damaged packet, from 0 */
	uint64_t packet_offset; /* offset of that packet, bytes from the start of the input */
	uint64_t offset;	/* position of the fault, bytes from the start of the input */
	uint64_t skipped;	/* bytes skipped */
	uint16_t domain;
};

struct mprof_mem_totals {
	uint64_t bytes;
	uint64_t packets;
	uint64_t damages;
	uint64_t skipped;     /* bytes skipped because of damage */
	uint64_t foreign;     /* packets of other processes */
	uint64_t clock_steps; /* events with an earlier stamp than the event before */
	uint64_t truncated;   /* stacks that the writer cut */
	uint64_t stackless;   /* allocs with MPROF_MEM_NO_STACK */
	uint64_t unnamed;     /* codes, locations and names past the limits, or behind damage of the names */
	/*
	 * Recordings begun so far; counting ends after the one behind the chosen one
	 * (options.recording).
	 */
	uint64_t recordings;
};

struct mprof_mem;

/* Return a decoder at the start of a stream, or NULL without memory. Copy OPTIONS. */
MPROF_API struct mprof_mem *mprof_mem_new(const struct mprof_mem_options *options);
/* Free M, which may be NULL. Return NULL. */
MPROF_API struct mprof_mem *mprof_mem_free(struct mprof_mem *m);

/* Return true when an input that begins with LEN bytes at BYTES may be a memtrace stream. */
MPROF_API bool mprof_mem_begins(const void *bytes, size_t len);

/*
 * Feed LEN bytes at BYTES, or end the input: as mprof_decoder_feed() and mprof_decoder_finish() in
 * <mprof/trace.h>.
 */
MPROF_API void mprof_mem_feed(struct mprof_mem *m, const void *bytes, size_t len);
MPROF_API void mprof_mem_finish(struct mprof_mem *m);
/*
 * Store the next event in *EVENT and return MPROF_OK, or return another status as
 * mprof_decoder_next(). mprof_mem_damage() describes an MPROF_CORRUPT.
 */
MPROF_API enum mprof_status mprof_mem_next(struct mprof_mem *m, struct mprof_mem_event *event);

/*
 * Return the description of the current recording, valid until the next MPROF_MEM_BEGIN; NULL
 * before the first one.
 */
MPROF_API const struct mprof_mem_info *mprof_mem_info(const struct mprof_mem *m);
/* Return the damage of the last MPROF_CORRUPT. Valid until the next mprof_mem_next(). */
MPROF_API const struct mprof_mem_damage *mprof_mem_damage(const struct mprof_mem *m);
/* Return the totals so far. M owns them and updates them in place. */
MPROF_API const struct mprof_mem_totals *mprof_mem_totals(const struct mprof_mem *m);
/* Most bytes that one sample stands for: a damaged stream can state any rate, and amounts stay finite. */
#define MPROF_MEM_SCALE_MAX 4611686018427387904.0
/* Return how many bytes one sample of M's recording stands for, 0 before a recording begins, at most MPROF_MEM_SCALE_MAX. */
MPROF_API double mprof_mem_scale(const struct mprof_mem *m);

/*
 * Write DAMAGE as a sentence without a full stop into BUF of SIZE bytes, terminated by a NUL and
 * cut to fit; 200 bytes suffice. Return the length of the text in BUF.
 */
MPROF_API size_t mprof_mem_damage_text(const struct mprof_mem_damage *damage, char *buf, size_t size);

/*
 * Codes, their locations, and the strings of the current recording, as far as they are known.
 * mprof_mem_codes(), mprof_mem_locations() and mprof_mem_strings() return the number of each.
 * mprof_mem_code() and mprof_mem_location() return item I, which must be below that number, valid
 * until the next mprof_mem_next(). Stacks hold indices of codes. A code that is explained after its
 * first use has no location until then.
 */
MPROF_API uint32_t mprof_mem_codes(const struct mprof_mem *m);
MPROF_API const struct mprof_mem_code *mprof_mem_code(const struct mprof_mem *m, uint32_t i);
MPROF_API const struct mprof_mem_location *mprof_mem_location(const struct mprof_mem *m, uint32_t i);
MPROF_API uint32_t mprof_mem_locations(const struct mprof_mem *m);
MPROF_API uint32_t mprof_mem_strings(const struct mprof_mem *m);
/*
 * Return string I, which must be below the number of strings: unescaped bytes without a terminator,
 * never NULL. Store the string's length in *BYTES. Valid until the next mprof_mem_next().
 */
MPROF_API const char *mprof_mem_string(const struct mprof_mem *m, uint32_t i, size_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
