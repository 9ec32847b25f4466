// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "simd/relaxed_kernels.h"

#include <atomic>

#include "kernels/polls.h"
#include "tandem/kernel_run.h"

namespace tandem::cpu {

namespace {

std::atomic<RelaxedKernels> relaxed_kernels{nullptr};

bool Compute(RelaxedExponentials call, const float* x, int64_t count, float* y) {
  const RelaxedKernels kernels = GetRelaxedKernels();
  if (kernels == nullptr) return false;
  InSteps(count, kPollElements / 4, [&](int64_t begin, int64_t end) {
    call.x = x + begin;
    call.y = y + begin;
    call.count = static_cast<uint32_t>(end - begin);
    kernels(call);
  });
  return true;
}

}  // namespace

void SetRelaxedKernels(RelaxedKernels kernels) { relaxed_kernels.store(kernels); }

RelaxedKernels GetRelaxedKernels() {
  return KernelRun::IsExact() ? nullptr : relaxed_kernels.load(std::memory_order_relaxed);
}

bool ComputeRelaxedExp(const float* x, int64_t count, float* y) { return Compute({}, x, count, y); }

bool ComputeRelaxedSigmoid(const float* x, int64_t count, float* y) {
  RelaxedExponentials call;
  call.is_sigmoid = 1;
  return Compute(call, x, count, y);
}

bool ComputeRelaxedSoftmax(const float* x, int64_t rows, int64_t cols, float* y) {
  const RelaxedKernels kernels = GetRelaxedKernels();
  if (kernels == nullptr || cols < RelaxedSoftmax::kMinCols || cols > RelaxedSoftmax::kMaxCols) return false;
  InSteps(rows, kPollElements / 4 / cols, [&](int64_t begin, int64_t end) {
    RelaxedSoftmax call;
    call.x = x + begin * cols;
    call.y = y + begin * cols;
    call.rows = static_cast<uint32_t>(end - begin);
    call.cols = static_cast<uint32_t>(cols);
    kernels(call);
  });
  return true;
}

}  // namespace tandem::cpu
