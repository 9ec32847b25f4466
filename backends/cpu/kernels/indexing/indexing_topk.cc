// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// TopKV2: the best elements so far in a buffer, with a bar that most of the others do not pass.

#include <algorithm>
#include <atomic>
#include <bit>
#include <functional>
#include <limits>
#include <type_traits>

#include "kernels/indexing/indexing_rows.h"
#include "kernels/polls.h"

namespace tandem::cpu {
namespace {

// A number that is as large as the element's rank among all of its type: NaN above all, 0 and -0 the same.
template <typename T>
using Key = std::conditional_t<(sizeof(T) < 8), int32_t, int64_t>;

template <typename T, typename Bits, Bits infinity>
Bits FloatKey(T value) {
  using Unsigned = std::make_unsigned_t<Bits>;
  const Bits bits = std::bit_cast<Bits>(value);
  constexpr Bits kMagnitude = std::numeric_limits<Bits>::max();
  const auto magnitude = static_cast<Bits>(bits & kMagnitude);
  if (magnitude > infinity) return kMagnitude;
  // The negative of the magnitude, if the sign is set.
  const auto sign = static_cast<Unsigned>(static_cast<Unsigned>(bits) >> (8 * sizeof(Bits) - 1));
  return static_cast<Bits>((static_cast<Unsigned>(magnitude) ^ (Unsigned{0} - sign)) + sign);
}

template <typename T>
Key<T> KeyOf(T value) {
  if constexpr (std::is_same_v<T, Float16>) {
    return FloatKey<T, int16_t, 0x7C00>(value);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return FloatKey<T, int16_t, 0x7F80>(value);
  } else if constexpr (std::is_same_v<T, float>) {
    return FloatKey<T, int32_t, 0x7F800000>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return FloatKey<T, int64_t, 0x7FF0000000000000>(value);
  } else if constexpr (std::is_unsigned_v<T> && sizeof(T) >= 4) {
    return static_cast<Key<T>>(value ^ (T{1} << (8 * sizeof(T) - 1)));
  } else {
    return value;
  }
}

// An element to choose from. The larger entry is the one with the larger key, or the lower index.
struct ShortEntry {
  ShortEntry() = default;
  ShortEntry(int32_t key, int64_t index)
      : bits(static_cast<int64_t>(static_cast<uint64_t>(static_cast<int64_t>(key)) << 32 |
                                  static_cast<uint32_t>(~index))) {}
  int32_t key() const { return static_cast<int32_t>(bits >> 32); }
  int64_t index() const { return static_cast<uint32_t>(~bits); }
  friend bool operator>(ShortEntry a, ShortEntry b) { return a.bits > b.bits; }
  int64_t bits;
};

struct LongEntry {
  LongEntry() = default;
  LongEntry(int64_t entry_key, int64_t entry_index) : key_(entry_key), index_(entry_index) {}
  int64_t key() const { return key_; }
  int64_t index() const { return index_; }
  friend bool operator>(const LongEntry& a, const LongEntry& b) {
    return a.key_ != b.key_ ? a.key_ > b.key_ : a.index_ < b.index_;
  }
  int64_t key_;
  int64_t index_;
};

constexpr int64_t kBlock = 64;

// Entries that are sorted or partitioned by the standard library: one or two milliseconds.
constexpr int64_t kSortedAtOnce = int64_t{1} << 15;

// An entry that neither many nor few of `n` distinct ones, more than kSortedAtOnce, are larger than: never the largest.
template <typename Entry>
Entry ChoosePivot(const Entry* entries, int64_t n) {
  constexpr int kSamples = 33;
  Entry samples[kSamples];
  uint64_t state = static_cast<uint64_t>(n);
  for (int i = 0; i < kSamples; ++i) {
    // One from each part, at a place that no pattern of the input follows.
    state = state * 6364136223846793005u + 1442695040888963407u;
    const int64_t part = n / kSamples;
    samples[i] = entries[i * part + static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(part))];
  }
  std::nth_element(samples, samples + kSamples / 2, samples + kSamples, std::greater<>());
  return samples[kSamples / 2];
}

// Moves the entries that are larger than the pivot to the front, and gives their number; -1 if the kernel is to end.
template <typename Entry>
int64_t MoveLarger(Entry* entries, int64_t n, Entry pivot) {
  int64_t larger = 0;
  const bool ended = InSteps(n, kPollElements / 2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Entry entry = entries[i];
      entries[i] = entries[larger];
      entries[larger] = entry;
      larger += entry > pivot;
    }
  });
  return ended ? larger : -1;
}

