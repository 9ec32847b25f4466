// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/counting/bincount.h"

#include <algorithm>
#include <string>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/indexing/scatter_calls.h"
#include "kernels/indexing/slice_numbers.h"
#include "kernels/shape/movement.h"
#include "kernels/unrolled_text.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 256;
// Bins that a workgroup has of its own: half of the shared memory that all devices have.
constexpr int64_t kMostNear = 2048;
// Integers that an invocation counts before its workgroup adds up its bins, which takes each of them a step.
constexpr uint64_t kNearRounds = 16;

// What is added to a bin, or put there.
enum class Adds : int32_t {
  kOne,
  kWeight,
  kBinary,  // a one, however often the integer occurs
};

bool IsLong(DType dtype) { return DTypeSize(dtype) == 8; }

// Values: dtype of the integers; Adds; dtype of the bins, whose words are counted in; whether workgroups have bins.
ShaderText ComposeBincount(const ShaderSource& source, std::span<const int32_t> values) {
  const auto adds = static_cast<Adds>(values[1]);
  const auto dtype = static_cast<DType>(values[2]);
  const bool is_long = IsLong(dtype);
  ShaderBuilder builder(source.name);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup).Constant("WORDS", is_long ? 2 : 1);
  builder.Constant("MOST_NEAR", kMostNear);
  for (const char* name : {"count", "row", "size"}) builder.Parameter(name);
  DeclareIndices(builder, static_cast<DType>(values[0]));
  const std::string type = is_long ? "vec2u" : "u32";
  if (adds == Adds::kWeight) builder.Buffer("weights", BufferAccess::kRead, type);
  builder.Buffer("bins", BufferAccess::kReadWrite, "atomic<u32>");
  if (adds == Adds::kBinary) {
    const uint32_t word = dtype == DType::kF32 ? 0x3f800000 : dtype == DType::kF64 ? 0x3ff00000 : 1;
    builder.Constant("LOW_OF_ONE", dtype == DType::kF64 ? 0 : word);
    builder.Constant("HIGH_OF_ONE", dtype == DType::kF64 ? word : 0);
  } else {
    const std::string one = is_long ? "vec2u(1u, 0u)" : "1u";
    builder.Text("fn weight_of(i: u32) -> " + type + " { return " +
                 (adds == Adds::kWeight ? std::string("weights[i]") : one) + "; }\n");
  }
  return builder.Finish(
      Unroll(source.text, {{"NEAR", values[3]}, {"BINARY", adds == Adds::kBinary}, {"LONG", is_long}}));
}

// Value: dtype of the integers.
ShaderText ComposeNumbers(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup);
  for (const char* name : {"count", "row", "size"}) builder.Parameter(name);
  DeclareIndices(builder, static_cast<DType>(values[0]));
  builder.Buffer("bins", BufferAccess::kReadWrite, "u32");
  return builder.Finish(source.text);
}

// Value: dtype of the result.
ShaderText ComposeCounts(const ShaderSource& source, std::span<const int32_t> values) {
  ShaderBuilder builder(source.name);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup).Parameter("count");
  DeclareTypes(builder, static_cast<DType>(values[0]));
  builder.Buffer("counts", BufferAccess::kRead, "u32").Buffer("y", BufferAccess::kReadWrite, "T");
  return builder.Finish(source.text);
}

const ShaderSource kBincount = {"bincount", &ComposeBincount, kBincountText};
const ShaderSource kNumbers = {"bin_numbers", &ComposeNumbers, kBinNumbersText};
const ShaderSource kCounts = {"counts", &ComposeCounts, kCountsText};

ShaderVariant BincountVariant(DType integers, Adds adds, DType bins, bool is_near) {
  return ShaderVariant(
      kBincount, {static_cast<int32_t>(integers), static_cast<int32_t>(adds), static_cast<int32_t>(bins), is_near});
}

// One count: rows of integers, and a row of bins for each.
class Counting {
 public:
  Counting(ShaderCall& call, const TensorMetadata& integers, const TensorMetadata& bins, int64_t rows)
      : call_(call), integers_(integers), bins_(bins), rows_(rows) {}

