#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "capture/files.h"
#include "capture/replay/reader.h"
#include "capture/replay/test_folder.h"
#include "capture/writer.h"

namespace kymo::capture::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CaptureFileTest : public InFolder, public ::testing::Test {};

// Everything a reader can see of a capture, as text.
std::string all_of(const std::string& folder) {
  const CaptureFile capture(folder);
  std::string all = manifest_text(capture.manifest());
  capture.for_each([&](const Record& record, const Tables&) {
    base::ByteWriter bytes;
    encode(record, bytes);
    all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
  for (uint64_t i = 0; i < capture.manifest().pieces; ++i) {
    const auto piece = capture.piece(i);
    all.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  for (uint32_t i = 0; i < capture.shaders().size(); ++i) all += capture.shader_text(i);
  for (const uint64_t time : capture.device_times()) all += std::to_string(time) + " ";
  return all;
}

TEST_F(CaptureFileTest, NameThatIsNotUtf8CanBeRead) {
  Manifest manifest;
  manifest.name = "caf\xe9";
  manifest.problem = "line\nbreak";
  const Manifest again = parse_manifest(manifest_text(manifest));
  EXPECT_EQ(again.name, "caf\xEF\xBF\xBD");
  EXPECT_EQ(again.problem, "line\nbreak");
}

TEST_F(CaptureFileTest, CaptureIsReadAsItWasWritten) {
  write_small_capture("a.kycap");
  const CaptureFile capture("a.kycap");
  EXPECT_EQ(capture.manifest().name, "small");
  EXPECT_EQ(capture.manifest().calls, 5u);
  EXPECT_EQ(capture.manifest().device_ns, 11'000u);
  EXPECT_THAT(capture.device_times(), ElementsAre(5000, 1000, 2000, 3000, 0));
  ASSERT_EQ(capture.tables().libraries.size(), 1u);
  EXPECT_EQ(capture.tables().libraries[0].options.constants.at("0"), 1.5);
  EXPECT_EQ(capture.tables().libraries[0].options.headers.at("more.h"), "// nothing\n");
  EXPECT_THAT(capture.shader_text(0), HasSubstr("kernel void twice"));
  EXPECT_EQ(capture.shaders()[0].name, "shaders/0000.metal");
  ASSERT_EQ(capture.tables().kernels.size(), 1u);
  EXPECT_EQ(capture.tables().kernels[0].name, "twice");
  ASSERT_EQ(capture.tables().buffers.size(), 3u);

  std::vector<size_t> kinds;
  capture.for_each([&](const Record& record, const Tables&) { kinds.push_back(record.index() + 1); });
  EXPECT_THAT(kinds, ElementsAre(1, 2, 3, 4, 5, 7, 4, 8, 4, 11, 13, 10, 12, 6, 6, 6));
}

TEST_F(CaptureFileTest, EqualBytesAreStoredOnce) {
  write_small_capture("a.kycap");
  const CaptureFile capture("a.kycap");
  EXPECT_EQ(capture.manifest().pieces, 3u);  // before, after, sevens
  EXPECT_EQ(capture.manifest().content_bytes, 5u * 16);
}

TEST_F(CaptureFileTest, LargeContentsAreSplitIntoPiecesAndCompressed) {
  std::vector<uint32_t> numbers((kPieceBytes * 2 + 400) / 4);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<uint32_t>(i / 64);
  const auto bytes = std::as_bytes(std::span(numbers));
  {
    Writer writer("a.kycap");
    writer.add(DeviceRecord{"opencl:0", "", ""});
    writer.add(BufferRecord{0, bytes.size()});
    ContentsRecord contents{0, {}};
    writer.store(bytes, contents.pieces);
    EXPECT_EQ(contents.pieces.size(), 3u);
    writer.add(contents);
    writer.finish({}, {});
  }
  EXPECT_LT(fs::file_size("a.kycap/contents.bin"), bytes.size() / 4);
  const CaptureFile capture("a.kycap");
  std::vector<std::byte> read;
  for (uint64_t i = 0; i < 3; ++i) {
    const auto piece = capture.piece(i);
    read.insert(read.end(), piece.begin(), piece.end());
  }
  EXPECT_TRUE(std::ranges::equal(read, bytes));
}

TEST_F(CaptureFileTest, OnlyTheOwnerCanAccessTheFiles) {
  write_small_capture("a.kycap");
  for (const auto& entry : fs::recursive_directory_iterator("a.kycap"))
    EXPECT_EQ(static_cast<unsigned>(entry.status().permissions()), entry.is_directory() ? 0700u : 0600u)
        << entry.path();
  EXPECT_EQ(static_cast<unsigned>(fs::status("a.kycap").permissions()), 0700u);
  EXPECT_GT(std::distance(fs::directory_iterator("a.kycap"), {}), 3);
}

// If any byte of any file is wrong, the capture is refused or its contents are unchanged.
TEST_F(CaptureFileTest, DamageOfAnyByteIsRefused) {
  write_small_capture("a.kycap");
  const std::string good = all_of("a.kycap");
  constexpr std::array kFlips = {0x01, 0x80, 0xff};
  size_t tried = 0;
  for (const char* name : {"manifest.json", "calls.bin", "contents.bin", "times.bin", "shaders/0000.metal"}) {
    const fs::path path = fs::path("a.kycap") / name;
    const std::string before = contents_of(path);
    ASSERT_FALSE(before.empty());
    for (size_t at = 0; at < before.size(); ++at) {
      std::string damaged = before;
      damaged[at] = static_cast<char>(damaged[at] ^ kFlips[at % kFlips.size()]);
      write_file(path, damaged);
      try {
        EXPECT_EQ(all_of("a.kycap"), good) << name << " at " << at;
      } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      }
      ++tried;
    }
    write_file(path, before);
  }
  EXPECT_GT(tried, 1000u);
  EXPECT_EQ(all_of("a.kycap"), good);
}

TEST_F(CaptureFileTest, TruncatedFilesAreRefused) {
  write_small_capture("a.kycap");
  for (const char* name : {"manifest.json", "calls.bin", "contents.bin", "times.bin", "shaders/0000.metal"}) {
    const fs::path path = fs::path("a.kycap") / name;
    const std::string before = contents_of(path);
    for (size_t size = 0; size < before.size(); ++size) {
      write_file(path, before.substr(0, size));
      EXPECT_THROW(all_of("a.kycap"), Error) << name << " cut to " << size;
    }
    write_file(path, before + "x");
    EXPECT_THROW(all_of("a.kycap"), Error) << name << " with more";
    write_file(path, before);
  }
}

TEST_F(CaptureFileTest, ErrorNamesTheInvalidCapture) {
  EXPECT_THAT(error_of([] { CaptureFile("absent.kycap"); }), HasSubstr("cannot open absent.kycap: No such file"));
  fs::create_directory("empty");
  EXPECT_EQ(error_of([] { CaptureFile("empty/"); }), "empty is not a capture: it has no manifest.json");
  write_file("file", "text");
  EXPECT_EQ(error_of([] { CaptureFile("file"); }), "file is not a capture: a capture is a folder");
  write_small_capture("a.kycap");
  fs::remove("a.kycap/manifest.json");
  EXPECT_EQ(error_of([] { CaptureFile("a.kycap"); }),
            "a.kycap is unfinished: the program ended before it stopped the capture");
  write_small_capture("b.kycap");
  fs::remove("b.kycap/times.bin");
  EXPECT_THAT(error_of([] { CaptureFile("b.kycap"); }), HasSubstr("b.kycap/times.bin"));
}

TEST_F(CaptureFileTest, ExistingFolderIsNotChanged) {
  fs::create_directory("a.kycap");
  write_file("a.kycap/mine", "text");
  EXPECT_THAT(error_of([] { Writer("a.kycap"); }), HasSubstr("exists already"));
  EXPECT_EQ(contents_of("a.kycap/mine"), "text");
}

TEST_F(CaptureFileTest, UnfinishedCaptureIsRemoved) {
  {
    Writer writer("a.kycap");
    writer.add_shader(device::Language::OpenClC, "text");
    Pieces pieces;
    writer.store(std::vector<std::byte>(1000), pieces);
  }
  EXPECT_FALSE(fs::exists("a.kycap"));
}

// A file beyond its size limit causes a signal (SIGXFSZ), which would end the program.
TEST_F(CaptureFileTest, FullDiskIsAnErrorAndDoesNotEndTheProgram) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  std::string error;
  {
    Writer writer("a.kycap");
    const rlimit small{200'000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    error = error_of([&] {
      std::vector<std::byte> noise(kPieceBytes);
      uint64_t state = 1;
      for (std::byte& byte : noise) byte = static_cast<std::byte>((state = state * 6364136223846793005 + 1) >> 56);
      Pieces pieces;
      writer.store(noise, pieces);
    });
    setrlimit(RLIMIT_FSIZE, &before);
  }
  EXPECT_EQ(error, "cannot write a.kycap/contents.bin: File too large");
  EXPECT_FALSE(fs::exists("a.kycap"));
}

// ---- Inconsistent records

std::string refusal_of(const std::vector<Record>& records) {
  base::ByteWriter bytes;
  for (const Record& record : records) encode(record, bytes);
  Tables tables([](uint64_t piece) -> uint32_t {
    if (piece > 0) throw Error("there is no piece");
    return 16;
  });
  return error_of([&] { walk_records(bytes.bytes(), tables, nullptr); });
}

TEST_F(CaptureFileTest, InconsistentRecordsAreRefused) {
  const DeviceRecord device{"opencl:0", "", ""};
  const BufferRecord buffer{0, 16};
  EXPECT_EQ(refusal_of({device, buffer, FillCall{0, tensor_ref(0, {4}), 1}}), "nothing was refused");
  EXPECT_THAT(refusal_of({buffer}), HasSubstr("there is no device 0"));
  EXPECT_THAT(refusal_of({device, BufferRecord{0, uint64_t{1} << 60}}), HasSubstr("a buffer of"));
  EXPECT_THAT(refusal_of({device, buffer, FillCall{0, tensor_ref(0, {5}), 1}}), HasSubstr("beyond buffer 0"));
  EXPECT_THAT(refusal_of({device, buffer, FillCall{0, tensor_ref(1, {4}), 1}}), HasSubstr("no buffer 1"));
  EXPECT_THAT(refusal_of({device, buffer, FillCall{33, tensor_ref(0, {4}), 1}}), HasSubstr("no stream 33"));
  TensorRef huge = tensor_ref(0, {1 << 20, 1 << 20, 1 << 20});
  EXPECT_THAT(refusal_of({device, buffer, FillCall{0, huge, 1}}), HasSubstr("beyond buffer 0"));
  TensorRef spread = tensor_ref(0, {2});
  spread.strides[0] = int64_t{1} << 43;
  EXPECT_THAT(refusal_of({device, buffer, FillCall{0, spread, 1}}), HasSubstr("beyond buffer 0"));
  TensorRef odd = tensor_ref(0, {1});
  odd.offset = 2;
  EXPECT_THAT(refusal_of({device, buffer, FillCall{0, odd, 1}}), HasSubstr("begins at byte 2"));
  EXPECT_THAT(refusal_of({device, buffer, CopyCall{0, tensor_ref(0, {2}), tensor_ref(0, {3})}}),
              HasSubstr("two shapes"));
  EXPECT_THAT(refusal_of({device, buffer, ContentsRecord{0, {0, 0}}}), HasSubstr("short piece"));
  EXPECT_THAT(refusal_of({device, buffer, ContentsRecord{0, {1}}}), HasSubstr("no piece"));
  EXPECT_THAT(refusal_of({device, buffer, ResultRecord{0, true, {0}}, FillCall{0, tensor_ref(0, {4}), 1}}),
              HasSubstr("after it was freed"));
  EXPECT_THAT(refusal_of({device, LibraryRecord{}, KernelRecord{0, "k"}, LaunchCall{0, 0, {0, 1, 1}, {1, 1, 1}, {}}}),
              HasSubstr("without threads"));
  EXPECT_THAT(refusal_of({device, LibraryRecord{}, LaunchCall{}}), HasSubstr("no kernel 0"));
  EXPECT_THAT(refusal_of({device, DeviceRecord{"b", "", ""}, buffer, BufferRecord{1, 16},
                          CopyCall{0, tensor_ref(0, {4}), tensor_ref(1, {4})}}),
              HasSubstr("another device"));
}

TEST_F(CaptureFileTest, ManifestsThatNameOtherFilesAreRefused) {
  for (const char* name : {"../calls.bin", "/etc/passwd", "shaders/../calls.bin", "shaders/.x", "other.bin", ""}) {
    Manifest manifest;
    manifest.files.push_back({name, 1, 2});
    EXPECT_THAT(error_of([&] { parse_manifest(manifest_text(manifest)); }), HasSubstr("not a file of a capture"))
        << name;
  }
}

}  // namespace
}  // namespace kymo::capture::tests
