"""What `scripts/docs` makes of pages before MkDocs reads them."""
import pathlib
import tempfile
import unittest

from loading import load


class Docs(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.docs = load("docs")
        self.docs.ROOT = pathlib.Path(holder.name).resolve()
        for name in ("docs/how-to/hatch.md", "docs/eggs/one.txt", "docs/eggs/.hidden"):
            path = self.docs.ROOT / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")

    def for_site(self, text):
        folders = set()
        made = self.docs.for_site(text, pathlib.Path("docs/how-to/hatch.md"), folders)
        return made, [str(f) for f in folders]

    def test_a_block_keeps_its_language_alone(self):
        self.assertEqual(self.for_site("```sh alternatives running\na b\n```\n```\nc d\n```\n"),
                         ("```sh\na b\n```\n```\nc d\n```\n", []))

    def test_links_to_folders_lead_to_their_pages(self):
        self.assertEqual(self.for_site("[a](../eggs) [b](hatch.md#c) [d](https://e.f/eggs)"),
                         ("[a](../eggs/README.md) [b](hatch.md#c) [d](https://e.f/eggs)",
                          ["docs/eggs"]))

    def test_a_folder_without_a_page_lists_its_files(self):
        folder = pathlib.Path("docs/eggs")
        self.docs.list_files(self.docs.ROOT, folder)
        self.assertEqual((self.docs.ROOT / folder / "README.md").read_text(),
                         "# docs/eggs\n\n- [one.txt](<one.txt>)\n")
        (self.docs.ROOT / folder / "README.md").write_text("kept")
        self.docs.list_files(self.docs.ROOT, folder)
        self.assertEqual((self.docs.ROOT / folder / "README.md").read_text(), "kept")

    def navigation(self, page, pages=("docs/how-to/hatch.md",)):
        (self.docs.ROOT / "docs/README.md").write_text(page)
        self.docs.tracked = lambda *_: list(pages)
        return self.docs.navigation(False).split("\n")

    def test_the_menu_has_the_sections_and_pages_of_the_index(self):
        lines = self.navigation("# All\n\n[a](none.md)\n\n## Do\n\n[b](how-to/hatch.md) "
                                "[b](how-to/hatch.md)\n")
        self.assertEqual(lines[1:3], ["  - How-to guides:", "    - docs/how-to/hatch.md"])

    def test_a_page_that_the_index_lacks_and_an_unknown_section_are_errors(self):
        for page in ("## Do\n", "## Fly\n"):
            with self.assertRaises(SystemExit):
                self.navigation(page)


if __name__ == "__main__":
    unittest.main()
