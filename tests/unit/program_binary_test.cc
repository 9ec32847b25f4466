// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The binary form of programs: bytes by hand after BINARY.md, everything there and back, and files that are damaged or
// made to do damage.

#include "program/program_binary.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "failing_heap.h"
#include "program_comparison.h"
#include "program_samples.h"

namespace tandem {
namespace {

using Bytes = std::vector<std::byte>;

Bytes Unhex(std::string_view hex) {
  const auto digit = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'A' + 10); };
  Bytes bytes;
  for (size_t i = 0; i < hex.size(); ++i) {
    if (hex[i] == ' ') continue;
    bytes.push_back(static_cast<std::byte>(digit(hex[i]) << 4 | digit(hex[i + 1])));
    ++i;
  }
  return bytes;
}

constexpr std::string_view kMagic = "89 54 44 4D 50 0D 0A 0A ";

// A file of version 1 that is right but for what is in the middle.
Bytes FileOf(std::string_view hex) { return Unhex(std::string(kMagic) + "01 " + std::string(hex) + " 00 00 00 00"); }
Bytes WithChecksum(Bytes bytes) {
  SetProgramChecksum(bytes);
  return bytes;
}

// "DataLoss: ..."; "" if it is a program.
std::string ErrorOf(std::span<const std::byte> bytes) {
  const StatusOr<RcRef<const Program>> program = Program::FromBytes(bytes, "f");
  return program.ok() ? "" : program.status().ToString();
}
// Of a file with these bytes between version and checksum.
std::string ErrorIn(std::string_view hex) { return ErrorOf(WithChecksum(FileOf(hex))); }
// The same with a function around an instruction, which begins at byte 24. Its parameter is an op handler; there are a
// string, "s", and a constant, bool[] true.
std::string ErrorInInstruction(std::string_view hex) {
  return ErrorIn("01 01 73 01 00 01 00 01 01 01 00 01 02 00 01 " + std::string(hex));
}

std::string FirstDifference(const Program& a, const Program& b, bool value_names = false) {
  return ProgramComparison{.positions = true, .value_names = value_names}.FirstDifference(a, b);
}

TEST(ProgramBinaryTest, PR2_EverythingReadsBack) {
  const auto program = CreateProgram(EverythingInPrograms());
  const StatusOr<RcRef<const Program>> copy = Program::FromBytes(program->ToBytes(), "copy");
  ASSERT_TRUE(copy.ok()) << copy.status().ToString();
  EXPECT_EQ(FirstDifference(*program, **copy), "");
  EXPECT_EQ((*copy)->file(), "copy");
}

TEST(ProgramBinaryTest, PR2_EmptyProgramReadsBack) {
  const Bytes bytes = CreateProgram({})->ToBytes();
  EXPECT_EQ(bytes, WithChecksum(FileOf("00 00 00")));
  const StatusOr<RcRef<const Program>> copy = Program::FromBytes(bytes, "copy");
  ASSERT_TRUE(copy.ok()) << copy.status().ToString();
  EXPECT_TRUE((*copy)->functions().empty());
}

// An op, a constant and a return with positions, as in the test below.
RcRef<const Program> SmallProgram() {
  FunctionBuilder function("f", {ProgramType::kOpHandler, ProgramType::kTensor}, {ProgramType::kTensor});
  function.function().position = {1, 1};
  OpAttrs attrs;
  EXPECT_TRUE(attrs.Set("a", int64_t{-2}));
  ProgramInstruction& op = function.Add(ProgramKernel::kExecuteOp, {0, 1}, {ProgramType::kTensor});
  op.name = "tf.Neg";
  op.attrs = Frozen(attrs);
  op.position = {2, 3};
  ProgramInstruction& constant = function.Add(ProgramKernel::kConstDenseTensor, {}, {ProgramType::kTensor});
  constant.constant = Constant<float>(DType::kF32, {2}, {1.0f, -2.0f});
  constant.position = {3, 3};
  ProgramFunction done = function.Return({2});
  done.instructions.back().position = {4, 3};
  return CreateProgram({std::move(done)});
}

