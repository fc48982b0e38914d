/* A program that uses the extension of NVTX for payloads with schemas. Knows nothing of Kymo. */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSync.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct shape {
  int32_t rows, columns;
};
struct operation {
  uint64_t bytes;
  float share;
  int mode;
  struct shape shape;
  char label[12];
  uint16_t counts[4];
  const char* text;
};

static const char one_label[sizeof(((struct operation*)0)->label)];

#define ENTRY(type_, name_, field_) \
  { .type = type_, .name = name_, .offset = offsetof(struct operation, field_) }

static uint64_t register_schemas(nvtxDomainHandle_t domain) {
  static const nvtxPayloadEnum_t modes[] = {{"read", 1, 1}, {"write", 2, 1}, {"idle", 8, 0}};
  const nvtxPayloadEnumAttr_t mode = {.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
                                                   NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                                                   NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE,
                                      .entries = modes,
                                      .numEntries = 3,
                                      .sizeOfEnum = sizeof(int)};
  const nvtxPayloadSchemaEntry_t sides[] = {{.type = NVTX_PAYLOAD_ENTRY_TYPE_INT32, .name = "rows"},
                                            {.type = NVTX_PAYLOAD_ENTRY_TYPE_INT32, .name = "columns"}};
  const uint64_t needed = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                          NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
  const nvtxPayloadSchemaAttr_t shape = {
      .fieldMask = needed, .name = "shape", .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, .entries = sides, .numEntries = 2};
  const uint64_t mode_id = nvtxPayloadEnumRegister(domain, &mode), shape_id = nvtxPayloadSchemaRegister(domain, &shape);
  nvtxPayloadSchemaEntry_t entries[] = {ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "bytes", bytes),
                                        ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, "share", share),
                                        ENTRY(0, "mode", mode),
                                        ENTRY(0, "shape", shape),
                                        ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "label", label),
                                        ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_UINT16, "counts", counts),
                                        ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "text", text)};
  entries[2].type = mode_id;
  entries[3].type = shape_id;
  entries[4].arrayOrUnionDetail = sizeof one_label;
  entries[5].flags = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE;
  entries[5].arrayOrUnionDetail = 4;
  entries[6].flags = NVTX_PAYLOAD_ENTRY_FLAG_POINTER;
  const nvtxPayloadSchemaAttr_t operation = {.fieldMask = needed | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
                                             .name = "operation",
                                             .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
                                             .entries = entries,
                                             .numEntries = sizeof entries / sizeof entries[0],
                                             .payloadStaticSize = sizeof(struct operation)};
  return nvtxPayloadSchemaRegister(domain, &operation);
}

static void payloads(nvtxDomainHandle_t domain) {
  const uint64_t schema = register_schemas(domain);
  struct operation one = {4096, 0.25f, 3, {7, 9}, "first", {1, 2, 3, 4}, "far away"};
  nvtxPayloadData_t data = {schema, sizeof one, &one};
  nvtxEventAttributes_t event;
  memset(&event, 0, sizeof event);
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = "with a payload";
  event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  event.reserved0 = 1;
  event.payload.ullValue = (uint64_t)(uintptr_t)&data;
  const int depth = nvtxDomainRangePushEx(domain, &event);
  const int inner = nvtxRangePushPayload(domain, &data, 1);
  one.text = (const char*)16; /* no memory is there */
  nvtxMarkPayload(domain, &data, 1);
  const int inner_end = nvtxRangePopPayload(domain, NULL, 0), end = nvtxDomainRangePop(domain);
  printf("depths %d %d %d %d\n", depth, inner, inner_end, end);
}

static void names_and_locks(nvtxDomainHandle_t domain) {
  nvtxNameCuStreamA((CUstream)(uintptr_t)0x1234, "copies");
  nvtxSyncUserAttributes_t attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_SYNCUSER_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = "cache";
  const nvtxSyncUser_t lock = nvtxDomainSyncUserCreate(domain, &attributes);
  nvtxDomainSyncUserAcquireStart(lock);
  nvtxDomainSyncUserAcquireFailed(lock);
  nvtxDomainSyncUserAcquireStart(lock);
  nvtxDomainSyncUserAcquireSuccess(lock);
  nvtxDomainSyncUserReleasing(lock);
  nvtxDomainSyncUserDestroy(lock);
}

int main(void) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("extended");
  payloads(domain);
  names_and_locks(domain);
  return 0;
}
