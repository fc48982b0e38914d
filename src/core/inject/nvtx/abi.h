// The binary interface of NVTX 3 between a program and a tool, and that of its extension for payloads with schemas,
// as far as the adapter needs it. Declared here, so that Kymo builds without NVTX's headers;
// abi_test.cc compares it with the headers.
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

// ---- Extensions ----------------------------------------------------------------------------------------------------

struct ExtensionSegment {
  size_t id;
  size_t slot_count;
  intptr_t* slots;  // 0: not initialised, 1: disabled, otherwise a function
};
struct ExtensionInfo {
  uint16_t nvtx_version;
  uint16_t size;
  uint16_t module;  // kPayloadModule
  uint16_t compatibility;
  size_t segment_count;
  ExtensionSegment* segments;
  intptr_t (*get_export)(uint32_t);
  const void* info;
};
inline constexpr uint16_t kPayloadModule = 2;
inline constexpr intptr_t kDisabledSlot = 1;

// ---- Payloads ------------------------------------------------------------------------------------------------------

struct PayloadData {
  uint64_t schema;
  size_t size;  // SIZE_MAX: the schema says it
  const void* data;
};

struct SchemaEntryAttributes {
  uint64_t flags;
  uint64_t type;  // an EntryType, or the id of a schema or an enumeration
  const char* name;
  const char* description;
  uint64_t detail;  // a length, or the index of the entry with the length or the selector
  uint64_t offset;
  const void* semantics;
  const void* reserved;
};
static_assert(sizeof(SchemaEntryAttributes) == 64);

struct SchemaAttributes {
  uint64_t fields;  // SchemaField bits: which members are valid
  const char* name;
  uint64_t type;  // SchemaType
  uint64_t flags;
  const SchemaEntryAttributes* entries;
  size_t entry_count;
  size_t static_size;
  size_t pack_alignment;
  uint64_t id;
  void* extension;
};
enum SchemaField : uint64_t {
  kSchemaName = 1 << 1,
  kSchemaType = 1 << 2,
  kSchemaFlags = 1 << 3,
  kSchemaEntries = 1 << 4,
  kSchemaEntryCount = 1 << 5,
  kSchemaStaticSize = 1 << 6,
  kSchemaAlignment = 1 << 7,
  kSchemaId = 1 << 8
};
enum SchemaType : uint64_t { kStaticSchema = 1, kDynamicSchema = 2, kUnionSchema = 3, kSelfSelectingUnion = 4 };

struct EnumEntryAttributes {
  const char* name;
  uint64_t value;
  int8_t is_flag;
};
struct EnumAttributes {
  uint64_t fields;  // EnumField bits
  const char* name;
  const EnumEntryAttributes* entries;
  size_t entry_count;
  size_t size;
  uint64_t id;
  void* extension;
};
enum EnumField : uint64_t { kEnumEntries = 1 << 2, kEnumEntryCount = 1 << 3, kEnumSize = 1 << 4, kEnumId = 1 << 5 };

enum EntryFlag : uint64_t {
  kPointerFlag = 1 << 1,
  kOffsetFromBase = 1 << 2,
  kOffsetFromHere = 1 << 3,
  kArrayFlags = 7 << 4,
  kFixedArray = 1 << 4,
  kTerminatedArray = 2 << 4,
  kCountedArray = 3 << 4,
  kHiddenFlag = 1 << 9,
  kMessageFlag = 1 << 10
};

enum EntryType : uint64_t {
  kTypeChar = 1,
  kTypeUchar = 2,
  kTypeShort = 3,
  kTypeUshort = 4,
  kTypeInt = 5,
  kTypeUint = 6,
  kTypeLong = 7,
  kTypeUlong = 8,
  kTypeLongLong = 9,
  kTypeUlongLong = 10,
  kTypeInt8 = 11,
  kTypeUint8 = 12,
  kTypeInt16 = 13,
  kTypeUint16 = 14,
  kTypeInt32 = 15,
  kTypeUint32 = 16,
  kTypeInt64 = 17,
  kTypeUint64 = 18,
  kTypeFloat = 19,
  kTypeDouble = 20,
  kTypeLongDouble = 21,
  kTypeSize = 22,
  kTypeAddress = 23,
  kTypeWchar = 24,
  kTypeChar8 = 25,
  kTypeChar16 = 26,
  kTypeChar32 = 27,
  kTypeByte = 32,
  kTypeInt128 = 33,
  kTypeUint128 = 34,
  kTypeFloat16 = 42,
  kTypeFloat32 = 43,
  kTypeFloat64 = 44,
  kTypeFloat128 = 45,
  kTypeBfloat16 = 50,
  kTypeTf32 = 52,
  kTypeCategory = 68,
  kTypeColour = 69,
  kTypeScope = 70,
  kTypePid32 = 71,
  kTypePid64 = 72,
  kTypeTid32 = 73,
  kTypeTid64 = 74,
  kTypeString = 75,
  kTypeUtf8 = 76,
  kTypeUtf16 = 77,
  kTypeUtf32 = 78,
  kTypeRegistered = 80,
  kTypeSelector = 100
};
// Ids of a payload that is only pointed into, and of one without a layout.
inline constexpr uint64_t kReferencedPayload = 1022, kRawPayload = 1023;
inline constexpr uint64_t kFirstStaticId = 1 << 24, kFirstDynamicId = uint64_t{1} << 32;

}  // namespace kymo::inject::nvtx