// By hand; the checksum by zlib.
Bytes SmallFile() {
  return Unhex(std::string(kMagic) +
               "01 "                                      // version
               "03 01 66 06 74 66 2E 4E 65 67 01 61 "     // strings f, tf.Neg, a
               "01 00 0C 01 04 00 00 80 3F 00 00 00 C0 "  // constant f32[2]
               "01 01 01 02 01 02 02 01 01 01 03 "        // f at 1:1, an op handler and a tensor, gives a tensor
               "09 02 02 01 02 01 03 02 03 01 01 02 03 "  // op 9 of values 2 and 1 before, tf.Neg, a = i64 -2, a tensor
               "0D 00 01 02 03 "                          // constant 0
               "02 01 02 02 03 "                          // gives the value 2 before
               "45 A8 09 61");
}

TEST(ProgramBinaryTest, PR2_BytesAreThoseOfTheLayout) { EXPECT_EQ(SmallProgram()->ToBytes(), SmallFile()); }

TEST(ProgramBinaryTest, PR2_BytesOfTheLayoutAreRead) {
  const StatusOr<RcRef<const Program>> program = Program::FromBytes(SmallFile(), "f");
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  EXPECT_EQ(FirstDifference(*SmallProgram(), **program), "");
}

TEST(ProgramBinaryTest, PR2_ReadTellsItFromText) {
  const StatusOr<RcRef<const Program>> program = Program::Read(SmallFile(), "f");
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  EXPECT_EQ((*program)->functions().size(), 1u);
  const Bytes cut = Unhex("89");
  EXPECT_EQ(Program::Read(cut, "f").status().ToString(),
            "DataLoss: f: byte 1: expected the magic number of a binary program, got the end");
}

TEST(ProgramBinaryTest, PR2_SameProgramGivesSameBytes) {
  const Bytes bytes = CreateProgram(EverythingInPrograms())->ToBytes();
  EXPECT_EQ(CreateProgram(EverythingInPrograms())->ToBytes(), bytes);
  EXPECT_EQ((*Program::FromBytes(bytes, "f"))->ToBytes(), bytes);
}

TEST(ProgramBinaryTest, PR2_ChecksumIsThatOfZlib) {
  // The check value of CRC-32/ISO-HDLC.
  EXPECT_EQ(ProgramChecksum(std::as_bytes(std::span(std::string_view("123456789")))), 0xCBF43926u);
  EXPECT_EQ(ProgramChecksum({}), 0u);
}

TEST(ProgramBinaryTest, PR2_SetChecksumLeavesTooFewBytesAlone) {
  Bytes bytes = Unhex("01 02 03");
  SetProgramChecksum(bytes);
  EXPECT_EQ(bytes, Unhex("01 02 03"));
  bytes = Unhex("01 02 03 04");
  SetProgramChecksum(bytes);
  EXPECT_EQ(bytes, Unhex("00 00 00 00"));
}

TEST(ProgramBinaryTest, PR2_ElementsAreLittleEndian) {
  const Bytes from = Unhex("01 02 03 04 05 06 07 08");
  const auto copied = [&](DType dtype) {
    Bytes to(from.size());
    CopyLittleEndian<std::endian::big>(dtype, from, to.data());
    return to;
  };
  EXPECT_EQ(copied(DType::kBool), from);
  EXPECT_EQ(copied(DType::kI8), from);
  EXPECT_EQ(copied(DType::kBF16), Unhex("02 01 04 03 06 05 08 07"));
  EXPECT_EQ(copied(DType::kF32), Unhex("04 03 02 01 08 07 06 05"));
  EXPECT_EQ(copied(DType::kC64), Unhex("04 03 02 01 08 07 06 05"));
  EXPECT_EQ(copied(DType::kU64), Unhex("08 07 06 05 04 03 02 01"));
  Bytes same(from.size());
  CopyLittleEndian<std::endian::little>(DType::kU64, from, same.data());
  EXPECT_EQ(same, from);
}

