// The binary interface of NVTX 3 between a program and a tool, as far as the adapter needs it. Declared here, so that
// Kymo builds without NVTX's headers; abi_test.cc compares it with the headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kymo::inject::nvtx {

// ---- Attaching to an image -----------------------------------------------------------------------------------------

// Every image (program, shared library) that uses NVTX has its own function pointers, the slots. The first call in an
// image loads the tool and calls InitializeInjectionNvtx2 with a function of this type.
using GetExportTable = const void* (*)(uint32_t table);
enum Table : uint32_t { kCallbacksTable = 1, kVersionTable = 3 };

using Slot = void*;              // null: the call does nothing
using SlotTable = Slot* const*;  // pointers to the slots of the image, by the number of the function
enum Module : uint32_t { kCore = 1, kCuda = 2, kOpenCl = 3, kCudaRuntime = 4, kCore2 = 5, kSync = 6 };
inline constexpr uint32_t kModules = 6;

struct CallbacksTable {
  size_t size;
  int (*get_module)(uint32_t module, Slot* const** table,
                    uint32_t* count);  // `count` includes number 0, which is unused
};
struct VersionTable {
  size_t size;
  uint32_t version, reserved;
  void (*set_tool_version)(uint32_t version);
};

// ---- Events --------------------------------------------------------------------------------------------------------

enum MessageType : int32_t { kNoMessage = 0, kAscii = 1, kWide = 2, kRegistered = 3 };
enum ColourType : int32_t { kNoColour = 0, kArgb = 1 };
enum PayloadType : int32_t {
  kNoPayload = 0,
  kUint64 = 1,
  kInt64 = 2,
  kDouble = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat = 6,
  kExtended = static_cast<int32_t>(0xDFBD0009)
};

struct RegisteredString;  // domain.h
union MessageValue {
  const char* ascii;
  const wchar_t* wide;
  RegisteredString* registered;
};
union PayloadValue {
  uint64_t as_uint64;
  int64_t as_int64;
  double as_double;
  uint32_t as_uint32;
  int32_t as_int32;
  float as_float;
  const void* as_pointer;
};

struct EventAttributes {
  uint16_t version;
  uint16_t size;
  uint32_t category;
  int32_t colour_type;
  uint32_t colour;
  int32_t payload_type;
  int32_t payload_count;  // of an extended payload
  PayloadValue payload;
  int32_t message_type;
  MessageValue message;
};
static_assert(sizeof(EventAttributes) == 48 && offsetof(EventAttributes, message) == 40);

struct ResourceAttributes {
  uint16_t version;
  uint16_t size;
  int32_t identifier_type;  // class << 16 | index
  uint64_t identifier;
  int32_t message_type;
  MessageValue message;
};
static_assert(sizeof(ResourceAttributes) == 32 && offsetof(ResourceAttributes, message) == 24);

struct SyncAttributes {
  uint16_t version;
  uint16_t size;
  int32_t message_type;
  MessageValue message;
};
static_assert(sizeof(SyncAttributes) == 16);

inline constexpr int kNoTracking = -2;  // what push and pop return without a tool

}  // namespace kymo::inject::nvtx
