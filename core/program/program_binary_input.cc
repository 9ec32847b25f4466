// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Numbers, text, shapes and elements of a binary program, each checked before anything is made of it.

#include "program_binary_input.h"

#include <algorithm>
#include <utility>

#include "program_binary.h"

namespace tandem {

Status ProgramInput::TakeByte(std::string_view what, uint8_t* byte) {
  if (left() == 0) return Expected(position_, what, ", got the end");
  *byte = std::to_integer<uint8_t>(bytes_[position_++]);
  return Status();
}

Status ProgramInput::TakeBytes(std::string_view what, uint64_t size, std::span<const std::byte>* bytes) {
  if (size > left()) return Expected(position_, what, " of ", size, " bytes, got the end after ", left());
  *bytes = bytes_.subspan(position_, static_cast<size_t>(size));
  position_ += bytes->size();
  return Status();
}

Status ProgramInput::TakeLast(std::string_view what, size_t size, std::span<const std::byte>* bytes) {
  if (size > left()) return Expected(position_, what, " of ", size, " bytes, got the end after ", left());
  *bytes = bytes_.last(size);
  bytes_ = bytes_.first(bytes_.size() - size);
  return Status();
}

Status ProgramInput::TakeText(std::string_view what, std::string_view* text) {
  uint64_t size = 0;
  TANDEM_RETURN_IF_ERROR(TakeNumber(what, &size));
  std::span<const std::byte> bytes;
  TANDEM_RETURN_IF_ERROR(TakeBytes(what, size, &bytes));
  *text = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  return Status();
}

Status ProgramInput::TakeNumber(std::string_view what, uint64_t* number) {
  const size_t offset = position_;
  *number = 0;
  for (int shift = 0;; shift += 7) {
    uint8_t byte = 0;
    TANDEM_RETURN_IF_ERROR(TakeByte(what, &byte));
    const uint64_t bits = byte & 0x7Fu;
    if (shift == 63 && byte > 1) return Expected(offset, "a number of at most 64 bits, got more");
    *number |= bits << shift;
    if ((byte & 0x80u) != 0) continue;
    if (byte == 0 && shift != 0) return Expected(offset, "a number in as few bytes as it takes, got more");
    return Status();
  }
}

Status ProgramInput::TakeSigned(std::string_view what, int64_t min, int64_t max, int64_t* number) {
  const size_t offset = position_;
  uint64_t bits = 0;
  TANDEM_RETURN_IF_ERROR(TakeNumber(what, &bits));
  *number = static_cast<int64_t>((bits >> 1) ^ ((bits & 1) != 0 ? ~uint64_t{0} : 0));
  if (*number >= min && *number <= max) return Status();
  return Expected(offset, what, " from ", min, " to ", max, ", got ", *number);
}

Status ProgramInput::TakeCount(std::string_view things, size_t most, size_t* count) {
  const size_t offset = position_;
  uint64_t number = 0;
  TANDEM_RETURN_IF_ERROR(TakeNumber(things, &number));
  if (number > left()) {
    return Expected(offset, "no more ", things, " than the ", left(), " bytes behind can hold, got ", number);
  }
  if (number > most) return Expected(offset, "at most ", most, " ", things, ", got ", number);
  *count = static_cast<size_t>(number);
  return Status();
}

Status ProgramInput::TakeIndex(std::string_view what, size_t count, size_t* index) {
  const size_t offset = position_;
  uint64_t number = 0;
  TANDEM_RETURN_IF_ERROR(TakeNumber(what, &number));
  if (number >= count) return Expected(offset, what, " below ", count, ", got ", number);
  *index = static_cast<size_t>(number);
  return Status();
}

Status ProgramInput::TakeShape(TensorShape* shape) {
  size_t rank = 0;
  TANDEM_RETURN_IF_ERROR(TakeCount("dimensions", TensorShape::kMaxRank, &rank));
  *shape = TensorShape();
  for (size_t i = 0; i < rank; ++i) {
    int64_t dim = 0;
    TANDEM_RETURN_IF_ERROR(TakeSigned("a dimension", INT64_MIN, INT64_MAX, &dim));
    shape->Append(dim);
  }
  return Status();
}

Status ProgramInput::TakeMetadata(TensorMetadata* metadata) {
  TANDEM_RETURN_IF_ERROR(TakeEnum("a dtype", 1, kNumDTypes, &metadata->dtype));
  const size_t offset = position_;
  TANDEM_RETURN_IF_ERROR(TakeShape(&metadata->shape));
  if (metadata->IsValid()) return Status();
  return Expected(offset, "the shape of a tensor that can be addressed, got ", *metadata);
}

Status ProgramInput::TakeElements(DType dtype, uint64_t count, std::vector<std::byte>* elements) {
  const size_t offset = position_;
  const size_t size = DTypeSize(dtype);
  if (count > left() / size) {
    return Expected(offset, count, " elements of ", dtype, ", got ", left(), " bytes");
  }
  std::span<const std::byte> bytes;
  TANDEM_RETURN_IF_ERROR(TakeBytes("elements", count * size, &bytes));
  elements->resize(bytes.size());
  CopyLittleEndian(dtype, bytes, elements->data());
  if (dtype != DType::kBool) return Status();
  const auto other = std::find_if(bytes.begin(), bytes.end(), [](std::byte byte) { return byte > std::byte{1}; });
  if (other == bytes.end()) return Status();
  return Expected(offset + static_cast<size_t>(other - bytes.begin()), "a bool of 0 or 1, got ",
                  std::to_integer<int>(*other));
}

}  // namespace tandem
