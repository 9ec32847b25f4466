// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/indexing/compact.h"

#include <algorithm>
#include <array>
#include <string>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/indexing/sort.h"
#include "kernels/shape/movement.h"
#include "kernels/unrolled_text.h"
#include "tandem/op_axis.h"
#include "tandem/op_selection.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 256;
constexpr uint32_t kBlock = 1024;  // elements of a workgroup

// What is marked.
enum class Mark : int32_t {
  kNotZero,  // elements of `x` that are not 0; put: their indices, of i64
  kFirst,    // elements of `x` that are the first of their value, as `heads` says; put: the elements and their numbers
};
// The launch of the three.
enum class Step : int32_t { kCount, kAdd, kPut };

// `fn is_marked(i: u32) -> bool`: whether element `i` is not 0.
std::string NotZeroText(DType dtype) {
  std::string text = "fn is_marked(i: u32) -> bool {\nlet a: A = A(x[i]);\nreturn ";
  if (dtype == DType::kC64) {
    text += "((bitcast<u32>(real_of(a)) | bitcast<u32>(imag_of(a))) & 0x7fffffffu) != 0u";
  } else if (kFloatDTypes.Contains(dtype)) {
    const ArithmeticBits bits = ArithmeticBitsOf(dtype);
    text += "(bitcast<" + std::string(bits.type) + ">(a) & " + std::string(bits.all_but_sign) +
            ") != " + std::string(bits.type) + "(0u)";
  } else {
    text += "a != A(0)";
  }
  return text + ";\n}\n";
}

// `fn put(i: u32, number: u32)`: row `number` of the result is the index of element `i` of a tensor with `rank`
// dimensions, whose sizes are parameters.
std::string PutIndexText(int rank) {
  std::string text = "fn put(i: u32, number: u32) {\nvar rest: u32 = i;\n";
  for (int axis = rank - 1; axis >= 0; --axis) {
    const std::string dim = "parameters.dim" + std::to_string(axis);
    text += "y[number * " + std::to_string(rank) + "u + " + std::to_string(axis) + "u] = vec2u(rest % " + dim +
            ", 0u);\nrest = rest / " + dim + ";\n";
  }
  return text + "}\n";
}

// Values: Mark, Step, dtype, rank.
ShaderText ComposeCompact(const ShaderSource& source, std::span<const int32_t> values) {
  const auto mark = static_cast<Mark>(values[0]);
  const auto step = static_cast<Step>(values[1]);
  const auto dtype = static_cast<DType>(values[2]);
  const int rank = values[3];
  ShaderBuilder builder(source.name);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup).Constant("BLOCK", kBlock);
  if (step == Step::kAdd) {
    builder.Parameter("blocks");
    builder.Buffer("counts", BufferAccess::kReadWrite, "u32").Buffer("total", BufferAccess::kReadWrite, "u32");
    return builder.Finish(Unroll(source.text, {{"ADDS", true}, {"PUTS", false}}));
  }
  builder.Parameter("size").Parameter("blocks");
  const bool puts = step == Step::kPut;
  if (mark == Mark::kNotZero || puts) {
    DeclareTypes(builder, dtype);
    builder.Buffer("x", BufferAccess::kRead, "T");
  }
  if (mark == Mark::kFirst) builder.Buffer("heads", BufferAccess::kRead, "u32");
  builder.Buffer("counts", puts ? BufferAccess::kRead : BufferAccess::kReadWrite, "u32");
  builder.Text(mark == Mark::kNotZero ? NotZeroText(dtype)
                                      : "fn is_marked(i: u32) -> bool { return heads[i] == i; }\n");
  if (puts && mark == Mark::kNotZero) {
    for (int axis = 0; axis < rank; ++axis) builder.Parameter("dim" + std::to_string(axis));
    if (rank > 0) builder.Buffer("y", BufferAccess::kReadWrite, "vec2u");
    builder.Text(PutIndexText(rank));
  } else if (puts) {
    builder.Buffer("y", BufferAccess::kReadWrite, "T").Buffer("numbers", BufferAccess::kReadWrite, "u32");
    builder.Text("fn put(i: u32, number: u32) { y[number] = x[i]; numbers[i] = number; }\n");
  }
  return builder.Finish(Unroll(source.text, {{"ADDS", false}, {"PUTS", puts}}));
}

