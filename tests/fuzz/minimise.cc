// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Greedy: every change that keeps the failure is kept, until none does.

#include "minimise.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "call_runner.h"

namespace tandem::fuzz {
namespace {

constexpr unsigned kHangSeconds = 30;

bool Fails(const Call& call) {
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    alarm(kHangSeconds);
    bool has_failed = true;
    try {
      CallRunner runner;
      has_failed = !runner.Run(call).empty();
    } catch (...) {
      has_failed = false;  // it is no call
    }
    _exit(has_failed ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status != 0;
}

// Gives `call` the tensor's shape with `dim` in place of that dimension, and as many of its elements.
bool Shrink(InputSpec& input, int i, int64_t dim) {
  TensorSpec& tensor = input.tensor;
  if (tensor.metadata.dim(i) <= dim) return false;
  tensor.metadata.shape.SetDim(i, dim);
  const auto count = static_cast<size_t>(tensor.metadata.num_elements());
  if (input.kind != InputKind::kDense) return true;
  tensor.bytes.resize(std::min(tensor.bytes.size(), count * DTypeSize(tensor.metadata.dtype)));
  tensor.strings.resize(std::min(tensor.strings.size(), count));
  return true;
}

// All calls that are one step smaller.
std::vector<Call> SmallerCalls(const Call& call) {
  std::vector<Call> smaller;
  const auto add = [&](auto change) {
    Call copy = call;
    if (change(copy)) smaller.push_back(std::move(copy));
  };
  add([](Call& c) { return !std::exchange(c.then, "").empty(); });
  add([](Call& c) { return std::exchange(c.request, RequestKind::kNone) != RequestKind::kNone; });
  add([](Call& c) { return std::exchange(c.chain, ChainKind::kNone) != ChainKind::kNone; });
  add([](Call& c) { return std::exchange(c.way, Way::kMoved) != Way::kMoved; });
  add([](Call& c) { return std::exchange(c.fails_input, false); });
  for (size_t i = 0; i < call.attrs.size(); ++i) {
    add([i](Call& c) {
      c.attrs.erase(c.attrs.begin() + static_cast<ptrdiff_t>(i));
      return true;
    });
  }
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    add([i](Call& c) {
      c.inputs.erase(c.inputs.begin() + static_cast<ptrdiff_t>(i));
      return c.inputs.empty() || c.inputs[0].kind != InputKind::kShared;
    });
    if (call.inputs[i].kind > InputKind::kSparse) continue;
    for (int d = 0; d < call.inputs[i].tensor.metadata.rank(); ++d) {
      const int64_t dim = call.inputs[i].tensor.metadata.dim(d);
      for (const int64_t to : {int64_t{1}, dim / 2, dim - 1}) {
        add([=](Call& c) { return Shrink(c.inputs[i], d, to); });
      }
    }
    add([i](Call& c) {
      std::vector<std::byte>& bytes = c.inputs[i].tensor.bytes;
      const bool is_zero = std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
      std::ranges::fill(bytes, std::byte{0});
      return !is_zero;
    });
  }
  return smaller;
}

}  // namespace

Call Minimise(const Call& call) {
  Call best = call;
  if (!Fails(best)) return best;
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (Call& smaller : SmallerCalls(best)) {
      if (!Fails(smaller)) continue;
      best = std::move(smaller);
      has_changed = true;
      break;
    }
  }
  return best;
}

}  // namespace tandem::fuzz
