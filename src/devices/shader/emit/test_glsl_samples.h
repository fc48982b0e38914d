// Modules that the tests of the GLSL emitter write down, compile and run: each about one thing.
#pragma once

#include <string_view>
#include <vector>

#include "shader/emit/test_glsl_module.h"

namespace kymo::shader::glsl_tests {

using Make = void (*)(GlslModule&);

struct Sample {
  std::string_view name;  // of its kernel
  Make make;
};

// The text for it, from `begin` on.
inline std::string glsl_text_of(Make make, std::string_view begin) {
  GlslModule module;
  make(module);
  const std::string text = emit_glsl(module.module()).text;
  const size_t at = text.find(begin);
  return at == std::string::npos ? text : text.substr(at);
}

inline constexpr std::string_view kGlslArguments = "layout(push_constant";

// y[i] = a * x[i] + y[i]
inline void sample_saxpy(GlslModule& m) {
  const Type* real = m.number(TypeKind::Float);
  Function& kernel = m.kernel("saxpy");
  Variable& x = m.buffer(kernel, "x", real);
  Variable& y = m.buffer(kernel, "y", real);
  Variable& a = m.constant_value(kernel, "a", real);
  Variable& i = m.local("i", m.number(TypeKind::UInt));
  const auto at = [&](Variable& of) { return m.element(m.v(of), m.v(i)); };
  kernel.body = {m.declare(i, m.thread()), m.set(at(y), m.add(m.mul(m.v(a), at(x)), at(y)))};
}

// Loads and stores of vectors, all at once and by component.
inline void sample_vectors(GlslModule& m) {
  const Type *float3 = m.number(TypeKind::Float, 3), *float4 = m.number(TypeKind::Float, 4);
  const Type* packed = m.types().vector(m.number(TypeKind::Float), 3, true);
  Function& kernel = m.kernel("vectors");
  Variable& a = m.buffer(kernel, "a", float4);
  Variable& b = m.buffer(kernel, "b", float3);
  Variable& p = m.buffer(kernel, "p", packed);
  Variable& c = m.buffer(kernel, "c", m.number(TypeKind::Char, 4));
  Variable& i = m.local("i", m.number(TypeKind::UInt));
  Variable& t = m.local("t", float4);
  const auto at = [&](Variable& of) { return m.element(m.v(of), m.v(i)); };
  kernel.body = {
      m.declare(i, m.thread()),
      m.declare(t, m.add(at(a), m.construct(float4, {m.convert(float3, at(p)), m.f(1)}))),
      m.set(m.swizzle(m.v(t), "wx"), m.swizzle(m.v(t), "xy")),
      m.set(m.swizzle(at(a), "zy"), m.swizzle(m.v(t), "xw")),
      m.set(m.index(at(a), 3), m.index(m.v(t), m.rem(m.as(TypeKind::Int, m.v(i)), m.i(4)))),
      m.set(at(b), m.swizzle(m.v(t), "xxy")),
      m.set(at(p), m.convert(packed, m.mul(m.swizzle(m.v(t), "yzw"), m.splat(m.f(2), 3)))),
      m.set(at(c), m.rem(m.add(at(c), m.splat(m.constant_int(100, TypeKind::Char), 4)),
                         m.splat(m.constant_int(7, TypeKind::Char), 4))),
  };
}

// Halfs and bfloats are floats that are rounded after every operation.
inline void sample_half(GlslModule& m) {
  const Type* half4 = m.number(TypeKind::Half, 4);
  Function& kernel = m.kernel("half_and_bfloat");
  Variable& h = m.buffer(kernel, "h", m.number(TypeKind::Half));
  Variable& b = m.buffer(kernel, "b", m.number(TypeKind::BFloat));
  Variable& x = m.buffer(kernel, "x", m.number(TypeKind::Float));
  Variable& v4 = m.buffer(kernel, "v4", half4);
  Variable& i = m.local("i", m.number(TypeKind::UInt));
  const auto at = [&](Variable& of) { return m.element(m.v(of), m.v(i)); };
  const Type* half = m.number(TypeKind::Half);
  kernel.body = {
      m.declare(i, m.thread()),
      m.set(at(h), m.convert(half, m.mul(m.as(TypeKind::Float, at(h)), at(x)))),
      m.set(at(b), m.convert(m.number(TypeKind::BFloat), m.add(m.as(TypeKind::Float, at(b)), at(x)))),
      m.set(at(v4), m.convert(half4, m.mul(m.as(TypeKind::Float, at(v4)), m.splat(at(x), 4)))),
      m.set(at(x), m.convert(m.number(TypeKind::Float), at(h))),
  };
}

// A structure in a buffer: read and written whole, and by member.
inline void sample_structures(GlslModule& m) {
  const Type* real = m.number(TypeKind::Float);
  const Type* inner = m.structure("Inner", {{"a", m.number(TypeKind::UChar)}, {"b", m.number(TypeKind::Short)}});
  const Type* particle = m.structure("Particle", {{"position", m.number(TypeKind::Float, 3)},
                                                  {"weight", m.number(TypeKind::Half)},
                                                  {"alive", m.number(TypeKind::Bool)},
                                                  {"inner", inner},
                                                  {"history", m.array(real, 3)},
                                                  {"packed", m.types().vector(real, 3, true)}});
  Function& move = m.function("moved", particle);
  {
    Variable& p = m.parameter(move, "p", particle);
    move.body = {m.set(m.index(m.member(m.v(p), "history"), 1), m.index(m.member(m.v(p), "position"), 2)),
                 m.set(m.member(m.v(p), "position"), m.add(m.member(m.v(p), "position"), m.splat(m.f(1), 3))),
                 m.return_(m.v(p))};
  }
  Function& kernel = m.kernel("structures");
  Variable& list = m.buffer(kernel, "list", particle);
  Variable& i = m.local("i", m.number(TypeKind::UInt));
  const auto at = [&] { return m.element(m.v(list), m.v(i)); };
  const Value short_one = m.constant_int(1, TypeKind::Int);
  kernel.body = {
      m.declare(i, m.thread()),
      m.set(at(), m.call(move, {at()})),
      m.set(m.member(at(), "alive"), m.unary(Operator::Not, m.member(at(), "alive"))),
      m.set(m.member(m.member(at(), "inner"), "b"),
            m.as(TypeKind::Short, m.add(m.as(TypeKind::Int, m.member(m.member(at(), "inner"), "b")), short_one))),
      m.set(m.member(at(), "weight"), m.convert(m.number(TypeKind::Half), m.f(0.1F))),
      m.set(m.index(m.member(at(), "history"), m.as(TypeKind::Int, m.v(i))), m.f(9)),
      m.set(m.index(m.member(at(), "packed"), 1), m.index(m.member(at(), "history"), 1)),
  };
}

// Pointers to variables: elements, members, rows of nested arrays, one that walks, one that may be null.
inline void sample_pointers(GlslModule& m) {
  const Type* real = m.number(TypeKind::Float);
  const Type* thread_real = m.to(real, Space::Thread);
  const Type* pair = m.structure("Pair", {{"x", real}, {"y", real}});
  Function& bump = m.function("bump", m.number(TypeKind::Void));
  {
    Variable& p = m.parameter(bump, "p", thread_real);
    bump.body = {m.set(m.deref(m.v(p)), m.add(m.mul(m.deref(m.v(p)), m.f(3)), m.f(1)))};
  }
  Function& total = m.function("total", real);
  {
    Variable& p = m.parameter(total, "p", thread_real);
    Variable& count = m.parameter(total, "count", m.number(TypeKind::Int));
    Variable& sum = m.local("sum", real);
    Variable& end = m.local("end", thread_real);
    total.body = {m.declare(sum, m.f(0)), m.declare(end, m.pointer_add(m.v(p), m.v(count))),
                  m.loop(m.ne(m.v(p), m.v(end)), {m.increase(sum, m.deref(m.v(p)))},
                         {m.set(m.v(p), m.pointer_add(m.v(p), m.i(1)))}),
                  m.return_(m.v(sum))};
  }
  Function& kernel = m.kernel("pointers");
  Variable& out = m.buffer(kernel, "out", real);
  Variable& i = m.local("i", m.number(TypeKind::Int));
  Variable& pairs = m.local("pairs", m.array(pair, 4));
  Variable& grid = m.local("grid", m.array(m.array(real, 3), 2));
  Variable& single = m.local("single", real);
  Variable& maybe = m.local("maybe", thread_real);
  const auto element_of = [&](Variable& of, Value position) { return m.index(m.v(of), position); };
  kernel.body = {
      m.declare(i, m.as(TypeKind::Int, m.thread())),
      m.declare(pairs, m.zero(pairs.type)),
      m.declare(grid, m.zero(grid.type)),
      m.declare(single, m.f(5)),
      m.declare(maybe, m.null(thread_real)),
      m.evaluate(m.call(bump, {m.address_of(m.v(single))})),
      m.evaluate(m.call(bump, {m.address_of(m.member(element_of(pairs, m.rem(m.v(i), m.i(4))), "y"))})),
      m.set(m.index(m.index(m.v(grid), 1), 2), m.f(7)),
      m.evaluate(m.call(bump, {m.decay(m.index(m.v(grid), 1))})),
      m.if_(m.gt(m.v(i), m.i(1)), {m.set(m.v(maybe), m.address_of(m.v(single)))}),
      m.if_(m.ne(m.v(maybe), m.null(thread_real)), {m.set(m.deref(m.v(maybe)), m.f(100))}),
      m.set(m.element(m.v(out), m.v(i)),
            m.add(m.add(m.v(single), m.member(element_of(pairs, m.rem(m.v(i), m.i(4))), "y")),
                  m.call(total, {m.address_of(m.index(m.index(m.v(grid), 0), 0)), m.i(6)}))),
  };
}

// A lambda that captures by reference: a structure with pointers to variables in it.
inline void sample_closures(GlslModule& m) {
  const Type* real = m.number(TypeKind::Float);
  const Type* closure =
      m.structure("lambda", {{"sum", m.to(real, Space::Thread)}, {"row", m.to(real, Space::Thread)}, {"scale", real}});
  Function& body = m.function("lambda::operator()", m.number(TypeKind::Void));
  {
    Variable& self = m.parameter(body, "self", m.to(closure, Space::Thread));
    Variable& at = m.parameter(body, "at", m.number(TypeKind::Int));
    const auto part = [&](std::string_view name) { return m.member(m.deref(m.v(self)), name); };
    body.body = {m.set(m.deref(part("sum")),
                       m.add(m.deref(part("sum")), m.mul(m.element(part("row"), m.v(at)), part("scale"))))};
  }
  Function& kernel = m.kernel("closures");
  Variable& out = m.buffer(kernel, "out", real);
  Variable& i = m.local("i", m.number(TypeKind::Int));
  Variable& sum = m.local("sum", real);
  Variable& row = m.local("row", m.array(real, 4));
  Variable& call = m.local("call", closure);
  Variable& k = m.local("k", m.number(TypeKind::Int));
  kernel.body = {
      m.declare(i, m.as(TypeKind::Int, m.thread())),
      m.declare(sum, m.f(0)),
      m.declare(row, m.construct(row.type, {m.f(1), m.f(2), m.f(3), m.f(4)})),
      m.declare(call,
                m.construct(closure, {m.address_of(m.v(sum)), m.pointer_add(m.decay(m.v(row)), m.i(1)), m.f(10)})),
      m.declare(k, m.i(0)),
      m.loop(m.lt(m.v(k), m.i(3)), {m.evaluate(m.call(body, {m.address_of(m.v(call)), m.v(k)}))},
             {m.increase(k, m.i(1))}),
      m.set(m.element(m.v(out), m.v(i)), m.v(sum)),
  };
}

// Threads that share memory of their own and memory that the caller sizes.
inline void sample_groups(GlslModule& m) {
  const Type* real = m.number(TypeKind::Float);
  Function& first = m.function("first_of", real);
  {
    Variable& p = m.parameter(first, "p", m.to(real, Space::Threadgroup));
    Variable& at = m.parameter(first, "at", m.number(TypeKind::UInt));
    first.body = {m.return_(m.element(m.v(p), m.v(at)))};
  }
  Function& kernel = m.kernel("groups");
  Variable& out = m.buffer(kernel, "out", real);
  Variable& given = m.group_memory(kernel, "given", real);
  Variable& tile = m.shared("tile", m.array(m.array(real, 8), 8));
  Variable& sums = m.shared("sums", m.types().atomic(m.number(TypeKind::Float)));
  Variable& i = m.local("i", m.number(TypeKind::UInt));
  Variable& l = m.local("l", m.number(TypeKind::UInt));
  const auto group_barrier = [&] { return m.evaluate(m.intrinsic(Intrinsic::GroupBarrier, {}, 2)); };
  const auto in_tile = [&](Value row, Value column) { return m.index(m.index(m.v(tile), row), column); };
  const Value other = m.sub(m.u(63), m.v(l));
  kernel.body = {
      m.declare(tile),
      m.declare(sums),
      m.declare(i, m.thread()),
      m.declare(l, m.index(m.intrinsic(Intrinsic::GroupPosition), 0)),
      m.if_(m.eq(m.v(l), m.u(0)), {m.evaluate(m.intrinsic(Intrinsic::AtomicStore, {m.address_of(m.v(sums)), m.f(0)}))}),
      m.set(in_tile(m.div(m.v(l), m.u(8)), m.rem(m.v(l), m.u(8))), m.element(m.v(out), m.v(i))),
      m.set(m.element(m.v(given), m.v(l)), m.mul(m.element(m.v(out), m.v(i)), m.f(2))),
      group_barrier(),
      m.evaluate(m.intrinsic(Intrinsic::AtomicAdd, {m.address_of(m.v(sums)), m.f(1)})),
      group_barrier(),
      m.set(m.element(m.v(out), m.v(i)),
            m.add(m.add(m.call(first, {m.decay(m.index(m.v(tile), 0)), other}), m.call(first, {m.v(given), other})),
                  m.intrinsic(Intrinsic::AtomicLoad, {m.address_of(m.v(sums))}))),
  };
}

// More modules: bits, unions, constants, arguments.

inline void sample_bits(GlslModule& m) {
  Function& kernel = m.kernel("bits");
  const Type *word = m.number(TypeKind::UInt), *wide = m.number(TypeKind::ULong);
  Variable& in = m.buffer(kernel, "in", wide);
  Variable& out = m.buffer(kernel, "out", wide);
  Variable& i = m.local("i", word);
  Block body = {m.declare(i, m.thread())};
  uint32_t next = 0;
  const Value given = m.element(m.v(in), m.v(i)), low = m.convert(word, given);
  const auto give = [&](Value value) {
    body.push_back(m.set(m.element(m.v(out), m.add(m.mul(m.v(i), m.u(8)), m.u(next++))), m.convert(wide, value)));
  };
  // To another type and back.
  const auto via = [&](const Type* type, Value value) { return m.bitcast(value->type, m.bitcast(type, value)); };
  give(via(m.number(TypeKind::UChar, 4), low));
  give(via(m.number(TypeKind::Half, 2), low));
  give(via(m.number(TypeKind::Float, 2), given));
  give(via(m.number(TypeKind::Short, 4), given));
  give(m.bitcast(word, m.bitcast(m.number(TypeKind::Float), low)));
  give(m.bitcast(m.number(TypeKind::UShort), m.as(TypeKind::Half, m.as(TypeKind::Float, m.rem(low, m.u(2000))))));
  give(m.index(m.bitcast(m.number(TypeKind::UInt, 2), given), 1));
  kernel.body = body;
}

inline void sample_positions(GlslModule& m) {
  Function& kernel = m.kernel("positions");
  Variable& out = m.buffer(kernel, "out", m.number(TypeKind::UInt));
  Variable& at = m.local("at", m.number(TypeKind::UInt));
  const auto size = [&](uint32_t axis) {
    return m.index(m.intrinsic(Intrinsic::GridSize), static_cast<int32_t>(axis));
  };
  const auto own = [&](int32_t axis) { return m.index(m.intrinsic(Intrinsic::GridPosition), axis); };
  Block body = {m.declare(at, m.mul(m.add(own(0), m.mul(size(0), m.add(own(1), m.mul(size(1), own(2))))), m.u(21)))};
  uint32_t next = 0;
  for (const Intrinsic which :
       {Intrinsic::GridPosition, Intrinsic::GroupPosition, Intrinsic::GroupIndex, Intrinsic::GridSize,
        Intrinsic::GroupSize, Intrinsic::GroupCount, Intrinsic::FullGroupSize})
    for (int32_t axis = 0; axis < 3; ++axis)
      body.push_back(m.set(m.element(m.v(out), m.add(m.v(at), m.u(next++))), m.index(m.intrinsic(which), axis)));
  kernel.body = body;
}

// A table, and texts that a function reads through a pointer: it is there once for each.
inline void sample_constants(GlslModule& m) {
  const Type *letter = m.number(TypeKind::Char), *whole = m.number(TypeKind::Int), *real = m.number(TypeKind::Float);
  const auto text = [&](std::string name, std::string_view value) -> Variable& {
    GlslModule::Values letters;
    for (const char c : value) letters.push_back(m.constant_int(c, TypeKind::Char));
    letters.push_back(m.constant_int(0, TypeKind::Char));
    return m.program_constant(std::move(name),
                              m.construct(m.array(letter, static_cast<uint32_t>(letters.size())), letters));
  };
  Variable& table =
      m.program_constant("table", m.construct(m.array(m.number(TypeKind::Float, 2), 2),
                                              {m.construct(m.number(TypeKind::Float, 2), {m.f(1), m.f(2)}),
                                               m.construct(m.number(TypeKind::Float, 2), {m.f(-3.5F), m.f(1e-40F)})}));
  Variable& hello = text("hello", "hello");
  Variable& bye = text("bye", "bye");
  text("unused", "no kernel reaches it");
  Function& length = m.function("length", whole);
  {
    Variable& p = m.parameter(length, "p", m.types().pointer(letter, Space::Program, true));
    Variable& n = m.local("n", whole);
    length.body = {m.declare(n, m.i(0)),
                   m.loop(m.ne(m.as(TypeKind::Int, m.element(m.v(p), m.v(n))), m.i(0)), {m.increase(n, m.i(1))}),
                   m.return_(m.v(n))};
  }
  Function& kernel = m.kernel("constants");
  Variable& out = m.buffer(kernel, "out", real);
  Variable& i = m.local("i", m.number(TypeKind::UInt));
  const Value row = m.index(m.v(table), m.rem(m.as(TypeKind::Int, m.v(i)), m.i(2)));
  kernel.body = {
      m.declare(i, m.thread()),
      m.set(m.element(m.v(out), m.v(i)),
            m.add(m.add(m.index(row, 0), m.index(row, 1)),
                  m.convert(real, m.add(m.mul(m.call(length, {m.decay(m.v(hello))}), m.i(10)),
                                        m.call(length, {m.decay(m.v(bye))}))))),
  };
}

inline const Type* setting_type(GlslModule& m) {
  return m.structure("Setting", {{"scale", m.number(TypeKind::Float)},
                                 {"offset", m.number(TypeKind::Half, 2)},
                                 {"on", m.number(TypeKind::Bool)}});
}

// Values in push constants.
inline void sample_values(GlslModule& m) {
  const Type* real = m.number(TypeKind::Float);
  Function& kernel = m.kernel("values");
  Variable& out = m.buffer(kernel, "out", real);
  Variable& set = m.constant_value(kernel, "setting", setting_type(m));
  Variable& ids = m.constant_value(kernel, "ids", m.number(TypeKind::Long, 2));
  const Value offset = m.convert(real, m.index(m.member(m.v(set), "offset"), 1));
  kernel.body = {m.if_(m.member(m.v(set), "on"),
                       {m.set(m.element(m.v(out), m.thread()), m.add(offset, m.convert(real, m.index(m.v(ids), 1))))})};
}

// Addresses in a structure, and a value that is too large for push constants.
inline void sample_arguments(GlslModule& m) {
  const Type* real = m.number(TypeKind::Float);
  const Type* list = m.structure("List", {{"items", m.array(m.to(real), 64)}});
  const Type* setting = setting_type(m);
  Function& kernel = m.kernel("take_arguments");
  Variable& out = m.buffer(kernel, "out", real);
  Variable& many = m.constant_value(kernel, "many", list);
  Variable& set = m.constant_value(kernel, "setting", setting);
  Variable& ids = m.constant_value(kernel, "ids", m.number(TypeKind::Long, 2));
  Variable& i = m.local("i", m.number(TypeKind::UInt));
  Variable& k = m.local("k", m.number(TypeKind::Int));
  Variable& sum = m.local("sum", real);
  const Value item = m.index(m.member(m.v(many), "items"), m.v(k));
  kernel.body = {
      m.declare(i, m.thread()),
      m.declare(sum, m.convert(real, m.index(m.member(m.v(set), "offset"), 1))),
      m.declare(k, m.i(0)),
      m.loop(m.lt(m.v(k), m.i(64)), {m.if_(m.ne(item, m.null(m.to(real))), {m.increase(sum, m.element(item, m.v(i)))})},
             {m.increase(k, m.i(1))}),
      m.if_(m.member(m.v(set), "on"), {m.set(m.v(sum), m.mul(m.v(sum), m.member(m.v(set), "scale")))}),
      m.set(m.element(m.v(out), m.v(i)), m.add(m.v(sum), m.convert(real, m.index(m.v(ids), 1)))),
  };
}

// Two kernels: code of one is not compiled for the other.
inline void sample_two_kernels(GlslModule& m) {
  const Type* real = m.number(TypeKind::Float);
  Function& square = m.function("square", real);
  {
    Variable& x = m.parameter(square, "x", real);
    square.body = {m.return_(m.mul(m.v(x), m.v(x)))};
  }
  Function& twice = m.function("twice", real);
  {
    Variable& x = m.parameter(twice, "x", real);
    twice.body = {m.return_(m.call(square, {m.add(m.v(x), m.v(x))}))};
  }
  for (const bool is_first : {true, false}) {
    Function& kernel = m.kernel(is_first ? "one" : "x");
    Variable& out = m.buffer(kernel, "out", real);
    Variable& i = m.local("i", m.number(TypeKind::UInt));
    const auto at = [&] { return m.element(m.v(out), m.v(i)); };
    const Value given = is_first ? at() : m.intrinsic(Intrinsic::SimdSum, {at()});
    kernel.body = {m.declare(i, m.thread()), m.set(at(), m.call(is_first ? square : twice, {given}))};
  }
}

// Arithmetic in conditions, indices and arguments.
inline void sample_arithmetic(GlslModule& m) {
  const Type* real = m.number(TypeKind::Float);
  Function& note = m.function("note", m.number(TypeKind::Void));
  {
    Variable& to = m.parameter(note, "to", m.to(real));
    Variable& value = m.parameter(note, "value", real);
    note.body = {m.set(m.v(value), m.add(m.mul(m.v(value), m.v(value)), m.f(1))), m.set(m.deref(m.v(to)), m.v(value))};
  }
  Function& kernel = m.kernel("arithmetic");
  Variable& out = m.buffer(kernel, "out", real);
  Variable& counts = m.buffer(kernel, "counts", m.number(TypeKind::Int));
  Variable& x = m.local("x", real);
  Variable& k = m.local("k", m.number(TypeKind::Int));
  const auto sum = [&](float last) { return m.add(m.mul(m.v(x), m.v(x)), m.f(last)); };
  const auto at = [&](Value position) { return m.element(m.v(out), m.convert(m.number(TypeKind::Int), position)); };
  kernel.body = {
      m.declare(x, m.element(m.v(out), m.i(0))),
      m.declare(k, m.i(0)),
      m.if_(m.gt(sum(1), m.f(2)), {m.set(at(sum(3)), m.f(1))},
            {m.if_(m.gt(sum(4), m.f(5)), {m.set(at(m.f(2)), sum(6))})}),
      m.loop(m.lt(sum(7), m.f(8)), {m.set(m.v(x), sum(9)), m.increase(k, m.convert(m.number(TypeKind::Int), sum(10)))}),
      m.evaluate(m.call(note, {m.v(out), sum(11)})),
      m.set(m.element(m.v(counts), m.v(k)), m.convert(m.number(TypeKind::Int), sum(12))),
      m.set(m.v(k), m.convert(m.number(TypeKind::Int), m.conditional(m.gt(m.v(x), m.f(0)), sum(13), m.v(x)))),
      m.set(m.element(m.v(counts), m.i(0)), m.v(k)),
  };
}

// Bytes that are used as halfs and floats, and a number that is used as its bytes.
inline void sample_reinterpreted(GlslModule& m) {
  const Type *real = m.number(TypeKind::Float), *small = m.number(TypeKind::Half), *byte = m.number(TypeKind::UChar);
  Function& kernel = m.kernel("reinterpreted");
  Variable& out = m.buffer(kernel, "out", real);
  Variable& given = m.group_memory(kernel, "given", byte);
  Variable& own = m.shared("own", m.array(byte, 64));
  Variable& halfs = m.local("halfs", m.to(small, Space::Threadgroup));
  Variable& i = m.local("i", m.number(TypeKind::Int));
  Variable& word = m.local("word", real);
  const Value four = m.deref(m.pointer_cast(m.to(m.number(TypeKind::Half, 4), Space::Threadgroup), m.decay(m.v(own))));
  const Value last = m.deref(m.pointer_add(m.pointer_cast(m.to(byte, Space::Thread), m.address_of(m.v(word))), m.i(3)));
  const Value counter = m.pointer_cast(m.to(m.types().atomic(m.number(TypeKind::Int)), Space::Threadgroup),
                                       m.pointer_add(m.decay(m.v(own)), m.i(32)));
  kernel.body = {
      m.declare(own),
      m.declare(i, m.as(TypeKind::Int, m.thread())),
      m.declare(halfs, m.pointer_cast(m.to(small, Space::Threadgroup), m.pointer_add(m.v(given), m.i(16)))),
      m.set(m.element(m.v(halfs), m.v(i)), m.convert(small, m.element(m.v(out), m.v(i)))),
      m.set(four, m.zero(m.number(TypeKind::Half, 4))),
      m.evaluate(m.intrinsic(Intrinsic::AtomicAdd, {counter, m.i(-1)})),
      m.declare(word, m.f(1)),
      m.set(last, m.constant_int(64, TypeKind::UChar)),
      m.set(m.element(m.v(out), m.v(i)),
            m.add(m.v(word), m.add(m.convert(real, m.index(four, 2)), m.convert(real, m.element(m.v(halfs), m.v(i)))))),
  };
}

// More modules: numbers, control flow, simdgroups.

inline void sample_atomics(GlslModule& m) {
  Function& kernel = m.kernel("atomics");
  Variable& counts = m.buffer(kernel, "counts", m.types().atomic(m.number(TypeKind::UInt)));
  Variable& lows = m.buffer(kernel, "lows", m.types().atomic(m.number(TypeKind::Int)));
  Variable& reals = m.buffer(kernel, "reals", m.types().atomic(m.number(TypeKind::Float)));
  Variable& i = m.local("i", m.number(TypeKind::UInt));
  const auto at = [&](Variable& of, int32_t place) { return m.pointer_add(m.v(of), m.i(place)); };
  const auto call = [&](Intrinsic which, Variable& of, int32_t place, Value given) {
    return m.evaluate(m.intrinsic(which, {at(of, place), given}));
  };
  kernel.body = {
      m.declare(i, m.thread()),
      call(Intrinsic::AtomicAdd, counts, 0, m.v(i)),
      call(Intrinsic::AtomicSubtract, counts, 1, m.u(2)),
      call(Intrinsic::AtomicOr, counts, 2, m.binary(Operator::ShiftLeft, m.u(1), m.rem(m.v(i), m.u(32)))),
      call(Intrinsic::AtomicMax, counts, 3, m.v(i)),
      call(Intrinsic::AtomicMin, lows, 0, m.sub(m.i(0), m.as(TypeKind::Int, m.v(i)))),
      m.evaluate(m.intrinsic(Intrinsic::AtomicCompareExchange, {at(counts, 4), m.u(0), m.add(m.v(i), m.u(1))})),
      call(Intrinsic::AtomicAdd, reals, 0, m.mul(m.as(TypeKind::Float, m.v(i)), m.f(0.5F))),
      call(Intrinsic::AtomicMax, reals, 1, m.as(TypeKind::Float, m.v(i))),
      call(Intrinsic::AtomicStore, reals, 2,
           m.add(m.intrinsic(Intrinsic::AtomicExchange, {at(reals, 3), m.f(4)}), m.f(1))),
  };
}

// All of them at once, on three types; `active` leaves some lanes out of the second sum.
inline void sample_simdgroups(GlslModule& m) {
  Function& kernel = m.kernel("simdgroups");
  const Type* real = m.number(TypeKind::Float);
  Variable& x = m.buffer(kernel, "x", real);
  Variable& out = m.buffer(kernel, "out", real);
  Variable& wide = m.buffer(kernel, "wide", m.number(TypeKind::Long));
  Variable& bits = m.buffer(kernel, "bits", m.number(TypeKind::UInt));
  Variable& i = m.local("i", m.number(TypeKind::UInt));
  Variable& own = m.local("own", real);
  Variable& lane = m.local("lane", m.number(TypeKind::UInt));
  Block body = {m.declare(i, m.thread()), m.declare(own, m.element(m.v(x), m.v(i))),
                m.declare(lane, m.intrinsic(Intrinsic::SimdLane))};
  int32_t next = 0;
  const auto give = [&](Variable& to, Value value) {
    const Value place = m.add(m.mul(m.v(i), m.u(10)), m.u(static_cast<uint32_t>(next++ % 10)));
    body.push_back(m.set(m.element(m.v(to), place), value));
  };
  for (const Intrinsic which :
       {Intrinsic::SimdSum, Intrinsic::SimdProduct, Intrinsic::SimdMin, Intrinsic::SimdMax, Intrinsic::SimdInclusiveSum,
        Intrinsic::SimdExclusiveSum, Intrinsic::SimdInclusiveProduct, Intrinsic::SimdExclusiveProduct})
    give(out, m.intrinsic(which, {m.v(own)}));
  const Value even = m.eq(m.binary(Operator::And, m.v(lane), m.u(1)), m.u(0));
  give(out, m.intrinsic(Intrinsic::SimdSum, {m.v(own), even}));
  give(out, m.intrinsic(Intrinsic::SimdShuffle, {m.v(own), m.binary(Operator::Xor, m.v(lane), m.u(17))}));
  const Value as_long =
      m.sub(m.convert(m.number(TypeKind::Long), m.v(i)), m.constant_int(int64_t{1} << 40, TypeKind::Long));
  for (const Intrinsic which : {Intrinsic::SimdSum, Intrinsic::SimdMin, Intrinsic::SimdMax, Intrinsic::SimdXor})
    give(wide, m.intrinsic(which, {as_long}));
  give(wide, m.intrinsic(Intrinsic::SimdShuffle, {as_long, m.u(3)}));
  next = 0;
  give(bits, m.intrinsic(Intrinsic::SimdBallot, {m.gt(m.v(own), m.f(0.5F))}));
  give(bits, m.intrinsic(Intrinsic::SimdBallot, {m.constant_bool(true), even}));
  give(bits, m.intrinsic(Intrinsic::SimdAnd, {m.add(m.v(i), m.u(0x100))}));
  give(bits, m.intrinsic(Intrinsic::SimdOr, {m.v(i)}));
  give(bits, m.convert(m.number(TypeKind::UInt), m.intrinsic(Intrinsic::GroupAny, {m.eq(m.v(i), m.u(5))})));
  give(bits, m.intrinsic(Intrinsic::SimdIndex));
  kernel.body = body;
}

// Switches with fall-through on two widths; loops whose steps take several statements, with continues.
inline void sample_control(GlslModule& m) {
  Function& kernel = m.kernel("control");
  const Type *whole = m.number(TypeKind::Int), *wide = m.number(TypeKind::Long);
  Variable& out = m.buffer(kernel, "out", whole);
  Variable& i = m.local("i", whole);
  Variable& n = m.local("n", whole);
  Variable& k = m.local("k", whole);
  Variable& j = m.local("j", whole);
  Variable& d = m.local("d", whole);
  Variable& w = m.local("w", wide);
  const auto times = [&](int32_t by) { return m.set(m.v(n), m.mul(m.v(n), m.i(by))); };
  const auto wide_of = [&](int64_t value) { return m.constant_int(value, TypeKind::Long); };
  const auto is_odd = [&](Value x) { return m.ne(m.binary(Operator::And, x, m.i(1)), m.i(0)); };
  kernel.body = {
      m.declare(i, m.as(TypeKind::Int, m.thread())),
      m.declare(n, m.i(1)),
      m.switch_(m.v(i), {{{0, 1}, false, {times(2)}},
                         {{2}, false, {times(3), m.break_()}},
                         {{}, true, {times(5)}},
                         {{-7}, false, {times(7)}}}),
      m.declare(w, m.mul(m.convert(wide, m.v(i)), wide_of(int64_t{1} << 33))),
      m.switch_(m.v(w),
                {{{int64_t{1} << 33}, false, {times(11)}}, {{int64_t{2} << 33}, false, {times(13), m.break_()}}}),
      m.declare(k, m.i(0)),
      m.declare(j, m.i(0)),
      // for (; k < 10; k += 1, if (j > 3) j -= 2) { if (odd(k)) continue; n += k; j += 1; if (n > 200) break; }
      m.loop(m.lt(m.v(k), m.i(10)),
             {m.if_(is_odd(m.v(k)), {m.continue_()}), m.increase(n, m.v(k)), m.increase(j, m.i(1)),
              m.if_(m.gt(m.v(n), m.i(200)), {m.break_()})},
             {m.increase(k, m.i(1)), m.if_(m.gt(m.v(j), m.i(3)), {m.increase(j, m.i(-2))})}),
      m.declare(d, m.i(0)),
      m.do_loop({m.increase(d, m.i(1)), m.if_(is_odd(m.v(d)), {m.continue_()}), m.increase(n, m.i(1))},
                m.lt(m.v(d), m.i(6)), {m.increase(n, m.i(100))}),
      m.do_loop({m.increase(d, m.i(1))}, m.lt(m.v(d), m.i(12))),
      m.loop(nullptr, {m.increase(d, m.i(3)), m.if_(m.gt(m.v(d), m.i(20)), {m.break_()}, {m.increase(n, m.i(1000))})}),
      m.set(m.element(m.v(out), m.v(i)), m.add(m.add(m.v(n), m.v(j)), m.v(d))),
  };
}

// Every width of integers: counting bits, dividing, shifting, comparing.
inline void sample_integers(GlslModule& m) {
  Function& kernel = m.kernel("integers");
  Variable& in = m.buffer(kernel, "in", m.number(TypeKind::ULong));
  Variable& out = m.buffer(kernel, "out", m.number(TypeKind::Long));
  Variable& i = m.local("i", m.number(TypeKind::UInt));
  Block body = {m.declare(i, m.thread())};
  uint32_t next = 0;
  const Value given = m.element(m.v(in), m.v(i));
  const auto give = [&](Value value) {
    const Value wide = m.convert(m.number(TypeKind::Long), value);
    body.push_back(m.set(m.element(m.v(out), m.add(m.mul(m.v(i), m.u(40)), m.u(next++))), wide));
  };
  for (const TypeKind kind : {TypeKind::Char, TypeKind::UChar, TypeKind::Short, TypeKind::UShort, TypeKind::Int,
                              TypeKind::UInt, TypeKind::Long, TypeKind::ULong}) {
    const Value one = m.convert(m.number(kind), given);
    const Value two = m.splat(one, 2);
    for (const Intrinsic which : {Intrinsic::PopCount, Intrinsic::CountLeadingZeros, Intrinsic::ReverseBits})
      give(m.index(m.intrinsic(which, {two}), 1));
    const Value three = m.splat(m.constant(m.number(kind), 3), 2);
    give(m.index(m.intrinsic(Intrinsic::Max, {m.rem(two, three), m.div(two, three)}), 0));
    const bool any = kind != TypeKind::Long;
    give(m.convert(m.number(TypeKind::Int), m.intrinsic(any ? Intrinsic::Any : Intrinsic::All, {m.lt(two, three)})));
  }
  kernel.body = body;
}

inline void sample_numbers(GlslModule& m) {
  Function& kernel = m.kernel("numbers");
  const Type *real = m.number(TypeKind::Float), *real3 = m.number(TypeKind::Float, 3);
  Variable& x = m.buffer(kernel, "x", real);
  Variable& y = m.buffer(kernel, "y", real);
  Variable& z = m.buffer(kernel, "z", real);
  Variable& out = m.buffer(kernel, "out", real);
  Variable& i = m.local("i", m.number(TypeKind::UInt));
  Block body = {m.declare(i, m.thread())};
  uint32_t next = 0;
  const auto at = [&](Variable& of) { return m.element(m.v(of), m.v(i)); };
  const auto give = [&](Value value) {
    body.push_back(m.set(m.element(m.v(out), m.add(m.mul(m.v(i), m.u(24)), m.u(next++))), m.convert(real, value)));
  };
  for (const Intrinsic which : {Intrinsic::Abs, Intrinsic::Floor, Intrinsic::Ceil, Intrinsic::Trunc, Intrinsic::Rint,
                                Intrinsic::Sqrt, Intrinsic::Rsqrt, Intrinsic::IsNan, Intrinsic::IsInf})
    give(m.intrinsic(which, {at(x)}));
  for (const Intrinsic which : {Intrinsic::Fmin, Intrinsic::Fmax, Intrinsic::Fmod, Intrinsic::Copysign})
    give(m.intrinsic(which, {at(x), at(y)}));
  give(m.intrinsic(Intrinsic::Fma, {at(x), at(y), at(z)}));
  give(m.add(m.mul(at(x), at(y)), at(z)));
  give(m.index(m.intrinsic(Intrinsic::Fma, {m.splat(at(x), 3), m.splat(at(y), 3), m.splat(at(z), 3)}), 2));
  const Value greater = m.gt(m.construct(real3, {at(x), at(y), at(z)}), m.splat(m.f(0), 3));
  give(m.index(m.intrinsic(Intrinsic::Select, {m.splat(at(x), 3), m.splat(at(y), 3), greater}), 1));
  give(m.intrinsic(Intrinsic::Select, {at(x), at(y), m.unary(Operator::Not, m.lt(at(x), at(y)))}));
  give(m.convert(m.number(TypeKind::Char), at(z)));
  give(m.convert(m.number(TypeKind::ULong), m.intrinsic(Intrinsic::Abs, {at(z)})));
  give(m.convert(m.number(TypeKind::BFloat), at(x)));
  give(m.convert(m.number(TypeKind::Half), at(x)));
  give(m.div(at(x), at(y)));
  kernel.body = body;
}

inline const std::vector<Sample>& all_samples() {
  static const std::vector<Sample> samples = {
      {"saxpy", sample_saxpy},
      {"vectors", sample_vectors},
      {"half_and_bfloat", sample_half},
      {"structures", sample_structures},
      {"pointers", sample_pointers},
      {"closures", sample_closures},
      {"groups", sample_groups},
      {"atomics", sample_atomics},
      {"simdgroups", sample_simdgroups},
      {"control", sample_control},
      {"integers", sample_integers},
      {"numbers", sample_numbers},
      {"bits", sample_bits},
      {"reinterpreted", sample_reinterpreted},
      {"positions", sample_positions},
      {"constants", sample_constants},
      {"values", sample_values},
      {"take_arguments", sample_arguments},
      {"one", sample_two_kernels},
      {"x_kernel", sample_two_kernels},
      {"arithmetic", sample_arithmetic},
  };
  return samples;
}

}  // namespace kymo::shader::glsl_tests
