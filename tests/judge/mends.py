#!/usr/bin/python3
"""Take each mend out of a copy of the code, and see that the judge finds the fault that it mended.

  sh tests/run judge-mends
  python3 -B tests/judge/mends.py [--list] [--count N] [NAME…]

  NAME       try these mends alone
  --list     print the mends, and try none
  --count N  judge at most N histories for each (default 12000)

A mend is one piece of the code. The script replaces it in $MPROFD_BUILD/mends (by default build/mends), compiles the judge, and runs it until
the sentence of the mend is wrong. It fails if that is never so, or if the piece is no longer in the code: then find the mend's new place.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time

TOP = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
BUILDS = os.path.realpath(os.environ.get("MPROFD_BUILD") or os.path.join(TOP, "build"))
TREE, BUILD = os.path.join(BUILDS, "mends", "tree"), os.path.join(BUILDS, "mends", "build")
NOT_COPIED = {".git"}
NONE = "(struct mprof_coverage){0}"
ANSWERS, MODEL = "client/trace/answers/", "client/trace/model/"

# Name; what the answer said without the mend; file; piece of the code; piece that brings the fault back; sentence of the judge that is wrong then.
MENDS = [
    (
        "slices",
        "A slice of an export began where the one before had ended.",
        "client/trace/slices/slices-events.c",
        "w->start = duration < time ? time - duration : 0;",
        "static uint64_t last; w->start = duration < time ? time - duration : 0;"
        " if (w->start < last && last <= time) w->start = last; last = time;",
        "exports",
    ),
    (
        "causes",
        "`why` without a name left out a deadlock.",
        ANSWERS + "wait-groups.c",
        "return MPROF_WAITS_CYCLE;",
        "return MPROF_WAITS_OPEN;",
        "cause-listed",
    ),
    (
        "behind",
        "`why` without a name did not count the threads behind a cause.",
        ANSWERS + "wait-groups.c",
        "g->marked += why_is_thread(w->why, i) && is_marked(w, i);",
        "",
        "waiting",
    ),
    (
        "stuck",
        '"Nothing here is stuck" was said of a trace that may lack a wait.',
        ANSWERS + "why-report.c",
        "mprof_waits_coverage(waits, i, &c);",
        "(void)waits;",
        "nothing-stuck",
    ),
    (
        "idle",
        "An idle worker had missed the last signal.",
        ANSWERS + "why.c",
        "return pair_index_last(&w->missed, wait, time) != MPROF_NONE;",
        "return wait != MPROF_NONE || time;",
        "missed",
    ),
    (
        "idle-healthy",
        "A healthy server with idle workers was called hung.",
        ANSWERS + "why.c",
        "return pair_index_last(&w->missed, wait, time) != MPROF_NONE;",
        "return wait != MPROF_NONE || time;",
        "healthy",
    ),
    (
        "idle-lwt",
        "A worker of Lwt that came late to its first wait had missed a signal.",
        ANSWERS + "why.c",
        "return a->lost_signals == 1 && is_only_wait(w, a);",
        "return !is_only_wait(w, a) || a->lost_signals;",
        "missed",
    ),
    (
        "wait-begins",
        "The signal with which a thread begins to wait counted as a wake-up.",
        ANSWERS + "signal-index.c",
        "!(it->flags & MPROF_INTERACTION_BEGINS_WAIT)",
        "true",
        "signalled",
    ),
    (
        "begin",
        '"Nothing here is stuck" of a ring that had lost its beginning.',
        MODEL + "coverage.c",
        "return hole(MPROF_HOLE_BEGIN, stream, from, s->start);",
        f"return {NONE};",
        "nothing-stuck",
    ),
    (
        "kind",
        '"None came" of a kind that the recorder does not write.',
        MODEL + "coverage.c",
        "return hole(MPROF_HOLE_KIND, stream, 0, 0);",
        f"return {NONE};",
        "none-came",
    ),
    (
        "unsaid",
        "A healthy program was called hung, whose ring without declarations had never shown a read.",
        MODEL + "coverage.c",
        "return hole(MPROF_HOLE_UNSAID, stream, 0, 0);",
        f"return {NONE};",
        "healthy",
    ),
    (
        "gap",
        '"Is not resolved" where a packet is missing.',
        MODEL + "coverage.c",
        "return hole(MPROF_HOLE_GAP, stream, v->gaps[gap].from, v->gaps[gap].to);",
        f"return {NONE};",
        "unresolved",
    ),
    (
        "clock",
        "A healthy program was called hung, where the clock went back.",
        MODEL + "coverage.c",
        "return hole(MPROF_HOLE_CLOCK, stream, s->back_from, s->back_to);",
        f"return {NONE};",
        "healthy",
    ),
    (
        "ring",
        '"Is not resolved" where a thread\'s ring is not among the files.',
        MODEL + "coverage.c",
        "return hole(MPROF_HOLE_RING, stream, v->threads[s->silent].created, 0);",
        f"return {NONE};",
        "unresolved",
    ),
    (
        "outside",
        "Each holder of a lock was no thread of the process.",
        ANSWERS + "why.c",
        "if (a->holder != MPROF_NONE)\n\t\tfind_outside(w, a);",
        "if (a->holder != MPROF_NONE)\n\t\tfind_outside(w, a);\n\ta->outside = a->holder != MPROF_NONE;",
        "outside",
    ),
    (
        "released",
        "A lock that its holder had released was still held.",
        ANSWERS + "why-index.c",
        "else if (it->kind == MPROF_INTERACTION_READ &&",
        "else if (it->kind == MPROF_INTERACTION_READ && !why_is_lock(t) &&",
        "holds",
    ),
    (
        "holder-ended",
        "A healthy program had a lock whose holder ended, where the release may be missing.",
        ANSWERS + "why.c",
        "if (a->since_coverage.hole != MPROF_HOLE_NONE)\n\t\ta->verdict = MPROF_WHY_NOT_WOKEN;\n\telse if (holder)",
        "if (holder)",
        "healthy",
    ),
    (
        "not-woken",
        "A healthy program had a missed wake-up, where the run of the thread may be missing.",
        ANSWERS + "why.c",
        "find_end(w, a, MPROF_COVERAGE_READ, root->end, last_waiter(w, a));",
        "(void)last_waiter(w, a);",
        "healthy",
    ),
    (
        "still",
        "A wait was still not resolved after a signal, where its end may be missing.",
        ANSWERS + "why.c",
        "if (a->verdict == MPROF_WHY_SIGNALLED_SINCE)\n\t\tcoverage_losses(",
        f"if (a->verdict == MPROF_WHY_SIGNALLED_SINCE)\n\t\ta->since_coverage = {NONE};\n\telse if (false)\n\t\tcoverage_losses(",
        "signalled",
    ),
    (
        "computes",
        "The program slept while a thread computed.",
        MODEL + "coverage.c",
        "(s->running != MPROF_NONE && s->running != s->root)",
        "false",
        "slept",
    ),
    (
        "stops",
        "The program slept, while the ring of a thread is not there, or does not say that threads stop.",
        MODEL + "coverage.c",
        "return s->silent == MPROF_NONE && (s->running == MPROF_NONE || (s->declares & MPROF_WRITES_STOPS));",
        "return true;",
        "slept",
    ),
    (
        "slept-back",
        "The program slept, by a clock that went back.",
        MODEL + "coverage.c",
        "if (s->back_to)\n\t\treturn false;",
        "",
        "slept",
    ),
    (
        "never",
        "`threads` said that a thread never resolved whose end may be missing.",
        MODEL + "chains.c",
        "t->flags |= MPROF_THREAD_END_UNSEEN;",
        "t->flags |= 0;",
        "state",
    ),
    (
        "ends",
        "`threads` said when a thread ended that by its clock ended before it began.",
        ANSWERS + "threads-report.c",
        ".ends = !(thread->flags & MPROF_THREAD_ENDED) || !why_end_is_unknown(t->view, i)",
        ".ends = true",
        "ends",
    ),
    (
        "unresolved",
        "A thread should resolve and never did, where its resolution may be missing.",
        ANSWERS + "why.c",
        "coverage_unresolved(w->view, &w->coverage, thread, guest_end(w->view, w->view->threads[thread].stream),\n\t\t\t    coverage);",
        f"(void)w;\n\t(void)thread;\n\t*coverage = {NONE};",
        "unresolved",
    ),
    (
        "like",
        "The last thread like it was resolved at the time at which it began, where the clock went back.",
        ANSWERS + "why.c",
        "if (a->similar != MPROF_NONE && why_end_is_unknown(w->view, a->similar))",
        "if (false)",
        "like",
    ),
    (
        "resolved-at",
        "A thread was resolved at the time at which it began, where the clock went back.",
        ANSWERS + "why-report.c",
        "if (why_end_is_unknown(t->view, thread)) {",
        "if (false) {",
        "resolved",
    ),
    (
        "share",
        "The program slept for more than 100 % of the time.",
        ANSWERS + "statistics-report.c",
        "all->sleeping_ns > all->last_ns - all->first_ns)",
        "false)",
        "share",
    ),
    (
        "lost",
        "A missing packet was not counted.",
        ANSWERS + "statistics-report.c",
        '"lost_packets", r->lost_packets',
        '"lost_packets", 0 * r->lost_packets',
        "lost",
    ),
    (
        "alive",
        "The page's table let a thread live up to the end of the area.",
        ANSWERS + "area.c",
        ".alive_ns = inside(a, t->start, t->end)",
        ".alive_ns = inside(a, t->start, UINT64_MAX)",
        "area-alive",
    ),
    (
        "area-hole",
        "The page's table named no hole where a packet is missing or a ring is not among the files.",
        ANSWERS + "area.c",
        "coverage_stream(a->v, &index, i, a->place.from, a->place.to, &a->coverage);",
        "break;",
        "area-none",
    ),
    (
        "area-zero",
        "Threads of the page's table did not run, whose runs are in a ring that is not among the files.",
        ANSWERS + "area-report.c",
        "return c->hole != MPROF_HOLE_NONE && !(c->hole == MPROF_HOLE_BEGIN && c->from == c->to);",
        "(void)c;\n\treturn false;",
        "area-none",
    ),
    (
        "diff-hole",
        "`diff` of a trace that lacks parts said that the runs differ.",
        ANSWERS + "diff-coverage.c",
        "coverage_stream(s->view, &s->why->coverage, i,\n\t\t\t\t\tstreams[map_get(&earliest, streams[i].guest)].start, UINT64_MAX, c);",
        ";",
        "alike",
    ),
    (
        "diff-beginning",
        "`diff` said that a run had no such threads, whose ring lacks its beginning.",
        ANSWERS + "diff-coverage.c",
        "\t\tfind_beginning(d, side);",
        "\t\tif (false)\n\t\t\tfind_beginning(d, side);",
        "diff-none",
    ),
    (
        "diff-end",
        "`diff` of a trace that lacks its beginning compared the end of a thread with that of another one, and said that the runs differ.",
        ANSWERS + "diff-coverage.c",
        "if (!lacks_place(d, GOOD) && !lacks_place(d, BAD))\n\t\treturn true;",
        "return true;",
        "alike",
    ),
    (
        "diff-kind",
        "`diff` said that a thread did nothing more, of a recorder that does not write what it did.",
        ANSWERS + "diff-coverage.c",
        "\t\tfind_kind(d, side);",
        "\t\tif (false)\n\t\t\tfind_kind(d, side);",
        "alike",
    ),
    (
        "diff-never",
        "`diff` said that a thread is never resolved, whose resolution may be missing.",
        ANSWERS + "diff-coverage.c",
        "o->coverage = end_hole(d, side, thread);",
        "(void)end_hole(d, side, thread);",
        "diff-never",
    ),
    (
        "unnamed",
        "No cycle was found.",
        ANSWERS + "why.c",
        "if (a->cycle) {",
        "if (a->cycle && a->links > 1000) {",
        "named-whole",
    ),
]


def die(text):
    sys.exit(f"mends: {text}")


def copy_tree():
    """Make the copy equal to the checkout. Leave equal files alone, so that they are not compiled again."""
    for folder, folders, names in os.walk(TOP):
        folders[:] = [n for n in folders if n not in NOT_COPIED and not n.startswith("build") and os.path.join(folder, n) != BUILDS]
        there = os.path.join(TREE, os.path.relpath(folder, TOP))
        os.makedirs(there, exist_ok=True)
        for name in names:
            source, target = os.path.join(folder, name), os.path.join(there, name)
            if os.path.isfile(source) and not (os.path.isfile(target) and read(source) == read(target)):
                shutil.copy(source, target)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


def run(command):
    said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return said.returncode, said.stdout


def compile_judge():
    code, said = run(["ninja", "-C", BUILD, "tests/judge/judge"])
    return "" if code == 0 else said


def judge(*options):
    return run([os.path.join(BUILD, "tests/judge/judge"), "--seed", "1", *options])


def prepare():
    os.makedirs(TREE, exist_ok=True)
    copy_tree()
    if not os.path.exists(os.path.join(BUILD, "build.ninja")):
        code, said = run(["meson", "setup", BUILD, TREE, "-Dwerror=false", "-Dviewer=disabled", "-Ddaemon=disabled", "-Dbuildtype=debugoptimized"])
        if code:
            die(f"meson could not set up {BUILD}:\n{said}")
    said = compile_judge()
    if said:
        die(f"the judge does not compile:\n{said}")
    code, said = judge("--count", "300")
    if code:
        die(f"the judge finds a fault with all mends:\n{said}")


def attempt(mend, count):
    """Take MEND out. Return whether the judge finds the fault, and what it said."""
    _, _, file, piece, other, sentence = mend
    path = os.path.join(TREE, file)
    content = read(path)
    if content.count(piece.encode()) != 1:
        return False, f"{file} has {content.count(piece.encode())} places of this mend"
    try:
        write(path, content.replace(piece.encode(), other.encode()))
        said = compile_judge()
        if said:
            return False, f"it does not compile:\n{said}"
        code, said = judge("--count", str(count), "--stop", sentence)
    finally:
        write(path, content)
    found = re.search(f'^"{sentence}" is wrong with the seed .*$', said, re.MULTILINE)
    if not found and code:
        wrong = re.findall(r'^FAULT: ("[^"]*")', said, re.MULTILINE)
        return False, f"no history of {count} has a wrong \"{sentence}\", but {', '.join(wrong)}"
    return bool(found), found.group(0) if found else f"no history of {count} has a fault"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--count", type=int, default=12000)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    chosen = [m for m in MENDS if not options.names or m[0] in options.names]
    if options.list:
        for name, fault, file, *_, sentence in chosen:
            print(f"{name:14} {sentence:14} {file}: {fault}")
        return 0
    prepare()
    faults = 0
    for mend in chosen:
        began = time.monotonic()
        found, said = attempt(mend, options.count)
        faults += not found
        print(f"{'found' if found else 'FAULT'}: {mend[0]}: {mend[1]} {said} ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{len(chosen) - faults} of {len(chosen)} mends: the judge finds the fault when the mend is taken out")
    return 1 if faults else 0


sys.exit(main())
