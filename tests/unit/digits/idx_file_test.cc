// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reading MNIST's IDX files: well-formed ones, plain and packed, and every way of being damaged or hostile.

#include "digits/idx_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include <span>
#include <string>
#include <string_view>

#include "temporary_folder.h"

namespace digits {
namespace {

using tandem::Status;
using tandem::StatusCode;
using tandem::TemporaryFolder;

std::string Big32(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string Magic(int rank, int type = 0x08) { return {'\0', '\0', static_cast<char>(type), static_cast<char>(rank)}; }

std::string ImagesFile(uint32_t count, uint32_t rows, uint32_t cols, std::string_view pixels) {
  return Magic(3) + Big32(count) + Big32(rows) + Big32(cols) + std::string(pixels);
}

std::string LabelsFile(uint32_t count, std::string_view labels) {
  return Magic(1) + Big32(count) + std::string(labels);
}

// Two images of 2x3 and their labels.
const std::string_view kPixels("\x00\x01\x02\x7f\x80\xff\x10\x20\x30\x40\x50\x60", 12);
const std::string_view kLabels("\x07\x00", 2);
std::string GoodImages() { return ImagesFile(2, 2, 3, kPixels); }
std::string GoodLabels() { return LabelsFile(2, kLabels); }

// One gzip member (RFC 1952).
std::string Gzip(std::string_view bytes) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string_view AsText(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class IdxFileTest : public ::testing::Test {
 protected:
  tandem::StatusOr<DigitSet> Read(std::string_view images, std::string_view labels) {
    return ReadDigits(folder_.Write("images", images), folder_.Write("labels", labels));
  }

  // The error for these images, which must name the file.
  Status ImagesError(std::string_view images) {
    const auto digits = Read(images, GoodLabels());
    EXPECT_FALSE(digits.ok());
    EXPECT_NE(digits.status().message().find(folder_.File("images")), std::string_view::npos)
        << digits.status().message();
    return digits.status();
  }

  void ExpectImagesError(std::string_view images, std::string_view text) {
    const Status status = ImagesError(images);
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << status.message();
    EXPECT_NE(status.message().find(text), std::string_view::npos) << status.message();
  }

  void ExpectLabelsError(std::string_view labels, std::string_view text) {
    const auto digits = Read(GoodImages(), labels);
    EXPECT_EQ(digits.status().code(), StatusCode::kDataLoss) << digits.status().message();
    EXPECT_NE(digits.status().message().find(folder_.File("labels")), std::string_view::npos);
    EXPECT_NE(digits.status().message().find(text), std::string_view::npos) << digits.status().message();
  }

  // All four files of a folder of digits.
  void WriteFolder(std::string_view suffix, std::string (*pack)(std::string_view)) {
    for (std::string part : {"train", "t10k"}) {
      folder_.Write(part + "-images-idx3-ubyte" + std::string(suffix), pack(GoodImages()));
      folder_.Write(part + "-labels-idx1-ubyte" + std::string(suffix), pack(GoodLabels()));
    }
  }

  TemporaryFolder folder_;
};

std::string Plain(std::string_view bytes) { return std::string(bytes); }

void ExpectGood(const tandem::StatusOr<DigitSet>& digits) {
  ASSERT_TRUE(digits.ok()) << digits.status().message();
  EXPECT_EQ(digits->count, 2u);
  EXPECT_EQ(digits->rows, 2u);
  EXPECT_EQ(digits->cols, 3u);
  EXPECT_EQ(AsText(digits->images.bytes()), kPixels);
  EXPECT_EQ(digits->label(0), 7);
  EXPECT_EQ(digits->label(1), 0);
  EXPECT_EQ(AsText(digits->image(1)), kPixels.substr(6));
}

TEST_F(IdxFileTest, ReadsPlainFiles) { ExpectGood(Read(GoodImages(), GoodLabels())); }

TEST_F(IdxFileTest, ReadsGzipFilesWhateverTheirName) { ExpectGood(Read(Gzip(GoodImages()), Gzip(GoodLabels()))); }

TEST_F(IdxFileTest, ReadsGzipFilesOfSeveralMembers) {
  const std::string images = GoodImages();
  const std::string_view view = images;
  ExpectGood(Read(Gzip(view.substr(0, 5)) + Gzip("") + Gzip(view.substr(5)), GoodLabels()));
}

TEST_F(IdxFileTest, ReadsFilesLargerThanTheReadBuffer) {
  std::string pixels;
  for (int i = 0; i < 300 * 400; ++i) pixels += static_cast<char>(i * 2654435761u >> 13);
  const std::string images = ImagesFile(2, 150, 400, pixels);
  for (const std::string& file : {images, Gzip(images)}) {
    const auto digits = Read(file, GoodLabels());
    ASSERT_TRUE(digits.ok()) << digits.status().message();
    EXPECT_EQ(AsText(digits->images.bytes()), pixels);
  }
}

TEST_F(IdxFileTest, FindsPlainFilesInAFolder) {
  WriteFolder("", Plain);
  const auto digits = ReadDigitFolder(folder_.path());
  ASSERT_TRUE(digits.ok()) << digits.status().message();
  EXPECT_EQ(AsText(digits->train.images.bytes()), kPixels);
  EXPECT_EQ(AsText(digits->test.images.bytes()), kPixels);
}

TEST_F(IdxFileTest, FindsGzipFilesInAFolder) {
  WriteFolder(".gz", Gzip);
  const auto digits = ReadDigitFolder(folder_.path());
  ASSERT_TRUE(digits.ok()) << digits.status().message();
  EXPECT_EQ(AsText(digits->test.labels.bytes()), kLabels);
}

TEST_F(IdxFileTest, PrefersThePlainFile) {
  WriteFolder("", Plain);
  WriteFolder(".gz", [](std::string_view) { return std::string("damaged"); });
  EXPECT_TRUE(ReadDigitFolder(folder_.path()).ok());
}

TEST_F(IdxFileTest, NamesTheFileThatAFolderLacks) {
  WriteFolder("", Plain);
  std::filesystem::remove(folder_.File("t10k-labels-idx1-ubyte"));
  const Status status = ReadDigitFolder(folder_.path()).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find("t10k-labels-idx1-ubyte or t10k-labels-idx1-ubyte.gz"), std::string_view::npos);
  EXPECT_NE(status.message().find(folder_.path()), std::string_view::npos);
}

TEST_F(IdxFileTest, RefusesAMissingFolder) {
  EXPECT_EQ(ReadDigitFolder(folder_.File("nothing")).status().code(), StatusCode::kNotFound);
}

TEST_F(IdxFileTest, RefusesTestImagesOfAnotherSize) {
  WriteFolder("", Plain);
  folder_.Write("t10k-images-idx3-ubyte", ImagesFile(2, 3, 2, kPixels));
  const Status status = ReadDigitFolder(folder_.path()).status();
  EXPECT_NE(status.message().find("2x3"), std::string_view::npos) << status.message();
  EXPECT_NE(status.message().find("3x2"), std::string_view::npos) << status.message();
}

TEST_F(IdxFileTest, RefusesAMissingFile) {
  const Status status = ReadDigits(folder_.File("nothing"), folder_.File("nothing")).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find(folder_.File("nothing")), std::string_view::npos);
}

TEST_F(IdxFileTest, RefusesAFolderInPlaceOfAFile) {
  EXPECT_EQ(ReadDigits(folder_.path(), folder_.path()).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(IdxFileTest, RefusesAPipeWithoutWaitingForIt) {
  ASSERT_EQ(mkfifo(folder_.File("pipe").c_str(), 0600), 0);
  EXPECT_EQ(ReadDigits(folder_.File("pipe"), folder_.File("pipe")).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(IdxFileTest, RefusesAnEmptyFile) { ExpectImagesError("", "byte 0: expected 4 bytes of magic number, got 0"); }

TEST_F(IdxFileTest, RefusesEveryTruncationOfAPlainFile) {
  const std::string images = GoodImages(), labels = GoodLabels();
  for (size_t size = 0; size < images.size(); ++size) ExpectImagesError(images.substr(0, size), ": byte ");
  for (size_t size = 0; size < labels.size(); ++size) ExpectLabelsError(labels.substr(0, size), ": byte ");
}

TEST_F(IdxFileTest, RefusesEveryTruncationOfAGzipFile) {
  const std::string images = Gzip(GoodImages()), labels = Gzip(GoodLabels());
  for (size_t size = 0; size < images.size(); ++size) ExpectImagesError(images.substr(0, size), ": byte ");
  for (size_t size = 0; size < labels.size(); ++size) ExpectLabelsError(labels.substr(0, size), ": byte ");
}

TEST_F(IdxFileTest, RefusesEveryFlippedBitOfAHeader) {
  for (size_t bit = 0; bit < 16 * 8; ++bit) {
    std::string images = GoodImages();
    images[bit / 8] = static_cast<char>(images[bit / 8] ^ 1 << bit % 8);
    ExpectImagesError(images, ": byte ");
  }
}

// Gzip's checksum protects the data; its own header has a few fields without meaning here (time, system).
TEST_F(IdxFileTest, NeverTakesDamagedGzipDataForGood) {
  const std::string packed = Gzip(GoodImages());
  size_t refused = 0;
  for (size_t bit = 0; bit < packed.size() * 8; ++bit) {
    std::string images = packed;
    images[bit / 8] = static_cast<char>(images[bit / 8] ^ 1 << bit % 8);
    const auto digits = Read(images, GoodLabels());
    if (digits.ok()) {
      EXPECT_EQ(AsText(digits->images.bytes()), kPixels) << "bit " << bit;
    } else {
      ++refused;
    }
  }
  EXPECT_GT(refused, (packed.size() - 10) * 8);
}

TEST_F(IdxFileTest, RefusesADamagedChecksum) {
  std::string images = Gzip(GoodImages());
  images[images.size() - 8] = static_cast<char>(images[images.size() - 8] ^ 1);
  ExpectImagesError(images, "damaged gzip data, incorrect data check");
}

TEST_F(IdxFileTest, RefusesABadMagicNumber) {
  std::string images = GoodImages();
  images[1] = 1;
  ExpectImagesError(images, "byte 1: expected 0, as every IDX file starts, got 1");
}

TEST_F(IdxFileTest, RefusesAnotherElementType) {
  std::string images = GoodImages();
  images[2] = 0x0d;
  ExpectImagesError(images, "byte 2: expected element type 8 (u8), got 13");
}

TEST_F(IdxFileTest, RefusesAnotherRank) {
  ExpectImagesError(GoodLabels(), "byte 3: expected 3 dimensions, got 1");
  ExpectLabelsError(GoodImages(), "byte 3: expected 1 dimensions, got 3");
  ExpectImagesError(Magic(255) + std::string(1024, '\1'), "byte 3: expected 3 dimensions, got 255");
}

TEST_F(IdxFileTest, RefusesADimensionOfZero) {
  ExpectImagesError(ImagesFile(0, 2, 3, ""), "byte 4: expected dimension 0 of at least 1, got 0");
  ExpectImagesError(ImagesFile(2, 0, 3, ""), "byte 8: expected dimension 1 of at least 1, got 0");
  ExpectImagesError(ImagesFile(2, 2, 0, ""), "byte 12: expected dimension 2 of at least 1, got 0");
  ExpectLabelsError(LabelsFile(0, ""), "byte 4: expected dimension 0 of at least 1, got 0");
}

TEST_F(IdxFileTest, RefusesDimensionsWhoseProductOverflows) {
  // Products of 2^64 and 2^32, which wrap to zero in 64 and in 32 bits, and the largest there is.
  ExpectImagesError(ImagesFile(0x80000000u, 0x80000000u, 4, ""),
                    "expected dimensions that a file of 16 bytes can hold");
  ExpectImagesError(ImagesFile(0x10000, 0x10000, 1, ""), "expected dimensions that a file of 16 bytes can hold");
  ExpectImagesError(ImagesFile(2, 0x80000000u, 0x80000000u, kPixels),
                    "byte 8: expected dimensions that a file of 28 bytes can hold");
  ExpectImagesError(ImagesFile(~0u, ~0u, ~0u, kPixels), "can hold, got [4294967295,4294967295,4294967295]");
  ExpectLabelsError(LabelsFile(~0u, kLabels), "byte 4: expected dimensions");
}

TEST_F(IdxFileTest, RefusesMoreElementsThanTheFileHolds) {
  ExpectImagesError(ImagesFile(2, 2, 4, kPixels),
                    "byte 12: expected dimensions that a file of 28 bytes can hold, got [2,2,4]");
}

TEST_F(IdxFileTest, RefusesBytesAfterTheElements) {
  ExpectImagesError(GoodImages() + "x", "byte 28: expected the end of the data after 12 elements, got more");
  ExpectImagesError(Gzip(GoodImages() + "x"), "byte 28 of the unpacked data: expected the end of the data");
}

TEST_F(IdxFileTest, RefusesBytesAfterTheGzipData) {
  ExpectImagesError(Gzip(GoodImages()) + "garbage", "damaged gzip data, incorrect header check");
  ExpectImagesError(Gzip(GoodImages()) + '\x1f', "damaged gzip data, expected more of it");
}

TEST_F(IdxFileTest, RefusesAGzipHeaderAlone) { ExpectImagesError("\x1f\x8b", "damaged gzip data"); }

// What is unpacked beyond the header's promise is not kept, nor read further than its first byte.
TEST_F(IdxFileTest, StopsUnpackingAGzipBombAtThePromisedSize) {
  const std::string bomb = Gzip(GoodImages() + std::string(size_t{32} << 20, '\0'));
  ASSERT_LT(bomb.size(), size_t{64} << 10);
  ExpectImagesError(bomb, "byte 28 of the unpacked data: expected the end of the data after 12 elements, got more");
}

// Deflate cannot reach this ratio, so the promise is known to be false before memory is asked for.
TEST_F(IdxFileTest, RefusesAGzipFileThatPromisesTheImpossible) {
  ExpectImagesError(Gzip(ImagesFile(60000, 1000, 1000, kPixels)), "bytes of gzip data");
}

TEST_F(IdxFileTest, RefusesAGzipFileThatPromisesMoreThanItHolds) {
  ExpectImagesError(Gzip(ImagesFile(2, 2, 4, kPixels)), "byte 28 of the unpacked data: expected 16 elements, got 12");
}

TEST_F(IdxFileTest, RefusesLabelsThatAreMoreOrFewerThanTheImages) {
  ExpectLabelsError(LabelsFile(3, std::string(3, '\1')), "byte 4: expected 2 labels");
  ExpectLabelsError(LabelsFile(1, std::string(1, '\1')), "got 1");
}

TEST_F(IdxFileTest, RefusesALabelAboveNine) {
  ExpectLabelsError(LabelsFile(2, "\x09\x0a"), "byte 9: expected a label from 0 to 9, got 10");
}

TEST_F(IdxFileTest, ReadsOnAfterAnError) {
  ExpectImagesError("", "byte 0");
  ExpectGood(Read(GoodImages(), GoodLabels()));
}

}  // namespace
}  // namespace digits
