// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CheckedResult: a result of an op that is looked at when it comes, before its caller gets it or without the caller
// noticing.

#ifndef TANDEM_CORE_HANDLERS_CHECKED_RESULT_H_
#define TANDEM_CORE_HANDLERS_CHECKED_RESULT_H_

#include <cstdint>
#include <string_view>

#include "execute/pending_call.h"
#include "tandem/tensor_handle.h"

namespace tandem {

// Waits for the source, then for what Prepare asks for, then checks; the result, if one was made, is what the source is
// or the error that the check gives. It shares the source's storage, and nothing else refers to that when it comes, so
// that its taker may take the memory over (TH-5). An error of the source is passed on as it is. Counts as a pending op
// and is cancelled like one; the check of a large tensor runs in the work queue.
class CheckedResult : public PendingCall {
 public:
  // The result to come in place of the source; its metadata is known if the source's is. Null if memory is exhausted.
  TensorHandle MakeResult();
  // Gives up the caller's reference.
  void Begin();

 protected:
  using MetadataValue = ConcreteAsyncValue<TensorMetadata>;

  CheckedResult(const ExecutionContext& exec, std::string_view op, TensorHandle source)
      : PendingCall(exec, op), source_(std::move(source)) {}

  // What has to be there before the check, or null; the source is concrete. Called again when it is there.
  virtual AsyncValue* Prepare() = 0;
  // Whether the check is to run in the work queue; after Prepare has given null.
  virtual bool IsLong() const = 0;
  // Ok, or the error that the result becomes, which the diagnostic handler has been told.
  virtual Status Check() = 0;
  void DropInputs() override { source_.reset(); }
  void SetError(const Status& error) override;

  const TensorHandle& source() const { return source_; }

 private:
  void Advance() final;
  void RunQueued() final { Finish(); }
  void PublishMetadata();
  void Finish();

  TensorHandle source_;
  RcRef<TensorValue> result_;
  RcRef<MetadataValue> result_metadata_;  // null once the metadata is known
};

// A result of a call, or an argument, as a tensor on the host.

// Whether its content can be read where it is.
bool IsReadable(const Tensor& tensor);
// Whether it can be brought to where its content can be read.
bool IsFetchable(const ExecutionContext& exec, const Tensor& tensor);
// Whether looking at so many elements is more than a call may do on the thread that makes it.
bool IsLongCheck(const ExecutionContext& exec, int64_t num_elements);

}  // namespace tandem

#endif  // TANDEM_CORE_HANDLERS_CHECKED_RESULT_H_
