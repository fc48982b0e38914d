#include "convert/event_note.h"

#include <gtest/gtest.h>

namespace kymo::convert {
namespace {

using trace::PointKind;

TEST(EventNoteTest, EveryNoteIsReadBack) {
  for (const PointKind kind : {PointKind::Allocation, PointKind::Free}) {
    for (const uint64_t id : {uint64_t{0}, uint64_t{17}, UINT64_MAX}) {
      const auto note = parse_note(note_of(kind, id));
      ASSERT_TRUE(note) << note_of(kind, id);
      EXPECT_EQ(note->kind, kind);
      EXPECT_EQ(note->id, id);
    }
  }
  EXPECT_EQ(parse_note(note_of(PointKind::Sample, 5))->kind, PointKind::Sample);
  EXPECT_EQ(note_of(PointKind::Allocation, 0x1000), "allocation 0x1000");
  EXPECT_TRUE(note_of(PointKind::Instant, 1).empty());
  EXPECT_TRUE(note_of(PointKind::Counter, 1).empty());
  EXPECT_TRUE(note_of(PointKind::FlowBegin, 1).empty());
}

TEST(EventNoteTest, OtherTextsAreNotNotes) {
  for (const char* const text : {"", "flow", "flow begin 1", "range", "allocation 5", "samples", "free 0x",
                                 "free 0x1 2", "free 0x10000000000000000"})
    EXPECT_FALSE(parse_note(text)) << text;
}

}  // namespace
}  // namespace kymo::convert
