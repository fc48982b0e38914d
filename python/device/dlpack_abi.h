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

inline constexpr uint64_t kReadOnly = 1, kIsCopied = 2;
inline constexpr Version kVersion{1, 0};
inline constexpr const char* kName = "dltensor";
inline constexpr const char* kUsedName = "used_dltensor";
inline constexpr const char* kVersionedName = "dltensor_versioned";
inline constexpr const char* kUsedVersionedName = "used_dltensor_versioned";

}  // namespace kymo::python::dlpack
