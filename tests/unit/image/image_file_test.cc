// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reading and writing pictures: PPM, PGM and PNG of every kind, and every way of being damaged or hostile.

#include "image/image_file.h"

#include <gtest/gtest.h>
#ifdef IMAGE_HAS_PNG
#include <zlib.h>
#endif

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "temporary_folder.h"

namespace image {
namespace {

using tandem::Status;
using tandem::StatusCode;
using tandem::TemporaryFolder;
using namespace std::string_literals;
using namespace std::string_view_literals;

Image Make(size_t rows, size_t cols, size_t channels, int depth) {
  auto image = MakeImage(rows, cols, channels, depth);
  EXPECT_TRUE(image.ok());
  for (size_t i = 0; i < image->samples.size(); ++i) image->samples.data()[i] = static_cast<uint8_t>(i * 37 + 11);
  return std::move(*image);
}

std::vector<int> Samples(const Image& image) {
  std::vector<int> samples;
  for (size_t i = 0; i < image.samples.size(); i += image.bytes_per_sample()) {
    uint16_t wide;
    std::memcpy(&wide, image.samples.data() + i, image.depth == 16 ? 2 : 0);
    samples.push_back(image.depth == 16 ? wide : image.samples.data()[i]);
  }
  return samples;
}

class ImageFileTest : public ::testing::Test {
 protected:
  tandem::StatusOr<Image> Read(std::string_view bytes) { return ReadImage(folder_.Write("picture", bytes)); }

  void ExpectSamples(std::string_view bytes, std::string_view description, const std::vector<int>& samples) {
    const auto image = Read(bytes);
    ASSERT_TRUE(image.ok()) << image.status().message();
    EXPECT_EQ(Describe(*image), description);
    EXPECT_EQ(Samples(*image), samples);
  }

  // The whole text after the name of the file.
  void ExpectDamage(std::string_view bytes, std::string_view text) {
    const auto image = Read(bytes);
    ASSERT_FALSE(image.ok()) << text;
    EXPECT_EQ(image.status().code(), StatusCode::kDataLoss);
    EXPECT_EQ(image.status().message(), folder_.File("picture") + ": " + std::string(text));
  }

  // Every shorter file is an error that names the file.
  void ExpectTruncationsFail(const std::string& bytes) {
    for (size_t size = 0; size < bytes.size(); ++size) {
      const auto image = Read(std::string_view(bytes).substr(0, size));
      ASSERT_FALSE(image.ok()) << size << " of " << bytes.size();
      EXPECT_EQ(image.status().code(), StatusCode::kDataLoss) << size << ": " << image.status().message();
      EXPECT_NE(image.status().message().find(folder_.File("picture") + ": byte "), std::string_view::npos)
          << size << ": " << image.status().message();
    }
  }

  void ExpectRoundTrip(const Image& image, const std::string& name) {
    const std::string path = folder_.File(name);
    const Status written = WriteImage(path, image);
    ASSERT_TRUE(written.ok()) << written.message();
    const auto read = ReadImage(path);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(Describe(*read), Describe(image));
    EXPECT_EQ(Samples(*read), Samples(image));
  }

