package import SystemCalls
import SystemPackage

extension PageError: DisposedError {
  /// What the error means for the work done before it.
  package var disposition: ErrorDisposition {
    switch problem {
    case .read(let code), .write(let code): Errno(rawValue: code).disposition
    case .damaged, .endOfFile, .keysOutOfOrder, .duplicateKeys, .indexDiffers: .damage
    case .miswritten: .device
    case .fileFull, .valueTooLong: .refusal
    case .keyUnsupported, .unmovable: .fault
    }
  }
}
