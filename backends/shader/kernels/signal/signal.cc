// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// FFT, IFFT, RFFT, IRFFT on devices that have f64 and c64: in f64, rounded once, in n log n steps for every n. Lengths
// whose prime factors are small take a pass for each factor; others are a convolution (L. Bluestein, "A linear
// filtering approach to the computation of discrete Fourier transform", 1970) of a power of two.

#include <bit>
#include <string_view>
#include <utility>

#include "kernel_texts.h"
#include "kernels/element_types.h"
#include "kernels/indexing/scatter_calls.h"
#include "kernels/kernels.h"
#include "kernels/shape/movement.h"
#include "kernels/unrolled_text.h"
#include "tandem/shader/shader_call.h"

namespace tandem::shader {

namespace {

constexpr uint32_t kWorkgroup = 256;
constexpr uint32_t kNumberBytes = 16;  // a complex number of f64
// The largest factor that a pass is for.
constexpr int kMaxRadix = 31;
// Four times a length is a word.
constexpr int64_t kMostNumbers = int64_t{1} << 28;

// What the argument and the result are.
enum class Kind : int32_t { kForward, kInverse, kFromReal, kToReal };

constexpr std::string_view kNumber = "vec2<f64>";

ShaderBuilder Begin(const ShaderSource& source, std::initializer_list<const char*> parameters) {
  ShaderBuilder builder(source.name);
  builder.Workgroup(kWorkgroup).Constant("WORKGROUP", kWorkgroup).Text(kRootOfUnityText);
  for (const char* name : parameters) builder.Parameter(name);
  return builder;
}

ShaderText ComposeRoots(const ShaderSource& source, std::span<const int32_t>) {
  ShaderBuilder builder = Begin(source, {"size"});
  return builder.Buffer("roots", BufferAccess::kReadWrite, kNumber).Finish(source.text);
}

// Values: Kind; whether numbers are multiplied by a chirp.
ShaderText ComposePack(const ShaderSource& source, std::span<const int32_t> values) {
  const auto kind = static_cast<Kind>(values[0]);
  ShaderBuilder builder = Begin(source, {"count", "stride", "size", "given"});
  builder.Buffer("x", BufferAccess::kRead, kind == Kind::kFromReal ? "f32" : "c64");
  builder.Buffer("y", BufferAccess::kReadWrite, kNumber);
  return builder.Finish(Unroll(source.text, {{"REAL", kind == Kind::kFromReal},
                                             {"HALF", kind == Kind::kToReal},
                                             {"INVERSE", kind == Kind::kInverse},
                                             {"CHIRP", values[1]}}));
}

// The same.
ShaderText ComposeUnpack(const ShaderSource& source, std::span<const int32_t> values) {
  const auto kind = static_cast<Kind>(values[0]);
  ShaderBuilder builder = Begin(source, {"count", "taken", "stride", "size"});
  builder.Buffer("x", BufferAccess::kRead, kNumber);
  builder.Buffer("y", BufferAccess::kReadWrite, kind == Kind::kToReal ? "f32" : "c64");
  return builder.Finish(Unroll(
      source.text, {{"HALF", kind == Kind::kToReal}, {"INVERSE", kind == Kind::kInverse}, {"CHIRP", values[1]}}));
}

// Value: the radix.
ShaderText ComposePass(const ShaderSource& source, std::span<const int32_t> values) {
  const int radix = values[0];
  ShaderBuilder builder = Begin(source, {"count", "size", "groups", "length"});
  builder.Constant("RADIX", static_cast<uint32_t>(radix));
  builder.Buffer("x", BufferAccess::kRead, kNumber).Buffer("roots", BufferAccess::kRead, kNumber);
  builder.Buffer("y", BufferAccess::kReadWrite, kNumber);
  return builder.Finish(Unroll(source.text, {{"RADIX", radix},
                                             {"OTHERS", radix - 1},
                                             {"TWO", radix == 2},
                                             {"FOUR", radix == 4},
                                             {"UNROLLED", radix == 2 || radix == 4}}));
}

ShaderText ComposeFilter(const ShaderSource& source, std::span<const int32_t>) {
  ShaderBuilder builder = Begin(source, {"stride", "size"});
  return builder.Buffer("y", BufferAccess::kReadWrite, kNumber).Finish(source.text);
}

ShaderText ComposeProduct(const ShaderSource& source, std::span<const int32_t>) {
  ShaderBuilder builder = Begin(source, {"count", "stride"});
  builder.Buffer("x", BufferAccess::kRead, kNumber).Buffer("one_row", BufferAccess::kRead, kNumber);
  return builder.Buffer("y", BufferAccess::kReadWrite, kNumber).Finish(source.text);
}

// Made when they are first needed, so that builds for devices without f64 have none of the texts.
struct Sources {
  ShaderSource roots = {"fft_roots", &ComposeRoots, kFftRootsText};
  ShaderSource pack = {"fft_pack", &ComposePack, kFftPackText};
  ShaderSource unpack = {"fft_unpack", &ComposeUnpack, kFftUnpackText};
  ShaderSource pass = {"fft_pass", &ComposePass, kFftPassText};
  ShaderSource filter = {"fft_filter", &ComposeFilter, kFftFilterText};
  ShaderSource product = {"fft_product", &ComposeProduct, kFftProductText};

