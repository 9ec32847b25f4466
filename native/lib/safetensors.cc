// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tensors over the content of a file, and their way into one.

#include "tandem/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "file.h"
#include "safetensors_header.h"
#include "tandem/host_tensors.h"

namespace tandem::eager {

static_assert(std::endian::native == std::endian::little, "the data of a safetensors file is little-endian");

namespace {

constexpr size_t kChunkBytes = size_t{16} << 20;  // between two calls of a progress function

// Counts what is done, and asks whether to go on.
class Meter {
 public:
  // `progress` may be null.
  Meter(std::string_view file, const SafetensorsProgress* progress, uint64_t total)
      : file_(file), progress_(progress), total_(total) {}

  Status Add(uint64_t bytes) {
    done_ += bytes;
    if (progress_ == nullptr || !*progress_ || (*progress_)(done_, total_)) return Status();
    return MakeError(StatusCode::kCancelled, file_, ": expected to go on to ", total_, " bytes, got stopped at ",
                     done_);
  }

 private:
  std::string_view file_;
  const SafetensorsProgress* progress_;
  uint64_t total_;
  uint64_t done_ = 0;
};

// What a function of bool elements may rely on.
Status CheckBools(std::span<const std::byte> bytes) {
  const auto wrong = std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; });
  if (wrong == bytes.end()) return Status();
  return MakeError(StatusCode::kDataLoss, "expected bools of 0 or 1, got ", std::to_integer<int>(*wrong),
                   " in element ", wrong - bytes.begin());
}

uint64_t TotalSize(std::span<const SafetensorsEntry> entries) {
  uint64_t total = 0;
  for (const SafetensorsEntry& entry : entries) total += entry.size;
  return total;
}

// The elements of a tensor, which is available, as dense ones on the host.
StatusOr<tandem::Tensor> OnHost(const Tensor& tensor, Location where) {
  HostContext& host = tensor.runtime()->host();
  const TensorHandle here = tensor.handle().TransferTo(ExecutionContext(host, where), host.device());
  TANDEM_RETURN_IF_ERROR(host.Await(here));
  return ToDense(here.tensor(), host.allocator());
}

}  // namespace

struct SafetensorsFile::Content {
  Status ReadAt(uint64_t offset, std::span<std::byte> out) const {
    if (!memory) return file.ReadAt(offset, out);
    if (!out.empty()) std::memcpy(out.data(), static_cast<const std::byte*>(memory->data()) + offset, out.size());
    return Status();
  }
  StatusOr<tandem::Tensor> Load(Runtime& runtime, const SafetensorsEntry& entry, Meter& meter) const;
  StatusOr<tandem::Tensor> LoadUnnamed(Runtime& runtime, const SafetensorsEntry& entry, Meter& meter) const;

  std::string name;
  RcRef<HostBuffer> memory;  // the whole file; null: it is to be read
  InputFile file;
  SafetensorsHeader header;
};

StatusOr<tandem::Tensor> SafetensorsFile::Content::LoadUnnamed(Runtime& runtime, const SafetensorsEntry& entry,
                                                               Meter& meter) const {
  const DType dtype = entry.metadata.dtype;
  if (dtype == DType::kInvalid) {
    return MakeError(StatusCode::kUnimplemented, "expected a dtype that Tandem has, got ", entry.stored_dtype);
  }
  if (!entry.metadata.IsValid()) {
    return ResourceExhausted("expected a tensor that memory can hold, got one of ", entry.size, " bytes");
  }
  HostContext& host = runtime.host();
  if (memory) {
    std::byte* const data = static_cast<std::byte*>(memory->data()) + entry.offset;
    const std::span<const std::byte> bytes(data, static_cast<size_t>(entry.size));
    if (dtype == DType::kBool) TANDEM_RETURN_IF_ERROR(CheckBools(bytes));
    TANDEM_RETURN_IF_ERROR(meter.Add(entry.size));
    if (reinterpret_cast<uintptr_t>(data) % DTypeSize(dtype) != 0) {
      return MakeDense(entry.metadata, bytes, host.device(), host.allocator());
    }
    return tandem::Tensor(entry.metadata, &host.device(), kDenseHost, data, memory);
  }
  TANDEM_ASSIGN_OR_RETURN(tandem::Tensor tensor, AllocateDense(entry.metadata, host.device(), host.allocator()));
  const std::span<std::byte> bytes(static_cast<std::byte*>(tensor.mutable_data()), static_cast<size_t>(entry.size));
  size_t done = 0;
  do {
    const std::span<std::byte> chunk = bytes.subspan(done, std::min(kChunkBytes, bytes.size() - done));
    TANDEM_RETURN_IF_ERROR(file.ReadAt(entry.offset + done, chunk));
    TANDEM_RETURN_IF_ERROR(meter.Add(chunk.size()));
    done += chunk.size();
  } while (done < bytes.size());
  if (dtype == DType::kBool) TANDEM_RETURN_IF_ERROR(CheckBools(bytes));
  return tensor;
}

