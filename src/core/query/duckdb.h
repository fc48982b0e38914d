// The part of DuckDB's C API that Kymo uses. DuckDB is loaded at run time, so its header is not needed to build Kymo.
//
// Names and signatures are those of duckdb.h, without the prefix duckdb_. Objects are opaque. Functions that return a
// State report an error with State::Error.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

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

// The library, and its functions by name. Throws kymo::NotAvailable if it does not have one of them.
class Library {
 public:
  Library(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

  // Becomes a pointer to a function of any type.
  struct Symbol {
    void* address;
    template <typename Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address);
    }
  };
  Symbol find(const char* name) const;

 private:
  void* handle_;
  std::string path_;
};

struct Api {
  Library library;

  const char* (*library_version)() = library.find("library_version");
  void (*free)(void*) = library.find("free");

  State (*create_config)(Config*) = library.find("create_config");
  State (*set_config)(Config, const char* name, const char* value) = library.find("set_config");
  void (*destroy_config)(Config*) = library.find("destroy_config");
  State (*open_ext)(const char* path, Database*, Config, char** error) = library.find("open_ext");
  void (*close)(Database*) = library.find("close");
  State (*connect)(Database, Connection*) = library.find("connect");
  void (*disconnect)(Connection*) = library.find("disconnect");
  void (*interrupt)(Connection) = library.find("interrupt");

  State (*query)(Connection, const char* sql, Result*) = library.find("query");
  State (*prepare)(Connection, const char* sql, Statement*) = library.find("prepare");
  const char* (*prepare_error)(Statement) = library.find("prepare_error");
  void (*destroy_prepare)(Statement*) = library.find("destroy_prepare");
  StatementType (*prepared_statement_type)(Statement) = library.find("prepared_statement_type");
  Index (*prepared_statement_column_count)(Statement) = library.find("prepared_statement_column_count");
  Type (*prepared_statement_column_type)(Statement, Index) = library.find("prepared_statement_column_type");
  char* (*prepared_statement_column_name)(Statement,
                                          Index) = library.find("prepared_statement_column_name");  // to be freed
  State (*pending_prepared_streaming)(Statement, Pending*) = library.find("pending_prepared_streaming");
  const char* (*pending_error)(Pending) = library.find("pending_error");
  State (*execute_pending)(Pending, Result*) = library.find("execute_pending");
  void (*destroy_pending)(Pending*) = library.find("destroy_pending");

  void (*destroy_result)(Result*) = library.find("destroy_result");
  const char* (*result_error)(Result*) = library.find("result_error");
  ResultType (*result_return_type)(Result) = library.find("result_return_type");
  Index (*column_count)(Result*) = library.find("column_count");
  const char* (*column_name)(Result*, Index) = library.find("column_name");
  Type (*column_type)(Result*, Index) = library.find("column_type");
  LogicalType (*column_logical_type)(Result*, Index) = library.find("column_logical_type");
  DataChunk (*fetch_chunk)(Result) = library.find("fetch_chunk");

  LogicalType (*create_logical_type)(Type) = library.find("create_logical_type");
  LogicalType (*create_enum_type)(const char** names, Index count) = library.find("create_enum_type");
  void (*destroy_logical_type)(LogicalType*) = library.find("destroy_logical_type");
  Type (*enum_internal_type)(LogicalType) = library.find("enum_internal_type");
  char* (*enum_dictionary_value)(LogicalType, Index) = library.find("enum_dictionary_value");

  void (*destroy_data_chunk)(DataChunk*) = library.find("destroy_data_chunk");
  Index (*data_chunk_get_size)(DataChunk) = library.find("data_chunk_get_size");
  void (*data_chunk_set_size)(DataChunk, Index) = library.find("data_chunk_set_size");
  Vector (*data_chunk_get_vector)(DataChunk, Index) = library.find("data_chunk_get_vector");
  Index (*vector_size)() = library.find("vector_size");
  void* (*vector_get_data)(Vector) = library.find("vector_get_data");
  uint64_t* (*vector_get_validity)(Vector) = library.find("vector_get_validity");
  void (*vector_ensure_validity_writable)(Vector) = library.find("vector_ensure_validity_writable");
  void (*vector_assign_string_element_len)(Vector, Index row, const char*,
                                           Index length) = library.find("vector_assign_string_element_len");