  void Run(Adds adds, GpuBuffer* integers, GpuBuffer* weights, GpuBuffer* bins) {
    const bool is_float = kFloatDTypes.Contains(bins_.dtype);
    if (adds == Adds::kWeight && is_float) return AddFloats(integers, weights, bins);
    if (adds == Adds::kOne && is_float) {
      GpuBuffer* const counts = MakeZeros(call_, bins_.num_elements());
      Count(adds, DType::kU32, integers, weights, counts);
      Launch launch;
      launch.variant = ShaderVariant(kCounts, {static_cast<int32_t>(bins_.dtype)});
      launch.parameters = {Low(bins_.num_elements())};
      launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(bins_.num_elements()), kWorkgroup, call_.limits());
      return call_.Run(launch, {counts, bins});
    }
    Clear(call_, bins_, bins);
    Count(adds, bins_.dtype, integers, weights, bins);
  }

 private:
  LaunchParameters Parameters() const {
    return {Low(integers_.num_elements()), Low(integers_.num_elements() / rows_), Low(bins_.num_elements() / rows_)};
  }

  // To bins that are 0.
  void Count(Adds adds, DType dtype, GpuBuffer* integers, GpuBuffer* weights, GpuBuffer* bins) {
    const auto count = static_cast<uint64_t>(integers_.num_elements());
    const bool is_near = rows_ == 1 && bins_.num_elements() <= kMostNear && adds != Adds::kBinary && !IsLong(dtype) &&
                         count > kWorkgroup;
    Launch launch;
    launch.variant = BincountVariant(integers_.dtype, adds, dtype, is_near);
    launch.parameters = Parameters();
    launch.workgroups =
        LinearWorkgroups(is_near ? (count + kNearRounds - 1) / kNearRounds : count, kWorkgroup, call_.limits());
    if (adds == Adds::kWeight) {
      call_.Run(launch, {integers, weights, bins});
    } else {
      call_.Run(launch, {integers, bins});
    }
  }

  // Sums of floating-point numbers are added up in their order, which takes a segment for each bin.
  void AddFloats(GpuBuffer* integers, GpuBuffer* weights, GpuBuffer* bins) {
    const TensorMetadata numbers(DType::kI32, {integers_.num_elements()});
    GpuBuffer* const segments = call_.Temporary(std::max<uint64_t>(GpuByteSize(numbers), kWordBytes));
    Launch launch;
    launch.variant = ShaderVariant(kNumbers, {static_cast<int32_t>(integers_.dtype)});
    launch.parameters = Parameters();
    launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(integers_.num_elements()), kWorkgroup, call_.limits());
    call_.Run(launch, {integers, segments});
    const TensorMetadata flat(bins_.dtype, {bins_.num_elements()});
    ScatterToZeros(call_, SliceNumbers::OfSegments(numbers, flat.shape), flat, segments, weights, bins);
  }

  ShaderCall& call_;
  const TensorMetadata& integers_;
  const TensorMetadata& bins_;
  const int64_t rows_;
};

// Of the integers, the number of bins, and weights, of which there may be none.
Status BincountOfRows(KernelFrame& frame, int64_t rows) {
  const TensorMetadata& integers = frame.arg(0).metadata();
  const TensorMetadata& bins = frame.result_metadata(0);
  ShaderCall call(frame);
  if (bins.num_elements() == 0) return call.Finish();
  if (integers.num_elements() == 0) {
    Clear(call, bins, call.Result(0));
    return call.Finish();
  }
  // Numbers of bins are words; 0xffffffff stands for none.
  if (bins.num_elements() > INT32_MAX) {
    return ResourceExhausted("expected at most 2^31-1 bins, got ", bins.num_elements());
  }
  const bool has_weights = frame.arg(2).metadata().num_elements() > 0;
  const Adds adds = frame.attrs().GetOr("binary_output", false) ? Adds::kBinary
                    : has_weights                               ? Adds::kWeight
                                                                : Adds::kOne;
  Counting(call, integers, bins, rows)
      .Run(adds, call.Argument(0), adds == Adds::kWeight ? call.Argument(2) : nullptr, call.Result(0));
  return call.Finish();
}

Status BincountKernel(KernelFrame& frame) { return BincountOfRows(frame, 1); }

Status DenseBincountKernel(KernelFrame& frame) {
  const TensorShape& input = frame.arg(0).shape();
  return BincountOfRows(frame, input.rank() == 2 ? input.dim(0) : 1);
}

}  // namespace

std::vector<ShaderVariant> BincountVariants() {
  std::vector<ShaderVariant> variants;
  for (const DType integers : {DType::kI32, DType::kI64}) {
    for (const DType bins : {DType::kI32, DType::kI64, DType::kF32}) {
      variants.push_back(BincountVariant(integers, Adds::kBinary, bins, false));
      if (bins == DType::kF32) continue;
      variants.push_back(BincountVariant(integers, Adds::kOne, bins, false));
      variants.push_back(BincountVariant(integers, Adds::kWeight, bins, false));
    }
    variants.push_back(BincountVariant(integers, Adds::kOne, DType::kU32, true));
    variants.push_back(BincountVariant(integers, Adds::kWeight, DType::kI32, true));
    variants.emplace_back(kNumbers, std::initializer_list<int32_t>{static_cast<int32_t>(integers)});
  }
  variants.emplace_back(kCounts, std::initializer_list<int32_t>{static_cast<int32_t>(DType::kF32)});
  return variants;
}

Status RegisterBincountKernels(ShaderOpHandler& handler) {
  static constexpr DTypeSet kBins = {DType::kI32, DType::kI64, DType::kF32, DType::kF64};
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&BincountKernel>("tf.Bincount", kBins),
      KernelEntryOf<&DenseBincountKernel>("tf.DenseBincount", kBins),
  };
  return handler.AddKernels(kKernels, AllDTypes(handler.gpu().limits()));
}

}  // namespace tandem::shader
