// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Libraries of compiled functions: loaded once in a process, and given what they expect of their loader.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/shared_library.h"
#include "call_environment.h"
#include "target.h"

namespace tandem::tvm {

namespace {

// The libraries that are loaded, by their paths.
struct Loaded {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<const Library>, std::less<>> libraries;
};

// Never destroyed, since a library may be held until the end of the process.
Loaded& GetLoaded() {
  static Loaded* const loaded = new Loaded;
  return *loaded;
}

template <typename Function>
Function FindFunction(const SharedLibrary& library, const char* symbol) {
  return reinterpret_cast<Function>(library.FindOrNull(symbol));
}

// Ok unless the library is linked with a tvm-ffi that calls functions in another way.
Status CheckVersion(const SharedLibrary& library) {
  const auto get_version = FindFunction<GetVersion>(library, "TVMFFIGetVersion");
  if (get_version == nullptr) return Status();
  Version version = {};
  get_version(&version);
  if (version.major == 0) return Status();
  return FailedPrecondition("expected ", library.path(), " to be compiled for tvm-ffi 0.x, got ", version.major, ".",
                            version.minor, ".", version.patch);
}

}  // namespace

Library::Library(std::string path, std::shared_ptr<const SharedLibrary> file)
    : path_(std::move(path)), file_(std::move(file)) {}

Library::~Library() {
  Loaded& loaded = GetLoaded();
  const std::lock_guard lock(loaded.mutex);
  const auto found = loaded.libraries.find(path_);
  // Another one may have been loaded after the last reference to this one was dropped.
  if (found != loaded.libraries.end() && found->second.expired()) loaded.libraries.erase(found);
}

StatusOr<std::shared_ptr<const Library>> Library::Load(std::string_view path) {
  TANDEM_ASSIGN_OR_RETURN(std::string file_path, SharedLibrary::FindFile("library of compiled functions", path));
  // What is dropped here is destroyed without the lock, which its destructor takes.
  std::shared_ptr<const Library> library;
  Loaded& loaded = GetLoaded();
  const std::lock_guard lock(loaded.mutex);
  std::weak_ptr<const Library>& known = loaded.libraries[file_path];
  library = known.lock();
  if (library != nullptr) return library;
  auto file = SharedLibrary::Open("library of compiled functions", file_path);
  Status status = file.status();
  if (status.ok()) status = CheckVersion(**file);
  if (!status.ok()) {
    loaded.libraries.erase(file_path);
    return status;
  }
  for (const ContextFunction& function : ContextFunctions()) {
    void* const variable = (*file)->FindOrNull(function.variable);
    if (variable != nullptr) *static_cast<void**>(variable) = function.address;
  }
  library = std::shared_ptr<const Library>(new Library(std::move(file_path), std::move(*file)));
  known = library;
  return library;
}

StatusOr<PackedFunction> Library::Find(std::string_view name) const {
  const std::string classic_symbol(name);
  const std::string ffi_symbol = "__tvm_ffi_" + classic_symbol;
  Abi abi = Abi::kFfi;
  void* address = nullptr;
  if (!name.empty() && name.find('\0') == std::string_view::npos) {
    address = file_->FindOrNull(ffi_symbol.c_str());
    if (address == nullptr) {
      abi = Abi::kClassic;
      address = file_->FindOrNull(classic_symbol.c_str());
    }
  }
  if (address == nullptr) {
    return MakeError(StatusCode::kNotFound, "expected ", path_, " to have the function '", name, "' (", ffi_symbol,
                     " or ", name, ")");
  }
  auto target = std::make_shared<PackedFunction::Target>(
      PackedFunction::Target{abi, address, nullptr, classic_symbol + " of " + path_, shared_from_this()});
  target->last_error = FindFunction<GetLastError>(*file_, "TVMGetLastError");
  target->raised_error = FindFunction<ErrorMoveFromRaised>(*file_, "TVMFFIErrorMoveFromRaised");
  target->release_object = FindFunction<ObjectDecRef>(*file_, "TVMFFIObjectDecRef");
  target->set_stream = FindFunction<SetStream>(*file_, "TVMSetStream");
  target->env_set_stream = FindFunction<EnvSetStream>(*file_, "TVMFFIEnvSetStream");
  return PackedFunction(std::move(target));
}

const char* Library::substitutions() const {
  return static_cast<const char*>(file_->FindOrNull("tandem_substitutions"));
}

}  // namespace tandem::tvm