  TemporaryFolder folder_;
};

TEST_F(ImageFileTest, ReadsPlainGrey) {
  ExpectSamples("P2\n3 2\n255\n0 1 2\n253 254 255\n", "3x2 grey, 8 bits a sample", {0, 1, 2, 253, 254, 255});
}

TEST_F(ImageFileTest, ReadsPlainColour) {
  ExpectSamples("P3 1 2 255 1 2 3 4 5 6", "1x2 RGB, 8 bits a sample", {1, 2, 3, 4, 5, 6});
}

TEST_F(ImageFileTest, ReadsBinaryGrey) {
  ExpectSamples("P5\n2 2\n255\n\x00\n#\xff"sv, "2x2 grey, 8 bits a sample", {0, 10, 35, 255});
}

TEST_F(ImageFileTest, ReadsBinaryColour) {
  ExpectSamples("P6 2 1 255\tabcdef", "2x1 RGB, 8 bits a sample", {'a', 'b', 'c', 'd', 'e', 'f'});
}

TEST_F(ImageFileTest, ReadsTwoBytesASampleMostSignificantFirst) {
  ExpectSamples("P5 2 1 65535\n\x01\x02\xff\xfe"sv, "2x1 grey, 16 bits a sample", {0x0102, 0xfffe});
}

TEST_F(ImageFileTest, ScalesSamplesToTheWholeRange) {
  ExpectSamples("P2 4 1 3 0 1 2 3", "4x1 grey, 8 bits a sample", {0, 85, 170, 255});
  ExpectSamples("P2 2 1 1 0 1", "2x1 grey, 8 bits a sample", {0, 255});
  ExpectSamples("P2 3 1 256 0 128 256", "3x1 grey, 16 bits a sample", {0, 32768, 65535});
  ExpectSamples("P5 2 1 1000\n\x01\xf4\x03\xe8"sv, "2x1 grey, 16 bits a sample", {32768, 65535});
}

TEST_F(ImageFileTest, SkipsWhiteSpaceAndComments) {
  ExpectSamples("P2#kind\n# a\r\n\t2 # width\n\v1\f#\n# \n15#max\n0# sample\n 15 #end", "2x1 grey, 8 bits a sample",
                {0, 255});
  // One white-space character ends a binary header, or the comment before it does.
  ExpectSamples("P5 2 1 255#c\n#\n", "2x1 grey, 8 bits a sample", {'#', '\n'});
}

TEST_F(ImageFileTest, RefusesDamagedHeaders) {
  ExpectDamage("P5x1 1 255\na", R"(byte 2: expected white space after the magic number, got "x")");
  ExpectDamage("P5 a 1 255\na", R"(byte 3: expected a width, got "a")");
  ExpectDamage("P5 -1 1 255\na", R"(byte 3: expected a width, got "-")");
  ExpectDamage("P5 1 # no more", "byte 14: expected a height, got the end of the file");
  ExpectDamage("P5 1x1 255\na", R"(byte 4: expected a height, got "x")");
  ExpectDamage("P5 1 1 255", "byte 10: expected white space after the largest sample, got the end of the file");
  ExpectDamage("P5 1 1 255a", R"(byte 10: expected white space after the largest sample, got "a")");
}

TEST_F(ImageFileTest, RefusesSizesThatAreNone) {
  ExpectDamage("P5 0 1 255\na", "byte 3: expected a width from 1 to 2147483647, got 0");
  ExpectDamage("P6 1 000 255\na", "byte 5: expected a height from 1 to 2147483647, got 000");
  ExpectDamage("P2 2147483648 1 255 0", "byte 3: expected a width from 1 to 2147483647, got 2147483648");
  ExpectDamage("P2 1 18446744073709551617 255 0",
               "byte 5: expected a height from 1 to 2147483647, got 18446744073709551617");
  ExpectDamage("P2 " + std::string(1000, '9'),
               "byte 3: expected a width from 1 to 2147483647, got 99999999999999999999...");
}

TEST_F(ImageFileTest, RefusesSizesThatTheFileCannotHold) {
  ExpectDamage("P6 2147483647 2147483647 65535\nabc",
               "byte 31: expected 2147483647x2147483647 RGB samples of 2 bytes, got 3 bytes and the end of the file");
  // 3 * 2^32 bytes, which is 0 in 32 bits.
  ExpectDamage("P6 65536 65536 255\nabc",
               "byte 19: expected 65536x65536 RGB samples of 1 byte, got 3 bytes and the end of the file");
  ExpectDamage("P2 40000 40000 1\n0 1",
               "byte 16: expected 40000x40000 grey samples as text, got 4 bytes and the end of the file");
}

TEST_F(ImageFileTest, RefusesMaximaThatAreNone) {
  ExpectDamage("P5 1 1 0\na", "byte 7: expected a largest sample from 1 to 65535, got 0");
  ExpectDamage("P5 1 1 65536\naa", "byte 7: expected a largest sample from 1 to 65535, got 65536");
}

TEST_F(ImageFileTest, RefusesDamagedSamples) {
  ExpectDamage("P5 2 1 96\n`a", "byte 11: expected a sample from 0 to 96, got 97");
  ExpectDamage("P5 1 1 257\n\x01\x02", "byte 11: expected a sample from 0 to 257, got 258");
  ExpectDamage("P2 2 1 9 1 10", "byte 11: expected a sample from 0 to 9, got 10");
  ExpectDamage("P2 2 1 9 1 -1", R"(byte 11: expected a sample, got "-")");
  ExpectDamage("P2 2 1 9 1.5 1", R"(byte 10: expected white space after a sample, got ".")");
  ExpectDamage("P3 1 1 9 1 2 garbage", R"(byte 13: expected a sample, got "g")");
  ExpectDamage("P3 1 1 9 1 2     ", "byte 17: expected a sample, got the end of the file");
}

TEST_F(ImageFileTest, RefusesFilesThatEndEarlyOrLate) {
  ExpectTruncationsFail("P6 2 1 255\nabcdef");
  ExpectTruncationsFail("P5 2 1 65535\nabcd");
  ExpectTruncationsFail("P3 1 1 9 1 2 3");
  ExpectDamage("P5 1 1 255\nabc", "byte 12: expected the end of the file after 1 samples, got 2 bytes more");
  ExpectDamage("P2 1 1 9 1 2", R"(byte 11: expected the end of the file after 1 samples, got "2")");
}

TEST_F(ImageFileTest, RefusesWhatIsNoPicture) {
  ExpectDamage("", "byte 0: expected a picture in PNG, PPM or PGM (P2, P3, P5, P6), got an empty file");
  ExpectDamage("P4 8 1\na", R"(byte 0: expected a picture in PNG, PPM or PGM (P2, P3, P5, P6), got "P4 8 1\na")");
  ExpectDamage("GIF89a and on", R"(byte 0: expected a picture in PNG, PPM or PGM (P2, P3, P5, P6), got "GIF89a a")");
  EXPECT_EQ(ReadImage(folder_.File("none")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ReadImage(folder_.path()).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(ImageFileTest, WritesWhatItReads) {
  for (int depth : {8, 16}) {
    ExpectRoundTrip(Make(3, 5, 3, depth), "a.ppm");
    ExpectRoundTrip(Make(3, 5, 1, depth), "a.PGM");
    ExpectRoundTrip(Make(1, 1, 1, depth), "a.pgm");
  }
}

TEST_F(ImageFileTest, RepeatsGreySamplesInColourFiles) {
  const std::string path = folder_.File("grey.ppm");
  ASSERT_TRUE(WriteImage(path, Make(1, 2, 1, 8)).ok());
  EXPECT_EQ(folder_.Read("grey.ppm"), "P6\n2 1\n255\n\x0b\x0b\x0b\x30\x30\x30");
}

TEST_F(ImageFileTest, RefusesToWriteWhatTheFormatCannotHold) {
  const Status colour = WriteImage(folder_.File("a.pgm"), Make(1, 1, 3, 8));
  EXPECT_EQ(colour.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(colour.message().find("expected a picture that is grey, as the format holds no other, got 1x1 RGB"),
            std::string_view::npos)
      << colour.message();
  EXPECT_EQ(WriteImage(folder_.File("a.ppm"), Make(1, 1, 4, 8)).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckExtension("a.jpg").code(), StatusCode::kInvalidArgument);
  EXPECT_NE(CheckExtension("a.jpg").message().find("got .jpg"), std::string_view::npos);
  EXPECT_NE(CheckExtension("png").message().find("got one without an extension"), std::string_view::npos);
  EXPECT_EQ(folder_.Count(), 0u);
}

TEST_F(ImageFileTest, LeavesNothingBehindWhenWritingFails) {
  EXPECT_EQ(WriteImage(folder_.File("no/such/folder.ppm"), Make(1, 1, 1, 8)).code(), StatusCode::kFailedPrecondition);
  std::filesystem::create_directory(folder_.File("folder.ppm"));
  EXPECT_EQ(WriteImage(folder_.File("folder.ppm"), Make(1, 1, 1, 8)).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(folder_.Count(), 1u);
}

TEST_F(ImageFileTest, SizesThatOverflowAreErrors) {
  EXPECT_EQ(MakeImage(SIZE_MAX, SIZE_MAX, 4, 16).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(MakeImage(SIZE_MAX / 8, 1, 4, 16).status().code(), StatusCode::kResourceExhausted);
}

#ifdef IMAGE_HAS_PNG
std::string Big32(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";

std::string Chunk(std::string_view type, std::string_view data) {
  const std::string body = std::string(type) + std::string(data);
  const uLong crc = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return Big32(static_cast<uint32_t>(data.size())) + body + Big32(static_cast<uint32_t>(crc));
}

std::string Header(uint32_t cols, uint32_t rows, int depth, int color_type, int interlace = 0) {
  return std::string(kSignature) +
         Chunk("IHDR", Big32(cols) + Big32(rows) +
                           std::string{static_cast<char>(depth), static_cast<char>(color_type), 0, 0,
                                       static_cast<char>(interlace)});
}

// `rows` are the bytes before compression, each row after its filter's number.
std::string Pixels(std::string_view rows) {
  uLongf size = compressBound(static_cast<uLong>(rows.size()));
  std::string packed(size, '\0');
  EXPECT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(rows.data()),
                     static_cast<uLong>(rows.size())),
            Z_OK);
  packed.resize(size);
  return Chunk("IDAT", packed);
}

std::string End() { return Chunk("IEND", ""); }

TEST_F(ImageFileTest, WritesAndReadsPng) {
  for (int depth : {8, 16}) {
    for (size_t channels = 1; channels <= 4; ++channels) ExpectRoundTrip(Make(3, 5, channels, depth), "a.png");
  }
  ExpectRoundTrip(Make(200, 300, 3, 16), "large.png");
}

TEST_F(ImageFileTest, ReadsPngOfEveryKind) {
  ExpectSamples(Header(9, 1, 1, 0) + Pixels("\0\xaa\x80"sv) + End(), "9x1 grey, 8 bits a sample",
                {255, 0, 255, 0, 255, 0, 255, 0, 255});
  ExpectSamples(Header(3, 1, 2, 0) + Pixels("\0\x1b"sv) + End(), "3x1 grey, 8 bits a sample", {0, 85, 170});
  ExpectSamples(Header(2, 1, 1, 3) + Chunk("PLTE", "abcdef") + Pixels("\0\x40"sv) + End(), "2x1 RGB, 8 bits a sample",
                {'a', 'b', 'c', 'd', 'e', 'f'});
  ExpectSamples(Header(2, 1, 1, 3) + Chunk("PLTE", "abcdef") + Chunk("tRNS", "\x07"sv) + Pixels("\0\x40"sv) + End(),
                "2x1 RGB and alpha, 8 bits a sample", {'a', 'b', 'c', 7, 'd', 'e', 'f', 255});
  ExpectSamples(Header(1, 1, 16, 4) + Pixels("\0\1\2\3\4"sv) + End(), "1x1 grey and alpha, 16 bits a sample",
                {0x0102, 0x0304});
  // Interlaced: of 2x2 pixels passes 1, 6 and 7 have some.
  ExpectSamples(Header(2, 2, 8, 0, 1) + Pixels("\0a\0b\0cd"sv) + End(), "2x2 grey, 8 bits a sample",
                {'a', 'b', 'c', 'd'});
}

TEST_F(ImageFileTest, GammaDoesNotChangeSamples) {
  ExpectSamples(Header(1, 1, 8, 0) + Chunk("gAMA", Big32(100000)) + Pixels("\0d"sv) + End(),
                "1x1 grey, 8 bits a sample", {100});
}

TEST_F(ImageFileTest, RefusesDamagedPng) {
  ExpectDamage("\x89PN",
               "byte 3: expected a whole chunk, as none has ended the PNG, got 0 bytes and the end of the file");
  ExpectDamage(Header(1, 1, 8, 0) + "\0\0\0\4IDA"s,
               "byte 33: expected a whole chunk, as none has ended the PNG, got 7 bytes and the end of the file");
  ExpectDamage(Header(1, 1, 8, 0) + "\xff\xff\xff\xffIDAT1234"s,
               "byte 33: expected a chunk of 4294967295 bytes, got 0 and the end of the file");
  ExpectDamage(std::string(kSignature) + Chunk("IEND", ""),
               "byte 16: expected undamaged PNG data, got: IEND: out of place");
  ExpectDamage(Header(0, 1, 8, 0) + Pixels("\0"sv) + End(),
               "byte 33: expected undamaged PNG data, got: Invalid IHDR data (Image width is zero in IHDR)");
  ExpectDamage(Header(1, 1, 8, 0) + End(), "byte 41: expected undamaged PNG data, got: IEND: out of place");
}

TEST_F(ImageFileTest, RefusesPngThatEndsEarly) {
  ExpectTruncationsFail(Header(2, 1, 8, 2) + Chunk("tEXt", "Title\0picture"sv) + Pixels("\0abcdef"sv) + End());
}

// Each byte is under the signature, a length, a type or a checksum.
TEST_F(ImageFileTest, RefusesPngWithAnyBitFlipped) {
  const std::string good = Header(2, 1, 8, 2) + Chunk("tEXt", "Title\0picture"sv) + Pixels("\0abcdef"sv) + End();
  ASSERT_TRUE(Read(good).ok());
  for (size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = good;
      bytes[i] = static_cast<char>(bytes[i] ^ 1 << bit);
      EXPECT_EQ(Read(bytes).status().code(), StatusCode::kDataLoss) << "bit " << bit << " of byte " << i;
    }
  }
}

TEST_F(ImageFileTest, RefusesPngOfSizesThatTheFileCannotHold) {
  const std::string rest = Pixels("\0abcdef"sv) + End();
  const auto huge = Read(Header(1000000, 1000000, 16, 6) + rest);
  ASSERT_FALSE(huge.ok());
  EXPECT_NE(huge.status().message().find("bytes can hold, got 8000000000000 bytes of pixels"), std::string_view::npos)
      << huge.status().message();
  for (uint32_t side : {1000001u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
    EXPECT_EQ(Read(Header(side, 1, 8, 2) + rest).status().code(), StatusCode::kDataLoss) << side;
    EXPECT_EQ(Read(Header(1, side, 8, 2) + rest).status().code(), StatusCode::kDataLoss) << side;
  }
}

TEST_F(ImageFileTest, RefusesToWritePngThatLibpngCannot) {
  const Status status = WriteImage(folder_.File("a.png"), Make(1, 1000001, 1, 8));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(folder_.Count(), 0u);
}
#else
TEST_F(ImageFileTest, SaysThatPngIsMissing) {
  EXPECT_EQ(Read("\x89PNG\r\n\x1a\n").status().code(), StatusCode::kUnimplemented);
  EXPECT_NE(CheckExtension("a.png").message().find("no libpng"), std::string_view::npos);
}
#endif

}  // namespace
}  // namespace image
