// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Unique, UniqueV2: a hash table of the distinct elements, or slices, numbered in order of first appearance.

#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

#include "kernels/indexing/indexing_rows.h"
#include "kernels/polls.h"
#include "kernels/shape/shape_movement.h"
#include "kernels/shape/shape_strided_copy.h"
#include "tandem/host_context.h"

namespace tandem::cpu {
namespace {

// Spreads each bit of a word over all bits (the finaliser of SplitMix64).
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// Equal elements have equal hashes; so must 0 and -0.
template <typename T>
uint64_t Hash(T value) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    uint64_t hash = value.size();
    for (size_t i = 0; i < value.size(); i += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, value.data() + i, std::min(value.size() - i, sizeof(word)));
      hash = Mix(hash * 3 + word);
    }
    return hash;
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    return Mix(Hash(value.real()) * 3 + Hash(value.imag()));
  } else if constexpr (std::is_integral_v<T>) {
    return Mix(value);
  } else {
    uint64_t bits = 0;
    if (static_cast<double>(value) != 0) std::memcpy(&bits, &value, sizeof(value));
    return Mix(bits);
  }
}

// Items that are single elements.
template <typename T>
struct Elements {
  uint64_t HashOf(int64_t i) const { return Hash(elements[i]); }
  bool AreEqual(int64_t i, int64_t j) const { return elements[i] == elements[j]; }
  static int64_t item_size() { return 1; }

  const T* elements;
};

// Items that are slices of elements.
template <typename T>
struct Slices {
  uint64_t HashOf(int64_t i) const {
    uint64_t hash = 0;
    for (int64_t j = 0; j < size; ++j) hash = Mix(hash * 3 + Hash(elements[i * size + j]));
    return hash;
  }
  bool AreEqual(int64_t i, int64_t j) const {
    return std::equal(elements + i * size, elements + (i + 1) * size, elements + j * size);
  }
  int64_t item_size() const { return 1 + size; }

  const T* elements;
  int64_t size;
};

// The distinct ones of some items, found by linear probing.
template <typename Items>
class UniqueTable {
 public:
  explicit UniqueTable(const Items& items) : items_(items) {}

  // The number of item `i`; -1 if memory is exhausted.
  int64_t FindOrAdd(int64_t i) {
    if (size_ >= capacity_ / 2 && !Grow()) return -1;
    // What is not equal to itself is never found; in the table it would only be in the way.
    if (!items_.AreEqual(i, i)) return Add(i);
    int64_t* slot = FindSlot(i);
    if (*slot < 0) *slot = Add(i);
    return *slot;
  }

  int64_t size() const { return size_; }
  int64_t item_size() const { return items_.item_size(); }
  // The distinct items, in order of their numbers.
  int64_t operator[](int64_t number) const { return firsts_[static_cast<size_t>(number)]; }

 private:
  static constexpr int64_t kFirstCapacity = 128;

  int64_t Add(int64_t i) {
    firsts_[static_cast<size_t>(size_)] = i;
    return size_++;
  }
  // Where the number of the item is, or -1 in the place that it should have.
  int64_t* FindSlot(int64_t i) {
    const auto mask = static_cast<size_t>(capacity_ - 1);
    size_t slot = static_cast<size_t>(items_.HashOf(i)) & mask;
    while (slots_[slot] >= 0 && !items_.AreEqual((*this)[slots_[slot]], i)) slot = (slot + 1) & mask;
    return &slots_[slot];
  }
  // Doubles the capacity. False, and nothing changed, if memory is exhausted.
  bool Grow() {
    const int64_t capacity = std::max(2 * capacity_, kFirstCapacity);
    TaskArray<int64_t> slots(capacity);
    TaskArray<int64_t> firsts(capacity / 2);
    if (slots == nullptr || firsts == nullptr) return false;
    std::fill_n(slots.get(), capacity, int64_t{-1});
    std::copy_n(firsts_.get(), size_, firsts.get());
    capacity_ = capacity;
    slots_ = std::move(slots);
    firsts_ = std::move(firsts);
    StopPoll poll(kPollSteps);
    for (int64_t number = 0; number < size_ && !poll.Stops(item_size()); ++number) {
      const int64_t i = (*this)[number];
      if (items_.AreEqual(i, i)) *FindSlot(i) = number;
    }
    return true;
  }

