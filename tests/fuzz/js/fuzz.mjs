#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The fuzzer of the npm package in Node: random calls of every op through rt.execute and the typed functions, with
// arguments of any kind. Only TandemError may come out of them, nothing may hang, and memory must stay flat.

import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inspect, parseArgs, types } from 'node:util';

const { isProxy } = types;

const USAGE = `usage: node --expose-gc fuzz.mjs [OPTIONS]
  --seed N        what the calls are drawn from; default: 1
  --calls N       how many; default: 20000
  --full N        --calls, where the environment has TANDEM_TEST_FULL=1; default: 500000
  --first N       the number of the first call; with --calls 1 one call is made again
  --print         print each call before it is made
  --package DIR   the built package; default: web/dist`;

const HANG_MS = 60_000;
// What a result that is not needed may take, and what memory may grow by once everything has been used.
const MEMORY_LIMIT = 4 << 20;
const MOST_GROWTH = 32 << 20;
const ROUND = 1000;

const here = dirname(fileURLToPath(import.meta.url));

/** SplitMix64 over `seed` and `index`, so that each call can be made again alone. */
class Random {
  constructor(seed, index) {
    this.state = BigInt.asUintN(64, BigInt(seed) * 0x9e3779b97f4a7c15n ^ BigInt(index) * 0xbf58476d1ce4e5b9n);
  }

  next() {
    this.state = BigInt.asUintN(64, this.state + 0x9e3779b97f4a7c15n);
    let z = this.state;
    z = BigInt.asUintN(64, (z ^ z >> 30n) * 0xbf58476d1ce4e5b9n);
    z = BigInt.asUintN(64, (z ^ z >> 27n) * 0x94d049bb133111ebn);
    return Number((z ^ z >> 31n) & 0xffffffffn);
  }

  below(size) {
    return this.next() % size;
  }

  oneIn(count) {
    return this.below(count) === 0;
  }

  between(low, high) {
    return low + this.below(high - low + 1);
  }

  pick(list) {
    return list[this.below(list.length)];
  }
}

/** A value as text, tensors by dtype and shape. */
function show(tandem, value) {
  if (isProxy(value)) return 'a proxy';
  if (value instanceof tandem.Tensor) return value.disposed ? 'a tensor that is disposed of' : value.toString();
  if (Array.isArray(value) && value.length < 20 && !value.includes(value)) {
    return `[${value.map((element) => show(tandem, element)).join(', ')}]`;
  }
  return inspect(value, { depth: 1, breakLength: Infinity });
}

/** Values that nobody would give. Made anew each time, since some can be spent. */
const WEIRD = [
  () => undefined, () => null, () => NaN, () => Infinity, () => -0, () => 1e308, () => 2 ** 53, () => -1,
  () => 2n ** 70n, () => -5n, () => '', () => 'x'.repeat(3000), () => '\ud800', () => Symbol('s'), () => true,
  () => ({}), () => [], () => [[]], () => [[1], [2, 3]], () => [1, 'a'], () => [undefined], () => new Array(3),
  () => () => 1, () => new Date(0), () => /x/, () => new Map([[1, 2]]), () => Promise.resolve(1),
  () => new Float32Array(3), () => new BigInt64Array(2), () => new Uint8ClampedArray(2), () => new ArrayBuffer(8),
  () => new DataView(new ArrayBuffer(8)), () => Object.create(null), () => new Proxy([1, 2], {}),
  () => { const { proxy, revoke } = Proxy.revocable([1], {}); revoke(); return proxy; },
  () => { const list = [1]; list.push(list); return list; },
  () => { const bytes = new Float32Array(4); structuredClone(bytes, { transfer: [bytes.buffer] }); return bytes; },
  () => ({ get length() { throw new RangeError('a getter that throws'); } }),
  () => ({ length: 2 ** 40 }), () => ({ toString() { throw new Error('no text'); } }),
  () => ({ valueOf: () => 3 }), () => ({ dtype: 'f32', shape: [2], data: [1, 2] }),
];

