// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// PreparedSubstitution: a rule that has been checked against the definitions of its ops, ready to be compared with
// calls.

#ifndef TANDEM_CORE_HANDLERS_SUBSTITUTION_RULES_H_
#define TANDEM_CORE_HANDLERS_SUBSTITUTION_RULES_H_

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tandem/op_def.h"
#include "tandem/op_registry.h"
#include "tandem/substitution_op_handler.h"

namespace tandem {

class PreparedSubstitution {
 public:
  // NotFound or InvalidArgument, without the rule's origin, if the rule cannot be.
  static StatusOr<PreparedSubstitution> Make(const OpRegistry& registry, std::shared_ptr<const Substitution> rule);

  // Whether the rule is for a call whose arguments and attributes, with defaults, fit the definition.
  bool Matches(std::span<const TensorMetadata* const> args, const OpAttrsRef& attrs) const;
  // Whether every call that `other` matches is matched by this one.
  bool Covers(const PreparedSubstitution& other) const;
  // What the replacement is called with in place of `attrs`.
  StatusOr<OpAttrsRef> ReplaceAttrs(const OpAttrsRef& attrs) const;

  const Substitution& rule() const { return *rule_; }
  const std::shared_ptr<const Substitution>& shared_rule() const { return rule_; }
  const std::shared_ptr<const OpDef>& def() const { return def_; }
  // Of the replacement; null for a kernel.
  const std::shared_ptr<const OpDef>& replacement_def() const { return replacement_def_; }

 private:
  struct Passed {
    std::string_view to;
    std::string_view from;
  };

  Status CheckInputs() const;
  Status CheckConditions();
  Status CheckReplacement(const OpRegistry& registry);
  Status CheckReplacementAttrs();
  Status CheckSources() const;
  Status AddUnpassed();
  Status CheckPossible() const;
  bool IsPassed(std::string_view attr) const;

  std::shared_ptr<const Substitution> rule_;
  std::shared_ptr<const OpDef> def_;
  std::shared_ptr<const OpDef> replacement_def_;
  std::vector<AttrEntry> conditions_;  // by attribute, of the rule or of the definition's defaults
  std::vector<Passed> passed_;
};

// "my.MatMul (table.json:3:5)"
std::string NameOfReplacement(const Substitution& rule);
// The error with where the rule is from in front.
Status InRule(const Substitution& rule, const Status& error);

}  // namespace tandem

#endif  // TANDEM_CORE_HANDLERS_SUBSTITUTION_RULES_H_
