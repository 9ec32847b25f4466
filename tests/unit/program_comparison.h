// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The first difference between two programs, field by field.

#ifndef TANDEM_TESTS_UNIT_PROGRAM_COMPARISON_H_
#define TANDEM_TESTS_UNIT_PROGRAM_COMPARISON_H_

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "tandem/op_attrs.h"
#include "tandem/program.h"

namespace tandem {

// What a form of programs does not keep is left out of a comparison.
struct ProgramComparison {
  bool positions = true;
  bool value_names = true;

  // "function 0, instruction 2: operands"; empty if the programs are the same. Values without names are called by
  // their numbers; no attributes are the same as an empty set of them; of one element it is the same to stand for all.
  std::string FirstDifference(const Program& a, const Program& b) const {
    if (a.functions().size() != b.functions().size()) return "number of functions";
    for (size_t i = 0; i < a.functions().size(); ++i) {
      const std::string difference = InFunctions(a.functions()[i], b.functions()[i]);
      if (!difference.empty()) return "function " + std::to_string(i) + difference;
    }
    return {};
  }

 private:
  std::string InFunctions(const ProgramFunction& a, const ProgramFunction& b) const {
    if (a.name != b.name) return ": name";
    if (a.num_parameters != b.num_parameters) return ": num_parameters";
    if (a.value_types != b.value_types) return ": value_types";
    if (a.result_types != b.result_types) return ": result_types";
    if (positions && !IsSame(a.position, b.position)) return ": position";
    for (size_t i = 0; value_names && i < a.value_types.size(); ++i) {
      if (NameOf(a, i) != NameOf(b, i)) return ": name of value " + std::to_string(i);
    }
    if (a.instructions.size() != b.instructions.size()) return ": number of instructions";
    for (size_t i = 0; i < a.instructions.size(); ++i) {
      const std::string difference = InInstructions(a.instructions[i], b.instructions[i]);
      if (!difference.empty()) return ", instruction " + std::to_string(i) + ": " + difference;
    }
    return {};
  }

  std::string InInstructions(const ProgramInstruction& a, const ProgramInstruction& b) const {
    if (a.kernel != b.kernel) return "kernel";
    if (a.operands != b.operands) return "operands";
    if (a.results != b.results) return "results";
    if (a.functions != b.functions) return "functions";
    if (a.name != b.name) return "name";
    if (!(a.weight_metadata == b.weight_metadata)) return "weight_metadata";
    if (positions && !IsSame(a.position, b.position)) return "position";
    if ((a.constant == nullptr) != (b.constant == nullptr)) return "constant";
    if (a.constant != nullptr) {
      const std::string difference = InConstants(*a.constant, *b.constant);
      if (!difference.empty()) return "constant: " + difference;
    }
    return InAttrs(OpAttrsRef(a.attrs), OpAttrsRef(b.attrs));
  }

  static std::string InConstants(const ProgramConstant& a, const ProgramConstant& b) {
    if (!(a.metadata == b.metadata)) return "metadata";
    if (a.is_splat != b.is_splat && a.metadata.num_elements() != 1) return "is_splat";
    if (a.bytes != b.bytes) return "bytes";
    return a.strings == b.strings ? "" : "strings";
  }

  static std::string InAttrs(const OpAttrsRef& a, const OpAttrsRef& b) {
    if (a.entries().size() != b.entries().size()) return "number of attributes";
    for (size_t i = 0; i < a.entries().size(); ++i) {
      const AttrEntry& entry = a.entries()[i];
      const std::string difference = InAttr(entry, b.entries()[i]);
      if (!difference.empty()) return "attribute " + std::string(entry.name) + ": " + difference;
    }
    return {};
  }

  static std::string InAttr(const AttrEntry& a, const AttrEntry& b) {
    if (a.name != b.name) return "name";
    if (a.type != b.type) return "type";
    if (a.is_array != b.is_array || a.size != b.size) return "size";
    for (uint32_t i = 0; i < a.size; ++i) {
      const std::string difference = InValue(a, b, i);
      if (!difference.empty()) return "value " + std::to_string(i) + ": " + difference;
    }
    return {};
  }

  template <typename T>
  static const T& Value(const AttrEntry& entry, uint32_t i) {
    return static_cast<const T*>(entry.data)[i];
  }
  template <size_t size>
  static std::string InBytes(const AttrEntry& a, const AttrEntry& b, uint32_t i) {
    const size_t offset = i * size;
    const auto at = [offset](const AttrEntry& entry) { return static_cast<const char*>(entry.data) + offset; };
    return std::memcmp(at(a), at(b), size) == 0 ? "" : "bits";
  }
  static std::string InValue(const AttrEntry& a, const AttrEntry& b, uint32_t i) {
    switch (a.type) {
      case AttrType::kBool:
      case AttrType::kDType:
        return InBytes<1>(a, b, i);
      case AttrType::kI32:
      case AttrType::kF32:
        return InBytes<4>(a, b, i);
      case AttrType::kI64:
      case AttrType::kF64:
        return InBytes<8>(a, b, i);
      case AttrType::kString:
        return Value<std::string_view>(a, i) == Value<std::string_view>(b, i) ? "" : "text";
      case AttrType::kFunction:
        return Value<FunctionAttr>(a, i).name == Value<FunctionAttr>(b, i).name ? "" : "function";
      case AttrType::kShape:
        return Value<TensorShape>(a, i) == Value<TensorShape>(b, i) ? "" : "shape";
      case AttrType::kTensor:
        return InTensors(Value<TensorAttr>(a, i), Value<TensorAttr>(b, i));
      case AttrType::kAttrs:
        return InAttrs(Value<OpAttrsRef>(a, i), Value<OpAttrsRef>(b, i));
    }
    return "no type";
  }

  static std::string InTensors(const TensorAttr& a, const TensorAttr& b) {
    if (!(a.metadata == b.metadata)) return "metadata";
    const size_t size = a.metadata.byte_size();
    if (size != 0 && std::memcmp(a.data, b.data, size) != 0) return "elements";
    return std::equal(a.strings.begin(), a.strings.end(), b.strings.begin(), b.strings.end()) ? "" : "strings";
  }

  static bool IsSame(const ProgramPosition& a, const ProgramPosition& b) {
    return a.line == b.line && a.column == b.column;
  }
  static std::string NameOf(const ProgramFunction& function, size_t value) {
    return function.value_names.empty() ? std::to_string(value) : function.value_names[value];
  }
};

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_PROGRAM_COMPARISON_H_
