"""Every script says what it does when it is asked, and does nothing else."""
import os
import pathlib
import subprocess
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts"


class HelpTests(unittest.TestCase):
    def test_each_script_has_help(self):
        scripts = [path for path in SCRIPTS.iterdir()
                   if path.is_file() and os.access(path, os.X_OK)]
        self.assertGreater(len(scripts), 15)
        for path in scripts:
            with self.subTest(path.name):
                done = subprocess.run(
                    [path, "--help"], capture_output=True, text=True, timeout=20,
                    stdin=subprocess.DEVNULL, env={**os.environ, "PATH": "/usr/bin:/bin"})
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertGreater(len(done.stdout.strip()), 20)


if __name__ == "__main__":
    unittest.main()
