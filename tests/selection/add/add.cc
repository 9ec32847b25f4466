// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Adds two numbers, and shows what happens to a call of an op, and of a dtype, that the build was not given.

#include <cstdio>
#include <string>

#include "tandem/ops.h"

namespace {

tandem::Status Run() {
  TANDEM_ASSIGN_OR_RETURN(auto runtime, tandem::eager::Runtime::Create({}));
  const auto x = runtime->FromValues<float>({1, 2}, {2});
  TANDEM_ASSIGN_OR_RETURN(const auto sum, (x + x).ToVector<float>());
  std::printf("sum: %g %g\n", sum[0], sum[1]);
  std::printf("op: %s\n", (x * x).Await().ToString().c_str());
  const auto whole = runtime->FromValues<int32_t>({1, 2}, {2});
  std::printf("dtype: %s\n", (whole + whole).Await().ToString().c_str());
  return tandem::Status();
}

}  // namespace

int main() {
  const tandem::Status status = Run();
  if (!status.ok()) std::printf("%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
