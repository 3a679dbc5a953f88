/*
 * The sequence-checked copy of a trace ring, against a writer that makes its stores one by one.
 *
 * Two processes share a ring of N packets.  Every statement that touches the ring is one transition of its own: one
 * store of the writer, one load of the reader.  An atomic holds one such store or load together with what is private to its process or a
 * ghost.  A unit stands for some bytes; a size is split into halves of radix R; a packet's first timestamp is two halves of radix T,
 * a count is taken modulo M.  A ghost (its name begins with g) is seen by the claims alone: no branch of either process looks at one.
 *
 * The claims:
 *   1. a byte that the reader accepts is the one that the writer wrote there, in that incarnation of the packet;
 *   2. whatever the reader accepts ends at the end of an event, and bears the incarnation's true first timestamp;
 *   3. the cursor leaves a packet only if all of it was accepted, or a gap was declared, and the number of a packet that is accepted
 *      after a gap is the true one (modulo M where M packets or more went by);
 *   4. one writer alone is never taken for several, nor for one that sets a size back;
 *   5. of a dead guest nothing is missing that it had written in full before the event that its death cut short;
 *   6. an accepted event that names an interned text has this text before it in its own packet;
 *   7. an event that an interrupt recorded in the middle of another one is in the ring when the recorder is idle.
 *
 * README.md says what the switches are, what is assumed and what is left out.
 */

/* The shape of what is explored. */
#ifndef N
#define N 2 /* packets */
#endif
#ifndef CAP
#define CAP 4 /* units in a packet, at most 7: gends holds an end per bit */
#endif
#ifndef R
#define R 2 /* radix of a size's halves */
#endif
#ifndef T
#define T 2 /* radix of a timestamp's halves */
#endif
#ifndef M
#define M 64 /* the count's modulus, a multiple of N */
#endif
#if N == 2
#define SLOTS(f) f(0); f(1)
#else
#define SLOTS(f) f(0); f(1); f(2)
#endif
#ifndef EVENTS
#define EVENTS 6
#endif
#ifndef MAXQ
#define MAXQ EVENTS /* incarnations that EVENTS events can make */
#endif
#ifndef NEST
#define NEST 1 /* GC events that may begin inside one event */
#endif

/* ---- the ring ---- */

byte count[N], low[N], high[N];
byte stampa[N], stampb[N]; /* first timestamp: high and low half */
byte body[N * CAP];	   /* 1 + the incarnation whose byte is here; 0 = never written */
bool dead;

/* ---- ghosts ---- */

byte gends[MAXQ];  /* bit z: an event of this incarnation ends at z */
byte gfirst[MAXQ]; /* its first timestamp */
#ifdef TEXTS
byte gtext[MAXQ];  /* the end of the text in this incarnation; 0 = none */
byte guses[MAXQ];  /* bit z: an event that names the text ends at z */
#endif
byte gopen = 255;  /* incarnation and offset of the oldest event that is not written in full */
byte gopenat;
byte glaps; /* by how much the reader's numbers lag behind the true ones: only after M packets went by unseen */
byte gtag;  /* 1 + the incarnation of the bytes of the copy under way ... */
bool gbad;  /* ... which are not all of one incarnation */

/* ---- the writer ---- */

#ifdef FORK
/* The recorder's state; a child of fork() has a copy of it. */
byte wslot_[2], wused_[2], wseq_[2];
#define wslot wslot_[me]
#define wused wused_[me]
#define wseq  wseq_[me]
#else
byte wslot, wused, wseq;
#endif
byte wserial;

inline next_packet()
{
	wused = 0;
	wseq++;
	wslot = (wslot + 1) % N;
#ifdef TEXTS
	gtext[wseq] = 0;
	guses[wseq] = 0;
#endif
	gends[wseq] = 1
}

/* The event of UNITS units: its place is taken (private), its end is a ghost. */
inline place(seq, slot, off, units, serial)
{
	seq = wseq;
	slot = wslot;
	off = wused;
	wused = wused + units;
	wserial++;
	serial = wserial;
	gends[wseq] = gends[wseq] | (1 << wused);
	if
	:: off == 0 -> gfirst[wseq] = serial
	:: else
	fi
}

#ifdef WEAK
/*
 * A writer whose stores become visible in any order, as Armv8 allows: they wait in a buffer, and the process memory()
 * makes one after the other visible. Stores to one place keep their order. A release fence waits until the buffer is empty:
 * the writer loads nothing, so that is the same as to order the stores before it and behind it. A full buffer delays the writer;
 * BUFFER is more than our recorder stores between two fences. mirage-profile has no fence: BUFFER is how many stores wait at most.
 */
#ifndef BUFFER
#define BUFFER 5
#endif
#define HEAD(s)	 (N * CAP + (s))	 /* count and size */
#define LOWER(s) (N * CAP + N + (s))	 /* count and low half */
#define UPPER(s) (N * CAP + 2 * N + (s)) /* high half */
#define STAMPA(s) (N * CAP + 3 * N + (s))
#define STAMPB(s) (N * CAP + 4 * N + (s))
#define COUNT(s)  (N * CAP + 5 * N + (s))
#define LOW(s)	  (N * CAP + 6 * N + (s)) /* low half alone */
byte bplace[BUFFER], bcount[BUFFER], bvalue[BUFFER], bn;
byte bold; /* how many of them waited when the reader last began to let bytes settle */

#define STORE(place_, count_, value_) \
	atomic { bn < BUFFER -> bplace[bn] = (place_); bcount[bn] = (count_); bvalue[bn] = (value_); bn++ }