TEST(ProgramBinaryTest, PR2_EqualConstantsAreOne) {
  FunctionBuilder function("f", {}, {});
  const auto constant = Constant<double>(DType::kF64, {2}, {1.0, 2.0});
  for (const auto& each : {constant, constant, Constant<double>(DType::kF64, {2}, {1.0, 2.0}),
                           Constant<double>(DType::kF64, {2, 1}, {1.0, 2.0})}) {
    function.Add(ProgramKernel::kConstDenseTensor, {}, {ProgramType::kTensor}).constant = each;
  }
  const auto program = CreateProgram({function.Return({})});
  const StatusOr<RcRef<const Program>> copy = Program::FromBytes(program->ToBytes(), "f");
  ASSERT_TRUE(copy.ok()) << copy.status().ToString();
  EXPECT_EQ(FirstDifference(*program, **copy), "");
  const auto& instructions = (*copy)->functions()[0].instructions;
  EXPECT_EQ(instructions[0].constant, instructions[1].constant);
  EXPECT_EQ(instructions[0].constant, instructions[2].constant);
  EXPECT_NE(instructions[0].constant, instructions[3].constant);
}

TEST(ProgramBinaryTest, PR2_OpTakesFewBytes) {
  constexpr size_t kNumOps = 1000;
  const auto size_of = [](size_t num_ops) {
    FunctionBuilder function("f", {ProgramType::kOpHandler, ProgramType::kTensor}, {});
    for (size_t i = 0; i < num_ops; ++i) {
      // The handler is farther away with each.
      ProgramInstruction& op =
          function.Add(ProgramKernel::kExecuteOp, {0, function.last(), function.last()}, {ProgramType::kTensor});
      op.name = "tf.AddV2";
      op.position = {static_cast<uint32_t>(2 * i), 3};
    }
    return CreateProgram({function.Return({})})->ToBytes().size();
  };
  // Nine bytes, name and attributes, and the handler's distance, which needs two from 128 on.
  EXPECT_LE(size_of(2 * kNumOps) - size_of(kNumOps), 12 * kNumOps);
}

TEST(ProgramBinaryTest, PR2_EachTruncationIsAnError) {
  const Bytes bytes = CreateProgram(EverythingInPrograms())->ToBytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    // Of its own size, so that a sanitizer sees what is read beyond it.
    Bytes cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    ASSERT_NE(ErrorOf(cut), "") << size;
    SetProgramChecksum(cut);
    ASSERT_NE(ErrorOf(cut), "") << size;
  }
}

TEST(ProgramBinaryTest, PR2_EachChangedByteIsAnError) {
  const Bytes bytes = CreateProgram(EverythingInPrograms())->ToBytes();
  for (size_t i = 0; i < bytes.size(); ++i) {
    Bytes changed = bytes;
    changed[i] ^= static_cast<std::byte>(1u << i % 8);
    ASSERT_NE(ErrorOf(changed), "") << i;
  }
}

TEST(ProgramBinaryTest, PR2_ChangedByteWithRightChecksumIsAnErrorOrAProgram) {
  const Bytes bytes = CreateProgram(EverythingInPrograms())->ToBytes();
  size_t num_programs = 0;
  for (size_t i = 0; i < bytes.size() - kProgramChecksumSize; ++i) {
    for (const std::byte change : {std::byte(1u << i % 8), std::byte{0xFF}}) {
      Bytes changed = bytes;
      changed[i] ^= change;
      SetProgramChecksum(changed);
      const StatusOr<RcRef<const Program>> program = Program::FromBytes(changed, "f");
      if (!program.ok()) continue;
      ++num_programs;
      const StatusOr<RcRef<const Program>> copy = Program::FromBytes((*program)->ToBytes(), "f");
      ASSERT_TRUE(copy.ok()) << i << ": " << copy.status().ToString();
      ASSERT_EQ(FirstDifference(**program, **copy), "") << i;
    }
  }
  EXPECT_GT(num_programs, 0u);
}

