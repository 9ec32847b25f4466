// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Which of Tandem's ops this build has, as constants (OR-4): all, unless it was configured with a list, TANDEM_OPS.
// What registers definitions and kernels asks, so that the linker leaves out what nothing refers to.

#ifndef TANDEM_OP_SELECTION_H_
#define TANDEM_OP_SELECTION_H_

#include <iterator>
#include <string_view>

#include "tandem/dtype.h"

#ifdef TANDEM_SELECTED_OPS
#include "tandem/ops_of_build.h"
#endif

namespace tandem {

// What a build with a list has of one of Tandem's ops.
struct OpSelection {
  std::string_view name;
  bool is_in_build;
  DTypeSet dtypes;  // of its kernels, by which kernels are looked up (OpDef::kernel_type_attr); all if it has no such
};

namespace internal {

#ifdef TANDEM_SELECTED_OPS
// Sorted by name.
#define TANDEM_OP_SELECTION(name, is_in_build, ...) {name, is_in_build, {__VA_ARGS__}},
inline constexpr OpSelection kSelections[] = {TANDEM_OPS_OF_BUILD(TANDEM_OP_SELECTION)};
#undef TANDEM_OP_SELECTION
#endif

// Null for an op that the build has whole, and for one that is not Tandem's.
constexpr const OpSelection* FindSelection([[maybe_unused]] std::string_view op) {
#ifdef TANDEM_SELECTED_OPS
  const OpSelection* begin = std::begin(kSelections);
  const OpSelection* end = std::end(kSelections);
  while (begin != end) {
    const OpSelection* const middle = begin + (end - begin) / 2;
    const int order = op.compare(middle->name);
    if (order == 0) return middle;
    order < 0 ? end = middle : begin = middle + 1;
  }
#endif
  return nullptr;
}

}  // namespace internal

// The dtypes that some kernel of the build is for.
#ifdef TANDEM_SELECTED_OPS
inline constexpr DTypeSet kDTypesInBuild = TANDEM_DTYPES_OF_BUILD;
#else
inline constexpr DTypeSet kDTypesInBuild = DTypeSet::All();
#endif

// Whether the build has the op; true for ops that are not Tandem's.
constexpr bool IsInBuild(std::string_view op) {
  const OpSelection* const selection = internal::FindSelection(op);
  return selection == nullptr || selection->is_in_build;
}

// The dtypes for which the build has kernels of the op, if some device has any.
constexpr DTypeSet DTypesInBuild(std::string_view op) {
  const OpSelection* const selection = internal::FindSelection(op);
  if (selection == nullptr) return DTypeSet::All();
  return selection->is_in_build ? selection->dtypes : DTypeSet();
}

// Whether the build has a kernel for the dtype of any of the ops, which are literals: what several ops compute with.
template <typename... Names>
constexpr bool IsInBuild(DType dtype, const Names&... ops) {
  return (DTypesInBuild(ops).Contains(dtype) || ...);
}

}  // namespace tandem

#endif  // TANDEM_OP_SELECTION_H_