#define RELEASE bn == 0

proctype memory()
{
	byte j, k, s;

	do
	:: atomic {
		bn > 0 ->
		do
		:: j + 1 < bn -> j++
		:: break
		od;
		do
		:: k < j && bplace[k] != bplace[j] -> k++
		:: else -> break
		od;
		if
		:: k == j ->
			s = (bplace[j] >= N * CAP -> (bplace[j] - N * CAP) % N : 0);
			if
			:: bplace[j] < N * CAP -> body[bplace[j]] = bcount[j]
			:: bplace[j] == HEAD(s) -> count[s] = bcount[j]; low[s] = bvalue[j] % R; high[s] = bvalue[j] / R
			:: bplace[j] == LOWER(s) -> count[s] = bcount[j]; low[s] = bvalue[j]
			:: bplace[j] == UPPER(s) -> high[s] = bvalue[j]
			:: bplace[j] == STAMPA(s) -> stampa[s] = bvalue[j]
			:: bplace[j] == STAMPB(s) -> stampb[s] = bvalue[j]
			:: bplace[j] == COUNT(s) -> count[s] = bcount[j]
			:: bplace[j] == LOW(s) -> low[s] = bvalue[j]
			fi;
			bn--;
			if
			:: j < bold -> bold--
			:: else
			fi;
			do
			:: j < bn ->
				bplace[j] = bplace[j + 1]; bcount[j] = bcount[j + 1]; bvalue[j] = bvalue[j + 1];
				j++
			:: else -> break
			od;
			bplace[bn] = 0; bcount[bn] = 0; bvalue[bn] = 0
		:: else
		fi;
		j = 0; k = 0; s = 0
	   }
	od
}
#endif

/* Unit I of an event; the first of a packet is its timestamp, stored in two halves in either order. */
inline unit(seq, slot, off, i, serial)
{
#ifdef WEAK
	if
	:: off + i == 0 ->
		STORE(STAMPA(slot), 0, serial / T);
		STORE(STAMPB(slot), 0, serial % T);
#if defined(RECORDER) && !defined(NO_RELEASE_STAMP)
		RELEASE
#endif
	:: else
	fi;
	STORE(slot * CAP + off + i, seq + 1, 0)
#else
	if
	:: off + i == 0 ->
		if
		:: stampa[slot] = serial / T;
			atomic { stampb[slot] = serial % T; body[slot * CAP] = seq + 1 }
		:: stampb[slot] = serial % T;
			atomic { stampa[slot] = serial / T; body[slot * CAP] = seq + 1 }
		fi
	:: else -> body[slot * CAP + off + i] = seq + 1
	fi
#endif
}

inline length(units)
{
#ifdef PATTERN
	units = (wserial % 3 == 1 -> 2 : 1)
#elif defined(ONE)
	units = CAP /* one event fills a packet */
#else
	if
	:: units = 1
	:: units = 2
#ifdef BIG
	:: units = BIG
#endif
	fi
#endif
}

#ifndef RECORDER

#ifdef WEAK
#define SET_COUNT(value) STORE(COUNT(wslot), value, 0)
#define SET_LOW(value)	 STORE(LOW(wslot), 0, value)
#define SET_HIGH(value)	 STORE(UPPER(wslot), 0, value)
#else
#define SET_COUNT(value) count[wslot] = value
#define SET_LOW(value)	 low[wslot] = value
#define SET_HIGH(value)	 high[wslot] = value
#endif

/* mirage-profile.  A new packet: count, low half, high half. */
inline turn(need)
{
	if
	:: wused + need > CAP ->
		atomic { next_packet(); SET_COUNT(wseq % M) };
		SET_LOW(0);
		SET_HIGH(0)
	:: else
	fi
}

inline gc_event()
{
	turn(1);
	atomic { place(gcseq, gcslot, gcoff, 1, gcserial); SET_LOW(wused % R) };
	SET_HIGH(wused / R);
	unit(gcseq, gcslot, gcoff, 0, gcserial);
	atomic { gcseq = 0; gcslot = 0; gcoff = 0; gcserial = 0 }
}

proctype writer() provided (!dead)
{
	byte seq, slot, off, units, serial, i, nested;
	byte gcseq, gcslot, gcoff, gcserial;

	do
	:: wserial < EVENTS ->
		length(units);
		turn(units);
		/* Published here, before any of its bytes exist. */
		atomic {
			place(seq, slot, off, units, serial);
			gopen = seq;
			gopenat = off;
			SET_LOW(wused % R)
		};
		SET_HIGH(wused / R);
		do
		:: i == units -> break
#ifdef GC_ANYWHERE
		:: i < units && nested < NEST && wserial < EVENTS ->
#else
		:: i == 0 && nested < NEST && wserial < EVENTS ->
#endif
			nested++;
			gc_event()
		:: i < units -> unit(seq, slot, off, i, serial); i++
		od;
		atomic { seq = 0; slot = 0; off = 0; units = 0; serial = 0; i = 0; nested = 0; gopen = 255; gopenat = 0 }
	:: else -> break
	od
}

#else

/*
 * Our recorder.  A recycled packet is emptied under its old count, then the event is written, then count and size appear.
 * RECORDER 1: count and size are one store; 2: count and low half are one, and the high half follows.
 */
