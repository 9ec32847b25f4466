// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Unique: a hash table of the distinct elements, numbered in order of first appearance.

#include "kernels/indexing_unique.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>

#include "tandem/host_context.h"
#include "tandem/kernel.h"

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

// The distinct ones of the elements at `elements`, found by linear probing.
template <typename T>
class UniqueTable {
 public:
  explicit UniqueTable(const T* elements) : elements_(elements) {}

  // The number of element `i`; -1 if memory is exhausted.
  int64_t FindOrAdd(int64_t i) {
    if (size_ >= capacity_ / 2 && !Grow()) return -1;
    const T element = elements_[i];
    // What is not equal to itself is never found; in the table it would only be in the way.
    if (element != element) return Add(i);
    int64_t* slot = FindSlot(element);
    if (*slot < 0) *slot = Add(i);
    return *slot;
  }

  int64_t size() const { return size_; }
  // The distinct elements, in order of their numbers.
  T operator[](int64_t number) const { return elements_[firsts_[number]]; }

 private:
  static constexpr int64_t kFirstCapacity = 128;

  int64_t Add(int64_t i) {
    firsts_[size_] = i;
    return size_++;
  }
  // Where the number of the element is, or -1 in the place that it should have.
  int64_t* FindSlot(T element) {
    const auto mask = static_cast<size_t>(capacity_ - 1);
    size_t slot = static_cast<size_t>(Hash(element)) & mask;
    while (slots_[slot] >= 0 && !((*this)[slots_[slot]] == element)) slot = (slot + 1) & mask;
    return &slots_[slot];
  }
  // Doubles the capacity. False, and nothing changed, if memory is exhausted.
  bool Grow() {
    const int64_t capacity = std::max(2 * capacity_, kFirstCapacity);
    if (static_cast<uint64_t>(capacity) > PTRDIFF_MAX / sizeof(int64_t)) return false;
    std::unique_ptr<int64_t[]> slots(new (std::nothrow) int64_t[static_cast<size_t>(capacity)]);
    std::unique_ptr<int64_t[]> firsts(new (std::nothrow) int64_t[static_cast<size_t>(capacity / 2)]);
    if (slots == nullptr || firsts == nullptr) return false;
    std::fill_n(slots.get(), capacity, int64_t{-1});
    std::copy_n(firsts_.get(), size_, firsts.get());
    capacity_ = capacity;
    slots_ = std::move(slots);
    firsts_ = std::move(firsts);
    for (int64_t number = 0; number < size_; ++number) {
      const T element = (*this)[number];
      if (element == element) *FindSlot(element) = number;
    }
    return true;
  }

  const T* elements_;
  int64_t size_ = 0;
  int64_t capacity_ = 0;               // of slots_, a power of two, of which at most half are in use
  std::unique_ptr<int64_t[]> slots_;   // numbers; -1 where it is free
  std::unique_ptr<int64_t[]> firsts_;  // index of the element that got the number
};

template <typename T, typename Index>
Status NumberElements(UniqueTable<T>& table, int64_t count, Index* numbers) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t number = table.FindOrAdd(i);
    if (number < 0) return Status::OutOfMemory();
    if (number > std::numeric_limits<Index>::max()) {
      return InvalidArgument("there must be at most 2^31 distinct elements with out_idx i32; set out_idx to i64");
    }
    numbers[i] = static_cast<Index>(number);
  }
  return Status();
}

// Result 1 for the elements at `elements`, and the table for result 0.
template <typename T>
Status FindUnique(KernelFrame& frame, UniqueTable<T>& table) {
  const TensorShape& shape = frame.arg(0).shape();
  const DType out_idx = frame.attrs().GetOr("out_idx", DType::kI32);
  TANDEM_ASSIGN_OR_RETURN(Tensor numbers,
                          AllocateDense({out_idx, shape}, frame.host().device(), frame.host().allocator()));
  if (out_idx == DType::kI32) {
    TANDEM_RETURN_IF_ERROR(NumberElements(table, shape.num_elements(), static_cast<int32_t*>(numbers.mutable_data())));
  } else {
    TANDEM_RETURN_IF_ERROR(NumberElements(table, shape.num_elements(), static_cast<int64_t*>(numbers.mutable_data())));
  }
  frame.SetResult(1, std::move(numbers));
  return Status();
}