  const Items& items_;
  int64_t size_ = 0;
  int64_t capacity_ = 0;       // of slots_, a power of two, of which at most half are in use
  TaskArray<int64_t> slots_;   // numbers; -1 where it is free
  TaskArray<int64_t> firsts_;  // index of the item that got the number
};

template <typename Table, typename Index>
Status NumberItems(Table& table, int64_t count, Index* numbers) {
  StopPoll poll(kPollSteps);
  for (int64_t i = 0; i < count; ++i) {
    if (poll.Stops(table.item_size())) return KernelRun::CheckWanted();
    const int64_t number = table.FindOrAdd(i);
    if (number < 0) return Status::OutOfMemory();
    if (number > std::numeric_limits<Index>::max()) {
      return InvalidArgument("there must be at most 2^31 distinct elements with out_idx i32; set out_idx to i64");
    }
    numbers[i] = static_cast<Index>(number);
  }
  return Status();
}

// The dimension along which to look, of a tensor as a matrix of `outer` times `count` slices of `inner` elements.
struct UniqueAxis {
  UniqueAxis(const TensorShape& shape, int axis_number) : axis(axis_number), count(shape.dim(axis_number)) {
    for (int i = 0; i < axis; ++i) outer *= shape.dim(i);
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape.dim(i);
  }
  int64_t slice_size() const { return outer * inner; }

  int axis;
  int64_t count;
  int64_t outer = 1;
  int64_t inner = 1;
};

// Result 1 for the items, and the table for result 0.
template <typename Table>
Status FindUnique(KernelFrame& frame, Table& table, int64_t count) {
  const DType out_idx = frame.attrs().GetOr("out_idx", DType::kI32);
  TANDEM_ASSIGN_OR_RETURN(Tensor numbers,
                          AllocateDense({out_idx, {count}}, frame.host().device(), frame.host().allocator()));
  if (out_idx == DType::kI32) {
    TANDEM_RETURN_IF_ERROR(NumberItems(table, count, static_cast<int32_t*>(numbers.mutable_data())));
  } else {
    TANDEM_RETURN_IF_ERROR(NumberItems(table, count, static_cast<int64_t*>(numbers.mutable_data())));
  }
  frame.SetResult(1, std::move(numbers));
  return Status();
}

// Writes the distinct ones of the slices at `x` to `out`.
template <typename T, typename Table>
void CopyDistinct(const UniqueAxis& axis, const Table& table, const T* x, T* out) {
  if (table.size() == 0 || axis.inner == 0) return;  // `outer` is any number then
  StopPoll poll(kPollElements);
  for (int64_t i = 0; i < axis.outer; ++i, x += axis.count * axis.inner) {
    for (int64_t number = 0; number < table.size(); ++number) {
      if (poll.Stops(4 + axis.inner)) return;
      out = std::copy_n(x + table[number] * axis.inner, axis.inner, out);
    }
  }
}

template <typename T, typename Table>
Status MakeResults(KernelFrame& frame, const UniqueAxis& axis, const TensorMetadata& metadata, Table& table,
                   const T* x) {
  TANDEM_RETURN_IF_ERROR(FindUnique(frame, table, axis.count));
  TensorShape shape = metadata.shape;
  shape.SetDim(axis.axis, table.size());
  const Device& device = frame.host().device();
  HostAllocator& allocator = frame.host().allocator();
  if constexpr (std::is_same_v<T, std::string_view>) {
    const TaskArray<T> distinct(shape.num_elements());
    if (distinct == nullptr) return Status::OutOfMemory();
    CopyDistinct(axis, table, x, distinct.get());
    TANDEM_RETURN_IF_ERROR(KernelRun::CheckWanted());
    const std::span<const T> strings(distinct.get(), static_cast<size_t>(shape.num_elements()));
    TANDEM_ASSIGN_OR_RETURN(Tensor y, MakeString(shape, strings, device, allocator));
    frame.SetResult(0, std::move(y));
  } else {
    TANDEM_ASSIGN_OR_RETURN(Tensor y, AllocateDense({metadata.dtype, shape}, device, allocator));
    CopyDistinct(axis, table, x, static_cast<T*>(y.mutable_data()));
    frame.SetResult(0, std::move(y));
  }
  return Status();
}

