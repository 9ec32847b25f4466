// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// OpRegistry: the op definitions a runtime knows, filled by explicit calls.

#ifndef TANDEM_OP_REGISTRY_H_
#define TANDEM_OP_REGISTRY_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/export.h"
#include "tandem/op_def.h"
#include "tandem/status.h"

namespace tandem {

// All methods are thread-safe. Definitions live as long as the registry, or until they are removed; until then pointers
// to them stay valid. Who may meet removals shares them.
class TANDEM_EXPORT OpRegistry {
 public:
  using Watcher = std::function<void(const OpDef&)>;

  OpRegistry() = default;
  OpRegistry(const OpRegistry&) = delete;
  OpRegistry& operator=(const OpRegistry&) = delete;

  // AlreadyExists if the name is taken; InvalidArgument with all faults of the definition if it does not parse. `code`
  // is kept as long as the definition, which may be shared beyond its removal.
  Status Register(const OpDefBuilder& builder, std::shared_ptr<const void> code = nullptr);
  // A whole definition, such as OpDefBuilder::Build gives. AlreadyExists if the name is taken.
  Status Register(OpDef def);
  // Registers all; stops at nothing and reports every failure in one error, whose code is that of the first.
  Status RegisterAll(std::initializer_list<OpDefBuilder> builders);

  // Whether it was there. See OpLibrary, which removes what belongs together and tells op handlers.
  bool Remove(std::string_view name);

  // Null if there is none.
  const OpDef* Find(std::string_view name) const { return FindShared(name).get(); }
  std::shared_ptr<const OpDef> FindShared(std::string_view name) const;
  // How often a definition was removed: while it is the same, so are the definitions that were found.
  uint64_t num_removals() const { return num_removals_.load(std::memory_order_acquire); }
  // Sorted by name.
  std::vector<const OpDef*> List() const;

  // Notes that selective registration left the op out of this build (OR-4), so that asking for it says so (EX-4).
  void MarkLeftOut(std::string_view name);
  // Why `name` cannot be run: FailedPrecondition if it was left out of this build, else NotFound with the nearest
  // defined name if one is reasonably near. Does not throw when memory is exhausted.
  Status NotFoundError(std::string_view name) const;

  // `watcher` hears of every later registration, on the registering thread, one at a time, until the registry dies or
  // RemoveWatcher returns. It may read the registry, but neither register nor add or remove watchers.
  int AddWatcher(Watcher watcher);
  void RemoveWatcher(int id);

  // The whole registry as JSON, sorted, one op a line: what the typed op functions and the op reference are generated
  // from (OR-5). The format is described in op_registry_json.cc.
  std::string ToJson() const;

 private:
  // Taken before mutex_ by registrations and changes of watchers, and held while watchers run.
  std::mutex watch_mutex_;
  mutable std::mutex mutex_;  // guards defs_ and left_out_
  // By name; null for what was removed, since its name is still referred to.
  std::map<std::string, std::shared_ptr<const OpDef>, std::less<>> defs_;
  std::atomic<uint64_t> num_removals_{0};
  std::set<std::string, std::less<>> left_out_;
  std::map<int, Watcher> watchers_;
  int next_watcher_ = 0;
};

}  // namespace tandem

#endif  // TANDEM_OP_REGISTRY_H_
