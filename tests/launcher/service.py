"""The launcher for a test in another language: python3 -B service.py

Each line of standard input is a request, an object of JSON with a number "id" and a verb "do"; each line of standard output answers
one: {"id": …, "value": …} or {"id": …, "error": a sentence}. Requests are carried out beside each other. At the end of the input
all programs are killed.
"""

import concurrent.futures
import json
import re
import signal
import subprocess
import sys
import threading

import launcher
import ports


class Service:
    def __init__(self):
        self.programs = []
        self.lock = threading.Lock()

    def start(self, words, log, cwd):
        """Start a program, whose output goes to LOG, too. Return its number."""
        with open(log, "ab") as out:
            program = launcher.Program(words, log, stdin=subprocess.PIPE, stdout=out, cwd=cwd)
        with self.lock:
            self.programs.append(program)
            return len(self.programs) - 1

    def ready(self, program):
        """Wait until the program is ready. Return the addresses at which it listens."""
        return self.programs[program].wait_ready().addresses()

    def says(self, program, expression):
        """Wait until the program's lines match EXPRESSION. Return the match and its groups."""
        found = self.programs[program].says(expression)
        return [found[0], *found.groups()]

    def said(self, program):
        return self.programs[program].said()

    def write(self, program, text, answers):
        """Write TEXT to the program, and wait until it has said ANSWERS lines in all."""
        one = self.programs[program]
        one.stdin.write(text.encode())
        one.stdin.flush()
        one.until(lambda: one.said().count("\n") >= answers, "answering")

    def stop(self, program):
        """End the program, which must end well."""
        self.programs[program].stop()

    def close(self, program):
        """Close the program's input, which ends it well."""
        one = self.programs[program]
        one.stdin.close()
        one.wait(launcher.PATIENCE)
        one.check()

    def end(self, program, how):
        """End the program by the signal HOW, however it ends."""
        one = self.programs[program]
        one.send_signal(getattr(signal, how))
        one.wait(launcher.PATIENCE)

    def port(self):
        return ports.free_port()

    def answer(self, line):
        request = json.loads(line)
        number, verb = request.pop("id"), request.pop("do")
        try:
            answer = {"id": number, "value": getattr(self, verb)(**request)}
        except (AssertionError, OSError, ValueError, re.error, subprocess.TimeoutExpired) as error:
            answer = {"id": number, "error": str(error)}
        with self.lock:
            print(json.dumps(answer), flush=True)


def main():
    service = Service()
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        for line in sys.stdin:
            pool.submit(service.answer, line)
        for program in service.programs:
            if program.poll() is None:
                program.kill()
                program.wait()


if __name__ == "__main__":
    main()
