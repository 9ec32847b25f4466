// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Matching of calls to definitions. The simple form, without sequences, is on the path of every small op.

#include "defs/op_signature.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

namespace tandem {

namespace {

// The attribute that says how many tensors a variadic input stands for.
int CountAttr(const ArgDef& input) { return input.number_attr >= 0 ? input.number_attr : input.type_list_attr; }

}  // namespace

AttrType StoredType(AttrKind kind) {
  switch (kind) {
    case AttrKind::kType:
      return AttrType::kDType;
    case AttrKind::kInt:
      return AttrType::kI64;
    case AttrKind::kFloat:
      return AttrType::kF32;
    case AttrKind::kBool:
      return AttrType::kBool;
    case AttrKind::kString:
      return AttrType::kString;
    case AttrKind::kShape:
      return AttrType::kShape;
    case AttrKind::kTensor:
      return AttrType::kTensor;
    case AttrKind::kFunction:
      return AttrType::kFunction;
    case AttrKind::kAny:
      break;
  }
  return AttrType::kAttrs;
}

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
  for (const AttrDef& attr : def.attrs) {
    has_required_attrs_ |= !attr.inferred && !attr.has_default;
    binds_attrs_ |= !attr.is_list && (attr.kind == AttrKind::kType || attr.kind == AttrKind::kInt);
  }
  simple_ = !variadic_inputs_ && !variadic_outputs_;
}

OpSignature::~OpSignature() {
  const std::unique_ptr<CheckedSets> sets(checked_.load(std::memory_order_relaxed));
  if (sets == nullptr) return;
  for (const std::atomic<const Checked*>& set : sets->slots) delete set.load(std::memory_order_relaxed);
}

namespace {

// Where a frozen set has its entries tells which one it is, while somebody holds it.
size_t SlotOf(const AttrEntry* entries, size_t num_slots) {
  return static_cast<size_t>(reinterpret_cast<uintptr_t>(entries) / sizeof(AttrEntry) * 0x9E3779B1u >> 16) % num_slots;
}

bool IsLarge(const AttrEntry& entry) {
  constexpr uint32_t kMostElements = 64;
  return entry.type == AttrType::kTensor || entry.type == AttrType::kAttrs || entry.size > kMostElements;
}

}  // namespace

const OpSignature::Checked* OpSignature::FindChecked(const OpAttrsRef& attrs) const {
  const CheckedSets* const sets = checked_.load(std::memory_order_acquire);
  if (sets == nullptr || !attrs.IsFrozen()) return nullptr;
  const AttrEntry* const entries = attrs.entries().data();
  const Checked* const found = sets->slots[SlotOf(entries, CheckedSets::kMost)].load(std::memory_order_acquire);
  return found != nullptr && found->attrs.entries().data() == entries ? found : nullptr;
}

void OpSignature::KeepChecked(const OpAttrsRef& attrs, const Bindings& bindings) const {
  if (!attrs.IsFrozen() || attrs.empty() || std::ranges::any_of(attrs.entries(), IsLarge)) return;
  CheckedSets* sets = checked_.load(std::memory_order_acquire);
  if (sets == nullptr) {
    std::unique_ptr<CheckedSets> made(new (std::nothrow) CheckedSets);
    if (made == nullptr) return;
    if (checked_.compare_exchange_strong(sets, made.get(), std::memory_order_acq_rel)) sets = made.release();
  }
  std::atomic<const Checked*>& slot = sets->slots[SlotOf(attrs.entries().data(), CheckedSets::kMost)];
  if (slot.load(std::memory_order_relaxed) != nullptr) return;
  std::unique_ptr<Checked> set(new (std::nothrow) Checked{attrs.Freeze(), {}});
  if (set == nullptr) return;
  std::copy_n(bindings.given, def_.attrs.size(), set->given);
  const Checked* none = nullptr;
  if (slot.compare_exchange_strong(none, set.get(), std::memory_order_acq_rel)) static_cast<void>(set.release());
}

bool OpSignature::Accepts(const OpAttrsRef& attrs) const {
  if (attrs.out_of_memory() || attrs.too_deep()) return false;
  const std::span<const AttrEntry> entries = attrs.entries();
  const AttrEntry* found[OpDef::kMaxAttrs];
  const Checked* const checked = FindChecked(attrs);
  const AttrEntry* const* given = found;
  if (checked != nullptr) {
    given = checked->given;
  } else {
    std::fill_n(found, def_.attrs.size(), nullptr);
    for (const AttrEntry& entry : entries) {
      const int index = def_.FindAttr(entry.name);
      if (index < 0 || !CheckAttr(def_.attrs[static_cast<size_t>(index)], entry).ok()) return false;
      found[index] = &entry;
    }
  }
  for (size_t i = 0; i < def_.attrs.size(); ++i) {
    const AttrDef& attr = def_.attrs[i];
    if (given[i] != nullptr ? attr.inferred : !attr.inferred && !attr.has_default) return false;
  }
  return true;
}

