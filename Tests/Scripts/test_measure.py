"""Plants declarations in every spelling, and has `scripts/measure` count them."""
import pathlib
import tempfile
import unittest

from loading import load

measure = load("measure")


def counted(source):
    counts = measure.Counts()
    counts.add(pathlib.Path("Sample.swift"), source)
    return counts


def places(source, what):
    return [place.split(": ", 1)[1] for place in counted(source).places[what]]


class Parameters(unittest.TestCase):
    def test_labels_are_counted_over_several_lines_generics_and_closures(self):
        counts = counted("""
          package func sort<Key: Comparable, Value>(
            _ items: [Key: Value], by order: (Key, Key) -> Bool = { a, b in a < b },
            _ pair: (Int, Int), limit: Int = min(1, 2)
          ) rethrows -> Dictionary<Key, Value> { items }
        """)
        self.assertEqual(counts.parameters, 4)
        self.assertEqual(places("func a(_ x: Map<Int, Int>, b: Int) {}", "unlabelled"),
                         ["a: _ x: Map<Int, Int>"])
        self.assertEqual(len(counts.places["unlabelled"]), 2)

    def test_initializers_count_and_calls_of_them_do_not(self):
        counts = counted("""
          struct S {
            init?(_ a: Int) { self.init(a, 1) }
            init<T>(_ a: T, b: Int) { S.init(a) }
          }
        """)
        self.assertEqual((counts.functions, counts.parameters), (2, 3))

    def test_operators_and_subscripts_have_no_labels_to_give(self):
        counts = counted("static func < (_ a: Self, _ b: Self) -> Bool { a.x < b.x }\n"
                         "subscript(_ place: Int) -> Int { 0 }")
        self.assertEqual((counts.parameters, counts.places["unlabelled"]), (0, []))

    def test_comments_and_literals_declare_nothing(self):
        counts = counted('''
          // func a(_ x: Int)
          /* func b(_ x: Int) /* func c(_ x: Int) */ */
          let text = "func d(_ x: \\(name["func e(_ x: Int)"]))"
          let more = #"func f(_ x: "Int")"#
          let lines = """
            func g(_ x: Int)
            """
          func h(_ x: Int) {}
        ''')
        self.assertEqual(counts.functions, 1)
        self.assertEqual([p.split(": ", 1)[1] for p in counts.places["unlabelled"]],
                         ["h: _ x: Int"])

    def test_unlabelled_booleans_are_found(self):
        source = ("func a(_ on: Bool, b: Bool, _ c: Bool? = nil, _ d: inout Bool, _ e: Boolean,\n"
                  "  _ f: (Bool) -> Void, _ g: [Bool]) {}")
        self.assertEqual(places(source, "booleans"),
                         ["a: _ on: Bool", "a: _ c: Bool? = nil", "a: _ d: inout Bool"])

    def test_seven_parameters_are_many_and_six_are_not(self):
        source = "func six(a: A, b: A, c: A, d: A, e: A, f: A) {}\n" \
                 "func seven(a: A, b: A, c: A, d: A, e: A, f: A, g: A) {}"
        self.assertEqual(places(source, "many"), ["seven: 7 parameters"])


class Documentation(unittest.TestCase):
    def test_only_visible_declarations_ask_for_documentation(self):
        source = """
          /// Told.
          @inlinable
          package struct A {
            public internal(set) var b: Int
            var c: Int
            private func d() {}
            /// Told.
            package static func e() {}
            // No documentation.
            open class func f() {}
          }
        """
        counts = counted(source)
        self.assertEqual(counts.visible, 4)
        self.assertEqual(places(source, "undocumented"),
                         ["public internal(set) var b: Int", "open class func f() {}"])
        self.assertEqual(counts.documentation, 2)

    def test_cases_and_requirements_are_members_of_visible_types(self):
        source = """
          package enum A {
            /// Told.
            case b
            case c(Int), d
            func e() { switch self { case .b: break; default: break } }
          }
          enum Hidden { case f }
          public protocol P {
            func g()
            /// Told.
            var h: Int { get }
          }
        """
        self.assertEqual(counted(source).members, 4)
        self.assertEqual(places(source, "members"), ["case c(Int), d", "func g()"])


class Folders(unittest.TestCase):
    def test_sources_of_a_checkout_are_counted_and_nothing_beside_them(self):
        with tempfile.TemporaryDirectory() as folder:
            checkout = pathlib.Path(folder)
            for name, text in {"Sources/A/a.swift": "let a = 1\nlet b = 2\n",
                               "Tests/b.swift": "let c = 3\n"}.items():
                (checkout / name).parent.mkdir(parents=True)
                (checkout / name).write_text(text)
            self.assertEqual(dict(row[:2] for row in measure.measure(checkout).rows())["lines"], 2)
            self.assertEqual(measure.measure(checkout / "Tests").lines, 1)


if __name__ == "__main__":
    unittest.main()
