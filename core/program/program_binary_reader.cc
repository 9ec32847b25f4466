// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reads the binary form of programs, of which BINARY.md has the layout. Nothing is believed: a count is no more than
// the bytes that are left, before anything is made of it, and what a few bytes refer to is small.

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "program_binary.h"
#include "program_binary_input.h"
#include "program_kernels.h"
#include "tandem/op_attrs.h"

namespace tandem {
namespace {

constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

// "0x000000ff"
struct Hex {
  uint32_t bits;
};
void AppendTo(MessageBuilder& out, Hex hex) {
  out.Append("0x");
  for (int shift = 28; shift >= 0; shift -= 4) out.Append("0123456789abcdef"[hex.bits >> shift & 0xF]);
}

// What the entries of an attribute set refer to until there is a set, which copies it.
class AttrValues {
 public:
  template <typename T>
  std::vector<T>& Add() {
    auto values = std::make_shared<std::vector<T>>();
    kept_.push_back(values);
    return *values;
  }

 private:
  std::vector<std::shared_ptr<const void>> kept_;
};

class ProgramReader {
 public:
  ProgramReader(ProgramInput input, std::string_view file) : input_(input), file_(file) {}

  // What follows the version.
  StatusOr<RcRef<const Program>> Read();

 private:
  Status TakeStrings();
  Status TakeConstants();
  Status TakeFunction(ProgramFunction& function);
  Status TakeInstruction(ProgramFunction& function, ProgramInstruction& instruction);
  Status TakeOperands(const ProgramFunction& function, ProgramInstruction& instruction);
  Status TakeCallees(const ProgramKernelInfo& info, ProgramInstruction& instruction);
  Status TakeTensor(ProgramInstruction& instruction);
  Status TakeResults(const ProgramKernelInfo& info, ProgramFunction& function, ProgramInstruction& instruction);
  Status TakePosition(ProgramPosition* position);
  Status TakeString(std::string_view what, std::string_view* text);
  Status TakeTypes(std::string_view things, size_t most, std::vector<ProgramType>* types);

  // Leaves `attrs` null if there are none. The outermost list is of depth 1.
  Status TakeAttrs(uint32_t depth, RcRef<const FrozenOpAttrs>* attrs);
  Status TakeAttr(uint32_t depth, AttrValues& values, AttrEntry* entry);
  // `take` takes a value of the file; what is stored is of type T.
  template <typename T, typename Take>
  Status TakeValues(AttrValues& values, AttrEntry* entry, Take take);
  Status TakeAttrValues(uint32_t depth, AttrValues& values, AttrEntry* entry);
  template <typename Int>
  Status TakeInteger(std::string_view what, Int* value);
  Status TakeTensorAttr(AttrValues& values, TensorAttr* tensor);

