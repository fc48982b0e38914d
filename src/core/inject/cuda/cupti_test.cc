// Our declarations of CUPTI against NVIDIA's headers, where those are installed.
#include "inject/cuda/cupti.h"

#include <gtest/gtest.h>

#if __has_include(<cupti.h>)
#include <cuda.h>
#include <cupti.h>
#include <cupti_pcsampling.h>

namespace kymo::inject::cuda {
namespace {

#define EXPECT_SAME_PLACE(Ours, ours, Theirs, theirs)                 \
  EXPECT_EQ(offsetof(Ours, ours), offsetof(Theirs, theirs)) << #ours; \
  EXPECT_EQ(sizeof(Ours::ours), sizeof(Theirs::theirs)) << #ours

TEST(CuptiAbiTest, Kernel) {
  using Theirs = CUpti_ActivityKernel10;
  EXPECT_SAME_PLACE(Kernel, kind, Theirs, kind);
  EXPECT_SAME_PLACE(Kernel, registers, Theirs, registersPerThread);
  EXPECT_SAME_PLACE(Kernel, start, Theirs, start);
  EXPECT_SAME_PLACE(Kernel, end, Theirs, end);
  EXPECT_SAME_PLACE(Kernel, device, Theirs, deviceId);
  EXPECT_SAME_PLACE(Kernel, context, Theirs, contextId);
  EXPECT_SAME_PLACE(Kernel, stream, Theirs, streamId);
  EXPECT_EQ(offsetof(Kernel, grid), offsetof(Theirs, gridX));
  EXPECT_EQ(offsetof(Kernel, block), offsetof(Theirs, blockX));
  EXPECT_SAME_PLACE(Kernel, static_shared, Theirs, staticSharedMemory);
  EXPECT_SAME_PLACE(Kernel, dynamic_shared, Theirs, dynamicSharedMemory);
  EXPECT_SAME_PLACE(Kernel, correlation, Theirs, correlationId);
  EXPECT_SAME_PLACE(Kernel, name, Theirs, name);
  EXPECT_SAME_PLACE(Kernel, graph_node, Theirs, graphNodeId);
  EXPECT_LE(sizeof(Kernel), sizeof(Theirs));
}

TEST(CuptiAbiTest, CopiesAndFills) {
  EXPECT_SAME_PLACE(Copy, direction, CUpti_ActivityMemcpy6, copyKind);
  EXPECT_SAME_PLACE(Copy, bytes, CUpti_ActivityMemcpy6, bytes);
  EXPECT_SAME_PLACE(Copy, start, CUpti_ActivityMemcpy6, start);
  EXPECT_SAME_PLACE(Copy, device, CUpti_ActivityMemcpy6, deviceId);
  EXPECT_SAME_PLACE(Copy, stream, CUpti_ActivityMemcpy6, streamId);
  EXPECT_SAME_PLACE(Copy, correlation, CUpti_ActivityMemcpy6, correlationId);
  EXPECT_SAME_PLACE(Copy, graph_node, CUpti_ActivityMemcpy6, graphNodeId);
  EXPECT_SAME_PLACE(PeerCopy, bytes, CUpti_ActivityMemcpyPtoP4, bytes);
  EXPECT_SAME_PLACE(PeerCopy, stream, CUpti_ActivityMemcpyPtoP4, streamId);
  EXPECT_SAME_PLACE(PeerCopy, target_device, CUpti_ActivityMemcpyPtoP4, dstDeviceId);
  EXPECT_SAME_PLACE(PeerCopy, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
  EXPECT_SAME_PLACE(Fill, bytes, CUpti_ActivityMemset4, bytes);
  EXPECT_SAME_PLACE(Fill, start, CUpti_ActivityMemset4, start);
  EXPECT_SAME_PLACE(Fill, stream, CUpti_ActivityMemset4, streamId);
  EXPECT_SAME_PLACE(Fill, correlation, CUpti_ActivityMemset4, correlationId);
  EXPECT_SAME_PLACE(Fill, graph_node, CUpti_ActivityMemset4, graphNodeId);
}

TEST(CuptiAbiTest, OtherRecords) {
  EXPECT_SAME_PLACE(Graph, correlation, CUpti_ActivityGraphTrace2, correlationId);
  EXPECT_SAME_PLACE(Graph, start, CUpti_ActivityGraphTrace2, start);
  EXPECT_SAME_PLACE(Graph, graph, CUpti_ActivityGraphTrace2, graphId);
  EXPECT_SAME_PLACE(Graph, stream, CUpti_ActivityGraphTrace2, streamId);
  EXPECT_SAME_PLACE(Overhead, cause, CUpti_ActivityOverhead3, overheadKind);
  EXPECT_SAME_PLACE(Overhead, start, CUpti_ActivityOverhead3, start);
  EXPECT_SAME_PLACE(Overhead, end, CUpti_ActivityOverhead3, end);
}

TEST(CuptiAbiTest, PcSampling) {
  EXPECT_EQ(sizeof(PcReason), sizeof(CUpti_PCSamplingStallReason));
  EXPECT_EQ(sizeof(PcRecord), sizeof(CUpti_PCSamplingPCData));
  EXPECT_SAME_PLACE(PcRecord, offset, CUpti_PCSamplingPCData, pcOffset);
  EXPECT_SAME_PLACE(PcRecord, function, CUpti_PCSamplingPCData, functionName);
  EXPECT_SAME_PLACE(PcRecord, reasons, CUpti_PCSamplingPCData, stallReason);
  EXPECT_EQ(sizeof(PcSamples), sizeof(CUpti_PCSamplingData));
  EXPECT_SAME_PLACE(PcSamples, capacity, CUpti_PCSamplingData, collectNumPcs);
  EXPECT_SAME_PLACE(PcSamples, dropped, CUpti_PCSamplingData, droppedSamples);
  EXPECT_SAME_PLACE(PcSamples, count, CUpti_PCSamplingData, totalNumPcs);
  EXPECT_SAME_PLACE(PcSamples, remaining, CUpti_PCSamplingData, remainingNumPcs);
  EXPECT_SAME_PLACE(PcSamples, records, CUpti_PCSamplingData, pPcData);
  EXPECT_EQ(sizeof(PcContext), CUpti_PCSamplingEnableParamsSize);
  EXPECT_SAME_PLACE(PcContext, context, CUpti_PCSamplingDisableParams, ctx);
  EXPECT_EQ(sizeof(PcRead), CUpti_PCSamplingGetDataParamsSize);
  EXPECT_SAME_PLACE(PcRead, samples, CUpti_PCSamplingGetDataParams, pcSamplingData);
  EXPECT_EQ(sizeof(PcReasonCount), CUpti_PCSamplingGetNumStallReasonsParamsSize);
  EXPECT_EQ(sizeof(PcReasonNames), CUpti_PCSamplingGetStallReasonsParamsSize);
  EXPECT_SAME_PLACE(PcReasonNames, numbers, CUpti_PCSamplingGetStallReasonsParams, stallReasonIndex);
  EXPECT_EQ(sizeof(PcConfig), sizeof(CUpti_PCSamplingConfigurationInfo));
  EXPECT_EQ(offsetof(PcConfig, reasons.numbers),
            offsetof(CUpti_PCSamplingConfigurationInfo, attributeData.stallReasonData.pStallReasonIndex));
  EXPECT_EQ(sizeof(PcConfigure), CUpti_PCSamplingConfigurationInfoParamsSize);
  EXPECT_SAME_PLACE(PcConfigure, config, CUpti_PCSamplingConfigurationInfoParams, pPCSamplingConfigurationInfo);
  EXPECT_EQ(sizeof(CubinNumber), CUpti_GetCubinCrcParamsSize);
  EXPECT_SAME_PLACE(CubinNumber, cubin, CUpti_GetCubinCrcParams, cubin);
  EXPECT_EQ(sizeof(CubinLine), CUpti_GetSassToSourceCorrelationParamsSize);
  EXPECT_SAME_PLACE(CubinLine, offset, CUpti_GetSassToSourceCorrelationParams, pcOffset);
  EXPECT_SAME_PLACE(CubinLine, folder, CUpti_GetSassToSourceCorrelationParams, dirName);
  EXPECT_SAME_PLACE(ResourceData, module, CUpti_ResourceData, resourceDescriptor);
  EXPECT_SAME_PLACE(Module, cubin, CUpti_ModuleResourceData, pCubin);
}

TEST(CuptiAbiTest, Calls) {
  EXPECT_SAME_PLACE(CallData, site, CUpti_CallbackData, callbackSite);
  EXPECT_SAME_PLACE(CallData, parameters, CUpti_CallbackData, functionParams);
  EXPECT_SAME_PLACE(CallData, result, CUpti_CallbackData, functionReturnValue);
  EXPECT_SAME_PLACE(CallData, context, CUpti_CallbackData, context);
  EXPECT_SAME_PLACE(CallData, context_id, CUpti_CallbackData, contextUid);
  EXPECT_SAME_PLACE(CallData, memory, CUpti_CallbackData, correlationData);
  EXPECT_SAME_PLACE(CallData, correlation, CUpti_CallbackData, correlationId);
  EXPECT_EQ(sizeof(SubscriberParameters), sizeof(CUpti_SubscriberParams));
  EXPECT_SAME_PLACE(SubscriberParameters, other_name, CUpti_SubscriberParams, oldSubscriberName);
  EXPECT_SAME_PLACE(AllocateParameters, bytes, cuMemAlloc_v2_params, bytesize);
  EXPECT_SAME_PLACE(AllocateParameters, bytes, cuMemAllocAsync_params, bytesize);
  EXPECT_SAME_PLACE(AllocateParameters, bytes, cuMemAllocManaged_params, bytesize);
  EXPECT_SAME_PLACE(AllocateParameters, bytes, cuMemAllocFromPoolAsync_params, bytesize);
  EXPECT_SAME_PLACE(PitchParameters, pitch, cuMemAllocPitch_v2_params, pPitch);
  EXPECT_SAME_PLACE(PitchParameters, height, cuMemAllocPitch_v2_params, Height);
  EXPECT_SAME_PLACE(FreeParameters, address, cuMemFreeAsync_params, dptr);
}

TEST(CuptiAbiTest, Graphs) {
  EXPECT_SAME_PLACE(GraphData, graph, CUpti_GraphData, graph);
  EXPECT_SAME_PLACE(GraphData, original_graph, CUpti_GraphData, originalGraph);
  EXPECT_SAME_PLACE(GraphData, node, CUpti_GraphData, node);
  EXPECT_SAME_PLACE(GraphData, original_node, CUpti_GraphData, originalNode);
  EXPECT_SAME_PLACE(GraphData, executable, CUpti_GraphData, graphExec);
  EXPECT_SAME_PLACE(ResourceData, graph, CUpti_ResourceData, resourceDescriptor);
  EXPECT_EQ(kResourceDomain, CUPTI_CB_DOMAIN_RESOURCE);
  EXPECT_EQ(kNodeCreated, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
  EXPECT_EQ(kNodeCloned, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
  EXPECT_EQ(kGraphMadeExecutable, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED);
}

TEST(CuptiAbiTest, StreamsOfCalls) {
  EXPECT_SAME_PLACE(LaunchParameters, stream, cuLaunchKernel_params, hStream);
  EXPECT_SAME_PLACE(LaunchParameters, stream, cuLaunchCooperativeKernel_params, hStream);
  EXPECT_SAME_PLACE(LaunchConfig, stream, CUlaunchConfig, hStream);
  EXPECT_EQ(offsetof(cuLaunchKernelEx_params, config), 0u);
  EXPECT_EQ(offsetof(cuGraphLaunch_params, hStream), 8u);
  EXPECT_EQ(offsetof(cuStreamSynchronize_params, hStream), 0u);
  EXPECT_EQ(offsetof(cuStreamWaitEvent_params, hStream), 0u);
  EXPECT_EQ(offsetof(cuLaunchHostFunc_params, hStream), 0u);
  EXPECT_EQ(offsetof(cuMemcpyHtoDAsync_v2_params, hStream), 24u);
  EXPECT_EQ(offsetof(cuMemcpyDtoHAsync_v2_params, hStream), 24u);
  EXPECT_EQ(offsetof(cuMemcpyDtoDAsync_v2_params, hStream), 24u);
  EXPECT_EQ(offsetof(cuMemcpyAsync_params, hStream), 24u);
  EXPECT_EQ(offsetof(cuMemsetD8Async_params, hStream), 24u);
  EXPECT_EQ(offsetof(cuMemsetD16Async_params, hStream), 24u);
  EXPECT_EQ(offsetof(cuMemsetD32Async_params, hStream), 24u);
}

TEST(CuptiAbiTest, Numbers) {
  EXPECT_EQ(kOtherSubscriber, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_EQ(kDriverDomain, CUPTI_CB_DOMAIN_DRIVER_API);
  EXPECT_EQ(static_cast<int>(kExit), static_cast<int>(CUPTI_API_EXIT));
  EXPECT_EQ(static_cast<int>(Kind::Copy), static_cast<int>(CUPTI_ACTIVITY_KIND_MEMCPY));
  EXPECT_EQ(static_cast<int>(Kind::Fill), static_cast<int>(CUPTI_ACTIVITY_KIND_MEMSET));
  EXPECT_EQ(static_cast<int>(Kind::Kernel), static_cast<int>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  EXPECT_EQ(static_cast<int>(Kind::Overhead), static_cast<int>(CUPTI_ACTIVITY_KIND_OVERHEAD));
  EXPECT_EQ(static_cast<int>(Kind::PeerCopy), static_cast<int>(CUPTI_ACTIVITY_KIND_MEMCPY2));
  EXPECT_EQ(static_cast<int>(Kind::Graph), static_cast<int>(CUPTI_ACTIVITY_KIND_GRAPH_TRACE));
  EXPECT_EQ(static_cast<int>(kHostToDevice), static_cast<int>(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD));
  EXPECT_EQ(static_cast<int>(kDeviceToHost), static_cast<int>(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH));
  EXPECT_EQ(static_cast<int>(kDeviceToDevice), static_cast<int>(CUPTI_ACTIVITY_MEMCPY_KIND_DTOD));
  EXPECT_EQ(static_cast<int>(kHostToHost), static_cast<int>(CUPTI_ACTIVITY_MEMCPY_KIND_HTOH));
  EXPECT_EQ(static_cast<int>(kPeerToPeer), static_cast<int>(CUPTI_ACTIVITY_MEMCPY_KIND_PTOP));
}

#undef EXPECT_SAME_PLACE

}  // namespace
}  // namespace kymo::inject::cuda
#else
TEST(CuptiAbiTest, AgreesWithTheHeaders) { GTEST_SKIP() << "the headers of CUPTI are not installed"; }
#endif
