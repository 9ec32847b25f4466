// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What exact mode costs (NU-3): times of calls of each family in a runtime with it and in one without, on one thread,
// the best of several, taken in turn.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tandem/eager.h"
#include "tandem/ops.h"

namespace {

using tandem::TensorShape;
using tandem::eager::Runtime;
using tandem::eager::Tensor;

// In [0.1, 1.1), by a linear congruential generator with Knuth's numbers.
template <typename T = float>
Tensor Draw(Runtime& rt, const TensorShape& shape) {
  std::vector<T> values(static_cast<size_t>(shape.num_elements()));
  uint64_t state = 1;
  for (T& value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<T>(static_cast<double>(state >> 40) * 0x1p-24 + 0.1);
  }
  return rt.FromValues(std::span<const T>(values), shape);
}

// Makes the arguments once; what it gives makes the call.
struct Case {
  const char* name;
  std::function<std::function<Tensor()>(Runtime& rt)> prepare;
};

template <typename... Args, typename F>
std::function<Tensor()> With(F call, Args... args) {
  return [call, args...] { return call(args...); };
}

const Case kCases[] = {
    {"add 1M", [](Runtime& rt) { return With([](auto x) { return x + x; }, Draw(rt, {1 << 20})); }},
    {"exp 1M", [](Runtime& rt) { return With([](auto x) { return exp(x); }, Draw(rt, {1 << 20})); }},
    {"sin 1M", [](Runtime& rt) { return With([](auto x) { return sin(x); }, Draw(rt, {1 << 20})); }},
    {"gelu 1M", [](Runtime& rt) { return With([](auto x) { return gelu(x); }, Draw(rt, {1 << 20})); }},
    {"exp f64 64K", [](Runtime& rt) { return With([](auto x) { return exp(x); }, Draw<double>(rt, {1 << 16})); }},
    {"sin f64 64K", [](Runtime& rt) { return With([](auto x) { return sin(x); }, Draw<double>(rt, {1 << 16})); }},
    {"pow f64 64K", [](Runtime& rt) { return With([](auto x) { return pow(x, x); }, Draw<double>(rt, {1 << 16})); }},
    {"exp c64 64K",
     [](Runtime& rt) {
       const Tensor x = cast(Draw(rt, {1 << 16}), tandem::DType::kC64);
       return With([](auto x) { return exp(x); }, x);
     }},
    {"sum 1M", [](Runtime& rt) { return With([](auto x) { return sum(x, 0); }, Draw(rt, {1 << 20})); }},
    {"cumsum 1M", [](Runtime& rt) { return With([](auto x) { return cumsum(x, 0); }, Draw(rt, {1 << 20})); }},
    {"softmax 1024x1024",
     [](Runtime& rt) {
       return With([](auto x) { return softmax(x); }, Draw(rt, {1024, 1024}));
     }},
    {"layer norm 1024x1024",
     [](Runtime& rt) {
       return With([](auto x, auto scale) { return layerNorm(x, scale, scale); }, Draw(rt, {1024, 1024}),
                   Draw(rt, {1024}));
     }},
    {"matmul 512^3",
     [](Runtime& rt) {
       return With([](auto x) { return matMul(x, x); }, Draw(rt, {512, 512}));
     }},
    {"matmul f64 256^3",
     [](Runtime& rt) {
       return With([](auto x) { return matMul(x, x); }, Draw<double>(rt, {256, 256}));
     }},
    {"matmul 1x1024x1024",
     [](Runtime& rt) {
       return With([](auto x, auto y) { return matMul(x, y); }, Draw(rt, {1, 1024}), Draw(rt, {1024, 1024}));
     }},
    {"conv 3x3 56x56x64 -> 64",
     [](Runtime& rt) {
       return With(
           [](auto x, auto f) {
             return conv2d(x, f, {1, 1, 1, 1}, "SAME");
           },
           Draw(rt, {1, 56, 56, 64}), Draw(rt, {3, 3, 64, 64}));
     }},
    {"depthwise 3x3 56x56x128",
     [](Runtime& rt) {
       return With(
           [](auto x, auto f) {
             return depthwiseConv2dNative(x, f, {1, 1, 1, 1}, "SAME");
           },
           Draw(rt, {1, 56, 56, 128}), Draw(rt, {3, 3, 128, 1}));
     }},
    {"average pool 2x2 112x112x64",
     [](Runtime& rt) {
       return With([](auto x) { return avgPool(x, {1, 2, 2, 1}, {1, 2, 2, 1}, "VALID"); }, Draw(rt, {1, 112, 112, 64}));
     }},
    {"resize bilinear 56x56x64 -> 112x112",
     [](Runtime& rt) {
       return With([](auto x) { return resizeBilinear(x, {112, 112}); }, Draw(rt, {1, 56, 56, 64}));
     }},
};

double Microseconds(const std::function<Tensor()>& call) {
  const auto begin = std::chrono::steady_clock::now();
  const Tensor result = call();
  if (!result.Await().ok()) return std::numeric_limits<double>::quiet_NaN();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main() {
  std::printf("microseconds, best, 1 thread                default      exact  ratio\n");
  for (const Case& each : kCases) {
    const std::unique_ptr<Runtime> runtimes[] = {std::move(*Runtime::Create({.num_threads = 1})),
                                                 std::move(*Runtime::Create({.num_threads = 1, .exact = true}))};
    const std::function<Tensor()> calls[] = {each.prepare(*runtimes[0]), each.prepare(*runtimes[1])};
    double best[] = {1e99, 1e99};
    // Half a second, and three times at least.
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 3 || std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(500); ++i) {
      for (const int exact : {0, 1}) best[exact] = std::min(best[exact], Microseconds(calls[exact]));
    }
    std::printf("%-38s %12.1f %10.1f %6.2f\n", each.name, best[0], best[1], best[1] / best[0]);
  }
}
