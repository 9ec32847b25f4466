// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The safetensors format: files written by hand after its description, round trips, and hostile files.

#include "digits/safetensors.h"

#include <gtest/gtest.h>

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "temporary_folder.h"

namespace digits {
namespace {

using tandem::DType;
using tandem::Status;
using tandem::StatusCode;
using tandem::TemporaryFolder;
using tandem::TensorShape;

std::string Little64(uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> 8 * i);
  return bytes;
}

std::string MakeFile(std::string_view header, std::string_view data) {
  return Little64(header.size()) + std::string(header) + std::string(data);
}

// {"a": {...}} with the given fields, over 4 bytes of data.
std::string OneTensor(std::string_view fields, std::string_view data = "1234") {
  return MakeFile("{\"a\":{" + std::string(fields) + "}}", data);
}

std::span<const uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string_view AsText(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class SafetensorsTest : public ::testing::Test {
 protected:
  tandem::StatusOr<SafetensorsContents> Read(std::string_view bytes) {
    return ReadSafetensors(folder_.Write("file", bytes));
  }

  void ExpectError(std::string_view bytes, std::string_view text, StatusCode code = StatusCode::kDataLoss) {
    const Status status = Read(bytes).status();
    ASSERT_FALSE(status.ok()) << text;
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_NE(status.message().find(folder_.File("file")), std::string_view::npos) << status.message();
    EXPECT_NE(status.message().find(text), std::string_view::npos) << status.message();
  }

  void ExpectWriteError(std::vector<TensorToStore> tensors, std::string_view text) {
    const Status status = WriteSafetensors(folder_.File("written"), tensors);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.message();
    EXPECT_NE(status.message().find(text), std::string_view::npos) << status.message();
    EXPECT_EQ(folder_.Count(), 0u);
  }

  TemporaryFolder folder_;
};

constexpr std::string_view kTwoTensors =
    R"({"__metadata__":{"format":"tandem","step":"7"},"w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
    R"("b":{"data_offsets":[8,10],"shape":[],"dtype":"I16"}}  )";
constexpr std::string_view kTwoTensorsData("\x00\x00\x80\x3f\x00\x00\x00\xc0\x39\x30", 10);  // 1, -2; 12345

TEST_F(SafetensorsTest, ReadsAFileWrittenByHand) {
  const auto contents = Read(MakeFile(kTwoTensors, kTwoTensorsData));
  ASSERT_TRUE(contents.ok()) << contents.status().message();
  ASSERT_EQ(contents->tensors.size(), 2u);
  const StoredTensor* w = contents->Find("w");
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->dtype, DType::kF32);
  EXPECT_EQ(w->shape, TensorShape({2, 1}));
  EXPECT_EQ(reinterpret_cast<const float*>(w->bytes.data())[0], 1.0f);
  EXPECT_EQ(reinterpret_cast<const float*>(w->bytes.data())[1], -2.0f);
  const StoredTensor* b = contents->Find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->shape, TensorShape());
  EXPECT_EQ(*reinterpret_cast<const int16_t*>(b->bytes.data()), 12345);
  EXPECT_EQ(contents->metadata, (std::map<std::string, std::string>{{"format", "tandem"}, {"step", "7"}}));
  EXPECT_EQ(contents->Find("c"), nullptr);
}

TEST_F(SafetensorsTest, ReadsEmptyTensorsAndFilesWithoutTensors) {
  EXPECT_TRUE(Read(MakeFile("{}", "")).ok());
  const auto contents = Read(MakeFile(R"({"z":{"dtype":"F64","shape":[3,0],"data_offsets":[2,2]},)"
                                      R"("y":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
                                      "ab"));
  ASSERT_TRUE(contents.ok()) << contents.status().message();
  EXPECT_EQ(contents->Find("z")->shape, TensorShape({3, 0}));
  EXPECT_EQ(contents->Find("z")->bytes.size(), 0u);
}

