// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The safetensors format: the files of tests/data/safetensors, made by hand after its description; what tensors refer
// to; saving, with bytes compared; damaged files, progress and errors.

#include "tandem/safetensors.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/ops.h"
#include "temporary_folder.h"

namespace tandem::eager {
namespace {

std::string Unhex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

std::string Little64(uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> 8 * i);
  return bytes;
}

std::string MakeFile(std::string_view header, std::string_view data) {
  return Little64(header.size()) + std::string(header) + std::string(data);
}

// Two tensors, F32 [2,1] and I16 [], and metadata.
const std::string& TwoTensors() {
  static const std::string file = MakeFile(
      R"({"__metadata__":{"format":"tandem","step":"7"},"w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
      R"("b":{"data_offsets":[8,10],"shape":[],"dtype":"I16"}}     )",
      std::string_view("\x00\x00\x80\x3f\x00\x00\x00\xc0\x39\x30", 10));  // 1, -2; 12345
  return file;
}

std::string_view BytesOf(const eager::Tensor& tensor) {
  const tandem::Tensor& dense = tensor.handle().tensor();
  return {static_cast<const char*>(dense.data()), dense.metadata().byte_size()};
}

bool IsIn(const eager::Tensor& tensor, std::span<const std::byte> memory) {
  const auto* const data = static_cast<const std::byte*>(tensor.handle().tensor().data());
  return data >= memory.data() && data < memory.data() + memory.size();
}

class SafetensorsTest : public ::testing::Test {
 protected:
  SafetensorsTest() { runtime_ = std::move(Runtime::Create({.num_threads = 1, .on_diagnostic = Tell()}).value()); }

  std::function<void(const Status&)> Tell() {
    return [this](const Status& status) { told_.push_back(status.ToString()); };
  }

  // The tensors of a file, in each of the ways to have it; every way must give the same.
  StatusOr<NamedTensors> Read(std::string_view bytes) {
    const std::string path = folder_.Write("file", bytes);
    StatusOr<NamedTensors> mapped = LoadAll(SafetensorsFile::Open(path));
    const StatusOr<NamedTensors> read = LoadAll(SafetensorsFile::Open(path, {.map = false}));
    const StatusOr<NamedTensors> given =
        LoadAll(SafetensorsFile::FromMemory(std::as_bytes(std::span(bytes)), nullptr, path));
    for (const auto* other : {&read, &given}) {
      EXPECT_EQ(other->status().message(), mapped.status().message());
      EXPECT_EQ(other->status().code(), mapped.status().code());
      if (!mapped.ok() || !other->ok()) continue;
      EXPECT_EQ((*other)->size(), mapped->size());
      for (const auto& [name, tensor] : *mapped) {
        EXPECT_EQ((*other)->at(name).Metadata().value(), tensor.Metadata().value());
        EXPECT_EQ(BytesOf((*other)->at(name)), BytesOf(tensor));
      }
    }
    return mapped;
  }

  StatusOr<NamedTensors> LoadAll(const StatusOr<SafetensorsFile>& file) {
    if (!file.ok()) return file.status();
    return file->LoadAll(*runtime_);
  }

  SafetensorsFile Open(std::string_view bytes, SafetensorsFile::Options options = {}) {
    StatusOr<SafetensorsFile> file = SafetensorsFile::Open(folder_.Write("file", bytes), options);
    EXPECT_TRUE(file.ok()) << file.status().ToString();
    return std::move(*file);
  }

  // What saving writes.
  std::string Saved(const NamedTensors& tensors, const SafetensorsSaveOptions& options = {}) {
    const Status status = SaveSafetensors(folder_.File("written"), tensors, options);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return status.ok() ? folder_.Read("written") : "";
  }

  void ExpectSaveError(const NamedTensors& tensors, std::string_view text, const NamedTexts& metadata = {}) {
    const Status status = SaveSafetensors(folder_.File("written"), tensors, {.metadata = metadata});
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.ToString();
    EXPECT_NE(status.message().find(text), std::string_view::npos) << status.message();
    EXPECT_EQ(folder_.Count(), 0u);
  }

