// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The .npy format: bytes as NumPy writes them, in both orders of bytes and of dimensions; damaged and hostile headers.

#include "files/npy.h"

#include <gtest/gtest.h>

#include <bit>
#include <complex>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

constexpr size_t kHeaderBegin = 10;  // of version 1.0

std::span<const std::byte> BytesOf(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

// Of version 1.0, whose length has two bytes.
std::string MakeFile(std::string_view header, std::string_view data) {
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xFF);
  file += static_cast<char>(header.size() >> 8);
  return file.append(header).append(data);
}

std::string Header(std::string_view descr, std::string_view order, std::string_view shape) {
  std::string text = "{'descr': ";
  return text.append(descr).append(", 'fortran_order': ").append(order).append(", 'shape': ").append(shape) + ", }\n";
}

template <typename T>
void ExpectElements(std::string_view file, const TensorShape& shape, const std::vector<T>& expected) {
  const StatusOr<NpyHeader> header = ReadNpyHeader(BytesOf(file), "a.npy");
  ASSERT_TRUE(header.ok()) << header.status().message();
  EXPECT_EQ(header->metadata, TensorMetadata(kDTypeOf<T>, shape));
  // At an odd address.
  std::vector<std::byte> memory(header->metadata.byte_size() + 1);
  const Status read = ReadNpyElements(BytesOf(file), "a.npy", *header, std::span(memory).subspan(1));
  ASSERT_TRUE(read.ok()) << read.message();
  ASSERT_EQ(memory.size() - 1, expected.size() * sizeof(T));
  for (size_t i = 0; i < expected.size(); ++i) {
    T element;
    std::memcpy(&element, &memory[1 + i * sizeof(T)], sizeof(T));
    EXPECT_EQ(element, expected[i]) << i;
  }
}

// The whole text behind the name of the file.
void ExpectHeaderError(std::string_view file, StatusCode code, std::string_view text) {
  const StatusOr<NpyHeader> header = ReadNpyHeader(BytesOf(file), "a.npy");
  ASSERT_FALSE(header.ok()) << text;
  EXPECT_EQ(header.status().code(), code) << text;
  EXPECT_EQ(header.status().message(), "a.npy: " + std::string(text));
}

// Of a dictionary, without and with data.
void ExpectTextError(std::string_view header, StatusCode code, size_t at, std::string_view text) {
  ExpectHeaderError(MakeFile(header, "\0\0\0\0"sv), code,
                    "byte " + std::to_string(kHeaderBegin + at) + ": " + std::string(text));
}
void ExpectDamage(std::string_view header, size_t at, std::string_view text) {
  ExpectTextError(header, StatusCode::kDataLoss, at, text);
}

// As numpy.save writes [[1, -2, 0.5]] of f32.
const std::string& SavedByNumPy() {
  static const std::string file =
      "\x93NUMPY\x01\0v\0"s.append("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }" +
                                   std::string(58, ' ') + "\n") +
      "\0\0\x80?\0\0\0\xc0\0\0\0?"s;
  return file;
}

TEST(NpyTest, ReadsWhatNumPySaves) {
  ASSERT_EQ(SavedByNumPy().size(), 128u + 12);
  ExpectElements<float>(SavedByNumPy(), {1, 3}, {1, -2, 0.5f});
}

TEST(NpyTest, ReadsTheLengthsOfLaterVersions) {
  const std::string header = Header("'|u1'", "False", "(2,)");
  const std::string length = {static_cast<char>(header.size()), '\0', '\0', '\0'};
  for (const char version : {'\x02', '\x03'}) {
    ExpectElements<uint8_t>("\x93NUMPY"s + version + '\0' + length + header + "\x07\xff", {2}, {7, 255});
  }
}

