// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Drawing of calls.

#include "call_source.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "case_attrs.h"
#include "lib/defs/op_signature.h"
#include "values.h"

namespace tandem::fuzz {
namespace {

constexpr size_t kLongestLine = 4000;

DType DrawFrom(DTypeSet allowed, Random& random) {
  for (int i = 0; i < 100; ++i) {
    const DType dtype = DrawDType(random);
    if (allowed.Contains(dtype)) return dtype;
  }
  return DType::kF32;
}

// A value, or a list of them, of an attribute type.
AttrSpec DrawAttrOfType(const std::string& name, AttrType type, bool is_array, size_t size, Random& random) {
  AttrSpec attr{.name = name, .type = type, .is_array = is_array};
  const size_t count = is_array ? size : 1;
  for (size_t i = 0; i < count; ++i) {
    switch (type) {
      case AttrType::kBool:
        attr.integers.push_back(random.Between(0, 1));
        break;
      case AttrType::kI32:
      case AttrType::kI64:
        attr.integers.push_back(DrawInteger(random));
        break;
      case AttrType::kDType:
        attr.integers.push_back(random.Between(0, kNumDTypes - 1));
        break;
      case AttrType::kF32:
      case AttrType::kF64:
        attr.reals.push_back(DrawReal(random));
        break;
      case AttrType::kString:
      case AttrType::kFunction:
        attr.texts.push_back(DrawText(random));
        break;
      case AttrType::kShape:
        attr.shapes.push_back(random.OneIn(3) ? DrawHugeShape(random) : DrawShape(random));
        if (random.OneIn(8)) attr.shapes.back().Append(DrawInteger(random));
        break;
      case AttrType::kTensor:
        attr.tensors.push_back(DrawTensor(DrawDType(random), DrawShape(random), random));
        break;
      case AttrType::kAttrs:
        attr.is_array = false;
        attr.nested.push_back({.name = "a", .integers = {1}});
        attr.nested.push_back({.name = "b", .type = AttrType::kString, .is_array = true, .texts = {"x", "yz"}});
        return attr;
    }
  }
  return attr;
}

AttrSpec DrawAnyAttr(const std::string& name, Random& random) {
  const auto type = static_cast<AttrType>(random.Below(static_cast<size_t>(AttrType::kAttrs) + 1));
  return DrawAttrOfType(name, type, random.OneIn(2), random.Below(6), random);
}

AttrType TypeOf(AttrKind kind, Random& random) {
  if (kind != AttrKind::kAny) return StoredType(kind);
  return static_cast<AttrType>(random.Below(static_cast<size_t>(AttrType::kAttrs) + 1));
}

// A value that the definition allows, mostly.
AttrSpec DrawAttr(const AttrDef& def, Random& random) {
  if (random.OneIn(40)) return DrawAnyAttr(def.name, random);
  // Lists are mostly as long as a shape, or as one of images.
  const size_t size = random.OneIn(3) ? 4 : random.Below(5);
  AttrSpec attr = DrawAttrOfType(def.name, TypeOf(def.kind, random), def.is_list, size, random);
  if (random.OneIn(20)) return attr;
  for (int64_t& integer : attr.integers) {
    if (def.kind == AttrKind::kType) integer = static_cast<int64_t>(DrawFrom(def.allowed_dtypes, random));
    if (def.kind == AttrKind::kInt && random.OneIn(2)) integer = random.Between(1, 3);
    if (def.kind == AttrKind::kInt && def.has_minimum && !def.is_list) integer = std::max(integer, def.minimum);
  }
  for (std::string& text : attr.texts) {
    if (!def.allowed_strings.empty()) text = random.Pick(def.allowed_strings);
  }
  return attr;
}

// The elements of a tensor in another representation, if it can be one.
void DrawKind(InputSpec& input, Random& random) {
  const TensorMetadata& metadata = input.tensor.metadata;
  if (metadata.dtype == DType::kString) return;
  const auto count = random.Below(4);
  switch (random.Below(30)) {
    case 0:
    case 1:
      input.kind = InputKind::kScalar;
      input.tensor.bytes = DrawElements(metadata.dtype, 1, random);
      break;
    case 2:
      input.kind = InputKind::kScalar;
      input.tensor.metadata.shape = DrawHugeShape(random);
      input.tensor.bytes = DrawElements(metadata.dtype, 1, random);
      break;
    case 3:
      input.kind = InputKind::kSparse;
      input.tensor.bytes =
          DrawElements(metadata.dtype, std::min<size_t>(count, static_cast<size_t>(metadata.num_elements())), random);
      break;
    case 4:
      if (!random.OneIn(3)) break;
      input.kind = InputKind::kSparse;
      input.tensor.metadata.shape = DrawHugeShape(random);
      input.tensor.bytes = DrawElements(metadata.dtype, count, random);
      break;
    case 5:
      if (random.OneIn(4)) input.kind = InputKind::kNull;
      break;
    case 6:
      if (random.OneIn(4)) input.kind = InputKind::kError;
      break;
    case 7:
      if (random.OneIn(2)) input.kind = InputKind::kShared;
      break;
    default:
      break;
  }
}

// What is not of the op: how it is called.
void DrawWay(Call& call, Random& random) {
  constexpr Way kWays[] = {Way::kMoved,   Way::kMoved,   Way::kMadeOp,          Way::kQueued,
                           Way::kThreads, Way::kPending, Way::kPendingMetadata, Way::kPendingMetadata};
  call.way = random.Pick(kWays);
  call.fails_input = random.OneIn(30);
  if (random.OneIn(20)) call.chain = static_cast<ChainKind>(random.Below(4));
  if (random.OneIn(20)) call.request = static_cast<RequestKind>(random.Below(5));
  if (random.OneIn(50)) call.num_results = static_cast<int>(random.Below(5));
}

}  // namespace

CallSource::CallSource(const OpRegistry& registry, const std::string& filter) : registry_(registry) {
  for (const OpDef* def : registry.List()) {
    if (def->name.find(filter) == std::string::npos) continue;
    ops_.push_back(def);
    if (def->inputs.size() == 1 && !def->inputs[0].IsVariadic() && !def->outputs.empty()) {
      unary_ops_.emplace_back(def->name);
    }
  }
}

void CallSource::ReadCases(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error(file + " cannot be read");
  std::string line;
  while (std::getline(stream, line)) {
    if (line.empty() || line.size() > kLongestLine) continue;
    conformance::ConformanceCase one = conformance::ParseCase(line);
    const OpDef* def = registry_.Find(one.op);
    if (def == nullptr || std::ranges::find(ops_, def) == ops_.end()) continue;
    Call call{.op = one.op, .inputs = {}, .attrs = {}};
    int64_t num_elements = 0;
    for (TensorSpec& tensor : one.inputs) {
      num_elements += tensor.metadata.num_elements();
      call.inputs.push_back({.kind = InputKind::kDense, .tensor = std::move(tensor)});
    }
    if (num_elements > kMaxElements) continue;
    OpAttrs attrs;
    conformance::SetAttrs(one.attrs, def, attrs);
    call.attrs = SpecsOf(attrs);
    call.num_results = conformance::CountResults(*def, attrs, call.inputs.size());
    cases_[call.op].push_back(std::move(call));
    ++num_cases_;
  }
}

Call CallSource::Draw(Random& random) const {
  const OpDef& def = *random.Pick(ops_);
  const auto found = cases_.find(def.name);
  Call call;
  if (found == cases_.end() || random.OneIn(3)) {
    call = DrawFromDefinition(def, random);
  } else {
    call = random.Pick(found->second);
    const size_t num_changes = random.Below(4);
    for (size_t i = 0; i < num_changes; ++i) Change(call, random);
    if (num_changes > 0) {
      OpAttrs attrs;
      SetAttrs(call.attrs, attrs);
      call.num_results = conformance::CountResults(def, attrs, call.inputs.size());
    }
  }
  if (def.has_side_effects || call.num_results == 0) call.chain = ChainKind::kReady;
  DrawWay(call, random);
  if (!unary_ops_.empty() && random.OneIn(8)) call.then = random.Pick(unary_ops_);
  return call;
}

Call CallSource::DrawFromDefinition(const OpDef& def, Random& random) const {
  Call call{.op = std::string(def.name), .inputs = {}, .attrs = {}};
  std::vector<DType> dtypes;  // by attribute
  std::vector<int64_t> numbers;
  for (const AttrDef& attr : def.attrs) {
    dtypes.push_back(attr.kind == AttrKind::kType ? DrawFrom(attr.allowed_dtypes, random) : DType::kF32);
    numbers.push_back(random.OneIn(10) ? random.Between(0, 20) : random.Between(1, 3));
    const bool is_left_out =
        attr.inferred ? !random.OneIn(20) : (attr.has_default ? random.OneIn(2) : random.OneIn(30));
    if (is_left_out) continue;
    AttrSpec spec = DrawAttr(attr, random);
    if (attr.inferred && !random.OneIn(4) && spec.integers.size() == 1) {
      spec.integers[0] = attr.kind == AttrKind::kType ? static_cast<int64_t>(dtypes.back()) : numbers.back();
    }
    call.attrs.push_back(std::move(spec));
  }
  if (random.OneIn(60)) call.attrs.push_back(DrawAnyAttr("unknown", random));
  const TensorShape base = DrawShape(random);
  for (const ArgDef& arg : def.inputs) {
    const int number_of = arg.number_attr >= 0 ? arg.number_attr : arg.type_list_attr;
    const int64_t number = number_of < 0 ? 1 : numbers[static_cast<size_t>(number_of)];
    for (int64_t i = 0; i < number; ++i) {
      DType dtype = arg.type_attr >= 0 ? dtypes[static_cast<size_t>(arg.type_attr)] : arg.dtype;
      if (arg.type_list_attr >= 0 || dtype == DType::kInvalid || random.OneIn(100)) dtype = DrawDType(random);
      InputSpec& input = call.inputs.emplace_back();
      if (arg.host_input && dtype != DType::kString) {
        const TensorShape shape = random.OneIn(5) ? TensorShape{} : TensorShape{random.Between(0, base.rank() + 1)};
        input.tensor.metadata = {dtype, shape};
        input.tensor.bytes = DrawSmallElements(dtype, static_cast<size_t>(shape.num_elements()), random);
      } else {
        const size_t which = random.Below(8);
        const TensorShape shape = which < 5 ? base : which < 7 ? DrawSmallerShape(base, random) : DrawShape(random);
        input.tensor = DrawTensor(dtype, shape, random);
      }
      DrawKind(input, random);
    }
  }
  if (random.OneIn(60) && !call.inputs.empty()) call.inputs.pop_back();
  if (random.OneIn(60) && !call.inputs.empty()) call.inputs.push_back(random.Pick(call.inputs));
  if (!call.inputs.empty() && call.inputs[0].kind == InputKind::kShared) call.inputs[0].kind = InputKind::kNull;
  OpAttrs attrs;
  SetAttrs(call.attrs, attrs);
  call.num_results = conformance::CountResults(def, attrs, call.inputs.size());
  return call;
}

void CallSource::Change(Call& call, Random& random) const {
  const OpDef& def = *registry_.Find(call.op);
  switch (random.Below(16)) {
    case 0:
      if (!call.inputs.empty()) call.inputs.pop_back();
      break;
    case 1:
      if (!call.inputs.empty()) call.inputs.push_back(random.Pick(call.inputs));
      break;
    case 2:
      if (call.inputs.size() > 1) std::swap(random.Pick(call.inputs), random.Pick(call.inputs));
      break;
    case 3:
    case 4:
    case 5:
    case 6:
      ChangeAttr(call, def, random);
      break;
    default:
      ChangeInput(call, random);
  }
  if (!call.inputs.empty() && call.inputs[0].kind == InputKind::kShared) call.inputs[0].kind = InputKind::kNull;
}

void CallSource::ChangeAttr(Call& call, const OpDef& def, Random& random) const {
  if (!call.attrs.empty() && random.OneIn(4)) {
    call.attrs.erase(call.attrs.begin() + static_cast<ptrdiff_t>(random.Below(call.attrs.size())));
    return;
  }
  if (!call.attrs.empty() && random.OneIn(2)) {
    AttrSpec& attr = random.Pick(call.attrs);
    if (!attr.integers.empty() && attr.type != AttrType::kDType && attr.type != AttrType::kBool) {
      random.Pick(attr.integers) = DrawInteger(random);
    } else if (!attr.reals.empty()) {
      random.Pick(attr.reals) = DrawReal(random);
    } else if (attr.is_array && !attr.integers.empty()) {
      attr.integers.pop_back();
    } else if (!attr.texts.empty() && !random.Pick(attr.texts).empty()) {
      std::string& text = random.Pick(attr.texts);
      if (!text.empty()) text[random.Below(text.size())] = static_cast<char>(random.Between(32, 126));
    } else {
      attr = DrawAnyAttr(attr.name, random);
    }
    return;
  }
  if (def.attrs.empty()) {
    call.attrs.push_back(DrawAnyAttr("unknown", random));
    return;
  }
  AttrSpec drawn = DrawAttr(random.Pick(def.attrs), random);
  for (AttrSpec& attr : call.attrs) {
    if (attr.name == drawn.name) {
      attr = std::move(drawn);
      return;
    }
  }
  call.attrs.push_back(std::move(drawn));
}

void CallSource::ChangeInput(Call& call, Random& random) const {
  if (call.inputs.empty()) return;
  InputSpec& input = random.Pick(call.inputs);
  if (input.kind != InputKind::kDense) return;
  TensorSpec& tensor = input.tensor;
  TensorMetadata& metadata = tensor.metadata;
  const size_t size = DTypeSize(metadata.dtype);
  switch (random.Below(8)) {
    case 0:  // another dtype
      tensor = DrawTensor(DrawDType(random), metadata.shape, random);
      break;
    case 1:  // another shape
      tensor = DrawTensor(metadata.dtype,
                          random.OneIn(2) ? DrawShape(random) : DrawSmallerShape(metadata.shape, random), random);
      break;
    case 2: {  // one other dimension
      if (metadata.rank() == 0) break;
      TensorShape shape = metadata.shape;
      shape.SetDim(static_cast<int>(random.Below(static_cast<size_t>(shape.rank()))), random.Between(0, 6));
      if (shape.num_elements() <= kMaxElements) tensor = DrawTensor(metadata.dtype, shape, random);
      break;
    }
    case 3:  // other elements
      if (size > 0) tensor.bytes = DrawElements(metadata.dtype, static_cast<size_t>(metadata.num_elements()), random);
      break;
    case 4:  // other small integers
      if (size > 0)
        tensor.bytes = DrawSmallElements(metadata.dtype, static_cast<size_t>(metadata.num_elements()), random);
      break;
    case 5: {  // one other element
      if (size == 0 || tensor.bytes.empty()) break;
      const std::vector<std::byte> element =
          random.OneIn(2) ? DrawElements(metadata.dtype, 1, random) : DrawSmallElements(metadata.dtype, 1, random);
      std::memcpy(tensor.bytes.data() + random.Below(tensor.bytes.size() / size) * size, element.data(), size);
      break;
    }
    case 6: {  // an input of another case
      const auto found = cases_.find(random.Pick(ops_)->name);
      if (found == cases_.end()) break;
      const Call& other = random.Pick(found->second);
      if (!other.inputs.empty()) input = random.Pick(other.inputs);
      break;
    }
    default:
      DrawKind(input, random);
  }
}

}  // namespace tandem::fuzz
