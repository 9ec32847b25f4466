// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Prints the op registry as JSON, for the generators.

#include <cstdio>

#include "tandem/op_families.h"

int main() {
  tandem::OpRegistry registry;
  if (const tandem::Status status = tandem::RegisterAllOps(registry); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  std::fputs(registry.ToJson().c_str(), stdout);
  return 0;
}
