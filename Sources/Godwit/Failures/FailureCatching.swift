extension MigrationFailure {
  /// Runs a block whose errors leave the library as `MigrationFailure`.
  static func catching<Result>(
    _ body: () throws -> Result
  ) throws(MigrationFailure) -> Result {
    do {
      return try body()
    } catch {
      throw MigrationFailure(error)
    }
  }

  /// Runs all blocks, also after one that fails; the failures in their order.
  package static func failures(of blocks: [() throws -> Void]) -> [MigrationFailure] {
    blocks.compactMap { block in
      do {
        try block()
        return nil
      } catch {
        return MigrationFailure(error)
      }
    }
  }

  /// Runs a block that calls a closure of the library's user, whose errors leave as they are.
  static func catching<Argument, Answer, Result>(
    around closure: (Argument) throws -> Answer,
    _ body: ((Argument) throws -> Answer) throws -> Result
  ) throws -> Result {
    var own: (any Error)?
    do {
      return try withoutActuallyEscaping(closure) { closure in
        try body { argument in
          do {
            return try closure(argument)
          } catch {
            own = error
            throw error
          }
        }
      }
    } catch {
      throw own ?? MigrationFailure(error)
    }
  }

  /// Waits for a block whose errors leave the library as `MigrationFailure`.
  static func awaiting<Result>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
  ) async throws(MigrationFailure) -> Result {
    do {
      return try await body()
    } catch {
      throw MigrationFailure(error)
    }
  }
}
