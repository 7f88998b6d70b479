import Foundation
import GRDB
import Godwit
import Mapping
import ObjectMigration
import StoreFormat
import SystemCalls
import TestPolicies
import TestSupport
import Testing

@Suite(
  .scratchFolder,
  .enabled(
    if: ProcessInfo.processInfo.environment["GODWIT_LARGE"] != nil,
    "large stores take long: set GODWIT_LARGE to a number of objects"))
struct LargeStoreTests {
  @Test func `memory stays bounded however many objects a policy sees`() throws {
    let wanted = ProcessInfo.processInfo.environment["GODWIT_LARGE"].flatMap { Int($0) } ?? 100_000
    let store = try Herds.make(
      Herds.together(),
      [
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(wanted))
        INSERT INTO ZOBJECT (Z_PK, Z_ENT, Z_OPT, ZNAME, ZAGE, ZKIND)
        SELECT i, 2, 1, 'creature ' || i, i % 90, iif(i % 3 = 0, 'human', 'animal') FROM n
        """
      ], maxima: ["Object": Int64(wanted)])
    var mapping = try Herds.split()
    for index in [1, 2] {
      mapping.entityMappings[index].migrationPolicyClassName = "Gathering"
      mapping.entityMappings[index].relationshipMappings.removeAll { $0.name == "herd" }
    }
    var migration = CorpusMigration()
    migration.policies.register("Gathering") { GatheringPolicy() }
    let clock = ContinuousClock()
    let start = clock.now
    let (result, report) = try migration.step(
      store, from: Herds.together(), to: Herds.apart(), by: [mapping])
    let time = clock.now - start
    #expect(report.objectsRead == Int64(wanted))
    #expect(try Query(result).number("SELECT count(*) FROM ZANIMAL") == Int64(wanted - wanted / 3))
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let peak = status.split(separator: "\n").first { $0.hasPrefix("VmHWM") }
    let kilobytes = peak.flatMap { Int($0.filter(\.isNumber)) } ?? .max
    #expect(kilobytes < 256 << 10, "\(kilobytes) KB in \(time)")
  }
}
