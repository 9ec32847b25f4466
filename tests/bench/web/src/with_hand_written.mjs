// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the machine allows with vectors of 128 bits and one thread: the add and the ten ops as loops written by hand, on
// memory of their own, with nothing around them.

const I32 = 0x7f;
const V128 = 0x7b;
// Locals: addresses of addresses and a count, then what follows.
const [OPERANDS, COUNT, X_AT, Y_AT, OUT_AT, X, Y, Z, ZERO, SIGN, SIZE] = Array.from({ length: 11 }, (_, i) => i);

const leb = (value) => (value < 128 ? [value] : [(value & 127) | 128, ...leb(value >>> 7)]);
// Signed.
const constant = (value) => [0x41, ...(value < 64 ? [value] : [(value & 127) | 128, value >>> 7])];
const get = (local) => [0x20, local];
const set = (local) => [0x21, local];
const simd = (opcode, ...rest) => [0xfd, ...leb(opcode), ...rest];
const [AND, ANDNOT, OR, XOR] = [0x4e, 0x4f, 0x50, 0x51].map((opcode) => simd(opcode));
const [NE, LE, ADD, SUB, MUL, PMAX] = [0x42, 0x45, 0xe4, 0xe5, 0xe6, 0xeb].map((opcode) => simd(opcode));
const vector = (...bytes) => simd(0x0c, ...Array.from({ length: 16 }, (_, i) => bytes[i % 4]));

const VECTORS = 4; // a turn

const ADD_LOOP = [...get(X), ...get(Y), ...ADD, ...set(Z)];
// As tenOps of eager.mjs; a NaN is passed on.
const TEN_OPS = [
  ...get(X), ...get(Y), ...ADD, ...get(Y), ...MUL, ...get(Y), ...ADD, ...get(X), ...MUL, ...get(Y), ...SUB, ...set(Z),
  ...get(X), ...get(Z), ...PMAX, ...get(Z), ...get(Z), ...NE, ...OR, // maximum
  ...get(SIZE), ...AND, ...get(SIGN), ...XOR, ...get(Y), ...ADD, ...set(Z), // abs, neg, add
  ...get(Z), ...get(Z), ...get(ZERO), ...LE, ...ANDNOT, ...set(Z), // relu
];

function loopOf(body) {
  const address = (local, i) => [...get(OPERANDS), 0x28, 2, ...leb(4 * i), ...set(local)];
  const load = (to, from, k) => [...get(from), ...simd(0x00, 2, ...leb(16 * k)), ...set(to)];
  const forward = (local) => [...get(local), ...constant(16 * VECTORS), 0x6a, ...set(local)];
  const turn = Array.from({ length: VECTORS }, (_, k) => [
    ...load(X, X_AT, k), ...load(Y, Y_AT, k), ...body, ...get(OUT_AT), ...get(Z), ...simd(0x0b, 2, ...leb(16 * k)),
  ]).flat();
  const code = [
    2, 3, I32, 6, V128, // locals
    ...address(X_AT, 0), ...address(Y_AT, 1), ...address(OUT_AT, 2),
    ...vector(0, 0, 0, 0x80), ...set(SIGN), ...vector(255, 255, 255, 0x7f), ...set(SIZE),
    0x03, 0x40, ...turn, ...[X_AT, Y_AT, OUT_AT].flatMap(forward),
    ...get(COUNT), ...constant(4 * VECTORS), 0x6b, 0x22, COUNT, 0x0d, 0, 0x0b, 0x0b, // until the count is 0
  ];
  const section = (id, ...bytes) => [id, ...leb(bytes.length), ...bytes];
  const name = (text) => [text.length, ...[...text].map((c) => c.charCodeAt(0))];
  return Uint8Array.from([
    0, ...name('asm').slice(1), 1, 0, 0, 0,
    ...section(1, 1, 0x60, 2, I32, I32, 0),
    ...section(2, 1, ...name('m'), ...name('m'), 2, 0, 1),
    ...section(3, 1, 0),
    ...section(7, 1, ...name('f'), 0, 0),
    ...section(10, 1, ...leb(code.length), ...code),
  ]);
}

/** Scenarios as those of the libraries. Sizes are multiples of a turn's elements. */
export async function load() {
  const scenario = (body) => async ({ x, y }) => {
    const count = x.values.length;
    const bytes = 4 * count;
    const memory = new WebAssembly.Memory({ initial: 2 + Math.ceil((3 * bytes) / 65536) });
    const { instance } = await WebAssembly.instantiate(loopOf(body), { m: { m: memory } });
    const [first, second, out] = [0, 1, 2].map((i) => 65536 + i * (bytes + 64));
    new Uint32Array(memory.buffer, 16, 3).set([first, second, out]);
    new Float32Array(memory.buffer, first, count).set(x.values);
    new Float32Array(memory.buffer, second, count).set(y.values);
    return {
      run(times) {
        for (let i = 0; i < times; ++i) instance.exports.f(16, count);
      },
      output: () => (instance.exports.f(16, count), new Float32Array(memory.buffer, out, count)),
      close: () => undefined,
    };
  };
  return { name: 'hand-written', version: '', close: () => undefined, addLarge: scenario(ADD_LOOP), mixed: scenario(TEN_OPS) };
}
