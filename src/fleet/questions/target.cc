#include "questions/target.h"

#include <filesystem>

#include "base/printable.h"
#include "base/text.h"
#include "kymo/error.h"
#include "questions/parquet_store.h"

namespace kymo::fleet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kParquet = "parquet:";
constexpr std::string_view kPatternCharacters = "*?[]{}";

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw InvalidArgument(base::format("'{}' is not a folder for Parquet files: {}; write it like parquet:/data/kymo",
                                     base::printable(std::string(text)), why));
}

}  // namespace

std::string Target::text() const { return server ? server->text() : std::string(kParquet) + base::printable(folder); }

Target parse_target(std::string_view text) {
  if (!text.starts_with(kParquet)) {
    if (!push::is_address(text))
      throw InvalidArgument(
          base::format("'{}' is not a database; write it like clickhouse://host:8123/database, or parquet:FOLDER",
                       base::printable(std::string(text))));
    return {push::parse_address(text), {}, {}};
  }
  const std::string_view folder = text.substr(kParquet.size());
  if (folder.empty()) refuse(text, "it has no folder");
  if (folder.starts_with("//") && !folder.starts_with("///")) refuse(text, "there is no host in front of a folder");
  std::error_code error;
  const fs::path absolute = fs::absolute(fs::path(folder), error).lexically_normal();
  if (error) refuse(text, error.message());
  Target target;
  target.folder = absolute.string();
  while (target.folder.size() > 1 && target.folder.ends_with('/')) target.folder.pop_back();
  if (target.folder.find_first_of(kPatternCharacters) != target.folder.npos)
    refuse(target.folder, base::format("DuckDB takes {} in it for a pattern", kPatternCharacters));
  return target;
}

std::unique_ptr<push::Store> open_store(const Target& target) {
  if (target.server) return std::make_unique<push::ClickHouseStore>(*target.server);
  return std::make_unique<ParquetStore>(target.folder);
}

push::Store& Target::store() const {
  if (!opened) opened = open_store(*this);
  return *opened;
}

}  // namespace kymo::fleet