TEST_F(SafetensorsTest, TensorsMayLieInAnyOrder) {
  const auto contents = Read(MakeFile(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},)"
                                      R"("b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
                                      "xyz"));
  ASSERT_TRUE(contents.ok()) << contents.status().message();
  EXPECT_EQ(AsText(contents->Find("a")->bytes.bytes()), "z");
  EXPECT_EQ(AsText(contents->Find("b")->bytes.bytes()), "xy");
}

TEST_F(SafetensorsTest, WritesTheBytesOfTheFormat) {
  const TensorToStore tensor = {"a", DType::kU16, {2}, AsBytes("wxyz")};
  ASSERT_TRUE(WriteSafetensors(folder_.File("written"), {&tensor, 1}, {{"k", "v"}}).ok());
  const std::string header = R"({"__metadata__":{"k":"v"},"a":{"data_offsets":[0,4],"dtype":"U16","shape":[2]}})";
  ASSERT_EQ(header.size(), 79u);  // padded to 80
  EXPECT_EQ(folder_.Read("written"), MakeFile(header + " ", "wxyz"));
}

TEST_F(SafetensorsTest, RoundTripsEveryDType) {
  const std::string_view data("\0\1\0\1\1\1\0\0\0\1\1\0\0\1\1\1", 16);
  const DType dtypes[] = {DType::kBool, DType::kU8,  DType::kI8,  DType::kU16,  DType::kI16, DType::kI32, DType::kU32,
                          DType::kI64,  DType::kU64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64};
  const std::string_view names[] = {"BOOL", "U8",  "I8",  "U16",  "I16", "I32", "U32",
                                    "I64",  "U64", "F16", "BF16", "F32", "F64"};
  std::vector<TensorToStore> tensors;
  for (size_t i = 0; i < std::size(dtypes); ++i) {
    tensors.push_back({names[i], dtypes[i], {2}, AsBytes(data.substr(0, 2 * tandem::DTypeSize(dtypes[i])))});
  }
  ASSERT_TRUE(WriteSafetensors(folder_.File("written"), tensors).ok());
  const std::string written = folder_.Read("written");
  for (std::string_view name : names) {
    EXPECT_NE(written.find("\"dtype\":\"" + std::string(name) + "\""), std::string::npos) << name;
  }
  const auto contents = ReadSafetensors(folder_.File("written"));
  ASSERT_TRUE(contents.ok()) << contents.status().message();
  ASSERT_EQ(contents->tensors.size(), std::size(dtypes));
  for (const TensorToStore& tensor : tensors) {
    const StoredTensor* read = contents->Find(tensor.name);
    ASSERT_NE(read, nullptr) << tensor.name;
    EXPECT_EQ(read->dtype, tensor.dtype);
    EXPECT_EQ(read->shape, tensor.shape);
    EXPECT_EQ(AsText(read->bytes.bytes()), AsText(tensor.bytes));
  }
}

TEST_F(SafetensorsTest, WritesEveryTensorAlignedToItsElements) {
  const std::vector<TensorToStore> tensors = {{"odd", DType::kU8, {3}, AsBytes("abc")},
                                              {"wide", DType::kF64, {1}, AsBytes("12345678")},
                                              {"half", DType::kF16, {1}, AsBytes("hh")}};
  ASSERT_TRUE(WriteSafetensors(folder_.File("written"), tensors).ok());
  const std::string file = folder_.Read("written");
  EXPECT_EQ(file.find("12345678") % 8, 0u);
  EXPECT_EQ(file.substr(file.size() - 13), "12345678hhabc");
}

