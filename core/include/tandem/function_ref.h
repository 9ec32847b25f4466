// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// FunctionRef: a reference to a callable, for parameters that are called before the function returns.

#ifndef TANDEM_FUNCTION_REF_H_
#define TANDEM_FUNCTION_REF_H_

#include <type_traits>
#include <utility>

namespace tandem {

template <typename Signature>
class FunctionRef;

// Two words, no allocation. The callable must outlive the reference.
template <typename Result, typename... Args>
class FunctionRef<Result(Args...)> {
 public:
  template <typename F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<Result, F&, Args...>)
      FunctionRef(F&& fn)  // NOLINT(google-explicit-constructor)
      : object_(const_cast<void*>(static_cast<const void*>(&fn))), call_([](void* object, Args... args) -> Result {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }) {}

  Result operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  Result (*call_)(void*, Args...);
};

}  // namespace tandem

#endif  // TANDEM_FUNCTION_REF_H_
