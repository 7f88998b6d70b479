package import SystemCalls
import SystemPackage

extension PageError: DisposedError {
  /// How the error affects work that is already done.
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