TEST(ProgramBinaryTest, PR2_MagicNumberIsChecked) {
  EXPECT_EQ(ErrorOf({}), "DataLoss: f: byte 0: expected the magic number of a binary program, got the end");
  EXPECT_EQ(ErrorOf(Unhex("89 54 44")),
            "DataLoss: f: byte 3: expected the magic number of a binary program, got the end");
  EXPECT_EQ(ErrorOf(Unhex("66 75 6E 63")),
            "DataLoss: f: byte 0: expected byte 137 of the magic number of a binary program, got 102");
  // As a transfer as text leaves it.
  EXPECT_EQ(ErrorOf(Unhex("89 54 44 4D 50 0A 0A 01")),
            "DataLoss: f: byte 5: expected byte 13 of the magic number of a binary program, got 10");
}

TEST(ProgramBinaryTest, PR2_LaterVersionIsUnimplemented) {
  EXPECT_EQ(ErrorOf(Unhex(std::string(kMagic) + "02")),
            "Unimplemented: f: byte 8: expected version 1 of the format, got version 2, written by a later version of "
            "Tandem");
  EXPECT_EQ(
      ErrorOf(Unhex(std::string(kMagic) + "80 01 00 00 00 00")),
      "Unimplemented: f: byte 8: expected version 1 of the format, got version 128, written by a later version of "
      "Tandem");
  EXPECT_EQ(ErrorOf(Unhex(std::string(kMagic) + "00")),
            "DataLoss: f: byte 8: expected version 1 of the format, got version 0");
  EXPECT_EQ(ErrorOf(Unhex(kMagic)), "DataLoss: f: byte 8: expected the version of the format, got the end");
}

TEST(ProgramBinaryTest, PR2_ChecksumIsChecked) {
  Bytes bytes = SmallFile();
  bytes[70] ^= std::byte{0xFF};
  EXPECT_EQ(ErrorOf(bytes), "DataLoss: f: byte 68: expected checksum 0x6109a845 of the bytes before, got 0x61f6a845");
  EXPECT_EQ(ErrorOf(Unhex(std::string(kMagic) + "01 00 00")),
            "DataLoss: f: byte 9: expected a checksum of 4 bytes, got the end after 2");
}

TEST(ProgramBinaryTest, PR2_NothingFollowsTheFunctions) {
  EXPECT_EQ(ErrorIn("00 00 00 07 07"),
            "DataLoss: f: byte 12: expected the checksum behind the functions, got 2 more bytes");
}

TEST(ProgramBinaryTest, PR2_NumbersAreShortAndHave64Bits) {
  EXPECT_EQ(ErrorIn("80 00"), "DataLoss: f: byte 9: expected a number in as few bytes as it takes, got more");
  EXPECT_EQ(ErrorIn("FF FF FF FF FF FF FF FF FF 02"),
            "DataLoss: f: byte 9: expected a number of at most 64 bits, got more");
  EXPECT_EQ(ErrorIn("FF FF FF FF FF FF FF FF FF 81 00"),
            "DataLoss: f: byte 9: expected a number of at most 64 bits, got more");
  EXPECT_EQ(ErrorIn("FF FF FF FF FF FF FF FF FF 01 00"),
            "DataLoss: f: byte 9: expected no more strings than the 1 bytes behind can hold, got 18446744073709551615");
  EXPECT_EQ(ErrorIn("80"), "DataLoss: f: byte 10: expected strings, got the end");
}

constexpr std::string_view k2To32 = "80 80 80 80 10 ";
constexpr std::string_view k2To63 = "80 80 80 80 80 80 80 80 80 01 ";