// Puts the entry that belongs at `place` in descending order there, and larger ones before it. Leaves some order if the
// kernel is to end.
template <typename Entry>
void PlaceInOrder(Entry* entries, int64_t n, int64_t place) {
  while (n > kSortedAtOnce) {
    const int64_t larger = MoveLarger(entries, n, ChoosePivot(entries, n));
    if (larger < 0) return;
    if (place < larger) {
      n = larger;
    } else {
      entries += larger;
      n -= larger;
      place -= larger;
    }
  }
  std::nth_element(entries, entries + place, entries + n, std::greater<>());
}

// The same for all of them.
template <typename Entry>
void SortDescending(Entry* entries, int64_t n) {
  while (n > kSortedAtOnce) {
    const int64_t larger = MoveLarger(entries, n, ChoosePivot(entries, n));
    if (larger < 0) return;
    // The smaller part by a call, so that these are not many at a time.
    if (larger < n - larger) {
      SortDescending(entries, larger);
      entries += larger;
      n -= larger;
    } else {
      SortDescending(entries + larger, n - larger);
      n = larger;
    }
  }
  if (n > kSortedAtOnce / 2 && KernelRun::IsStopped()) return;
  std::sort(entries, entries + n, std::greater<>());
}

template <typename T>
void ReadKeys(const T* elements, int64_t n, Key<T>* keys) {
  for (int64_t i = 0; i < n; ++i) keys[i] = KeyOf(elements[i]);
}

// Whether one of the keys is above the bar. An element that is as large as the bar comes after those that are in, which
// have lower indices.
template <typename K>
bool AnyPasses(const K* keys, int64_t n, K bar) {
  int passing = 0;
  for (int64_t i = 0; i < n; ++i) passing += keys[i] > bar;
  return passing > 0;
}

// The most entries that are better kept in order all the time.
constexpr int64_t kFew = 16;

// The k largest entries of a row, where k is at most kFew.
template <typename Entry>
class FewCandidates {
 public:
  bool Init(int64_t, int64_t k) {
    k_ = k;
    return true;
  }

  template <typename T>
  const Entry* Choose(const T* row, int64_t size) {
    count_ = 0;
    StopPoll poll(kPollElements);
    for (int64_t begin = 0; begin < size; begin += kBlock) {
      const int64_t n = std::min(kBlock, size - begin);
      if (poll.Stops(n)) return nullptr;
      Key<T> keys[kBlock];
      ReadKeys(row + begin, n, keys);
      int64_t i = 0;
      for (; i < n && count_ < k_; ++i) Insert(Entry(keys[i], begin + i), count_++);
      if (i < n && !AnyPasses(keys + i, n - i, BarFor<T>())) continue;
      for (; i < n; ++i) {
        if (keys[i] > BarFor<T>()) Insert(Entry(keys[i], begin + i), k_ - 1);
      }
    }
    return entries_;
  }

 private:
  template <typename T>
  Key<T> BarFor() const {
    return static_cast<Key<T>>(entries_[k_ - 1].key());
  }
  // Puts the entry in its place among those before `place`, where there is room for one more.
  void Insert(const Entry& entry, int64_t place) {
    for (; place > 0 && entry > entries_[place - 1]; --place) entries_[place] = entries_[place - 1];
    entries_[place] = entry;
  }

  int64_t k_ = 0;
  int64_t count_ = 0;
  Entry entries_[kFew];
};

// Entries that may be among the k largest, for rows of `row` elements.
template <typename Entry>
class ManyCandidates {
 public:
  // False if memory is exhausted.
  bool Init(int64_t row, int64_t k) {
    k_ = k;
    constexpr int64_t kSpare = 4 * kBlock;
    capacity_ = k > (row - kSpare) / 2 ? row : 2 * k + kSpare;
    entries_ = TaskArray<Entry>(capacity_);
    return entries_ != nullptr;
  }

  // The largest ones of the elements at `row`, `size` of them, in descending order; `k` of them, which is not 0. Null
  // if the kernel is to end.
  template <typename T>
  const Entry* Choose(const T* row, int64_t size) {
    count_ = 0;
    has_bar_ = false;
    Key<T> bar = 0;
    StopPoll poll(kPollElements);
    for (int64_t begin = 0; begin < size; begin += kBlock) {
      const int64_t n = std::min(kBlock, size - begin);
      if (poll.Stops(n)) return nullptr;
      if (count_ > capacity_ - n) bar = static_cast<Key<T>>(Shrink());
      Key<T> keys[kBlock];
      ReadKeys(row + begin, n, keys);
      if (!has_bar_) {
        for (int64_t i = 0; i < n; ++i) entries_[static_cast<size_t>(count_++)] = Entry(keys[i], begin + i);
        continue;
      }
      if (!AnyPasses(keys, n, bar)) continue;
      for (int64_t i = 0; i < n; ++i) {
        if (keys[i] > bar) entries_[static_cast<size_t>(count_++)] = Entry(keys[i], begin + i);
      }
    }
    if (count_ > k_) Shrink();
    SortDescending(entries_.get(), k_);
    return entries_.get();
  }

