// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Inference of the dtypes of plain values.

#include "tandem/argument_dtypes.h"

#include <algorithm>

namespace tandem {

namespace {

// The definition's input of each argument. Sequences share what the other inputs leave over.
class Inputs {
 public:
  Inputs(const OpDef& def, size_t num_args) : def_(def) {
    const size_t num_sequences = static_cast<size_t>(std::ranges::count_if(def.inputs, &ArgDef::IsVariadic));
    const size_t num_others = def.inputs.size() - num_sequences;
    if (num_sequences > 0) sequence_ = (num_args - std::min(num_args, num_others)) / num_sequences;
  }

  // Null beyond the last.
  const ArgDef* At(size_t position) const {
    size_t end = 0;
    for (const ArgDef& input : def_.inputs) {
      end += input.IsVariadic() ? sequence_ : 1;
      if (position < end) return &input;
    }
    return nullptr;
  }

 private:
  const OpDef& def_;
  size_t sequence_ = 0;
};

// Whether values that would be `natural` by themselves can be expected to fit `dtype`; each is still checked.
bool Suits(DType natural, DType dtype) {
  switch (natural) {
    case DType::kBool:
      return dtype == DType::kBool || kNumericDTypes.Contains(dtype);
    case DType::kI32:
      return kNumericDTypes.Contains(dtype);
    case DType::kI64:
      return dtype == DType::kI64 || kFloatDTypes.Contains(dtype) || dtype == DType::kC64;
    case DType::kU64:
      return dtype == DType::kU64 || kFloatDTypes.Contains(dtype) || dtype == DType::kC64;
    default:
      return kFloatDTypes.Contains(dtype) || dtype == DType::kC64;
  }
}

DType FirstAllowed(DTypeSet allowed, DType natural) {
  if (allowed.Contains(natural)) return natural;
  for (const DType dtype : {DType::kI32, DType::kI64, DType::kF32, DType::kF64}) {
    if (allowed.Contains(dtype) && Suits(natural, dtype)) return dtype;
  }
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    if (allowed.Contains(dtype) && Suits(natural, dtype)) return dtype;
  }
  return natural;  // the op's own check says what is wrong
}

// The order in which numbers of several kinds become one.
int Width(DType natural) {
  constexpr DType kOrder[] = {DType::kBool, DType::kI32, DType::kI64, DType::kU64, DType::kF32};
  return static_cast<int>(std::ranges::find(kOrder, natural) - std::begin(kOrder));
}

}  // namespace

ArgumentDType InferArgumentDType(const OpDef& def, const OpAttrsRef& attrs, std::span<const GivenArgument> given,
                                 size_t position) {
  const Inputs inputs(def, given.size());
  ArgumentDType result;
  DType natural = given[position].dtype;
  const ArgDef* const input = inputs.At(position);
  if (input == nullptr) return {natural, 0, "argument"};  // one too many
  result.name = input->name;
  result.dtype = input->dtype;
  if (result.dtype != DType::kInvalid) return result;
  if (input->type_attr < 0) {  // each tensor of a list has a dtype of its own
    result.dtype = natural;
    return result;
  }
  const AttrDef& type = def.attrs[static_cast<size_t>(input->type_attr)];
  if (attrs.Get(type.name, &result.dtype)) return result;
  bool is_pending = false;
  for (size_t i = 0; i < given.size(); ++i) {
    const ArgDef* const other = inputs.At(i);
    if (other == nullptr || other->type_attr != input->type_attr) continue;
    if (given[i].kind == GivenArgument::Kind::kPending && !is_pending) {
      is_pending = true;
      result.like = i;
    } else if (given[i].kind == GivenArgument::Kind::kTensor && given[i].dtype != DType::kInvalid) {
      result.dtype = given[i].dtype;
      return result;
    } else if (given[i].kind == GivenArgument::Kind::kValue && Width(given[i].dtype) > Width(natural)) {
      natural = given[i].dtype;
    }
  }
  if (is_pending) return result;
  DType usual = DType::kInvalid;
  if (type.has_default && def.defaults) internal::GetAttr(def.defaults->Find(type.name), &usual);
  result.dtype = usual != DType::kInvalid && Suits(natural, usual) ? usual : FirstAllowed(type.allowed_dtypes, natural);
  return result;
}

}  // namespace tandem
