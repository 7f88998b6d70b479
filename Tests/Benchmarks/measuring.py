"""Measures processes, and tells what was measured."""
import os
import statistics


def private_kib(pid):
    """What a process has for itself: anonymous, shared and swapped, but no mapped files."""
    try:
        with open(f"/proc/{pid}/status") as status:
            return sum(int(line.split()[1]) for line in status
                       if line.startswith(("RssAnon:", "RssShmem:", "VmSwap:")))
    except (OSError, ValueError):
        return 0


def tree(root):
    """A process and all below it."""
    waiting, seen = [root], []
    while waiting:
        pid = waiting.pop()
        seen.append(pid)
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children") as children:
                    waiting += map(int, children.read().split())
        except OSError:
            pass
    return seen


def span(values, unit="", digits=2):
    return (f"{statistics.median(values):.{digits}f}{unit} "
            f"[{min(values):.{digits}f}-{max(values):.{digits}f}]")
