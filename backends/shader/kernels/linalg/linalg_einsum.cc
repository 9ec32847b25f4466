// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Einsum: a batch of products of matrices where the equation is one, with elements where they lie; else sums of
// products element by element.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/linalg/linalg.h"
#include "kernels/linalg/product.h"
#include "kernels/unrolled_text.h"
#include "tandem/einsum_equation.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 64;

ShaderText Compose(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  DeclareTypes(builder, static_cast<DType>(values[0]));
  const bool binary = values[1] != 0;
  builder.Buffer("a", BufferAccess::kRead, "T");
  if (binary) builder.Buffer("b", BufferAccess::kRead, "T");
  builder.Buffer("table", BufferAccess::kRead, "u32").Buffer("c", BufferAccess::kReadWrite, "T");
  builder.Parameter("elements").Parameter("dims").Parameter("inner").Parameter("inner_dims");
  builder.Workgroup(kWorkgroup).Constant("workgroup_size", kWorkgroup);
  return builder.Finish(Unroll(source.text, {{"BINARY", binary}}));
}

const ShaderSource kContraction = {"contraction", &Compose, kContractionText};

// A label that stands for more than one index: distances of its elements, 0 in tensors that have it not.
struct Label {
  int64_t size = 1;
  int64_t a = 0;
  int64_t b = 0;
  int64_t c = 0;
};

using Labels = std::array<Label, EinsumEquation::kNumLabels>;

// Notes where a tensor has its labels. False if one label is there twice.
bool AddTensor(const EinsumEquation::Labels& of, const TensorShape& shape, int64_t Label::*stride, Labels& labels) {
  bool each_once = true;
  int64_t next = 1;
  for (int i = of.rank - 1; i >= 0; --i) {
    Label& label = labels[of.of[i]];
    if (shape.dim(i) != 1) {
      each_once = each_once && label.*stride == 0;
      label.*stride += next;
    }
    next *= std::max<int64_t>(shape.dim(i), 1);  // a label keeps its place in a tensor without elements
  }
  return each_once;
}

// Those of at most three tensors.
struct LabelList {
  std::array<Label, 3 * TensorShape::kMaxRank> of;
  size_t size = 0;

  bool empty() const { return size == 0; }
  Label& back() { return of[size - 1]; }
  std::span<const Label> span() const { return {of.data(), size}; }
};

LabelList Select(const Labels& labels, bool (*fits)(const Label&), int64_t Label::*order) {
  LabelList selected;
  for (const Label& label : labels) {
    if (label.size != 1 && fits(label)) selected.of[selected.size++] = label;
  }
  std::ranges::sort(std::span(selected.of.data(), selected.size), std::ranges::greater(), order);
  return selected;
}

// Takes the last labels that are as one, as this one, off the list.
Label TakeMerged(LabelList& list) {
  if (list.empty()) return {};
  Label merged = list.back();
  --list.size;
  while (!list.empty()) {
    const Label& outer = list.back();
    if (outer.a != merged.a * merged.size || outer.b != merged.b * merged.size || outer.c != merged.c * merged.size) {
      break;
    }
    merged.size *= outer.size;
    --list.size;
  }
  return merged;
}

// None if the labels that are summed over are not at regular distances.
std::optional<MatrixProduct> MakeProduct(const Labels& labels) {
  LabelList inner = Select(
      labels, [](const Label& label) { return label.c == 0; }, &Label::a);
  LabelList rows = Select(
      labels, [](const Label& label) { return label.c != 0 && label.b == 0; }, &Label::c);
  LabelList cols = Select(
      labels, [](const Label& label) { return label.c != 0 && label.b != 0 && label.a == 0; }, &Label::c);
  LabelList both = Select(
      labels, [](const Label& label) { return label.c != 0 && label.a != 0 && label.b != 0; }, &Label::c);
  const Label k = TakeMerged(inner);
  if (!inner.empty()) return std::nullopt;
  const Label row = TakeMerged(rows);
  const Label col = TakeMerged(cols);
  MatrixProduct product;
  product.rows = row.size;
  product.cols = col.size;
  product.inner = k.size;
  product.a_row = row.a;
  product.a_inner = k.a;
  product.b_inner = k.b;
  product.b_col = col.b;
  product.c_row = row.c;
  product.c_col = col.size == 1 ? 1 : col.c;
  for (const auto* list : {&both, &rows, &cols}) {
    for (const Label& label : list->span()) product.AddBatchDim({label.size, label.a, label.b, label.c});
  }
  return product;
}

