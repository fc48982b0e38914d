#include <gtest/gtest.h>

#include "edge/chrome.h"
#include "edge/test_result.h"

namespace kymo::edge {
namespace {

using testing::TestResult;

std::string link_pairs(const TestResult& result) {
  std::string text;
  for (const BackwardLink& link : link_backward(result.data))
    text += std::string(result.data.events[link.forward].name) + ">" +
            std::string(result.data.events[link.backward].name) + " ";
  return text;
}

uint32_t add_forward(TestResult& result, std::string_view name, uint64_t start, uint64_t end, int64_t sequence) {
  const uint32_t event = result.event(name, start, end);
  result[event].sequence = sequence;
  return event;
}

uint32_t add_backward(TestResult& result, std::string_view name, uint64_t start, int64_t sequence, uint64_t thread) {
  const uint32_t event = result.event(name, start, start + 10, EdgeEvent::kNone, EdgeKind::Backward);
  result[event].sequence = sequence;
  result[event].forward_thread = thread;
  return event;
}

TEST(BackwardLinksTest, InnermostOperatorWithTheNumberIsTheForwardOne) {
  TestResult result;
  result.thread(1, "main");
  add_forward(result, "linear", 0, 100, 4);
  add_forward(result, "addmm", 20, 90, 4);
  add_forward(result, "relu", 110, 120, 5);
  result.thread(2, "autograd");
  add_backward(result, "ReluBackward", 200, 5, 1);
  const uint32_t evaluate = add_forward(result, "evaluate_function", 230, 280, 4);
  result[evaluate].forward_thread = 1;
  add_backward(result, "AddmmBackward", 240, 4, 1);
  EXPECT_EQ(link_pairs(result), "addmm>AddmmBackward relu>ReluBackward ");
}

TEST(BackwardLinksTest, EventWithoutCounterpartHasNoLink) {
  TestResult result;
  result.thread(1, "main");
  add_forward(result, "add", 0, 10, 1);
  add_forward(result, "no number", 20, 30, -1);
  add_backward(result, "NoForward", 50, 2, 1);
  add_backward(result, "NoNumber", 70, -1, 1);
  EXPECT_EQ(link_pairs(result), "");
}

TEST(BackwardLinksTest, EachThreadHasItsOwnNumbers) {
  TestResult result;
  result.thread(1, "one");
  add_forward(result, "add of one", 0, 10, 1);
  result.thread(2, "two");
  add_forward(result, "add of two", 0, 10, 1);
  result.thread(3, "autograd");
  add_backward(result, "of two", 50, 1, 2);
  add_backward(result, "of nobody here", 60, 1, 8);
  EXPECT_EQ(link_pairs(result), "add of two>of two ");
}

TEST(BackwardLinksTest, EarlierBackwardFunctionIsNotLinked) {
  TestResult result;
  result.thread(1, "main");
  add_backward(result, "AddBackward", 0, 1, 1);
  add_forward(result, "add", 20, 30, 1);
  EXPECT_EQ(link_pairs(result), "");
}

}  // namespace
}  // namespace kymo::edge
