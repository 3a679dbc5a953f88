"""Test that truth.py and incarnations.py find the errors they are for: judges.py BUILD-DIRECTORY

writer-legacy makes a truth, and the tests then change it in each way that a wrong collector could.
The replay of the reference must pass through the states of the reference's images.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile
import time
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import daemons  # noqa: E402
import launcher  # noqa: E402
import truth as judge  # noqa: E402

sys.path.append(os.path.join(HERE, "..", "traces"))
import unpack  # noqa: E402

PROGRAMS = os.path.join(sys.argv[1], "tests", "integration")
failures = 0


def run(program, *arguments):
    done = subprocess.run([f"{PROGRAMS}/{program}", *arguments], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def stream(packets):
    """Return CTF of (count, body) pairs."""
    parts = []
    for count, body in packets:
        bits = (len(body) + 30) * 8
        parts.append(struct.pack("<I16sIHI", 0xC1FC1FC1, bytes(16), bits, count, bits) + body)
    return b"".join(parts)


def packet_list(bodies, first, gaps, cut=0):
    """Return the answer of /packets for (sequence, body) pairs."""
    listed = [{"sequence": first + sequence, "first_timestamp": str(struct.unpack_from("<Q", body)[0]), "cut": 0} for sequence, body in bodies]
    listed[-1]["cut"] = cut
    return {"packets": listed, "gaps": gaps}


def gap(after, offset, following, packets, at_least=False):
    return {
        "after_sequence": after,
        "after_offset": offset,
        "next_sequence": following,
        "packets": packets,
        "at_least": at_least,
    }


def expect(code, what, packets, listed=None, *options):
    """Check that truth.py exits with CODE for a stream."""
    global failures
    with open("stream.ctf", "wb") as f:
        f.write(stream(packets))
    arguments = [sys.executable, "-B", f"{HERE}/truth.py", "truth.ctf", "stream.ctf", *options]
    if listed:
        with open("packets.json", "w", encoding="utf-8") as f:
            json.dump(listed, f)
        arguments += ["--packets", "packets.json"]
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode != code:
        failures += 1
        print(f"FAILED: {what}: exit code {done.returncode} and not {code}: {done.stdout}{done.stderr}")


def judge_truth():
    run("writer-legacy", "--ring", "ring.ctf", "--truth", "truth.ctf", "--size", "16384", "--events", "5000", "--seed", "5")
    with open("truth.ctf", "rb") as f:
        truth = judge.packets(f.read(), "truth")
    numbered = [(count, body) for count, body in truth]
    ends = judge.event_ends(truth[7][1])
    some = ends[10]

    expect(0, "the whole truth", truth, None, "--begin", "0", "--end-events", "0")
    expect(2, "an empty stream", [])
    expect(0, "from the middle on", truth[5:])
    expect(1, "from the middle on, instead of the whole", truth[5:], None, "--begin", "0")
    expect(0, "the whole truth, with another numbering", truth, packet_list(numbered, 65536, []), "--ended")

    pieces = truth[:7] + [(7, truth[7][1][:some]), (7, truth[7][1][some:])] + truth[8:]
    expect(0, "a packet in two pieces", pieces)
    expect(1, "a piece twice", pieces[:8] + pieces[7:])
    expect(1, "packets in the wrong order", truth[:3] + [truth[4], truth[3]] + truth[5:])

    for at in (0, 8, 12, 60, len(truth[7][1]) - 1):
        body = bytearray(truth[7][1])
        body[at] ^= 0x10
        expect(1, f"byte {at} is another", truth[:7] + [(7, bytes(body))] + truth[8:])
    expect(1, "an event is cut", truth[:7] + [(7, truth[7][1][: some - 1])] + truth[8:])
    expect(1, "a body under another count", truth[:7] + [(8, truth[7][1])] + truth[8:])
    mixed = truth[7][1][:some] + truth[3][1][some:]
    expect(1, "two packets in one", truth[:7] + [(7, mixed)] + truth[8:])

    holed, listed = truth[:5] + truth[8:], numbered[:5] + numbered[8:]
    expect(1, "packets are missing", holed)
    expect(1, "packets are missing without a gap", holed, packet_list(listed, 0, []))
    last = 30 + len(truth[4][1])
    expect(0, "a gap declares them", holed, packet_list(listed, 0, [gap(4, last, 8, 3)]))
    expect(0, "a gap declares them, from the next packet on", holed, packet_list(listed, 0, [gap(5, 30, 8, 3)]))
    expect(0, "a gap of many laps", holed, packet_list(listed, 0, [gap(4, last, 8, 3 + 65536, True)]))
    expect(1, "the gap is too short", holed, packet_list(listed, 0, [gap(4, last, 7, 2)]))
    expect(1, "the gap has a wrong number", holed, packet_list(listed, 0, [gap(4, last, 8, 5)]))
    expect(1, "the gap has a wrong number at a packet's beginning", holed, packet_list(listed, 0, [gap(5, 30, 8, 4)]))
    expect(1, "a gap over packets that are there", truth, packet_list(numbered, 0, [gap(4, last, 8, 3)]))

    part = truth[:7] + [(7, truth[7][1][:some])] + truth[8:]
    expect(1, "a packet's end is missing", part)
    expect(0, "a gap in a packet", part, packet_list(numbered, 0, [gap(7, 30 + some, 8, 1)]))
    renumbered = packet_list(numbered, 0, [])
    renumbered["packets"][9]["sequence"] += 65536
    expect(1, "a sequence that is a lap off", truth, renumbered)

    final = judge.event_ends(truth[-1][1])
    if len(final) < 4:
        raise SystemExit("the last packet has too few events for this test; change its seed")
    short = truth[:-1] + [(truth[-1][0], truth[-1][1][: final[-3]])]
    lack = len(truth[-1][1]) - final[-3]
    expect(0, "the last events of a live ring", short, None, "--end-events", "2")
    expect(1, "too many last events of a live ring", short, None, "--end-events", "1")
    expect(1, "the last events of a dead ring", short, packet_list(numbered, 0, []), "--ended")
    expect(0, "the last events of a dead ring, with a cut", short, packet_list(numbered, 0, [], lack), "--ended")
    expect(0, "the last events, with a writer that stopped there", short, None, "--end-events", "0", "--until", f"{truth[-1][0]}:{30 + final[-3]}")


def copy_slowly(path, to):
    """Copy piece by piece, so that the writer runs in between even on one processor. Return the
    copy."""
    parts = []
    with open(path, "rb") as f:
        size = os.fstat(f.fileno()).st_size
        for at in range(0, size, size // 10 + 1):
            parts.append(os.pread(f.fileno(), size // 10 + 1, at))
            time.sleep(0.0005)
    with open(to, "wb") as f:
        f.write(b"".join(parts))
    return b"".join(parts)


def judge_incarnations():
    """A copy taken without any check while the writer writes holds mixtures sooner or later. The
    writer's own files never do."""
    global failures
    check = [sys.executable, "-B", f"{HERE}/incarnations.py", "log"]
    arguments = ["--mode", "pattern", "--seed", "1", "--log", "log", "--files", "0", "--seconds", "300"]
    writer = subprocess.Popen([f"{PROGRAMS}/writer-hostile", "--ring", "hostile.ctf", *arguments], stdout=subprocess.DEVNULL)
    copies = []
    while writer.poll() is None:
        if os.path.exists("hostile.ctf"):
            bad = copy_slowly("hostile.ctf", f"copy-{len(copies)}.ctf")
            copies.append(f"copy-{len(copies)}.ctf")
            try:
                judge.packets(bad, "copy")
            except judge.Fault:
                copies.pop()
        if len(copies) > 150:
            writer.terminate()
            writer.wait()
    done = subprocess.run([*check, "hostile.ctf"], capture_output=True, text=True)
    if done.returncode != 0:
        failures += 1
        print(f"FAILED: the ring at rest: {done.stdout}{done.stderr}")
    done = subprocess.run([*check, *copies], capture_output=True, text=True)
    if done.returncode != 1 or json.loads(done.stdout)["mixed"] == 0:
        failures += 1
        print(f"FAILED: unchecked copies: exit code {done.returncode}: {done.stdout}")