Status OpSignature::WrongCount(std::string_view what, uint64_t expected, size_t given) const {
  return InvalidArgument("expected ", expected, " ", what, expected == 1 ? "" : "s", ", got ", given);
}

Status OpSignature::CheckArgumentCountSlow(size_t num_args) const {
  if (!variadic_inputs_) return WrongCount("argument", num_fixed_inputs_, num_args);
  if (num_args < num_fixed_inputs_) {
    return InvalidArgument("expected at least ", num_fixed_inputs_, " argument", num_fixed_inputs_ == 1 ? "" : "s",
                           ", got ", num_args);
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

Status OpSignature::NotDense(size_t position, size_t num_args, const Tensor& given) const {
  return InvalidArgument("argument ", position, " (", InputName(position, num_args), ") must be a dense tensor, got ",
                         given.metadata(), " as ", given.type().name());
}

StatusOr<DType> OpSignature::Bind(std::span<const TensorMetadata* const> args, const OpAttrsRef& attrs,
                                  std::span<TensorMetadata> results) const {
  if (simple_ && !has_required_attrs_ && attrs.IsUntouched()) [[likely]]
    return BindSimple(args, attrs, results);
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
  if (attrs.out_of_memory()) return Status::OutOfMemory();
  if (attrs.too_deep()) return InvalidArgument("attributes may be nested at most ", kMaxAttrDepth, " deep, got more");
  Bindings bindings;
  const AttrEntry* given[OpDef::kMaxAttrs];
  BindGiven(attrs, given, bindings);
  TANDEM_RETURN_IF_ERROR(BindInputs(args, bindings));
  if (!bindings.is_checked || binds_attrs_) TANDEM_RETURN_IF_ERROR(BindAttrs(attrs, bindings));
  if (!bindings.is_checked) KeepChecked(attrs, bindings);
  TANDEM_RETURN_IF_ERROR(BindOutputs(args, bindings, results));
  return def_.kernel_type_attr < 0 ? DType::kInvalid : bindings.types[def_.kernel_type_attr];
}

void OpSignature::BindGiven(const OpAttrsRef& attrs, const AttrEntry** given, Bindings& bindings) const {
  const size_t num_attrs = def_.attrs.size();
  for (size_t i = 0; i < num_attrs; ++i) {
    bindings.types[i] = DType::kInvalid;
    bindings.numbers[i] = -1;
    bindings.lists[i] = kNoList;
  }
  bindings.has_unknown = false;
  const Checked* const checked = FindChecked(attrs);
  bindings.is_checked = checked != nullptr;
  bindings.given = bindings.is_checked ? checked->given : given;
  if (bindings.is_checked) return;
  std::fill_n(given, num_attrs, nullptr);
  for (const AttrEntry& entry : attrs.entries()) {
    const int index = def_.FindAttr(entry.name);
    if (index < 0) {
      bindings.has_unknown = true;
    } else {
      given[index] = &entry;
    }
  }
}

StatusOr<size_t> OpSignature::SequenceLength(const ArgDef& input, size_t num_args, const Bindings& bindings) const {
  const size_t num_sequences = static_cast<size_t>(num_variadic_inputs_);
  const size_t left = num_args - num_fixed_inputs_;
  const size_t length = left / num_sequences;
  const bool is_even = left % num_sequences == 0;
  const AttrDef& attr = def_.attrs[static_cast<size_t>(CountAttr(input))];
  // What the call says must agree with its arguments; a default need not.
  if (const AttrEntry* entry = FindValid(CountAttr(input), bindings)) {
    const int64_t given = attr.is_list ? entry->size : *static_cast<const int64_t*>(entry->data);
    if (!is_even || !std::cmp_equal(length, given)) {
      return InvalidArgument("expected ", given, " arguments for ", input.name, " as attribute ", attr.name,
                             " says, got ", left, num_sequences == 1 ? "" : " for all sequences");
    }
  }
  if (!is_even) {
    return InvalidArgument("expected ", num_sequences, " sequences of equal length, got ", left, " arguments for them");
  }
  if (attr.has_minimum && std::cmp_less(length, attr.minimum)) {
    return InvalidArgument("expected at least ", attr.minimum, " argument", attr.minimum == 1 ? "" : "s", " for ",
                           input.name, ", got ", length);
  }
  return length;
}

Status OpSignature::BindInputs(std::span<const TensorMetadata* const> args, Bindings& bindings) const {
  size_t position = 0;
  for (const ArgDef& input : def_.inputs) {
    size_t count = 1;
    if (input.IsVariadic()) {
      TANDEM_ASSIGN_OR_RETURN(count, SequenceLength(input, args.size(), bindings));
      bindings.numbers[CountAttr(input)] = static_cast<int64_t>(count);
    }
    if (input.type_list_attr >= 0) {
      TANDEM_RETURN_IF_ERROR(BindList(input, position, args.subspan(position, count), args, bindings));
      position += count;
      continue;
    }
    for (size_t i = 0; i < count; ++i, ++position) {
      const TensorMetadata& given = *args[position];
      if (input.type_attr >= 0) {
        TANDEM_RETURN_IF_ERROR(BindType(input.type_attr, position, input, given, args, bindings));
      } else if (input.dtype != given.dtype) {
        return InvalidArgument("argument ", position, " (", input.name, ") must be ", input.dtype, ", got ", given);
      }
    }
  }
  return Status();
}

// The sequence `given` begins at `position`. Its dtypes are those that the call lists, or those of an earlier sequence
// with the same list.
Status OpSignature::BindList(const ArgDef& input, size_t position, std::span<const TensorMetadata* const> given,
                             std::span<const TensorMetadata* const> args, Bindings& bindings) const {
  const AttrDef& attr = def_.attrs[static_cast<size_t>(input.type_list_attr)];
  std::span<const DType> list;
  internal::GetAttrArray(FindValid(input.type_list_attr, bindings), &list);
  size_t& first = bindings.lists[input.type_list_attr];
  if (first == kNoList) first = position;
  for (size_t i = 0; i < given.size(); ++i) {
    const DType dtype = given[i]->dtype;
    const DType like = list.empty() ? args[first + i]->dtype : list[i];
    if (dtype == like && attr.allowed_dtypes.Contains(dtype)) continue;
    MessageBuilder expected;
    if (!attr.allowed_dtypes.Contains(dtype)) {
      expected.Append("one of ", attr.allowed_dtypes);
    } else {
      expected.Append(like);
      if (list.empty()) expected.Append(" like argument ", first + i);
    }
    return InvalidArgument("argument ", position + i, " (", input.name, ") must be ", expected.view(), ", got ",
                           *given[i]);
  }
  return Status();
}

Status OpSignature::BindType(int attr, size_t position, const ArgDef& input, const TensorMetadata& given,
                             std::span<const TensorMetadata* const> args, Bindings& bindings) const {
  const AttrDef& type = def_.attrs[attr];
  DType& bound = bindings.types[attr];
  if (!type.allowed_dtypes.Contains(given.dtype)) {
    return InvalidArgument("argument ", position, " (", input.name, ") must be one of ", type.allowed_dtypes, ", got ",
                           given);
  }
  if (bound == DType::kInvalid) {
    bound = given.dtype;
    return Status();
  }
  if (bound == given.dtype) return Status();
  for (size_t first = 0; first < position; ++first) {
    const ArgDef& earlier = InputAt(first, args.size());
    if (earlier.type_attr != attr) continue;
    return InvalidArgument("argument ", position, " (", input.name, ") must be ", bound, " like argument ", first, " (",
                           earlier.name, "), got ", given);
  }
  return Internal("type ", type.name, " is bound to no argument");
}

Status OpSignature::BindAttrs(const OpAttrsRef& attrs, Bindings& bindings) const {
  if (bindings.has_unknown) return UnknownAttr(attrs);
  for (size_t i = 0; i < def_.attrs.size(); ++i) {
    const AttrDef& attr = def_.attrs[i];
    const AttrEntry* entry = bindings.given[i];
    const bool from_call = entry != nullptr;
    if (!from_call) {
      // A type that follows from a sequence follows from nothing if that is empty.
      const bool is_bound = attr.kind != AttrKind::kType || attr.is_list || bindings.types[i] != DType::kInvalid;
      if (attr.inferred && is_bound) continue;
      if (!attr.has_default) return InvalidArgument("attribute ", attr.name, " is required, expected ", attr.spec);
    }
    if (from_call && !bindings.is_checked) TANDEM_RETURN_IF_ERROR(CheckAttr(attr, *entry));
    if (attr.kind == AttrKind::kType && !attr.is_list) {
      DType value = DType::kInvalid;
      internal::GetAttr(from_call ? entry : FindDefault(attr), &value);
      // What follows from the inputs wins over a default, but must agree with what the call says.
      const bool from_inputs = bindings.types[i] != DType::kInvalid;
      if (from_inputs && from_call && bindings.types[i] != value) {
        return InvalidArgument("attribute ", attr.name, " must be ", bindings.types[i], " like the arguments, got ",
                               value);
      }
      if (!from_inputs) bindings.types[i] = value;
    } else if (attr.kind == AttrKind::kInt && !attr.is_list && bindings.numbers[i] < 0) {
      internal::GetAttr(from_call ? entry : FindDefault(attr), &bindings.numbers[i]);
    }
  }
  return Status();
}

Status OpSignature::BindOutputs(std::span<const TensorMetadata* const> args, const Bindings& bindings,
                                std::span<TensorMetadata> results) const {
  // The dtypes of a list that no input has come from the call or the defaults.
  const auto list_of = [&](const ArgDef& output) {
    const auto index = static_cast<size_t>(output.type_list_attr);
    const AttrEntry* const entry = bindings.given[index];
    std::span<const DType> list;
    internal::GetAttrArray(entry == nullptr ? FindDefault(def_.attrs[index]) : entry, &list);
    return list;
  };
  const auto length = [&](const ArgDef& output) -> uint64_t {
    if (!output.IsVariadic()) return 1;
    const int64_t count = bindings.numbers[CountAttr(output)];
    return count >= 0 || output.number_attr >= 0 ? static_cast<uint64_t>(std::max<int64_t>(count, 0))
                                                 : list_of(output).size();
  };
  uint64_t expected = 0;
  for (const ArgDef& output : def_.outputs) {
    if (__builtin_add_overflow(expected, length(output), &expected)) expected = UINT64_MAX;
  }
  if (expected != results.size()) return WrongCount("result", expected, results.size());
  size_t position = 0;
  for (const ArgDef& output : def_.outputs) {
    const uint64_t count = length(output);
    for (size_t i = 0; i < count; ++i) {
      DType& dtype = results[position++].dtype;
      if (output.type_attr >= 0) {
        dtype = bindings.types[output.type_attr];
      } else if (output.type_list_attr >= 0) {
        const bool from_inputs = bindings.numbers[output.type_list_attr] >= 0;
        dtype = from_inputs ? args[bindings.lists[output.type_list_attr] + i]->dtype : list_of(output)[i];
      } else {
        dtype = output.dtype;
      }
    }
  }
  return Status();
}

// Of several names that are not defined, the first by name: calls give them in any order.
Status OpSignature::UnknownAttr(const OpAttrsRef& attrs) const {
  const AttrEntry* unknown = nullptr;
  for (const AttrEntry& entry : attrs.entries()) {
    if (def_.FindAttr(entry.name) < 0 && (unknown == nullptr || entry.name < unknown->name)) unknown = &entry;
  }
  MessageBuilder known;
  for (const AttrDef& attr : def_.attrs) known.Append(known.view().empty() ? "" : ", ", attr.name);
  return InvalidArgument("attribute ", unknown->name, " is not defined, expected ",
                         known.view().empty() ? "no attributes" : "one of ", known.view());
}

// What the call gives for an attribute that says something of its arguments; a wrong value is told later, in the order
// of the definition.
const AttrEntry* OpSignature::FindValid(int attr, const Bindings& bindings) const {
  const AttrEntry* entry = bindings.given[attr];
  if (entry == nullptr || bindings.is_checked) return entry;
  return CheckAttr(def_.attrs[static_cast<size_t>(attr)], *entry).ok() ? entry : nullptr;
}

const AttrEntry* OpSignature::FindDefault(const AttrDef& attr) const {
  return def_.defaults ? def_.defaults->Find(attr.name) : nullptr;
}

Status OpSignature::CheckAttr(const AttrDef& attr, const AttrEntry& entry) {
  if (attr.kind == AttrKind::kAny) return Status();
  if (entry.type != StoredType(attr.kind) || entry.is_array != attr.is_list) {
    MessageBuilder expected;
    AppendExpectedType(expected, attr);
    MessageBuilder given;
    given.Append(entry.is_array ? "list(" : "", AttrTypeName(entry.type), entry.is_array ? ")" : "");
    // A number that would have been converted if nothing were lost by it.
    const bool is_inexact =
        attr.kind == AttrKind::kFloat && entry.is_array == attr.is_list &&
        (entry.type == AttrType::kI32 || entry.type == AttrType::kI64 || entry.type == AttrType::kF64);
    if (is_inexact) given.Append(" ", entry, ", which f32 cannot hold");
    return InvalidArgument("attribute ", attr.name, " must be ", expected.view(), ", got ", given.view());
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
