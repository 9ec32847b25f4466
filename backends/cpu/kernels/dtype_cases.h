// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// OfDType: from a dtype to what is made for its C++ type.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_DTYPE_CASES_H_
#define TANDEM_BACKENDS_CPU_KERNELS_DTYPE_CASES_H_

#include <tuple>

#include "kernels/op_record.h"
#include "tandem/dtype.h"
#include "tandem/op_selection.h"

namespace tandem::cpu {

// make.operator()<T>() for the T among Ts that `dtype` stands for, recorded as the op's; a value-initialised result if
// there is none, or if no kernel of the build is for it. `make` has no captures.
template <OpName op, typename... Ts, typename Make>
auto OfDType(DType dtype, [[maybe_unused]] Make make) {
  using Result = decltype(make.template operator()<std::tuple_element_t<0, std::tuple<Ts...>>>());
  Result result{};
  const auto make_of = [&]<typename T>() {
    if constexpr (kDTypesInBuild.Contains(kDTypeOf<T>)) {
      result = Recorded<op, kDTypeOf<T>>([] { return Make{}.template operator()<T>(); });
    }
  };
  static_cast<void>(((dtype == kDTypeOf<Ts> && (make_of.template operator()<Ts>(), true)) || ...));
  return result;
}

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_DTYPE_CASES_H_
