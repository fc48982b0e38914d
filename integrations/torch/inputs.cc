#include "inputs.h"

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <algorithm>

namespace kymo::edge {

namespace {

// Longer lists are data, not arguments, and would be copied into the trace.
constexpr size_t kLongestList = 1024;

template <class T>
std::span<const T> span_of(c10::ArrayRef<T> values) {
  return {values.data(), values.size()};
}

Element element_of(at::ScalarType type) {
  switch (type) {
    case at::ScalarType::Bool:
      return Element::Bool;
    case at::ScalarType::Byte:
      return Element::Byte;
    case at::ScalarType::Char:
      return Element::Char;
    case at::ScalarType::Short:
      return Element::Short;
    case at::ScalarType::Int:
      return Element::Int;
    case at::ScalarType::Long:
      return Element::Long;
    case at::ScalarType::Half:
      return Element::Half;
    case at::ScalarType::BFloat16:
      return Element::BFloat16;
    case at::ScalarType::Float:
      return Element::Float;
    case at::ScalarType::Double:
      return Element::Double;
    case at::ScalarType::ComplexHalf:
      return Element::ComplexHalf;
    case at::ScalarType::ComplexFloat:
      return Element::ComplexFloat;
    case at::ScalarType::ComplexDouble:
      return Element::ComplexDouble;
    case at::ScalarType::QInt8:
      return Element::QInt8;
    case at::ScalarType::QUInt8:
      return Element::QUInt8;
    case at::ScalarType::QInt32:
      return Element::QInt32;
    default:
      return Element::Unknown;
  }
}

// Everything that may throw comes before the first byte is written.
void put_tensor(const at::Tensor& tensor, Inputs& inputs) {
  if (!tensor.defined()) return inputs.none();
  const c10::TensorImpl& implementation = *tensor.unsafeGetTensorImpl();
  if (implementation.key_set().has(c10::DispatchKey::NestedTensor) || implementation.has_symbolic_sizes_strides())
    return inputs.other();
  const Element element = element_of(tensor.scalar_type());
  const std::span<const int64_t> sizes = span_of(implementation.sizes());
  std::span<const int64_t> strides;
  if (implementation.layout() == c10::kStrided) strides = span_of(implementation.strides());
  inputs.tensor(element, sizes, strides);
}

void put_tensor_or_other(const at::Tensor& tensor, Inputs& inputs) {
  try {
    put_tensor(tensor, inputs);
  } catch (const c10::Error&) {  // a tensor of a kind that does not support these functions
    inputs.other();
  }
}

template <class Is>
bool all(c10::ArrayRef<c10::IValue> values, Is is) {
  return std::all_of(values.begin(), values.end(), is);
}

template <class T, class Get>
c10::SmallVector<T, 16> numbers(c10::ArrayRef<c10::IValue> values, Get get) {
  c10::SmallVector<T, 16> numbers;
  for (const c10::IValue& value : values) numbers.push_back(get(value));
  return numbers;
}

void put_empty_list(c10::TypeKind of, Inputs& inputs) {
  static constexpr int64_t kInteger = 0;
  static constexpr double kReal = 0;
  static constexpr uint8_t kBoolean = 0;
  switch (of) {
    case c10::TypeKind::TensorType:
      return inputs.tensor_list(0);
    case c10::TypeKind::IntType:
      return inputs.integers({&kInteger, 0});
    case c10::TypeKind::FloatType:
      return inputs.reals({&kReal, 0});
    case c10::TypeKind::BoolType:
      return inputs.booleans({&kBoolean, 0});
    default:
      return inputs.other();
  }
}

void put_list(const c10::IValue& list, Inputs& inputs) {
  const c10::ArrayRef<c10::IValue> values = list.toListRef();
  if (values.size() > kLongestList) return inputs.other();
  if (values.empty()) return put_empty_list(list.toList().elementType()->kind(), inputs);
  if (all(values, [](const c10::IValue& value) { return value.isInt(); })) {
    const auto kept = numbers<int64_t>(values, [](const c10::IValue& value) { return value.toInt(); });
    return inputs.integers({kept.data(), kept.size()});
  }
  if (all(values, [](const c10::IValue& value) { return value.isTensor() || value.isNone(); })) {
    inputs.tensor_list(static_cast<uint32_t>(values.size()));
    for (const c10::IValue& value : values) {
      if (value.isTensor())
        put_tensor_or_other(value.toTensor(), inputs);
      else
        inputs.none();
    }
    return;
  }
  if (all(values, [](const c10::IValue& value) { return value.isDouble(); })) {
    const auto kept = numbers<double>(values, [](const c10::IValue& value) { return value.toDouble(); });
    return inputs.reals({kept.data(), kept.size()});
  }
  if (all(values, [](const c10::IValue& value) { return value.isBool(); })) {
    const auto kept = numbers<uint8_t>(values, [](const c10::IValue& value) { return value.toBool(); });
    return inputs.booleans({kept.data(), kept.size()});
  }
  inputs.other();
}

void put(const c10::IValue& value, Inputs& inputs) {
  if (value.isTensor()) return put_tensor(value.toTensor(), inputs);
  if (value.isInt()) return inputs.integer(value.toInt());
  if (value.isNone()) return inputs.none();
  if (value.isBool()) return inputs.boolean(value.toBool());
  if (value.isDouble()) return inputs.real(value.toDouble());
  if (value.isList()) return put_list(value, inputs);
  if (value.isString()) return inputs.text(value.toStringRef());
  inputs.other();
}

}  // namespace

void put_inputs(c10::ArrayRef<const c10::IValue> values, Inputs& inputs) noexcept try {
  for (const c10::IValue& value : values) {
    try {
      put(value, inputs);
    } catch (const c10::Error&) {  // a value of a kind that does not support these functions
      inputs.other();
    }
  }
} catch (...) {  // no memory: the inputs so far are kept
}

}  // namespace kymo::edge