inline turn(need)
{
	if
	:: wused + need > CAP ->
		atomic { next_packet() };
		if
		:: wseq >= N ->
#ifdef EMPTY_LATE
			skip
#elif defined(WEAK) && RECORDER == 2
			STORE(LOWER(wslot), (wseq - N) % M, 0);
#ifndef NO_RELEASE_HALF
			RELEASE;
#endif
			STORE(UPPER(wslot), 0, 0);
#ifndef NO_RELEASE_EMPTY
			RELEASE
#endif
#elif defined(WEAK)
			STORE(HEAD(wslot), (wseq - N) % M, 0);
#ifndef NO_RELEASE_EMPTY
			RELEASE
#endif
#elif RECORDER == 2
#ifdef ZERO_FIRST
			stampa[wslot] = 0;
			stampb[wslot] = 0;
#endif
			low[wslot] = 0;
			high[wslot] = 0
#else
			atomic { low[wslot] = 0; high[wslot] = 0 }
#endif
		:: else
		fi
	:: else
	fi
}

/* Bits of a writer that several processes or interrupts see. */
bool wbusy;	  /* an event is being written */
byte wkept, irqs; /* events of interrupts: those that are kept; all of them */
bool wlock;	  /* several threads share the ring: one of them records */
bool killed;	  /* the program has ended, and the next one continues its ring */

#ifndef IRQS
#define IRQS 0 /* events of interrupts */
#endif

#ifdef IN_PLACE
#define BUSY false
#else
#define BUSY wbusy
#endif

/* Write an event of UNITS units, and count it in the header. USES: it names the text. */
inline put(units, uses)
{
	turn(units);
	atomic {
		place(seq, slot, off, units, serial);
		gopen = seq;
		gopenat = off;
#ifdef TEXTS
		if
		:: uses -> guses[seq] = guses[seq] | (1 << (off + units))
		:: else
		fi
#endif
	};
	do
	:: i == units -> break
	:: i < units -> unit(seq, slot, off, i, serial); i++
#if IRQS
	:: irqs < IRQS && BUSY -> irqs++; wkept++
	:: irqs < IRQS && !BUSY -> /* the recorder seems idle: the interrupt writes its event, over this one */
		irqs++;
		unit(seq, slot, off, 0, serial);
		atomic { count[slot] = seq % M; low[slot] = (off + 1) % R; high[slot] = (off + 1) / R }
#endif
	od;
#ifdef EMPTY_LATE
	if
	:: off == 0 && seq >= N -> atomic { low[slot] = 0; high[slot] = 0 }
	:: else
	fi;
#endif
#ifdef WEAK
#ifndef NO_RELEASE_SIZE
	RELEASE;
#endif
#if RECORDER == 2
	STORE(LOWER(slot), seq % M, (off + units) % R);
#ifndef NO_RELEASE_HALF
	RELEASE;
#endif
	STORE(UPPER(slot), 0, (off + units) / R);
#else
	STORE(HEAD(slot), seq % M, off + units);
#endif
	atomic { gopen = 255; gopenat = 0 };
#elif RECORDER == 2
	atomic { count[slot] = seq % M; low[slot] = (off + units) % R };
	atomic { high[slot] = (off + units) / R; gopen = 255; gopenat = 0 };
#else
	atomic {
		count[slot] = seq % M;
		low[slot] = (off + units) % R;
		high[slot] = (off + units) / R;
		gopen = 255;
		gopenat = 0
	};
#endif
	atomic { seq = 0; slot = 0; off = 0; serial = 0; i = 0 }
}

/* Write the events that interrupts have left. */
inline leave()
{
#ifdef BUSY_LATE
	wbusy = false;
#endif
	do
	:: wkept > 0 -> put(2, false); wkept--
	:: wkept == 0 -> break
	od;
	do
	:: irqs < IRQS && BUSY -> irqs++; wkept++
	:: wbusy = false; break
	od;
#ifndef KEPT_ONCE
	/* An interrupt may have come behind the loop. The next one finds an idle recorder, and writes what is kept. */
	do
	:: wkept > 0 -> wbusy = true; put(2, false); wkept--; wbusy = false
	:: wkept == 0 -> break
	od
#endif
}

/* The text, if the packet does not have it, in the same packet as the event of UNITS units that names it. */
inline text(units)
{
#ifdef TEXT_FOR_EVER
	if
	:: wtext > 0 -> skip
#else
	if
	:: wtext == wseq + 1 && wused + units <= CAP -> skip
#endif
	:: else ->
#ifdef TEXT_APART
		turn(1);
#else
		turn(1 + units);
#endif
		put(1, false);
		atomic { wtext = wseq + 1; gtext[wseq] = wused }
	fi
}

/* Record events until there were enough of them. */
inline record_all()
{
	do
	:: wserial < EVENTS ->
#if defined(SHARED) && !defined(NO_LOCK)
		atomic { !wlock -> wlock = true };
#endif
		wbusy = true;
		length(units);
#ifdef TEXTS
		if
#ifdef TEXT_BEHIND
		:: true -> put(units, true); text(units)
		:: true -> put(units, false)
#else
		:: true -> text(units); put(units, true)
		:: true -> put(units, false)
#endif
		fi;
#else
		put(units, false);
#endif
		leave();
		atomic {
			units = 0;
			assert(wkept == 0); /* claim 7 */
			wlock = false
		}
	:: else -> break
	od
}

#define OWN byte seq, slot, off, units, serial, i, wtext

#ifdef FORK
proctype writer(byte me) provided (!dead) { OWN; record_all() }
#else
proctype writer() provided (!dead && !killed) { OWN; record_all() }
#endif

