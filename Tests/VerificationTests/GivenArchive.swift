import Foundation
import ModelFiles
import ObjectModel
import StoreFormat

/// Models as stores keep them.
enum GivenArchive {
  static func deflated(_ model: ManagedObjectModel) throws -> Data {
    Data(try Deflate.deflate(ModelArchive.encode(model).bytes))
  }
}
