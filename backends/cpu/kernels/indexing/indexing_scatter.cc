// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ScatterNd, TensorScatterUpdate, TensorScatterAdd, UnsortedSegmentSum: slices put or added where indices say.
//
// Each part of the result belongs to one thread, which goes through all updates and takes those for its part, in order:
// so results do not depend on the number of threads.

#include <algorithm>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include "kernels/elementwise/elementwise_rows.h"
#include "kernels/indexing/indexing_rows.h"
#include "kernels/polls.h"
#include "kernels/shape/shape_movement.h"
#include "tandem/work_queue.h"

namespace tandem::cpu {
namespace {

// Which slice of the result each update is for; negative for none.
struct Targets {
  const int64_t* numbers;
  int64_t count;
  int64_t num_slices;
};

// Calls fn(target, update) with the numbers of a slice of the result and of the update for it, for each update.
template <typename Fn>
void ForEachUpdate(const KernelFrame& frame, const Targets& targets, double cost_per_update, const Fn& fn) {
  constexpr double kNanosecondsAPoll = 500'000;
  const int64_t parts = std::clamp<int64_t>(frame.exec().work_queue().ParallelismLevel(), 1, targets.num_slices);
  const double cost = (1 + cost_per_update) * static_cast<double>(targets.count) / static_cast<double>(parts);
  const auto first_of = [&](int64_t part) {
    return targets.num_slices / parts * part + std::min(part, targets.num_slices % parts);
  };
  frame.ParallelFor(parts, cost, [&](int64_t begin, int64_t end) {
    const int64_t first = first_of(begin);
    const auto size = static_cast<uint64_t>(first_of(end) - first);
    const auto step = static_cast<int64_t>(1 + kNanosecondsAPoll / (1 + cost_per_update));
    InSteps(targets.count, step, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        const int64_t target = targets.numbers[i];
        if (static_cast<uint64_t>(target - first) < size) fn(target, i);
      }
    });
  });
}

struct Plus {
  template <typename T>
  static T Apply(T a, T b) {
    return static_cast<T>(a + b);
  }
};

struct Or {
  static uint8_t Apply(uint8_t a, uint8_t b) { return a | b; }
};

// out += updates, by Op.
template <typename Op, typename T>
void Accumulate(const KernelFrame& frame, const Targets& targets, int64_t slice_size, const T* updates, T* out) {
  if (targets.num_slices == 0 || slice_size == 0) return;
  if (slice_size == 1) {
    return ForEachUpdate(frame, targets, 1,
                         [&](int64_t target, int64_t i) { out[target] = Op::Apply(out[target], updates[i]); });
  }
  constexpr double kNanosecondsPerUpdate = 5;
  const double cost = kNanosecondsPerUpdate + 2 * sizeof(T) * static_cast<double>(slice_size) / kCopyBytesPerNanosecond;
  ForEachUpdate(frame, targets, cost, [&](int64_t target, int64_t i) {
    T* to = out + target * slice_size;
    const T* from = updates + i * slice_size;
    for (int64_t j = 0; j < slice_size; ++j) to[j] = Op::Apply(to[j], from[j]);
  });
}

void ConvertAll(const KernelFrame& frame, Row row, const void* from, size_t from_size, void* to, size_t to_size,
                int64_t count) {
  frame.ParallelFor(count, 0.3, [&](int64_t begin, int64_t end) {
    const void* operand = static_cast<const std::byte*>(from) + static_cast<size_t>(begin) * from_size;
    row(&operand, static_cast<std::byte*>(to) + static_cast<size_t>(begin) * to_size, end - begin);
  });
}

// The same in f32 for f16 and bf16, rounded once.
Status AccumulateHalves(const KernelFrame& frame, const Targets& targets, int64_t slice_size, const DenseArg& updates,
                        void* out) {
  const CastRows casts;
  const DType dtype = updates.dtype();
  const int64_t num_results = targets.num_slices * slice_size;
  const TaskArray<float> wide_updates(updates.size());
  const TaskArray<float> wide_out(num_results);
  if (wide_updates == nullptr || wide_out == nullptr) return Status::OutOfMemory();
  const Row widen = casts.Direct(dtype, DType::kF32);
  constexpr size_t kHalf = sizeof(Float16);
  constexpr size_t kFloat = sizeof(float);
  ConvertAll(frame, widen, updates.data<void>(), kHalf, wide_updates.get(), kFloat, updates.size());
  ConvertAll(frame, widen, out, kHalf, wide_out.get(), kFloat, num_results);
  Accumulate<Plus>(frame, targets, slice_size, wide_updates.get(), wide_out.get());
  ConvertAll(frame, casts.Direct(DType::kF32, dtype), wide_out.get(), kFloat, out, kHalf, num_results);
  return Status();
}

