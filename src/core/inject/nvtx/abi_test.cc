// Compares the declarations of abi.h with NVTX's own headers, if they are installed.
#include "inject/nvtx/abi.h"

#include <gtest/gtest.h>

#if KYMO_HAVE_NVTX
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSync.h>

namespace kymo::inject::nvtx {
namespace {

#define EXPECT_SAME_MEMBER(ours, member, theirs, name)                  \
  EXPECT_EQ(offsetof(ours, member), offsetof(theirs, name)) << #member; \
  EXPECT_EQ(sizeof(ours::member), sizeof(theirs::name)) << #member

TEST(NvtxAbiTest, EventsAreTheSameAsInTheHeaders) {
  EXPECT_EQ(sizeof(EventAttributes), sizeof(nvtxEventAttributes_t));
  EXPECT_SAME_MEMBER(EventAttributes, category, nvtxEventAttributes_t, category);
  EXPECT_SAME_MEMBER(EventAttributes, colour_type, nvtxEventAttributes_t, colorType);
  EXPECT_SAME_MEMBER(EventAttributes, colour, nvtxEventAttributes_t, color);
  EXPECT_SAME_MEMBER(EventAttributes, payload_type, nvtxEventAttributes_t, payloadType);
  EXPECT_SAME_MEMBER(EventAttributes, payload_count, nvtxEventAttributes_t, reserved0);
  EXPECT_SAME_MEMBER(EventAttributes, payload, nvtxEventAttributes_t, payload);
  EXPECT_SAME_MEMBER(EventAttributes, message_type, nvtxEventAttributes_t, messageType);
  EXPECT_SAME_MEMBER(EventAttributes, message, nvtxEventAttributes_t, message);
  EXPECT_EQ(sizeof(ResourceAttributes), sizeof(nvtxResourceAttributes_t));
  EXPECT_SAME_MEMBER(ResourceAttributes, identifier, nvtxResourceAttributes_t, identifier);
  EXPECT_SAME_MEMBER(ResourceAttributes, message, nvtxResourceAttributes_t, message);
  EXPECT_EQ(sizeof(SyncAttributes), sizeof(nvtxSyncUserAttributes_t));
  EXPECT_EQ(static_cast<uint32_t>(kExtended), static_cast<uint32_t>(NVTX_PAYLOAD_TYPE_EXT));
  EXPECT_EQ(kNoTracking, NVTX_NO_PUSH_POP_TRACKING);
}

TEST(NvtxAbiTest, ExtensionsAreTheSameAsInTheHeaders) {
  EXPECT_EQ(sizeof(ExtensionInfo), sizeof(nvtxExtModuleInfo_t));
  EXPECT_EQ(sizeof(PayloadData), sizeof(nvtxPayloadData_t));
  EXPECT_EQ(sizeof(SchemaAttributes), sizeof(nvtxPayloadSchemaAttr_t));
  EXPECT_SAME_MEMBER(SchemaAttributes, entry_count, nvtxPayloadSchemaAttr_t, numEntries);
  EXPECT_SAME_MEMBER(SchemaAttributes, id, nvtxPayloadSchemaAttr_t, schemaId);
  EXPECT_EQ(sizeof(SchemaEntryAttributes), sizeof(nvtxPayloadSchemaEntry_t));
  EXPECT_SAME_MEMBER(SchemaEntryAttributes, detail, nvtxPayloadSchemaEntry_t, arrayOrUnionDetail);
  EXPECT_EQ(sizeof(EnumAttributes), sizeof(nvtxPayloadEnumAttr_t));
  EXPECT_SAME_MEMBER(EnumAttributes, id, nvtxPayloadEnumAttr_t, schemaId);
  EXPECT_EQ(sizeof(EnumEntryAttributes), sizeof(nvtxPayloadEnum_t));
  EXPECT_EQ(uint64_t{kTypeTf32}, NVTX_PAYLOAD_ENTRY_TYPE_TF32);
  EXPECT_EQ(uint64_t{kTypeRegistered}, NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE);
  EXPECT_EQ(uint64_t{kTypeSelector}, NVTX_PAYLOAD_ENTRY_TYPE_UNION_SELECTOR);
}

}  // namespace
}  // namespace kymo::inject::nvtx
#endif