TEST(NpyTest, ReadsEveryDtypeInBothByteOrders) {
  const auto file = [](std::string_view descr, std::string_view data) {
    return MakeFile(Header(descr, "False", "()"), data);
  };
  ExpectElements<bool>(file("'|b1'", "\x01"), {}, {true});
  ExpectElements<int8_t>(file("'|i1'", "\xfe"), {}, {-2});
  ExpectElements<uint8_t>(file("'|u1'", "\xfe"), {}, {254});
  ExpectElements<int16_t>(file("'<i2'", "\xfe\xff"), {}, {-2});
  ExpectElements<int16_t>(file("'>i2'", "\xff\xfe"), {}, {-2});
  ExpectElements<uint16_t>(file("'<u2'", "\x02\x01"), {}, {258});
  ExpectElements<uint16_t>(file("'>u2'", "\x01\x02"), {}, {258});
  ExpectElements<int32_t>(file("'<i4'", "\x04\x03\x02\x81"), {}, {-0x7efdfcfc});
  ExpectElements<int32_t>(file("'>i4'", "\x81\x02\x03\x04"), {}, {-0x7efdfcfc});
  ExpectElements<uint32_t>(file("'<u4'", "\x04\x03\x02\x81"), {}, {0x81020304});
  ExpectElements<uint32_t>(file("'>u4'", "\x81\x02\x03\x04"), {}, {0x81020304});
  ExpectElements<int64_t>(file("'<i8'", "\x08\x07\x06\x05\x04\x03\x02\x01"), {}, {0x0102030405060708});
  ExpectElements<int64_t>(file("'>i8'", "\x01\x02\x03\x04\x05\x06\x07\x08"), {}, {0x0102030405060708});
  ExpectElements<uint64_t>(file("'<u8'", "\x08\x07\x06\x05\x04\x03\x02\xf1"), {}, {0xf102030405060708});
  ExpectElements<uint64_t>(file("'>u8'", "\xf1\x02\x03\x04\x05\x06\x07\x08"), {}, {0xf102030405060708});
  ExpectElements<Float16>(file("'<f2'", "\x00\xc1"sv), {}, {Float16(-2.5f)});
  ExpectElements<Float16>(file("'>f2'", "\xc1\x00"sv), {}, {Float16(-2.5f)});
  ExpectElements<float>(file("'<f4'", "\x00\x00\x20\xc0"sv), {}, {-2.5f});
  ExpectElements<float>(file("'>f4'", "\xc0\x20\x00\x00"sv), {}, {-2.5f});
  ExpectElements<double>(file("'<f8'", "\0\0\0\0\0\0\x04\xc0"sv), {}, {-2.5});
  ExpectElements<double>(file("'>f8'", "\xc0\x04\0\0\0\0\0\0"sv), {}, {-2.5});
  ExpectElements<std::complex<float>>(file("'<c8'", "\0\0\x20\xc0\0\0\x80\x3f"sv), {}, {{-2.5f, 1}});
  ExpectElements<std::complex<float>>(file("'>c8'", "\xc0\x20\0\0\x3f\x80\0\0"sv), {}, {{-2.5f, 1}});
}

TEST(NpyTest, FortranOrderBecomesRowMajor) {
  // numpy.save(f, numpy.asfortranarray(numpy.array([[1, 2, 3], [4, 5, -6]], dtype='>i2')))
  ExpectElements<int16_t>(MakeFile(Header("'>i2'", "True", "(2, 3)"), "\0\x01\0\x04\0\x02\0\x05\0\x03\xff\xfa"sv),
                          {2, 3}, {1, 2, 3, 4, 5, -6});
  // Of which element [i,j,k] is 100 i + 10 j + k; the first index goes fastest.
  std::string data;
  for (int k = 0; k < 2; ++k) {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 2; ++i) data += static_cast<char>(100 * i + 10 * j + k);
    }
  }
  ExpectElements<uint8_t>(MakeFile(Header("'|u1'", "True", "(2, 3, 2)"), data), {2, 3, 2},
                          {0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121});
  ExpectElements<uint8_t>(MakeFile(Header("'|u1'", "True", "(3,)"), "abc"), {3}, {'a', 'b', 'c'});
  ExpectElements<double>(MakeFile(Header("'<f8'", "True", "(2, 1)"), "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\x40"sv),
                         {2, 1}, {1, 2});
}

