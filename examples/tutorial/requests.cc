// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tutorial, part 3: calls that belong together, to cancel them or to give them a deadline.

#include <chrono>
#include <cstdio>
#include <vector>

#include "tandem/ops.h"

using tandem::RequestContext;
using tandem::eager::Runtime;
using tandem::eager::Tensor;

// Some seconds of work. Knows nothing of requests.
static Tensor Product(const Tensor& x) {
  Tensor product = x;
  for (int i = 0; i < 50; ++i) product = mul(matMul(product, x), 0.001f);
  return product;
}

static tandem::Status Run() {
  TANDEM_ASSIGN_OR_RETURN(auto runtime, Runtime::Create());
  Runtime& rt = *runtime;
  const Tensor x = ones(rt, {1000, 1000});

  // All calls of this thread in the scope belong to the request. It may be cancelled from any thread, at any time.
  TANDEM_ASSIGN_OR_RETURN(auto request, RequestContext::Create(rt.host(), {}));
  Tensor unwanted;
  {
    const auto scope = rt.With({.request = request});
    unwanted = Product(x);
  }
  request->Cancel("the user went elsewhere");
  std::printf("%s\n", unwanted.Await().ToString().c_str());

  // A deadline for what one function calls.
  const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  const Tensor late = rt.With({.deadline = soon}).Run([&] { return Product(x); });
  std::printf("%s\n", late.Await().ToString().c_str());

  // Nothing else was touched.
  const Tensor other = sum(x, {0, 1});
  std::printf("%s\n", other.ToString().c_str());
  return other.Await();
}

int main() {
  const tandem::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
