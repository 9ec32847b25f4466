// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The op libraries of a runtime by their files.

#include "tandem/load_op_library.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "plugin_library.h"

namespace tandem {

using plugin::Code;

// An op library that is there, and how often it is used; guarded by the mutex of its OpLibraries.
struct LoadedOpLibrary::Entry {
  Entry(RcRef<OpLibraries> its_owner, CoreRuntime& runtime, std::string its_path, std::shared_ptr<Code> code)
      : owner(std::move(its_owner)), path(std::move(its_path)), library(runtime, std::move(code)) {}
  const RcRef<OpLibraries> owner;
  const std::string path;  // empty for a library of the program's own
  OpLibrary library;
  int num_uses = 1;
};

class OpLibraries final : public SharedContext {
 public:
  using Entry = LoadedOpLibrary::Entry;

  StatusOr<LoadedOpLibrary> Load(CoreRuntime& runtime, std::string_view path);
  StatusOr<LoadedOpLibrary> Make(CoreRuntime& runtime, std::string path, std::shared_ptr<const SharedLibrary> library,
                                 tandem_op_library_init fill, void* user);
  AsyncValueRef<Chain> Drop(std::shared_ptr<Entry> entry);

  // Recursive, since a function that is told of the end of one library may use another.
  std::recursive_mutex mutex;
  std::map<std::string, std::shared_ptr<Entry>, std::less<>> by_path;
};

StatusOr<LoadedOpLibrary> OpLibraries::Load(CoreRuntime& runtime, std::string_view path) {
  constexpr std::string_view kWhat = "op library";
  TANDEM_ASSIGN_OR_RETURN(std::string file, SharedLibrary::FindFile(kWhat, path));
  const std::lock_guard lock(mutex);
  if (const auto found = by_path.find(file); found != by_path.end()) {
    ++found->second->num_uses;
    return LoadedOpLibrary(found->second);
  }
  TANDEM_ASSIGN_OR_RETURN(auto library, SharedLibrary::Open(kWhat, file));
  TANDEM_ASSIGN_OR_RETURN(const void* const version, library->Find("tandem_plugin_abi_version"));
  if (const uint32_t given = *static_cast<const uint32_t*>(version); given != TANDEM_PLUGIN_ABI_VERSION) {
    return FailedPrecondition("expected ", file, " for version ", TANDEM_PLUGIN_ABI_VERSION,
                              " of tandem_plugin.h, got one for version ", given);
  }
  TANDEM_ASSIGN_OR_RETURN(void* const init, library->Find("tandem_plugin_init"));
  StatusOr<LoadedOpLibrary> made =
      Make(runtime, file, std::move(library), reinterpret_cast<tandem_op_library_init>(init), nullptr);
  if (made.ok()) return made;
  return MakeError(made.status().code(), "op library ", file, ": ", made.status().message());
}

StatusOr<LoadedOpLibrary> OpLibraries::Make(CoreRuntime& runtime, std::string path,
                                            std::shared_ptr<const SharedLibrary> library, tandem_op_library_init fill,
                                            void* user) {
  const std::lock_guard lock(mutex);
  const auto code = std::make_shared<Code>(std::move(library));
  const auto entry = std::make_shared<Entry>(RcRef<OpLibraries>::Share(this), runtime, std::move(path), code);
  TANDEM_RETURN_IF_ERROR(plugin::FillLibrary(runtime, entry->library, *code, fill, user));
  if (!entry->path.empty()) by_path.emplace(entry->path, entry);
  return LoadedOpLibrary(entry);
}

AsyncValueRef<Chain> OpLibraries::Drop(std::shared_ptr<Entry> entry) {
  // Kept until the lock is gone: code of the library, and who waits for its end, run then.
  std::shared_ptr<const void> in_use;
  const std::lock_guard lock(mutex);
  if (--entry->num_uses > 0) return AsyncValueRef<Chain>::MakeAvailable();
  if (!entry->path.empty()) by_path.erase(entry->path);
  in_use = entry->library.in_use();
  return entry->library.Remove();
}

LoadedOpLibrary::LoadedOpLibrary(std::shared_ptr<Entry> entry) : entry_(std::move(entry)) {}
LoadedOpLibrary::LoadedOpLibrary(LoadedOpLibrary&&) noexcept = default;
LoadedOpLibrary& LoadedOpLibrary::operator=(LoadedOpLibrary&& other) noexcept {
  if (this == &other) return *this;
  static_cast<void>(Unload());
  entry_ = std::move(other.entry_);
  return *this;
}
LoadedOpLibrary::~LoadedOpLibrary() { static_cast<void>(Unload()); }

AsyncValueRef<Chain> LoadedOpLibrary::Unload() {
  if (entry_ == nullptr) return AsyncValueRef<Chain>::MakeAvailable();
  const RcRef<OpLibraries> owner = entry_->owner;
  return owner->Drop(std::exchange(entry_, nullptr));
}

StatusOr<LoadedOpLibrary> LoadOpLibrary(CoreRuntime& runtime, std::string_view path, Location location) {
  const RcRef<OpLibraries> libraries = runtime.GetOrCreateSharedContext<OpLibraries>();
  if (!libraries) return Status::OutOfMemory();
  StatusOr<LoadedOpLibrary> loaded = libraries->Load(runtime, path);
  if (loaded.ok()) return loaded;
  return loaded.status().WithContext({}, location);
}

StatusOr<LoadedOpLibrary> MakeOpLibrary(CoreRuntime& runtime, tandem_op_library_init fill, void* user,
                                        Location location) {
  if (fill == nullptr) {
    return InvalidArgument("expected a function that fills an op library, got null").WithContext({}, location);
  }
  const RcRef<OpLibraries> libraries = runtime.GetOrCreateSharedContext<OpLibraries>();
  if (!libraries) return Status::OutOfMemory();
  StatusOr<LoadedOpLibrary> made = libraries->Make(runtime, {}, nullptr, fill, user);
  if (made.ok()) return made;
  return made.status().WithContext({}, location);
}

}  // namespace tandem
