// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "pipeline_threads.h"

#include <algorithm>
#include <new>
#include <thread>
#include <utility>

namespace tandem::shader {

PipelineThreads::PipelineThreads(Compile compile, std::function<void()> on_rest)
    : compile_(std::move(compile)), on_rest_(std::move(on_rest)) {}

PipelineThreads::~PipelineThreads() { Stop(); }

void PipelineThreads::Stop() {
  gpu::LinkedQueue<Job> left;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    std::swap(left, jobs_);
  }
  wake_.notify_all();
  for (NativeThread& thread : threads_) thread.Join();
  while (const std::unique_ptr<Job> job = left.PopFront()) {
    job->result.SetError(Status::Error(StatusCode::kCancelled, "the device was destroyed"));
  }
}

AsyncValueRef<RcRef<Pipeline>> PipelineThreads::Make(ShaderText text) {
  using Result = AsyncValueRef<RcRef<Pipeline>>;
  auto producer = Producer<RcRef<Pipeline>>::Make();
  if (!producer) return Result(OutOfMemoryAsyncValue());
  std::unique_ptr<Job> job(new (std::nothrow) Job{std::move(text), std::move(producer), nullptr});
  if (job == nullptr) return Result(OutOfMemoryAsyncValue());
  Result result = job->result.ref();
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return Result::MakeError(Status::Error(StatusCode::kCancelled, "the device was destroyed"));
    // Half the cores, since the program has work of its own.
    const size_t most = std::clamp<size_t>(std::thread::hardware_concurrency() / 2, 1, threads_.size());
    if (num_idle_ <= num_jobs_ && num_threads_ < most) {
      if (threads_[num_threads_].Start([this] { Work(); })) ++num_threads_;
    }
    if (num_threads_ > 0) {
      jobs_.PushBack(std::move(job));
      ++num_jobs_;
    }
  }
  wake_.notify_one();
  if (job != nullptr) Run(*job);
  return result;
}

void PipelineThreads::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++num_idle_;
    wake_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
    --num_idle_;
    if (stopping_) return;
    std::unique_ptr<Job> job = jobs_.PopFront();
    --num_jobs_;
    const bool is_last = jobs_.empty();
    lock.unlock();
    Run(*job);
    job.reset();
    if (is_last) on_rest_();
    lock.lock();
  }
}

void PipelineThreads::Run(Job& job) {
  StatusOr<RcRef<Pipeline>> pipeline = compile_(job.text);
  if (pipeline.ok()) {
    job.result.Emplace(std::move(*pipeline));
  } else {
    job.result.SetError(pipeline.status());
  }
}

}  // namespace tandem::shader