 private:
  // Keeps the k largest; returns the smallest key among them.
  auto Shrink() {
    Entry* last = entries_.get() + k_ - 1;
    PlaceInOrder(entries_.get(), count_, k_ - 1);
    count_ = k_;
    has_bar_ = true;
    return last->key();
  }

  int64_t k_ = 0;
  int64_t capacity_ = 0;
  int64_t count_ = 0;
  bool has_bar_ = false;
  TaskArray<Entry> entries_;
};

void StoreIndex(void* out, DType dtype, int64_t i, int64_t index) {
  switch (dtype) {
    case DType::kI16:
      static_cast<int16_t*>(out)[i] = static_cast<int16_t>(index);
      return;
    case DType::kI32:
      static_cast<int32_t*>(out)[i] = static_cast<int32_t>(index);
      return;
    default:
      static_cast<int64_t*>(out)[i] = index;
  }
}

struct TopKResult {
  void* values;
  void* indices;
  DType index_type;
};

// T stands for every dtype that compares like it.
template <typename T, typename Candidates>
Status ChooseRows(const KernelFrame& frame, const DenseArg& input, int64_t k, const TopKResult& result) {
  const int64_t size = input.shape().dim(input.shape().rank() - 1);
  const double cost = 0.7 * static_cast<double>(size) + 20 * static_cast<double>(k);
  std::atomic<bool> lacks_memory = false;
  frame.ParallelFor(input.size() / size, cost, [&](int64_t begin, int64_t end) {
    Candidates candidates;
    if (!candidates.Init(size, k)) {
      lacks_memory.store(true, std::memory_order_relaxed);
      return;
    }
    for (int64_t row = begin; row < end; ++row) {
      const T* elements = input.data<T>() + row * size;
      const auto* chosen = candidates.Choose(elements, size);
      if (chosen == nullptr) return;
      StopPoll poll(kPollSteps);
      for (int64_t i = 0; i < k && !poll.Stops(); ++i) {
        const int64_t index = chosen[i].index();
        static_cast<T*>(result.values)[row * k + i] = elements[index];
        StoreIndex(result.indices, result.index_type, row * k + i, index);
      }
    }
  });
  return lacks_memory.load(std::memory_order_relaxed) ? Status::OutOfMemory() : Status();
}

template <typename T, typename Entry>
Status ChooseAny(const KernelFrame& frame, const DenseArg& input, int64_t k, const TopKResult& result) {
  if (k <= kFew) return ChooseRows<T, FewCandidates<Entry>>(frame, input, k, result);
  return ChooseRows<T, ManyCandidates<Entry>>(frame, input, k, result);
}

template <typename T>
Status TopKKernel(DenseArg input, KernelFrame& frame) {
  void* values = frame.AllocateResult(0);
  void* indices = frame.AllocateResult(1);
  if (values == nullptr || indices == nullptr || frame.result_metadata(0).num_elements() == 0) return Status();
  const TopKResult result = {values, indices, frame.result_metadata(1).dtype};
  const TensorShape& shape = frame.result_metadata(0).shape;
  const int last = shape.rank() - 1;
  const int64_t k = shape.dim(last);
  if constexpr (sizeof(T) < 8) {
    if (input.shape().dim(last) <= std::numeric_limits<uint32_t>::max()) {
      return ChooseAny<T, ShortEntry>(frame, input, k, result);
    }
  }
  return ChooseAny<T, LongEntry>(frame, input, k, result);
}

double TopKCost(std::span<const TensorMetadata* const> args, std::span<const TensorMetadata> results) {
  return static_cast<double>(args[0]->num_elements()) + 20 * static_cast<double>(results[0].num_elements());
}

template <typename T>
constexpr KernelEntry TopKOf() {
  return KernelEntryOf<&TopKKernel<T>>("tf.TopKV2", {kDTypeOf<T>}, {0, &TopKCost});
}

}  // namespace

Status RegisterTopKKernels(KernelOpHandler& handler) {
  static constexpr KernelEntry kKernels[] = {
      TopKOf<uint8_t>(),  TopKOf<int8_t>(),   TopKOf<uint16_t>(), TopKOf<int16_t>(),
      TopKOf<uint32_t>(), TopKOf<int32_t>(),  TopKOf<uint64_t>(), TopKOf<int64_t>(),
      TopKOf<Float16>(),  TopKOf<BFloat16>(), TopKOf<float>(),    TopKOf<double>(),
  };
  return handler.AddKernels(kKernels);
}

}  // namespace tandem::cpu
