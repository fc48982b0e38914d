#include "query/result.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "base/json_writer.h"
#include "query/session.h"

namespace kymo::query {
namespace {

using duckdb::Type;
void append_real(base::TextBuffer& out, double number) {
  if (std::isnan(number))
    out.append("NaN");
  else if (std::isinf(number))
    out.append(number < 0 ? "-Infinity" : "Infinity");
  else
    base::append_shortest(out, number);
}

}  // namespace

CellKind kind_of(Type type) {
  switch (type) {
    case Type::Boolean:
      return CellKind::Boolean;
    case Type::List:
    case Type::Struct:
    case Type::Map:
    case Type::Union:
    case Type::Array:
      return CellKind::Json;
    case Type::HugeInt:
    case Type::UHugeInt:
    case Type::Decimal:
      return CellKind::Number;
    default:
      return type >= Type::TinyInt && type <= Type::Double ? CellKind::Number : CellKind::Text;
  }
}

bool is_shown(Type type) {
  return (type >= Type::Boolean && type <= Type::Double) || type == Type::Varchar || type == Type::Enum ||
         type == Type::SqlNull;
}

struct Result::Impl {
  struct Source {
    Type type = Type::Varchar;  // as it is stored: an ENUM is an integer
    bool is_enum = false;
    duckdb::LogicalType logical = nullptr;
    const void* data = nullptr;
    const uint64_t* validity = nullptr;
    mutable std::unordered_map<uint32_t, std::string> texts;  // of an ENUM, those that were used
  };

  Impl(const duckdb::Api& api_, duckdb::Result result_) : api(api_), result(result_) {}
  ~Impl() {
    if (chunk != nullptr) api.destroy_data_chunk(&chunk);
    for (Source& source : sources)
      if (source.logical != nullptr) api.destroy_logical_type(&source.logical);
    api.destroy_result(&result);
  }

  bool fetch() {
    if (chunk != nullptr) api.destroy_data_chunk(&chunk);
    do {
      if (chunk != nullptr) api.destroy_data_chunk(&chunk);
      chunk = api.fetch_chunk(result);
      if (chunk == nullptr) {
        const char* const error = api.result_error(&result);
        if (error != nullptr && *error != '\0') throw QueryError(error);
        return false;
      }
      size = api.data_chunk_get_size(chunk);
    } while (size == 0);
    row = 0;
    for (size_t i = 0; i < sources.size(); ++i) {
      const duckdb::Vector vector = api.data_chunk_get_vector(chunk, i);
      sources[i].data = api.vector_get_data(vector);
      sources[i].validity = api.vector_get_validity(vector);
    }
    return true;
  }

  template <typename Value>
  Value value(const Source& source) const {
    return static_cast<const Value*>(source.data)[row];
  }

  const std::string& enum_text(const Source& source) const {
    const uint32_t number = source.type == Type::UTinyInt    ? value<uint8_t>(source)
                            : source.type == Type::USmallInt ? value<uint16_t>(source)
                                                             : value<uint32_t>(source);
    const auto [found, is_new] = source.texts.try_emplace(number);
    if (is_new) {
      char* const text = api.enum_dictionary_value(source.logical, number);
      if (text != nullptr) found->second = text;
      api.free(text);
    }
    return found->second;
  }

  void append(base::TextBuffer& out, const Source& source) const {
    if (source.is_enum) return out.append(enum_text(source));
    switch (source.type) {
      case Type::Boolean:
        return out.append(value<bool>(source) ? "true" : "false");
      case Type::TinyInt:
        return out.append_number(int{value<int8_t>(source)});
      case Type::SmallInt:
        return out.append_number(int{value<int16_t>(source)});
      case Type::Integer:
        return out.append_number(value<int32_t>(source));
      case Type::BigInt:
        return out.append_number(value<int64_t>(source));
      case Type::UTinyInt:
        return out.append_number(unsigned{value<uint8_t>(source)});
      case Type::USmallInt:
        return out.append_number(unsigned{value<uint16_t>(source)});
      case Type::UInteger:
        return out.append_number(value<uint32_t>(source));
      case Type::UBigInt:
        return out.append_number(value<uint64_t>(source));
      case Type::Float:
        return append_real(out, value<float>(source));
      case Type::Double:
        return append_real(out, value<double>(source));
      case Type::Varchar:
        return out.append(static_cast<const duckdb::String*>(source.data)[row].view());
      default:
        return;
    }
  }

  const duckdb::Api& api;
  duckdb::Result result;
  duckdb::DataChunk chunk = nullptr;
  std::vector<ColumnInfo> columns;
  std::vector<Source> sources;
  uint64_t size = 0, row = 0;
};

Result::Result(const duckdb::Api& api, duckdb::Result result, const std::vector<CellKind>& kinds)
    : impl_(std::make_unique<Impl>(api, result)) {
  if (api.result_return_type(result) != duckdb::ResultType::QueryResult) return;
  const uint64_t count = api.column_count(&impl_->result);
  impl_->sources.resize(count);
  for (uint64_t i = 0; i < count; ++i) {
    Impl::Source& source = impl_->sources[i];
    source.type = api.column_type(&impl_->result, i);
    const char* const name = api.column_name(&impl_->result, i);
    if (!is_shown(source.type)) throw QueryError(base::format("the values of \"{}\" are shown only by a SELECT", name));
    impl_->columns.push_back({name, i < kinds.size() ? kinds[i] : kind_of(source.type)});
    if (source.type != Type::Enum) continue;
    source.is_enum = true;
    source.logical = api.column_logical_type(&impl_->result, i);
    source.type = api.enum_internal_type(source.logical);
  }
}

Result::~Result() = default;
Result::Result(Result&&) noexcept = default;

const std::vector<Result::ColumnInfo>& Result::columns() const { return impl_->columns; }

bool Result::next() {
  if (impl_->columns.empty()) return false;
  if (impl_->chunk != nullptr && ++impl_->row < impl_->size) return true;
  return impl_->fetch();
}

bool Result::is_null(size_t column) const {
  const Impl::Source& source = impl_->sources[column];
  if (source.type == Type::SqlNull) return true;
  return source.validity != nullptr && (source.validity[impl_->row / 64] >> (impl_->row % 64) & 1) == 0;
}

void Result::append(base::TextBuffer& out, size_t column) const { impl_->append(out, impl_->sources[column]); }

std::string Result::text(size_t column) const {
  base::TextBuffer out;
  append(out, column);
  return out.string();
}

}  // namespace kymo::query