  TemporaryFolder folder_;
  std::vector<std::string> told_;
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(SafetensorsTest, ReadsWhatIsWrittenByHandAndRefusesWhatBreaksTheFormat) {
  std::ifstream input(TANDEM_SAFETENSORS_CASES);
  const auto suite = nlohmann::json::parse(input);
  ASSERT_GT(suite["cases"].size(), 100u);
  for (const auto& test : suite["cases"]) {
    SCOPED_TRACE(test["name"].get<std::string>());
    const std::string bytes = Unhex(test["file"].get<std::string>());
    const StatusOr<NamedTensors> loaded = Read(bytes);
    if (test.contains("text")) {
      EXPECT_EQ(StatusCodeName(loaded.status().code()), test["code"].get<std::string>()) << loaded.status().message();
      EXPECT_NE(loaded.status().message().find(folder_.File("file") + ": "), std::string_view::npos);
      EXPECT_NE(loaded.status().message().find(test["text"].get<std::string>()), std::string_view::npos)
          << loaded.status().message();
      continue;
    }
    ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
    const SafetensorsFile file = Open(bytes);
    ASSERT_EQ(file.tensors().size(), test["tensors"].size());
    for (size_t i = 0; i < file.tensors().size(); ++i) {
      const auto& expected = test["tensors"][i];
      const SafetensorsEntry& entry = file.tensors()[i];
      EXPECT_EQ(entry.name, expected["name"].get<std::string>());
      EXPECT_EQ(DTypeName(entry.metadata.dtype), expected["dtype"].get<std::string>());
      EXPECT_EQ(entry.metadata.shape,
                TensorShape(std::span<const int64_t>(expected["shape"].get<std::vector<int64_t>>())));
      EXPECT_EQ(file.Find(entry.name), &entry);
      EXPECT_EQ(BytesOf(loaded->at(std::string(entry.name))), Unhex(expected["data"].get<std::string>()));
    }
    ASSERT_EQ(file.metadata().size(), test["metadata"].size());
    for (const auto& [key, value] : test["metadata"].items()) {
      EXPECT_EQ(file.FindMetadata(key), value.get<std::string>());
    }
  }
}

TEST_F(SafetensorsTest, LoadsByName) {
  const SafetensorsFile file = Open(TwoTensors());
  EXPECT_EQ(file.Load(*runtime_, "w").ToString(), "f32[2,1] = [1, -2]");
  EXPECT_EQ(file.Load(*runtime_, "b").Item<int16_t>().value(), 12345);
  EXPECT_EQ(file.Find("w")->stored_dtype, "F32");
  EXPECT_EQ(file.Find("b")->size, 2u);
  EXPECT_EQ(file.Find("b")->offset, TwoTensors().size() - 2);
  EXPECT_EQ(file.Find("c"), nullptr);
  EXPECT_EQ(file.FindMetadata("step"), "7");
  EXPECT_EQ(file.FindMetadata("steps"), std::nullopt);
}

TEST_F(SafetensorsTest, AMissingNameIsAnErrorTensorWithItsPlaceThatIsToldOnce) {  // ER-3, ER-4
  const SafetensorsFile file = Open(TwoTensors());
  const eager::Tensor missing = file.Load(*runtime_, "weight\n");
  const std::string text = missing.Await().ToString();
  EXPECT_EQ(missing.Await().code(), StatusCode::kNotFound);
  EXPECT_NE(text.find("file: expected a tensor \"weight\\n\", got none of this name"), text.npos) << text;
  EXPECT_NE(text.find("safetensors_test.cc:"), text.npos) << text;
  EXPECT_EQ(told_, std::vector<std::string>{text});
}

TEST_F(SafetensorsTest, TensorsReferToTheCallersMemoryUntilTheLastIsGone) {
  int released = 0;
  const std::span<const std::byte> memory = std::as_bytes(std::span(TwoTensors()));
  // As malloc aligns it, and so the elements: the header is a multiple of 8 bytes long.
  const std::vector<std::byte> content(memory.begin(), memory.end());
  NamedTensors loaded;
  {
    const auto file = SafetensorsFile::FromMemory(content, [&released] { ++released; });
    ASSERT_TRUE(file.ok()) << file.status().ToString();
    loaded = file->LoadAll(*runtime_).value();
  }
  for (const auto& [name, tensor] : loaded) EXPECT_TRUE(IsIn(tensor, content)) << name;
  // Nor does an op write to it, though it holds the last reference (TH-5).
  EXPECT_EQ(neg(std::move(loaded.at("w"))).ToString(), "f32[2,1] = [-1, 2]");
  loaded.erase("w");
  EXPECT_EQ(released, 0);
  loaded.clear();
  EXPECT_EQ(released, 1);
  EXPECT_EQ(std::memcmp(content.data(), TwoTensors().data(), content.size()), 0);
}

TEST_F(SafetensorsTest, MemoryIsReleasedAfterAnError) {
  int released = 0;
  EXPECT_FALSE(SafetensorsFile::FromMemory({}, [&released] { ++released; }).ok());
  EXPECT_EQ(released, 1);
}

TEST_F(SafetensorsTest, TensorsThatAreNotAlignedAreCopied) {
  // At every distance from an address that is aligned, the tensors are the same.
  std::vector<std::byte> memory(TwoTensors().size() + 8);
  for (size_t shift = 0; shift < 8; ++shift) {
    std::memcpy(memory.data() + shift, TwoTensors().data(), TwoTensors().size());
    const std::span<const std::byte> content(memory.data() + shift, TwoTensors().size());
    const auto file = SafetensorsFile::FromMemory(content, nullptr);
    ASSERT_TRUE(file.ok());
    const eager::Tensor w = file->Load(*runtime_, "w"), b = file->Load(*runtime_, "b");
    EXPECT_EQ(w.ToString(), "f32[2,1] = [1, -2]");
    EXPECT_EQ(b.ToString(), "i16[] = [12345]");
    EXPECT_EQ(IsIn(w, content), shift % 4 == 0);
    EXPECT_EQ(IsIn(b, content), shift % 2 == 0);
  }
}

#ifndef __EMSCRIPTEN__
TEST_F(SafetensorsTest, AMappedFileMayBeDeletedAndSavedOver) {
  SafetensorsFile file = Open(TwoTensors());
  EXPECT_TRUE(file.IsMapped());
  EXPECT_FALSE(Open(TwoTensors(), {.map = false}).IsMapped());
  const NamedTensors loaded = file.LoadAll(*runtime_).value();
  const Status saved = SaveSafetensors(folder_.File("file"), {{"w", add(loaded.at("w"), 1)}, {"b", loaded.at("b")}});
  ASSERT_TRUE(saved.ok()) << saved.ToString();
  EXPECT_EQ(loaded.at("w").ToString(), "f32[2,1] = [1, -2]");
  file = SafetensorsFile::Open(folder_.File("file")).value();
  EXPECT_EQ(file.Load(*runtime_, "w").ToString(), "f32[2,1] = [2, -1]");
  std::filesystem::remove(folder_.File("file"));
  EXPECT_EQ(file.Load(*runtime_, "b").ToString(), "i16[] = [12345]");
}

TEST_F(SafetensorsTest, RefusesAPipeWithoutWaitingForItsOtherEnd) {
  ASSERT_EQ(mkfifo(folder_.File("pipe").c_str(), 0600), 0);
  const Status status = SafetensorsFile::Open(folder_.File("pipe")).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("pipe: expected an ordinary file, got a pipe or a device"), std::string_view::npos);
}

TEST_F(SafetensorsTest, DoesNotPutAFileInThePlaceOfAPipeOrAFolder) {
  ASSERT_EQ(mkfifo(folder_.File("pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(folder_.File("folder"));
  for (const auto& [name, kind] : {std::pair("pipe", "a pipe or a device"), {"folder", "a folder"}}) {
    const Status status = SaveSafetensors(folder_.File(name), {});
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(std::string(": expected an ordinary file or a new one to write to, got ") + kind),
              std::string_view::npos);
    EXPECT_FALSE(std::filesystem::is_regular_file(folder_.File(name)));
  }
  EXPECT_EQ(folder_.Count(), 2u);
}
#endif

TEST_F(SafetensorsTest, AFileThatShrinksIsAnErrorWhereItIsRead) {
  const SafetensorsFile file = Open(TwoTensors(), {.map = false});
  std::filesystem::resize_file(folder_.File("file"), TwoTensors().size() - 1);
  EXPECT_TRUE(file.Load(*runtime_, "w").Await().ok());
  const Status status = file.Load(*runtime_, "b").Await();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_NE(status.message().find("tensor \"b\": "), std::string_view::npos) << status.message();
  EXPECT_NE(status.message().find("expected 1 more bytes, got: the end of the file"), std::string_view::npos)
      << status.message();
}

TEST_F(SafetensorsTest, RefusesAMissingFileAndAFolder) {
  const Status missing = SafetensorsFile::Open(folder_.File("nothing")).status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_NE(missing.ToString().find("nothing: expected a file, got none of this name"), std::string::npos);
  EXPECT_NE(missing.ToString().find("safetensors_test.cc:"), std::string::npos) << missing.ToString();  // ER-3
  const Status folder = SafetensorsFile::Open(folder_.path()).status();
  EXPECT_EQ(folder.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(folder.message().find("expected an ordinary file, got a folder"), std::string_view::npos);
}

TEST_F(SafetensorsTest, RefusesEveryTruncation) {
  for (size_t size = 0; size < TwoTensors().size(); ++size) {
    const Status status = Read(std::string_view(TwoTensors()).substr(0, size)).status();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << size;
    EXPECT_NE(status.message().find("file: "), std::string_view::npos) << status.message();
  }
}

// A flipped bit may give another valid file; it must never give one whose bytes do not fit its shapes.
TEST_F(SafetensorsTest, SurvivesEveryFlippedBit) {
  for (size_t bit = 0; bit < TwoTensors().size() * 8; ++bit) {
    std::string flipped = TwoTensors();
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    const StatusOr<NamedTensors> loaded =
        LoadAll(SafetensorsFile::FromMemory(std::as_bytes(std::span(flipped)), nullptr));
    if (!loaded.ok()) continue;
    size_t total = 0;
    for (const auto& [name, tensor] : *loaded) total += BytesOf(tensor).size();
    EXPECT_EQ(total, 10u) << "bit " << bit;
  }
}

TEST_F(SafetensorsTest, ManyEntriesAndLongTextsAreReadInOneGo) {
  std::string header = "{\"__metadata__\":{\"long\":\"" + std::string(1 << 20, 'x') + "\"}";
  constexpr size_t kCount = 50'000;
  for (size_t i = 0; i < kCount; ++i) {
    header += ",\"" + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  const SafetensorsFile file = Open(MakeFile(header + "}", ""));
  EXPECT_EQ(file.tensors().size(), kCount);
  EXPECT_NE(file.Find("49999"), nullptr);
  EXPECT_EQ(file.FindMetadata("long")->size(), size_t{1} << 20);
}

TEST_F(SafetensorsTest, ReadsWhatItCanOfAFileWithDtypesThatAreMissing) {
  const SafetensorsFile file = Open(MakeFile(R"({"scale":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                                             R"("w":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[4,6]}})",
                                             std::string_view("\0\0\x80\x3f\1\2", 6)));
  EXPECT_EQ(file.Load(*runtime_, "scale").ToVector<float>().value(), std::vector<float>{1});
  EXPECT_EQ(file.Find("w")->stored_dtype, "F8_E4M3");
  EXPECT_EQ(file.Find("w")->metadata.dtype, DType::kInvalid);
  EXPECT_EQ(file.Load(*runtime_, "w").Await().code(), StatusCode::kUnimplemented);
  EXPECT_EQ(file.LoadAll(*runtime_).status().code(), StatusCode::kUnimplemented);
}

TEST_F(SafetensorsTest, MemoryThatCannotBeHadIsAnErrorThatNamesTheTensor) {
  const std::string bytes =
      MakeFile(R"({"a":{"dtype":"F32","shape":[4096],"data_offsets":[0,16384]}})", std::string(16384, '\0'));
  const SafetensorsFile file = Open(bytes, {.map = false});
  runtime_->host().allocator().set_memory_limit(10'000);
  const Status status = file.Load(*runtime_, "a").Await();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("file: tensor \"a\": "), std::string_view::npos) << status.message();
}

TEST_F(SafetensorsTest, ProgressCountsTheDataAndMayStopIt) {
  std::vector<std::pair<uint64_t, uint64_t>> told;
  const SafetensorsProgress note = [&told](uint64_t done, uint64_t total) {
    told.emplace_back(done, total);
    return done < 10;
  };
  const SafetensorsFile file = Open(TwoTensors());
  const Status status = file.LoadAll(*runtime_, note).status();
  EXPECT_EQ(told, (std::vector<std::pair<uint64_t, uint64_t>>{{8, 10}, {10, 10}}));
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
  EXPECT_NE(status.message().find("expected to go on to 10 bytes, got stopped at 10"), std::string_view::npos);

  told.clear();
  const NamedTensors tensors = file.LoadAll(*runtime_).value();
  const Status saved = SaveSafetensors(folder_.File("written"), tensors, {.metadata = {}, .progress = note});
  EXPECT_EQ(told, (std::vector<std::pair<uint64_t, uint64_t>>{{8, 10}, {10, 10}}));
  EXPECT_EQ(saved.code(), StatusCode::kCancelled);
  EXPECT_EQ(folder_.Count(), 1u);  // "file" alone
}

TEST_F(SafetensorsTest, LongTensorsAreReadAndSavedInPieces) {
  constexpr int64_t kBytes = (int64_t{32} << 20) + 1;
  const std::vector<uint8_t> values(kBytes, 7);
  const NamedTensors tensors = {{"a", runtime_->FromValues<uint8_t>(values, {kBytes})}};
  int saves = 0, loads = 0;
  const auto count = [](int& calls) { return [&calls](uint64_t, uint64_t) { return ++calls > 0; }; };
  ASSERT_TRUE(SaveSafetensors(folder_.File("written"), tensors, {.metadata = {}, .progress = count(saves)}).ok());
  const SafetensorsFile file = SafetensorsFile::Open(folder_.File("written"), {.map = false}).value();
  const NamedTensors loaded = file.LoadAll(*runtime_, count(loads)).value();
  EXPECT_EQ(saves, 3);
  EXPECT_EQ(loads, 3);
  EXPECT_EQ(loaded.at("a").ToVector<uint8_t>().value(), values);
}

TEST_F(SafetensorsTest, WritesTheBytesOfTheFormat) {
  const std::string header = R"({"__metadata__":{"k":"v"},"a":{"dtype":"U16","shape":[2],"data_offsets":[0,4]}})";
  ASSERT_EQ(header.size(), 79u);  // padded to 80
  EXPECT_EQ(Saved({{"a", runtime_->FromValues<uint16_t>({0x7877, 0x7a79}, {2})}}, {.metadata = {{"k", "v"}}}),
            MakeFile(header + " ", "wxyz"));
  EXPECT_EQ(Saved({}), MakeFile("{}      ", ""));
}

TEST_F(SafetensorsTest, WritesTheWidestElementsFirstAndByName) {
  const std::string file = Saved({{"odd", runtime_->FromValues<uint8_t>({1, 2, 3}, {3})},
                                  {"wide", runtime_->FromValues<double>({1}, {})},
                                  {"b", runtime_->FromValues<int16_t>({4}, {1})},
                                  {"a", runtime_->FromValues<int16_t>({5}, {1})}});
  EXPECT_EQ(file.substr(file.size() - 15), std::string_view("\0\0\0\0\0\0\xf0\x3f\5\0\4\0\1\2\3", 15));
  EXPECT_EQ((file.size() - 15) % 8, 0u);
  EXPECT_LT(file.find("\"wide\""), file.find("\"a\""));
  EXPECT_LT(file.find("\"a\""), file.find("\"b\""));
}

TEST_F(SafetensorsTest, WhatIsReadIsWrittenAgain) {
  std::ifstream input(TANDEM_SAFETENSORS_CASES);
  const auto suite = nlohmann::json::parse(input);
  for (const auto& test : suite["cases"]) {
    if (test.contains("text")) continue;
    SCOPED_TRACE(test["name"].get<std::string>());
    const SafetensorsFile file = Open(Unhex(test["file"].get<std::string>()));
    SafetensorsSaveOptions options;
    for (const auto& [key, value] : file.metadata()) options.metadata.emplace(key, value);
    const NamedTensors tensors = file.LoadAll(*runtime_).value();
    const std::string once = Saved(tensors, options);
    const SafetensorsFile again = SafetensorsFile::Open(folder_.File("written")).value();
    ASSERT_EQ(again.tensors().size(), file.tensors().size());
    for (const SafetensorsEntry& entry : again.tensors()) {
      EXPECT_EQ(entry.metadata, file.Find(entry.name)->metadata);
      EXPECT_EQ(BytesOf(again.Load(*runtime_, entry.name)), BytesOf(tensors.at(std::string(entry.name))));
      EXPECT_EQ(entry.offset % std::max<size_t>(1, DTypeSize(entry.metadata.dtype)), 0u) << entry.name;
    }
    for (const auto& [key, value] : file.metadata()) EXPECT_EQ(again.FindMetadata(key), value);
    EXPECT_EQ(Saved(again.LoadAll(*runtime_).value(), options), once);
  }
}

TEST_F(SafetensorsTest, SavesWhatIsPendingAndWhatIsNotDense) {
  const eager::Tensor x = runtime_->FromValues<float>({1, 2}, {2});
  const float one = 1;
  auto spread = MakeScalar({DType::kF32, {3}}, &one, runtime_->host().device());
  ASSERT_TRUE(spread.ok());
  const std::string file =
      Saved({{"sum", add(x, x)}, {"ones", eager::Tensor(runtime_.get(), TensorHandle::MakeAvailable(*spread))}});
  EXPECT_EQ(file.substr(file.size() - 20),
            std::string_view("\0\0\x80\x3f\0\0\x80\x3f\0\0\x80\x3f\0\0\0\x40\0\0\x80\x40", 20));
}

TEST_F(SafetensorsTest, ReplacesAFileWholeAndLeavesNothingElse) {
  folder_.Write("written", "old");
  folder_.Write("written.tmp0", "left by a crash");
  (void)Saved({{"a", runtime_->Scalar(1.0f)}});
  EXPECT_TRUE(SafetensorsFile::Open(folder_.File("written")).ok());
  EXPECT_EQ(folder_.Read("written.tmp0"), "left by a crash");
  EXPECT_EQ(folder_.Count(), 2u);
}

TEST_F(SafetensorsTest, AFailedSaveLeavesTheOldFileAndNothingElse) {  // ER-1: the chain of causes
  folder_.Write("written", "old");
  const eager::Tensor x = runtime_->FromValues<float>({1, 2}, {2});
  const Status status = SaveSafetensors(folder_.File("written"), {{"good", x}, {"bad", matMul(x, x)}});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("written: tensor \"bad\": expected values, got an error"), std::string_view::npos)
      << status.message();
  EXPECT_EQ(status.cause().op(), "tf.MatMul");
  EXPECT_NE(status.ToString().find("safetensors_test.cc:"), std::string::npos) << status.ToString();
  EXPECT_EQ(folder_.Read("written"), "old");
  EXPECT_EQ(folder_.Count(), 1u);
}

TEST_F(SafetensorsTest, RefusesToWriteWhereItCannot) {
  const Status missing = SaveSafetensors(folder_.File("nothing/file"), {});
  EXPECT_EQ(missing.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(missing.message().find("nothing/file"), std::string_view::npos);
  std::filesystem::create_directory(folder_.File("written"));
  EXPECT_EQ(SaveSafetensors(folder_.File("written"), {}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(folder_.Count(), 1u);
}

TEST_F(SafetensorsTest, RefusesToWriteWhatTheFormatCannotHold) {
  const eager::Tensor x = runtime_->Scalar<uint8_t>(1);
  const std::string_view word = "word";
  ExpectSaveError({{"__metadata__", x}}, "tensor \"__metadata__\": expected another name");
  ExpectSaveError({{"\xff", x}}, "expected a name in UTF-8");
  ExpectSaveError({{"a", runtime_->FromStrings({&word, 1}, {})}},
                  "written: tensor \"a\": expected a dtype of the format, got string");
  ExpectSaveError({{"a", eager::Tensor()}}, "tensor \"a\": expected values, got an error");
  ExpectSaveError({}, "expected metadata in UTF-8 under \"k\"", {{"k", "\xc3"}});
  ExpectSaveError({}, "expected metadata in UTF-8", {{"\x80", "v"}});
}

}  // namespace
}  // namespace tandem::eager
