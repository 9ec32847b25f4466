// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CallSource: where calls come from: drawn from the definitions of ops, or conformance cases with changes.

#ifndef TANDEM_TESTS_FUZZ_CALL_SOURCE_H_
#define TANDEM_TESTS_FUZZ_CALL_SOURCE_H_

#include <map>
#include <string>
#include <vector>

#include "call.h"
#include "random.h"
#include "tandem/op_registry.h"

namespace tandem::fuzz {

class CallSource {
 public:
  // Ops whose name contains `filter`. The registry outlives the source.
  CallSource(const OpRegistry& registry, const std::string& filter);

  // Reads every line of the file that is not long: time is better spent on more calls. Throws std::runtime_error.
  void ReadCases(const std::string& file);
  size_t num_ops() const { return ops_.size(); }
  size_t num_cases() const { return num_cases_; }

  Call Draw(Random& random) const;
  // The case as a call, as it is.
  const std::map<std::string, std::vector<Call>, std::less<>>& cases() const { return cases_; }

 private:
  // A call made up from the definition: right more often than by chance, and wrong in some way often.
  Call DrawFromDefinition(const OpDef& def, Random& random) const;
  // What a call may be changed in.
  void Change(Call& call, Random& random) const;
  void ChangeInput(Call& call, Random& random) const;
  void ChangeAttr(Call& call, const OpDef& def, Random& random) const;

  const OpRegistry& registry_;
  std::vector<const OpDef*> ops_;
  std::vector<std::string> unary_ops_;
  std::map<std::string, std::vector<Call>, std::less<>> cases_;  // by op
  size_t num_cases_ = 0;
};

}  // namespace tandem::fuzz

#endif  // TANDEM_TESTS_FUZZ_CALL_SOURCE_H_