// Value: dtype.
ShaderText ComposeHeads(const ShaderSource& source, std::span<const int32_t> values) {
  const auto dtype = static_cast<DType>(values[0]);
  ShaderBuilder builder(source.name);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup).Parameter("size");
  DeclareTypes(builder, dtype);
  builder.Alias("K", SortKeyType(dtype));
  builder.Buffer("x", BufferAccess::kRead, "T")
      .Buffer("keys", BufferAccess::kRead, "K")
      .Buffer("places", BufferAccess::kRead, "u32")
      .Buffer("heads", BufferAccess::kReadWrite, "u32");
  // NaN equals nothing.
  const ArithmeticBits bits = ArithmeticBitsOf(dtype);
  std::string is_alone = "false";
  if (dtype == DType::kC64) is_alone = "!(x == x)";
  if (kFloatDTypes.Contains(dtype)) {
    is_alone = "(bitcast<" + std::string(bits.type) + ">(x) & " + std::string(bits.all_but_sign) + ") > " +
               std::string(bits.infinity);
  }
  return builder.Text("fn is_alone(x: A) -> bool { return " + is_alone + "; }\n").Finish(source.text);
}

// Value: whether indices are of i64.
ShaderText ComposeNumbers(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup).Parameter("size");
  builder.Buffer("heads", BufferAccess::kRead, "u32")
      .Buffer("numbers", BufferAccess::kRead, "u32")
      .Buffer("indices", BufferAccess::kReadWrite, values[0] != 0 ? "vec2u" : "u32");
  return builder.Finish(Unroll(source.text, {{"LONG", values[0] != 0}}));
}

const ShaderSource kCompact = {"compact", &ComposeCompact, kCompactText};
const ShaderSource kHeads = {"unique_heads", &ComposeHeads, kUniqueHeadsText};
const ShaderSource kNumbers = {"unique_numbers", &ComposeNumbers, kUniqueNumbersText};

ShaderVariant CompactVariant(Mark mark, Step step, DType dtype, int rank) {
  // What adds the counts up, and what counts first ones, does not know of what.
  if (step == Step::kAdd) mark = Mark::kNotZero;
  if (step == Step::kAdd || (mark == Mark::kFirst && step == Step::kCount)) dtype = DType::kU32;
  if (step != Step::kPut || mark == Mark::kFirst) rank = 0;
  return ShaderVariant(kCompact,
                       {static_cast<int32_t>(mark), static_cast<int32_t>(step), static_cast<int32_t>(dtype), rank});
}

// Numbers marked elements of `input`, of `size` elements, and puts them. `marks` are the buffers that say what is
// marked, `read` those that are read when they are put, without the counts, and `written` the ones that they are put
// in. Returns where the device leaves how many there are.
GpuBuffer* Compact(ShaderCall& call, Mark mark, const TensorMetadata& input, GpuBuffer* marks,
                   std::span<GpuBuffer* const> read, std::span<GpuBuffer* const> written) {
  const int64_t size = input.num_elements();
  const int64_t blocks = (size + kBlock - 1) / kBlock;
  GpuBuffer* const counts = call.Temporary(static_cast<uint64_t>(blocks) * sizeof(uint32_t));
  GpuBuffer* const total = call.Temporary(sizeof(uint32_t));
  Launch launch;
  launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(blocks), 1, call.limits());
  launch.parameters = {Low(size), Low(blocks)};
  launch.variant = CompactVariant(mark, Step::kCount, input.dtype, input.rank());
  call.Run(launch, {marks, counts});
  Launch add;
  add.parameters = {Low(blocks)};
  add.variant = CompactVariant(mark, Step::kAdd, input.dtype, input.rank());
  call.Run(add, {counts, total});
  if (mark == Mark::kNotZero) {
    for (int axis = 0; axis < input.rank(); ++axis) launch.parameters.Add(Low(input.dim(axis)));
  }
  launch.variant = CompactVariant(mark, Step::kPut, input.dtype, input.rank());
  std::array<GpuBuffer*, ShaderCall::kMaxBuffers> buffers;
  auto end = std::ranges::copy(read, buffers.begin()).out;
  *end++ = counts;
  end = std::ranges::copy(written, end).out;
  call.Run(launch, {buffers.begin(), end});
  return total;
}

Status SetEmpty(KernelFrame& frame, size_t i, const TensorMetadata& metadata) {
  const auto& device = frame.context<ShaderDevice>();
  TANDEM_ASSIGN_OR_RETURN(Tensor tensor, device.Allocate(metadata, {frame.def().name, frame.exec().location()}));
  frame.SetResult(i, std::move(tensor));
  return Status();
}

Status WhereKernel(KernelFrame& frame) {
  const TensorMetadata& input = frame.arg(0).metadata();
  const TensorMetadata result(DType::kI64, {input.num_elements(), input.rank()});
  if (input.num_elements() == 0) return SetEmpty(frame, 0, result);
  ShaderCall call(frame);
  GpuBuffer* const x = call.Argument(0);
  GpuBuffer* const y = call.Temporary(std::max<uint64_t>(GpuByteSize(result), sizeof(uint32_t)));
  const std::array written = {y};
  GpuBuffer* const count =
      Compact(call, Mark::kNotZero, input, x, {&x, 1}, {written.data(), input.rank() > 0 ? size_t{1} : size_t{0}});
  return call.FinishCounted(count, {{{y, result, 0}}});
}