  Value (*create_varchar)(const char*) = library.find("create_varchar");
  char* (*get_varchar)(Value) = library.find("get_varchar");
  void (*destroy_value)(Value*) = library.find("destroy_value");

  TableFunction (*create_table_function)() = library.find("create_table_function");
  void (*destroy_table_function)(TableFunction*) = library.find("destroy_table_function");
  void (*table_function_set_name)(TableFunction, const char*) = library.find("table_function_set_name");
  void (*table_function_add_parameter)(TableFunction, LogicalType) = library.find("table_function_add_parameter");
  void (*table_function_set_extra_info)(TableFunction, void*, Destroy) = library.find("table_function_set_extra_info");
  void (*table_function_set_bind)(TableFunction, Bind) = library.find("table_function_set_bind");
  void (*table_function_set_init)(TableFunction, Init) = library.find("table_function_set_init");
  void (*table_function_set_local_init)(TableFunction, Init) = library.find("table_function_set_local_init");
  void (*table_function_set_function)(TableFunction, Function) = library.find("table_function_set_function");
  void (*table_function_supports_projection_pushdown)(TableFunction, bool) =
      library.find("table_function_supports_projection_pushdown");
  State (*register_table_function)(Connection, TableFunction) = library.find("register_table_function");

  void* (*bind_get_extra_info)(BindInfo) = library.find("bind_get_extra_info");
  Value (*bind_get_parameter)(BindInfo, Index) = library.find("bind_get_parameter");
  void (*bind_add_result_column)(BindInfo, const char* name, LogicalType) = library.find("bind_add_result_column");
  void (*bind_set_bind_data)(BindInfo, void*, Destroy) = library.find("bind_set_bind_data");
  void (*bind_set_cardinality)(BindInfo, Index, bool is_exact) = library.find("bind_set_cardinality");
  void (*bind_set_error)(BindInfo, const char*) = library.find("bind_set_error");

  void* (*init_get_bind_data)(InitInfo) = library.find("init_get_bind_data");
  void (*init_set_init_data)(InitInfo, void*, Destroy) = library.find("init_set_init_data");
  Index (*init_get_column_count)(InitInfo) = library.find("init_get_column_count");
  Index (*init_get_column_index)(InitInfo, Index) = library.find("init_get_column_index");
  void (*init_set_max_threads)(InitInfo, Index) = library.find("init_set_max_threads");
  void (*init_set_error)(InitInfo, const char*) = library.find("init_set_error");

  void* (*function_get_bind_data)(FunctionInfo) = library.find("function_get_bind_data");
  void* (*function_get_init_data)(FunctionInfo) = library.find("function_get_init_data");
  void* (*function_get_local_init_data)(FunctionInfo) = library.find("function_get_local_init_data");
  void (*function_set_error)(FunctionInfo, const char*) = library.find("function_set_error");

  void (*add_replacement_scan)(Database, Replacement, void* data, Destroy) = library.find("add_replacement_scan");
  void (*replacement_scan_set_function_name)(ReplacementInfo,
                                             const char*) = library.find("replacement_scan_set_function_name");
  void (*replacement_scan_add_parameter)(ReplacementInfo, Value) = library.find("replacement_scan_add_parameter");
};

}  // namespace kymo::query::duckdb

namespace kymo::query {

// Loads libduckdb.so on the first call, which takes about 20 ms; it stays loaded. The first of these files that exists:
//
//   KYMO_DUCKDB_LIBRARY                          if this variable is set, no other file is tried
//   lib/kymo/libduckdb.so                        in the tree of this program: the tarball and the wheel have it
//   ~/.cache/kymo/duckdb-VERSION/libduckdb.so    installed by install-duckdb; $XDG_CACHE_HOME replaces ~/.cache
//   libduckdb.so                                 where the system looks for libraries
//
// A program with more rights than its user ignores the variables. Throws kymo::NotAvailable if there is no library, or
// if it cannot be used, with the remedy. Any thread may call it.
const duckdb::Api& duckdb_api();

// Why duckdb_api() throws; empty if it does not. For tests that are then skipped.
std::string duckdb_problem();

}  // namespace kymo::query