def judge_replay():
    """Replay the snapshots of a ring that was being written."""
    global failures
    for name, all_shown in (("live", True), ("live-slow", False)):
        unpack.series(name, ".")
        for jump in ("0", "1"):
            arguments = ["--reference", name, "--truth", f"{name}/truth.ctf", "--ring", "replay.ctf", "--hold-ms", "0", "--rate", "0"]
            said = run("replay", *arguments, "--jump", jump)
            if not said["torn"] or (all_shown and said["shown"] != said["images"]) or (said["skipped"] > 0) != (jump == "1"):
                failures += 1
                print(f"FAILED: replay of {name}, jump {jump}: {said}")


def judge_patience():
    """Check that a missing event gets the whole time once, and that the next missing event gets
    less."""
    global failures
    silent = types.SimpleNamespace(said=lambda: "")
    launcher.LATER_PATIENCE = 0.3
    for seconds, all_of_it in ((1, True), (daemons.PATIENCE, False)):
        began = time.monotonic()
        try:
            daemons.Daemons.wait(silent, lambda: False, seconds)
            waited = 0
        except AssertionError:
            waited = time.monotonic() - began
        if not waited or (waited >= seconds) != all_of_it:
            failures += 1
            print(f"FAILED: a missing event was given {waited} s of {seconds}")
    for waited, missed, over in ((299, False, False), (301, False, True), (1, True, True)):
        daemons.Patience.missed = missed
        if daemons.Patience.over(waited, daemons.PATIENCE) != over:
            failures += 1
            print(f"FAILED: {waited} s, {'after' if missed else 'without'} a missing event")


def main():
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        judge_truth()
        judge_incarnations()
        judge_replay()
        judge_patience()
        os.chdir("/")
    return 1 if failures else 0


sys.exit(main())
