// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Each format's way to tensors and back.

#include "tool/tensor_files.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "file.h"
#include "files/npy.h"
#include "tandem/host_tensors.h"
#include "tandem/safetensors.h"
#include "tool/content.h"
#include "tool/progress.h"
#ifdef TANDEM_TOOL_HAS_PNG
#include "files/png.h"
#endif

namespace tandem::tool {

namespace {

#ifdef TANDEM_TOOL_HAS_PNG
constexpr std::string_view kFormats = ".safetensors, .npy or .png";
#else
constexpr std::string_view kFormats = ".safetensors or .npy (this build has no libpng)";
#endif

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The digits that the text begins with, without zeros before them, are taken from it.
std::string_view TakeNumber(std::string_view& text) {
  const size_t end = static_cast<size_t>(std::find_if_not(text.begin(), text.end(), IsDigit) - text.begin());
  std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

// The tensor as dense elements on the host.
StatusOr<Tensor> OnHost(const eager::Tensor& tensor) {
  HostContext& host = tensor.runtime()->host();
  const eager::Tensor here = tensor.To(host.device(), kNowhere);
  TANDEM_RETURN_IF_ERROR(here.Await(kNowhere));
  return ToDense(here.handle().tensor(), host.allocator());
}

StatusOr<std::vector<FileTensor>> ReadSafetensors(eager::Runtime& runtime, Console& console, const std::string& path) {
  TANDEM_ASSIGN_OR_RETURN(const eager::SafetensorsFile file, eager::SafetensorsFile::Open(path, kNowhere));
  Progress progress(console, "reading " + path);
  const auto update = [&](uint64_t done, uint64_t total) {
    progress.Update(done, total);
    return true;
  };
  TANDEM_ASSIGN_OR_RETURN(eager::NamedTensors named, file.LoadAll(runtime, update, kNowhere));
  std::vector<FileTensor> tensors;
  for (auto& [name, tensor] : named) tensors.push_back({name, std::move(tensor)});
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const FileTensor& a, const FileTensor& b) { return NaturalLess(a.name, b.name); });
  return tensors;
}

std::vector<FileTensor> Single(eager::Runtime& runtime, Tensor tensor) {
  std::vector<FileTensor> tensors(1);
  tensors[0].tensor = eager::Tensor(&runtime, TensorHandle::MakeAvailable(std::move(tensor)));
  return tensors;
}

StatusOr<std::vector<FileTensor>> ReadNpy(eager::Runtime& runtime, const std::string& path) {
  TANDEM_ASSIGN_OR_RETURN(const std::vector<std::byte> content, ReadContent(path));
  TANDEM_ASSIGN_OR_RETURN(const NpyHeader header, ReadNpyHeader(content, path));
  HostContext& host = runtime.host();
  TANDEM_ASSIGN_OR_RETURN(Tensor tensor, AllocateDense(header.metadata, host.device(), host.allocator()));
  const std::span<std::byte> elements(static_cast<std::byte*>(tensor.mutable_data()), header.metadata.byte_size());
  TANDEM_RETURN_IF_ERROR(ReadNpyElements(content, path, header, elements));
  return Single(runtime, std::move(tensor));
}

Status WriteNpy(const eager::Tensor& tensor, const std::string& path) {
  TANDEM_ASSIGN_OR_RETURN(const TensorMetadata metadata, tensor.Metadata(kNowhere));
  TANDEM_ASSIGN_OR_RETURN(const std::string header, MakeNpyHeader(metadata, path));
  TANDEM_ASSIGN_OR_RETURN(const Tensor dense, OnHost(tensor));
  return ReplaceFile(path, [&](WriteBytes write) {
    TANDEM_RETURN_IF_ERROR(write(std::as_bytes(std::span(header))));
    return write({static_cast<const std::byte*>(dense.data()), metadata.byte_size()});
  });
}

#ifdef TANDEM_TOOL_HAS_PNG
StatusOr<std::vector<FileTensor>> ReadPngFile(eager::Runtime& runtime, const std::string& path) {
  TANDEM_ASSIGN_OR_RETURN(const std::vector<std::byte> content, ReadContent(path));
  std::vector<uint8_t> samples;
  const auto allocate = [&](const PngInfo& info) -> StatusOr<uint8_t*> {
    uint64_t size = info.row_size();
    if (__builtin_mul_overflow(size, uint64_t{info.rows}, &size) || size > static_cast<uint64_t>(PTRDIFF_MAX)) {
      return ResourceExhausted(path, ": expected a picture that fits in memory, got ", info.cols, "x", info.rows);
    }
    samples.resize(static_cast<size_t>(size));
    return samples.data();
  };
  const std::span bytes(reinterpret_cast<const uint8_t*>(content.data()), content.size());
  TANDEM_ASSIGN_OR_RETURN(const PngInfo info, ReadPng(bytes, path, allocate));
  HostContext& host = runtime.host();
  const TensorShape shape = {static_cast<int64_t>(info.rows), static_cast<int64_t>(info.cols),
                             static_cast<int64_t>(info.channels)};
  TANDEM_ASSIGN_OR_RETURN(Tensor tensor, AllocateDense({DType::kF32, shape}, host.device(), host.allocator()));
  const std::span<float> values = MutableDenseData<float>(tensor);
  for (size_t i = 0; i < values.size(); ++i) {
    if (info.depth == 16) {
      uint16_t sample;
      std::memcpy(&sample, &samples[2 * i], sizeof(sample));
      values[i] = static_cast<float>(sample) / 65535.0f;
    } else {
      values[i] = static_cast<float>(samples[i]) / 255.0f;
    }
  }
  return Single(runtime, std::move(tensor));
}

Status WritePngFile(const eager::Tensor& tensor, const std::string& path) {
  TANDEM_ASSIGN_OR_RETURN(const TensorMetadata metadata, tensor.Metadata(kNowhere));
  const bool is_grey = metadata.rank() == 2;
  const bool is_picture = is_grey || (metadata.rank() == 3 && metadata.dim(2) >= 1 && metadata.dim(2) <= 4);
  const bool has_samples = metadata.dtype == DType::kU8 || metadata.dtype == DType::kF32;
  if (!is_picture || !has_samples || metadata.num_elements() == 0) {
    return InvalidArgument(path, ": expected f32 or u8 of [rows, cols] or [rows, cols, 1 to 4 channels], got ",
                           metadata);
  }
  TANDEM_ASSIGN_OR_RETURN(const Tensor dense, OnHost(tensor));
  std::vector<uint8_t> samples;
  if (metadata.dtype == DType::kU8) {
    const std::span<const uint8_t> values = DenseData<uint8_t>(dense);
    samples.assign(values.begin(), values.end());
  } else {
    for (const float value : DenseData<float>(dense)) {
      // A NaN is black.
      const float clipped = value > 0 ? std::min(value, 1.0f) : 0.0f;
      samples.push_back(static_cast<uint8_t>(std::lround(clipped * 255)));
    }
  }
  const PngInfo info = {.rows = static_cast<size_t>(metadata.dim(0)),
                        .cols = static_cast<size_t>(metadata.dim(1)),
                        .channels = is_grey ? 1 : static_cast<size_t>(metadata.dim(2)),
                        .depth = 8};
  return ReplaceFile(path, [&](WriteBytes write) { return WritePng(info, samples.data(), path, write); });
}
#endif

Status WriteSafetensors(std::span<const eager::Tensor> tensors, Console& console, const std::string& path) {
  eager::NamedTensors named;
  for (size_t i = 0; i < tensors.size(); ++i) named.emplace("output" + std::to_string(i), tensors[i]);
  Progress progress(console, "writing " + path);
  const auto update = [&](uint64_t done, uint64_t total) {
    progress.Update(done, total);
    return true;
  };
  return eager::SaveSafetensors(path, named, {.metadata = {}, .progress = update}, kNowhere);
}

}  // namespace

