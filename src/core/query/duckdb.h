// The part of DuckDB's C API that Kymo uses. DuckDB is loaded at run time, so its header is not needed to build Kymo.
//
// Names and signatures are those of duckdb.h, without the prefix duckdb_. Objects are opaque. Functions that return a
// State report an error with State::Error.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace kymo::query::duckdb {

using Index = uint64_t;  // idx_t

using Database = struct DatabaseTag*;
using Connection = struct ConnectionTag*;
using Config = struct ConfigTag*;
using Statement = struct StatementTag*;  // duckdb_prepared_statement
using Pending = struct PendingTag*;      // duckdb_pending_result
using LogicalType = struct LogicalTypeTag*;
using DataChunk = struct DataChunkTag*;
using Vector = struct VectorTag*;
using Value = struct ValueTag*;
using TableFunction = struct TableFunctionTag*;
using BindInfo = struct BindInfoTag*;
using InitInfo = struct InitInfoTag*;
using FunctionInfo = struct FunctionInfoTag*;
using ReplacementInfo = struct ReplacementInfoTag*;
using Appender = struct AppenderTag*;

enum class State : int { Success = 0, Error = 1 };

enum class Type : int {
  Boolean = 1,
  TinyInt = 2,
  SmallInt = 3,
  Integer = 4,
  BigInt = 5,
  UTinyInt = 6,
  USmallInt = 7,
  UInteger = 8,
  UBigInt = 9,
  Float = 10,
  Double = 11,
  Timestamp = 12,  // microseconds since 1970
  HugeInt = 16,
  Varchar = 17,
  Decimal = 19,
  Enum = 23,
  List = 24,
  Struct = 25,
  Map = 26,
  Union = 28,
  UHugeInt = 32,
  Array = 33,
  SqlNull = 36,
};

enum class StatementType : int { Select = 1 };

enum class ResultType : int { Invalid = 0, ChangedRows = 1, Nothing = 2, QueryResult = 3 };

// duckdb_result. Passed by value in some calls, so its size matters.
struct Result {
  Index deprecated[3];
  void* deprecated_columns;
  char* deprecated_message;
  void* internal;
};

struct HugeInt {
  uint64_t lower;
  int64_t upper;
};

// duckdb_string_t. A short text is stored in place; of a longer one, four characters and then its address.
struct alignas(8) String {
  uint32_t length;
  char content[12];

  std::string_view view() const {
    if (length <= sizeof content) return {content, length};
    const char* address = nullptr;
    std::memcpy(&address, content + 4, sizeof address);
    return {address, length};
  }
};

using Destroy = void (*)(void*);
using Bind = void (*)(BindInfo);
using Init = void (*)(InitInfo);
using Function = void (*)(FunctionInfo, DataChunk);
using Replacement = void (*)(ReplacementInfo, const char* table_name, void* data);

struct Api {
  const char* (*library_version)();
  void (*free)(void*);

  State (*create_config)(Config*);
  State (*set_config)(Config, const char* name, const char* value);
  void (*destroy_config)(Config*);
  State (*open_ext)(const char* path, Database*, Config, char** error);
  void (*close)(Database*);
  State (*connect)(Database, Connection*);
  void (*disconnect)(Connection*);
  void (*interrupt)(Connection);

  State (*query)(Connection, const char* sql, Result*);
  State (*prepare)(Connection, const char* sql, Statement*);
  const char* (*prepare_error)(Statement);
  void (*destroy_prepare)(Statement*);
  StatementType (*prepared_statement_type)(Statement);
  Index (*prepared_statement_column_count)(Statement);
  Type (*prepared_statement_column_type)(Statement, Index);
  char* (*prepared_statement_column_name)(Statement, Index);  // to be freed
  State (*pending_prepared_streaming)(Statement, Pending*);
  const char* (*pending_error)(Pending);
  State (*execute_pending)(Pending, Result*);
  void (*destroy_pending)(Pending*);

  void (*destroy_result)(Result*);
  const char* (*result_error)(Result*);
  ResultType (*result_return_type)(Result);
  Index (*column_count)(Result*);
  const char* (*column_name)(Result*, Index);
  Type (*column_type)(Result*, Index);
  LogicalType (*column_logical_type)(Result*, Index);
  DataChunk (*fetch_chunk)(Result);

