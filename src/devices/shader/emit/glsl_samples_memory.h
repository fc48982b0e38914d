// More of the modules of glsl_samples.h: bits, unions, constants, arguments.
#pragma once

#include "shader/emit/glsl_samples_more.h"

namespace kymo::shader::glsl_tests {

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

inline void sample_unions(GlslModule& m) {
  const Type *word = m.number(TypeKind::UInt), *real = m.number(TypeKind::Float);
  const Type* both =
      m.structure("Both", {{"real", real}, {"word", word}, {"bytes", m.array(m.number(TypeKind::UChar), 4)}}, true);
  Function& kernel = m.kernel("unions");
  Variable& x = m.buffer(kernel, "x", both);
  Variable& i = m.local("i", word);
  Variable& u = m.local("u", both);
  Variable& byte = m.local("byte", word);
  const Value shown = m.index(m.member(m.v(u), "bytes"), m.rem(m.as(TypeKind::Int, m.v(i)), m.i(4)));
  kernel.body = {
      m.declare(i, m.thread()),
      m.declare(u, m.element(m.v(x), m.v(i))),
      m.set(m.member(m.v(u), "real"), m.mul(m.member(m.v(u), "real"), m.f(-2))),
      m.declare(byte, m.convert(word, shown)),
      m.set(m.index(m.member(m.v(u), "bytes"), 0), m.convert(m.number(TypeKind::UChar), m.add(m.v(byte), m.u(1)))),
      m.set(m.element(m.v(x), m.v(i)), m.v(u)),
      m.set(m.member(m.element(m.v(x), m.v(i)), "word"),
            m.binary(Operator::Xor, m.member(m.element(m.v(x), m.v(i)), "word"), m.u(0x100))),
  };
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
      {"unions", sample_unions},
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
