// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The end of a call: its commands are issued at once, or when its pipelines are ready.

#include "tandem/shader/shader_call.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "tandem/op_handler.h"
#include "tandem/run_when_ready.h"

namespace tandem::shader {

namespace {

// A smaller part of a buffer is copied, so that it does not keep the whole.
constexpr uint64_t kLeastPart = 8;

uint64_t RoundToWord(uint64_t bytes) { return (bytes + 3) / 4 * 4; }

bool IsRehearsal(const KernelFrame& frame) {
  for (size_t i = 0; i < frame.num_args(); ++i) {
    if (IsStandIn(frame.arg(i))) return true;
  }
  return false;
}

Status IssueStep(ShaderDevice& device, const Launch& launch, const AsyncValueRef<RcRef<Pipeline>>& pipeline,
                 const std::array<uint64_t, 3>& copy, std::span<GpuBuffer* const> buffers, size_t num_written,
                 const CommandOrigin& origin) {
  StatusOr<uint64_t> batch = uint64_t{0};
  if (pipeline.IsValid()) {
    std::array<BufferRange, ShaderCall::kMaxBuffers> ranges;
    std::ranges::transform(buffers, ranges.begin(), [](const GpuBuffer* buffer) { return buffer->range(); });
    batch = device.queue().Dispatch(**pipeline, {ranges.data(), buffers.size()}, launch.parameters.words(),
                                    launch.workgroups, origin);
  } else {
    batch = device.queue().Copy(buffers[0]->id(), buffers[0]->offset() + copy[0], buffers[1]->id(),
                                buffers[1]->offset() + copy[1], copy[2], origin);
  }
  if (!batch.ok()) return batch.status();
  for (GpuBuffer* buffer : buffers.last(num_written)) buffer->set_last_write(*batch);
  return Status();
}

}  // namespace

// Keeps the steps and their buffers until the pipelines are ready.
class ShaderCall::Deferred final {
 public:
  Deferred(ShaderDevice& device, const CommandOrigin& origin) : device_(device), origin_(origin) {}

  // When the pipelines are there.
  void Run() {
    const Status status = Issue();
    // Before the results: dependents that run while these are published may then reuse its memory.
    steps_.clear();
    kept_.clear();
    for (auto& [value, storage] : results_) {
      if (!status.ok()) {
        value->SetError(status);
        continue;
      }
      value->value().UseStorage(kDenseGpu, nullptr, std::move(storage));
      value.release()->SetConcreteAndDropRef();
    }
  }

 private:
  friend class ShaderCall;

  Status Issue() {
    for (const Step& step : steps_) {
      if (step.pipeline.IsValid() && step.pipeline.IsError()) return step.pipeline.GetError();
    }
    TANDEM_RETURN_IF_ERROR(device_.CheckLost());
    for (const Step& step : steps_) {
      TANDEM_RETURN_IF_ERROR(IssueStep(device_, step.launch, step.pipeline, step.copy,
                                       {step.buffers.data(), step.num_buffers}, step.num_written, origin_));
    }
    return Status();
  }