TEST_F(SafetensorsTest, RoundTripsNamesThatNeedEscapes) {
  const std::string_view name = "quote\" slash\\ line\n \xc3\xa9 \xf0\x9f\x98\x80";
  const TensorToStore tensor = {name, DType::kU8, {}, AsBytes("x")};
  ASSERT_TRUE(WriteSafetensors(folder_.File("written"), {&tensor, 1}, {{"\t", "\x01"}}).ok());
  const auto contents = ReadSafetensors(folder_.File("written"));
  ASSERT_TRUE(contents.ok()) << contents.status().message();
  EXPECT_NE(contents->Find(name), nullptr);
  EXPECT_EQ(contents->metadata.at("\t"), "\x01");
}

TEST_F(SafetensorsTest, ReplacesAFileWholeAndLeavesNothingElse) {
  folder_.Write("written", "old");
  folder_.Write("written.tmp0", "left by a crash");
  const TensorToStore tensor = {"a", DType::kU8, {1}, AsBytes("x")};
  ASSERT_TRUE(WriteSafetensors(folder_.File("written"), {&tensor, 1}).ok());
  EXPECT_TRUE(ReadSafetensors(folder_.File("written")).ok());
  EXPECT_EQ(folder_.Read("written.tmp0"), "left by a crash");
  EXPECT_EQ(folder_.Count(), 2u);
}

TEST_F(SafetensorsTest, AFailedWriteLeavesTheOldFileAndNothingElse) {
  folder_.Write("written", "old");
  const TensorToStore tensor = {"a", DType::kU8, {2}, AsBytes("x")};
  EXPECT_FALSE(WriteSafetensors(folder_.File("written"), {&tensor, 1}).ok());
  EXPECT_EQ(folder_.Read("written"), "old");
  EXPECT_EQ(folder_.Count(), 1u);
}

