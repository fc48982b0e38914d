#include "questions/target.h"

#include <filesystem>

#include "base/printable.h"
#include "base/text.h"
#include "kymo/error.h"
#include "push/clickhouse.h"
#include "push/clickhouse_store.h"
#include "questions/parquet_check.h"
#include "questions/parquet_store.h"
#include "questions/parquet_tables.h"

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
  target.reader = std::make_shared<ParquetReader>(target.folder);
  return target;
}

std::unique_ptr<push::Store> open_store(const Target& target, std::function<void(const std::string& text)> warn) {
  if (target.server) return std::make_unique<push::ClickHouseStore>(*target.server);
  return std::make_unique<ParquetStore>(target.folder, std::move(warn));
}

push::Rows ask(const Target& target, const std::string& statement) {
  if (target.server) return push::Client(*target.server).query(statement);
  return ask_parquet(*target.reader, statement);
}

std::future<push::Rows> ask_later(const Target& target, const std::string& statement) {
  return std::async(target.server ? std::launch::async : std::launch::deferred,
                    [target, statement] { return ask(target, statement); });
}

std::vector<push::Rows> ask_all(const Target& target, const std::vector<std::string>& statements) {
  std::vector<std::future<push::Rows>> answers;
  for (const std::string& statement : statements)
    answers.push_back(std::async(target.server ? std::launch::async : std::launch::deferred,
                                 [&target, &statement] { return ask(target, statement); }));
  std::vector<push::Rows> rows;
  for (std::future<push::Rows>& answer : answers) rows.push_back(answer.get());
  return rows;
}

std::vector<std::string> unreadable_files(const Target& target) {
  return target.reader ? unreadable_lines(*target.reader) : std::vector<std::string>{};
}

}  // namespace kymo::fleet
