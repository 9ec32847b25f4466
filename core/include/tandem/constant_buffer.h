// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ConstantForms: what kernels keep of a tensor's content, in the order in which they read it (TH-10). ConstantBuffer:
// memory that many calls read, such as a program's weights (PR-5).

#ifndef TANDEM_CONSTANT_BUFFER_H_
#define TANDEM_CONSTANT_BUFFER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>

#include "tandem/export.h"
#include "tandem/host_allocator.h"
#include "tandem/ref_counted.h"
#include "tandem/status.h"
#include "tandem/tensor.h"

namespace tandem {

// Forms of one content that kernels work with, such as a matrix in the order in which they read it: each is made by a
// call that needs it, and goes with the content. Of a constant the first such call keeps it; of other content the
// second one with the same key does, since much is used only once. A kernel finds those of an argument by
// TensorStorage::constant_forms. Thread-safe.
class TANDEM_EXPORT ConstantForms {
 public:
  enum class KeptFrom { kFirstUse, kSecondUse };

  // What a form depends on beside the content: its maker, told by an address of its own, and what else he chooses,
  // among it the address of what was read of the content.
  struct Key {
    const void* maker = nullptr;
    std::array<int64_t, 18> numbers = {};
    bool operator==(const Key&) const = default;
  };

  explicit ConstantForms(KeptFrom kept_from = KeptFrom::kFirstUse) : kept_from_(kept_from) {}
  virtual ~ConstantForms();
  ConstantForms(const ConstantForms&) = delete;
  ConstantForms& operator=(const ConstantForms&) = delete;

  bool is_of_constant() const { return kept_from_ == KeptFrom::kFirstUse; }

  // Whether the caller, who needs this form, of `bytes`, is to look for it and, if there is none, to make and keep it.
  bool IsWanted(const Key& key, size_t bytes);
  // Null if there is none.
  RcRef<HostBuffer> Find(const Key& key) const;
  // Keeps a form, which nobody changes any more, unless another thread has kept one since, or memory is exhausted.
  void Keep(const Key& key, RcRef<HostBuffer> form);
  // Forgets all of them, and which were asked for; true if there was a form. One that is in use lives for as long.
  bool Drop();

 protected:
  // Whether so many bytes may be taken for another form.
  virtual bool HasRoomFor(size_t /*bytes*/) const { return true; }

 private:
  struct Entry;
  Entry* FindLocked(const Key& key) const;

  const KeptFrom kept_from_;
  mutable std::mutex mutex_;
  Entry* first_ = nullptr;
};

// Memory of someone else's that never changes, as HostAllocator::WrapExternal has it. Its forms may take as much
// memory again for each way in which kernels read it, which is usually one.
class TANDEM_EXPORT ConstantBuffer final : public HostBuffer {
 public:
  // `release` is called once when the last reference is gone, also when this fails, for which there is only want of
  // memory.
  static StatusOr<RcRef<HostBuffer>> Wrap(const void* data, size_t size, std::function<void()> release);

  ConstantForms* constant_forms() const override { return &forms_; }

 private:
  ConstantBuffer(const void* data, size_t size) : HostBuffer(const_cast<void*>(data), size, /*external=*/true) {}
  ~ConstantBuffer() override;

  std::function<void()> release_;
  mutable ConstantForms forms_;
};

// A tensor as a constant over the same memory, so that kernels keep with it what they make of it. As it is, if it is a
// constant, or has nothing that kernels could keep: elements elsewhere than on the host, not dense, or few enough to
// lie within the tensor. Fails for want of memory only.
TANDEM_EXPORT StatusOr<Tensor> AsConstant(const Tensor& tensor);

}  // namespace tandem

#endif  // TANDEM_CONSTANT_BUFFER_H_