// Adds the updates to `out`. Integers of either sign add up alike, and complex numbers like two real ones.
Status AccumulateAny(const KernelFrame& frame, const Targets& targets, int64_t slice_size, const DenseArg& updates,
                     void* out) {
  const auto run = [&]<typename Op, typename T>(Op, std::type_identity<T>, int64_t size) {
    Accumulate<Op>(frame, targets, size, updates.data<T>(), static_cast<T*>(out));
    return Status();
  };
  switch (updates.dtype()) {
    case DType::kBool:
      return run(Or(), std::type_identity<uint8_t>(), slice_size);
    case DType::kF16:
    case DType::kBF16:
      return AccumulateHalves(frame, targets, slice_size, updates, out);
    case DType::kF32:
      return run(Plus(), std::type_identity<float>(), slice_size);
    case DType::kF64:
      return run(Plus(), std::type_identity<double>(), slice_size);
    case DType::kC64:
      return run(Plus(), std::type_identity<float>(), 2 * slice_size);
    default:
      break;
  }
  switch (DTypeSize(updates.dtype())) {
    case 1:
      return run(Plus(), std::type_identity<uint8_t>(), slice_size);
    case 2:
      return run(Plus(), std::type_identity<uint16_t>(), slice_size);
    case 4:
      return run(Plus(), std::type_identity<uint32_t>(), slice_size);
    default:
      return run(Plus(), std::type_identity<uint64_t>(), slice_size);
  }
}

void* AllocateZeros(KernelFrame& frame) {
  void* out = frame.AllocateResult(0);
  if (out == nullptr) return nullptr;
  const auto size = static_cast<int64_t>(frame.result_metadata(0).byte_size());
  frame.ParallelFor(size, 1 / kCopyBytesPerNanosecond, [out](int64_t begin, int64_t end) {
    std::memset(static_cast<std::byte*>(out) + begin, 0, static_cast<size_t>(end - begin));
  });
  return out;
}

// Result 0 with the elements of argument 0, in its memory if it may be taken over.
std::byte* CopyFirst(KernelFrame& frame, const DenseArg& tensor) {
  const auto* from = tensor.data<std::byte>();
  auto* out = static_cast<std::byte*>(frame.ForwardOrAllocateResult(0, {0}));
  if (out == nullptr || out == from) return out;
  const auto size = static_cast<int64_t>(frame.result_metadata(0).byte_size());
  frame.ParallelFor(size, 1 / kCopyBytesPerNanosecond, [out, from](int64_t begin, int64_t end) {
    std::memcpy(out + begin, from + begin, static_cast<size_t>(end - begin));
  });
  return out;
}

Status ScatterNdKernel(DenseArg indices, DenseArg updates, KernelFrame& frame) {
  SliceNumbers numbers;
  TANDEM_RETURN_IF_ERROR(numbers.Init(indices, frame.result_metadata(0).shape));
  void* out = AllocateZeros(frame);
  if (out == nullptr) return Status();
  const Targets targets = {numbers.data(), numbers.size(), numbers.num_slices()};
  return AccumulateAny(frame, targets, numbers.slice_size(), updates, out);
}

Status TensorScatterAddKernel(DenseArg tensor, DenseArg indices, DenseArg updates, KernelFrame& frame) {
  SliceNumbers numbers;
  TANDEM_RETURN_IF_ERROR(numbers.Init(indices, tensor.shape()));
  std::byte* out = CopyFirst(frame, tensor);
  if (out == nullptr) return Status();
  const Targets targets = {numbers.data(), numbers.size(), numbers.num_slices()};
  return AccumulateAny(frame, targets, numbers.slice_size(), updates, out);
}