TEST(ProgramBinaryTest, PR2_CountsAreHeldAgainstTheBytesLeft) {
  for (const auto& [before, things] : std::vector<std::pair<std::string, std::string>>{
           {"", "strings"},
           {"00 ", "constants"},
           {"00 00 ", "functions"},
           {"00 00 01 00 00 00 ", "parameters"},
           {"00 00 01 00 00 00 00 ", "results"},
           {"00 00 01 00 00 00 00 00 ", "instructions"},
           {"00 00 01 00 00 00 00 00 01 02 ", "operands"},
           {"00 00 01 00 00 00 00 00 01 0C 00 ", "results"},
           {"00 00 01 00 00 00 00 00 01 09 00 00 00 ", "attributes"},
           {"00 00 01 00 00 00 00 00 01 09 00 00 00 01 00 00 82 ", "elements"},
           {"00 01 00 01 ", "dimensions"}}) {
    const size_t offset = 9 + Unhex(before).size();
    for (const std::string_view count : {k2To32, k2To63}) {
      // Bytes that some of them might be.
      const std::string error = ErrorIn(before + std::string(count) + "00 00 00");
      EXPECT_EQ(error, "DataLoss: f: byte " + std::to_string(offset) + ": expected no more " + things +
                           " than the 3 bytes behind can hold, got " +
                           (count == k2To32 ? "4294967296" : "9223372036854775808"));
    }
  }
}

TEST(ProgramBinaryTest, PR2_SizesAreHeldAgainstTheBytesLeft) {
  const std::string file(k2To32);
  EXPECT_EQ(ErrorIn("01 " + file + "61 62"),
            "DataLoss: f: byte 15: expected a string of 4294967296 bytes, got the end after 2");
  EXPECT_EQ(ErrorIn("00 00 01 00 " + std::string(k2To63) + "61"),
            "DataLoss: f: byte 23: expected the name of a function of 9223372036854775808 bytes, got the end after 1");
  // u8[2^27] and string[2^27], which 32 bits can address, of which there are two bytes.
  EXPECT_EQ(ErrorIn("00 01 00 02 01 80 80 80 80 01 01 02"),
            "DataLoss: f: byte 19: expected 134217728 elements of u8, got 2 bytes");
  EXPECT_EQ(ErrorIn("00 01 00 0F 01 80 80 80 80 01 00 00"), "DataLoss: f: byte 21: expected a string, got the end");
  EXPECT_EQ(ErrorIn("00 01 00 0D 01 04 00 00 00 00 00 00 00 00"),
            "DataLoss: f: byte 15: expected 2 elements of f64, got 8 bytes");
}

TEST(ProgramBinaryTest, PR2_HostileCountTakesNoMemory) {
  const Bytes bytes = WithChecksum(FileOf(std::string(k2To32) + "00"));
  const Status error = Program::FromBytes(bytes, "f").status();
  const int64_t of_error = CountAllocations([&] { (void)Status::Error(error.code(), error.message()); });
  EXPECT_EQ(CountAllocations([&] { (void)Program::FromBytes(bytes, "f"); }), of_error);
}

TEST(ProgramBinaryTest, PR2_LimitsHold) {
  const auto error_with_zeros = [](std::string_view hex, size_t zeros) {
    Bytes bytes = FileOf(hex);
    bytes.resize(bytes.size() + zeros);
    return ErrorOf(WithChecksum(std::move(bytes)));
  };
  constexpr size_t k2To16 = size_t{1} << 16;
  EXPECT_EQ(error_with_zeros("00 00 81 80 04", k2To16 + 1),
            "DataLoss: f: byte 11: expected at most 65536 functions, got 65537");
  EXPECT_EQ(error_with_zeros("00 00 01 00 00 00 00 81 80 04", k2To16 + 1),
            "DataLoss: f: byte 16: expected at most 65536 results, got 65537");
  EXPECT_EQ(error_with_zeros("00 00 01 00 00 00 00 00 01 02 81 80 04", k2To16 + 1),
            "DataLoss: f: byte 19: expected at most 65536 operands, got 65537");
  EXPECT_EQ(error_with_zeros("00 00 01 00 00 00 00 00 01 0C 00 81 80 04", k2To16 + 1),
            "DataLoss: f: byte 20: expected at most 65536 results, got 65537");
  constexpr size_t k2To24 = size_t{1} << 24;
  EXPECT_EQ(error_with_zeros("00 00 01 00 00 00 81 80 80 08", k2To24 + 1),
            "DataLoss: f: byte 15: expected at most 16777216 parameters, got 16777217");
  EXPECT_EQ(error_with_zeros("00 00 01 00 00 00 00 00 81 80 80 08", k2To24 + 1),
            "DataLoss: f: byte 17: expected at most 16777216 instructions, got 16777217");
  EXPECT_EQ(error_with_zeros("01 41", 65), "DataLoss: f: byte 10: expected a string of at most 64 bytes, got 65");
}