  ShaderDevice& device_;
  const CommandOrigin origin_;
  GrowingArray<Step> steps_;
  GrowingArray<RcRef<TensorStorage>> kept_;
  GrowingArray<std::pair<RcRef<TensorValue>, RcRef<TensorStorage>>> results_;
};

ShaderCall::ShaderCall(KernelFrame& frame) : ShaderCall(frame, MayBeLate()) { IssueLate(); }

void ShaderCall::IssueLate() {
  if (!is_rehearsal_) device_.queue().IssueLate();
}

ShaderCall::ShaderCall(KernelFrame& frame, MayBeLate)
    : frame_(frame),
      device_(frame.context<ShaderDevice>()),
      origin_{frame.def().name, frame.exec().location()},
      is_rehearsal_(IsRehearsal(frame)) {
  if (!results_.Init(frame.num_results())) Fail(Status::OutOfMemory());
}

void ShaderCall::Fail(Status error) {
  if (status_.ok()) status_ = std::move(error);
}

GpuBuffer* ShaderCall::Argument(size_t i) {
  const Tensor& tensor = frame_.arg(i);
  if (!tensor.IsA(kDenseGpu) && !IsStandIn(tensor)) {
    Fail(InvalidArgument("argument ", i, " must be a dense tensor of the device, got ", tensor.metadata(), " as ",
                         tensor.type().name()));
    return nullptr;
  }
  GpuBuffer& buffer = ShaderDevice::BufferOf(tensor);
  if (Status usable = device_.CheckUsable(buffer); !usable.ok()) Fail(std::move(usable));
  return &buffer;
}

StatusOr<RcRef<GpuBuffer>> ShaderCall::Allocate(uint64_t bytes) const {
  if (!is_rehearsal_) return device_.memory().Allocate(bytes, origin_);
  RcRef<GpuBuffer> buffer = GpuBuffer::MakeStandIn(bytes);
  if (!buffer) return Status::OutOfMemory();
  return buffer;
}

GpuBuffer* ShaderCall::Keep(RcRef<GpuBuffer>& place, StatusOr<RcRef<GpuBuffer>> buffer) {
  if (!buffer.ok()) {
    Fail(buffer.status());
    return nullptr;
  }
  place = std::move(*buffer);
  return place.get();
}

GpuBuffer* ShaderCall::Result(size_t i) {
  if (!ok()) return nullptr;
  if (results_[i]) return results_[i].get();
  return Keep(results_[i], Allocate(GpuByteSize(frame_.result_metadata(i))));
}

bool ShaderCall::MayTakeOver(size_t arg, size_t i) const {
  const Tensor& tensor = frame_.arg(arg);
  const TensorMetadata& result = frame_.result_metadata(i);
  // A bool takes another size here than its dtype says.
  if ((tensor.dtype() == DType::kBool) != (result.dtype == DType::kBool)) return false;
  if (!is_rehearsal_) return frame_.MayTakeOver(arg, i);
  return tensor.IsA(kTakenOverStandInGpu) && DTypeSize(tensor.dtype()) == DTypeSize(result.dtype) &&
         tensor.shape() == result.shape;
}

GpuBuffer* ShaderCall::ForwardOrAllocate(size_t i, std::initializer_list<size_t> candidates) {
  if (!ok()) return nullptr;
  for (size_t arg : candidates) {
    if (!MayTakeOver(arg, i)) continue;
    results_[i] = RcRef<GpuBuffer>::Share(&ShaderDevice::BufferOf(frame_.arg(arg)));
    return results_[i].get();
  }
  return Result(i);
}

void ShaderCall::Share(size_t i, size_t arg) {
  if (GpuBuffer* buffer = Argument(arg); ok()) results_[i] = RcRef<GpuBuffer>::Share(buffer);
}

void ShaderCall::SharePart(size_t i, size_t arg, uint64_t offset) {
  GpuBuffer* const whole = Argument(arg);
  if (!ok()) return;
  if (results_[i] = whole->Part(offset, RoundToWord(GpuByteSize(frame_.result_metadata(i)))); !results_[i]) {
    Fail(Status::OutOfMemory());
  }
}

bool ShaderCall::MaySharePart(size_t i, size_t arg, uint64_t offset) {
  const GpuBuffer* const buffer = Argument(arg);
  const uint64_t size = RoundToWord(GpuByteSize(frame_.result_metadata(i)));
  return ok() && size > 0 && offset % limits().offset_alignment == 0 && offset + size <= buffer->size() &&
         size >= buffer->whole().size() / kLeastPart;
}

GpuBuffer* ShaderCall::Temporary(uint64_t bytes) {
  if (!ok()) return nullptr;
  RcRef<GpuBuffer>* const place = temporaries_.Append({});
  if (place == nullptr) {
    Fail(Status::OutOfMemory());
    return nullptr;
  }
  return Keep(*place, Allocate(bytes));
}

GpuBuffer* ShaderCall::Table(std::span<const uint32_t> words) {
  GpuBuffer* buffer = Temporary(words.size_bytes());
  if (buffer == nullptr || words.empty() || is_rehearsal_) return buffer;
  const StatusOr<uint64_t> batch =
      device_.queue().Upload(buffer->id(), words.data(), words.size_bytes(), nullptr, origin_);
  if (batch.ok()) {
    buffer->set_last_write(*batch);
  } else {
    Fail(batch.status());
  }
  return buffer;
}

void ShaderCall::Copy(GpuBuffer* from, uint64_t from_offset, GpuBuffer* to, uint64_t to_offset, uint64_t bytes) {
  if (!ok() || bytes == 0) return;
  Step* const step = AddStep();
  if (step == nullptr) return;
  step->copy = {from_offset, to_offset, bytes};
  step->buffers[0] = from;
  step->buffers[1] = to;
  step->num_buffers = 2;
  step->num_written = 1;
}

ShaderCall::Step* ShaderCall::AddStep() {
  Step* const step = num_steps_ == 0 ? &first_ : more_.Append({});
  if (step == nullptr) {
    Fail(Status::OutOfMemory());
  } else {
    ++num_steps_;
  }
  return step;
}

Status ShaderCall::Check(const Step& step) const {
  const GpuLimits& limit = limits();
  if (step.num_buffers > limit.max_storage_buffers) {
    return ResourceExhausted("expected a shader of at most ", limit.max_storage_buffers, " buffers, got ",
                             step.num_buffers);
  }
  for (size_t i = 0; i < step.num_buffers; ++i) {
    if (step.buffers[i]->size() <= limit.max_binding_bytes) continue;
    return ResourceExhausted("expected tensors of at most ", limit.max_binding_bytes, " bytes on ",
                             device_.queue().adapter_name(), ", got one of ", step.buffers[i]->size());
  }
  for (uint32_t count : step.launch.workgroups) {
    if (count <= limit.max_workgroups) continue;
    return ResourceExhausted("expected at most ", limit.max_workgroups, " workgroups in each dimension, got ", count);
  }
  return Status();
}

void ShaderCall::Run(const Launch& launch, std::span<GpuBuffer* const> buffers) {
  if (!ok() || launch.IsEmpty()) return;
  if (buffers.size() > kMaxBuffers) return Fail(Internal("shader has more than ", kMaxBuffers, " buffers"));
  Step* const added = AddStep();
  if (added == nullptr) return;
  Step& step = *added;
  step.launch = launch;
  std::copy(buffers.begin(), buffers.end(), step.buffers.begin());
  step.num_buffers = buffers.size();
  if (Status fits = Check(step); !fits.ok()) return Fail(std::move(fits));
  auto [pipeline, num_written] = device_.FindPipeline(launch.variant);
  step.pipeline = std::move(pipeline);
  step.num_written = num_written;
  if (!step.pipeline.IsAvailable()) {
    is_ready_ = false;
  } else if (step.pipeline.IsError()) {
    Fail(step.pipeline.GetError());
  }
}

void ShaderCall::RunLibrary(AsyncValueRef<RcRef<Pipeline>> pipeline, std::span<GpuBuffer* const> buffers) {
  if (!ok()) return;
  Step* const step = AddStep();
  if (step == nullptr) return;
  std::ranges::copy(buffers, step->buffers.begin());
  step->num_buffers = buffers.size();
  step->num_written = 1;
  step->pipeline = std::move(pipeline);
}

Tensor ShaderCall::MakeResult(size_t i) {
  return Tensor(frame_.result_metadata(i), &device_, kDenseGpu, nullptr, results_[i]);
}

Status ShaderCall::Finish() {
  for (size_t i = 0; i < results_.size(); ++i) Result(i);
  if (!ok() || is_rehearsal_) return status_;
  if (!is_ready_) return Defer();
  TANDEM_RETURN_IF_ERROR(IssueSteps());
  for (size_t i = 0; i < results_.size(); ++i) frame_.SetResult(i, MakeResult(i));
  return Status();
}

Status ShaderCall::IssueSteps() {
  for (size_t i = 0; i < num_steps_; ++i) {
    const Step& step = i == 0 ? first_ : more_[i - 1];
    TANDEM_RETURN_IF_ERROR(IssueStep(device_, step.launch, step.pipeline, step.copy,
                                     {step.buffers.data(), step.num_buffers}, step.num_written, origin_));
  }
  return Status();
}

std::unique_ptr<ShaderCall::Deferred> ShaderCall::MakeDeferred(size_t num_results) {
  std::unique_ptr<Deferred> deferred(new (std::nothrow) Deferred(device_, origin_));
  if (!deferred || !deferred->steps_.Reserve(num_steps_) || !deferred->results_.Reserve(num_results) ||
      !deferred->kept_.Reserve(frame_.num_args() + temporaries_.size())) {
    return nullptr;
  }
  // There is room for all of it.
  static_cast<void>(deferred->steps_.Append(std::move(first_)));
  for (Step& step : more_) static_cast<void>(deferred->steps_.Append(std::move(step)));
  // What it shares keeps arguments from being taken over or reused.
  for (size_t i = 0; i < frame_.num_args(); ++i) static_cast<void>(deferred->kept_.Append(frame_.arg(i).storage()));
  for (RcRef<GpuBuffer>& buffer : temporaries_) static_cast<void>(deferred->kept_.Append(std::move(buffer)));
  return deferred;
}

Status ShaderCall::Defer() {
  std::unique_ptr<Deferred> deferred = MakeDeferred(results_.size());
  if (!deferred) return Status::OutOfMemory();
  for (size_t i = 0; i < results_.size(); ++i) {
    auto value = MakeRef<TensorValue>(TensorValue::Constructed{}, frame_.result_metadata(i), &device_);
    if (!value) return Status::OutOfMemory();
    static_cast<void>(deferred->results_.Append({std::move(value), std::move(results_[i])}));
  }
  for (size_t i = 0; i < results_.size(); ++i) {
    frame_.SetResult(i, AsyncValueRef<Tensor>(RcRef<AsyncValue>(deferred->results_[i].first)));
  }
  return Start(std::move(deferred));
}

Status ShaderCall::Start(std::unique_ptr<Deferred> deferred) {
  SmallArray<AsyncValue*, 8> pipelines;
  if (!pipelines.Init(deferred->steps_.size())) return Status::OutOfMemory();
  size_t num_pipelines = 0;
  for (const Step& step : deferred->steps_) {
    if (step.pipeline.IsValid()) pipelines[num_pipelines++] = step.pipeline.value();
  }
  const bool waits =
      RunWhenReady(pipelines.span().first(num_pipelines), [deferred = std::move(deferred)] { deferred->Run(); });
  return waits ? Status() : Status::OutOfMemory();
}

// The results of FinishCounted, until the host knows the number.
class ShaderCall::CountedResults final {
 public:
  CountedResults(ShaderDevice& device, const ExecutionContext& exec, const CommandOrigin& origin)
      : device_(device), exec_(exec), origin_(origin) {}