StatusOr<tandem::Tensor> SafetensorsFile::Content::Load(Runtime& runtime, const SafetensorsEntry& entry,
                                                        Meter& meter) const {
  StatusOr<tandem::Tensor> tensor = LoadUnnamed(runtime, entry, meter);
  if (tensor.ok() || tensor.status().code() == StatusCode::kCancelled) return tensor;
  return MakeError(tensor.status().code(), name, ": tensor ", ShownName{entry.name}, ": ", tensor.status().message());
}

SafetensorsFile::SafetensorsFile(std::unique_ptr<Content> content) : content_(std::move(content)) {}
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&&) noexcept = default;
SafetensorsFile::~SafetensorsFile() = default;

StatusOr<SafetensorsFile> SafetensorsFile::Read(std::unique_ptr<Content> content, uint64_t size) {
  if (size < kHeaderPrefixSize) {
    return MakeError(StatusCode::kDataLoss, content->name, ": expected ", kHeaderPrefixSize,
                     " bytes of header length, got ", size);
  }
  std::byte prefix[kHeaderPrefixSize];
  TANDEM_RETURN_IF_ERROR(content->ReadAt(0, prefix));
  TANDEM_ASSIGN_OR_RETURN(const size_t header_size, ReadHeaderSize(content->name, prefix, size));
  // A copy, which nobody else changes while it is read, and which the parser writes to.
  SafetensorsHeader& header = content->header;
  header.text.reset(new (std::nothrow) char[header_size]);
  if (header.text == nullptr) {
    return ResourceExhausted(content->name, ": expected ", header_size, " bytes of memory for the header, got none");
  }
  TANDEM_RETURN_IF_ERROR(
      content->ReadAt(kHeaderPrefixSize, std::as_writable_bytes(std::span(header.text.get(), header_size))));
  TANDEM_RETURN_IF_ERROR(ParseHeader(content->name, header_size, size, header));
  return SafetensorsFile(std::move(content));
}

StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path, const Options& options,
                                                std::source_location where) {
  const auto open = [&]() -> StatusOr<SafetensorsFile> {
    auto content = std::make_unique<Content>();
    content->name = path;
    TANDEM_ASSIGN_OR_RETURN(content->file, InputFile::Open(path));
    const uint64_t size = content->file.size();
    if (options.map) content->memory = content->file.Map();
    // Mapped memory needs no open file.
    if (content->memory) content->file = InputFile();
    return Read(std::move(content), size);
  };
  StatusOr<SafetensorsFile> opened = open();
  if (!opened.ok()) return opened.status().WithContext("", where);
  return opened;
}

StatusOr<SafetensorsFile> SafetensorsFile::FromMemory(std::span<const std::byte> content, std::function<void()> release,
                                                      std::string_view name, std::source_location where) {
  auto made = std::make_unique<Content>();
  made->name = name;
  void* const data = const_cast<std::byte*>(content.data());
  StatusOr<RcRef<HostBuffer>> memory = HostAllocator::WrapExternal(data, content.size(), std::move(release));
  if (!memory.ok()) return memory.status().WithContext("", where);
  made->memory = std::move(*memory);
  StatusOr<SafetensorsFile> opened = Read(std::move(made), content.size());
  if (!opened.ok()) return opened.status().WithContext("", where);
  return opened;
}

std::span<const SafetensorsEntry> SafetensorsFile::tensors() const {
  return std::as_const(content_->header).entries.span();
}

