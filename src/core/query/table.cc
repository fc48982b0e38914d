#include "query/table.h"

#include <exception>
#include <thread>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::query {

const std::vector<std::string>& enum_texts(ColumnType type, const LoadedTraces& traces) {
  switch (type) {
    case ColumnType::Category:
      return traces.categories.texts();
    case ColumnType::Process:
      return traces.processes.texts();
    case ColumnType::Thread:
      return traces.threads.texts();
    case ColumnType::Device:
      return traces.devices.texts();
    case ColumnType::File:
      return traces.files.texts();
    case ColumnType::PointKind:
      return point_kinds();
    default:
      return traces.names.texts();
  }
}

void Output::attach(size_t column, duckdb::Vector vector, uint8_t width) {
  columns_[column] = {vector, api_.vector_get_data(vector), nullptr, width};
}

void Output::set_null(size_t column, size_t row) {
  Attached& attached = columns_[column];
  if (attached.vector == nullptr) return;
  if (attached.validity == nullptr) {
    api_.vector_ensure_validity_writable(attached.vector);
    attached.validity = api_.vector_get_validity(attached.vector);
  }
  attached.validity[row / 64] &= ~(uint64_t{1} << (row % 64));
}

void Output::set_text(size_t column, size_t row, std::string_view text) {
  const Attached& attached = columns_[column];
  if (attached.vector != nullptr) api_.vector_assign_string_element_len(attached.vector, row, text.data(), text.size());
}

void Output::set_enum(size_t column, size_t row, uint32_t number) {
  set_enums(column, row, 1, [number](size_t) { return number; });
}

const std::vector<Table>& all_tables() {
  static const std::vector<Table> all = [] {
    std::vector<Table> tables{range_table()};
    for (Table& table : point_tables()) tables.push_back(std::move(table));
    tables.push_back(state_table());
    for (Table& table : small_tables()) tables.push_back(std::move(table));
    return tables;
  }();
  return all;
}

}  // namespace kymo::query

// DuckDB calls the functions here from C. An exception must not leave them: it becomes an error of the statement.
namespace kymo::query {
namespace {

struct Registration {
  const Table& table;
  TraceSource& source;
};

// What a statement knows after bind.
struct Bound {
  const Table& table;
  LoadedTraces& traces;
  std::vector<uint8_t> widths;  // by column: bytes of an ENUM's numbers; 0 for other types
};

// An execution of the statement.
struct Execution {
  std::unique_ptr<Scan> scan;
  std::vector<size_t> columns;  // of the table, in the order of the output; kNoColumn: not one of them
};
constexpr size_t kNoColumn = SIZE_MAX;

// Of one thread.
struct Local {
  std::unique_ptr<Cursor> cursor;
};

template <typename Object>
void destroy(void* object) {
  delete static_cast<Object*>(object);
}

class OwnedType {
 public:
  OwnedType(const duckdb::Api& api, duckdb::LogicalType type) : api_(api), type_(type) {}
  ~OwnedType() { api_.destroy_logical_type(&type_); }
  OwnedType(const OwnedType&) = delete;
  OwnedType& operator=(const OwnedType&) = delete;
  duckdb::LogicalType get() const { return type_; }

