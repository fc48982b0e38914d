#include "device/dtypes.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "support/arguments.h"
#include "support/errors.h"

namespace kymo::python {
namespace {

using device::DType;

enum DlpackCode : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBFloat = 4, kBool = 6 };

// In the order of DType. An 8-byte integer is C's long here, as NumPy names it.
constexpr DTypeNames kNames[] = {
    {DType::F16, "float16", "e", kFloat}, {DType::BF16, "bfloat16", nullptr, kBFloat},
    {DType::F32, "float32", "f", kFloat}, {DType::F64, "float64", "d", kFloat},
    {DType::I8, "int8", "b", kInt},       {DType::U8, "uint8", "B", kUInt},
    {DType::I16, "int16", "h", kInt},     {DType::U16, "uint16", "H", kUInt},
    {DType::I32, "int32", "i", kInt},     {DType::U32, "uint32", "I", kUInt},
    {DType::I64, "int64", "l", kInt},     {DType::U64, "uint64", "L", kUInt},
    {DType::Bool, "bool", "?", kBool},
};

}  // namespace

const DTypeNames& names_of(DType type) { return kNames[static_cast<size_t>(type) - 1]; }

DType dtype_argument(PyObject* object) {
  const Text text(object, "dtype");
  if (!text.is_valid()) throw PythonErrorSet{};
  const auto found = std::ranges::find_if(kNames, [&](const DTypeNames& names) { return names.name == text.view(); });
  if (found != std::end(kNames)) return found->type;
  std::string known;
  for (const DTypeNames& names : kNames) known.append(known.empty() ? "" : ", ").append(names.name);
  PyErr_Format(PyExc_TypeError, "%R is not a dtype of tensors; these are: %s", object, known.c_str());
  throw PythonErrorSet{};
}

std::optional<DType> dtype_of_format(std::string_view format, Py_ssize_t size) {
  if (!format.empty() && (format[0] == '@' || format[0] == '=' || format[0] == '<')) format.remove_prefix(1);
  if (format.size() != 1) return std::nullopt;
  const char letter = format[0];
  const bool floating = letter == 'e' || letter == 'f' || letter == 'd';
  const bool is_signed = std::string_view("bhilqn").find(letter) != std::string_view::npos;
  const bool is_unsigned = std::string_view("BHILQN").find(letter) != std::string_view::npos;
  if (letter == '?' && size == 1) return DType::Bool;
  if (!floating && !is_signed && !is_unsigned) return std::nullopt;
  const uint8_t code = floating ? kFloat : is_signed ? kInt : kUInt;
  return dtype_of_dlpack(code, static_cast<uint8_t>(size * 8), 1);
}

std::optional<DType> dtype_of_dlpack(uint8_t code, uint8_t bits, uint16_t lanes) {
  if (lanes != 1) return std::nullopt;
  for (const DTypeNames& names : kNames)
    if (names.code == code && device::size_of(names.type) * 8 == bits) return names.type;
  return std::nullopt;
}

}  // namespace kymo::python
