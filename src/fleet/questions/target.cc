#include "questions/target.h"

#include <filesystem>

#include "base/printable.h"
#include "base/text.h"
#include "kymo/error.h"
#include "push/clickhouse.h"
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
  if (folder.find_first_of(kPatternCharacters) != folder.npos)
    refuse(text, base::format("DuckDB takes {} in it for a pattern", kPatternCharacters));
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

uint64_t version_of(const Target& target) {
  if (!target.server) return parquet_version(target.folder);
  const push::Rows found =
      ask(target, base::format("SELECT name FROM system.tables WHERE database = {} AND name = {}",
                               push::quoted_text(target.server->database), push::quoted_text(push::kSchema.name)));
  if (found.rows.empty()) return 0;
  const push::Rows rows = ask(target, base::format("SELECT max(version) AS version FROM {}",
                                                   push::table_everywhere(*target.server, push::kSchema)));
  push::expect_columns(rows, 1);
  return rows.rows.empty() ? 0 : push::parse_u64(rows.rows[0][0], rows.columns[0]);
}

push::Rows ask(const Target& target, const std::string& statement) {
  if (target.server) return push::Client(*target.server).query(statement);
  if (!target.engine) target.engine = std::make_shared<query::Engine>(0, query::FileAccess::On);
  return ask_parquet(*target.engine, target.folder, statement);
}

}  // namespace kymo::fleet
