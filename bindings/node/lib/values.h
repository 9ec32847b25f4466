// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Values of JavaScript as C++ has them. The package's own JavaScript is the only caller, and has checked what its users
// gave: what is of another type here is an error of Node-API, and the call returns undefined.

#ifndef TANDEM_BINDINGS_NODE_VALUES_H_
#define TANDEM_BINDINGS_NODE_VALUES_H_

#include <node_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tandem.h"

namespace tandem::node {

// The arguments of a call. The first that is not what it is read as makes `ok` false, and an exception is thrown.
class Arguments {
 public:
  static constexpr size_t kMost = 8;

  Arguments(napi_env env, napi_callback_info info);

  napi_env env() const { return env_; }
  bool ok() const { return ok_; }
  napi_value operator[](size_t i) const { return values_[i]; }

  bool IsUndefined(size_t i) { return IsOfType(values_[i], napi_undefined); }
  // Of undefined: empty.
  std::string Text(int i) { return Text(values_[i]); }
  bool Bool(size_t i);
  double Number(int i) { return Number(values_[i]); }
  int64_t Int(int i) { return Int(values_[i]); }
  template <typename T>
  T* Pointer(int i) {
    return static_cast<T*>(Pointer(values_[i]));
  }

  bool IsOfType(napi_value value, napi_valuetype type);
  std::string Text(napi_value value);
  double Number(napi_value value);
  // Of a number or a bigint.
  int64_t Int(napi_value value);
  void* Pointer(napi_value external);
  std::vector<napi_value> List(napi_value array);
  std::vector<int64_t> Ints(napi_value array);

  void Check(napi_status status);

 private:
  const napi_env env_;
  napi_value values_[kMost];
  bool ok_ = true;
};

// Null if JavaScript has thrown.
napi_value MakeText(napi_env env, const char* text);
napi_value MakeNumber(napi_env env, double number);
// Throws the error, which is taken over; null for that, too.
napi_value Throw(napi_env env, tandem_status* status);

}  // namespace tandem::node

#endif  // TANDEM_BINDINGS_NODE_VALUES_H_