Status CheckVector(const Tensor& x) {
  return x.shape().rank() == 1 ? Status() : InvalidArgument("x must be a vector, got x: ", x.metadata());
}

// T stands for every dtype that compares like it.
template <typename T>
Status UniqueKernel(DenseArg x, KernelFrame& frame) {
  TANDEM_RETURN_IF_ERROR(CheckVector(x.tensor()));
  UniqueTable<T> table(x.data<T>());
  TANDEM_RETURN_IF_ERROR(FindUnique(frame, table));
  TANDEM_ASSIGN_OR_RETURN(Tensor y,
                          AllocateDense({x.dtype(), {table.size()}}, frame.host().device(), frame.host().allocator()));
  T* out = static_cast<T*>(y.mutable_data());
  for (int64_t i = 0; i < table.size(); ++i) out[i] = table[i];
  frame.SetResult(0, std::move(y));
  return Status();
}

Status UniqueStringsKernel(const Tensor& x, KernelFrame& frame) {
  TANDEM_RETURN_IF_ERROR(CheckVector(x));
  const StringHostView strings(x);
  const auto count = static_cast<size_t>(strings.size());
  std::unique_ptr<std::string_view[]> views(new (std::nothrow) std::string_view[count]);
  std::unique_ptr<std::string_view[]> distinct(new (std::nothrow) std::string_view[count]);
  if (views == nullptr || distinct == nullptr) return Status::OutOfMemory();
  for (size_t i = 0; i < count; ++i) views[i] = strings[static_cast<int64_t>(i)];
  UniqueTable<std::string_view> table(views.get());
  TANDEM_RETURN_IF_ERROR(FindUnique(frame, table));
  for (int64_t i = 0; i < table.size(); ++i) distinct[static_cast<size_t>(i)] = table[i];
  TANDEM_ASSIGN_OR_RETURN(Tensor y, MakeString({table.size()}, {distinct.get(), static_cast<size_t>(table.size())},
                                               frame.host().device(), frame.host().allocator()));
  frame.SetResult(0, std::move(y));
  return Status();
}

}  // namespace

Status RegisterUniqueKernels(KernelOpHandler& handler) {
  constexpr float kNanosecondsPerElement = 10;
  const auto add = [&](DTypeSet dtypes, Kernel kernel) {
    return handler.AddKernel("tf.Unique", dtypes, std::move(kernel).WithCost(kNanosecondsPerElement));
  };
  TANDEM_RETURN_IF_ERROR(add({DType::kBool, DType::kU8, DType::kI8}, MakeKernel<&UniqueKernel<uint8_t>>()));
  TANDEM_RETURN_IF_ERROR(add({DType::kU16, DType::kI16}, MakeKernel<&UniqueKernel<uint16_t>>()));
  TANDEM_RETURN_IF_ERROR(add({DType::kU32, DType::kI32}, MakeKernel<&UniqueKernel<uint32_t>>()));
  TANDEM_RETURN_IF_ERROR(add({DType::kU64, DType::kI64}, MakeKernel<&UniqueKernel<uint64_t>>()));
  TANDEM_RETURN_IF_ERROR(add({DType::kF16}, MakeKernel<&UniqueKernel<Float16>>()));
  TANDEM_RETURN_IF_ERROR(add({DType::kBF16}, MakeKernel<&UniqueKernel<BFloat16>>()));
  TANDEM_RETURN_IF_ERROR(add({DType::kF32}, MakeKernel<&UniqueKernel<float>>()));
  TANDEM_RETURN_IF_ERROR(add({DType::kF64}, MakeKernel<&UniqueKernel<double>>()));
  TANDEM_RETURN_IF_ERROR(add({DType::kC64}, MakeKernel<&UniqueKernel<std::complex<float>>>()));
  return add({DType::kString}, MakeKernel<&UniqueStringsKernel>());
}

}  // namespace tandem::cpu