TEST(NpyTest, ArraysWithoutElementsHaveNone) {
  for (const std::string_view order : {"False", "True"}) {
    ExpectElements<float>(MakeFile(Header("'>f4'", order, "(0, 3)"), ""), {0, 3}, {});
    ExpectElements<bool>(MakeFile(Header("'|b1'", order, "(9223372036854775807, 0)"), ""), {INT64_MAX, 0}, {});
  }
}

TEST(NpyTest, TakesADictionaryAsPythonMayWriteIt) {
  ExpectElements<uint8_t>(
      MakeFile("{\n \"shape\" : ( 1L ,2L,3L ) ,\t'fortran_order':False,\"descr\":'|u1'}  \n", "abcdef"), {1, 2, 3},
      {'a', 'b', 'c', 'd', 'e', 'f'});
  ExpectElements<uint8_t>(MakeFile("{'descr':'<u1','fortran_order':True,'shape':(1,)}", "a"), {1}, {'a'});
}

TEST(NpyTest, RefusesWhatIsNoNpyFile) {
  const StatusCode damage = StatusCode::kDataLoss;
  ExpectHeaderError("", damage, "byte 0: expected \"\\x93NUMPY\", got an empty file");
  ExpectHeaderError("PK\x03\x04", damage, "byte 0: expected \"\\x93NUMPY\", got something else");
  ExpectHeaderError("\x93NUMPY\x01"sv, damage, "byte 6: expected a version, got the end of the file");
  ExpectHeaderError("\x93NUMPY\x04\x00{}"sv, StatusCode::kUnimplemented,
                    "byte 6: expected version 1.0, 2.0 or 3.0, got 4.0");
  ExpectHeaderError("\x93NUMPY\x01\x01{}"sv, StatusCode::kUnimplemented,
                    "byte 6: expected version 1.0, 2.0 or 3.0, got 1.1");
  ExpectHeaderError("\x93NUMPY\x02\x00\x01\x00\x00"sv, damage,
                    "byte 8: expected the header's length in 4 bytes, got 3");
  ExpectHeaderError("\x93NUMPY\x02\x00\xff\xff\xff\xff{}"sv, damage,
                    "byte 12: expected a header of 4294967295 bytes, got 2");
}

TEST(NpyTest, RefusesEveryTruncation) {
  const std::string& file = SavedByNumPy();
  for (size_t size = 0; size < file.size(); ++size) {
    const StatusOr<NpyHeader> header = ReadNpyHeader(BytesOf(file).first(size), "a.npy");
    ASSERT_FALSE(header.ok()) << size;
    EXPECT_EQ(header.status().code(), StatusCode::kDataLoss) << size;
    EXPECT_TRUE(header.status().message().starts_with("a.npy: byte ")) << header.status().message();
  }
}

TEST(NpyTest, RefusesMoreOrFewerElementsThanTheShapeHas) {
  const std::string header = Header("'<f4'", "False", "(2,)");
  const std::string begin = "byte " + std::to_string(kHeaderBegin + header.size());
  for (const size_t size : {0, 4, 7, 9, 12}) {
    ExpectHeaderError(MakeFile(header, std::string(size, 'x')), StatusCode::kDataLoss,
                      begin + ": expected the elements of f32[2], got " + std::to_string(size) + " bytes");
  }
  // 2^62 elements of 4 bytes are as many as none in 64 bits.
  const std::string many = Header("'<f4'", "False", "(4611686018427387904,)");
  ExpectHeaderError(MakeFile(many, ""), StatusCode::kDataLoss,
                    "byte " + std::to_string(kHeaderBegin + many.size()) +
                        ": expected the elements of f32[4611686018427387904], got 0 bytes");
}