// Strings are added by joining them, in the order of updates.
Status StringScatterNdKernel(DenseArg indices, const Tensor& updates, KernelFrame& frame) {
  SliceNumbers numbers;
  TANDEM_RETURN_IF_ERROR(numbers.Init(indices, frame.result_metadata(0).shape));
  ElementSource source;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 1));
  ElementSink sink;
  if (!sink.Init(frame, 0)) return Status();
  const auto* strings = reinterpret_cast<const std::string_view*>(source.data());
  auto* results = reinterpret_cast<std::string_view*>(sink.data());
  const int64_t num_results = frame.result_metadata(0).num_elements();
  const auto for_each = [&](const auto& fn) {
    const int64_t size = numbers.slice_size();
    StopPoll poll(kPollSteps);
    for (int64_t i = 0; i < updates.num_elements() && !poll.Stops(); ++i)
      fn(numbers.data()[i / size] * size + i % size, strings[i]);
  };
  // Of each result first how long it is, then where its next part goes in the text of all.
  TaskArray<int64_t> places(num_results);
  if (places == nullptr) return Status::OutOfMemory();
  std::fill_n(places.get(), num_results, int64_t{0});
  int64_t total = 0;
  for_each([&](int64_t target, std::string_view update) {
    places[static_cast<size_t>(target)] += static_cast<int64_t>(update.size());
    total += static_cast<int64_t>(update.size());
  });
  TANDEM_RETURN_IF_ERROR(KernelRun::CheckWanted());  // else lengths and strings may not agree
  const TaskArray<char> text(total);
  if (text == nullptr) return Status::OutOfMemory();
  int64_t begin = 0;
  for (int64_t i = 0; i < num_results; ++i) {
    int64_t& place = places[static_cast<size_t>(i)];
    results[i] = std::string_view(text.get() + begin, static_cast<size_t>(place));
    begin += std::exchange(place, begin);
  }
  for_each([&](int64_t target, std::string_view update) {
    int64_t& place = places[static_cast<size_t>(target)];
    std::copy(update.begin(), update.end(), text.get() + place);
    place += static_cast<int64_t>(update.size());
  });
  sink.Finish(frame);
  return Status();
}

void PutSlices(const KernelFrame& frame, const SliceNumbers& numbers, size_t element_size, const std::byte* updates,
               std::byte* out) {
  const size_t bytes = static_cast<size_t>(numbers.slice_size()) * element_size;
  const Targets targets = {numbers.data(), numbers.size(), numbers.num_slices()};
  if (targets.num_slices == 0 || bytes == 0) return;
  constexpr double kNanosecondsPerUpdate = 3;
  const double cost = kNanosecondsPerUpdate + static_cast<double>(bytes) / kCopyBytesPerNanosecond;
  if (bytes > sizeof(Bytes16) && bytes <= kMaxShortBytes) {
    return WithHalf(bytes, [&](auto half) {
      ForEachUpdate(frame, targets, cost, [&](int64_t target, int64_t i) {
        CopyHalves<half()>(out + static_cast<size_t>(target) * bytes, updates + static_cast<size_t>(i) * bytes, bytes);
      });
    });
  }
  if (bytes > sizeof(Bytes16) || (bytes & (bytes - 1)) != 0) {
    return ForEachUpdate(frame, targets, cost, [&](int64_t target, int64_t i) {
      std::memcpy(out + static_cast<size_t>(target) * bytes, updates + static_cast<size_t>(i) * bytes, bytes);
    });
  }
  WithElementType(bytes, [&]<typename T>(std::type_identity<T>) {
    ForEachUpdate(frame, targets, cost, [&](int64_t target, int64_t i) {
      std::memcpy(out + static_cast<size_t>(target) * sizeof(T), updates + static_cast<size_t>(i) * sizeof(T),
                  sizeof(T));
    });
  });
}

Status TensorScatterUpdateKernel(DenseArg tensor, DenseArg indices, DenseArg updates, KernelFrame& frame) {
  SliceNumbers numbers;
  TANDEM_RETURN_IF_ERROR(numbers.Init(indices, tensor.shape()));
  std::byte* out = CopyFirst(frame, tensor);
  if (out != nullptr) PutSlices(frame, numbers, DTypeSize(tensor.dtype()), updates.data<std::byte>(), out);
  return Status();
}