  ProgramInput input_;
  const std::string_view file_;
  std::vector<std::string_view> strings_;
  std::vector<std::shared_ptr<const ProgramConstant>> constants_;
  size_t num_functions_ = 0;
  size_t num_instructions_ = 0;  // of all functions up to here
  uint32_t line_ = 0;            // of the position before
};

StatusOr<RcRef<const Program>> ProgramReader::Read() {
  TANDEM_RETURN_IF_ERROR(TakeStrings());
  TANDEM_RETURN_IF_ERROR(TakeConstants());
  TANDEM_RETURN_IF_ERROR(input_.TakeCount("functions", Program::kMaxFunctions, &num_functions_));
  std::vector<ProgramFunction> functions;
  for (size_t i = 0; i < num_functions_; ++i) {
    TANDEM_RETURN_IF_ERROR(TakeFunction(functions.emplace_back()));
  }
  if (input_.left() != 0) {
    return input_.Expected(input_.position(), "the checksum behind the functions, got ", input_.left(), " more bytes");
  }
  StatusOr<RcRef<const Program>> program = Program::Create(std::move(functions), file_);
  if (program.ok()) return program;
  // It names the file.
  return Status::Error(StatusCode::kDataLoss, program.status().message());
}

Status ProgramReader::TakeStrings() {
  size_t count = 0;
  TANDEM_RETURN_IF_ERROR(input_.TakeCount("strings", kNoLimit, &count));
  for (size_t i = 0; i < count; ++i) {
    const size_t offset = input_.position();
    std::string_view text;
    TANDEM_RETURN_IF_ERROR(input_.TakeText("a string", &text));
    if (text.size() > kMaxSharedString) {
      return input_.Expected(offset, "a string of at most ", kMaxSharedString, " bytes, got ", text.size());
    }
    strings_.push_back(text);
  }
  return Status();
}

Status ProgramReader::TakeConstants() {
  size_t count = 0;
  TANDEM_RETURN_IF_ERROR(input_.TakeCount("constants", kNoLimit, &count));
  for (size_t i = 0; i < count; ++i) {
    auto constant = std::make_shared<ProgramConstant>();
    auto form = ProgramElements::kAll;
    TANDEM_RETURN_IF_ERROR(input_.TakeEnum("a form of elements", 0, kNumProgramElements, &form));
    constant->is_splat = form == ProgramElements::kSplat;
    TensorMetadata& metadata = constant->metadata;
    TANDEM_RETURN_IF_ERROR(input_.TakeMetadata(&metadata));
    const uint64_t elements = constant->is_splat ? 1 : static_cast<uint64_t>(metadata.num_elements());
    if (metadata.dtype != DType::kString) {
      TANDEM_RETURN_IF_ERROR(input_.TakeElements(metadata.dtype, elements, &constant->bytes));
    } else {
      for (uint64_t element = 0; element < elements; ++element) {
        std::string_view text;
        TANDEM_RETURN_IF_ERROR(input_.TakeText("a string", &text));
        constant->strings.emplace_back(text);
      }
    }
    constants_.push_back(std::move(constant));
  }
  return Status();
}

Status ProgramReader::TakeFunction(ProgramFunction& function) {
  std::string_view name;
  TANDEM_RETURN_IF_ERROR(TakeString("the name of a function", &name));
  function.name = name;
  uint8_t has_positions = 0;
  TANDEM_RETURN_IF_ERROR(input_.TakeEnum("flags of a function", 0, kProgramHasPositions + 1, &has_positions));
  line_ = 0;
  if (has_positions != 0) TANDEM_RETURN_IF_ERROR(TakePosition(&function.position));
  TANDEM_RETURN_IF_ERROR(TakeTypes("parameters", Program::kMaxValues, &function.value_types));
  function.num_parameters = static_cast<uint32_t>(function.value_types.size());
  TANDEM_RETURN_IF_ERROR(TakeTypes("results", Program::kMaxOperands, &function.result_types));
  size_t count = 0;
  TANDEM_RETURN_IF_ERROR(input_.TakeCount("instructions", Program::kMaxInstructions - num_instructions_, &count));
  num_instructions_ += count;
  for (size_t i = 0; i < count; ++i) {
    ProgramInstruction& instruction = function.instructions.emplace_back();
    TANDEM_RETURN_IF_ERROR(TakeInstruction(function, instruction));
    if (has_positions != 0) TANDEM_RETURN_IF_ERROR(TakePosition(&instruction.position));
  }
  return Status();
}

Status ProgramReader::TakeInstruction(ProgramFunction& function, ProgramInstruction& instruction) {
  TANDEM_RETURN_IF_ERROR(input_.TakeEnum("a kernel", 0, kNumProgramKernels, &instruction.kernel));
  const ProgramKernelInfo& info = InfoOf(instruction.kernel);
  TANDEM_RETURN_IF_ERROR(TakeOperands(function, instruction));
  TANDEM_RETURN_IF_ERROR(TakeCallees(info, instruction));
  if (!info.name_meaning.empty()) {
    std::string_view name;
    TANDEM_RETURN_IF_ERROR(TakeString(info.name_meaning, &name));
    instruction.name = name;
  }
  if (info.takes_attrs) {
    TANDEM_RETURN_IF_ERROR(TakeAttrs(1, &instruction.attrs));
  }
  if (info.makes_tensor) TANDEM_RETURN_IF_ERROR(TakeTensor(instruction));
  return TakeResults(info, function, instruction);
}

Status ProgramReader::TakeOperands(const ProgramFunction& function, ProgramInstruction& instruction) {
  size_t count = 0;
  TANDEM_RETURN_IF_ERROR(input_.TakeCount("operands", Program::kMaxOperands, &count));
  const size_t num_values = function.value_types.size();
  for (size_t i = 0; i < count; ++i) {
    const size_t offset = input_.position();
    uint64_t distance = 0;
    TANDEM_RETURN_IF_ERROR(input_.TakeNumber("an operand", &distance));
    if (distance == 0 || distance > num_values) {
      return input_.Expected(offset, "one of the ", num_values, " values before, got the one ", distance, " before");
    }
    instruction.operands.push_back(static_cast<uint32_t>(num_values - distance));
  }
  return Status();
}

Status ProgramReader::TakeCallees(const ProgramKernelInfo& info, ProgramInstruction& instruction) {
  for (int i = 0; i < info.num_functions; ++i) {
    size_t index = 0;
    TANDEM_RETURN_IF_ERROR(input_.TakeIndex("the number of a function", num_functions_, &index));
    instruction.functions.push_back(static_cast<uint32_t>(index));
  }
  return Status();
}

Status ProgramReader::TakeTensor(ProgramInstruction& instruction) {
  size_t index = 0;
  TANDEM_RETURN_IF_ERROR(input_.TakeIndex("0 or 1 + the number of a constant", constants_.size() + 1, &index));
  if (index > 0) {
    instruction.constant = constants_[index - 1];
    return Status();
  }
  std::string_view name;
  TANDEM_RETURN_IF_ERROR(TakeString("the name of a weight", &name));
  instruction.name = name;
  return input_.TakeMetadata(&instruction.weight_metadata);
}

Status ProgramReader::TakeResults(const ProgramKernelInfo& info, ProgramFunction& function,
                                  ProgramInstruction& instruction) {
  const size_t offset = input_.position();
  const size_t num_before = function.value_types.size();
  function.value_types.insert(function.value_types.end(), info.results.begin(), info.results.end());
  if (info.gives_tensors || info.gives_function_results) {
    TANDEM_RETURN_IF_ERROR(TakeTypes("results", Program::kMaxOperands, &function.value_types));
  }
  const size_t num_values = function.value_types.size();
  if (num_values > Program::kMaxValues) {
    return input_.Expected(offset, "at most ", Program::kMaxValues, " values of a function, got ", num_values);
  }
  for (size_t i = num_before; i < num_values; ++i) instruction.results.push_back(static_cast<uint32_t>(i));
  return Status();
}

Status ProgramReader::TakePosition(ProgramPosition* position) {
  constexpr uint32_t kMax = std::numeric_limits<uint32_t>::max();
  int64_t lines = 0;
  TANDEM_RETURN_IF_ERROR(input_.TakeSigned("lines to the next", -int64_t{line_}, int64_t{kMax - line_}, &lines));
  const size_t offset = input_.position();
  uint64_t column = 0;
  TANDEM_RETURN_IF_ERROR(input_.TakeNumber("a column", &column));
  if (column > kMax) return input_.Expected(offset, "a column of at most ", kMax, ", got ", column);
  line_ = static_cast<uint32_t>(int64_t{line_} + lines);
  *position = {line_, static_cast<uint32_t>(column)};
  return Status();
}

Status ProgramReader::TakeString(std::string_view what, std::string_view* text) {
  size_t index = 0;
  TANDEM_RETURN_IF_ERROR(input_.TakeIndex("0 or 1 + the number of a string", strings_.size() + 1, &index));
  if (index == 0) return input_.TakeText(what, text);
  *text = strings_[index - 1];
  return Status();
}

Status ProgramReader::TakeTypes(std::string_view things, size_t most, std::vector<ProgramType>* types) {
  size_t count = 0;
  TANDEM_RETURN_IF_ERROR(input_.TakeCount(things, most, &count));
  for (size_t i = 0; i < count; ++i) {
    auto type = ProgramType::kChain;
    TANDEM_RETURN_IF_ERROR(input_.TakeEnum("a type", 0, kNumProgramTypes, &type));
    types->push_back(type);
  }
  return Status();
}

// Calls itself for nested lists, at most kMaxAttrDepth deep.
Status ProgramReader::TakeAttrs(uint32_t depth, RcRef<const FrozenOpAttrs>* attrs) {
  const size_t offset = input_.position();
  size_t count = 0;
  TANDEM_RETURN_IF_ERROR(input_.TakeCount("attributes", kNoLimit, &count));
  if (count == 0) return Status();
  if (depth > kMaxAttrDepth) return input_.Expected(offset, "attributes nested at most ", kMaxAttrDepth, " deep");
  AttrValues values;
  std::vector<AttrEntry> entries;
  for (size_t i = 0; i < count; ++i) {
    const size_t entry_offset = input_.position();
    AttrEntry entry{};
    TANDEM_RETURN_IF_ERROR(TakeAttr(depth, values, &entry));
    if (!entries.empty() && entry.name <= entries.back().name) {
      return input_.Expected(entry_offset, "names of attributes in ascending order, got one not above that before");
    }
    entries.push_back(entry);
  }
  *attrs = FrozenOpAttrs::Create(entries);
  return *attrs ? Status() : Status::OutOfMemory();
}

Status ProgramReader::TakeAttr(uint32_t depth, AttrValues& values, AttrEntry* entry) {
  TANDEM_RETURN_IF_ERROR(TakeString("the name of an attribute", &entry->name));
  const size_t offset = input_.position();
  uint8_t tag = 0;
  TANDEM_RETURN_IF_ERROR(input_.TakeByte("the type of an attribute", &tag));
  const int type = tag & ~kProgramArrayAttr;
  if (type >= kNumAttrTypes) {
    return input_.Expected(offset, "the type of an attribute from 0 to ", kNumAttrTypes - 1, ", got ", type);
  }
  entry->type = static_cast<AttrType>(type);
  entry->is_array = (tag & kProgramArrayAttr) != 0;
  size_t size = 1;
  if (entry->is_array) {
    TANDEM_RETURN_IF_ERROR(input_.TakeCount("elements", std::numeric_limits<uint32_t>::max(), &size));
  }
  entry->size = static_cast<uint32_t>(size);
  return TakeAttrValues(depth, values, entry);
}

// Numbers and bools are taken as their bits, so that no copy of a float changes them.
Status ProgramReader::TakeAttrValues(uint32_t depth, AttrValues& values, AttrEntry* entry) {
  switch (entry->type) {
    case AttrType::kBool:
      return TakeValues<uint8_t>(values, entry, [&](auto* value) { return input_.TakeEnum("a bool", 0, 2, value); });
    case AttrType::kI32:
      return TakeValues<int32_t>(values, entry, [&](auto* value) { return TakeInteger("an i32", value); });
    case AttrType::kI64:
      return TakeValues<int64_t>(values, entry, [&](auto* value) { return TakeInteger("an i64", value); });
    case AttrType::kF32:
      return TakeValues<uint32_t>(values, entry, [&](auto* value) { return input_.TakeFixed("an f32", value); });
    case AttrType::kF64:
      return TakeValues<uint64_t>(values, entry, [&](auto* value) { return input_.TakeFixed("an f64", value); });
    case AttrType::kDType:
      return TakeValues<DType>(values, entry,
                               [&](auto* value) { return input_.TakeEnum("a dtype", 1, kNumDTypes, value); });
    case AttrType::kString:
      return TakeValues<std::string_view>(values, entry, [&](auto* value) { return TakeString("a string", value); });
    case AttrType::kShape:
      return TakeValues<TensorShape>(values, entry, [&](auto* value) { return input_.TakeShape(value); });
    case AttrType::kTensor:
      return TakeValues<TensorAttr>(values, entry, [&](auto* value) { return TakeTensorAttr(values, value); });
    case AttrType::kFunction:
      return TakeValues<FunctionAttr>(values, entry,
                                      [&](auto* value) { return TakeString("the name of a function", &value->name); });
    case AttrType::kAttrs:
      return TakeValues<OpAttrsRef>(values, entry, [&](auto* value) {
        RcRef<const FrozenOpAttrs> attrs;
        TANDEM_RETURN_IF_ERROR(TakeAttrs(depth + 1, &attrs));
        *value = OpAttrsRef(std::move(attrs));
        return Status();
      });
  }
  return Status();
}

template <typename T, typename Take>
Status ProgramReader::TakeValues(AttrValues& values, AttrEntry* entry, Take take) {
  std::vector<T>& taken = values.Add<T>();
  for (uint32_t i = 0; i < entry->size; ++i) {
    T value{};
    TANDEM_RETURN_IF_ERROR(take(&value));
    taken.push_back(std::move(value));
  }
  entry->data = taken.data();
  return Status();
}

template <typename Int>
Status ProgramReader::TakeInteger(std::string_view what, Int* value) {
  using Limits = std::numeric_limits<Int>;
  int64_t number = 0;
  TANDEM_RETURN_IF_ERROR(input_.TakeSigned(what, Limits::min(), Limits::max(), &number));
  *value = static_cast<Int>(number);
  return Status();
}

Status ProgramReader::TakeTensorAttr(AttrValues& values, TensorAttr* tensor) {
  TANDEM_RETURN_IF_ERROR(input_.TakeMetadata(&tensor->metadata));
  const auto count = static_cast<uint64_t>(tensor->metadata.num_elements());
  if (tensor->metadata.dtype != DType::kString) {
    std::vector<std::byte>& elements = values.Add<std::byte>();
    TANDEM_RETURN_IF_ERROR(input_.TakeElements(tensor->metadata.dtype, count, &elements));
    tensor->data = elements.data();
    return Status();
  }
  std::vector<std::string_view>& strings = values.Add<std::string_view>();
  for (uint64_t i = 0; i < count; ++i) {
    TANDEM_RETURN_IF_ERROR(input_.TakeText("an element", &strings.emplace_back()));
  }
  tensor->strings = strings;
  return Status();
}

// What stands before the rest, of which a later version may know more; the rest and the checksum are left.
Status TakeHead(ProgramInput& input) {
  for (const unsigned char expected : kProgramMagic) {
    const size_t offset = input.position();
    uint8_t byte = 0;
    TANDEM_RETURN_IF_ERROR(input.TakeByte("the magic number of a binary program", &byte));
    if (byte == expected) continue;
    return input.Expected(offset, "byte ", expected, " of the magic number of a binary program, got ", byte);
  }
  const size_t offset = input.position();
  uint64_t version = 0;
  TANDEM_RETURN_IF_ERROR(input.TakeNumber("the version of the format", &version));
  if (version == kProgramVersion) return Status();
  const Status error = input.Expected(offset, "version ", kProgramVersion, " of the format, got version ", version,
                                      version > kProgramVersion ? ", written by a later version of Tandem" : "");
  return version > kProgramVersion ? Status::Error(StatusCode::kUnimplemented, error.message()) : error;
}

// The last bytes of `bytes`, which is all of the input, are the checksum of the others.
Status TakeChecksum(ProgramInput& input, std::span<const std::byte> bytes) {
  std::span<const std::byte> stored;
  TANDEM_RETURN_IF_ERROR(input.TakeLast("a checksum", kProgramChecksumSize, &stored));
  const std::span<const std::byte> summed = bytes.first(bytes.size() - kProgramChecksumSize);
  uint32_t given = 0;
  for (size_t i = 0; i < stored.size(); ++i) given |= std::to_integer<uint32_t>(stored[i]) << (8 * i);
  const uint32_t checksum = ProgramChecksum(summed);
  if (given == checksum) return Status();
  return input.Expected(summed.size(), "checksum ", Hex{checksum}, " of the bytes before, got ", Hex{given});
}

}  // namespace

StatusOr<RcRef<const Program>> Program::FromBytes(std::span<const std::byte> bytes, std::string_view file) {
  ProgramInput input(bytes, file);
  TANDEM_RETURN_IF_ERROR(TakeHead(input));
  TANDEM_RETURN_IF_ERROR(TakeChecksum(input, bytes));
  return ProgramReader(input, file).Read();
}

}  // namespace tandem
