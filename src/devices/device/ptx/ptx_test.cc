#include "device/ptx/ptx.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::device {
namespace {

constexpr const char* kHeader = ".version 8.0\n.target sm_90\n.address_size 64\n";

PtxEntry only_entry(const std::string& text) {
  const PtxProgram program = prepare_ptx(kHeader + text);
  EXPECT_EQ(program.entries.size(), 1u);
  return program.entries.at(0);
}

// Runs the instructions of a prologue. True: the thread passes it.
class Thread {
 public:
  Thread(const Edge& edge, std::array<uint32_t, 3> group, std::array<uint32_t, 3> index) {
    std::memcpy(edge_, &edge, sizeof edge);
    for (size_t i = 0; i < 3; ++i) {
      registers_[base::format("%ctaid.{}", "xyz"[i])] = group[i];
      registers_[base::format("%tid.{}", "xyz"[i])] = index[i];
    }
  }

  bool stays(const std::vector<PtxToken>& body) {
    std::vector<std::vector<std::string>> statements(1);
    for (const PtxToken& token : body) {
      if (token.text == ";" || token.text == ":" || token.text == "{" || token.text == "}")
        statements.emplace_back();
      else if (token.text != "," && token.text != "[" && token.text != "]" && token.text != "@" && token.text != "+")
        statements.back().emplace_back(token.text);
    }
    for (std::vector<std::string>& s : statements) {
      if (s.empty() || s[0] == ".reg" || s[0] == "ret") continue;
      bool condition = true, guarded = false;
      if (s[0] == "!") {
        condition = registers_.at(s[1]) == 0;
        guarded = true;
        s.erase(s.begin(), s.begin() + 2);
      } else if (s[0].starts_with("%")) {
        condition = registers_.at(s[0]) != 0;
        guarded = true;
        s.erase(s.begin());
      }
      if (s[0] == "exit" && condition) return false;
      if (s[0] == "bra" && condition) return true;  // $kymo_inside is the prologue's end
      if (guarded) continue;
      if (s[0] == "ld.param.u32") registers_[s[1]] = edge_[std::stoul(s.at(3)) / 4];
      if (s[0] == "mov.u32") registers_[s[1]] = registers_.at(s[2]);
      if (s[0] == "setp.eq.u32") registers_[s[1]] = value(s[2]) == value(s[3]);
      if (s[0] == "setp.eq.or.u32") registers_[s[1]] = value(s[2]) == value(s[3]) || value(s[4]) != 0;
      if (s[0] == "setp.ge.and.u32") registers_[s[1]] = value(s[2]) >= value(s[3]) && value(s[4]) != 0;
    }
    return true;
  }

