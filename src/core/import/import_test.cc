#include "import/import.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "kymo/error.h"
#include "trace/test_recorder.h"

namespace kymo::import {
namespace {

using trace::testing::TemporaryFolder;

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

void write_gzip(const std::string& path, const std::string& text) {
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
}

TEST(ImportTest, ReportsTheBytesOfTheFileThatItReads) {
  const TemporaryFolder folder;
  std::string text = "[";
  for (int i = 0; i < 10'000; ++i)
    text += R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":)" + std::to_string(i * 10) + R"(,"dur":5},)";
  text += "{}]";
  std::ofstream(folder / "a.json") << text;
  write_gzip(folder / "b.json.gz", text);
  for (const std::string& path : {folder / "a.json", folder / "b.json.gz"}) {
    uint64_t bytes = 0;
    EXPECT_EQ(import_trace(path, folder / "out.kymo", {.on_read = [&](uint64_t part) { bytes += part; }}).events,
              10'000u);
    EXPECT_EQ(bytes, std::filesystem::file_size(path)) << path;
  }
}

TEST(ImportTest, SaysThatAFileIsEmpty) {
  const TemporaryFolder folder;
  write_gzip(folder / "a.json.gz", "");
  std::ofstream(folder / "b.json").flush();
  EXPECT_NE(message_of([&] { format_of(folder / "a.json.gz"); }).find("nothing in it"), std::string::npos);
  EXPECT_EQ(format_of(folder / "b.json"), std::nullopt);
  EXPECT_NE(message_of([&] { import_trace(folder / "b.json", folder / "x.kymo"); }).find("it is empty"),
            std::string::npos);
}

}  // namespace
}  // namespace kymo::import