// Of a vector.
Status FindUnique(KernelFrame& frame) {
  const TensorMetadata& input = frame.arg(0).metadata();
  const TensorMetadata indices(frame.attrs().GetOr("out_idx", DType::kI32), input.shape);
  if (input.num_elements() == 0) {
    TANDEM_RETURN_IF_ERROR(SetEmpty(frame, 0, input));
    return SetEmpty(frame, 1, indices);
  }
  ShaderCall call(frame);
  const auto size = static_cast<uint64_t>(input.num_elements());
  GpuBuffer* const x = call.Argument(0);
  const SortedRows sorted = SortRows(call, x, input.dtype, 1, size, SortOrder::kAnyOrder);
  GpuBuffer* const heads = call.Temporary(size * sizeof(uint32_t));
  GpuBuffer* const numbers = call.Temporary(size * sizeof(uint32_t));
  GpuBuffer* const y = call.Temporary(GpuByteSize(input));
  GpuBuffer* const places = call.Temporary(GpuByteSize(indices));
  Launch launch;
  launch.workgroups = LinearWorkgroups(size, kWorkgroup, call.limits());
  launch.parameters = {static_cast<uint32_t>(size)};
  launch.variant = ShaderVariant(kHeads, {static_cast<int32_t>(input.dtype)});
  call.Run(launch, {x, sorted.keys, sorted.places, heads});
  const std::array read = {x, heads};
  const std::array written = {y, numbers};
  GpuBuffer* const count = Compact(call, Mark::kFirst, input, heads, read, written);
  launch.variant = ShaderVariant(kNumbers, {indices.dtype == DType::kI64});
  call.Run(launch, {heads, numbers, places});
  const std::array<ShaderCall::Counted, 2> results = {{{y, input, 0}, {places, indices, -1}}};
  return call.FinishCounted(count, results);
}

Status UniqueKernel(KernelFrame& frame) {
  const TensorMetadata& x = frame.arg(0).metadata();
  if (x.rank() != 1) return InvalidArgument("x must be a vector, got x: ", x);
  return FindUnique(frame);
}

Status UniqueV2Kernel(KernelFrame& frame) {
  const Tensor& axis = frame.arg(1);
  if (axis.shape().rank() != 1 || axis.num_elements() > 1) {
    return InvalidArgument("axis must be a vector of one element, or of none if x is a vector, got x: ",
                           frame.arg(0).metadata(), ", axis: ", axis.metadata());
  }
  if (axis.num_elements() == 1) {
    TANDEM_RETURN_IF_ERROR(NormalizeAxis(HostInput(axis.metadata(), &axis).Int(0), 1, "axis").status());
  }
  return FindUnique(frame);
}

// Slices are compared by the host, elements here.
bool IsOfVector(std::span<const TensorMetadata* const> args, const OpAttrsRef&, std::span<const TensorMetadata>) {
  return args[0]->rank() == 1;
}

}  // namespace

std::vector<ShaderVariant> CompactVariants() {
  std::vector<ShaderVariant> variants;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kI32, DType::kU32}) {
    variants.push_back(CompactVariant(Mark::kNotZero, Step::kCount, dtype, 0));
    for (const int rank : {0, 1, 3}) variants.push_back(CompactVariant(Mark::kNotZero, Step::kPut, dtype, rank));
    variants.push_back(CompactVariant(Mark::kFirst, Step::kPut, dtype, 0));
    variants.emplace_back(kHeads, std::initializer_list<int32_t>{static_cast<int32_t>(dtype)});
  }
  variants.push_back(CompactVariant(Mark::kFirst, Step::kCount, DType::kU32, 0));
  variants.push_back(CompactVariant(Mark::kFirst, Step::kAdd, DType::kU32, 0));
  for (const int32_t is_long : {0, 1}) variants.emplace_back(kNumbers, std::initializer_list<int32_t>{is_long});
  return variants;
}

Status RegisterCompactKernels(ShaderOpHandler& handler) {
  const DTypeSet dtypes = AllDTypes(handler.gpu().limits());
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&WhereKernel>("tf.Where", kDTypesOfGpu),
      KernelEntryOf<&UniqueKernel>("tf.Unique", kDTypesOfGpu),
  };
  TANDEM_RETURN_IF_ERROR(handler.AddKernels(kKernels, dtypes));
  if constexpr (!IsInBuild("tf.UniqueV2")) return Status();
  return handler.AddKernel("tf.UniqueV2", dtypes, MakeKernel<&UniqueV2Kernel>().OnlyIf(&IsOfVector));
}

}  // namespace tandem::shader