const BYTES = {
  bool: 1, u8: 1, i8: 1, u16: 2, i16: 2, i32: 4, u32: 4, i64: 8, u64: 8, f16: 2, bf16: 2, f32: 4, f64: 8, c64: 8,
};
const DTYPES = [...Object.keys(BYTES), 'string'];
const INTEGERS = [-3, -2, -1, 0, 0, 1, 1, 2, 2, 3, 4, 5, 7, 100, 65536, 2 ** 31, -(2 ** 31), 2 ** 40, 2 ** 53 - 1];
const REALS = [0, -0, 1, -1, 0.5, 1e-7, 3e38, -1e30, NaN, Infinity, -Infinity];
const TEXTS = ['', 'SAME', 'VALID', 'NHWC', 'NCHW', 'ij,jk->ik', '...i->i', 'ab', 'f32', '\u0000', '\u{1f600}'];

function drawShape(random) {
  const dim = () => random.pick([0, 1, 1, 2, 2, 3, 3, 4]);
  return Array.from({ length: random.pick([0, 1, 1, 2, 2, 3, 4, 4, 5, 8]) }, dim);
}

function drawElement(random, dtype) {
  if (dtype === 'string') return random.pick(TEXTS);
  if (dtype === 'bool') return random.oneIn(2);
  if (dtype === 'i64' || dtype === 'u64') return BigInt(random.between(0, 5));
  if (dtype === 'c64') return [random.pick(REALS), 1];
  return /^[ui]/.test(dtype) ? random.between(0, 5) : random.pick(REALS);
}

class Fuzzer {
  constructor(tandem, rt, seed) {
    this.tandem = tandem;
    this.rt = rt;
    this.seed = seed;
    this.definitions = rt.ops();
    this.typed = Object.entries(tandem).filter(([name, value]) => typeof value === 'function' && /^[a-z]/.test(name) &&
      !['createRuntime', 'bf16ToNumber', 'f16ToNumber', 'numberToBF16', 'numberToF16'].includes(name));
    this.pool = [];  // results of earlier calls of the round
    this.numRight = 0;
  }

  drawTensor(random, dtype = random.pick(DTYPES)) {
    const shape = random.oneIn(2) ? [2, 3] : drawShape(random);
    const size = shape.reduce((product, dim) => product * dim, 1);
    const values = Array.from({ length: size }, () => drawElement(random, dtype));
    return this.rt.tensor(dtype === 'c64' ? new Float32Array(values.flat()) : values, { dtype, shape });
  }

  drawInput(stream, argument, dtypeOf) {
    // Of its own, so that what follows does not depend on results of earlier calls.
    const random = new Random(stream.next(), stream.next());
    if (random.oneIn(12)) return random.pick(WEIRD)();
    if (this.pool.length > 0 && random.oneIn(6)) return random.pick(this.pool);
    const dtype = argument?.dtype ?? dtypeOf.get(argument?.type_attr) ?? random.pick(DTYPES);
    if (argument?.host_input && dtype !== 'string') {
      const one = () => random.oneIn(8) ? random.pick(INTEGERS) : random.between(-1, 3);
      const list = Array.from({ length: random.below(5) }, one);
      return random.oneIn(2) ? list : random.between(-2, 3);
    }
    if (random.oneIn(5)) return random.oneIn(2) ? random.pick(REALS) : [random.pick(REALS), random.pick(INTEGERS)];
    return this.drawTensor(random, dtype);
  }

