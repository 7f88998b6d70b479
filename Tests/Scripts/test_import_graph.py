"""Plants what `scripts/import-graph --check` has to find, one fault at a time."""
import copy
import unittest
import unittest.mock

from loading import load

graph = load("import-graph")

MANIFEST = """
    // MARK: Values: no files
    .module("Birds"),
    .module("Flocks", ["Birds", .systemPackage]),
    // MARK: Files
    .module("SystemCalls"),
    .module("Nests", ["Flocks", "SystemCalls"]),
"""
DUMP = {"targets": [
    {"name": "Birds", "type": "regular", "dependencies": []},
    {"name": "Flocks", "type": "regular", "dependencies": [
        {"byName": ["Birds", None]}, {"product": ["SystemPackage", "swift-system", None, None]}]},
    {"name": "SystemCalls", "type": "regular", "dependencies": []},
    {"name": "Nests", "type": "regular", "dependencies": [
        {"byName": ["Flocks", None]}, {"byName": ["SystemCalls", None]}]},
]}
SOURCES = {
    "Sources/Birds": ["import Foundation\n"],
    "Sources/Flocks": ["package import Birds\nimport SystemPackage\n",
                       'let text = """\n  import Nothing\n"""'],
    "Sources/SystemCalls": ["#if canImport(Glibc)\n  import Glibc\n#endif\n// import Nothing\n"],
    "Sources/Nests": ["@testable import Flocks\nimport func SystemCalls.sync\n"],
}
DOCUMENT = f"""# Nests

{graph.BEGIN}
| module | what it is | imports |
|---|---|---|
| **Values** | no files | |
| `Birds` | each bird | |
| `Flocks` | many of them | Birds, SystemPackage |
| **Files** | | |
| `SystemCalls` | the system | |
| `Nests` | where they live | Flocks, SystemCalls |
{graph.END}

End.
"""


class ImportGraph(unittest.TestCase):
    def setUp(self):
        self.dump, self.sources = copy.deepcopy(DUMP), copy.deepcopy(SOURCES)
        self.manifest, self.document = MANIFEST, DOCUMENT
        for name, rule in (("WALLS", {"Glibc": {"SystemCalls"}}), ("APART", {"Birds": {"Nests"}})):
            patched = unittest.mock.patch.object(graph, name, rule)
            patched.start()
            self.addCleanup(patched.stop)

    def found(self):
        return graph.findings(self.dump, self.manifest, self.sources.__getitem__, self.document)

    def declare(self, target, name):
        found = next(t for t in self.dump["targets"] if t["name"] == target)
        found["dependencies"].append({"byName": [name, None]})

    def depends(self, target, name):
        """Declares and imports it."""
        self.declare(target, name)
        self.sources[f"Sources/{target}"].append(f"import {name}\n")

    def finds(self, sentence):
        found = self.found()
        self.assertIn(sentence, found)
        return found

    def test_a_sound_package_has_no_findings(self):
        self.assertEqual(self.found(), [])

    def test_an_arrow_upward_is_found(self):
        self.depends("Birds", "Flocks")
        self.finds("Birds depends on Flocks, which Package.swift declares after it")

    def test_a_dependency_on_itself_is_found(self):
        self.declare("Nests", "Nests")
        self.finds("Nests depends on Nests, which Package.swift declares after it")

    def test_an_import_that_is_not_declared_is_found(self):
        self.sources["Sources/Nests"].append("public import Birds\n")
        self.assertEqual(self.found(), ["Nests imports Birds and does not declare it"])

    def test_an_unknown_product_is_found(self):
        self.sources["Sources/Nests"].append("@preconcurrency import struct SystemPackage.Errno\n")
        self.assertEqual(self.found(), ["Nests imports SystemPackage and does not declare it"])

    def test_a_dependency_that_nothing_imports_is_found(self):
        self.declare("Nests", "Birds")
        self.assertEqual(self.found(), ["Nests declares Birds and does not import it"])

    def test_an_executable_need_not_be_imported(self):
        self.dump["targets"].insert(0, {"name": "tool", "type": "executable", "dependencies": []})
        self.sources["Sources/tool"] = []
        self.declare("Nests", "tool")
        self.assertNotIn("Nests declares tool and does not import it", self.found())

    def test_a_value_module_that_imports_files_is_found(self):
        self.depends("Flocks", "SystemCalls")
        self.finds("Flocks is a module of values and imports SystemCalls")

    def test_a_value_module_that_reaches_a_product_through_another_is_found(self):
        self.depends("Birds", "GRDB")
        found = self.finds("Birds is a module of values and imports GRDB")
        self.assertIn("Flocks is a module of values and reaches GRDB", found)

    def test_a_value_module_that_imports_the_platform_is_found(self):
        self.sources["Sources/Flocks"].append("import Dispatch\n")
        self.finds("Flocks is a module of values and imports Dispatch")

    def test_values_without_a_layer_are_found(self):
        self.manifest = MANIFEST.replace("MARK: Values", "MARK: Ideas")
        self.finds("Package.swift: no layer is named `// MARK: Values`")

    def test_a_heading_without_targets_is_found(self):
        self.manifest += "    // MARK: Processes\n"
        self.finds("Package.swift: no target follows `// MARK: Processes`")

    def test_an_import_past_a_wall_is_found(self):
        self.sources["Sources/Nests"].append("import Glibc\n")
        self.finds("Nests imports Glibc, which only SystemCalls may")

    def test_a_module_that_reaches_what_it_stays_apart_from_is_found(self):
        graph.APART["Nests"] = {"Birds"}
        self.finds("Nests reaches Birds and has to stay apart from it")

    def test_a_rule_on_what_is_no_target_is_found(self):
        graph.APART["Nests"] = {"Eggs"}
        self.finds("scripts/import-graph has a rule on Eggs, which is no target")

    def test_a_stale_document_is_found(self):
        self.document = DOCUMENT.replace("| Flocks, SystemCalls |", "| Flocks |")
        self.finds("docs/explanation/architecture.md has another import graph than Package.swift: "
                   "run scripts/import-graph")

    def test_a_module_without_words_and_words_without_a_module_are_found(self):
        self.document = DOCUMENT.replace("| `Birds` |", "| `Eggs` |")
        found = self.finds("docs/explanation/architecture.md does not say what Birds is")
        self.assertIn("docs/explanation/architecture.md has Eggs, which is no module", found)

    def test_drawing_keeps_words_and_the_rest_of_the_document(self):
        targets = graph.read_targets(self.dump, self.sources.__getitem__)
        layers, _ = graph.read_layers(self.manifest, targets)
        stale = DOCUMENT.replace("| Flocks, SystemCalls |", "| Eggs |")
        self.assertEqual(graph.redrawn(stale, targets, layers), DOCUMENT)


if __name__ == "__main__":
    unittest.main()