  // Once `word`, a tensor of one u32 on the device, is there. False if memory is exhausted.
  static bool Wait(std::unique_ptr<CountedResults> results, const AsyncValueRef<Tensor>& word) {
    AsyncValue* const awaited[] = {word.value()};
    return RunWhenReady(awaited, [results = std::move(results), word = word.CopyRef()]() mutable {
      if (word.IsError()) return results->Fail(word.GetError());
      const AsyncValueRef<Tensor> number = results->device_.Download(results->exec_, *word);
      word.reset();
      CountedResults& all = *results;
      AsyncValue* const downloaded[] = {number.value()};
      const bool waits =
          RunWhenReady(downloaded, [results = std::move(results), number = number.CopyRef()] { results->End(number); });
      if (!waits) all.Fail(Status::OutOfMemory());
    });
  }

 private:
  friend class ShaderCall;
  struct Result {
    Producer<Tensor> value;
    RcRef<GpuBuffer> buffer;
    TensorMetadata metadata;
    int axis;
  };

  void Fail(const Status& error) {
    for (Result& result : results_) result.value.SetError(error);
  }

  void End(const AsyncValueRef<Tensor>& number) {
    if (number.IsError()) return Fail(number.GetError());
    const int64_t count = DenseData<uint32_t>(*number)[0];
    for (Result& result : results_) {
      if (result.axis < 0) continue;
      const int64_t most = result.metadata.dim(result.axis);
      // Whatever a driver made of a launch, no buffer is read beyond its end.
      if (count > most) return Fail(Internal("a shader must count at most ", most, " elements, got ", count));
      result.metadata.shape.SetDim(result.axis, count);
    }
    for (Result& result : results_) {
      const StatusOr<RcRef<GpuBuffer>> buffer = Fit(result);
      if (!buffer.ok()) {
        result.value.SetError(buffer.status());
      } else {
        result.value.Emplace(Tensor(result.metadata, &device_, kDenseGpu, nullptr, *buffer));
      }
    }
  }