#ifdef RESUME
proctype heir() provided (!dead) { OWN; record_all() }

/* The program is killed at any moment, and the next one continues its ring: mprof_recorder_continue(). */
proctype successor()
{
	byte i, best;
	bool found;

	atomic {
		killed = true;
#ifdef FORMAT_ANEW
	};
	do
	:: i < N -> atomic { count[i] = i; low[i] = 0; high[i] = 0; stampa[i] = 0; stampb[i] = 0; i++ }
	:: else -> break
	od;
	atomic {
		wseq = 0; wslot = 0; wused = 0;
		gends[0] = 1;
#else
		do
		:: i < N ->
			if
			:: high[i] * R + low[i] > 0 && (!found || count[i] > count[best]) -> best = i; found = true
			:: else
			fi;
			i++
		:: else -> break
		od;
		if
		:: found -> wseq = count[best]; wslot = best; wused = high[best] * R + low[best]
		:: else -> wseq = 0; wslot = 0; wused = 0
		fi;
#ifdef RESUME_AT_START
		wused = 0;
#endif
		gends[wseq] = gends[wseq] & ((1 << (wused + 1)) - 1);
#endif
		wbusy = false;
		wkept = 0;
		gopen = 255;
		gopenat = 0;
		run heir()
	}
}
#endif

#ifdef FORK
/* A child of fork() has a copy of the recorder, at any moment. Its memory lacks the ring. */
proctype child()
{
#ifdef RING_INHERITED
	atomic {
		wslot_[1] = wslot_[0]; wused_[1] = wused_[0]; wseq_[1] = wseq_[0];
		run writer(1)
	}
#else
	skip /* it makes a ring of its own, which has the claims of any other */
#endif
}
#endif

#endif

/* ---- the reader: daemon/ring ---- */

/* The reader's state; all of it is private. */
byte act;		  /* the packet that the writer is believed to be in */
byte ref;		  /* an active packet's first timestamp must be newer; 0 = none known */
bool sawempty;		  /* the active packet was seen empty under its number */
bool cand;		  /* a size was seen ... */
byte candhigh, candlow;	  /* ... this one */
byte marks;		  /* confirmed positions, oldest first */
byte markseq[3], markat[3];
byte curseq, curat;	  /* everything before it was accepted or declared lost ... */
byte curfirst;		  /* ... and its packet's first timestamp, where something of it was accepted */

/* State of each slot: */
byte peak;	/* the largest size that the active packet was seen to grow to, or of which half was seen */
bool half;	/* the size seen last may be half of a size of PEAK */
byte seen[N];	/* count seen last */
byte first[N];	/* 1 + first timestamp of the incarnation that is followed; 0 = not known */
byte before[N]; /* the same of the incarnation before it */
byte final[N];	/* what the writer left in it */

byte hcount, hhigh, hlow; /* a header load under way */
bool whole;		  /* its outcome */
byte stamp;
byte to, i_, best, history, newest;
bool newring;

/* One header load: count, high, low, high, count.  One that is not whole is given up, which stands for any number of retries. */
#ifdef NAIVE_HEADER
#if NAIVE_HEADER == 1
#define HEADER(s) hcount = count[s]; hlow = low[s]; atomic { hhigh = high[s]; whole = true }
#elif NAIVE_HEADER == 2
#define HEADER(s) hhigh = high[s]; hlow = low[s]; atomic { hcount = count[s]; whole = true }
#elif NAIVE_HEADER == 3
#define HEADER(s) hlow = low[s]; hhigh = high[s]; atomic { hcount = count[s]; whole = true }
#elif NAIVE_HEADER == 4
#define HEADER(s) hlow = low[s]; hcount = count[s]; atomic { hhigh = high[s]; whole = true }
#elif NAIVE_HEADER == 5
#define HEADER(s) hcount = count[s]; hhigh = high[s]; atomic { hlow = low[s]; whole = true }
#else
#define HEADER(s) hhigh = high[s]; hcount = count[s]; atomic { hlow = low[s]; whole = true }
#endif
#elif defined(WORD)
#define HEADER(s) atomic { hcount = count[s]; hhigh = high[s]; hlow = low[s]; whole = true }
#else
#define HEADER(s)                                           \
	hcount = count[s];                                  \
	hhigh = high[s];                                    \
	hlow = low[s];                                      \
	if                                                  \
	:: high[s] == hhigh -> whole = (count[s] == hcount) \
	:: high[s] != hhigh -> whole = false                \
	fi
#endif
#define SIZE	      (hhigh * R + hlow)
/* Less than PEAK, the size may be half of a greater one: the low half of that one is stored. */
#define IS_HALF	      (SIZE + R <= CAP && (hhigh >= peak / R || (half && SIZE + R == peak)))
#define FORGET_HEADER hcount = 0; hhigh = 0; hlow = 0; whole = false

#ifdef TWO_LOADS
#define STAMP(s) stamp = stampa[s] * T; stamp = stamp + stampb[s]
#else
#define STAMP(s) stamp = stampa[s] * T + stampb[s]
#endif

#ifdef NO_LAG
#define LAG 0
#else
#define LAG 1
#endif
#ifdef SETTLE
/*
 * The processor reorders stores, and the packet declares nothing (ring-copy.c order_limit): bytes that are proven are copied later. SETTLE=1:
 * at any moment later; SETTLE=2: after all stores that waited then are visible.
 */