  drawAttr(random, attr) {
    if (random.oneIn(15)) return random.pick(WEIRD)();
    const one = () => {
      switch (attr.kind) {
        case 'type': return random.pick(attr.allowed ?? DTYPES);
        case 'int': return random.oneIn(3) ? random.pick(INTEGERS) : random.between(1, 3);
        case 'float': return random.pick(REALS);
        case 'bool': return random.oneIn(2);
        case 'string': return random.pick(attr.allowed ?? TEXTS);
        case 'shape': return drawShape(random);
        case 'tensor': return { dtype: 'f32', shape: [2], data: [1, 2] };
        default: return random.pick(TEXTS);
      }
    };
    return attr.list ? Array.from({ length: random.pick([0, 1, 2, 3, 4, 4, 4]) }, one) : one();
  }

  /** What a call is: a name, and a function that makes it. */
  draw(random) {
    if (random.oneIn(3)) {
      const [name, fn] = random.pick(this.typed);
      const one = () => this.drawInput(random, undefined, new Map());
      const count = random.oneIn(10) ? random.below(6) : Math.max(fn.length, 1);
      const args = Array.from({ length: count }, () => random.oneIn(10) ? [one(), 1] : one());
      if (random.oneIn(3)) args.push(random.oneIn(4) ? random.pick(WEIRD)() : { axis: random.between(-2, 2) });
      return { name, args, make: () => fn(...args) };
    }
    const definition = random.pick(this.definitions);
    const dtypeOf = new Map(definition.attrs.filter(({ kind }) => kind === 'type')
      .map((attr) => [attr.name, random.pick(attr.allowed ?? DTYPES)]));
    const inputs = definition.inputs.flatMap((argument) => {
      const count = argument.number_attr === undefined && argument.type_list_attr === undefined ? 1 : random.below(4);
      return Array.from({ length: count }, () => this.drawInput(random, argument, dtypeOf));
    });
    if (random.oneIn(30)) inputs.pop();
    if (random.oneIn(30)) inputs.push(random.pick(WEIRD)());
    const attrs = {};
    for (const attr of definition.attrs) {
      const isLeftOut = attr.inferred ? !random.oneIn(20) : attr.default !== undefined && random.oneIn(2);
      if (!isLeftOut) attrs[attr.name] = this.drawAttr(random, attr);
    }
    const options = random.oneIn(30) ? { results: random.pick([0, 1, 2, -1, NaN, 2 ** 31, '1']) } : undefined;
    const given = random.oneIn(60) ? random.pick(WEIRD)() : inputs;
    const args = [given, attrs, options];
    return { name: definition.name, args, make: () => this.rt.execute(definition.name, ...args) };
  }

  /** What is wrong with call `index`, or undefined. Awaits its results. */
  async run(index, print) {
    const random = new Random(this.seed, index);
    const call = this.draw(random);
    if (print) console.log(`${index} ${call.name} ${show(this.tandem, call.args)}`);
    let results;
    try {
      results = await call.make();
      if (!Array.isArray(results)) results = [results];
    } catch (error) {
      return this.check(error, call);
    }
    this.numRight += 1;
    for (const result of results.filter((value) => value instanceof this.tandem.Tensor)) {
      try {
        if (random.oneIn(4)) {
          const data = await result.data();
          const size = result.shape.reduce((product, dim) => product * dim, 1);
          const expected = result.dtype === 'c64' ? 2 * size : size;
          if (data.length !== expected) return `data() has ${data.length} elements, expected ${expected}`;
        }
        if (random.oneIn(20)) this.pool.push(result);
        else if (!random.oneIn(10)) result.dispose();
      } catch (error) {
        const wrong = this.check(error, call);
        if (wrong !== undefined) return wrong;
      }
    }
    return undefined;
  }

  check(error, call) {
    if (!(error instanceof this.tandem.TandemError)) {
      // What a getter or a conversion of the caller's throws is the caller's.
      if (error instanceof Error && ['a getter that throws', 'no text'].includes(error.message)) return undefined;
      return `${call.name} throws ${error?.stack ?? String(error)}`;
    }
    // This op's error may come from an argument, too, which an earlier call has made.
    const isMeant = error.op === 'test.error.tensor';
    if (['Internal', 'Unknown', 'DataLoss', 'Unavailable'].includes(error.code) && !isMeant) {
      return `${call.name} gives ${error.code}: ${error.message}`;
    }
    return undefined;
  }
}

