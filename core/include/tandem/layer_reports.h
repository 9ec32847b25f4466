// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// LayerReports: keeps what the layers over a runtime's op handlers find, and tells it as JSON.

#ifndef TANDEM_LAYER_REPORTS_H_
#define TANDEM_LAYER_REPORTS_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "tandem/export.h"
#include "tandem/host_context.h"
#include "tandem/stacked_op_handlers.h"

namespace tandem {

// For bindings of other languages. Outlives the layers that are made with its options. Thread-safe.
class TANDEM_EXPORT LayerReports {
 public:
  // How many findings of a shadow, unless its text says otherwise, and of all nan-guards are kept: the first ones.
  static constexpr size_t kMaxFindings = 64;

  LayerReports();
  LayerReports(const LayerReports&) = delete;
  LayerReports& operator=(const LayerReports&) = delete;
  // Whether there was memory; otherwise it is good for nothing.
  bool has_memory() const { return profile_ && counts_; }

  // Layers that are made with these report here; what is logged is printed by the host.
  StackedOpHandlerOptions MakeOptions(HostContext& host);

  void ResetProfile() { profile_->Reset(); }

  // Numbers are as in OpRegistry::ToJson; "location" is "file:line:column", or empty.
  //
  // An array of the Entries() of a profile, in their order, times in nanoseconds:
  //   {"op": TEXT, "dtype": DTYPE or null, "calls": INT, "pending": INT, "errors": INT, "dropped": INT,
  //    "result_bytes": INT, "call": TIMES, "results": TIMES}, TIMES: {"count", "total", "min", "max": INT}
  std::string ProfileJson();
  // {"equal": INT, "diverged": INT, "pending": INT, "skipped": {REASON: INT, ...}, "divergences": [...]}, of these
  // each {"op", "location", "call", "result", "element", "actual", "expected", "error", "ulp", "largest_error",
  // "num_different", "metadata", "attrs", "inputs", "message"}, which ShadowDivergence describes. Reasons of nothing
  // are left out.
  std::string ShadowJson();
  // An array of the results with a NaN: {"op", "location", "result", "metadata", "element", "value", "message"}.
  std::string NanGuardJson();

 private:
  // Of both kinds; what only the other one has is empty.
  struct Finding {
    std::string op, location, metadata, message;
    int64_t result, element;
    double value = 0;
    std::string actual, expected, attrs, inputs;
    int64_t call = 0, num_different = 0;
    double error = 0, ulp = 0, largest_error = 0;
  };
  void Add(const ShadowDivergence& divergence);
  void Add(const NanFinding& found);

  const RcRef<Profile> profile_;
  const RcRef<ShadowCounts> counts_;
  std::mutex mutex_;
  std::vector<Finding> divergences_;
  std::vector<Finding> nans_;
};

}  // namespace tandem

#endif  // TANDEM_LAYER_REPORTS_H_
