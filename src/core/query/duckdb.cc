#include "query/duckdb.h"

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::query {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVariable = "KYMO_DUCKDB_LIBRARY";
constexpr const char* kFile = "libduckdb.so";
constexpr const char* kVersion = "1.5.5";  // scripts/install-duckdb has it too
constexpr std::string_view kRemedy =
    "install it with scripts/install-deps query (in Kymo's sources), or set KYMO_DUCKDB_LIBRARY to a libduckdb.so";

std::vector<fs::path> installed_files() {
  std::vector<fs::path> files;
  std::error_code ignored;
  const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  if (!here.empty()) files = {here / kFile, here.parent_path() / "lib" / kFile};
  const char* const cache = base::environment("XDG_CACHE_HOME");
  const char* const home = base::environment("HOME");
  fs::path folder;
  if (cache != nullptr && *cache == '/')
    folder = cache;
  else if (home != nullptr && *home == '/')
    folder = fs::path(home) / ".cache";
  if (!folder.empty()) files.push_back(folder / "kymo" / base::format("duckdb-{}", kVersion) / kFile);
  return files;
}

std::string find_file() {
  if (const char* const given = base::environment(kVariable); given != nullptr && *given != '\0') {
    if (access(given, R_OK) != 0)
      throw NotAvailable(base::format("cannot read DuckDB's library {} ({}): {}", given, kVariable, kRemedy));
    return fs::absolute(given).string();  // without a folder, dlopen would look elsewhere
  }
  for (const fs::path& file : installed_files())
    if (access(file.c_str(), R_OK) == 0) return file.string();
  return kFile;
}

template <typename Function>
void find(void* library, const std::string& path, const char* name, Function*& into) {
  into = reinterpret_cast<Function*>(dlsym(library, name));
  if (into == nullptr)
    throw NotAvailable(base::format("DuckDB's library {} has no {}: Kymo needs DuckDB {} or a later version; {}", path,
                                    name, kVersion, kRemedy));
}

void find_functions(void* library, const std::string& path, duckdb::Api& api) {
  find(library, path, "duckdb_library_version", api.library_version);
  find(library, path, "duckdb_free", api.free);
  find(library, path, "duckdb_create_config", api.create_config);
  find(library, path, "duckdb_set_config", api.set_config);
  find(library, path, "duckdb_destroy_config", api.destroy_config);
  find(library, path, "duckdb_open_ext", api.open_ext);
  find(library, path, "duckdb_close", api.close);
  find(library, path, "duckdb_connect", api.connect);
  find(library, path, "duckdb_disconnect", api.disconnect);
  find(library, path, "duckdb_interrupt", api.interrupt);
  find(library, path, "duckdb_query", api.query);
  find(library, path, "duckdb_prepare", api.prepare);
  find(library, path, "duckdb_prepare_error", api.prepare_error);
  find(library, path, "duckdb_destroy_prepare", api.destroy_prepare);
  find(library, path, "duckdb_prepared_statement_type", api.prepared_statement_type);
  find(library, path, "duckdb_prepared_statement_column_count", api.prepared_statement_column_count);
  find(library, path, "duckdb_prepared_statement_column_type", api.prepared_statement_column_type);
  find(library, path, "duckdb_prepared_statement_column_name", api.prepared_statement_column_name);
  find(library, path, "duckdb_pending_prepared_streaming", api.pending_prepared_streaming);
  find(library, path, "duckdb_pending_error", api.pending_error);
  find(library, path, "duckdb_execute_pending", api.execute_pending);
  find(library, path, "duckdb_destroy_pending", api.destroy_pending);
  find(library, path, "duckdb_destroy_result", api.destroy_result);
  find(library, path, "duckdb_result_error", api.result_error);
  find(library, path, "duckdb_result_return_type", api.result_return_type);
  find(library, path, "duckdb_column_count", api.column_count);
  find(library, path, "duckdb_column_name", api.column_name);
  find(library, path, "duckdb_column_type", api.column_type);
  find(library, path, "duckdb_column_logical_type", api.column_logical_type);
  find(library, path, "duckdb_fetch_chunk", api.fetch_chunk);
  find(library, path, "duckdb_create_logical_type", api.create_logical_type);
  find(library, path, "duckdb_create_enum_type", api.create_enum_type);
  find(library, path, "duckdb_destroy_logical_type", api.destroy_logical_type);
  find(library, path, "duckdb_enum_internal_type", api.enum_internal_type);
  find(library, path, "duckdb_enum_dictionary_value", api.enum_dictionary_value);
  find(library, path, "duckdb_decimal_scale", api.decimal_scale);
  find(library, path, "duckdb_decimal_internal_type", api.decimal_internal_type);
  find(library, path, "duckdb_appender_create", api.appender_create);
  find(library, path, "duckdb_append_data_chunk", api.append_data_chunk);
  find(library, path, "duckdb_appender_error", api.appender_error);
  find(library, path, "duckdb_appender_close", api.appender_close);
  find(library, path, "duckdb_appender_destroy", api.appender_destroy);
  find(library, path, "duckdb_create_data_chunk", api.create_data_chunk);
  find(library, path, "duckdb_data_chunk_reset", api.data_chunk_reset);
  find(library, path, "duckdb_destroy_data_chunk", api.destroy_data_chunk);
  find(library, path, "duckdb_data_chunk_get_size", api.data_chunk_get_size);
  find(library, path, "duckdb_data_chunk_set_size", api.data_chunk_set_size);
  find(library, path, "duckdb_data_chunk_get_vector", api.data_chunk_get_vector);
  find(library, path, "duckdb_vector_size", api.vector_size);
  find(library, path, "duckdb_vector_get_data", api.vector_get_data);
  find(library, path, "duckdb_vector_get_validity", api.vector_get_validity);
  find(library, path, "duckdb_vector_ensure_validity_writable", api.vector_ensure_validity_writable);
  find(library, path, "duckdb_vector_assign_string_element_len", api.vector_assign_string_element_len);
  find(library, path, "duckdb_create_varchar", api.create_varchar);
  find(library, path, "duckdb_get_varchar", api.get_varchar);
  find(library, path, "duckdb_destroy_value", api.destroy_value);
  find(library, path, "duckdb_create_table_function", api.create_table_function);
  find(library, path, "duckdb_destroy_table_function", api.destroy_table_function);
  find(library, path, "duckdb_table_function_set_name", api.table_function_set_name);
  find(library, path, "duckdb_table_function_add_parameter", api.table_function_add_parameter);
  find(library, path, "duckdb_table_function_set_extra_info", api.table_function_set_extra_info);
  find(library, path, "duckdb_table_function_set_bind", api.table_function_set_bind);
  find(library, path, "duckdb_table_function_set_init", api.table_function_set_init);
  find(library, path, "duckdb_table_function_set_local_init", api.table_function_set_local_init);
  find(library, path, "duckdb_table_function_set_function", api.table_function_set_function);
  find(library, path, "duckdb_table_function_supports_projection_pushdown",
       api.table_function_supports_projection_pushdown);
  find(library, path, "duckdb_register_table_function", api.register_table_function);
  find(library, path, "duckdb_bind_get_extra_info", api.bind_get_extra_info);
  find(library, path, "duckdb_bind_get_parameter", api.bind_get_parameter);
  find(library, path, "duckdb_bind_add_result_column", api.bind_add_result_column);
  find(library, path, "duckdb_bind_set_bind_data", api.bind_set_bind_data);
  find(library, path, "duckdb_bind_set_cardinality", api.bind_set_cardinality);
  find(library, path, "duckdb_bind_set_error", api.bind_set_error);
  find(library, path, "duckdb_init_get_bind_data", api.init_get_bind_data);
  find(library, path, "duckdb_init_set_init_data", api.init_set_init_data);
  find(library, path, "duckdb_init_get_column_count", api.init_get_column_count);
  find(library, path, "duckdb_init_get_column_index", api.init_get_column_index);
  find(library, path, "duckdb_init_set_max_threads", api.init_set_max_threads);
  find(library, path, "duckdb_init_set_error", api.init_set_error);
  find(library, path, "duckdb_function_get_bind_data", api.function_get_bind_data);
  find(library, path, "duckdb_function_get_init_data", api.function_get_init_data);
  find(library, path, "duckdb_function_get_local_init_data", api.function_get_local_init_data);
  find(library, path, "duckdb_function_set_error", api.function_set_error);
  find(library, path, "duckdb_add_replacement_scan", api.add_replacement_scan);
  find(library, path, "duckdb_replacement_scan_set_function_name", api.replacement_scan_set_function_name);
  find(library, path, "duckdb_replacement_scan_add_parameter", api.replacement_scan_add_parameter);
}

duckdb::Api load() {
  const std::string path = find_file();
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    if (path == kFile) throw NotAvailable(base::format("DuckDB is not installed: {}", kRemedy));
    throw NotAvailable(base::format("cannot load DuckDB's library {}: {}; {}", path, dlerror(), kRemedy));
  }
  duckdb::Api api;
  find_functions(library, path, api);
  return api;
}

}  // namespace

const duckdb::Api& duckdb_api() {
  static const duckdb::Api api = load();  // tried again if it throws
  return api;
}

std::string duckdb_problem() {
  try {
    duckdb_api();
    return {};
  } catch (const NotAvailable& error) {
    return error.what();
  }
}

}  // namespace kymo::query
