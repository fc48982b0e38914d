#include "questions/parquet_tables.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <vector>

#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "kymo/error.h"
#include "query/session.h"
#include "questions/parquet_files.h"
#include "questions/text_name.h"

namespace kymo::fleet {
namespace {

namespace duckdb = query::duckdb;
using push::ColumnType;

constexpr int64_t kMicroseconds = 1'000'000;  // of a second

struct DuckDbType {
  duckdb::Type type;
  std::string_view name;
};

DuckDbType type_of(ColumnType type) {
  switch (type) {
    case ColumnType::U8:
      return {duckdb::Type::UTinyInt, "UTINYINT"};
    case ColumnType::U16:
      return {duckdb::Type::USmallInt, "USMALLINT"};
    case ColumnType::U32:
      return {duckdb::Type::UInteger, "UINTEGER"};
    case ColumnType::I32:
      return {duckdb::Type::Integer, "INTEGER"};
    case ColumnType::U64:
      return {duckdb::Type::UBigInt, "UBIGINT"};
    case ColumnType::I64:
      return {duckdb::Type::BigInt, "BIGINT"};
    case ColumnType::Date:
      return {duckdb::Type::Timestamp, "TIMESTAMP"};
    case ColumnType::Text:
    case ColumnType::Name:
      break;
  }
  return {duckdb::Type::Varchar, "VARCHAR"};
}

// The chunk that rows are copied through, and its types.
class Chunk {
 public:
  Chunk(const duckdb::Api& api, std::span<const push::ColumnSpec> columns) : api_(api) {
    for (const push::ColumnSpec& column : columns) types_.push_back(api.create_logical_type(type_of(column.type).type));
    chunk_ = api.create_data_chunk(types_.data(), types_.size());
  }
  ~Chunk() {
    api_.destroy_data_chunk(&chunk_);
    for (duckdb::LogicalType& type : types_) api_.destroy_logical_type(&type);
  }
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;
  duckdb::DataChunk get() const { return chunk_; }

 private:
  const duckdb::Api& api_;
  std::vector<duckdb::LogicalType> types_;
  duckdb::DataChunk chunk_ = nullptr;
};

class Appender {
 public:
  Appender(const query::Engine& engine, const char* table) : api_(engine.api()) {
    check(api_.appender_create(engine.connection(), nullptr, table, &appender_));
  }
  ~Appender() { api_.appender_destroy(&appender_); }
  Appender(const Appender&) = delete;
  Appender& operator=(const Appender&) = delete;

  void add(duckdb::DataChunk chunk) { check(api_.append_data_chunk(appender_, chunk)); }
  void close() { check(api_.appender_close(appender_)); }

 private:
  void check(duckdb::State state) {
    if (state == duckdb::State::Success) return;
    const char* const why = appender_ == nullptr ? nullptr : api_.appender_error(appender_);
    throw Error(base::format("DuckDB does not take the rows: {}", why == nullptr ? "unknown error" : why));
  }

  const duckdb::Api& api_;
  duckdb::Appender appender_ = nullptr;
};

// Copies the columns of a block into vectors, some rows at a time.
class BlockColumns {
 public:
  BlockColumns(const duckdb::Api& api, const push::Block& block, uint64_t attempt)
      : api_(api), block_(block), attempt_(attempt), texts_(block.table().columns.size()) {
    for (size_t i = 0; i < texts_.size(); ++i) {
      const ColumnType type = block.table().columns[i].type;
      if (type != ColumnType::Name && type != ColumnType::Text) continue;
      for (const std::string_view text : block.texts(i)) texts_[i].push_back(text_of_name(text));
    }
  }

  void fill(duckdb::DataChunk chunk, size_t from, size_t count) const {
    for (size_t i = 0; i < texts_.size(); ++i) fill(i, api_.data_chunk_get_vector(chunk, i), from, count);
    api_.data_chunk_set_size(chunk, count);
  }