void RunContraction(ShaderCall& call, const EinsumEquation& equation, const TensorMetadata& result,
                    const Labels& labels, bool binary) {
  std::array<uint32_t, 4 * TensorShape::kMaxRank + 3 * std::tuple_size_v<decltype(LabelList::of)> + 1> table;
  size_t words = 0;
  const auto add = [&](int64_t value) { table[words++] = static_cast<uint32_t>(value); };
  const EinsumEquation::Labels& output = equation.output;
  for (int d = 0; d < output.rank; ++d) {
    const int i = output.rank - 1 - d;
    int first = d;
    for (int before = 0; before < d; ++before) {
      if (output.of[output.rank - 1 - before] == output.of[i]) first = std::min(first, before);
    }
    const Label& label = labels[output.of[i]];
    add(result.dim(i));
    add(first == d ? label.a : 0);
    add(first == d ? label.b : 0);
    add(first);
  }
  const LabelList inner = Select(
      labels, [](const Label& label) { return label.c == 0; }, &Label::a);
  int64_t inner_size = 1;
  for (size_t i = inner.size; i-- > 0;) {
    const Label& label = inner.of[i];
    for (int64_t value : {label.size, label.a, label.b}) add(value);
    inner_size *= label.size;
  }
  if (words == 0) add(0);  // no buffer is empty
  Launch launch;
  launch.variant = ShaderVariant(kContraction, {static_cast<int32_t>(result.dtype), binary});
  for (int64_t value : {result.num_elements(), int64_t{output.rank}, inner_size, static_cast<int64_t>(inner.size)}) {
    launch.parameters.Add(static_cast<uint32_t>(value));
  }
  launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(result.num_elements()), kWorkgroup, call.limits());
  GpuBuffer* const places = call.Table({table.data(), words});
  if (binary) {
    call.Run(launch, {call.Argument(0), call.Argument(1), places, call.Result(0)});
  } else {
    call.Run(launch, {call.Argument(0), places, call.Result(0)});
  }
}

Status EinsumKernel(KernelFrame& frame) {
  const size_t num_inputs = frame.num_args();
  const TensorMetadata* metadata[EinsumEquation::kMaxInputs];
  for (size_t i = 0; i < num_inputs; ++i) metadata[i] = &frame.arg(i).metadata();
  std::string_view text;
  frame.attrs().Get("equation", &text);
  TANDEM_ASSIGN_OR_RETURN(const EinsumEquation equation, EinsumEquation::Parse(text, {metadata, num_inputs}));
  ShaderCall call(frame);
  const TensorMetadata& result = frame.result_metadata(0);
  if (result.num_elements() == 0) return call.Finish();
  const bool binary = num_inputs == 2;
  Labels labels;
  for (size_t i = 0; i < labels.size(); ++i) labels[i].size = equation.sizes[i];
  AddTensor(equation.inputs[0], metadata[0]->shape, &Label::a, labels);
  if (binary) AddTensor(equation.inputs[1], metadata[1]->shape, &Label::b, labels);
  const bool has_diagonal = !AddTensor(equation.output, result.shape, &Label::c, labels);
  // Labels that no tensor has have sizes that mean nothing.
  for (Label& label : labels) {
    if (label.a == 0 && label.b == 0 && label.c == 0) label.size = 1;
  }
  std::optional<MatrixProduct> product;
  // The result's neighbours make columns.
  const bool swap = std::ranges::any_of(labels, [](const Label& label) { return label.c == 1 && label.b == 0; });
  if (binary && !has_diagonal) {
    Labels swapped = labels;
    if (swap) {
      for (Label& label : swapped) std::swap(label.a, label.b);
    }
    product = MakeProduct(swapped);
  }
  if (product) {
    product->dtype = result.dtype;
    RunProduct(call, *product, {call.Argument(swap ? 1 : 0), call.Argument(swap ? 0 : 1), call.Result(0)});
  } else {
    RunContraction(call, equation, result, labels, binary);
  }
  return call.Finish();
}

}  // namespace

Status RegisterEinsumKernels([[maybe_unused]] ShaderOpHandler& handler) {
  if constexpr (!IsInBuild("tf.Einsum")) {
    return Status();
  } else {
    constexpr DTypeSet kDTypes = kFloatDTypesOfGpu | DTypeSet{DType::kI32, DType::kI64, DType::kC64};
    return handler.AddKernel("tf.Einsum", kDTypes & AllDTypes(handler.gpu().limits()), MakeKernel<&EinsumKernel>());
  }
}

}  // namespace tandem::shader