bool NaturalLess(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (IsDigit(a[0]) && IsDigit(b[0])) {
      const std::string_view x = TakeNumber(a), y = TakeNumber(b);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else {
      if (a[0] != b[0]) return a[0] < b[0];
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.size() < b.size();
}

Status CheckTensorFileName(const std::string& path) {
  const std::string extension = ExtensionOf(path);
  if (extension == ".safetensors" || extension == ".npy") return Status();
#ifdef TANDEM_TOOL_HAS_PNG
  if (extension == ".png") return Status();
#endif
  return InvalidArgument(path, ": expected a name that ends in ", kFormats, ", got ",
                         extension.empty() ? "one without an extension" : extension);
}

StatusOr<std::vector<FileTensor>> ReadTensors(eager::Runtime& runtime, Console& console, const std::string& path) {
  TANDEM_RETURN_IF_ERROR(CheckTensorFileName(path));
  const std::string extension = ExtensionOf(path);
  if (extension == ".safetensors") return ReadSafetensors(runtime, console, path);
#ifdef TANDEM_TOOL_HAS_PNG
  if (extension == ".png") return ReadPngFile(runtime, path);
#endif
  return ReadNpy(runtime, path);
}

Status WriteTensors(std::span<const eager::Tensor> tensors, Console& console, const std::string& path) {
  TANDEM_RETURN_IF_ERROR(CheckTensorFileName(path));
  const std::string extension = ExtensionOf(path);
  if (extension == ".safetensors") return WriteSafetensors(tensors, console, path);
  if (tensors.size() != 1) {
    return InvalidArgument(path, ": expected one result, as the format holds no more, got ", tensors.size(),
                           "; a file of .safetensors holds any number");
  }
#ifdef TANDEM_TOOL_HAS_PNG
  if (extension == ".png") return WritePngFile(tensors[0], path);
#endif
  return WriteNpy(tensors[0], path);
}

}  // namespace tandem::tool