const SafetensorsEntry* SafetensorsFile::Find(std::string_view name) const {
  const std::span<const SafetensorsEntry* const> by_name = std::as_const(content_->header).by_name.span();
  const auto found =
      std::lower_bound(by_name.begin(), by_name.end(), name,
                       [](const SafetensorsEntry* entry, std::string_view wanted) { return entry->name < wanted; });
  return found == by_name.end() || (*found)->name != name ? nullptr : *found;
}

std::span<const SafetensorsText> SafetensorsFile::metadata() const {
  return std::as_const(content_->header).metadata.span();
}

std::optional<std::string_view> SafetensorsFile::FindMetadata(std::string_view key) const {
  const std::span<const SafetensorsText> texts = metadata();
  const auto found = std::lower_bound(texts.begin(), texts.end(), key,
                                      [](const auto& text, std::string_view wanted) { return text.key < wanted; });
  if (found == texts.end() || found->key != key) return std::nullopt;
  return found->value;
}

bool SafetensorsFile::IsMapped() const { return static_cast<bool>(content_->memory); }

Tensor SafetensorsFile::Load(Runtime& runtime, std::string_view name, std::source_location where) const {
  const auto load = [&]() -> StatusOr<tandem::Tensor> {
    const SafetensorsEntry* entry = Find(name);
    if (entry == nullptr) {
      return MakeError(StatusCode::kNotFound, content_->name, ": expected a tensor ", ShownName{name},
                       ", got none of this name");
    }
    Meter meter(content_->name, nullptr, 0);
    return content_->Load(runtime, *entry, meter);
  };
  StatusOr<tandem::Tensor> tensor = load();
  if (tensor.ok()) return Tensor(&runtime, TensorHandle::MakeAvailable(std::move(*tensor)));
  Status error = runtime.host().EmitError(tensor.status().WithContext("", where));
  return Tensor(&runtime, TensorHandle::MakeError(std::move(error)));
}

StatusOr<NamedTensors> SafetensorsFile::LoadAll(Runtime& runtime, const SafetensorsProgress& progress,
                                                std::source_location where) const {
  NamedTensors loaded;
  Meter meter(content_->name, &progress, TotalSize(tensors()));
  for (const SafetensorsEntry& entry : tensors()) {
    StatusOr<tandem::Tensor> tensor = content_->Load(runtime, entry, meter);
    if (!tensor.ok()) return tensor.status().WithContext("", where);
    loaded.emplace(entry.name, Tensor(&runtime, TensorHandle::MakeAvailable(std::move(*tensor))));
  }
  return loaded;
}

Status SaveSafetensors(const std::string& path, const NamedTensors& tensors, const SafetensorsSaveOptions& options,
                       std::source_location where) {
  const auto save = [&]() -> Status {
    std::vector<TensorToSave> ordered;
    ordered.reserve(tensors.size());
    for (const auto& [name, tensor] : tensors) {
      if (const Status status = tensor.Await(); !status.ok()) {
        return MakeError(status.code(), path, ": tensor ", ShownName{name}, ": expected values, got an error")
            .WithCause(status);
      }
      ordered.push_back({name, tensor.handle().tensor().metadata(), &tensor});
    }
    const StatusOr<std::string> header = FormatHeader(ordered, options.metadata);
    if (!header.ok()) return MakeError(header.status().code(), path, ": ", header.status().message());
    uint64_t total = 0;
    for (const TensorToSave& tensor : ordered) total += tensor.metadata.byte_size();
    Meter meter(path, &options.progress, total);
    return ReplaceFile(path, [&](WriteBytes write) -> Status {
      TANDEM_RETURN_IF_ERROR(write(std::as_bytes(std::span(*header))));
      for (const TensorToSave& tensor : ordered) {
        TANDEM_ASSIGN_OR_RETURN(const tandem::Tensor here, OnHost(*tensor.tensor, where));
        std::span<const std::byte> rest(static_cast<const std::byte*>(here.data()), tensor.metadata.byte_size());
        do {
          const std::span<const std::byte> chunk = rest.first(std::min(kChunkBytes, rest.size()));
          TANDEM_RETURN_IF_ERROR(write(chunk));
          TANDEM_RETURN_IF_ERROR(meter.Add(chunk.size()));
          rest = rest.subspan(chunk.size());
        } while (!rest.empty());
      }
      return Status();
    });
  };
  return save().WithContext("", where);
}

}  // namespace tandem::eager