 private:
  uint32_t value(const std::string& word) {
    return word.starts_with("%") ? registers_.at(word) : static_cast<uint32_t>(std::stoul(word));
  }
  uint32_t edge_[7];
  std::map<std::string, uint32_t> registers_;
};

TEST(PtxTest, ExactlyTheThreadsOfTheLaunchPassThePrologue) {
  const PtxProgram program = prepare_ptx(std::string(kHeader) + ".entry k() { ret; }");
  const std::vector<PtxToken> tokens = split_ptx(program.text);
  const auto brace = std::find_if(tokens.begin(), tokens.end(), [](const PtxToken& t) { return t.text == "{"; });
  const auto inside_label =
      std::find_if(brace, tokens.end(), [](const PtxToken& t) { return t.text == "$kymo_inside"; });
  const auto end_of_prologue =
      std::find_if(inside_label, tokens.end(), [](const PtxToken& t) { return t.text == "}"; });
  const std::vector<PtxToken> body(brace, end_of_prologue);
  struct Shape {
    std::array<uint64_t, 3> threads, group;
  };
  for (const Shape& shape : {Shape{{10, 1, 1}, {4, 1, 1}},
                             {{8, 1, 1}, {4, 1, 1}},
                             {{1, 1, 1}, {1, 1, 1}},
                             {{7, 5, 1}, {4, 4, 1}},
                             {{8, 5, 1}, {4, 4, 1}},
                             {{7, 8, 1}, {4, 4, 1}},
                             {{5, 6, 7}, {2, 3, 4}},
                             {{4, 6, 7}, {2, 3, 4}},
                             {{3, 3, 3}, {3, 3, 3}}}) {
    const Edge edge = edge_of(shape.threads, shape.group);
    uint64_t stayed = 0;
    std::array<uint32_t, 3> group, index;
    const auto groups = [&](size_t i) { return (shape.threads[i] + shape.group[i] - 1) / shape.group[i]; };
    for (group[0] = 0; group[0] < groups(0); ++group[0])
      for (group[1] = 0; group[1] < groups(1); ++group[1])
        for (group[2] = 0; group[2] < groups(2); ++group[2])
          for (index[0] = 0; index[0] < shape.group[0]; ++index[0])
            for (index[1] = 0; index[1] < shape.group[1]; ++index[1])
              for (index[2] = 0; index[2] < shape.group[2]; ++index[2]) {
                bool inside = true;
                for (size_t i = 0; i < 3; ++i) inside &= group[i] * shape.group[i] + index[i] < shape.threads[i];
                EXPECT_EQ(Thread(edge, group, index).stays(body), inside);
                stayed += inside;
              }
    EXPECT_EQ(stayed, shape.threads[0] * shape.threads[1] * shape.threads[2]);
  }
}

TEST(PtxTest, EdgeOfAGridAboveFourBillionThreadsIsCorrect) {
  const Edge edge = edge_of({(uint64_t{1} << 40) + 3, 1, 1}, {1024, 1, 1});
  EXPECT_EQ(edge.last[0], uint32_t{1} << 30);
  EXPECT_EQ(edge.threads[0], 3u);
  EXPECT_EQ(edge.last[1], ~0u);
  EXPECT_EQ(edge_of({1024, 64, 1}, {1024, 1, 1}).partial, 0u);
}

TEST(PtxTest, ParametersAreReadWithTheirSizes) {
  const PtxEntry entry = only_entry(
      ".visible .entry f(\n\t.param .u64 .ptr .global .align 4 f_0,\n\t.param .f32 f_1, // a comment, with a comma\n"
      "\t.param .align 16 .b8 f_2[16],\n\t.param .align 8 .b8 f_3[2][3]\n)\n.maxntid 256, 1, 1\n.reqntid 8, 4\n{ ret; "
      "}");
  EXPECT_EQ(entry.name, "f");
  ASSERT_EQ(entry.parameters.size(), 4u);
  EXPECT_TRUE(entry.parameters[0].pointer);
  EXPECT_EQ(entry.parameters[0].type, "u64");
  EXPECT_EQ(entry.parameters[0].bytes, 8u);
  EXPECT_EQ(entry.parameters[1].type, "f32");
  EXPECT_FALSE(entry.parameters[1].array);
  EXPECT_EQ(entry.parameters[2].bytes, 16u);
  EXPECT_TRUE(entry.parameters[2].array);
  EXPECT_EQ(entry.parameters[3].bytes, 6u);
  EXPECT_EQ(entry.required_group, (std::array<uint32_t, 3>{8, 4, 1}));
}

TEST(PtxTest, LinesKeepTheirNumbers) {
  const std::string text =
      std::string(kHeader) + ".entry a(\n.param .u32 x\n)\n{\nret;\n}\n.entry b\n{\nret;\n}\n.entry c()\n{\nret;\n}\n";
  const PtxProgram program = prepare_ptx(text);
  EXPECT_EQ(program.entries.size(), 3u);
  EXPECT_EQ(std::count(program.text.begin(), program.text.end(), '\n'), std::count(text.begin(), text.end(), '\n'));
}

TEST(PtxTest, DeclaredKernelGetsTheSameParameterAndIsNotAnEntry) {
  const PtxProgram program = prepare_ptx(
      std::string(kHeader) + ".entry f(.param .u32 a);\n.entry f(.param .u32 a) .pragma \"nounroll\"; { ret; }");
  ASSERT_EQ(program.entries.size(), 1u);
  size_t edges = 0;
  for (size_t at = program.text.find(".b8 f_kymo_edge[28]"); at != std::string::npos;
       at = program.text.find(".b8 f_kymo_edge[28]", at + 1))
    ++edges;
  EXPECT_EQ(edges, 2u);
}

TEST(PtxTest, EveryExitOfAKernelIsStampedUnderItsCondition) {
  const auto prepared = [](const char* body) {
    const std::string text = prepare_ptx(base::format("{}.entry f() {{{}}}", kHeader, body)).text;
    return text.substr(text.find("$kymo_start: }") + 14);
  };
  const std::string plain = prepared(" ret; ");
  EXPECT_EQ(plain, stamp_end("f", 0).insert(0, " ") + " ret; }");
  EXPECT_EQ(prepared(" @%p1 ret; exit; "), " @!%p1 bra $kymo_stay_0;" + stamp_end("f", 0) +
                                               " @%p1 ret; $kymo_stay_0: " + stamp_end("f", 1) + " exit; }");
  EXPECT_EQ(prepared(" @!%p1 exit; "), " @%p1 bra $kymo_stay_0;" + stamp_end("f", 0) + " @!%p1 exit; $kymo_stay_0: }");
  EXPECT_EQ(prepared(" exit: bra exit; "), " exit: bra exit; }") << "a label";
}

// As NVIDIA's OpenCL writes it, shortened.
constexpr const char* kOpenClText = R"(//
// Generated by NVIDIA NVVM Compiler
//
.version 9.0
.target sm_90, texmode_independent
.address_size 64