/** What the package itself keeps: lists of the last calls of each op (web/src/recent.ts). */
function bytesKept(rt) {
  let bytes = 0;
  for (const { lists } of rt.engine.recent.ops.values()) {
    for (const { dtype, values } of lists) bytes += listBytes(dtype, values);
  }
  return bytes;
}

/** What a list of a call takes as a tensor: up to 64 bytes are in the tensor itself, strings have offsets of 8 bytes. */
function listBytes(dtype, values) {
  if (dtype === 'string') {
    return values.reduce((bytes, value) => bytes + 8 + Buffer.byteLength(value), 8);
  }
  const size = values.length * BYTES[dtype];
  return size > 64 ? size : 0;
}

/** Until nothing is left but what the package keeps; finalizers run when the engine likes. */
async function collect(rt) {
  for (let i = 0; i < 3 || (i < 50 && rt.memory().bytesInUse !== bytesKept(rt)); ++i) {
    globalThis.gc();
    await new Promise((resolve) => { setTimeout(resolve, i); });
  }
}

async function main() {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: '1' },
      calls: { type: 'string', default: '20000' },
      full: { type: 'string', default: '500000' },
      first: { type: 'string', default: '0' },
      print: { type: 'boolean', default: false },
      package: { type: 'string', default: join(here, '../../../web/dist') },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help || globalThis.gc === undefined) {
    console.error(USAGE);
    process.exit(values.help ? 0 : 2);
  }
  const numCalls = Number(process.env.TANDEM_TEST_FULL === '1' ? values.full : values.calls);
  const tandem = await import(pathToFileURL(join(values.package, 'index.node.js')));
  let current = 0;
  const failures = new Map();
  const fail = (text) => {
    const key = text.slice(0, 60);
    if (failures.has(key)) return;
    failures.set(key, current);
    console.log(`FAILED --seed ${values.seed} --first ${current} --calls 1: ${text}`);
  };
  process.on('unhandledRejection', (reason) => fail(`a rejection that nobody hears of: ${reason?.stack ?? reason}`));

  const rt = await tandem.createRuntime({ device: 'cpu', onPrint: () => undefined, memoryLimit: MEMORY_LIMIT });
  const fuzzer = new Fuzzer(tandem, rt, Number(values.seed));
  const first = Number(values.first);
  let base;
  for (current = first; current < first + numCalls && failures.size < 20; ++current) {
    // A call that does not come back holds the event loop, which a timer cannot see: the last number printed tells it.
    let timer;
    const hang = new Promise((resolve) => { timer = setTimeout(resolve, HANG_MS, 'does not end'); });
    const wrong = await Promise.race([fuzzer.run(current, values.print), hang]);
    clearTimeout(timer);
    if (wrong !== undefined) fail(wrong);
    if ((current - first) % ROUND !== ROUND - 1) continue;
    for (const tensor of fuzzer.pool.splice(0)) tensor.dispose();
    if ((current - first) % (20 * ROUND) !== 20 * ROUND - 1) continue;
    await collect(rt);
    const { bytesInUse, wasmBytes } = rt.memory();
    const now = process.memoryUsage().heapUsed + wasmBytes;
    base ??= now;
    if (now - base > MOST_GROWTH) fail(`memory has grown from ${base} to ${now} bytes`);
    if (bytesInUse !== bytesKept(rt)) fail(`${bytesInUse} bytes of tensors are left, not ${bytesKept(rt)}`);
  }
  rt.dispose();
  console.log(`fuzz.mjs: seed ${values.seed}, ${current - first} calls, ${fuzzer.numRight} of them right, ` +
    `${failures.size} failures`);
  process.exit(failures.size === 0 ? 0 : 1);
}

await main();