// T stands for every dtype that compares like it.
template <typename T>
Status UniqueAlong(KernelFrame& frame, int axis_number) {
  ElementSource source;
  TANDEM_RETURN_IF_ERROR(source.Init(frame, 0));
  const TensorMetadata& metadata = frame.arg(0).metadata();
  const UniqueAxis axis(metadata.shape, axis_number);
  const T* x = reinterpret_cast<const T*>(source.data());
  if (metadata.rank() == 1) {
    const Elements<T> items = {x};
    UniqueTable<Elements<T>> table(items);
    return MakeResults(frame, axis, metadata, table, x);
  }
  TaskArray<T> moved;
  if (axis.outer > 1) {  // each slice in one stretch
    moved = TaskArray<T>(metadata.num_elements());
    if (moved == nullptr) return Status::OutOfMemory();
    StridedCopy copy(sizeof(T));
    copy.AddDim(axis.count, axis.slice_size(), axis.inner);
    copy.AddDim(axis.outer, axis.inner, axis.count * axis.inner);
    copy.AddDim(axis.inner, 1, 1);
    copy.Run(frame, moved.get(), x);
  }
  const Slices<T> items = {moved != nullptr ? moved.get() : x, axis.slice_size()};
  UniqueTable<Slices<T>> table(items);
  return MakeResults(frame, axis, metadata, table, x);
}

template <typename T>
Status UniqueKernel(const Tensor& x, KernelFrame& frame) {
  if (x.shape().rank() != 1) return InvalidArgument("x must be a vector, got x: ", x.metadata());
  return UniqueAlong<T>(frame, 0);
}

template <typename T>
Status UniqueV2Kernel(const Tensor& x, const Tensor& axis, KernelFrame& frame) {
  const int rank = x.shape().rank();
  if (axis.shape().rank() != 1 || axis.num_elements() > 1 || (axis.num_elements() == 0 && rank != 1)) {
    return InvalidArgument("axis must be a vector of one element, or of none if x is a vector, got x: ", x.metadata(),
                           ", axis: ", axis.metadata());
  }
  if (axis.num_elements() == 0) return UniqueAlong<T>(frame, 0);
  TANDEM_ASSIGN_OR_RETURN(const int number, NormalizeAxis(HostInput(axis.metadata(), &axis).Int(0), rank, "axis"));
  return UniqueAlong<T>(frame, number);
}

constexpr CostModel kUniqueCost = {10};

template <typename T>
constexpr KernelEntry UniqueOf(DTypeSet dtypes) {
  return KernelEntryOf<&UniqueKernel<T>>("tf.Unique", dtypes, kUniqueCost);
}
template <typename T>
constexpr KernelEntry UniqueV2Of(DTypeSet dtypes) {
  return KernelEntryOf<&UniqueV2Kernel<T>>("tf.UniqueV2", dtypes, kUniqueCost);
}

}  // namespace

Status RegisterUniqueKernels(KernelOpHandler& handler) {
  static constexpr DTypeSet kBytes = {DType::kBool, DType::kU8, DType::kI8};
  static constexpr DTypeSet kShorts = {DType::kU16, DType::kI16};
  static constexpr DTypeSet kWords = {DType::kU32, DType::kI32};
  static constexpr DTypeSet kLongs = {DType::kU64, DType::kI64};
#define TANDEM_BOTH(type, ...) UniqueOf<type>(__VA_ARGS__), UniqueV2Of<type>(__VA_ARGS__)
  static constexpr KernelEntry kKernels[] = {
      TANDEM_BOTH(uint8_t, kBytes),
      TANDEM_BOTH(uint16_t, kShorts),
      TANDEM_BOTH(uint32_t, kWords),
      TANDEM_BOTH(uint64_t, kLongs),
      TANDEM_BOTH(Float16, {DType::kF16}),
      TANDEM_BOTH(BFloat16, {DType::kBF16}),
      TANDEM_BOTH(float, {DType::kF32}),
      TANDEM_BOTH(double, {DType::kF64}),
      TANDEM_BOTH(std::complex<float>, {DType::kC64}),
      TANDEM_BOTH(std::string_view, {DType::kString}),
  };
#undef TANDEM_BOTH
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