	// .globl	scale
.entry scale(
	.param .u64 .ptr .global .align 4 scale_param_0,
	.param .u64 .ptr .shared .align 4 scale_param_1,
	.param .u64 .ptr .const .align 4 scale_param_2,
	.param .align 16 .b8 scale_param_3[16],
	.param .texref scale_param_4,
	.param .samplerref scale_param_5
)
.reqntid 16, 1, 1
{
	.reg .pred 	%p<2>;
	mov.b32 	%r5, %envreg3;
	@%p1 bra 	$L__BB0_2;
$L__BB0_2:
	ret;
}
.entry nothing(

)
{
	ret;
}
.metadata_section {

.metadata 0 {
	"cl_kernel_arg_name",
	"x } .entry no() {"
}

.metadata 1 {
	"cl_kernel_arg_info",
	"scale",
	.b32 6,
	.metadata_index 0
}

} // end of .metadata_section
)";

TEST(PtxTest, OpenClKernelsGetTheStampAndNoEdge) {
  const PtxProgram program = stamp_ptx(kOpenClText);
  EXPECT_TRUE(program.stamps);
  ASSERT_EQ(program.entries.size(), 2u);
  EXPECT_EQ(program.entries[0].parameters.size(), 6u);
  EXPECT_EQ(program.entries[0].required_group, (std::array<uint32_t, 3>{16, 1, 1}));
  EXPECT_NE(program.text.find("scale_param_5," + stamp_parameter("scale")), std::string::npos);
  EXPECT_NE(program.text.find(".entry nothing(" + stamp_parameter("nothing")), std::string::npos);
  EXPECT_NE(program.text.find(stamp_end("scale", 0) + " ret;"), std::string::npos);
  EXPECT_EQ(program.text.find("kymo_edge"), std::string::npos);
  EXPECT_EQ(program.text.find("kymo_inside"), std::string::npos);
}

TEST(PtxTest, ParameterListForReflectionIsRemovedAndLinesKeepTheirNumbers) {
  const std::string_view text = kOpenClText;
  const PtxProgram program = stamp_ptx(text);
  EXPECT_EQ(program.text.find("metadata 0"), std::string::npos);
  EXPECT_EQ(program.text.find("cl_kernel_arg_info"), std::string::npos);
  EXPECT_EQ(std::count(program.text.begin(), program.text.end(), '\n'), std::count(text.begin(), text.end(), '\n'));
  EXPECT_NE(prepare_ptx(text).text.find("cl_kernel_arg_info"), std::string::npos) << "only for OpenCL";
  EXPECT_THROW(stamp_ptx(std::string(kHeader) + ".metadata_section"), Error);
  EXPECT_THROW(stamp_ptx(std::string(kHeader) + ".metadata_section {"), Error);
}

TEST(PtxTest, EditedOpenClTextHasTheSameKernelsWithOneMoreParameter) {
  const PtxProgram once = stamp_ptx(kOpenClText), twice = stamp_ptx(once.text);
  ASSERT_EQ(twice.entries.size(), once.entries.size());
  for (size_t i = 0; i < once.entries.size(); ++i) {
    EXPECT_EQ(twice.entries[i].name, once.entries[i].name);
    ASSERT_EQ(twice.entries[i].parameters.size(), once.entries[i].parameters.size() + 1);
    EXPECT_EQ(twice.entries[i].parameters.back().bytes, sizeof(Stamp));
  }
}

