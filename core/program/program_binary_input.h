// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The bytes of a binary program, read one thing after the other.

#ifndef TANDEM_CORE_PROGRAM_PROGRAM_BINARY_INPUT_H_
#define TANDEM_CORE_PROGRAM_PROGRAM_BINARY_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tandem/dtype.h"
#include "tandem/status.h"
#include "tandem/tensor_metadata.h"

namespace tandem {

// Takes what is next from the front, which has to be there and what the caller expects, or the error says at which byte
// it is not; `what` and `things` are words for that. Views are of the given bytes, which must outlive them.
class ProgramInput {
 public:
  ProgramInput(std::span<const std::byte> bytes, std::string_view file) : bytes_(bytes), file_(file) {}

  size_t position() const { return position_; }
  size_t left() const { return bytes_.size() - position_; }

  // "FILE: byte OFFSET: expected ..."
  template <typename... Parts>
  Status Expected(size_t offset, const Parts&... parts) const {
    return MakeError(StatusCode::kDataLoss, file_, ": byte ", offset, ": expected ", parts...);
  }

  Status TakeByte(std::string_view what, uint8_t* byte);
  Status TakeBytes(std::string_view what, uint64_t size, std::span<const std::byte>* bytes);
  // The last bytes of what is left, which then ends before them.
  Status TakeLast(std::string_view what, size_t size, std::span<const std::byte>* bytes);
  // A length and as many bytes, of any kind.
  Status TakeText(std::string_view what, std::string_view* text);
  Status TakeNumber(std::string_view what, uint64_t* number);
  // At least `min` and at most `max`.
  Status TakeSigned(std::string_view what, int64_t min, int64_t max, int64_t* number);
  // The number of things of at least one byte each, at most `most`.
  Status TakeCount(std::string_view things, size_t most, size_t* count);
  // Below `count`.
  Status TakeIndex(std::string_view what, size_t count, size_t* index);
  // A byte of at least `first` and below `count`.
  template <typename Enum>
  Status TakeEnum(std::string_view what, int first, int count, Enum* value) {
    const size_t offset = position_;
    uint8_t byte = 0;
    TANDEM_RETURN_IF_ERROR(TakeByte(what, &byte));
    if (byte < first || byte >= count) {
      return Expected(offset, what, " from ", first, " to ", count - 1, ", got ", byte);
    }
    *value = static_cast<Enum>(byte);
    return Status();
  }
  // As many bytes as Bits, which has no sign, takes; little-endian.
  template <typename Bits>
  Status TakeFixed(std::string_view what, Bits* bits) {
    std::span<const std::byte> bytes;
    TANDEM_RETURN_IF_ERROR(TakeBytes(what, sizeof(Bits), &bytes));
    *bits = 0;
    for (size_t i = 0; i < sizeof(Bits); ++i) *bits |= std::to_integer<Bits>(bytes[i]) << (8 * i);
    return Status();
  }
  // Of any dimensions; of metadata they are valid.
  Status TakeShape(TensorShape* shape);
  Status TakeMetadata(TensorMetadata* metadata);
  // `count` elements of a fixed-size dtype, as the host has them.
  Status TakeElements(DType dtype, uint64_t count, std::vector<std::byte>* elements);

 private:
  std::span<const std::byte> bytes_;
  std::string_view file_;
  size_t position_ = 0;
};

}  // namespace tandem

#endif  // TANDEM_CORE_PROGRAM_PROGRAM_BINARY_INPUT_H_
