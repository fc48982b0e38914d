// Damaged debug information: every section is damaged, and addresses are still looked up.
#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "symbols/symbols.h"
#include "symbols/test_library.h"

namespace kymo::symbols {
namespace {

std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Section {
  size_t offset, size;
};

std::vector<Section> debug_sections(const std::vector<char>& file) {
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), file.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  std::vector<Section> found;
  for (const Elf64_Shdr& section : sections) {
    const std::string name = file.data() + sections[header.e_shstrndx].sh_offset + section.sh_name;
    if (name.starts_with(".debug_") || name == ".symtab" || name == ".strtab")
      found.push_back({section.sh_offset, section.sh_size});
  }
  return found;
}

void capture_and_look_up(const std::string& path) {
  const TestLibrary library(path);
  std::vector<uintptr_t> addresses = stack_in(library, 1);
  ASSERT_GE(addresses.size(), 4u);
  addresses.resize(4);
  Symbols symbols;
  for (const uintptr_t address : addresses) {
    const std::vector<Frame>& frames = symbols.at_return_address(address);
    ASSERT_FALSE(frames.empty());
    for (const Frame& frame : frames) EXPECT_FALSE(frame.function.empty());
  }
}

TEST(DamagedDebugInformationTest, IsReadAsFarAsPossible) {
  const std::vector<char> good = read_file(KYMO_FRAMES_KEPT);
  const std::vector<Section> sections = debug_sections(good);
  ASSERT_FALSE(sections.empty());
  const std::string path =
      std::filesystem::temp_directory_path() / ("kymo-damaged-" + std::to_string(getpid()) + ".so");
  std::mt19937_64 random(7);
  for (const Section& section : sections) {
    for (const size_t bytes : {size_t{1}, size_t{16}, section.size}) {
      std::vector<char> bad = good;
      for (size_t i = 0; i < bytes && section.size != 0; ++i)
        bad[section.offset + random() % section.size] = static_cast<char>(random());
      std::ofstream(path, std::ios::binary).write(bad.data(), static_cast<std::streamsize>(bad.size()));
      capture_and_look_up(path);
      std::filesystem::remove(path);
    }
  }
}

TEST(DamagedDebugInformationTest, DeletedFileIsLookedUpInMemory) {
  const std::string path = std::filesystem::temp_directory_path() / ("kymo-gone-" + std::to_string(getpid()) + ".so");
  std::filesystem::copy_file(KYMO_FRAMES_KEPT, path, std::filesystem::copy_options::overwrite_existing);
  const TestLibrary library(path);
  std::filesystem::remove(path);
  Symbols symbols;
  const std::vector<Frame>& frames = symbols.at_return_address(reinterpret_cast<uintptr_t>(library.descend) + 4);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_FALSE(frames[0].function.empty());
}

}  // namespace
}  // namespace kymo::symbols