byte setseq, setat;
bool settling, told; /* TOLD: the reader has learned of the writer's death */
#define PROVEN	((told && marks > LAG) || (!told && settling))
#define LIMSEQ	(told -> markseq[marks - 1 - LAG] : setseq)
#define LIMAT	(told -> markat[marks - 1 - LAG] : setat)
#define FORGET_SETTLED settling = false; setseq = 0; setat = 0
#else
#define PROVEN	(marks > LAG)
#define LIMSEQ	markseq[marks - 1 - LAG]
#define LIMAT	markat[marks - 1 - LAG]
#define FORGET_SETTLED skip
#endif
#define CURSLOT (curseq % N)
#define BEFORE_LIMIT (PROVEN && (curseq < LIMSEQ || (curseq == LIMSEQ && curat < LIMAT)))

/* Bytes that are not called proven: no claim is made of them. */
#ifdef SERVED_UNPROVEN
#define UNPROVEN (!told)
#else
#define UNPROVEN false
#endif

inline mark(seq, at)
{
	if
	:: at == 0 || (marks > 0 && markseq[marks - 1] == seq && markat[marks - 1] == at) -> skip
	:: else ->
		/* Claim 4: a confirmed size never falls. */
		assert(UNPROVEN || marks == 0 || markseq[marks - 1] < seq || markat[marks - 1] < at);
		if
		:: marks == 3 ->
			markseq[0] = markseq[1]; markat[0] = markat[1];
			markseq[1] = markseq[2]; markat[1] = markat[2];
			marks = 2
		:: else
		fi;
		markseq[marks] = seq;
		markat[marks] = at;
		marks++
	fi
}

inline unmark(seq)
{
	do
	:: marks > 0 && markseq[marks - 1] >= seq -> marks--; markseq[marks] = 0; markat[marks] = 0
	:: else -> break
	od
}

/* Look at packet SEQ and what follows it again as if for the first time. */
inline return_to(seq)
{
	if
	:: act == seq -> half = (peak > 0) /* its sizes count on */
	:: else -> peak = 0; half = false
	fi;
	first[act % N] = 0;
	final[act % N] = 0;
	do
	:: act > seq -> act--; first[act % N] = 0; final[act % N] = 0
	:: else -> break
	od;
	unmark(act);
	FORGET_SETTLED;
	cand = false; candhigh = 0; candlow = 0;
	sawempty = false;
	ref = 0
}

#define FORGET_SLOT(s) first[s] = 0; before[s] = 0; final[s] = 0

/* Begin to follow the writer at packet SEQ. */
inline follow_from(seq)
{
	SLOTS(FORGET_SLOT);
	unmark(0);
	FORGET_SETTLED;
	cand = false; candhigh = 0; candlow = 0;
	sawempty = false;
	peak = 0; half = false;
	ref = 0;
	act = seq;
	if
	:: curseq == act && curat > 0 -> first[act % N] = curfirst; peak = curat
	:: else
	fi
}

inline accept()
{
	if
	:: UNPROVEN
	:: !UNPROVEN && (gtag > 0 || gbad) ->
		assert(!gbad);				   /* claim 1: one incarnation's bytes ... */
		assert(gtag - 1 >= curseq + glaps);	   /* ... and claim 3: of the one that the reader says */
		assert((gtag - 1 - curseq - glaps) % M == 0);
		assert(curat == 0 || gtag - 1 == curseq + glaps);
		glaps = gtag - 1 - curseq;
		assert(gfirst[gtag - 1] + 1 == first[CURSLOT]) /* claim 2 */
	:: else
	fi;
	gtag = 0;
	gbad = false;
	assert(UNPROVEN || (gends[curseq + glaps] >> to) & 1); /* claim 2 */
#ifdef TEXTS
	i_ = gtext[curseq + glaps];
	assert((guses[curseq + glaps] & ((2 << to) - 1)) == 0 ||
		(i_ > 0 && i_ <= to && (guses[curseq + glaps] & ((2 << i_) - 1)) == 0)); /* claim 6 */
	i_ = 0;
#endif
	assert(to >= curat);
	curat = to;
	curfirst = first[CURSLOT];
	to = 0;
#ifndef NO_RELOAD
	if
	:: curseq + 1 == act -> ref = first[CURSLOT] - 1
	:: else
	fi;
#endif
	if
	:: curseq < LIMSEQ ->
		assert(UNPROVEN || gends[curseq + glaps] >> curat == 1); /* claim 3: it is left, and all of it was accepted */
		curseq++;
		curat = 0;
		curfirst = 0
	:: else
	fi
}

/* The tail of packet Q from AT to TO: claim 5, nothing that was written in full is missing or wrong. */
inline tail(q, at)
{
	i_ = at;
	do
	:: i_ < to && (gends[q] >> i_) > 1 && (q < gopen || (q == gopen && i_ < gopenat)) ->
		assert(body[(q % N) * CAP + i_] == q + 1);
		i_++
	:: else -> break
	od;
	i_ = 0
}

/* A first timestamp that was read half-written is no reason to withhold a tail, unless bytes were accepted under it. */
#ifdef TAIL_FIRST
#define BELIEVED true
#else
#define BELIEVED (best > 0)
#endif

