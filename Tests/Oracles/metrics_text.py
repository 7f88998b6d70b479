"""A parser of the text format of Prometheus, version 0.0.4, as strict as its description."""
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
HELP = re.compile(rf"# HELP ({NAME}) ((?:[^\\\n]|\\\\|\\n)*)")
TYPE = re.compile(rf"# TYPE ({NAME}) (counter|gauge|histogram|summary|untyped)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(,?)')
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)( -?\d+)?")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|NaN|[+-]?Inf")


def unescaped(value):
    return re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], value)


def labels_of(text):
    """{name: value}, or None where the text is no list of labels."""
    found, at = {}, 0
    while at < len(text):
        label = LABEL.match(text, at)
        if label is None or label[1] in found:
            return None
        found[label[1]] = unescaped(label[2])
        at = label.end()
        if not label[3] and at < len(text):
            return None
    return found


class Metrics:
    """The samples of a text, and what is wrong with it."""

    def __init__(self, text):
        self.samples, self.faults = {}, []
        self.types, self.helps, self.closed, self.last = {}, set(), set(), None
        if not text.endswith("\n"):
            self.faults.append("the last line has no end")
        for number, line in enumerate(text.split("\n")[:-1], 1):
            fault = self.take(line)
            if fault:
                self.faults.append(f"line {number}: {fault}: {line[:120]!r}")

    def take(self, line):
        if re.search(r"[\x00-\x1f\x7f-\x9f]", line):
            return "a control character"
        if line.startswith("#"):
            described, typed = HELP.fullmatch(line), TYPE.fullmatch(line)
            if not described and not typed:
                return "neither HELP nor TYPE"
            name = (described or typed)[1]
            told = self.helps if described else self.types
            if name in told or any(n == name for n, _ in self.samples):
                return "told twice, or after a sample"
            if described:
                self.helps.add(name)
            else:
                self.types[name] = typed[2]
            return self.enter(name)
        sample = SAMPLE.fullmatch(line)
        if not sample:
            return "no sample"
        labels = labels_of(sample[2] or "")
        if labels is None:
            return "no labels"
        if not NUMBER.fullmatch(sample[3]):
            return "no number"
        if sample[1] not in self.types or sample[1] not in self.helps:
            return "a sample without HELP and TYPE"
        key = (sample[1], tuple(sorted(labels.items())))
        if key in self.samples:
            return "a sample that was there before"
        self.samples[key] = float(sample[3])
        return self.enter(sample[1])

    def enter(self, name):
        """All lines of a metric stand together."""
        if name == self.last:
            return None
        if name in self.closed:
            return "lines of one metric in two places"
        self.closed.add(self.last)
        self.last = name
        return None

    def values(self, name):
        """[(labels, value)] of a metric."""
        return [(dict(labels), value) for (n, labels), value in self.samples.items() if n == name]