 private:
  void fill(size_t column, duckdb::Vector vector, size_t from, size_t count) const {
    const push::ColumnSpec& spec = block_.table().columns[column];
    void* const data = api_.vector_get_data(vector);
    if (spec.name == push::kAttemptColumn) {
      std::fill_n(static_cast<uint64_t*>(data), count, attempt_);
    } else if (spec.type == ColumnType::Name || spec.type == ColumnType::Text) {
      for (size_t i = 0; i < count; ++i) {
        const size_t text = spec.type == ColumnType::Name ? block_.keys(column)[from + i] : from + i;
        const std::string& value = texts_[column][text];
        api_.vector_assign_string_element_len(vector, i, value.data(), value.size());
      }
    } else if (spec.type == ColumnType::Date) {
      for (size_t i = 0; i < count; ++i) {
        uint32_t seconds;
        std::memcpy(&seconds, block_.fixed(column).data() + (from + i) * sizeof seconds, sizeof seconds);
        static_cast<int64_t*>(data)[i] = int64_t{seconds} * kMicroseconds;
      }
    } else {
      const size_t width = push::width_of(spec.type);
      std::memcpy(data, block_.fixed(column).data() + from * width, count * width);
    }
  }

  const duckdb::Api& api_;
  const push::Block& block_;
  const uint64_t attempt_;
  std::vector<std::vector<std::string>> texts_;  // by column
};

}  // namespace

std::string_view duckdb_type(ColumnType type) { return type_of(type).name; }

void write_parquet(query::Engine& engine, const push::Block& block, uint64_t attempt, const std::string& path) {
  const auto columns = block.table().columns;
  std::vector<std::string> definitions;
  for (const push::ColumnSpec& column : columns)
    definitions.push_back(
        base::format("{} {}", query::sql_identifier(std::string(column.name)), duckdb_type(column.type)));
  engine.execute(base::format("CREATE OR REPLACE TABLE block ({})", base::join(definitions, ", ")));
  {
    const duckdb::Api& api = engine.api();
    const Chunk chunk(api, columns);
    const BlockColumns source(api, block, attempt);
    Appender appender(engine, "block");
    for (size_t from = 0; from < block.rows(); from += api.vector_size()) {
      api.data_chunk_reset(chunk.get());
      source.fill(chunk.get(), from, std::min<size_t>(block.rows() - from, api.vector_size()));
      appender.add(chunk.get());
    }
    appender.close();
  }
  engine.execute(base::format("COPY block TO {} (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)",
                              query::sql_literal(path)));
  engine.execute("DROP TABLE block");
}

namespace {

using push::TableSpec;

std::string all_files(const std::string& folder, const TableSpec& table) {
  return query::sql_literal(base::format("{}/*{}", folder_of(folder, table), kParquetEnding));
}

// A table without rows, for one that has no file to read.
std::string empty_table(const TableSpec& table) {
  std::vector<std::string> columns;
  for (const push::ColumnSpec& column : table.columns)
    columns.push_back(base::format("CAST(NULL AS {}) AS {}", duckdb_type(column.type),
                                   query::sql_identifier(std::string(column.name))));
  return base::format("(SELECT {} WHERE false)", base::join(columns, ", "));
}

std::string columns_of(const TableSpec& table) {
  std::vector<std::string> names;
  for (const push::ColumnSpec& column : table.columns) names.push_back(query::sql_identifier(std::string(column.name)));
  return base::join(names, ", ");
}

std::string reason(const std::string& file) {
  if (::access(file.c_str(), R_OK) != 0) return base::file_error("read", file, errno).what();
  return base::printable(file) + " is damaged";
}

}  // namespace

push::Rows rows_of(const query::Engine& engine, const std::string& statement) {
  query::Result result = query::run_statement(engine, statement);
  push::Rows rows;
  for (const auto& column : result.columns()) rows.columns.push_back(column.name);
  while (result.next()) {
    auto& row = rows.rows.emplace_back();
    for (size_t i = 0; i < rows.columns.size(); ++i)
      row.push_back(result.is_null(i) ? std::string() : name_of_text(result.text(i)));
  }
  return rows;
}

std::string parquet_table(const std::string& folder, const TableSpec& table) {
  return base::format("read_parquet({})", all_files(folder, table));
}

std::string file_list(const std::vector<std::string>& files) {
  std::vector<std::string> literals;
  for (const std::string& file : files) literals.push_back(query::sql_literal(file));
  return base::format("[{}]", base::join(literals, ", "));
}

std::string first_line(std::string_view text) { return base::printable(std::string(text.substr(0, text.find('\n')))); }

query::Engine& ParquetReader::engine() {
  if (!engine_) engine_.emplace(0, query::FileAccess::On);
  return *engine_;
}

push::Rows ParquetReader::ask(const std::string& statement) {
  for (;;) {
    try {
      return rows_of(engine(), with_readable_files(statement));
    } catch (const query::QueryError& problem) {
      if (find_unreadable()) continue;
      throw Error(
          base::format("cannot read the files in {}: {}", base::printable(folder_), first_line(problem.what())));
    }
  }
}

std::string ParquetReader::files_of(const TableSpec& table) const {
  std::vector<std::string> files = table_files(folder_, table);
  const size_t all = files.size();
  std::erase_if(files, [&](const std::string& file) { return is_unreadable(file); });
  if (files.empty()) return {};
  return files.size() == all ? all_files(folder_, table) : file_list(files);
}

// A text of the user has no such part: the quotes in it are doubled.
std::string ParquetReader::with_readable_files(std::string statement) const {
  if (unreadable_.empty()) return statement;
  for (const TableSpec* table : push::all_tables()) {
    const std::string whole = parquet_table(folder_, *table), files = files_of(*table);
    const std::string part = files.empty() ? empty_table(*table) : base::format("read_parquet({})", files);
    for (size_t at = 0; part != whole && (at = statement.find(whole, at)) != statement.npos; at += part.size())
      statement.replace(at, whole.size(), part);
  }
  return statement;
}

// `statement` makes one that reads these files. Halves them until it is known which of them cannot be read.
template <typename Statement>
bool ParquetReader::find_in(const Files& files, const Statement& statement) {
  if (files.empty()) return false;
  try {
    (void)rows_of(engine(), statement(file_list(files)));
    return false;
  } catch (const query::QueryError&) {
  }
  if (files.size() == 1) {
    if (::access(files[0].c_str(), F_OK) != 0) return false;  // removed just now
    unreadable_[files[0]] = reason(files[0]);
    return true;
  }
  const auto middle = files.begin() + static_cast<std::ptrdiff_t>(files.size() / 2);
  const bool in_first = find_in(Files(files.begin(), middle), statement);
  return find_in(Files(middle, files.end()), statement) || in_first;
}

bool ParquetReader::find_unreadable() {
  const auto find = [&](bool with_values) {
    bool found = false;
    for (const TableSpec* table : push::all_tables()) {
      Files files = table_files(folder_, *table);
      std::erase_if(files, [&](const std::string& file) { return is_unreadable(file); });
      found |= find_in(files, [&](const std::string& list) {
        return with_values ? base::format("SELECT max(hash({})) FROM read_parquet({})", columns_of(*table), list)
                           : base::format("SELECT count(*) FROM parquet_metadata({})", list);
      });
    }
    return found;
  };
  return find(false) || find(true);
}

void ParquetReader::leave_out(const std::string& file) {
  unreadable_.try_emplace(file, base::format("{} is damaged", base::printable(file)));
}

bool ParquetReader::has_footer(const std::string& file) {
  try {
    (void)rows_of(engine(), base::format("SELECT count(*) FROM parquet_metadata({})", query::sql_literal(file)));
    return true;
  } catch (const query::QueryError&) {
    return false;
  }
}

}  // namespace kymo::fleet