proctype reader()
{
#ifdef FORK
	byte me; /* the parent */
#endif
	byte nextslot, slot;
	bool idle; /* the look found the writer still in its packet */

	goto sweep; /* attach */

look:
	atomic {
#ifdef DEATH
		if
		:: !dead -> dead = true
		:: true
		fi;
#endif
		slot = act % N;
		nextslot = (act + 1) % N;
		idle = false
	};
#if defined(WEAK) && defined(DEATH)
	/* Whoever has learned of the death sees all that the writer had stored. */
	(!dead || bn == 0);
#ifdef SETTLE
	/* ring-newest.c ring_set_dead: sizes that were loaded before prove nothing without settling. */
	atomic {
		if
		:: dead && !told ->
			told = true;
			unmark(0);
			cand = false; candhigh = 0; candlow = 0;
			peak = 0; half = false;
			FORGET_SETTLED
		:: else
		fi
	};
#endif
#endif
	HEADER(nextslot);
	atomic {
		if
		:: !whole -> FORGET_HEADER; goto look
		:: else
		fi;
		if
#ifdef NO_EMPTY
		:: hcount == (act + 1) % M -> FORGET_HEADER; goto moved
#else
		:: hcount == (act + 1) % M && (act + 1 >= N || SIZE > 0) -> FORGET_HEADER; goto moved
#endif
		:: else
		fi;
		if
		:: hcount != seen[nextslot] -> FORGET_HEADER; goto lapped
		:: else -> FORGET_HEADER
		fi
	};

	/* ring-follow.c step_active: the first timestamp, then the header. */
#ifndef LATE_STAMP
	STAMP(slot);
#endif
	HEADER(slot);
#ifdef LATE_STAMP
	STAMP(slot);
#endif
	atomic {
		idle = true;
		if
		:: !whole -> stamp = 0; FORGET_HEADER; goto look
		:: whole && hcount != act % M -> goto lapped
		:: whole && hcount == act % M && SIZE == 0 ->
			sawempty = true; stamp = 0;
			if
			:: peak == 0 || UNPROVEN -> FORGET_HEADER; goto take
			:: peak > 0 && !UNPROVEN && IS_HALF -> peak = R; half = true; FORGET_HEADER; goto take
			:: peak > 0 && !UNPROVEN && !IS_HALF -> FORGET_HEADER; goto fell
			fi
		:: else
		fi;
#ifndef NO_FRESH
		if
		:: stamp > ref
#ifdef STALE
		/* The clock stood still, or so it seems, for as long as we wait. */
		:: stamp <= ref && ((before[slot] > 0 && stamp + 1 != before[slot]) || sawempty)
#endif
		:: stamp <= ref -> stamp = 0; FORGET_HEADER; goto take
		fi;
#endif
		if
		:: first[slot] > 0 && first[slot] != stamp + 1 ->
#ifdef FIXED_STAMP
			goto lapped
#else
			if
			:: curseq == act && curat > 0 -> goto lapped
			:: else ->
#ifdef KEEP_MARKS
				first[slot] = stamp + 1
#else
				return_to(act); stamp = 0; FORGET_HEADER; goto look
#endif
			fi
#endif
		:: else
		fi;
		first[slot] = stamp + 1;
#ifdef NO_HALF
		mark(act, SIZE);
#else
		if
		:: cand && candhigh == hhigh && hlow > candlow ->
			assert(UNPROVEN || candhigh * R + candlow >= peak); /* claim 4: no confirmed size falls */
			mark(act, candhigh * R + candlow);
			if
			:: SIZE > peak -> peak = SIZE
			:: else
			fi
		:: else
		fi;
#endif
		/* Nor does one that no half of a size explains (ring_size_is_half), unless the packet is being emptied. */
		if
		:: UNPROVEN -> half = false
		:: SIZE >= peak && !UNPROVEN ->
			half = false;
			if
			:: peak > 0 -> peak = SIZE
			:: else
			fi
		:: SIZE < peak && !UNPROVEN && IS_HALF -> peak = SIZE + R; half = true
		:: SIZE < peak && !UNPROVEN && !IS_HALF -> assert(hlow == 0); stamp = 0; FORGET_HEADER; goto fell
		fi;
		cand = true; candhigh = hhigh; candlow = hlow;
		stamp = 0;
		FORGET_HEADER;
		goto take
	};

fell:	/* ring-follow.c left_check: the writer has left the packet, which was the active one when the next one was loaded. */
	HEADER(nextslot);
	atomic {
		/* Claim 4: it is not one that sets a size back. */
		assert(!whole || (hcount == (act + 1) % M && (act + 1 >= N || SIZE > 0)) || hcount != seen[nextslot] ||
			count[slot] != act % M);
		FORGET_HEADER;
		goto take
	};

moved:	/* ring-follow.c step_moved: the final size of the packet that the writer left, loaded after that was seen. */
#ifndef LATE_MOVED
	STAMP(slot);
#endif
#ifdef NO_FINAL
	atomic { whole = true; hcount = act % M; hhigh = candhigh; hlow = candlow };
#else
	HEADER(slot);
#endif
#if defined(RECORDER) && RECORDER == 2 && !defined(HALF_EMPTY)
	/* ring-follow.c being_emptied: the high half may be the old one. */
	if
	:: whole && hcount == act % M && hlow == 0 && count[(act + N - 1) % N] == (act + N - 1) % M -> goto lapped
	:: else
	fi;
#endif
	atomic {
		if
		:: !whole -> stamp = 0; FORGET_HEADER; goto look
		:: whole && hcount != act % M -> goto lapped
#ifndef EMPTY_LEFT
		/* Nobody leaves a packet empty: it is being used again. */
		:: whole && hcount == act % M && SIZE == 0 -> goto lapped
#endif
		:: else
		fi;
		to = SIZE;
		FORGET_HEADER
	};
#ifdef LATE_MOVED
	STAMP(slot);
#endif
	atomic {
		if
		:: first[slot] > 0 && first[slot] != stamp + 1 ->
			to = 0;
			if
			:: curseq == act && curat > 0 -> goto lapped
			:: else -> return_to(act); stamp = 0; goto look
			fi
		:: else
		fi;
		assert(UNPROVEN || to >= peak); /* claim 4: a packet is not left with less than it had */
		final[slot] = to;
		to = 0;
		mark(act, final[slot]);
		first[slot] = stamp + 1;
		if
		:: final[slot] > 0 && stamp > ref -> ref = stamp
		:: else
		fi;
		stamp = 0;
		cand = false; candhigh = 0; candlow = 0;
		sawempty = false;
		peak = 0; half = false;
		act++;
		before[nextslot] = first[nextslot];
		first[nextslot] = 0;
		final[nextslot] = 0;
		seen[nextslot] = act % M
	};

take:	/* ring-copy.c ring_take: copy up to the mark before the last, in the packet at the cursor. */
	atomic {
#ifdef SETTLE
		if
		:: !told && !BEFORE_LIMIT && marks > LAG ->
			settling = true;
			setseq = markseq[marks - 1 - LAG];
			setat = markat[marks - 1 - LAG];
			bold = bn;
			goto look
#if SETTLE == 2
		:: !told && BEFORE_LIMIT && bold > 0 -> goto look
#endif
		:: else
		fi;
#endif
		if
		:: !BEFORE_LIMIT ->
			if
			:: dead && idle -> goto finish
			:: else -> goto look
			fi
		:: else
		fi;
		if
		:: act - curseq >= N -> goto lapped
		:: else
		fi;
		if
		:: LIMSEQ > curseq -> to = final[CURSLOT]
		:: else -> to = LIMAT
		fi;
		i_ = curat
	};
#ifdef SETTLE
	/* ring-copy.c ring_final_again: the last size may have become visible after the next packet's count. */
	if
	:: LIMSEQ > curseq ->
		HEADER(CURSLOT);
		atomic {
			if
			:: whole && hcount == curseq % M && SIZE > to -> to = SIZE; final[CURSLOT] = to
			:: else
			fi;
			FORGET_HEADER
		}
	:: else
	fi;
#endif
	do
	:: i_ < to ->
		atomic {
			if
			:: gtag == 0 && !gbad -> gtag = body[CURSLOT * CAP + i_]; gbad = (gtag == 0)
			:: else -> gbad = gbad || (gtag != body[CURSLOT * CAP + i_])
			fi;
			i_++
		}
	:: else -> break
	od;
	/* ring-copy.c ring_still_there: the first timestamp, then the header: neither changed, nor is the packet being emptied. */
	i_ = 0;
	STAMP(CURSLOT);
	hlow = low[CURSLOT];
	hhigh = high[CURSLOT];
	atomic {
		if
#ifndef NO_COUNT
		:: count[CURSLOT] != curseq % M -> goto changed
#endif
#ifndef NO_SIZE
		/* The size of the active packet may be half stored. */
		:: count[CURSLOT] == curseq % M && SIZE == 0 && curseq != act -> goto changed
#endif
#ifndef NO_STAMP
		:: count[CURSLOT] == curseq % M && stamp + 1 != first[CURSLOT] -> goto changed
#endif
		:: else
		fi;
		stamp = 0;
		FORGET_HEADER;
		accept();
		goto take
	};
changed:
	atomic {
		gtag = 0;
		gbad = false;
		to = 0;
		stamp = 0;
		FORGET_HEADER;
		if
#ifdef NO_GAP
		:: curat > 0 ->
			assert(gends[curseq + glaps] >> curat == 1); /* claim 3 */
			curseq++; curat = 0; curfirst = 0;
			goto look
#else
		:: curat > 0 -> goto lapped
#endif
		:: else -> return_to(curseq); goto look
		fi
	};

lapped:	/* ring-sweep.c ring_resync: where is the writer? */
	atomic { idle = false; stamp = 0; FORGET_HEADER; goto sweep };
sweep:
	do
	:: i_ < N ->
		HEADER(i_);
		atomic {
			if
			:: whole ->
				seen[i_] = hcount;
				if
				:: i_ == 0 -> newring = true
				:: i_ > 0 && (hcount + M - seen[best]) % M < M / 2 -> best = i_
				:: else
				fi;
				newring = newring && hcount == i_;
				if
				:: SIZE > 0 -> newest = i_; newring = newring && i_ + 1 < N
				:: else
				fi;
				i_++
			:: else
			fi;
			FORGET_HEADER
		}
	:: else -> break
	od;
	atomic {
		if
		:: newring -> best = newest
		:: else
		fi;
		do
		:: history + 1 < N && seen[(best + N - history - 1) % N] == (seen[best] + M - history - 1) % M &&
			!(newring && (best + N - history - 1) % N > best) -> history++
		:: else -> break
		od;
#ifndef NEW_RING_ANYWHERE
		if
		:: curseq != 255 && (seen[best] + M - act % M) % M > M / 2 ->
			/* The counts seen are older than ACT: the writer empties a packet for its next use. */
			best = 0; newest = 0; history = 0; newring = false; i_ = 0;
			goto look
		:: else
		fi;
#endif
		newest = act + (seen[best] + M - act % M) % M;
		i_ = newest - history; /* where to start */
		if
		:: curseq == 255 -> curseq = i_ /* attach: at the oldest */
#ifdef FROM_OLDEST
		:: curseq != 255
#else
		:: curseq != 255 && i_ < newest && history + 1 == N -> i_++
		:: curseq != 255 && !(i_ < newest && history + 1 == N)
#endif
		fi;
		best = 0;
		to = 0
	};
	if
	:: i_ <= curseq && curseq <= newest && curat > 0 ->
		/* ring-sweep.c cursor_look: is the packet at the cursor still that one? */
		STAMP(CURSLOT);
		HEADER(CURSLOT);
		atomic {
			if
#ifndef ROUND_ANYWAY
			:: !whole || hcount != curseq % M || SIZE == 0 ->
				/* It has just been used again: what was seen of the ring is old. */
				stamp = 0; FORGET_HEADER; newest = 0; history = 0; newring = false; i_ = 0;
				goto look
			:: whole && hcount == curseq % M && SIZE > 0 && stamp + 1 == curfirst -> i_ = curseq
			:: whole && hcount == curseq % M && SIZE > 0 && stamp + 1 != curfirst ->
				newest = newest + M; i_ = i_ + M /* the count went round */
#else
			:: hcount == curseq % M && stamp + 1 == curfirst -> i_ = curseq
			:: else -> newest = newest + M; i_ = i_ + M
#endif
			fi;
			FORGET_HEADER
		}
	:: i_ <= curseq && curseq <= newest && curat == 0 -> i_ = curseq
	:: else
	fi;
	atomic {
		to = 0;
		stamp = 0;
		if
		:: i_ > curseq ->
			/* A gap, of i_ - curseq packets. */
			curseq = i_;
			curat = 0;
			curfirst = 0
		:: else
		fi;
		follow_from(i_);
		best = (act == newest && !(newring && history == 0));
		newest = 0;
		history = 0;
		newring = false;
		i_ = 0
	};
#ifndef NO_REFERENCE
	/* ring-sweep.c newest_other_first. */
	do
	:: best == 1 && i_ < N ->
		if
		:: i_ != act % N ->
			STAMP(i_);
#ifdef BLIND_REFERENCE
			atomic { whole = true; hlow = 1; hcount = (act + M - 1) % M };
#else
			/* A packet that has been turned to, or is being emptied, may hold a newer timestamp. */
			HEADER(i_);
#endif
			atomic {
				if
				:: whole && SIZE > 0 && (act + M - hcount) % M < M / 2 && stamp > ref -> ref = stamp
				:: else
				fi;
				if
				:: whole -> i_++
				:: else
				fi;
				stamp = 0;
				FORGET_HEADER
			}
		:: else -> i_++
		fi
	:: else -> break
	od;
#endif
	atomic { i_ = 0; best = 0; goto look };

finish:	/* ring-tail.c ring_capture: the memory of a dead guest no longer changes. */
	atomic {
		if
		:: gopen == 255 -> gopen = wseq; gopenat = wused
		:: else
		fi;
		best = curat;
		do
		:: curseq < act ->
			to = final[CURSLOT];
			if
			:: count[CURSLOT] != curseq % M || high[CURSLOT] + low[CURSLOT] == 0 ||
				(BELIEVED && stampa[CURSLOT] * T + stampb[CURSLOT] + 1 != first[CURSLOT]) ->
#ifdef STOP_TAIL
				goto served
#else
				skip /* ring_still_there says no: a gap */
#endif
			:: else -> tail(curseq, best)
			fi;
			best = 0;
			curseq++
		:: else -> break
		od;
#ifndef OLD_REFERENCE
		/* The reference may have been read half-written. */
		if
		:: act > 0 && count[(act + N - 1) % N] == (act - 1) % M && low[(act + N - 1) % N] + high[(act + N - 1) % N] > 0 ->
			ref = stampa[(act + N - 1) % N] * T + stampb[(act + N - 1) % N]
		:: else
		fi;
#endif
		to = best;
		stamp = stampa[act % N] * T + stampb[act % N];
		if
		:: count[act % N] == act % M && (stamp > ref || (before[act % N] > 0 && stamp + 1 != before[act % N])) &&
			(first[act % N] == 0 || first[act % N] == stamp + 1 || !BELIEVED) ->
#ifdef TAIL_TO_SIZE
			to = high[act % N] * R + low[act % N];
			if
			:: marks > 0 && markseq[marks - 1] == act && markat[marks - 1] > to -> to = markat[marks - 1]
			:: else
			fi
#else
			to = CAP /* the size may be half stored: the walk of the tail knows better */
#endif
		:: else
		fi;
		tail(act, best);
		best = to;
#ifndef TAIL_TO_SIZE
		if
		:: act + 1 < N && count[act + 1] == act + 1 && stampa[act + 1] * T + stampb[act + 1] > stamp ->
			act++; /* so it does in the first lap */
			curseq++;
			tail(act, 0)
		:: else
		fi
#endif
	};
served:	/* Everything before (curseq, best) was served: does that reach to what was written in full? */
	atomic {
		assert(curseq > gopen || (curseq == gopen && best >= gopenat) ||
			(gopenat == 0 && curseq + 1 == gopen && gends[curseq] >> best <= 1));
		goto end_
	};
end_:	skip
}

#define NUMBER(s) count[s] = s

init {
	atomic {
		SLOTS(NUMBER);
		gends[0] = 1;
		curseq = 255; /* not attached */
#ifdef WEAK
		run memory();
#endif
#ifdef FORK
		run writer(0);
		run child();
#else
		run writer();
#endif
#ifdef SHARED
		run writer();
#endif
#ifdef RESUME
		run successor();
#endif
		run reader()
	}
}
