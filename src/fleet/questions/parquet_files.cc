#include "questions/parquet_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <iterator>

#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::fleet {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMonthDigits = 6;

struct Name {
  std::string month;
  uint64_t attempt = 0, number = 0;
};

template <typename Number>
bool parse_all(std::string_view text, Number& value, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size();
}

// Of a complete file that kymo push wrote.
std::optional<Name> parse_name(std::string_view complete) {
  std::string_view name = complete;
  if (!name.ends_with(kParquetEnding)) return std::nullopt;
  name.remove_suffix(kParquetEnding.size());
  const size_t first = name.find('-'), second = first == name.npos ? first : name.find('-', first + 1);
  if (second == name.npos) return std::nullopt;
  Name parsed{std::string(name.substr(0, first))};
  const bool is_month = first == kMonthDigits && parsed.month.find_first_not_of("0123456789") == parsed.month.npos;
  if (!is_month || !parse_all(name.substr(first + 1, second - first - 1), parsed.attempt, 16) ||
      !parse_all(name.substr(second + 1), parsed.number, 10))
    return std::nullopt;
  if (file_name(parsed.month, parsed.attempt, parsed.number) != complete) return std::nullopt;
  return parsed;
}

// The table of calls of version 2. The numbers of its files are a part of those of their attempts.
constexpr push::TableSpec kOldCollectives{"collectives", "", {}};

std::vector<const push::TableSpec*> tables_of_all_versions() {
  std::vector<const push::TableSpec*> tables{&kOldCollectives};
  tables.insert(tables.end(), push::all_tables().begin(), push::all_tables().end());
  return tables;
}

bool is_table(const std::string& name) {
  const auto tables = tables_of_all_versions();
  return std::any_of(tables.begin(), tables.end(), [&](const push::TableSpec* table) { return table->name == name; });
}

}  // namespace

std::string folder_of(const std::string& folder, const push::TableSpec& table) {
  return base::format("{}/{}", folder, table.name);
}

std::vector<std::string> table_files(const std::string& folder, const push::TableSpec& table) {
  const std::string place = folder_of(folder, table);
  std::vector<std::string> found;
  std::error_code error;
  for (auto entry = fs::directory_iterator(place, error); !error && entry != fs::directory_iterator();
       entry.increment(error))
    if (std::error_code ignored; entry->path().extension() == kParquetEnding && entry->is_regular_file(ignored))
      found.push_back(entry->path().string());
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
    throw base::file_error("read", place, error.value());
  std::sort(found.begin(), found.end());
  return found;
}

void refuse_file(const std::string& folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error))
    throw Error(base::format("{} is a file; give a folder: parquet:FOLDER", base::printable(folder)));
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw Error(base::format("cannot make the folder {}: {}", base::printable(path), error.message()));
}

// If only the schema was removed, it is made again.
std::string other_file(const std::string& folder) {
  std::error_code error;
  std::string other;
  auto entry = fs::directory_iterator(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    if (!is_table(entry->path().filename().string())) other = entry->path().filename().string();
  if (error && error != std::errc::no_such_file_or_directory) throw base::file_error("read", folder, error.value());
  return other.empty() || fs::exists(folder_of(folder, push::kSchema), error) ? "" : other;
}

// The folder of the schema is made first. So if there are other files in the folder, and then still no folder of the
// schema, the folder is not one of another kymo that began just now.
void claim_folder(const std::string& folder) {
  refuse_file(folder);
  if (const std::string other = other_file(folder); !other.empty())
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

bool is_file_name(std::string_view name) { return parse_name(name).has_value(); }

std::optional<uint64_t> attempt_in(const std::string& name) {
  const size_t begin = name.find('-'), end = begin == name.npos ? begin : name.find('-', begin + 1);
  if (end == name.npos || name.find(kParquetEnding, end) == name.npos) return std::nullopt;
  uint64_t attempt = 0;
  if (!parse_all(std::string_view(name).substr(begin + 1, end - begin - 1), attempt, 16)) return std::nullopt;
  return attempt;
}

uint64_t Attempt::missing_count() const {
  if (!mark) return 0;
  return *mark - static_cast<uint64_t>(std::distance(files.begin(), files.lower_bound(*mark)));
}

std::vector<std::string> Attempt::missing(uint64_t attempt) const {
  std::vector<std::string> names;
  for (uint64_t number = 0; mark && number < *mark && names.size() < kMostNamed; ++number)
    if (!files.contains(number)) names.push_back(file_name(month, attempt, number));
  return names;
}

std::vector<std::string> Attempt::files_of(const std::string& folder, const push::TableSpec& table) const {
  std::vector<std::string> found;
  for (const auto& [number, file] : files)
    if (fs::path(file).parent_path() == fs::path(folder_of(folder, table))) found.push_back(file);
  return found;
}

std::map<uint64_t, Attempt> attempts_of(const std::string& folder) {
  std::map<uint64_t, Attempt> found;
  for (const push::TableSpec* table : tables_of_all_versions()) {
    if (table == &push::kSchema) continue;
    for (const std::string& file : table_files(folder, *table)) {
      const auto name = parse_name(fs::path(file).filename().string());
      if (!name) continue;  // kymo push did not write it, or it is kEmptyFile
      Attempt& attempt = found[name->attempt];
      attempt.month = name->month;
      attempt.files[name->number] = file;
      // A mark that was written twice is complete with the first one.
      if (table == &push::kTraces && (!attempt.mark || *attempt.mark > name->number)) attempt.mark = name->number;
    }
  }
  return found;
}

}  // namespace kymo::fleet