TEST(ProgramBinaryTest, PR2_NumbersOfThingsAreChecked) {
  EXPECT_EQ(ErrorInInstruction("13"), "DataLoss: f: byte 24: expected a kernel from 0 to 18, got 19");
  EXPECT_EQ(ErrorInInstruction("12 01 00"),
            "DataLoss: f: byte 26: expected one of the 1 values before, got the one 0 before");
  EXPECT_EQ(ErrorInInstruction("12 01 02"),
            "DataLoss: f: byte 26: expected one of the 1 values before, got the one 2 before");
  EXPECT_EQ(ErrorInInstruction("03 00 01"), "DataLoss: f: byte 26: expected the number of a function below 1, got 1");
  EXPECT_EQ(ErrorInInstruction("07 00 02"),
            "DataLoss: f: byte 26: expected 0 or 1 + the number of a string below 2, got 2");
  EXPECT_EQ(ErrorInInstruction("0D 00 02"),
            "DataLoss: f: byte 26: expected 0 or 1 + the number of a constant below 2, got 2");
  EXPECT_EQ(ErrorInInstruction("0C 00 01 05"), "DataLoss: f: byte 27: expected a type from 0 to 4, got 5");
  EXPECT_EQ(ErrorInInstruction("0D 00 00 01 10 00"), "DataLoss: f: byte 28: expected a dtype from 1 to 15, got 16");
  EXPECT_EQ(ErrorInInstruction("0D 00 00 01 00 00"), "DataLoss: f: byte 28: expected a dtype from 1 to 15, got 0");
  EXPECT_EQ(ErrorIn("00 01 02"), "DataLoss: f: byte 11: expected a form of elements from 0 to 1, got 2");
  EXPECT_EQ(ErrorIn("00 00 01 00 00 02"), "DataLoss: f: byte 14: expected flags of a function from 0 to 1, got 2");
}

TEST(ProgramBinaryTest, PR2_MetadataIsChecked) {
  EXPECT_EQ(ErrorIn("00 01 00 01 09 00 00 00 00 00 00 00 00 00"),
            "DataLoss: f: byte 13: expected at most 8 dimensions, got 9");
  EXPECT_EQ(ErrorIn("00 01 00 01 01 01"),
            "DataLoss: f: byte 13: expected the shape of a tensor that can be addressed, got bool[-1]");
  // 2^62 elements cannot be addressed, even if one stands for all; nor can 2^64.
  EXPECT_EQ(
      ErrorIn("00 01 01 01 01 80 80 80 80 80 80 80 80 80 01 01"),
      "DataLoss: f: byte 13: expected the shape of a tensor that can be addressed, got bool[4611686018427387904]");
  EXPECT_EQ(
      ErrorIn("00 01 01 01 02 80 80 80 80 20 80 80 80 80 20 01"),
      "DataLoss: f: byte 13: expected the shape of a tensor that can be addressed, got bool[4294967296,4294967296]");
}

TEST(ProgramBinaryTest, PR2_BoolsAreChecked) {
  EXPECT_EQ(ErrorIn("00 01 00 01 01 06 00 01 02"), "DataLoss: f: byte 17: expected a bool of 0 or 1, got 2");
  EXPECT_EQ(ErrorInInstruction("09 00 01 01 01 00 02"), "DataLoss: f: byte 30: expected a bool from 0 to 1, got 2");
}

