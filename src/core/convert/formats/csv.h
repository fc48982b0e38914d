// Writes one line for each event, for spreadsheets, data frames and shell tools.
//
//   kind,name,category,pid,tid,thread,device,start_ns,duration_ns,depth,lane,id,args
//   range,step 7,train,4711,4711,main,,1763177220000001000,25000,0,0,,"{""rows"":128}"
//
// kind is range, async, instant, counter, flow_begin, flow_step, flow_end, allocation, free or sample. Times are
// nanoseconds since 1970. On a device's queue, tid and thread are the queue's number and name, and device is the name
// of the device, or its uuid if it has no name. A range without an end has no duration, and a point has none either. id
// is the correlation of a range, or the id of a point: the handle, flow, address or stack. args is a JSON object; for a
// counter it has its value, for an allocation or a free also the bytes, the bytes in use afterwards and the stack.
// Fields are quoted as in RFC 4180, and lines end with a line feed. The text is UTF-8: other bytes in names become
// U+FFFD.
#pragma once

#include "convert/events.h"
#include "convert/export_stream.h"
#include "trace/reader.h"

namespace kymo::convert {

// Streams. Does not finish the sink. Throws what the sink throws.
WalkReport write_csv(const trace::Reader& reader, ExportStream& sink);

}  // namespace kymo::convert
