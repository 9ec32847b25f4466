// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tables of rules.

#include <algorithm>
#include <charconv>
#include <mutex>
#include <optional>
#include <utility>

#include "substitution_rules.h"
#include "tandem/substitution_op_handler.h"

namespace tandem {

namespace {

Status NotAPattern(std::string_view text) {
  MessageBuilder given;
  AppendQuoted(given, text);
  return InvalidArgument("expected a dtype or *, and the sizes of dimensions or ? in brackets, such as f32[2,?], got ",
                         given.view());
}

// A path by replacements from `op` back to it; empty if there is none.
std::vector<std::string_view> FindCircle(std::string_view op, const auto& edges) {
  std::vector<std::string_view> path = {op};
  std::vector<std::string_view> visited;
  const auto visit = [&](const auto& self, std::string_view from) -> bool {
    for (const auto& [source, target] : edges) {
      if (source != from || target.empty()) continue;
      path.push_back(target);
      if (target == op) return true;
      const bool is_new = std::ranges::find(visited, target) == visited.end();
      if (is_new) visited.push_back(target);
      if (is_new && self(self, target)) return true;
      path.pop_back();
    }
    return false;
  };
  return visit(visit, op) ? path : std::vector<std::string_view>();
}

}  // namespace

StatusOr<TensorPattern> TensorPattern::Parse(std::string_view text) {
  TensorPattern pattern;
  const size_t bracket = std::min(text.find('['), text.size());
  const std::string_view dtype = text.substr(0, bracket);
  if (dtype != "*") {
    const std::optional<DType> parsed = ParseDType(dtype);
    if (!parsed) return NotAPattern(text);
    pattern.dtype = *parsed;
  }
  if (bracket == text.size()) return pattern;
  pattern.has_shape = true;
  std::string_view dims = text.substr(bracket + 1);
  while (!dims.empty() && dims != "]") {
    int64_t dim = -1;
    size_t size = 1;
    if (dims[0] != '?') {
      const auto [end, error] = std::from_chars(dims.data(), dims.data() + dims.size(), dim);
      size = static_cast<size_t>(end - dims.data());
      if (error != std::errc() || dim < 0) return NotAPattern(text);
    }
    dims.remove_prefix(size);
    pattern.dims.push_back(dim);
    if (dims.starts_with(",") && dims.size() > 1 && dims[1] != ']') {
      dims.remove_prefix(1);
    } else if (dims != "]") {
      return NotAPattern(text);
    }
  }
  if (dims != "]" || pattern.dims.size() > TensorShape::kMaxRank) return NotAPattern(text);
  return pattern;
}

bool TensorPattern::Matches(const TensorMetadata& metadata) const {
  if (dtype != DType::kInvalid && dtype != metadata.dtype) return false;
  if (!has_shape) return true;
  return std::ranges::equal(dims, metadata.shape.dims(),
                            [](int64_t wanted, int64_t given) { return wanted < 0 || wanted == given; });
}

void AppendTo(MessageBuilder& out, const TensorPattern& pattern) {
  pattern.dtype == DType::kInvalid ? out.Append('*') : out.Append(pattern.dtype);
  if (!pattern.has_shape) return;
  out.Append('[');
  for (size_t i = 0; i < pattern.dims.size(); ++i) {
    if (i > 0) out.Append(',');
    pattern.dims[i] < 0 ? out.Append('?') : out.Append(pattern.dims[i]);
  }
  out.Append(']');
}

Substitutions::~Substitutions() = default;

std::unique_ptr<OpHandler> Substitutions::MakeHandler(std::string_view name, OpHandler& delegate) {
  return CreateSubstitutionOpHandler(name, runtime_, delegate, RcRef<Substitutions>::Share(this));
}

// What is new is at the end.
Status Substitutions::CheckLocked(const std::vector<Added>& all) const {
  std::vector<PreparedSubstitution> prepared;
  std::vector<std::pair<std::string_view, std::string_view>> edges;
  for (const auto& [id, rule] : all) {
    const bool is_new = id == next_id_;
    edges.emplace_back(rule->op, rule->replacement);
    StatusOr<PreparedSubstitution> made = PreparedSubstitution::Make(runtime_.registry(), rule);
    // The ops of one that was right may have gone.
    if (!made.ok() && !is_new) continue;
    if (!made.ok()) return InRule(*rule, made.status());
    for (const PreparedSubstitution& earlier : prepared) {
      if (!is_new || earlier.rule().op != rule->op || !earlier.Covers(*made)) continue;
      return InRule(
          *rule, InvalidArgument("this rule of ", std::string_view(rule->op),
                                 " can never hold: an earlier one is for all of its calls",
                                 earlier.rule().origin.empty() ? "" : ", ", std::string_view(earlier.rule().origin)));
    }
    prepared.push_back(std::move(*made));
  }
  for (const auto& [id, rule] : all) {
    const std::vector<std::string_view> circle =
        id == next_id_ ? FindCircle(rule->op, edges) : std::vector<std::string_view>();
    if (circle.empty()) continue;
    MessageBuilder path;
    for (const std::string_view op : circle) path.Append(path.view().empty() ? "" : " by ", op);
    return InRule(*rule, InvalidArgument("expected ops that do not replace each other, got ", path.view()));
  }
  return Status();
}

StatusOr<uint64_t> Substitutions::Add(std::vector<Substitution> rules) {
  std::vector<std::string> ops;
  uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    std::vector<Added> all = rules_;
    for (Substitution& rule : rules) {
      ops.push_back(rule.op);
      all.push_back({next_id_, std::make_shared<const Substitution>(std::move(rule))});
    }
    TANDEM_RETURN_IF_ERROR(CheckLocked(all));
    rules_ = std::move(all);
    id = next_id_++;
  }
  for (const std::string& op : ops) runtime_.OpChanged(op);
  return id;
}

void Substitutions::Remove(uint64_t id) {
  std::vector<Added> removed;  // ends without the lock
  {
    const std::lock_guard lock(mutex_);
    const auto rest =
        std::stable_partition(rules_.begin(), rules_.end(), [id](const Added& it) { return it.id != id; });
    removed.assign(std::make_move_iterator(rest), std::make_move_iterator(rules_.end()));
    rules_.erase(rest, rules_.end());
  }
  for (const Added& one : removed) runtime_.OpChanged(one.rule->op);
}

bool Substitutions::Has(std::string_view op) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(rules_, [op](const Added& it) { return it.rule->op == op; });
}

Substitutions::Rules Substitutions::Find(std::string_view op) const {
  Rules found;
  const std::lock_guard lock(mutex_);
  for (const Added& it : rules_) {
    if (it.rule->op == op) found.push_back(it.rule);
  }
  return found;
}

void Substitutions::VisitCallers(std::string_view op, FunctionRef<void(std::string_view)> visit) const {
  const std::lock_guard lock(mutex_);
  for (const Added& it : rules_) {
    if (it.rule->replacement == op) visit(it.rule->op);
  }
}

}  // namespace tandem
