/// Enumerations of the library have the cases of internal ones, whose modules no user has to
/// import. `MirroredCasesTests` names all pairs.
extension RawRepresentable where RawValue == String {
  /// The case of the same name.
  init(mirroring other: some RawRepresentable<String>) {
    guard let same = Self(rawValue: other.rawValue) else {
      preconditionFailure("\(Self.self) has no case \(other.rawValue)")
    }
    self = same
  }
}