  LogicalType (*create_logical_type)(Type);
  LogicalType (*create_enum_type)(const char** names, Index count);
  void (*destroy_logical_type)(LogicalType*);
  Type (*enum_internal_type)(LogicalType);
  char* (*enum_dictionary_value)(LogicalType, Index);
  uint8_t (*decimal_scale)(LogicalType);
  Type (*decimal_internal_type)(LogicalType);

  State (*appender_create)(Connection, const char* schema, const char* table, Appender*);
  State (*append_data_chunk)(Appender, DataChunk);
  const char* (*appender_error)(Appender);
  State (*appender_close)(Appender);
  State (*appender_destroy)(Appender*);

  DataChunk (*create_data_chunk)(LogicalType* types, Index columns);
  void (*data_chunk_reset)(DataChunk);
  void (*destroy_data_chunk)(DataChunk*);
  Index (*data_chunk_get_size)(DataChunk);
  void (*data_chunk_set_size)(DataChunk, Index);
  Vector (*data_chunk_get_vector)(DataChunk, Index);
  Index (*vector_size)();
  void* (*vector_get_data)(Vector);
  uint64_t* (*vector_get_validity)(Vector);
  void (*vector_ensure_validity_writable)(Vector);
  void (*vector_assign_string_element_len)(Vector, Index row, const char*, Index length);

  Value (*create_varchar)(const char*);
  char* (*get_varchar)(Value);
  void (*destroy_value)(Value*);

  TableFunction (*create_table_function)();
  void (*destroy_table_function)(TableFunction*);
  void (*table_function_set_name)(TableFunction, const char*);
  void (*table_function_add_parameter)(TableFunction, LogicalType);
  void (*table_function_set_extra_info)(TableFunction, void*, Destroy);
  void (*table_function_set_bind)(TableFunction, Bind);
  void (*table_function_set_init)(TableFunction, Init);
  void (*table_function_set_local_init)(TableFunction, Init);
  void (*table_function_set_function)(TableFunction, Function);
  void (*table_function_supports_projection_pushdown)(TableFunction, bool);
  State (*register_table_function)(Connection, TableFunction);

  void* (*bind_get_extra_info)(BindInfo);
  Value (*bind_get_parameter)(BindInfo, Index);
  void (*bind_add_result_column)(BindInfo, const char* name, LogicalType);
  void (*bind_set_bind_data)(BindInfo, void*, Destroy);
  void (*bind_set_cardinality)(BindInfo, Index, bool is_exact);
  void (*bind_set_error)(BindInfo, const char*);

  void* (*init_get_bind_data)(InitInfo);
  void (*init_set_init_data)(InitInfo, void*, Destroy);
  Index (*init_get_column_count)(InitInfo);
  Index (*init_get_column_index)(InitInfo, Index);
  void (*init_set_max_threads)(InitInfo, Index);
  void (*init_set_error)(InitInfo, const char*);

  void* (*function_get_bind_data)(FunctionInfo);
  void* (*function_get_init_data)(FunctionInfo);
  void* (*function_get_local_init_data)(FunctionInfo);
  void (*function_set_error)(FunctionInfo, const char*);

  void (*add_replacement_scan)(Database, Replacement, void* data, Destroy);
  void (*replacement_scan_set_function_name)(ReplacementInfo, const char*);
  void (*replacement_scan_add_parameter)(ReplacementInfo, Value);
};

}  // namespace kymo::query::duckdb

namespace kymo::query {

// Loads libduckdb.so on the first call, which takes about 20 ms; it stays loaded. The first of these files that exists:
//
//   KYMO_DUCKDB_LIBRARY                          if this variable is set, no other file is tried
//   libduckdb.so                                 beside the program, or in the lib folder of its tree
//   ~/.cache/kymo/duckdb-VERSION/libduckdb.so    installed by scripts/install-deps; $XDG_CACHE_HOME replaces ~/.cache
//   libduckdb.so                                 where the system looks for libraries
//
// A program with more rights than its user ignores the variables. Throws kymo::NotAvailable if there is no library, or
// if it cannot be used, with the remedy. Any thread may call it.
const duckdb::Api& duckdb_api();

// Why duckdb_api() throws; empty if it does not. For tests that are then skipped.
std::string duckdb_problem();

}  // namespace kymo::query
