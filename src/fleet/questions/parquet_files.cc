#include "questions/parquet_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::fleet {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::string folder_of(const std::string& folder, const push::TableSpec& table) {
  return base::format("{}/{}", folder, table.name);
}

bool has_tables(const std::string& folder) {
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder_of(folder, push::kSchema), error);
       !error && entry != fs::directory_iterator(); entry.increment(error))
    if (entry->path().extension() == kParquetEnding) return true;
  return false;
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw Error(base::format("cannot make the folder {}: {}", base::printable(path), error.message()));
}

// The folder of the schema is made first: so one that has other files and not this folder is not one of another kymo
// that began just now.
void claim_folder(const std::string& folder) {
  std::error_code error;
  std::string other;
  if (const fs::directory_iterator first(folder, error); !error && first != fs::directory_iterator())
    other = first->path().filename().string();
  if (error && error != std::errc::no_such_file_or_directory) throw base::file_error("read", folder, error.value());
  if (!other.empty() && !fs::exists(folder_of(folder, push::kSchema), error))
    throw Error(base::format("{} has other files, such as {}: use a new folder for the Parquet files",
                             base::printable(folder), base::printable(other)));
  make_folder(folder_of(folder, push::kSchema));
}

void finish_file(base::AtomicFile& file, const std::string& folder) {
  const std::string& path = file.temporary_path();
  const base::FileDescriptor written(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct stat found {};
  if (!written || ::stat(folder.c_str(), &found) != 0 || ::fchmod(written.get(), found.st_mode & 0666) != 0 ||
      ::fsync(written.get()) != 0)
    throw base::file_error("write", file.path(), errno);
  file.commit();
  const base::FileDescriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened || ::fsync(opened.get()) != 0) throw base::file_error("write", folder, errno);
}

std::string file_name(std::string_view month, uint64_t attempt, uint64_t number) {
  return base::format("{}-{:016x}-{}{}", month, attempt, number, kParquetEnding);
}

}  // namespace kymo::fleet
