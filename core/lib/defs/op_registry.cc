// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// OpRegistry: definitions by name, watchers, and the errors for names that are not there.

#include "tandem/op_registry.h"

#include <algorithm>
#include <climits>
#include <utility>

#include "base/edit_distance.h"
#include "tandem/op_selection.h"

namespace tandem {

Status OpRegistry::Register(const OpDefBuilder& builder, std::shared_ptr<const void> code) {
  TANDEM_ASSIGN_OR_RETURN(OpDef built, builder.Build());
  built.code = std::move(code);
  return Register(std::move(built));
}

Status OpRegistry::Register(OpDef def) {
  const auto shared = std::make_shared<OpDef>(std::move(def));
  const std::lock_guard watch_lock(watch_mutex_);
  {
    const std::lock_guard lock(mutex_);
    const auto [entry, is_new] = defs_.try_emplace(std::string(shared->name));
    if (entry->second != nullptr) {
      return Status::Error(StatusCode::kAlreadyExists, "an op of this name is already defined", shared->name);
    }
    shared->name = entry->first;
    shared->own_name.reset();
    entry->second = shared;
  }
  for (const auto& [id, watcher] : watchers_) watcher(*shared);
  return Status();
}

Status OpRegistry::RegisterAll(std::initializer_list<OpDefBuilder> builders) {
  Status first;
  std::string faults;
  int num_failed = 0;
  for (const OpDefBuilder& builder : builders) {
    const Status status = Register(builder);
    if (status.ok()) continue;
    if (num_failed++ == 0) {
      first = status;
    } else {
      faults += "; ";
    }
    faults += status.message();
  }
  return num_failed <= 1 ? first : Status::Error(first.code(), faults);
}

bool OpRegistry::Remove(std::string_view name) {
  std::shared_ptr<const OpDef> removed;  // ends without the lock
  const std::lock_guard lock(mutex_);
  const auto entry = defs_.find(name);
  if (entry == defs_.end() || entry->second == nullptr) return false;
  removed = std::exchange(entry->second, nullptr);
  num_removals_.fetch_add(1, std::memory_order_acq_rel);
  return true;
}

std::shared_ptr<const OpDef> OpRegistry::FindShared(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto entry = defs_.find(name);
  return entry == defs_.end() ? nullptr : entry->second;
}

std::vector<const OpDef*> OpRegistry::List() const {
  const std::lock_guard lock(mutex_);
  std::vector<const OpDef*> list;
  list.reserve(defs_.size());
  for (const auto& [name, def] : defs_) {
    if (def != nullptr) list.push_back(def.get());
  }
  return list;
}

void OpRegistry::MarkLeftOut(std::string_view name) {
  const std::lock_guard lock(mutex_);
  left_out_.emplace(name);
}

int OpRegistry::AddWatcher(Watcher watcher) {
  const std::lock_guard lock(watch_mutex_);
  watchers_.emplace(next_watcher_, std::move(watcher));
  return next_watcher_++;
}

void OpRegistry::RemoveWatcher(int id) {
  const std::lock_guard lock(watch_mutex_);
  watchers_.erase(id);
}

namespace {

constexpr int kFar = INT_MAX;

// "tf.AddV2" in parts: "tf", "Add", "V2".
struct NameParts {
  std::string_view prefix;
  std::string_view stem;
  std::string_view version;
};

NameParts SplitName(std::string_view name) {
  NameParts parts;
  const size_t dot = name.find('.');
  if (dot != name.npos) parts.prefix = name.substr(0, dot);
  parts.stem = dot == name.npos ? name : name.substr(dot + 1);
  const size_t last = parts.stem.find_last_not_of("0123456789");
  if (last != parts.stem.npos && last > 0 && last + 1 < parts.stem.size() && parts.stem[last] == 'V') {
    parts.version = parts.stem.substr(last);
    parts.stem.remove_suffix(parts.version.size());
  }
  return parts;
}

// How little `name` looks like a slip for `defined`: a missing or different version or prefix weighs less than
// different case, and that less than a misspelt letter. kFar if it does not look like one.
int SlipCost(std::string_view name, std::string_view defined) {
  if (name.size() > internal::kMaxCompared || defined.size() > internal::kMaxCompared || name == defined) return kFar;
  const NameParts given = SplitName(name);
  const NameParts wanted = SplitName(defined);
  const int edits = internal::EditDistance(given.stem, wanted.stem);
  if (edits > std::min<int>(3, static_cast<int>(given.stem.size()) / 3)) return kFar;
  int cost = edits * 8;
  if (edits == 0 && given.stem != wanted.stem) cost += 4;
  if (given.version != wanted.version) cost += 1;
  if (given.prefix != wanted.prefix) cost += given.prefix.empty() ? 1 : 3;
  return cost;
}

}  // namespace

Status OpRegistry::NotFoundError(std::string_view name) const {
  if (name.empty()) return MakeError(StatusCode::kNotFound, "expected the name of an op, got an empty one");
  const std::lock_guard lock(mutex_);
  const auto entry = defs_.find(name);
  const bool is_defined = entry != defs_.end() && entry->second != nullptr;
  if (!is_defined && (left_out_.contains(name) || !IsInBuild(name))) {
    return FailedPrecondition("op ", name,
                              " was left out of this build by selective registration: name it in the list "
                              "of ops that the build is given (TANDEM_OPS, tandem-rt trim)");
  }
  std::string_view nearest;
  int least = kFar;
  for (const auto& [defined, def] : defs_) {
    if (def == nullptr) continue;
    const int cost = SlipCost(name, defined);
    if (cost >= least) continue;
    least = cost;
    nearest = defined;
  }
  if (least == kFar) return MakeError(StatusCode::kNotFound, "op ", name, " is not defined");
  return MakeError(StatusCode::kNotFound, "op ", name, " is not defined, did you mean ", nearest);
}

}  // namespace tandem
