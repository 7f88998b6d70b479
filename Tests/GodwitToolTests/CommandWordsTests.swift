import Testing

@testable import GodwitTool

@Suite struct CommandWordsTests {
  @Test func `a command is cut as a shell cuts it`() {
    for (text, words) in [
      ("srun -N1  -n1\t-c1 ", ["srun", "-N1", "-n1", "-c1"]),
      (#"sh -c 'exec "$@"' sh"#, ["sh", "-c", #"exec "$@""#, "sh"]),
      (#"sh -c "exec \"\$@\"""#, ["sh", "-c", #"exec "$@""#]),
      (#"a\ b 'c\d' """#, ["a b", #"c\d"#, ""]), ("a'b'\"c\"d", ["abcd"]),
      ("ssh Ünode", ["ssh", "Ünode"]),
    ] {
      #expect(CommandWords(argument: text)?.words == words, "\(text)")
    }
  }

  @Test(arguments: ["", " ", "'a", "\"a", "a\\", "'' a"]) func `no command is refused`(text: String)
  {
    #expect(CommandWords(argument: text) == nil)
  }
}
