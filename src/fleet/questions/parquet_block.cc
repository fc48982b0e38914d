#include "questions/parquet_block.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "questions/text_name.h"
#include "kymo/error.h"

namespace kymo::fleet {
namespace {

namespace duckdb = query::duckdb;
using push::ColumnType;

constexpr int64_t kMicroseconds = 1'000'000;  // of a second

duckdb::Type type_of(ColumnType type) {
  switch (type) {
    case ColumnType::U8:
      return duckdb::Type::UTinyInt;
    case ColumnType::U16:
      return duckdb::Type::USmallInt;
    case ColumnType::U32:
      return duckdb::Type::UInteger;
    case ColumnType::I32:
      return duckdb::Type::Integer;
    case ColumnType::U64:
      return duckdb::Type::UBigInt;
    case ColumnType::I64:
      return duckdb::Type::BigInt;
    case ColumnType::F64:
      return duckdb::Type::Double;
    case ColumnType::Date:
      return duckdb::Type::Timestamp;
    case ColumnType::Text:
    case ColumnType::Name:
      return duckdb::Type::Varchar;
  }
  return duckdb::Type::Varchar;
}

// The chunk that rows are copied through, and its types.
class Chunk {
 public:
  Chunk(const duckdb::Api& api, std::span<const push::ColumnSpec> columns) : api_(api) {
    for (const push::ColumnSpec& column : columns) types_.push_back(api.create_logical_type(type_of(column.type)));
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

std::string_view duckdb_type(ColumnType type) {
  switch (type) {
    case ColumnType::U8:
      return "UTINYINT";
    case ColumnType::U16:
      return "USMALLINT";
    case ColumnType::U32:
      return "UINTEGER";
    case ColumnType::I32:
      return "INTEGER";
    case ColumnType::U64:
      return "UBIGINT";
    case ColumnType::I64:
      return "BIGINT";
    case ColumnType::F64:
      return "DOUBLE";
    case ColumnType::Date:
      return "TIMESTAMP";
    case ColumnType::Text:
    case ColumnType::Name:
      return "VARCHAR";
  }
  return "VARCHAR";
}

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

}  // namespace kymo::fleet
