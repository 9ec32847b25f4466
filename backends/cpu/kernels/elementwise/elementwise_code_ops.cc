// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Which ops have instructions, and which.

#include "kernels/elementwise/elementwise_code_ops.h"

#include <algorithm>
#include <array>

#include "kernels/elementwise/elementwise_code_parser.h"
#include "tandem/element_expressions.h"
#include "tandem/op_selection.h"

namespace tandem::cpu {

namespace {

using element_code::Code;
using element_code::Constants;
using element_code::Parser;
using element_code::Type;

struct DTypeOfCode {
  DType dtype;
  Type type;
};
// Of bool expressions are of u32.
constexpr DTypeOfCode kDTypes[] = {
    {DType::kF32, Type::kF32}, {DType::kI32, Type::kI32}, {DType::kU32, Type::kU32}, {DType::kBool, Type::kU32}};

struct Entry {
  const char* op = nullptr;
  DType dtype = DType::kInvalid;
  uint8_t size = 0;
  uint16_t first = 0;
};

// All of them, with more room than there is need for.
struct Codes {
  std::array<Entry, 256> entries = {};
  size_t num_entries = 0;
  std::array<uint8_t, 4096> instructions = {};
  size_t num_instructions = 0;
  Constants constants;

  constexpr void Add(const ElementExpression& expression, DTypeOfCode of) {
    // Gradients have kernels of their own, which are no steps of groups.
    if (expression.flag != nullptr || std::string_view(expression.op).ends_with("Grad")) return;
    Constants with_its_own = constants;
    const Code code = Parser(expression.text, of.type, with_its_own).Parse();
    if (!code.is_valid) return;
    constants = with_its_own;
    entries[num_entries++] = {expression.op, of.dtype, static_cast<uint8_t>(code.size),
                              static_cast<uint16_t>(num_instructions)};
    for (size_t i = 0; i < code.size; ++i) instructions[num_instructions++] = code.instructions[i];
  }
};

constexpr Codes MakeCodes() {
  Codes codes;
  for (const ElementExpression& expression : ElementExpressions()) {
    if (!IsInBuild(expression.op)) continue;
    for (const DTypeOfCode& of : kDTypes) {
      if (expression.dtypes.Contains(of.dtype)) codes.Add(expression, of);
    }
  }
  return codes;
}
constexpr Codes kCodes = MakeCodes();

// Without what is empty.
template <size_t kSize, typename T, size_t kRoom>
constexpr std::array<T, kSize> FirstOf(const std::array<T, kRoom>& all) {
  std::array<T, kSize> first = {};
  std::copy_n(all.begin(), kSize, first.begin());
  return first;
}
constexpr auto kEntries = FirstOf<kCodes.num_entries>(kCodes.entries);
constexpr auto kInstructions = FirstOf<kCodes.num_instructions>(kCodes.instructions);
constexpr auto kConstants = FirstOf<kCodes.constants.size>(kCodes.constants.bits);

constexpr uint8_t kFromSigned[] = {element_code::kFirstOperand, element_code::kF32FromI32};
constexpr uint8_t kFromUnsigned[] = {element_code::kFirstOperand, element_code::kF32FromU32};
constexpr uint8_t kSame[] = {element_code::kFirstOperand};

bool IsInteger(DType dtype) { return dtype == DType::kI32 || dtype == DType::kU32; }

}  // namespace

ElementCode FindElementCode(std::string_view op, DType dtype) {
  if (dtype == DType::kInvalid) dtype = DType::kBool;
  const auto* const found = std::ranges::find_if(
      kEntries, [&](const Entry& entry) { return entry.dtype == dtype && std::string_view(entry.op) == op; });
  if (found == kEntries.end()) return {};
  return std::span(kInstructions).subspan(found->first, found->size);
}

ElementCode FindCastCode(DType from, DType to) {
  if (from == to || (IsInteger(to) && (IsInteger(from) || from == DType::kBool))) return kSame;
  if (to != DType::kF32) return {};
  if (from == DType::kI32) return kFromSigned;
  return from == DType::kU32 || from == DType::kBool ? ElementCode(kFromUnsigned) : ElementCode();
}

uint32_t ElementConstant(uint8_t instruction) { return kConstants[instruction - element_code::kFirstConstant]; }

}  // namespace tandem::cpu
