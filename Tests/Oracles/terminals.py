"""A terminal as far as `godwit` uses one: a grid of characters that obeys the codes which the tool
writes, and no other one; and processes on pseudo-terminals."""
import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unicodedata

CODE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])")


class Unknown(Exception):
    """A code that this terminal does not know."""


class Screen:
    """A grid of characters, with a second one beside it."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.main, self.other, self.is_other = self.empty(), None, False
        self.row = self.column = self.colors = 0
        self.scrolled = self.too_wide = self.too_low = 0
        self.shows_cursor, self.wraps, self.pending = True, True, ""
        # What was drawn for the size before counts for nothing.
        self.frames, self.settles = [], False

    def empty(self):
        return [[" "] * self.columns for _ in range(self.rows)]

    @property
    def cells(self):
        return self.other if self.is_other else self.main

    def lines(self):
        """The lines down to the last one with something on it."""
        found = ["".join(line).rstrip() for line in self.cells]
        while found and not found[-1]:
            found.pop()
        return found

    def resize(self, columns, rows):
        """As terminals do that cut what has no room."""
        self.columns, self.rows = columns, rows
        for name in ("main", "other"):
            cells = getattr(self, name)
            if cells is not None:
                cut = [(line + [" "] * columns)[:columns] for line in cells[:rows]]
                setattr(self, name, cut + [[" "] * columns for _ in range(rows - len(cut))])
        self.row, self.column = min(self.row, rows - 1), min(self.column, columns - 1)
        self.settles = True

    def feed(self, text):
        text, at = self.pending + text, 0
        self.pending = ""
        while at < len(text):
            if text[at] == "\x1b":
                code = CODE.match(text, at)
                if code is None:
                    if len(text) - at < 16:
                        self.pending = text[at:]
                        return
                    raise Unknown(f"no code that is known: {text[at:at + 16]!r}")
                self.obey(code[1], code[2])
                at = code.end()
            else:
                self.put(text[at])
                at += 1

    def put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.down()
        elif ord(character) < 32 or 127 <= ord(character) < 160:
            raise Unknown(f"a control character: {character!r}")
        elif not unicodedata.combining(character):
            width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
            if self.column + width > self.columns:
                self.too_wide += self.is_other and not self.settles
                if self.wraps:
                    self.column = 0
                    self.down()
                else:
                    self.column = self.columns - width
            self.cells[self.row][self.column] = character
            self.column += width

    def down(self):
        if self.row + 1 < self.rows:
            self.row += 1
        else:
            self.scrolled += self.is_other
            self.cells.pop(0)
            self.cells.append([" "] * self.columns)

    def obey(self, numbers, letter):
        if letter == "m":
            self.colors += 1
        elif numbers == "?1049":
            self.is_other = letter == "h"
            self.other = self.empty() if self.is_other else None
        elif numbers == "?25":
            self.shows_cursor = letter == "h"
        elif numbers == "?7":
            self.wraps = letter == "h"
        elif letter == "H":
            row, column = (int(n) for n in (numbers or "1;1").split(";"))
            self.too_low += row > self.rows and not self.settles
            self.row, self.column = min(row, self.rows) - 1, min(column, self.columns) - 1
        elif letter == "K" and not numbers:
            self.cells[self.row][self.column:] = [" "] * (self.columns - self.column)
        elif letter == "J" and numbers in ("", "2"):
            first = 0 if numbers else self.row + 1
            for row in range(first, self.rows):
                self.cells[row] = [" "] * self.columns
            if not numbers:
                self.frames.append(self.lines())
                self.settles = False
        else:
            raise Unknown(f"no code that is known: {numbers!r} {letter!r}")


class OnTerminal:
    """A process whose standard output or standard error is a terminal."""

    def __init__(self, command, columns=80, rows=24, environment=None, errors=False):
        self.screen, self.text, self.fault = Screen(columns, rows), "", None
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.end, inner = pty.openpty()
        self.size(columns, rows)
        streams = {"stderr": inner, "stdout": subprocess.PIPE} if errors else {
            "stdout": inner, "stderr": subprocess.PIPE}
        variables = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
        self.process = subprocess.Popen(
            [str(c) for c in command], stdin=subprocess.DEVNULL, start_new_session=True,
            env={**variables, "TERM": "xterm-256color", **(environment or {})}, **streams)
        os.close(inner)

    def size(self, columns, rows):
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    def resize(self, columns, rows):
        # What was written for the old size is shown at the old size.
        self.read(0.1)
        self.size(columns, rows)
        self.screen.resize(columns, rows)

    def read(self, seconds):
        """Shows what is written within so many seconds; false once nothing more will be."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.end], [], [], left)[0]:
                return True
            try:
                data = os.read(self.end, 65536)
            except OSError:
                data = b""
            if not data:
                return False
            text = self.decoder.decode(data)
            self.text += text
            try:
                self.screen.feed(text)
            except Unknown as unknown:
                self.fault = self.fault or str(unknown)
        return True

    def signal(self, number):
        os.kill(self.process.pid, number)

    def finish(self, seconds=60):
        """Its exit status, with what it wrote at its end."""
        end = time.monotonic() + seconds
        while self.read(0.5) and time.monotonic() < end:
            pass
        try:
            status = self.process.wait(max(1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            status = "still running"
        os.close(self.end)
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()
        return status
