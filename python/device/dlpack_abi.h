// The structures of DLPack, as other libraries lay them out.
#pragma once

#include <cstdint>

namespace kymo::python::dlpack {

struct Device {
  int32_t type;
  int32_t id;
};
struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct View {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: packed, in row-major order
  uint64_t byte_offset;
};

struct Managed {
  View view;
  void* context;
  void (*deleter)(Managed*);
};

struct Version {
  uint32_t major, minor;
};
struct VersionedManaged {
  Version version;
  void* context;
  void (*deleter)(VersionedManaged*);
  uint64_t flags;
  View view;
};

// The functions of a library in C, from version 1.3 on: an attribute of its type of tensors. All of them return 0, or
// -1 with a Python exception set, and none orders streams.
struct ExchangeHeader {
  Version version;
  ExchangeHeader* previous;  // the table of an older major version; may be null
};
struct Exchange {
  ExchangeHeader header;
  int (*allocate)(View* like, VersionedManaged** out, void* context,
                  void (*set_error)(void* context, const char* kind, const char* message));
  int (*managed_from_object)(void* object, VersionedManaged** out);
  int (*object_from_managed)(VersionedManaged* managed, void** out);
  int (*view_of_object)(void* object, View* out);  // may be null. Valid as long as the object is not changed
  int (*current_stream)(int32_t device_type, int32_t device_id, void** out);
};
inline constexpr const char* kExchangeAttribute = "__dlpack_c_exchange_api__";
inline constexpr const char* kExchangeName = "dlpack_exchange_api";

inline constexpr uint64_t kReadOnly = 1, kIsCopied = 2;
inline constexpr Version kVersion{1, 0};
inline constexpr const char* kName = "dltensor";
inline constexpr const char* kUsedName = "used_dltensor";
inline constexpr const char* kVersionedName = "dltensor_versioned";
inline constexpr const char* kUsedVersionedName = "used_dltensor_versioned";

}  // namespace kymo::python::dlpack
