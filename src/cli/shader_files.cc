#include "cli/shader_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "cli/units.h"
#include "kymo/error.h"

namespace kymo::cli {
namespace {

// A folder or a pipe with the name of a header is not read.
bool is_regular_file(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

}  // namespace

std::string read_source(const std::string& path) {
  constexpr size_t kLongest = size_t{64} << 20, kStep = size_t{64} << 10;
  const bool standard = path == "-";
  const base::FileDescriptor file(standard ? dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const std::string name = standard ? "standard input" : path;
  if (!file) throw base::file_error("read", name, errno);
  std::string text;
  while (true) {
    const size_t had = text.size();
    text.resize(had + kStep);
    const ssize_t got = ::read(file.get(), text.data() + had, kStep);
    text.resize(had + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return text;
    if (got < 0 && errno != EINTR) throw base::file_error("read", name, errno);
    if (text.size() > kLongest)
      throw Error(base::format("{} is not a shader: it is larger than {}", name, bytes_text(kLongest)));
  }
}

decltype(shader::Options::include) headers_in(std::vector<std::string> folders) {
  return [folders = std::move(folders)](std::string_view name,
                                        std::string_view from) -> std::optional<shader::IncludedFile> {
    namespace fs = std::filesystem;
    const auto read = [&](const fs::path& folder) -> std::optional<shader::IncludedFile> {
      const std::string path = (folder / name).lexically_normal().string();
      if (!is_regular_file(path)) return std::nullopt;
      return shader::IncludedFile{path, read_source(path)};
    };
    if (auto found = read(fs::path(from).parent_path())) return found;
    for (const std::string& folder : folders)
      if (auto found = read(folder)) return found;
    return std::nullopt;
  };
}

}  // namespace kymo::cli
