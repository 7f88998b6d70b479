import Foundation
import Godwit
import GodwitTool
import TestPolicies

/// The tool with the policies that tests and oracles need.
@main struct PolicyTool {
  static func main() async {
    var policies = MigrationPolicies.ofCorpus
    policies.register("Marking") { MarkingPolicy() }
    let names = ProcessInfo.processInfo.environment["GODWIT_ANSWERING"] ?? ""
    policies.registerLossy()
    policies.registerUnits()
    policies.registerOdd(answering: names.split(separator: ",").map(String.init))
    await GodwitTool.run(policies: policies)
  }
}