TEST_F(SafetensorsTest, RefusesToWriteWhereItCannot) {
  const Status missing = WriteSafetensors(folder_.File("nothing/file"), {});
  EXPECT_EQ(missing.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(missing.message().find("nothing/file"), std::string_view::npos);
  std::filesystem::create_directory(folder_.File("written"));
  EXPECT_EQ(WriteSafetensors(folder_.File("written"), {}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(folder_.Count(), 1u);
}

TEST_F(SafetensorsTest, RefusesToWriteWhatTheFormatCannotHold) {
  ExpectWriteError({{"a", DType::kF32, {2}, AsBytes("1234")}}, "tensor \"a\": expected 2 * 4 bytes for f32[2], got 4");
  ExpectWriteError({{"a", DType::kU8, {}, AsBytes("1")}, {"a", DType::kU8, {}, AsBytes("2")}}, "name once, got \"a\"");
  ExpectWriteError({{"__metadata__", DType::kU8, {}, AsBytes("1")}}, "expected another name");
  ExpectWriteError({{"\xff", DType::kU8, {}, AsBytes("1")}}, "expected a name in UTF-8");
  ExpectWriteError({{"a", DType::kC64, {}, AsBytes("12345678")}}, "expected a dtype of the safetensors format");
  ExpectWriteError({{"a", DType::kString, {}, {}}}, "expected a dtype of the safetensors format");
  ExpectWriteError({{"a", DType::kInvalid, {}, {}}}, "expected a dtype of the safetensors format");
  ExpectWriteError({{"a", DType::kU8, {-1}, {}}}, "expected a valid shape, got [-1]");
  ExpectWriteError({{"a", DType::kU16, {int64_t{1} << 62, 1}, {}}}, "expected 4611686018427387904 * 2 bytes");
}

TEST_F(SafetensorsTest, RefusesMetadataThatIsNotUtf8) {
  EXPECT_FALSE(WriteSafetensors(folder_.File("written"), {}, {{"k", "\xc3"}}).ok());
  EXPECT_EQ(folder_.Count(), 0u);
}

TEST_F(SafetensorsTest, RefusesAMissingFileAndAFolder) {
  EXPECT_EQ(ReadSafetensors(folder_.File("nothing")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ReadSafetensors(folder_.path()).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(SafetensorsTest, RefusesEveryTruncation) {
  const std::string file = MakeFile(kTwoTensors, kTwoTensorsData);
  for (size_t size = 0; size < file.size(); ++size) ExpectError(file.substr(0, size), "expected");
}

// A flipped bit may give another valid file; it must never give one whose bytes do not fit its shapes.
TEST_F(SafetensorsTest, SurvivesEveryFlippedBit) {
  const std::string file = MakeFile(kTwoTensors, kTwoTensorsData);
  for (size_t bit = 0; bit < file.size() * 8; ++bit) {
    std::string flipped = file;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    const auto contents = Read(flipped);
    if (!contents.ok()) continue;
    size_t total = 0;
    for (const StoredTensor& tensor : contents->tensors) {
      EXPECT_EQ(tensor.bytes.size(),
                static_cast<size_t>(tensor.shape.num_elements()) * tandem::DTypeSize(tensor.dtype));
      total += tensor.bytes.size();
    }
    EXPECT_EQ(total, kTwoTensorsData.size()) << "bit " << bit;
  }
}

TEST_F(SafetensorsTest, RefusesABadHeaderLength) {
  ExpectError(Little64(100'000'001) + "{}", "expected a header of at most 100000000 bytes, got a length of 100000001");
  ExpectError(Little64(~uint64_t{0}) + "{}", "got a length of 18446744073709551615");
  ExpectError(Little64(~uint64_t{0} - 7) + "{}", "got a length of 18446744073709551608");
  ExpectError(Little64(3) + "{}", "expected a header within the file of 10 bytes, got a length of 3");
  ExpectError(Little64(0), "byte 8: expected a header that begins with '{', got none");
}

TEST_F(SafetensorsTest, RefusesAHeaderThatDoesNotBeginWithABrace) {
  ExpectError(MakeFile(" {}", ""), "byte 8: expected a header that begins with '{', got byte 32");
  ExpectError(MakeFile("\xef\xbb\xbf{}", ""), "got byte 239");
  ExpectError(MakeFile("[]", ""), "got byte 91");
}

TEST_F(SafetensorsTest, RefusesBrokenJson) {
  ExpectError(MakeFile("{", ""), "expected valid JSON");
  ExpectError(MakeFile("{]", ""), "byte 9: expected valid JSON");
  ExpectError(MakeFile("{}{}", ""), "byte 10: expected valid JSON");
  ExpectError(MakeFile("{/**/}", ""), "expected valid JSON");
  ExpectError(MakeFile("{\"\xff\":1}", ""), "expected valid JSON");
  ExpectError(MakeFile("{\"a\":1e999}", ""), "expected valid JSON");
}

TEST_F(SafetensorsTest, RefusesTextHiddenBehindANulByte) {
  ExpectError(MakeFile(std::string("{}\0hidden", 9), ""), "byte 10: expected JSON text, got byte 0");
}

TEST_F(SafetensorsTest, RefusesDeepNesting) {
  ExpectError(MakeFile("{\"a\":" + std::string(100'000, '['), ""), "expected an object with dtype");
  ExpectError(OneTensor(R"("shape":[[[[[[[[[[)"),
              "tensor \"a\": expected non-negative integers in shape, got an array");
}

TEST_F(SafetensorsTest, RefusesEntriesThatAreNoTensors) {
  for (std::string_view value : {"null", "true", "1", "-1", "0.5", "\"text\"", "[]"}) {
    ExpectError(MakeFile("{\"a\":" + std::string(value) + "}", ""),
                "tensor \"a\": expected an object with dtype, shape and data_offsets, got");
  }
}

TEST_F(SafetensorsTest, RefusesMissingRepeatedAndUnknownFields) {
  ExpectError(OneTensor(""), "tensor \"a\": expected a field dtype, got none");
  ExpectError(OneTensor(R"("dtype":"U8","data_offsets":[0,4])"), "tensor \"a\": expected a field shape, got none");
  ExpectError(OneTensor(R"("dtype":"U8","shape":[4])"), "tensor \"a\": expected a field data_offsets, got none");
  ExpectError(OneTensor(R"("dtype":"U8","dtype":"U8")"), "tensor \"a\": expected dtype once, got it again");
  ExpectError(OneTensor(R"("shape":[],"shape":[])"), "tensor \"a\": expected shape once");
  ExpectError(OneTensor(R"("data_offsets":[0,4],"data_offsets":[0,4])"), "expected data_offsets once");
  ExpectError(OneTensor(R"("strides":[1])"), "expected dtype, shape or data_offsets, got field \"strides\"");
}

TEST_F(SafetensorsTest, RefusesUnknownDTypes) {
  for (std::string_view dtype : {"F8_E4M3", "f32", "", "C64", "U8 "}) {
    ExpectError(OneTensor("\"dtype\":\"" + std::string(dtype) + "\""), "got \"" + std::string(dtype) + "\"",
                StatusCode::kUnimplemented);
  }
  ExpectError(OneTensor(R"("dtype":8)"), "tensor \"a\": expected a dtype name, got the number 8");
  ExpectError(OneTensor(R"("dtype":null)"), "tensor \"a\": expected a dtype name, got null");
}

TEST_F(SafetensorsTest, RefusesBadDimensions) {
  const auto with_shape = [](std::string_view shape) {
    return OneTensor(R"("dtype":"U8","data_offsets":[0,4],"shape":)" + std::string(shape));
  };
  ExpectError(with_shape("[-1]"), "tensor \"a\": expected non-negative integers in shape, got -1");
  ExpectError(with_shape("[-0]"), "expected non-negative integers in shape, got -0");
  ExpectError(with_shape("[-9223372036854775808]"), "got -9223372036854775808");
  ExpectError(with_shape("[4.0]"), "expected non-negative integers in shape, got the number \"4.0\"");
  ExpectError(with_shape("[4e0]"), "got the number \"4e0\"");
  ExpectError(with_shape("[18446744073709551616]"), "got the number \"18446744073709551616\"");
  ExpectError(with_shape("[9223372036854775808]"), "expected a dimension below 2^63, got 9223372036854775808");
  ExpectError(with_shape("[\"4\"]"), "got text \"4\"");
  ExpectError(with_shape("[null]"), "got null");
  ExpectError(with_shape("4"), "tensor \"a\": expected an array for shape, got the number 4");
  ExpectError(with_shape("[1,1,1,1,1,1,1,1,4]"), "expected at most 8 dimensions", StatusCode::kUnimplemented);
}

TEST_F(SafetensorsTest, RefusesShapesWhoseSizeOverflows) {
  const auto with_shape = [](std::string_view dtype, std::string_view shape) {
    return OneTensor("\"dtype\":\"" + std::string(dtype) + R"(","data_offsets":[0,4],"shape":)" + std::string(shape));
  };
  // 2^64 elements, 2^64 bytes, and 2^32 + 4 bytes, which 32 bits would take for 4.
  ExpectError(with_shape("U8", "[4294967296,4294967296]"), "expected a shape with fewer than 2^63 elements");
  ExpectError(with_shape("F64", "[2305843009213693952]"), "expected data_offsets 2305843009213693952 * 8 bytes apart");
  ExpectError(with_shape("F32", "[1073741825]"),
              "expected data_offsets 1073741825 * 4 bytes apart for f32[1073741825]");
}

TEST_F(SafetensorsTest, RefusesBadOffsets) {
  const auto with_offsets = [](std::string_view offsets) {
    return OneTensor(R"("dtype":"U8","shape":[4],"data_offsets":)" + std::string(offsets));
  };
  ExpectError(with_offsets("[0]"), "expected two non-negative integers in data_offsets, got one");
  ExpectError(with_offsets("[]"), "got none");
  ExpectError(with_offsets("[0,4,4]"), "got a third");
  ExpectError(with_offsets("[-4,0]"), "expected two non-negative integers in data_offsets, got -4");
  ExpectError(with_offsets("[0,4.0]"), "got the number \"4.0\"");
  ExpectError(with_offsets("{}"), "expected an array for data_offsets, got an object");
  ExpectError(with_offsets("[4,0]"), "tensor \"a\": expected data_offsets in ascending order, got [4, 0]");
  ExpectError(with_offsets("[0,5]"), "tensor \"a\": expected data_offsets within the data of 4 bytes, got [0, 5]");
  ExpectError(with_offsets("[18446744073709551612,18446744073709551615]"), "within the data of 4 bytes");
  ExpectError(with_offsets("[0,3]"), "expected data_offsets 4 * 1 bytes apart for u8[4], got [0, 3]");
}

TEST_F(SafetensorsTest, RefusesHolesOverlapsAndTrailingBytes) {
  const auto two = [](std::string_view a, std::string_view b, std::string_view data) {
    return MakeFile("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":" + std::string(a) +
                        "},\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":" + std::string(b) + "}}",
                    data);
  };
  EXPECT_TRUE(Read(two("[0,2]", "[2,4]", "1234")).ok());
  ExpectError(two("[1,3]", "[3,5]", "12345"), "tensor \"a\": expected data_offsets that begin at 0");
  ExpectError(two("[0,2]", "[3,5]", "12345"), "tensor \"b\": expected data_offsets that begin at 2");
  ExpectError(two("[0,2]", "[1,3]", "123"), "tensor \"b\": expected data_offsets that begin at 2");
  ExpectError(two("[0,2]", "[0,2]", "12"), "expected data_offsets that begin at 2");
  ExpectError(two("[0,2]", "[2,4]", "12345"), "expected the end of the file after the last tensor, got 1 more bytes");
  ExpectError(MakeFile("{}", "x"), "byte 10: expected the end of the file after the last tensor, got 1 more bytes");
}

TEST_F(SafetensorsTest, RefusesDuplicateNames) {
  const std::string entry = R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  ExpectError(MakeFile("{" + entry + "," + entry + "}", ""), "expected each tensor name once, got \"a\" again");
  const std::string escaped = R"("\u0061":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  ExpectError(MakeFile("{" + entry + "," + escaped + "}", ""), "expected each tensor name once, got \"a\" again");
}

TEST_F(SafetensorsTest, RefusesBadMetadata) {
  const auto with_metadata = [](std::string_view value) {
    return MakeFile("{\"__metadata__\":" + std::string(value) + "}", "");
  };
  for (std::string_view value : {"null", "1", "\"text\"", "[]", "true"}) {
    ExpectError(with_metadata(value), "expected an object of text for __metadata__, got");
  }
  for (std::string_view value : {"null", "1", "-1", "0.5", "{}", "[]", "true"}) {
    ExpectError(with_metadata("{\"k\":" + std::string(value) + "}"), "expected text as value in __metadata__, got");
  }
  ExpectError(with_metadata(R"({"k":"1","k":"2"})"), "expected each key of __metadata__ once, got \"k\" again");
  ExpectError(with_metadata(R"({},"__metadata__":{})"), "expected __metadata__ once");
}

TEST_F(SafetensorsTest, RefusesBoolsOtherThanZeroAndOne) {
  ExpectError(OneTensor(R"("dtype":"BOOL","shape":[4],"data_offsets":[0,4])", std::string("\0\1\2\1", 4)),
              "tensor \"a\": expected bools of 0 or 1, got 2 in element 2");
}

TEST_F(SafetensorsTest, LongAndUnprintableNamesDoNotDrownTheMessage) {
  const std::string file = MakeFile("{\"" + std::string(5000, 'n') + "\\n\":1}", "");
  ExpectError(file, std::string(64, 'n') + "...\": expected an object");
  ExpectError(MakeFile("{\"\\u001b[2J\":1}", ""), "tensor \"?[2J\": expected an object");
}

}  // namespace
}  // namespace digits