  static const Sources& Get() {
    static const Sources sources;
    return sources;
  }
};

bool HasSmallFactors(int64_t n) {
  for (int factor = 2; factor <= kMaxRadix; ++factor) {
    while (n % factor == 0) n /= factor;
  }
  return n == 1;
}

// Transforms of rows of `size` numbers each.
class Transform {
 public:
  Transform(ShaderCall& call, int64_t size, int64_t rows)
      : call_(call),
        size_(size),
        rows_(rows),
        has_chirp_(!HasSmallFactors(size)),
        stride_(has_chirp_ ? static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * size - 1))) : size) {}

  // `x` has rows of `given` numbers, `y` of `taken`.
  void Run(Kind kind, GpuBuffer* x, int64_t given, GpuBuffer* y, int64_t taken) {
    GpuBuffer* const roots = Numbers(stride_);
    Issue(sources_.roots, {}, {Low(stride_)}, stride_, {roots});
    from_ = Numbers(rows_ * stride_);
    to_ = Numbers(rows_ * stride_);
    const auto packs = {static_cast<int32_t>(kind), int32_t{has_chirp_}};
    Issue(sources_.pack, packs, {Low(rows_ * stride_), Low(stride_), Low(size_), Low(given)}, rows_ * stride_,
          {x, from_});
    if (has_chirp_) {
      GpuBuffer* const filter = MakeFilter(roots);
      RunPasses(roots, rows_, from_, to_);
      Issue(sources_.product, {}, {Low(rows_ * stride_), Low(stride_)}, rows_ * stride_, {from_, filter, to_});
      std::swap(from_, to_);
    }
    RunPasses(roots, rows_, from_, to_);
    Issue(sources_.unpack, packs, {Low(rows_ * taken), Low(taken), Low(stride_), Low(size_)}, rows_ * taken,
          {from_, y});
  }

 private:
  GpuBuffer* Numbers(int64_t count) { return call_.Temporary(static_cast<uint64_t>(count) * kNumberBytes); }

  void Issue(const ShaderSource& source, std::initializer_list<int32_t> values,
             std::initializer_list<uint32_t> parameters, int64_t items, std::initializer_list<GpuBuffer*> buffers) {
    Launch launch;
    launch.variant = ShaderVariant(source, values);
    launch.parameters = parameters;
    launch.workgroups = LinearWorkgroups(static_cast<uint64_t>(items), kWorkgroup, call_.limits());
    call_.Run(launch, buffers);
  }

  // The transformed one; its buffers are its own.
  GpuBuffer* MakeFilter(GpuBuffer* roots) {
    GpuBuffer* filter = Numbers(stride_);
    GpuBuffer* other = Numbers(stride_);
    Issue(sources_.filter, {}, {Low(stride_), Low(size_)}, stride_, {filter});
    RunPasses(roots, 1, filter, other);
    return filter;
  }

  // What is in `from` is transformed, and there again; the other one is for what is in between.
  void RunPasses(GpuBuffer* roots, int64_t rows, GpuBuffer*& from, GpuBuffer*& to) {
    int64_t rest = stride_;
    int64_t groups = 1;
    for (int radix = 4; rest > 1; radix = radix == 4 ? 2 : radix == 2 ? 3 : radix + 2) {
      for (; rest % radix == 0; rest /= radix, groups *= radix) {
        const int64_t length = stride_ / (groups * radix);
        Issue(sources_.pass, {radix}, {Low(rows * stride_ / radix), Low(stride_), Low(groups), Low(length)},
              rows * stride_ / radix, {from, roots, to});
        std::swap(from, to);
      }
    }
  }

  const Sources& sources_ = Sources::Get();
  ShaderCall& call_;
  const int64_t size_;
  const int64_t rows_;
  const bool has_chirp_;
  const int64_t stride_;  // numbers of a row while it is transformed
  GpuBuffer* from_ = nullptr;
  GpuBuffer* to_ = nullptr;
};

Status TransformRows(KernelFrame& frame, Kind kind, int64_t size) {
  const TensorShape& input = frame.arg(0).shape();
  const TensorMetadata& result = frame.result_metadata(0);
  ShaderCall call(frame);
  GpuBuffer* const y = call.Result(0);
  if (result.num_elements() == 0) return call.Finish();
  if (input.num_elements() == 0) {
    Clear(call, result, y);
    return call.Finish();
  }
  const int64_t taken = result.dim(result.rank() - 1);
  const int64_t rows = result.num_elements() / taken;
  Transform transform(call, size, rows);
  if (size > kMostNumbers) return ResourceExhausted("expected at most 2^28 numbers in a transform, got ", size);
  transform.Run(kind, call.Argument(0), input.dim(input.rank() - 1), y, taken);
  return call.Finish();
}

template <Kind kind>
Status ComplexKernel(KernelFrame& frame) {
  return TransformRows(frame, kind, frame.arg(0).shape().dim(frame.arg(0).shape().rank() - 1));
}

template <Kind kind>
Status RealKernel(KernelFrame& frame) {
  return TransformRows(frame, kind, *static_cast<const int32_t*>(frame.arg(1).data()));
}

}  // namespace

Status RegisterSignalKernels(ShaderOpHandler& handler) {
  if constexpr (!kMayHaveAllDTypes) return Status();
  if (!HasAllDTypes(handler.gpu().limits())) return Status();
  static constexpr DTypeSet kComplex = {DType::kC64};
  static constexpr DTypeSet kReal = {DType::kF32};  // by which those of real numbers are looked up
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&ComplexKernel<Kind::kForward>>("tf.FFT", kComplex),
      KernelEntryOf<&ComplexKernel<Kind::kInverse>>("tf.IFFT", kComplex),
      KernelEntryOf<&RealKernel<Kind::kFromReal>>("tf.RFFT", kReal),
      KernelEntryOf<&RealKernel<Kind::kToReal>>("tf.IRFFT", kReal),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::shader
