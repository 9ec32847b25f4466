// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What ops are defined with here: an OpDefBuilder. In WebAssembly, and in a build with a list of ops (OR-4),
// definitions are data that tools/select_ops.py has written (TANDEM_OPS_AS_DATA), and of what is here nothing remains
// but the metadata functions of the build's ops.

#ifndef TANDEM_CORE_OPS_OP_DEFINITION_H_
#define TANDEM_CORE_OPS_OP_DEFINITION_H_

#include <initializer_list>
#include <span>
#include <string_view>

#include "tandem/element_expressions.h"
#include "tandem/op_def.h"
#include "tandem/op_registry.h"
#include "tandem/op_selection.h"

// TANDEM_DOC: documentation of ops, a literal; empty where definitions are data. TANDEM_DEFINES: before a function that
// gives an OpDefinition.
#ifdef TANDEM_OPS_AS_DATA
#define TANDEM_DOC(...) ""
#else
#define TANDEM_DOC(...) __VA_ARGS__
#endif

#ifndef TANDEM_OPS_AS_DATA

#define TANDEM_DEFINES

namespace tandem {

using OpDefinition = OpDefBuilder;

inline Status RegisterOps(OpRegistry& registry, std::initializer_list<OpDefinition> ops) {
  return registry.RegisterAll(ops);
}

}  // namespace tandem

#else

#define TANDEM_DEFINES consteval

namespace tandem {

// A name and its metadata function, both null of an op that is not in the list. All is computed while this is compiled,
// so that nothing refers to what is left out. Arguments of the rest are not looked at.
class OpDefinition {
 public:
  consteval OpDefinition(const char* name) : name_(IsInBuild(name) ? name : nullptr) {}  // NOLINT: as OpDefBuilder's

// For temporary definitions, and for those that have a name.
#define TANDEM_IGNORE(Name)                            \
  template <typename... Arguments>                     \
  consteval OpDefinition Name(const Arguments&...)&& { \
    return *this;                                      \
  }                                                    \
  template <typename... Arguments>                     \
  consteval OpDefinition& Name(const Arguments&...)& { \
    return *this;                                      \
  }
  TANDEM_IGNORE(Input)
  TANDEM_IGNORE(HostInput)
  TANDEM_IGNORE(Output)
  TANDEM_IGNORE(Attr)
  TANDEM_IGNORE(Doc)
  TANDEM_IGNORE(SideEffects)
  TANDEM_IGNORE(Elementwise)
  TANDEM_IGNORE(MaxUlp)
  TANDEM_IGNORE(Reduction)
  TANDEM_IGNORE(Layout)
  TANDEM_IGNORE(Aliases)
#undef TANDEM_IGNORE

  template <auto fn>
  consteval OpDefinition Metadata() && {
    return Metadata<fn>();
  }
  template <auto fn>
  consteval OpDefinition& Metadata() & {
    metadata_ = name_ == nullptr ? nullptr : EraseMetadataFunction<fn>();
    return *this;
  }

  constexpr const char* name() const { return name_; }
  constexpr MetadataFunction metadata() const { return metadata_; }

 private:
  const char* name_;
  MetadataFunction metadata_ = nullptr;
};

// Of those that are in the build, in core/ops/lib/selected_ops.cc.
Status RegisterOps(OpRegistry& registry, std::initializer_list<OpDefinition> ops);

}  // namespace tandem

#endif

#endif  // TANDEM_CORE_OPS_OP_DEFINITION_H_
