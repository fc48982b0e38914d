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
__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;

CellKind kind_of(Type type) {
  switch (type) {
    case Type::Boolean:
      return CellKind::Boolean;
    case Type::Varchar:
    case Type::Enum:
    case Type::SqlNull:
      return CellKind::Text;
    default:
      return CellKind::Number;
  }
}

// Decimal digits of a 128-bit number, with the decimal point before the last `scale`.
void append_wide(base::TextBuffer& out, UnsignedWide magnitude, bool negative, unsigned scale) {
  std::string digits;
  do {
    digits.push_back(static_cast<char>('0' + static_cast<int>(magnitude % 10)));
    magnitude /= 10;
  } while (magnitude != 0);
  while (digits.size() <= scale) digits.push_back('0');
  if (scale != 0) digits.insert(scale, 1, '.');
  if (negative) digits.push_back('-');
  std::reverse(digits.begin(), digits.end());
  out.append(digits);
}

void append_signed(base::TextBuffer& out, Wide number, unsigned scale) {
  const bool negative = number < 0;
  const auto bits = static_cast<UnsignedWide>(number);
  append_wide(out, negative ? ~bits + 1 : bits, negative, scale);
}

Wide wide(const duckdb::HugeInt& number) {
  return static_cast<Wide>(static_cast<UnsignedWide>(static_cast<uint64_t>(number.upper)) << 64 | number.lower);
}

void append_real(base::TextBuffer& out, double number) {
  if (std::isnan(number))
    out.append("NaN");
  else if (std::isinf(number))
    out.append(number < 0 ? "-Infinity" : "Infinity");
  else
    base::append_shortest(out, number);
}

}  // namespace

bool is_shown(Type type) {
  constexpr std::array kShown = {Type::Boolean,  Type::TinyInt,   Type::SmallInt, Type::Integer, Type::BigInt,
                                 Type::UTinyInt, Type::USmallInt, Type::UInteger, Type::UBigInt, Type::Float,
                                 Type::Double,   Type::HugeInt,   Type::UHugeInt, Type::Varchar, Type::Decimal,
                                 Type::Enum,     Type::SqlNull};
  return std::find(kShown.begin(), kShown.end(), type) != kShown.end();
}

struct Result::Impl {
  struct Source {
    Type type = Type::Varchar;  // as it is stored: ENUM and DECIMAL are integers
    bool is_enum = false;
    unsigned scale = 0;
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
        return append_signed(out, value<int8_t>(source), source.scale);
      case Type::SmallInt:
        return append_signed(out, value<int16_t>(source), source.scale);
      case Type::Integer:
        return append_signed(out, value<int32_t>(source), source.scale);
      case Type::BigInt:
        if (source.scale == 0) return out.append_number(value<int64_t>(source));
        return append_signed(out, value<int64_t>(source), source.scale);
      case Type::UTinyInt:
        return out.append_number(unsigned{value<uint8_t>(source)});
      case Type::USmallInt:
        return out.append_number(unsigned{value<uint16_t>(source)});
      case Type::UInteger:
        return out.append_number(value<uint32_t>(source));
      case Type::UBigInt:
        return out.append_number(value<uint64_t>(source));
      case Type::HugeInt:
        return append_signed(out, wide(value<duckdb::HugeInt>(source)), source.scale);
      case Type::UHugeInt:
        return append_wide(out, static_cast<UnsignedWide>(wide(value<duckdb::HugeInt>(source))), false, 0);
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

Result::Result(const duckdb::Api& api, duckdb::Result result, const std::vector<bool>& json)
    : impl_(std::make_unique<Impl>(api, result)) {
  if (api.result_return_type(result) != duckdb::ResultType::QueryResult) return;
  const uint64_t count = api.column_count(&impl_->result);
  impl_->sources.resize(count);
  for (uint64_t i = 0; i < count; ++i) {
    Impl::Source& source = impl_->sources[i];
    source.type = api.column_type(&impl_->result, i);
    CellKind kind = kind_of(source.type);
    if (source.type == Type::Enum || source.type == Type::Decimal)
      source.logical = api.column_logical_type(&impl_->result, i);
    if (source.type == Type::Enum) {
      source.is_enum = true;
      source.type = api.enum_internal_type(source.logical);
    } else if (source.type == Type::Decimal) {
      source.scale = api.decimal_scale(source.logical);
      source.type = api.decimal_internal_type(source.logical);
    }
    if (i < json.size() && json[i]) kind = CellKind::Json;
    impl_->columns.push_back({api.column_name(&impl_->result, i), kind});
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
