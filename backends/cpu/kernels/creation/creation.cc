// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels that make tensors: Const, Fill, Range, LinSpace, ZerosLike, OnesLike, OneHot, Identity.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "kernels/kernels.h"
#include "kernels/polls.h"
#include "kernels/shape/shape_movement.h"
#include "tandem/host_context.h"

namespace tandem::cpu {
namespace {

// Of overwriting a tensor, for each of its elements and the argument's.
constexpr float kFillCost = 0.2f;

StatusOr<Tensor> IdentityKernel(const Tensor& input) { return input; }

Status ConstKernel(KernelFrame& frame) {
  TensorAttr value;
  frame.attrs().Get("value", &value);
  void* out = frame.AllocateResult(0);
  const size_t size = value.metadata.byte_size();
  if (out != nullptr && size > 0) std::memcpy(out, value.data, size);
  return Status();
}

StatusOr<Tensor> StringConstKernel(KernelFrame& frame) {
  TensorAttr value;
  frame.attrs().Get("value", &value);
  return MakeString(value.metadata.shape, value.strings, frame.host().device(), frame.host().allocator());
}

StatusOr<Tensor> FillKernel(const Tensor&, DenseArg value, KernelFrame& frame) {
  return MakeScalar(frame.result_metadata(0), value.tensor().data(), frame.host().device());
}

void Repeat(const KernelFrame& frame, std::byte* out, int64_t count, const void* value, size_t element_size) {
  const double cost = static_cast<double>(element_size) / kCopyBytesPerNanosecond;
  frame.ParallelFor(count, cost, [&](int64_t begin, int64_t end) {
    FillElements(out + static_cast<size_t>(begin) * element_size, end - begin, value, element_size);
  });
}

Status StringFillKernel(KernelFrame& frame) {
  ElementSource value;
  TANDEM_RETURN_IF_ERROR(value.Init(frame, 1));
  ElementSink sink;
  if (!sink.Init(frame, 0)) return Status();
  Repeat(frame, sink.data(), frame.result_metadata(0).num_elements(), value.data(), value.element_size());
  sink.Finish(frame);
  return Status();
}

// A number of f16 or bf16 comes from f64 by way of f32.
template <typename T>
T RoundTo(double value) {
  if constexpr (sizeof(T) == 2) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

// Calls fn(from, count) for parts of [begin, end) so short that positions in them are 32-bit numbers, which vectors of
// the baseline can convert to f64.
template <typename Fn>
void ForEachBlock(int64_t begin, int64_t end, const Fn& fn) {
  constexpr int64_t kBlock = int64_t{1} << 20;
  for (; begin < end; begin += kBlock) fn(begin, static_cast<int32_t>(std::min(kBlock, end - begin)));
}

template <typename T>
Status RangeKernel(KernelFrame& frame) {
  T* out = frame.AllocateResult<T>(0);
  if (out == nullptr) return Status();
  // Integers are counted in 64 bits, and where a step past the limit would overflow it is not taken.
  constexpr bool kIsInteger = std::is_integral_v<T>;
  using Arithmetic = std::conditional_t<kIsInteger, uint64_t, double>;
  const auto read = [&frame](size_t i) {
    const T value = *static_cast<const T*>(frame.arg(i).data());
    if constexpr (kIsInteger) {
      return static_cast<uint64_t>(static_cast<int64_t>(value));
    } else {
      return static_cast<double>(value);
    }
  };
  const Arithmetic start = read(0);
  const Arithmetic delta = read(2);
  frame.ParallelFor(frame.result_metadata(0).num_elements(), 1, [&](int64_t begin, int64_t end) {
    if constexpr (kIsInteger) {
      for (int64_t i = begin; i < end; ++i) out[i] = static_cast<T>(start + static_cast<uint64_t>(i) * delta);
    } else {
      ForEachBlock(begin, end, [&](int64_t from, int32_t count) {
        for (int32_t i = 0; i < count; ++i) {
          out[from + i] = RoundTo<T>(start + (static_cast<double>(from) + i) * delta);
        }
      });
    }
  });
  return Status();
}

template <typename T>
Status LinSpaceKernel(DenseArg start_arg, DenseArg stop_arg, KernelFrame& frame) {
  T* out = frame.AllocateResult<T>(0);
  if (out == nullptr) return Status();
  const int64_t last = frame.result_metadata(0).num_elements() - 1;
  const auto start = static_cast<double>(*start_arg.data<T>());
  const auto stop = static_cast<double>(*stop_arg.data<T>());
  // The distance of two numbers of f64 may be too large for one.
  const double scale = std::isfinite(stop - start) ? 1 : 0.5;
  const double first = start * scale;
  const double step = last == 0 ? 0 : (stop * scale - first) / static_cast<double>(last);
  frame.ParallelFor(last, 1, [&](int64_t begin, int64_t end) {
    ForEachBlock(begin, end, [&](int64_t from, int32_t count) {
      T* to = out + from;
      const auto base = static_cast<double>(from);
      if (scale == 1) {
        for (int32_t i = 0; i < count; ++i) to[i] = RoundTo<T>(first + (base + i) * step);
      } else {
        for (int32_t i = 0; i < count; ++i) to[i] = RoundTo<T>((first + (base + i) * step) / scale);
      }
    });
  });
  out[last] = *stop_arg.data<T>();
  out[0] = *start_arg.data<T>();
  return Status();
}

Status ZerosLikeKernel(KernelFrame& frame) {
  auto* out = static_cast<std::byte*>(frame.ForwardOrAllocateResult(0, {0}));
  if (out == nullptr) return Status();
  const auto size = static_cast<int64_t>(frame.result_metadata(0).byte_size());
  frame.ParallelFor(size, 1 / kCopyBytesPerNanosecond,
                    [&](int64_t begin, int64_t end) { std::memset(out + begin, 0, static_cast<size_t>(end - begin)); });
  return Status();
}

Status EmptyStringsKernel(KernelFrame& frame) {
  ElementSink sink;
  if (sink.Init(frame, 0)) sink.Finish(frame);
  return Status();
}

template <typename T>
Status OnesLikeKernel(KernelFrame& frame) {
  T* out = frame.ForwardOrAllocateResult<T>(0, {0});
  if (out == nullptr) return Status();
  const T one(1);
  Repeat(frame, reinterpret_cast<std::byte*>(out), frame.result_metadata(0).num_elements(), &one, sizeof(T));
  return Status();
}

// Where OneHot puts what: blocks of `depth` rows of `inner` elements, for `inner` indices each.
struct OneHotLayout {
  OneHotLayout(const TensorShape& shape, int64_t axis_attr) {
    const int axis = axis_attr == -1 ? shape.rank() - 1 : static_cast<int>(axis_attr);
    depth = shape.dim(axis);
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape.dim(i);
    blocks = shape.num_elements() / depth / inner;
  }
  int64_t blocks;
  int64_t depth;
  int64_t inner = 1;
};

template <typename Index>
Status OneHotKernel(DenseArg indices, KernelFrame& frame) {
  ElementSource on;
  ElementSource off;
  TANDEM_RETURN_IF_ERROR(on.Init(frame, 2));
  TANDEM_RETURN_IF_ERROR(off.Init(frame, 3));
  ElementSink sink;
  if (!sink.Init(frame, 0)) return Status();
  const TensorShape& shape = frame.result_metadata(0).shape;
  if (shape.num_elements() > 0) {
    const OneHotLayout layout(shape, frame.attrs().GetOr<int64_t>("axis", -1));
    const size_t size = on.element_size();
    const size_t block_size = static_cast<size_t>(layout.depth * layout.inner) * size;
    const double cost = static_cast<double>(block_size) / kCopyBytesPerNanosecond + 2.0 * layout.inner;
    frame.ParallelFor(layout.blocks, cost, [&](int64_t begin, int64_t end) {
      StopPoll poll(kPollSteps);
      std::byte* block = sink.data() + static_cast<size_t>(begin) * block_size;
      FillElements(block, (end - begin) * layout.depth * layout.inner, off.data(), size);
      const Index* index = indices.data<Index>() + begin * layout.inner;
      for (; begin < end; ++begin, block += block_size) {
        for (int64_t i = 0; i < layout.inner && !poll.Stops(); ++i) {
          const auto hot = static_cast<int64_t>(*index++);
          if (hot < 0 || hot >= layout.depth) continue;
          std::memcpy(block + static_cast<size_t>(hot * layout.inner + i) * size, on.data(), size);
        }
      }
    });
  }
  sink.Finish(frame);
  return Status();
}

Status AnyOneHotKernel(DenseArg indices, KernelFrame& frame) {
  switch (indices.dtype()) {
    case DType::kU8:
      return OneHotKernel<uint8_t>(indices, frame);
    case DType::kI8:
      return OneHotKernel<int8_t>(indices, frame);
    case DType::kI32:
      return OneHotKernel<int32_t>(indices, frame);
    default:
      return OneHotKernel<int64_t>(indices, frame);
  }
}

constexpr CostModel kMovement = {0, &MovementCost};

template <typename T>
constexpr KernelEntry RangeOf() {
  return KernelEntryOf<&RangeKernel<T>>("tf.Range", {kDTypeOf<T>}, kMovement);
}
template <typename T>
constexpr KernelEntry LinSpaceOf() {
  return KernelEntryOf<&LinSpaceKernel<T>>("tf.LinSpace", {kDTypeOf<T>}, kMovement);
}

}  // namespace

Status RegisterCreationKernels(KernelOpHandler& handler) {
  static constexpr DTypeSet kString = {DType::kString};
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&ConstKernel>("tf.Const", kFixedSizeDTypes, kMovement),
      KernelEntryOf<&StringConstKernel>("tf.Const", kString, kMovement),
      KernelEntryOf<&FillKernel>("tf.Fill", kFixedSizeDTypes, {0}),
      KernelEntryOf<&StringFillKernel>("tf.Fill", kString, kMovement),
      KernelEntryOf<&ZerosLikeKernel>("tf.ZerosLike", kFixedSizeDTypes, {kFillCost}),
      KernelEntryOf<&EmptyStringsKernel>("tf.ZerosLike", kString, kMovement),
      KernelEntryOf<&AnyOneHotKernel>("tf.OneHot", DTypeSet::All(), kMovement),
      KernelEntryOf<&IdentityKernel>("tf.Identity", DTypeSet::All(), {0}),
#define TANDEM_ONES_LIKE(name, type) KernelEntryOf<&OnesLikeKernel<type>>("tf.OnesLike", {DType::name}, {kFillCost}),
      TANDEM_FOR_EACH_FIXED_DTYPE(TANDEM_ONES_LIKE)
#undef TANDEM_ONES_LIKE
          LinSpaceOf<BFloat16>(),
      LinSpaceOf<Float16>(),
      LinSpaceOf<float>(),
      LinSpaceOf<double>(),
      RangeOf<BFloat16>(),
      RangeOf<Float16>(),
      RangeOf<float>(),
      RangeOf<double>(),
      RangeOf<int8_t>(),
      RangeOf<int16_t>(),
      RangeOf<int32_t>(),
      RangeOf<int64_t>(),
      RangeOf<uint16_t>(),
      RangeOf<uint32_t>(),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
