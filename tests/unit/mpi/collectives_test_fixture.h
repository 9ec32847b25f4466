// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the tests of collective ops share: a runtime with the op library in each process of an MPI job.

#ifndef TANDEM_TESTS_UNIT_MPI_COLLECTIVES_TEST_FIXTURE_H_
#define TANDEM_TESTS_UNIT_MPI_COLLECTIVES_TEST_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/eager.h"
#include "tandem/load_op_library.h"

namespace tandem::eager {

class CollectivesTest : public testing::Test {
 protected:
  CollectivesTest()
      : runtime_(std::move(*Runtime::Create({.num_threads = 2}))),
        rt_(*runtime_),
        library_(std::move(*LoadOpLibrary(rt_.core(), TANDEM_MPI_LIBRARY))),
        scope_(rt_.With({.chain = &chain_})) {
    Tensor found[2];
    rt_.Execute("tandem.Processes", {}, OpAttrs(), found, nullptr);
    rank_ = *found[0].Item<int32_t>();
    count_ = *found[1].Item<int32_t>();
  }

  Tensor Call(std::string_view op, const Tensor& x, const OpAttrs& attrs = OpAttrs()) {
    Operand operand(x);
    return rt_.Execute(op, {&operand}, attrs);
  }
  Tensor Reduce(std::string_view op, const Tensor& x, std::string_view reduction) {
    OpAttrs attrs;
    attrs.Set("reduction", reduction);
    return Call(op, x, attrs);
  }
  // What went wrong, without the way there.
  static std::string ErrorOf(const Tensor& tensor) { return std::string(tensor.Await().message()); }
  template <typename T>
  Tensor Vector(const std::vector<T>& values) {
    return rt_.FromValues<T>(std::span<const T>(values), {static_cast<int64_t>(values.size())});
  }

  const std::unique_ptr<Runtime> runtime_;
  Runtime& rt_;
  const LoadedOpLibrary library_;
  AsyncValueRef<Chain> chain_;
  const CallScope scope_;
  int rank_ = 0;
  int count_ = 0;
};

}  // namespace tandem::eager

#endif  // TANDEM_TESTS_UNIT_MPI_COLLECTIVES_TEST_FIXTURE_H_