  // The buffer, or a smaller one with what the result has of it.
  StatusOr<RcRef<GpuBuffer>> Fit(Result& result) {
    const uint64_t size = RoundToWord(GpuByteSize(result.metadata));
    if (size >= result.buffer->size() / kLeastPart) return std::move(result.buffer);
    TANDEM_ASSIGN_OR_RETURN(RcRef<GpuBuffer> buffer, device_.memory().Allocate(size, origin_));
    if (size == 0) return buffer;
    std::array<GpuBuffer*, 2> both = {result.buffer.get(), buffer.get()};
    TANDEM_RETURN_IF_ERROR(IssueStep(device_, {}, {}, {0, 0, size}, both, 1, origin_));
    return buffer;
  }

  ShaderDevice& device_;
  const ExecutionContext exec_;
  const CommandOrigin origin_;
  GrowingArray<Result> results_;
};

Status ShaderCall::FinishCounted(GpuBuffer* count, std::span<const Counted> results) {
  if (!ok() || is_rehearsal_) return status_;
  std::unique_ptr<CountedResults> counted(new (std::nothrow) CountedResults(device_, frame_.exec(), origin_));
  if (!counted || !counted->results_.Reserve(results.size())) return Status::OutOfMemory();
  for (const Counted& result : results) {
    Producer<Tensor> value = Producer<Tensor>::Make();
    if (!value) return Status::OutOfMemory();
    static_cast<void>(counted->results_.Append(
        {std::move(value), RcRef<GpuBuffer>::Share(result.buffer), result.metadata, result.axis}));
  }
  const TensorMetadata metadata(DType::kU32, {1});
  AsyncValueRef<Tensor> word;
  std::unique_ptr<Deferred> deferred;
  if (is_ready_) {
    TANDEM_RETURN_IF_ERROR(IssueSteps());
    word = AsyncValueRef<Tensor>::MakeAvailable(metadata, &device_, kDenseGpu, nullptr, RcRef<GpuBuffer>::Share(count));
  } else {
    auto value = MakeRef<TensorValue>(TensorValue::Constructed{}, metadata, &device_);
    deferred = MakeDeferred(1);
    if (!value || !deferred) return Status::OutOfMemory();
    word = AsyncValueRef<Tensor>(RcRef<AsyncValue>(value));
    static_cast<void>(deferred->results_.Append({std::move(value), RcRef<GpuBuffer>::Share(count)}));
  }
  for (size_t i = 0; i < results.size(); ++i) frame_.SetResult(i, counted->results_[i].value.ref());
  if (!CountedResults::Wait(std::move(counted), word)) return Status::OutOfMemory();
  return deferred ? Start(std::move(deferred)) : Status();
}

}  // namespace tandem::shader