TEST(NpyTest, RefusesHeadersThatAreNoDictionary) {
  ExpectDamage("", 0, "expected '{', got the end of the header");
  ExpectDamage("[1]", 0, "expected '{', got '['");
  ExpectDamage("\xff", 0, "expected '{', got the byte 255");
  ExpectDamage("{1: 2}", 1, "expected a key in quotes, got '1'");
  ExpectDamage("{'descr", 1, "expected a key in quotes, got no closing quote");
  ExpectDamage("{'des\\x63r': 1}", 5, "expected a key in quotes without escapes, got '\\'");
  ExpectDamage("{'names': 1}", 1, "expected descr, fortran_order or shape, got \"names\"");
  ExpectDamage("{'\xc3\xa4': 1}", 1, "expected descr, fortran_order or shape, got text that is not ASCII");
  ExpectDamage("{'descr' '<f4'}", 9, "expected ':', got '''");
  ExpectDamage("{'descr': '<f4' 'shape': ()}", 16, "expected ',' or '}', got '''");
  ExpectDamage("{'descr': '<f4', 'descr': '<f4'}", 17, "expected each key once, got descr again");
  ExpectDamage("{'descr': '<f4', 'shape': ()}", 29, "expected the key fortran_order in the header, got none");
  ExpectDamage("{}", 2, "expected the key descr in the header, got none");
  ExpectDamage("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", 54,
               "expected the end of the header, got 'x'");
}

TEST(NpyTest, RefusesHostileShapes) {
  const auto header = [](std::string_view shape) { return Header("'<f4'", "False", shape); };
  const size_t at = header("").find(", }");
  ExpectDamage(header("3"), at, "expected '(', got '3'");
  ExpectDamage(header("(3)"), at + 1, "expected a tuple such as (3,), got (3)");
  ExpectDamage(header("(-1,)"), at + 1, "expected a dimension, got '-'");
  ExpectDamage(header("(,)"), at + 1, "expected a dimension, got ','");
  ExpectDamage(header("(1 2)"), at + 3, "expected ',' or ')', got '2'");
  ExpectDamage(header("(9223372036854775808,)"), at + 1,
               "expected a dimension of at most 9223372036854775807, got a larger one");
  ExpectDamage("{'shape': (1,", 13, "expected a dimension, got the end of the header");
  ExpectTextError(header("(1, 1, 1, 1, 1, 1, 1, 1, 1)"), StatusCode::kUnimplemented, at + 25,
                  "expected at most 8 dimensions, got more");
  const StatusOr<NpyHeader> many = ReadNpyHeader(BytesOf(MakeFile(header("(4294967296, 4294967296)"), "")), "a.npy");
  ASSERT_FALSE(many.ok());
  EXPECT_EQ(many.status().code(), StatusCode::kDataLoss);
  EXPECT_TRUE(many.status().message().starts_with("a.npy: byte " + std::to_string(kHeaderBegin + at + 1) + ": "));
}

TEST(NpyTest, RefusesOrdersThatAreNeither) {
  ExpectDamage("{'fortran_order': 0}", 18, "expected True or False, got '0'");
  ExpectDamage("{'fortran_order': Truer}", 22, "expected ',' or '}', got 'r'");
  ExpectDamage(Header("'|f4'", "False", "()"), 10, "expected a dtype of the byte order '<' or '>', got \"|f4\"");
  ExpectDamage(Header("'=i8'", "False", "()"), 10, "expected a dtype of the byte order '<' or '>', got \"=i8\"");
  ExpectDamage(Header("1", "False", "()"), 10, "expected a dtype in quotes, got '1'");
}

TEST(NpyTest, DtypesThatTensorsLackAreUnimplemented) {
  for (const std::string_view descr : {"'|O'", "'O'", "'|O8'"}) {
    ExpectTextError(Header(descr, "False", "()"), StatusCode::kUnimplemented, 10,
                    "expected numbers or bools, got objects, which are Python pickles");
  }
  ExpectTextError(Header("[('x', '<f4')]", "False", "()"), StatusCode::kUnimplemented, 10,
                  "expected elements of one dtype, got records");
  ExpectTextError(Header("('<f4', (2,))", "False", "()"), StatusCode::kUnimplemented, 10,
                  "expected elements of one dtype, got arrays of a dtype");
  for (const std::string_view descr : {"<f16", "<c16", "<U5", "|S3", "<M8[ns]", "|V2", "f4", "<", ""}) {
    ExpectTextError(
        Header("'" + std::string(descr) + "'", "False", "()"), StatusCode::kUnimplemented, 10,
        "expected bool, i1 to i8, u1 to u8, f2 to f8 or c8 with its byte order, got \"" + std::string(descr) + "\"");
  }
}

