// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Code of a kernel that a small module can do without: functions that nothing refers to but a record in its data, which
// says for which op and dtypes they are. bindings/wasm/module_graph.py finds records, so that what only they lead to
// can be in another part of the module, or left out. Tables of KernelEntry and RowEntry are records, too.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_OP_RECORD_H_
#define TANDEM_BACKENDS_CPU_KERNELS_OP_RECORD_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "tandem/dtype.h"
#include "tandem/kernel.h"

namespace tandem::cpu {

// The name of an op as a template argument, or those of several with spaces between: a record is for any of them.
template <size_t n>
struct OpName {
  char text[n];
  consteval OpName(const char (&name)[n]) { std::copy_n(name, n, text); }  // NOLINT: implicit, for literals
};

template <typename T>
struct OpRecord {
  const char* op;
  DTypeSet dtypes;
  T value;
};

// `record`, unknown to the compiler, which would otherwise put what the record has into code.
const void* Opaque(const void* record);

// What `make`, a lambda without captures, gives for the dtypes of an op: functions, or a struct that begins with them.
template <OpName op, DType... dtypes, typename Make>
auto Recorded([[maybe_unused]] Make make) {
#ifdef TANDEM_SMALL
  using Value = decltype(make());
  static constexpr OpRecord<Value> kRecord = {op.text, {dtypes...}, Make{}()};
  return static_cast<const OpRecord<Value>*>(Opaque(&kRecord))->value;
#else
  return make();
#endif
}

// MakeKernel of a closure, recorded.
template <OpName op, DType... dtypes, typename Closure>
Kernel MakeRecordedKernel(Closure closure) {
  using Adapter = typename internal::KernelClosure<Closure>::Adapter;
  const Kernel::Function function = Recorded<op, dtypes...>([]() -> Kernel::Function {
    return [](const void* object, KernelFrame& frame) {
      return Adapter::Call(*static_cast<const Closure*>(object), frame);
    };
  });
  return Kernel(function, std::make_shared<const Closure>(std::move(closure)), Adapter::Signature());
}

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_OP_RECORD_H_
