// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// PackedFunction: a function that TVM, or another compiler of its conventions, has compiled; Library: a file of them.

#ifndef TANDEM_TVM_PACKED_FUNCTION_H_
#define TANDEM_TVM_PACKED_FUNCTION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tandem/export.h"
#include "tandem/status.h"

namespace tandem {
class SharedLibrary;
}

namespace tandem::tvm {

// How a function is called: with arrays of values and type codes (TVM's classic ABI, TVMBackendPackedCFunc), or of
// TVMFFIAny (tvm-ffi 0.x, TVMFFISafeCallType).
enum class Abi : uint8_t { kClassic, kFfi };

// A function of the inputs' tensors, then those of the results, which it fills. Copies share what keeps it loaded.
//
// While it runs, it finds Tandem behind the functions that a loader gives libraries of these ABIs (memory to work in,
// parallel loops on the threads of the runtime, the text of an error), but no registry of global functions, no modules
// that it imports, and no barrier between the tasks of a parallel loop: asked for these, it is told of an error.
class TANDEM_EXPORT PackedFunction {
 public:
  // Null: not to be called.
  PackedFunction() = default;
  // The function of the ABI at `address`, such as one that the program links; `name` is for messages. It gets `handle`
  // as its resource handle. `code` keeps it loaded.
  PackedFunction(Abi abi, void* address, std::string_view name, std::shared_ptr<const void> code = nullptr,
                 void* handle = nullptr);

  bool IsValid() const { return target_ != nullptr; }
  Abi abi() const;
  // "addone of /home/me/libaddone.so"
  const std::string& name() const;

  // For the kernels of ops.
  struct Target;
  const std::shared_ptr<const Target>& target() const { return target_; }

 private:
  friend class Library;
  explicit PackedFunction(std::shared_ptr<const Target> target) : target_(std::move(target)) {}
  std::shared_ptr<const Target> target_;
};

// A shared library of compiled functions, loaded while somebody holds it or a function of it. Thread-safe.
class TANDEM_EXPORT Library : public std::enable_shared_from_this<Library> {
 public:
  // The library in the file at `path`: for the same file the same one again, in the whole process, as long as it is
  // loaded. NotFound if there is no such file; FailedPrecondition, with the system's reason, if it cannot be read, is
  // no library, or lacks what it needs, and for another version of tvm-ffi.
  static StatusOr<std::shared_ptr<const Library>> Load(std::string_view path);
  ~Library();

  // The function `__tvm_ffi_<name>` of tvm-ffi, else the classic `<name>`; NotFound if there is neither. That a symbol
  // is a function of the ABI cannot be seen.
  StatusOr<PackedFunction> Find(std::string_view name) const;
  // The table of substitutions that it brings, see LoadSubstitutions; null if it has none.
  const char* substitutions() const;
  // Absolute, without links.
  const std::string& path() const { return path_; }

 private:
  Library(std::string path, std::shared_ptr<const SharedLibrary> file);

  const std::string path_;
  const std::shared_ptr<const SharedLibrary> file_;
};

}  // namespace tandem::tvm

#endif  // TANDEM_TVM_PACKED_FUNCTION_H_
