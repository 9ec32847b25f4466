// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Matching of calls to definitions. The simple form, without sequences, is on the path of every small op.

#include "op_signature.h"

#include <algorithm>

namespace tandem {

namespace {

AttrType StoredType(AttrKind kind) {
  switch (kind) {
    case AttrKind::kType: return AttrType::kDType;
    case AttrKind::kInt: return AttrType::kI64;
    case AttrKind::kFloat: return AttrType::kF32;
    case AttrKind::kBool: return AttrType::kBool;
    case AttrKind::kString: return AttrType::kString;
    case AttrKind::kShape: return AttrType::kShape;
    case AttrKind::kTensor: return AttrType::kTensor;
    case AttrKind::kFunction: return AttrType::kFunction;
    case AttrKind::kAny: break;
  }
  return AttrType::kAttrs;
}

// The dtypes of a list(type) attribute of this call.
std::span<const DType> TypeList(const AttrDef& attr, const OpAttrsRef& attrs) {
  std::span<const DType> dtypes;
  attrs.GetArray(attr.name, &dtypes);
  return dtypes;
}

}  // namespace

void AppendExpectedType(MessageBuilder& out, const AttrDef& attr) {
  if (attr.is_list) out.Append("list(");
  out.Append(attr.kind == AttrKind::kAny ? "any" : AttrTypeName(StoredType(attr.kind)));
  if (attr.is_list) out.Append(")");
}

OpSignature::OpSignature(const OpDef& def) : def_(def) {
  for (const ArgDef& input : def.inputs) {
    if (input.IsVariadic()) {
      ++num_variadic_inputs_;
    } else {
      ++num_fixed_inputs_;
    }
  }
  variadic_inputs_ = num_variadic_inputs_ > 0;
  variadic_outputs_ = def.HasVariadicOutputs();
  for (const AttrDef& attr : def.attrs) has_required_attrs_ |= !attr.inferred && !attr.has_default;
  simple_ = !variadic_inputs_ && !variadic_outputs_;
}

Status OpSignature::WrongCount(std::string_view what, size_t expected, size_t given) const {
  return InvalidArgument("expected ", expected, " ", what, expected == 1 ? "" : "s", ", got ", given);
}

Status OpSignature::CheckArgumentCountSlow(size_t num_args) const {
  if (!variadic_inputs_) return WrongCount("argument", num_fixed_inputs_, num_args);
  if (num_args < num_fixed_inputs_) {
    return InvalidArgument("expected at least ", num_fixed_inputs_, " arguments, got ", num_args);
  }
  return Status();
}

const ArgDef& OpSignature::InputAt(size_t position, size_t num_args) const {
  // Sequences that leave their length to the call share what the fixed inputs leave over.
  const size_t sequence =
      num_variadic_inputs_ == 0 ? 0 : (num_args - std::min(num_args, num_fixed_inputs_)) / num_variadic_inputs_;
  size_t end = 0;
  for (const ArgDef& input : def_.inputs) {
    end += input.IsVariadic() ? sequence : 1;
    if (position < end) return input;
  }
  return def_.inputs.back();
}

std::string_view OpSignature::InputName(size_t position, size_t num_args) const {
  return def_.inputs.empty() ? std::string_view() : InputAt(position, num_args).name;
}

StatusOr<DType> OpSignature::Bind(std::span<const TensorMetadata* const> args, const OpAttrsRef& attrs,
                                  std::span<TensorMetadata> results) const {
  if (simple_ && !has_required_attrs_ && attrs.empty()) [[likely]] return BindSimple(args, attrs, results);
  return BindGeneral(args, attrs, results);
}

StatusOr<DType> OpSignature::BindSimple(std::span<const TensorMetadata* const> args, const OpAttrsRef& attrs,
                                        std::span<TensorMetadata> results) const {
  Bindings bindings;
  for (size_t i = 0; i < def_.attrs.size(); ++i) bindings.types[i] = DType::kInvalid;
  for (size_t i = 0; i < args.size(); ++i) {
    const ArgDef& input = def_.inputs[i];
    const DType given = args[i]->dtype;
    if (input.type_attr >= 0) {
      DType& bound = bindings.types[input.type_attr];
      if (bound == given) continue;
      if (bound == DType::kInvalid && def_.attrs[input.type_attr].allowed_dtypes.Contains(given)) {
        bound = given;
        continue;
      }
      return BindGeneral(args, attrs, results);  // which says what is wrong
    }
    if (input.dtype != given) return BindGeneral(args, attrs, results);
  }
  if (results.size() != def_.outputs.size()) return WrongCount("result", def_.outputs.size(), results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const ArgDef& output = def_.outputs[i];
    results[i].dtype = output.type_attr >= 0 ? bindings.types[output.type_attr] : output.dtype;
    // A type that does not follow from the inputs comes from the definition's default.
    if (results[i].dtype == DType::kInvalid && !output.any_dtype) return BindGeneral(args, attrs, results);
  }
  if (def_.kernel_type_attr < 0) return DType::kInvalid;
  const DType dtype = bindings.types[def_.kernel_type_attr];
  return dtype != DType::kInvalid ? StatusOr<DType>(dtype) : BindGeneral(args, attrs, results);
}

StatusOr<DType> OpSignature::BindGeneral(std::span<const TensorMetadata* const> args, const OpAttrsRef& attrs,
                                         std::span<TensorMetadata> results) const {
  Bindings bindings;
  for (int i = 0; i < OpDef::kMaxAttrs; ++i) {
    bindings.types[i] = DType::kInvalid;
    bindings.numbers[i] = -1;
  }
  TANDEM_RETURN_IF_ERROR(CheckAttrValues(attrs));
  TANDEM_RETURN_IF_ERROR(BindInputs(args, attrs, bindings));
  TANDEM_RETURN_IF_ERROR(BindAttrs(attrs, bindings));
  TANDEM_RETURN_IF_ERROR(BindOutputs(attrs, bindings, results));
  return def_.kernel_type_attr < 0 ? DType::kInvalid : bindings.types[def_.kernel_type_attr];
}

StatusOr<size_t> OpSignature::SequenceLength(const ArgDef& input, size_t num_args, const OpAttrsRef& attrs) const {
  int64_t explicit_length = -1;
  if (input.number_attr >= 0) {
    attrs.Get(def_.attrs[input.number_attr].name, &explicit_length);
  } else if (const AttrEntry* entry = attrs.Find(def_.attrs[input.type_list_attr].name)) {
    explicit_length = entry->size;
  }
  if (explicit_length >= 0) return static_cast<size_t>(explicit_length);
  const size_t left = num_args - num_fixed_inputs_;
  if (left % num_variadic_inputs_ != 0) {
    return InvalidArgument("expected ", num_variadic_inputs_, " sequences of equal length, got ", left,
                           " arguments for them");
  }
  return left / num_variadic_inputs_;
}

Status OpSignature::BindInputs(std::span<const TensorMetadata* const> args, const OpAttrsRef& attrs,
                               Bindings& bindings) const {
  size_t position = 0;
  for (const ArgDef& input : def_.inputs) {
    size_t count = 1;
    std::span<const DType> list;
    if (input.IsVariadic()) {
      TANDEM_ASSIGN_OR_RETURN(count, SequenceLength(input, args.size(), attrs));
      if (count > args.size() - position) {
        return InvalidArgument("expected ", count, " arguments for ", input.name, ", got ", args.size() - position);
      }
      const int number = input.number_attr >= 0 ? input.number_attr : input.type_list_attr;
      const AttrDef& length_attr = def_.attrs[number];
      if (length_attr.has_minimum && static_cast<int64_t>(count) < length_attr.minimum) {
        return InvalidArgument("expected at least ", length_attr.minimum, " arguments for ", input.name, ", got ",
                               count);
      }
      bindings.numbers[number] = static_cast<int64_t>(count);
      if (input.type_list_attr >= 0) list = TypeList(length_attr, attrs);
    }
    for (size_t i = 0; i < count; ++i, ++position) {
      const TensorMetadata& given = *args[position];
      if (input.type_attr >= 0) {
        TANDEM_RETURN_IF_ERROR(BindType(input.type_attr, position, input, given, args, bindings));
      } else if (input.type_list_attr >= 0) {
        const DTypeSet allowed = def_.attrs[input.type_list_attr].allowed_dtypes;
        if (!allowed.Contains(given.dtype) || (!list.empty() && list[i] != given.dtype)) {
          MessageBuilder expected;
          list.empty() ? expected.Append("one of ", allowed) : expected.Append(list[i]);
          return InvalidArgument("argument ", position, " (", input.name, ") must be ", expected.view(), ", got ",
                                 given);
        }
      } else if (input.dtype != given.dtype) {
        return InvalidArgument("argument ", position, " (", input.name, ") must be ", input.dtype, ", got ", given);
      }
    }
  }
  if (position != args.size()) return WrongCount("argument", position, args.size());
  return Status();
}

Status OpSignature::BindType(int attr, size_t position, const ArgDef& input, const TensorMetadata& given,
                             std::span<const TensorMetadata* const> args, Bindings& bindings) const {
  const AttrDef& type = def_.attrs[attr];
  DType& bound = bindings.types[attr];
  if (!type.allowed_dtypes.Contains(given.dtype)) {
    return InvalidArgument("argument ", position, " (", input.name, ") must be one of ", type.allowed_dtypes,
                           ", got ", given);
  }
  if (bound == DType::kInvalid) {
    bound = given.dtype;
    return Status();
  }
  if (bound == given.dtype) return Status();
  for (size_t first = 0; first < position; ++first) {
    const ArgDef& earlier = InputAt(first, args.size());
    if (earlier.type_attr != attr) continue;
    return InvalidArgument("argument ", position, " (", input.name, ") must be ", bound, " like argument ", first,
                           " (", earlier.name, "), got ", given);
  }
  return Internal("type ", type.name, " is bound to no argument");
}

Status OpSignature::BindAttrs(const OpAttrsRef& attrs, Bindings& bindings) const {
  for (size_t i = 0; i < def_.attrs.size(); ++i) {
    const AttrDef& attr = def_.attrs[i];
    const AttrEntry* entry = attrs.Find(attr.name);
    if (entry == nullptr) {
      if (!attr.inferred) return InvalidArgument("attribute ", attr.name, " is required, expected ", attr.spec);
      continue;
    }
    if (attr.kind == AttrKind::kType && !attr.is_list) {
      DType value = DType::kInvalid;
      attrs.Get(attr.name, &value);
      // What follows from the inputs wins over a default, but must agree with what the call says.
      const bool from_inputs = bindings.types[i] != DType::kInvalid;
      const bool from_call = std::ranges::any_of(attrs.entries(), [&](const AttrEntry& e) { return &e == entry; });
      if (from_inputs && from_call && bindings.types[i] != value) {
        return InvalidArgument("attribute ", attr.name, " must be ", bindings.types[i], " like the arguments, got ",
                               value);
      }
      if (!from_inputs) bindings.types[i] = value;
    } else if (attr.kind == AttrKind::kInt && !attr.is_list && bindings.numbers[i] < 0) {
      attrs.Get(attr.name, &bindings.numbers[i]);
    }
  }
  return Status();
}

Status OpSignature::BindOutputs(const OpAttrsRef& attrs, const Bindings& bindings,
                                std::span<TensorMetadata> results) const {
  size_t expected = 0;
  const auto length = [&](const ArgDef& output) -> size_t {
    if (output.number_attr >= 0) return static_cast<size_t>(std::max<int64_t>(bindings.numbers[output.number_attr], 0));
    return output.type_list_attr >= 0 ? TypeList(def_.attrs[output.type_list_attr], attrs).size() : 1;
  };
  for (const ArgDef& output : def_.outputs) {
    if (__builtin_add_overflow(expected, length(output), &expected)) expected = SIZE_MAX;
  }
  if (expected != results.size()) return WrongCount("result", expected, results.size());
  size_t position = 0;
  for (const ArgDef& output : def_.outputs) {
    const size_t count = length(output);
    for (size_t i = 0; i < count; ++i) {
      DType& dtype = results[position++].dtype;
      if (output.type_attr >= 0) {
        dtype = bindings.types[output.type_attr];
      } else if (output.type_list_attr >= 0) {
        dtype = TypeList(def_.attrs[output.type_list_attr], attrs)[i];
      } else {
        dtype = output.dtype;
      }
    }
  }
  return Status();
}

Status OpSignature::CheckAttrValues(const OpAttrsRef& attrs) const {
  if (attrs.out_of_memory()) return Status::OutOfMemory();
  for (const AttrEntry& entry : attrs.entries()) TANDEM_RETURN_IF_ERROR(CheckAttr(entry));
  return Status();
}

Status OpSignature::CheckAttr(const AttrEntry& entry) const {
  const int index = def_.FindAttr(entry.name);
  if (index < 0) {
    MessageBuilder known;
    for (const AttrDef& attr : def_.attrs) known.Append(known.view().empty() ? "" : ", ", attr.name);
    return InvalidArgument("attribute ", entry.name, " is not defined, expected ",
                           known.view().empty() ? "no attributes" : "one of ", known.view());
  }
  const AttrDef& attr = def_.attrs[index];
  if (attr.kind == AttrKind::kAny) return Status();
  if (entry.type != StoredType(attr.kind) || entry.is_array != attr.is_list) {
    MessageBuilder expected;
    AppendExpectedType(expected, attr);
    return InvalidArgument("attribute ", attr.name, " must be ", expected.view(), ", got ",
                           entry.is_array ? "list(" : "", AttrTypeName(entry.type), entry.is_array ? ")" : "");
  }
  if (attr.has_minimum) {
    const int64_t value = attr.is_list ? entry.size : *static_cast<const int64_t*>(entry.data);
    if (value < attr.minimum) {
      return InvalidArgument(attr.is_list ? "length of attribute " : "attribute ", attr.name, " must be at least ",
                             attr.minimum, ", got ", value);
    }
  }
  for (uint32_t i = 0; i < entry.size; ++i) {
    if (attr.kind == AttrKind::kType) {
      const DType value = static_cast<const DType*>(entry.data)[i];
      if (!attr.allowed_dtypes.Contains(value)) {
        return InvalidArgument("attribute ", attr.name, " must be one of ", attr.allowed_dtypes, ", got ", value);
      }
    } else if (attr.kind == AttrKind::kString && !attr.allowed_strings.empty()) {
      const std::string_view value = static_cast<const std::string_view*>(entry.data)[i];
      if (std::ranges::find(attr.allowed_strings, value) == attr.allowed_strings.end()) {
        MessageBuilder allowed;
        for (const std::string& text : attr.allowed_strings) {
          allowed.Append(allowed.view().empty() ? "'" : ", '", std::string_view(text), "'");
        }
        return InvalidArgument("attribute ", attr.name, " must be one of ", allowed.view(), ", got '", value, "'");
      }
    }
  }
  return Status();
}

}  // namespace tandem