TEST(PtxTest, OldOpenClTextStaysAsItIs) {
  const std::string text = ".version 6.0\n.target sm_90\n.entry f(.param .u32 a) { ret; }\n.entry g { ret; }\n";
  const PtxProgram program = stamp_ptx(text);
  EXPECT_FALSE(program.stamps);
  EXPECT_EQ(program.text, text);
}

TEST(PtxTest, AllKernelsFollowTheFirstTarget) {
  EXPECT_FALSE(stamp_ptx(".entry f() { ret; }\n.version 9.0\n.target sm_90\n.entry g() { ret; }").stamps);
  const PtxProgram program =
      stamp_ptx(std::string(kHeader) + ".entry f() { ret; }\n.target sm_50\n.entry g() { ret; }");
  EXPECT_TRUE(program.stamps);
  EXPECT_NE(program.text.find("g_kymo_stamp"), std::string::npos);
}

TEST(PtxTest, OldTextAndFunctionsAreNotStamped) {
  EXPECT_FALSE(prepare_ptx(".version 6.1\n.target sm_90\n.entry f() { ret; }").stamps);
  EXPECT_FALSE(prepare_ptx(".version 8.0\n.target sm_60\n.entry f() { ret; }").stamps);
  const PtxProgram program = prepare_ptx(std::string(kHeader) + ".func g() { ret; }\n.entry f() { ret; }");
  EXPECT_TRUE(program.stamps);
  EXPECT_NE(program.text.find(".func g() { ret; }"), std::string::npos);
  EXPECT_NE(program.text.find("f_kymo_stamp[24]"), std::string::npos);
}

TEST(PtxTest, DynamicSharedMemoryIsFoundThroughCalls) {
  const PtxProgram program = prepare_ptx(std::string(kHeader) +
                                         ".extern .shared .align 16 .b8 pool[];\n.shared .align 4 .b8 fixed[64];\n"
                                         ".func inner() { mov.u64 %rd1, pool; ret; }\n"
                                         ".func (.param .b32 r) outer(.param .b32 a) { call inner; ret; }\n"
                                         ".entry through() { call.uni (x), outer, (y); ret; }\n"
                                         ".entry direct() { mov.u64 %rd1, pool; ret; }\n"
                                         ".entry without() { mov.u64 %rd1, fixed; ret; }\n");
  ASSERT_EQ(program.entries.size(), 3u);
  EXPECT_TRUE(program.entries[0].dynamic_shared);
  EXPECT_TRUE(program.entries[1].dynamic_shared);
  EXPECT_FALSE(program.entries[2].dynamic_shared);
}

TEST(PtxTest, WordsInCommentsAndStringsAreNotDirectives) {
  const PtxProgram program = prepare_ptx(
      std::string(kHeader) + "// .entry no() {\n/* .entry no() { */\n.file 1 \"a.entry {\"\n.entry yes() { ret; }");
  ASSERT_EQ(program.entries.size(), 1u);
  EXPECT_EQ(program.entries[0].name, "yes");
}

TEST(PtxTest, MalformedTextIsRefusedWithItsLine) {
  for (const char* text :
       {".entry", ".entry f(", ".entry f(.param", ".entry f(.param .u32 a", ".entry f() {", ".entry f(u32 a) {}",
        ".entry f(.param .b8 a[x]) {}", ".entry f(.param .b8 a[4) {}", ".entry f(.param .b8 a[9999999]) {}",
        ".entry (() {}", ".func (", ".entry f() .reqntid x {}"}) {
    try {
      prepare_ptx(std::string(kHeader) + text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("line 4"), std::string::npos) << error.what();
    }
  }
}

TEST(PtxTest, PtxIsDistinguishedFromCpp) {
  EXPECT_TRUE(looks_like_ptx("//\n// made by\n\n.version 8.0\n"));
  EXPECT_FALSE(looks_like_ptx("// .version\n__global__ void f() {}"));
  EXPECT_FALSE(looks_like_ptx(""));
}

}  // namespace
}  // namespace kymo::device
