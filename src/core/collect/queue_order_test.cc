#include "collect/queue_order.h"

#include <gtest/gtest.h>

#include <memory>

#include "record/registry.h"

namespace kymo::collect {
namespace {

class QueueOrderTest : public ::testing::Test {
 protected:
  QueueOrderTest() {
    const kymo_label label{"copy {}", nullptr, 7, 0, 0};
    const kymo_arg args[3] = {{nullptr, {}, 0, KYMO_STRING}, {"x", {}, 0, KYMO_DOUBLE}, {"n", {}, 0, KYMO_UINT}};
    id = record::find_class(*registry, label, args, 3, record::signature_of(label, args, 3));
    classes.update(*registry);
  }
  void add(uint64_t start, uint64_t end, const std::string& text) {
    ranges.end.push_back(end);
    ranges.duration.push_back(end - start);
    ranges.class_id.push_back(id);
    ranges.depth.push_back(0);
    ranges.correlation.push_back(end * 10);
    ranges.values.ints.insert(ranges.values.ints.end(), {text.size(), start});
    ranges.values.doubles.push_back(static_cast<double>(end));
    ranges.values.text += text;
    order.add(start, end);
  }
  void next_batch() { ranges = {}; }

  std::unique_ptr<record::Registry> registry = std::make_unique<record::Registry>();
  ClassTable classes;
  uint32_t id = 0;
  trace::Ranges ranges;
  QueueOrder order;
};

TEST_F(QueueOrderTest, SpansInOrderNeedNoLanes) {
  add(10, 20, "a");
  add(20, 30, "b");
  add(35, 35, "c");
  order.arrange(ranges, classes);
  EXPECT_TRUE(ranges.lane.empty());
  next_batch();
  add(35, 40, "d");
  order.arrange(ranges, classes);
  EXPECT_TRUE(ranges.lane.empty());
}

TEST_F(QueueOrderTest, OverlappingSpansGetTheFirstFreeLane) {
  add(0, 100, "a");
  add(10, 20, "b");
  add(15, 30, "c");
  add(20, 40, "d");
  add(100, 110, "e");
  order.arrange(ranges, classes);
  EXPECT_EQ(ranges.end, (std::vector<uint64_t>{20, 30, 40, 100, 110}));
  EXPECT_EQ(ranges.lane, (std::vector<uint16_t>{1, 2, 1, 0, 0}));
}

TEST_F(QueueOrderTest, TheValuesOfARangeMoveWithIt) {
  add(50, 60, "second");
  add(10, 20, "first one");
  add(70, 80, "");
  order.arrange(ranges, classes);
  EXPECT_EQ(ranges.end, (std::vector<uint64_t>{20, 60, 80}));
  EXPECT_EQ(ranges.lane, (std::vector<uint16_t>{0, 0, 0})) << "out of order is not at the same time";
  EXPECT_EQ(ranges.correlation, (std::vector<uint64_t>{200, 600, 800}));
  EXPECT_EQ(ranges.values.ints, (std::vector<uint64_t>{9, 10, 6, 50, 0, 70}));
  EXPECT_EQ(ranges.values.doubles, (std::vector<double>{20, 60, 80}));
  EXPECT_EQ(ranges.values.text, "first onesecond");
}

TEST_F(QueueOrderTest, ASpanThatIsTooLateForItsBatchGetsAnotherLane) {
  add(50, 60, "a");
  order.arrange(ranges, classes);
  next_batch();
  add(55, 58, "late");
  add(60, 70, "b");
  order.arrange(ranges, classes);
  EXPECT_EQ(ranges.lane, (std::vector<uint16_t>{1, 0}));
}

}  // namespace
}  // namespace kymo::collect