Status StringScatterUpdateKernel(const Tensor& tensor, DenseArg indices, KernelFrame& frame) {
  SliceNumbers numbers;
  TANDEM_RETURN_IF_ERROR(numbers.Init(indices, tensor.shape()));
  ElementSource source;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 0));
  ElementSource updates;
  TANDEM_RETURN_IF_ERROR(updates.Init(frame, 2));
  ElementSink sink;
  if (!sink.Init(frame, 0)) return Status();
  const size_t size = static_cast<size_t>(tensor.num_elements()) * source.element_size();
  CopyLong(sink.data(), source.data(), size);
  PutSlices(frame, numbers, source.element_size(), updates.data(), sink.data());
  sink.Finish(frame);
  return Status();
}

// The ids as 64-bit numbers, in `copied` if they are of another type. InvalidArgument if one is too large;
// ResourceExhausted.
template <typename Id>
StatusOr<const int64_t*> ReadSegmentIds(const DenseArg& ids, int64_t num_segments, TaskArray<int64_t>& copied) {
  const Id* given = ids.data<Id>();
  bool valid = true;
  InSteps(ids.size(), kPollElements, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) valid &= given[i] < num_segments;
  });
  TANDEM_RETURN_IF_ERROR(KernelRun::CheckWanted());
  if (!valid) {
    int64_t first = 0;
    while (given[first] < num_segments) ++first;
    return InvalidArgument("segment_ids must be below num_segments ", num_segments, ", got ", given[first],
                           " at position ", Position(ids.shape(), first).span());
  }
  if constexpr (std::is_same_v<Id, int64_t>) return given;
  copied = TaskArray<int64_t>(ids.size());
  if (copied == nullptr) return Status::OutOfMemory();
  std::copy_n(given, ids.size(), copied.get());
  return copied.get();
}

Status SegmentSumKernel(DenseArg data, DenseArg segment_ids, KernelFrame& frame) {
  const TensorShape& shape = frame.result_metadata(0).shape;
  const int64_t num_segments = shape.dim(0);
  TaskArray<int64_t> copied;
  TANDEM_ASSIGN_OR_RETURN(const int64_t* ids, segment_ids.dtype() == DType::kI32
                                                  ? ReadSegmentIds<int32_t>(segment_ids, num_segments, copied)
                                                  : ReadSegmentIds<int64_t>(segment_ids, num_segments, copied));
  void* out = AllocateZeros(frame);
  if (out == nullptr) return Status();
  int64_t slice_size = 1;
  for (int i = 1; i < shape.rank(); ++i) slice_size *= shape.dim(i);
  return AccumulateAny(frame, {ids, segment_ids.size(), num_segments}, slice_size, data, out);
}

double ScatterCost(std::span<const TensorMetadata* const> args, std::span<const TensorMetadata> results) {
  constexpr double kNanosecondsPerIndex = 3;
  const TensorMetadata& updates = *args[args.size() == 4 ? 2 : 1];
  return MovementCost(args, results) + kNanosecondsPerIndex * static_cast<double>(updates.num_elements());
}

}  // namespace

Status RegisterScatterKernels(KernelOpHandler& handler) {
  static constexpr CostModel kCost = {0, &ScatterCost};
  static constexpr DTypeSet kString = {DType::kString};
  static constexpr KernelEntry kKernels[] = {
      KernelEntryOf<&ScatterNdKernel>("tf.ScatterNd", kFixedSizeDTypes, kCost),
      KernelEntryOf<&StringScatterNdKernel>("tf.ScatterNd", kString, kCost),
      KernelEntryOf<&TensorScatterAddKernel>("tf.TensorScatterAdd", kFixedSizeDTypes, kCost),
      KernelEntryOf<&TensorScatterUpdateKernel>("tf.TensorScatterUpdate", kFixedSizeDTypes, kCost),
      KernelEntryOf<&StringScatterUpdateKernel>("tf.TensorScatterUpdate", kString, kCost),
      KernelEntryOf<&SegmentSumKernel>("tf.UnsortedSegmentSum", kNumericDTypes, kCost),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