 private:
  const duckdb::Api& api_;
  duckdb::LogicalType type_;
};

duckdb::LogicalType make_enum(const duckdb::Api& api, const std::vector<std::string>& texts) {
  std::vector<const char*> names;
  names.reserve(texts.size());
  for (const std::string& text : texts) names.push_back(text.c_str());
  return api.create_enum_type(names.data(), names.size());
}

duckdb::LogicalType make_type(const duckdb::Api& api, ColumnType type, const LoadedTraces& traces) {
  switch (type) {
    case ColumnType::Boolean:
      return api.create_logical_type(duckdb::Type::Boolean);
    case ColumnType::UInt16:
      return api.create_logical_type(duckdb::Type::USmallInt);
    case ColumnType::UInt32:
      return api.create_logical_type(duckdb::Type::UInteger);
    case ColumnType::UInt64:
      return api.create_logical_type(duckdb::Type::UBigInt);
    case ColumnType::Int64:
      return api.create_logical_type(duckdb::Type::BigInt);
    case ColumnType::Double:
      return api.create_logical_type(duckdb::Type::Double);
    case ColumnType::Text:
      return api.create_logical_type(duckdb::Type::Varchar);
    default:
      return make_enum(api, enum_texts(type, traces));
  }
}

uint8_t width_of(duckdb::Type stored) {
  return stored == duckdb::Type::UTinyInt ? 1 : stored == duckdb::Type::USmallInt ? 2 : 4;
}

void bind(duckdb::BindInfo info) {
  const duckdb::Api& api = duckdb_api();
  try {
    const auto& registration = *static_cast<const Registration*>(api.bind_get_extra_info(info));
    duckdb::Value parameter = api.bind_get_parameter(info, 0);
    char* const text = api.get_varchar(parameter);
    const std::string path = text == nullptr ? "" : text;
    api.free(text);
    api.destroy_value(&parameter);

    auto bound = std::make_unique<Bound>(Bound{registration.table, registration.source.traces(path), {}});
    for (const Column& column : registration.table.columns) {
      const OwnedType type(api, make_type(api, column.type, bound->traces));
      if (type.get() == nullptr) throw Error(base::format("cannot make the type of the column {}", column.name));
      api.bind_add_result_column(info, std::string(column.name).c_str(), type.get());
      bound->widths.push_back(is_enum(column.type) ? width_of(api.enum_internal_type(type.get())) : 0);
    }
    api.bind_set_cardinality(info, registration.table.estimate(bound->traces), false);
    api.bind_set_bind_data(info, bound.release(), destroy<Bound>);
  } catch (const std::exception& error) {
    api.bind_set_error(info, error.what());
  }
}

void init(duckdb::InitInfo info) {
  const duckdb::Api& api = duckdb_api();
  try {
    const auto& bound = *static_cast<const Bound*>(api.init_get_bind_data(info));
    auto execution = std::make_unique<Execution>();
    std::vector<bool> wanted(bound.table.columns.size());
    const uint64_t count = api.init_get_column_count(info);
    for (uint64_t i = 0; i < count; ++i) {
      // count(*) asks for a column that no table has.
      const uint64_t column = api.init_get_column_index(info, i);
      execution->columns.push_back(column < wanted.size() ? column : kNoColumn);
      if (column < wanted.size()) wanted[column] = true;
    }
    execution->scan = bound.table.scan(bound.table, bound.traces, wanted);
    const size_t processors = std::max(1u, std::thread::hardware_concurrency());
    api.init_set_max_threads(info, bound.table.max_threads != 0 ? bound.table.max_threads : processors);
    api.init_set_init_data(info, execution.release(), destroy<Execution>);
  } catch (const std::exception& error) {
    api.init_set_error(info, error.what());
  }
}

void init_local(duckdb::InitInfo info) {
  duckdb_api().init_set_init_data(info, new Local, destroy<Local>);  // its cursor is made with its first rows
}

void read(duckdb::FunctionInfo info, duckdb::DataChunk chunk) {
  const duckdb::Api& api = duckdb_api();
  try {
    const auto& bound = *static_cast<const Bound*>(api.function_get_bind_data(info));
    auto& execution = *static_cast<Execution*>(api.function_get_init_data(info));
    auto& local = *static_cast<Local*>(api.function_get_local_init_data(info));
    if (local.cursor == nullptr) local.cursor = execution.scan->cursor();
    Output output(api, bound.table.columns);
    for (size_t i = 0; i < execution.columns.size(); ++i) {
      const size_t column = execution.columns[i];
      if (column != kNoColumn) output.attach(column, api.data_chunk_get_vector(chunk, i), bound.widths[column]);
    }
    api.data_chunk_set_size(chunk, local.cursor->next(output));
  } catch (const std::exception& error) {
    api.function_set_error(info, error.what());
  }
}

}  // namespace

void register_table(const duckdb::Api& api, duckdb::Connection connection, const Table& table, TraceSource& source) {
  duckdb::TableFunction function = api.create_table_function();
  const OwnedType text(api, api.create_logical_type(duckdb::Type::Varchar));
  api.table_function_set_name(function, std::string(table.name).c_str());
  api.table_function_add_parameter(function, text.get());
  api.table_function_set_extra_info(function, new Registration{table, source}, destroy<Registration>);
  api.table_function_set_bind(function, bind);
  api.table_function_set_init(function, init);
  api.table_function_set_local_init(function, init_local);
  api.table_function_set_function(function, read);
  api.table_function_supports_projection_pushdown(function, true);
  const bool registered = api.register_table_function(connection, function) == duckdb::State::Success;
  api.destroy_table_function(&function);
  if (!registered) throw Error(base::format("DuckDB does not accept the table {}", table.name));
}

}  // namespace kymo::query