TEST(NpyTest, RefusesBoolsThatAreNeither) {
  const std::string file = MakeFile(Header("'|b1'", "True", "(2, 2)"), "\x01\x00\x02\x01"sv);
  const StatusOr<NpyHeader> header = ReadNpyHeader(BytesOf(file), "a.npy");
  ASSERT_TRUE(header.ok());
  std::byte out[4];
  const Status read = ReadNpyElements(BytesOf(file), "a.npy", *header, out);
  EXPECT_EQ(read.code(), StatusCode::kDataLoss);
  EXPECT_EQ(read.message(), "a.npy: byte " + std::to_string(file.size() - 2) + ": expected a bool, 0 or 1, got 2");
}

TEST(NpyTest, WritesTheBytesOfTheFormat) {
  const auto text = [](const TensorMetadata& metadata) {
    const StatusOr<std::string> header = MakeNpyHeader(metadata, "a.npy");
    return header.ok() ? *header : std::string(header.status().message());
  };
  const std::string order = std::endian::native == std::endian::little ? "<" : ">";
  EXPECT_EQ(text({DType::kF32, {1, 3}}), "\x93NUMPY\x01\0v\0{'descr': '"s + order +
                                             "f4', 'fortran_order': False, 'shape': (1, 3), }" + std::string(58, ' ') +
                                             "\n");
  EXPECT_EQ(text({DType::kU8, {}}),
            "\x93NUMPY\x01\0v\0{'descr': '|u1', 'fortran_order': False, 'shape': (), }"s + std::string(62, ' ') + "\n");
  EXPECT_EQ(text({DType::kC64, {7}}), "\x93NUMPY\x01\0v\0{'descr': '"s + order +
                                          "c8', 'fortran_order': False, 'shape': (7,), }" + std::string(60, ' ') +
                                          "\n");
}

TEST(NpyTest, WhatIsWrittenIsReadAgain) {
  const TensorShape shapes[] = {{}, {3}, {1, 3}, {3, 0, 1}, {1, 1, 1, 3, 1, 1, 1, 1}};
  for (const TensorShape& shape : shapes) {
    for (int i = 1; i < kNumDTypes; ++i) {
      const auto dtype = static_cast<DType>(i);
      if (dtype == DType::kBF16 || dtype == DType::kString) continue;
      const TensorMetadata metadata(dtype, shape);
      const StatusOr<std::string> header = MakeNpyHeader(metadata, "a.npy");
      ASSERT_TRUE(header.ok()) << header.status().message();
      EXPECT_EQ(header->size() % 64, 0u);
      std::string data(metadata.byte_size(), '\0');
      for (size_t k = 0; k < data.size(); ++k) data[k] = static_cast<char>(dtype == DType::kBool ? k % 2 : k * 37 + 5);
      const std::string file = *header + data;
      const StatusOr<NpyHeader> read = ReadNpyHeader(BytesOf(file), "a.npy");
      ASSERT_TRUE(read.ok()) << read.status().message();
      EXPECT_EQ(read->metadata, metadata);
      std::string again(data.size(), 'x');
      ASSERT_TRUE(ReadNpyElements(BytesOf(file), "a.npy", *read, std::as_writable_bytes(std::span(again))).ok());
      EXPECT_EQ(again, data);
    }
  }
}

TEST(NpyTest, DtypesThatTheFormatLacksCannotBeWritten) {
  for (const DType dtype : {DType::kBF16, DType::kString, DType::kInvalid}) {
    const StatusOr<std::string> header = MakeNpyHeader({dtype, {2}}, "a.npy");
    ASSERT_FALSE(header.ok());
    EXPECT_EQ(header.status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(header.status().message(),
              "a.npy: expected a dtype that .npy files have, got " + std::string(DTypeName(dtype)));
  }
  const StatusOr<std::string> header = MakeNpyHeader({DType::kF32, {-1}}, "a.npy");
  ASSERT_FALSE(header.ok());
  EXPECT_EQ(header.status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tandem
