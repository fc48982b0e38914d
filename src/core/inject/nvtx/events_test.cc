// Depths, names and messages, without a recording.
#include "inject/nvtx/events.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "inject/nvtx/domain.h"
#include "inject/nvtx/hot_path.h"
#include "inject/nvtx/numbered_text.h"
#include "inject/resource_names.h"

namespace kymo::inject::nvtx {
namespace {

TEST(NvtxDepthTest, DomainsAndThreadsCountOnTheirOwn) {
  begin_activity(true);
  Domain &one = *create_domain("depth one"), &two = *create_domain("depth two");
  EXPECT_EQ(push_text(one, "a"), 0);
  EXPECT_EQ(push_text(one, "b"), 1);
  EXPECT_EQ(push_text(two, "c"), 0);
  std::thread([&] {
    EXPECT_EQ(pop(one), -1);
    EXPECT_EQ(push_text(one, "d"), 0);
  }).join();
  EXPECT_EQ(pop(one), 1);
  EXPECT_EQ(pop(one), 0);
  EXPECT_EQ(pop(one), -1);
  EXPECT_EQ(pop(two), 0);
}

TEST(NvtxDepthTest, ATimeWithoutCallsForgetsTheDepths) {
  Domain& domain = *create_domain("depth activity");
  push_text(domain, "a");
  begin_activity(false);
  EXPECT_EQ(pop(domain), -1);
  EXPECT_EQ(push_text(domain, "b"), 0);
}

TEST(NvtxDepthTest, ThousandsOfDomainsHaveDepths) {
  Domain& first = *create_domain("first of many");
  EXPECT_EQ(push_text(first, "a"), 0);
  std::vector<Domain*> all;
  for (int i = 0; i < 3000; ++i) all.push_back(create_domain("domain " + std::to_string(i)));
  for (Domain* domain : all) EXPECT_EQ(push_text(*domain, "a"), 0);
  for (Domain* domain : all) EXPECT_EQ(pop(*domain), 0);
  EXPECT_EQ(pop(first), 0);
}

TEST(NvtxNumberedTextTest, NumbersAfterAnEqualsSignHavePlaces) {
  const NumberedText text("aten::addmm, seq = 71, op_id = 1034");
  EXPECT_EQ(text.name(), "aten::addmm, seq = {}, op_id = {}");
  ASSERT_EQ(text.count(), 2u);
  EXPECT_EQ(text.args()[0].value.as_uint, 71u);
  EXPECT_EQ(text.args()[1].value.as_uint, 1034u);
  const NumberedText xla("XlaCompileBackend:#module=jit_step,program_id=2000#");
  EXPECT_EQ(xla.name(), "XlaCompileBackend:#module=jit_step,program_id={}#");
  ASSERT_EQ(xla.count(), 1u);
}

TEST(NvtxNumberedTextTest, OtherTextsStayAsTheyAre) {
  for (const char* text :
       {"", "=", "step 7", "conv2d", "x = y2", "x = 2d", "x=1.5", "x = 99999999999999999999999", "{} = 7"})
    EXPECT_EQ(NumberedText(text).count(), 0u) << text;
  EXPECT_EQ(NumberedText(std::string(5000, '=') + "7").count(), 0u);
  EXPECT_EQ(NumberedText("a=1 b=2 c=3 d=4 e=5").name(), "a={} b={} c={} d={} e=5");
}

TEST(NvtxDomainTest, ANameHasOneDomain) {
  EXPECT_EQ(create_domain("same"), create_domain("same"));
  EXPECT_NE(create_domain("same"), create_domain("other"));
  EXPECT_EQ(create_domain("kymo")->stack, 0) << "Kymo's own annotations";
}

TEST(NvtxDomainTest, TheLastNameOfACategoryCounts) {
  Domain& domain = *create_domain("categories");
  EXPECT_EQ(category_name(domain, 3), "");
  name_category(domain, 3, "first");
  name_category(domain, 3, "second");
  name_category(domain, 4, "other");
  EXPECT_EQ(category_name(domain, 3), "second");
}

TEST(NvtxMessageTest, WideTextsBecomeUtf8) {
  EXPECT_EQ(Text(L"a\u00e4\u20ac\U0001f600").view(), "aä€😀");
  const wchar_t wrong[] = {0x110000, 0xd800, 0};
  EXPECT_EQ(Text(wrong).view(), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(Text(static_cast<const wchar_t*>(nullptr)).view(), kUnnamed);
  EXPECT_EQ(Text(static_cast<const char*>(nullptr)).view(), kUnnamed);
  const std::wstring endless(10'000, L'\u20ac');
  EXPECT_LE(Text(endless.c_str()).view().size(), kMaxConvertedBytes + 4);
  const std::string longer(1023, 'x');
  EXPECT_EQ(Text((longer + "ä and more").c_str()).view(), longer) << "no half of a character";
  EXPECT_EQ(Text((longer + "yz").c_str()).view(), longer + "y");
  EXPECT_EQ(Text(std::string(2000, '{').c_str()).as_name().size(), 1024u);
}

TEST(NvtxMessageTest, BracesAreDoubledForANameWithArguments) {
  Text text("a {b} c");
  EXPECT_EQ(text.as_name(), "a {{b}} c");
  EXPECT_EQ(Text("plain").as_name(), "plain");
}

// The comparison reads whole words, but never a page that the text is not on.
TEST(NvtxMessageTest, ATextAtTheEndOfAPageIsNotReadBeyondIt) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* const memory =
      static_cast<char*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  mprotect(memory + page, page, PROT_NONE);
  char* const text = memory + page - 6;
  strcpy(text, "short");
  RecentMessage recent{};
  recent.words = 1;
  recent.last_mask = (uint64_t{1} << 48) - 1;
  memcpy(recent.text, "short", 6);
  EXPECT_FALSE(is_same_text(recent, recent.words, text)) << "the slow path must look";
  munmap(memory, 2 * page);
}

// A program that was built with an older header has a shorter structure.
TEST(NvtxMessageTest, AttributesAreReadOnlyAsFarAsTheyGo) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* const memory =
      static_cast<char*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  mprotect(memory + page, page, PROT_NONE);
  auto* const event = reinterpret_cast<EventAttributes*>(memory + page - 16);
  event->size = 16;
  event->category = 5;
  event->colour_type = kArgb;
  event->colour = 0x123456;
  Domain& domain = *create_domain("short attributes");
  EventArgs args(domain, event);
  EXPECT_EQ(args.label().colour, 0xff123456u);
  ASSERT_EQ(args.count(), 1u);
  EXPECT_EQ(args.data()[0].value.as_uint, 5u);
  EXPECT_EQ(std::string_view(args.label().name, args.label().name_length), "(no message)");
  EXPECT_EQ(push_event(domain, event), 0);
  EXPECT_EQ(EventArgs(domain, nullptr).count(), 0u);
  munmap(memory, 2 * page);
}

TEST(NvtxMessageTest, AChangedTextAtTheSameAddressIsAnotherText) {
  RecentMessage recent{};
  recent.words = 2;
  recent.last_mask = (uint64_t{1} << 24) - 1;
  memcpy(recent.text, "0123456789", 11);
  alignas(16) char text[32] = "0123456789";
  EXPECT_EQ(is_same_text(recent, recent.words, text), KYMO_READS_PAST_TEXT == 1);
  text[11] = 'x';
  EXPECT_EQ(is_same_text(recent, recent.words, text), KYMO_READS_PAST_TEXT == 1)
      << "what comes after the text does not matter";
  text[10] = 'x';
  EXPECT_FALSE(is_same_text(recent, recent.words, text)) << "longer";
  strcpy(text, "0123456x89");
  EXPECT_FALSE(is_same_text(recent, recent.words, text));
  strcpy(text, "012");
  EXPECT_FALSE(is_same_text(recent, recent.words, text)) << "shorter";
}

TEST(ResourceNamesTest, TheLastNameCountsAndLongNamesAreCut) {
  char name[256];
  EXPECT_EQ(get_resource_name(Resource::CudaStream, 7, name, sizeof name), 0u);
  set_resource_name(Resource::CudaStream, 7, "first");
  set_resource_name(Resource::CudaStream, 7, "second");
  set_resource_name(Resource::CudaEvent, 7, "other");
  EXPECT_EQ(get_resource_name(Resource::CudaStream, 7, name, sizeof name), 6u);
  EXPECT_STREQ(name, "second");
  EXPECT_EQ(get_resource_name(Resource::CudaStream, 7, name, 4), 3u);
  EXPECT_STREQ(name, "sec");
  set_resource_name(Resource::CudaStream, 8, std::string(500, 'x'));
  EXPECT_EQ(get_resource_name(Resource::CudaStream, 8, name, sizeof name), 127u);
}

}  // namespace
}  // namespace kymo::inject::nvtx
