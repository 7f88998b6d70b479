"""Plants what `scripts/tidy` has to find."""
import pathlib
import tempfile
import unittest

from loading import load


class Tidy(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.tidy = load("tidy")
        self.tidy.ROOT = pathlib.Path(holder.name)
        for name in ("Sources/Birds/Nest.swift", "Tests/Oracles/birds.py", "docs/birds.md"):
            path = self.tidy.ROOT / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")

    def named(self, text):
        self.tidy.check_named(pathlib.Path("docs/page.md"), text,
                              {"Nest.swift": "struct Nest {\n  func build() {}", "birds.py": ""},
                              {"NestBuilder", "build"})
        return self.tidy.findings

    def test_what_is_there_is_not_found(self):
        self.assertEqual(self.named("""
          `Sources/Birds/Nest.swift` `docs/birds.md` `Nest.swift` `birds.py` `NestBuilder.build()`
          `Shop.sqlite` `STORE.before-TIME` `migrate` `scripts` `GODWIT_ENGINE` `Nest`
          ```sh
          `scripts/none`
          ```
        """), [])

    def test_a_path_that_is_gone_is_found_also_before_arguments(self):
        self.assertEqual(self.named("a\nas `scripts/hatch eggs` does"),
                         ["docs/page.md:2: `scripts/hatch` is not there"])

    def test_a_file_that_is_gone_is_found(self):
        self.assertEqual(self.named("`Egg.swift`"),
                         ["docs/page.md:1: no file is called `Egg.swift`"])

    def test_a_function_that_the_file_of_its_row_does_not_declare_is_found(self):
        self.assertEqual(self.named("| `Nest.swift` | `build`, `Nest`, `hatch` | lays eggs |"),
                         ["docs/page.md:1: `hatch` is not declared in Nest.swift"])

    def test_a_name_that_no_swift_file_says_is_found(self):
        self.assertEqual(self.named("`NestBuilder.hatch()`, `EggLayer`"),
                         ["docs/page.md:1: no Swift file says `hatch`",
                          "docs/page.md:1: no Swift file says `EggLayer`"])

    def links(self, text):
        self.tidy.check_links(pathlib.Path("docs/page.md"), text)
        return len(self.tidy.findings)

    def test_dead_links_are_found(self):
        (self.tidy.ROOT / "docs/birds.md").write_text("# All birds\n")
        self.assertEqual(self.links("[a](birds.md) [b](birds.md#all-birds) [c](https://a.b/c)"), 0)
        self.assertEqual(self.links("[a](bird.md) [b](birds.md#some-birds)"), 2)

    def test_long_functions_and_files_are_found(self):
        path = pathlib.Path("Sources/Birds/Nest.swift")
        body = "    egg()\n"
        self.tidy.check_swift(path, "func a() {\n" + body * 40 + "}\n")
        self.assertEqual((len(self.tidy.warnings), self.tidy.findings), (1, []))
        self.tidy.check_swift(path, "func a() {\n" + body * 70 + "}\n")
        self.assertIn("a function of 72 lines", self.tidy.findings[0])
        self.tidy.check_lines(path, "let a = 1\n" * 501)
        self.assertIn("501 lines", self.tidy.findings[1])
        self.tidy.check_lines(path, f"  // {'a' * 96}\nlet a = \"{'a' * 100}\"\n")
        self.assertEqual(self.tidy.findings[2:], [f"{path}:1: 101 columns; 100 are the most"])

    def test_words_and_calls_are_found(self):
        path = pathlib.Path("Sources/Birds/Nest.swift")
        self.tidy.check_words(path, "// TO" "DO\n// /wo" "rk/main\n// ../sha" "red/corpus\n")
        self.assertEqual(len(self.tidy.findings), 3)
        self.tidy.check_swift(path, 'fatal' 'Error("")\nprint(1)\n// fatal' 'Error(\n"print("\n')
        self.assertEqual(len(self.tidy.findings), 5)
        self.tidy.check_names(pathlib.Path("Sources/Birds/Utils.swift"))
        self.assertEqual(len(self.tidy.findings), 6)

    def sentences(self, text):
        self.tidy.findings.clear()
        self.tidy.check_sentences(pathlib.Path("docs/page.md"), text)
        return self.tidy.findings

    def test_a_long_sentence_is_found_wherever_it_stands(self):
        words = "Egg " + "egg " * 28
        long, short = words + "egg nest.", words + "nest."
        for frame in ("{}", "One. {}", "- {}", "1. {}", "| a | {} |", "{}\n\n- b", "# {}"):
            self.assertEqual(self.sentences(frame.format(short)), [], frame)
            self.assertEqual(len(self.sentences(frame.format(long))), 1, frame)
        self.assertEqual(self.sentences(f"a\n\n{words}\negg nest.")[0][:35],
                         "docs/page.md:3: a sentence of 31 wo")

    def test_code_links_and_statements_do_not_make_a_sentence_long(self):
        words = "Egg " + "egg " * 19
        for text in (f"{words}`{words}`", f"```sh\n{words * 2}\n```", f"{words}; {words}",
                     f"{words}. {words}", f"{words}\n\n{words}", f"- {words}\n- {words}",
                     f"[{words}](nest.md)", f"{words}: `a`. {words}"):
            self.assertEqual(self.sentences(text), [], text)

    def test_words_to_avoid_are_found_but_in_code(self):
        self.assertEqual(self.sentences("Eggs lie next to `beside` it."), [])
        self.assertEqual(self.sentences("Eggs lie\nBeside it."),
                         ["docs/page.md:1: `Beside`: use next to"])
        self.assertEqual(len(self.sentences("Nobody says so.\n\n| it goes on |")), 3)

    def test_figures_count_sentences_and_words_to_avoid(self):
        words, mean, share, count = self.tidy.figures(
            ["One nest has two eggs. Egg " + "egg " * 25 + ". Nobody knows what it was."])
        self.assertEqual((words, count), (36, 1))
        self.assertAlmostEqual(mean, 12)
        self.assertAlmostEqual(share, 100 / 3)
        self.assertEqual(self.tidy.comments("/// An egg.\nlet a = 1  // beside\n"), "An egg.\n\n")

    def test_messages_are_texts_in_which_a_value_is_one_word(self):
        source = '''  let text = "the nest " + "\\(name(of: "a")) has \\(count) eggs"
  let word = "nest"
'''
        self.assertEqual(self.tidy.messages(source), "the nest `value` has `value` eggs")

    def test_more_words_to_avoid_than_are_left_are_found(self):
        (self.tidy.ROOT / "docs/commands.md").write_text("Eggs.\n")
        path = self.tidy.ROOT / "Sources/Birds/Nest.swift"
        path.write_text("/// Nobody says so.\n")
        self.tidy.LEFT = {"comments": 2, "help": 0, "messages": 0}
        self.tidy.check_left([pathlib.Path("Sources/Birds/Nest.swift")])
        self.assertEqual(self.tidy.findings, [])
        self.tidy.LEFT["comments"] = 1
        self.tidy.check_left([pathlib.Path("Sources/Birds/Nest.swift")])
        self.assertEqual(len(self.tidy.findings), 1)

    def test_a_long_subject_is_found(self):
        def commit(subject):
            self.tidy.findings.clear()
            for command in (["init", "-q"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit",
                                             "-q", "--allow-empty", "-m", subject]):
                self.tidy.subprocess.run(["git", *command], cwd=self.tidy.ROOT, check=True)
            self.tidy.check_subject()
            return len(self.tidy.findings)
        self.assertEqual(commit("a" * 72), 0)
        self.assertEqual(commit("a" * 73), 1)


if __name__ == "__main__":
    unittest.main()
