// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tensors from and for other libraries, by DLPack 1.x, without copying (DL-3a), on the host and on devices whose memory
// other libraries can use. Its structs are those of any dlpack.h.

#ifndef TANDEM_DLPACK_H_
#define TANDEM_DLPACK_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "tandem/device.h"
#include "tandem/export.h"
#include "tandem/host_allocator.h"
#include "tandem/status.h"
#include "tandem/tensor.h"

struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace tandem {

class CoreRuntime;

// A dense tensor of the host over the memory of `managed`, which nobody may write to before it is released: by its
// deleter, exactly once, when nobody uses the tensor any more, on whatever thread that is; at once if the function
// fails, or if it had to copy. It copies what is not row-major without gaps, not aligned to the size of an element, and
// bools of other bytes than 0 and 1, which become 1.
//
// InvalidArgument for what is not in the CPU's memory (pinned memory is), another major version, elements that are no
// DType (several lanes among them), and sizes that are negative or beyond what can be addressed.
TANDEM_EXPORT StatusOr<Tensor> FromDlpack(DLManagedTensorVersioned* managed, const Device& host,
                                          HostAllocator& allocator);
// The same of the form that DLPack had before 1.0.
TANDEM_EXPORT StatusOr<Tensor> FromDlpack(DLManagedTensor* managed, const Device& host, HostAllocator& allocator);

// The tensor for whoever calls the deleter, on any thread, once. It shares the memory, which is marked as read-only,
// and keeps it; elements that the tensor has within itself (Tensor::kInlineBytes), or that are to be made dense first,
// are copied. The result may outlive the runtime. InvalidArgument for tensors of strings and of other devices.
TANDEM_EXPORT StatusOr<DLManagedTensorVersioned*> ToDlpack(const Tensor& tensor, HostAllocator& allocator);
// The same in the form before 1.0, which cannot say that nobody may write to the memory.
TANDEM_EXPORT StatusOr<DLManagedTensor*> ToUnversionedDlpack(const Tensor& tensor, HostAllocator& allocator);

// ---- Memory of devices.

// A stream of a device, as `stream` of Python's __dlpack__ has it: of CUDA the handle, where 1 is the legacy default
// stream and 2 that of the thread.
inline constexpr int64_t kDlpackDefaultStream = 1;
// Nobody waits for anybody: who calls has seen to it.
inline constexpr int64_t kDlpackNoStream = -1;

// FromDlpack for the memory of any device of the runtime, too. There the tensor is never a copy, unless it is not
// aligned as kernels expect it, what the device reads of it is what `stream`, which lives as long as the call, has been
// given so far, and the deleter is called when the device has done all that was issued while somebody had the tensor.
//
// InvalidArgument also for memory of a device that no op handler of the runtime has, pointers into other memory than
// that of the device that they are declared for, and, on devices, elements that are not row-major without gaps, and
// bools where they take more than a byte.
TANDEM_EXPORT StatusOr<Tensor> FromDlpack(CoreRuntime& runtime, DLManagedTensorVersioned* managed,
                                          int64_t stream = kDlpackDefaultStream);
TANDEM_EXPORT StatusOr<Tensor> FromDlpack(CoreRuntime& runtime, DLManagedTensor* managed,
                                          int64_t stream = kDlpackDefaultStream);

// ToDlpack for tensors of any device of the runtime, too. There what is issued to `stream` from now on reads the
// elements as they are after all calls so far; and until the deleter is called, after which the device waits for what
// the stream was given, the stream lives. Unimplemented for devices whose memory others cannot use.
TANDEM_EXPORT StatusOr<DLManagedTensorVersioned*> ToDlpack(CoreRuntime& runtime, const Tensor& tensor,
                                                           int64_t stream = kDlpackDefaultStream);
TANDEM_EXPORT StatusOr<DLManagedTensor*> ToUnversionedDlpack(CoreRuntime& runtime, const Tensor& tensor,
                                                             int64_t stream = kDlpackDefaultStream);

// The stream that an op handler's device executes its calls in, for those who give it work or tensors: kDlpackNoStream
// of the host. Unimplemented for devices whose memory others cannot use. It lives as long as the handler.
TANDEM_EXPORT StatusOr<int64_t> FindDlpackStream(CoreRuntime& runtime, const Device& device);

// What an op handler does for tensors of its device that come from others, or go to them. Thread-safe. May outlive the
// runtime, after which `TakeBack` does nothing and the others are not called.
class TANDEM_EXPORT DlpackDevice {
 public:
  virtual ~DlpackDevice();

  virtual const Device& device() const = 0;
  // DLDeviceType and the number that DLPack has for it.
  virtual int32_t type() const = 0;
  virtual int32_t number() const = 0;
  // Whether memory of this other type is the device's as well.
  virtual bool Takes(int32_t /*type*/) const { return false; }
  virtual int64_t stream() const = 0;

  // A tensor over foreign memory of `metadata`, row-major and not empty; `release` is called once, also on failure.
  virtual StatusOr<Tensor> Wrap(const TensorMetadata& metadata, uint64_t address, int64_t stream,
                                std::function<void()> release) = 0;
  // The address of a tensor of the device that is not empty; `stream` waits for what it is made of.
  virtual StatusOr<uint64_t> Share(const Tensor& tensor, int64_t stream) = 0;
  // What is issued from now on waits for what the stream has been given.
  virtual void TakeBack(int64_t stream) = 0;
};

// How an op handler tells its runtime so, before anybody else has it. False if memory is exhausted.
[[nodiscard]] TANDEM_EXPORT bool AddDlpackDevice(CoreRuntime& runtime, std::shared_ptr<DlpackDevice> device);
// Null: others cannot use the device's memory.
TANDEM_EXPORT std::shared_ptr<DlpackDevice> FindDlpackDevice(CoreRuntime& runtime, const Device& device);

}  // namespace tandem

#endif  // TANDEM_DLPACK_H_
