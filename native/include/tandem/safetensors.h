// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tensors from and to files in the safetensors format.
//
//   TANDEM_ASSIGN_OR_RETURN(auto file, tandem::eager::SafetensorsFile::Open("weights.safetensors"));
//   auto weight = file.Load(*runtime, "layer0.weight");               // refers to the mapped file: nothing is copied
//   TANDEM_ASSIGN_OR_RETURN(auto all, file.LoadAll(*runtime));        // by name
//   TANDEM_RETURN_IF_ERROR(tandem::eager::SaveSafetensors("copy.safetensors", all));
//
// The format (https://github.com/huggingface/safetensors): a little-endian u64 N, at most 100,000,000; N bytes of JSON,
// an object that gives for each tensor's name its dtype, shape and [begin, end) in the data, and under "__metadata__"
// an object of text; the data, which the tensors fill without holes or overlaps, row-major and little-endian.

#ifndef TANDEM_SAFETENSORS_H_
#define TANDEM_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>

#include "tandem/eager.h"
#include "tandem/export.h"
#include "tandem/status.h"
#include "tandem/tensor_metadata.h"

namespace tandem::eager {

// Tensors by name.
using NamedTensors = std::map<std::string, Tensor, std::less<>>;
// Text by key: what a file says of itself.
using NamedTexts = std::map<std::string, std::string, std::less<>>;

// Told how many bytes of tensor data are done, of how many in all: after each tensor and, within long ones, now and
// then. False stops the call, which then is Cancelled.
using SafetensorsProgress = std::function<bool(uint64_t done, uint64_t total)>;

// One tensor of a file. The views live as long as the file object.
struct SafetensorsEntry {
  std::string_view name;
  std::string_view stored_dtype;  // as the file has it: "F32"
  // The dtype is kInvalid if it is one of the format's that Tandem lacks (F8_E4M3, F8_E5M2, F8_E8M0, F8_E4M3FNUZ,
  // F8_E5M2FNUZ, F6_E2M3, F6_E3M2, F4): such a tensor is Unimplemented when it is loaded.
  TensorMetadata metadata;
  uint64_t offset = 0;  // of its data, in bytes from the begin of the file
  uint64_t size = 0;    // of its data, in bytes
};

// A key of the file's metadata and its value.
struct SafetensorsText {
  std::string_view key;
  std::string_view value;
};

// An open file, whose header has been read and checked; tensors are loaded when they are asked for, and do not need the
// object any more then. Constant functions are thread-safe. Moved-from objects may be destroyed and assigned.
//
// Trusts nothing in a file: errors name it, the tensor or the byte, what was expected and what was given. Besides what
// breaks the format it refuses fields that the format does not have, names and keys that occur twice, and shapes that
// TensorShape cannot hold. Codes: NotFound for a file that is not there or cannot be read, InvalidArgument for what is
// no ordinary file, DataLoss for content that breaks the format, Unimplemented for dtypes that are not known, and ranks
// above TensorShape::kMaxRank, ResourceExhausted where memory cannot be had.
class TANDEM_EXPORT SafetensorsFile {
 public:
  // How a file is opened.
  struct Options {
    // Tensors refer to the file, mapped into memory: nothing is read before it is used. The file must stay as it is
    // while any of them is alive; one that is made shorter meanwhile ends the program (SIGBUS). Saving over it with
    // SaveSafetensors is fine, which replaces the file and leaves the old content to who has it mapped. Without, and
    // where files cannot be mapped (WebAssembly, or a file larger than the addresses left), tensors are read into
    // memory of the runtime when they are loaded.
    bool map = true;
  };

  static StatusOr<SafetensorsFile> Open(const std::string& path, const Options& options,
                                        std::source_location where = std::source_location::current());
  static StatusOr<SafetensorsFile> Open(const std::string& path,
                                        std::source_location where = std::source_location::current()) {
    return Open(path, Options(), where);
  }
  // Over the content of a file in the caller's memory, which must not change; tensors refer to it. `release`, if given,
  // is called once when neither this object nor a tensor needs the memory any more, also after an error. Errors call
  // the content `name`.
  static StatusOr<SafetensorsFile> FromMemory(std::span<const std::byte> content, std::function<void()> release,
                                              std::string_view name = "safetensors",
                                              std::source_location where = std::source_location::current());

  SafetensorsFile(SafetensorsFile&&) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept;
  ~SafetensorsFile();

  // In the order of their data.
  std::span<const SafetensorsEntry> tensors() const;
  // Null if there is none of this name.
  const SafetensorsEntry* Find(std::string_view name) const;
  // In the order of the keys.
  std::span<const SafetensorsText> metadata() const;
  std::optional<std::string_view> FindMetadata(std::string_view key) const;
  // Whether tensors refer to memory that is there already, rather than being read.
  bool IsMapped() const;

  // The tensor of this name, on the host; To(device) moves it on. It refers to the mapped file if its begin there is a
  // multiple of its elements' size, as it is in files of the usual writers, and is a copy otherwise. An error tensor if
  // there is none of this name, if its bools are other than 0 and 1, or if memory for a copy cannot be had.
  Tensor Load(Runtime& runtime, std::string_view name,
              std::source_location where = std::source_location::current()) const;
  // All of them, or the first error.
  StatusOr<NamedTensors> LoadAll(Runtime& runtime, const SafetensorsProgress& progress = nullptr,
                                 std::source_location where = std::source_location::current()) const;

 private:
  struct Content;
  explicit SafetensorsFile(std::unique_ptr<Content> content);
  static StatusOr<SafetensorsFile> Read(std::unique_ptr<Content> content, uint64_t size);

  std::unique_ptr<Content> content_;
};

// What is saved besides the tensors.
struct SafetensorsSaveOptions {
  NamedTexts metadata;
  SafetensorsProgress progress = nullptr;
};

// Waits for the tensors, brings those of other devices to the host, one after the other, and writes a file: the widest
// elements first, so that each tensor is aligned to its elements, and by name among those of a dtype. The same tensors
// give the same bytes. It is written beside `path` and then renamed, so that a file at `path` is always whole, the old
// one or the new one; of a call that fails nothing is left.
//
// InvalidArgument for null tensors, dtypes that the format lacks (string), names that are not UTF-8 or kept for the
// metadata, and a path that is a folder, a pipe or a device; the error of a tensor that is one, as the cause;
// FailedPrecondition or DataLoss if the system refuses.
TANDEM_EXPORT Status SaveSafetensors(const std::string& path, const NamedTensors& tensors,
                                     const SafetensorsSaveOptions& options = {},
                                     std::source_location where = std::source_location::current());

}  // namespace tandem::eager

#endif  // TANDEM_SAFETENSORS_H_