TEST(ProgramBinaryTest, PR2_AttributesAreChecked) {
  EXPECT_EQ(ErrorInInstruction("09 00 01 01 01 0B 00"),
            "DataLoss: f: byte 29: expected the type of an attribute from 0 to 10, got 11");
  EXPECT_EQ(ErrorInInstruction("09 00 01 01 01 8B 00"),
            "DataLoss: f: byte 29: expected the type of an attribute from 0 to 10, got 11");
  // 2^31
  EXPECT_EQ(ErrorInInstruction("09 00 01 01 01 01 80 80 80 80 10"),
            "DataLoss: f: byte 30: expected an i32 from -2147483648 to 2147483647, got 2147483648");
  EXPECT_EQ(ErrorInInstruction("09 00 01 01 01 03 00 00 00"),
            "DataLoss: f: byte 30: expected an f32 of 4 bytes, got the end after 3");
  EXPECT_EQ(ErrorInInstruction("09 00 01 01 01 05 00"), "DataLoss: f: byte 30: expected a dtype from 1 to 15, got 0");
  EXPECT_EQ(ErrorInInstruction("09 00 01 01 01 06 03"),
            "DataLoss: f: byte 30: expected 0 or 1 + the number of a string below 2, got 3");
  EXPECT_EQ(ErrorInInstruction("09 00 01 01 01 08 01 01 04 00 02"),
            "DataLoss: f: byte 34: expected a bool of 0 or 1, got 2");
  // The same name twice; "t" before "s".
  EXPECT_EQ(ErrorInInstruction("09 00 01 02 01 00 01 01 00 01"),
            "DataLoss: f: byte 31: expected names of attributes in ascending order, got one not above that before");
  EXPECT_EQ(ErrorInInstruction("09 00 01 02 00 01 74 00 01 01 00 01"),
            "DataLoss: f: byte 33: expected names of attributes in ascending order, got one not above that before");
}

// An op with lists of attributes nested `depth` deep, of which the outermost begins at byte 28 of ErrorInInstruction.
std::string NestedAttributes(size_t depth) {
  std::string hex = "09 01 01 01 ";
  for (size_t i = 1; i < depth; ++i) hex += "01 01 0A ";
  return hex + "01 01 00 01 00 ";
}

TEST(ProgramBinaryTest, PR2_AttributesAreNestedSoDeep) {
  // With tfrt.return behind it.
  EXPECT_EQ(ErrorIn("01 01 73 00 01 01 00 01 02 00 02 " + NestedAttributes(kMaxAttrDepth) + "02 00"), "");
  const std::string error = "DataLoss: f: byte 220: expected attributes nested at most 64 deep";
  EXPECT_EQ(ErrorInInstruction(NestedAttributes(kMaxAttrDepth + 1)), error);
  EXPECT_EQ(ErrorInInstruction(NestedAttributes(100'000)), error);
}

TEST(ProgramBinaryTest, PR2_PositionsAreChecked) {
  // A function at line -1, at column 2^32, and one whose instruction is at line 2^32.
  EXPECT_EQ(ErrorIn("00 00 01 00 00 01 01 00 00 00 00"),
            "DataLoss: f: byte 15: expected lines to the next from 0 to 4294967295, got -1");
  EXPECT_EQ(ErrorIn("00 00 01 00 00 01 00 " + std::string(k2To32)),
            "DataLoss: f: byte 16: expected a column of at most 4294967295, got 4294967296");
  EXPECT_EQ(ErrorIn("00 00 01 00 00 01 02 00 00 00 01 02 00 FE FF FF FF 1F 00"),
            "DataLoss: f: byte 22: expected lines to the next from -1 to 4294967294, got 4294967295");
}

TEST(ProgramBinaryTest, PR2_WhatIsNoProgramIsDataLoss) {
  // @s without tfrt.return.
  EXPECT_EQ(ErrorIn("01 01 73 00 01 01 00 00 00 00"),
            "DataLoss: f: expected tfrt.return at the end, got no instruction, in @s");
}

}  // namespace
}  // namespace tandem
