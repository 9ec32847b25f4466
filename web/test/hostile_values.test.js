// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Values that are not what they seem: arrays that contain themselves, buffers that are gone, proxies, getters that do
// something else, tensors that are none. Each is an error of the package (EX-5), after which the runtime goes on.

import { expect } from 'chai';
import { after, afterEach, before, describe, it } from 'mocha';

import { add, cast, concat, leakyRelu, pad, reshape, TandemError, Tensor } from 'tandem-rt';
import { createRuntime } from './create_runtime.js';
import { checkError, errorOf, expectError, rejectionOf } from './errors.js';

/** An array whose element `i` is given by `get(i)`, whatever that does. */
function trap(length, get) {
  return new Proxy(new Array(length).fill(0), {
    get: (target, name) => (typeof name === 'string' && /^\d+$/.test(name) ? get(Number(name)) : target[name]),
  });
}

const REVOKED = 0;

function revoked(target) {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

describe('hostile values', () => {
  let rt;
  let x;
  before(async () => {
    rt = await createRuntime();
    x = rt.tensor([[1, 2], [3, 4]]);
  });
  after(() => rt.dispose());
  afterEach('the runtime lives on', async () => {
    expect(await add(x, x).array()).to.deep.equal([[2, 4], [6, 8]]);
  });

  it('arrays that contain themselves', () => {
    const cyclic = [];
    cyclic.push(cyclic, 1);
    const ways = [
      () => rt.tensor(cyclic), () => rt.fill([1], cyclic), () => rt.scalar(cyclic), () => add(x, cyclic),
      () => rt.execute('tf.AddV2', [x, cyclic]), () => rt.execute('tf.AddV2', cyclic), () => reshape(x, cyclic),
      () => rt.execute('tf.Reshape', [x, cyclic]), () => concat([x, cyclic], 0), () => rt.zeros(cyclic),
      () => rt.tensor([1], cyclic), () => rt.tensor([1], { shape: cyclic }), () => rt.alloc(cyclic),
      () => rt.execute('tf.AddV2', [x, x], { T: cyclic }), () => leakyRelu(x, { alpha: cyclic }),
      () => rt.execute('tf.Const', [], { value: { values: cyclic }, dtype: 'f32' }),
      () => rt.execute('tf.Const', [], { value: { values: [1], shape: cyclic }, dtype: 'f32' }),
      () => rt.execute('tf.Const', [], cyclic),
    ];
    for (const way of ways) expect(errorOf(way), String(way)).to.be.instanceOf(TandemError);
  });

  it('buffers that are gone', () => {
    const detached = new Float32Array([1, 2]);
    structuredClone(detached.buffer, { transfer: [detached.buffer] });
    for (const way of [() => rt.tensor(detached), () => rt.tensor([detached]), () => add(x, detached),
      () => leakyRelu(x, { alpha: detached })]) {
      expect(errorOf(way), String(way)).to.be.instanceOf(TandemError);
    }
    expectError(() => rt.tensor(detached), 'InvalidArgument', /^\[tensor\] .*detached/);
    // One without elements is no error.
    expect(rt.tensor(new Float32Array(0)).shape).to.deep.equal([0]);
  });

  it('buffers that are resized', async () => {
    const buffer = new ArrayBuffer(16, { maxByteLength: 64 });
    if (!buffer.resizable) return;
    const fixed = new Float32Array(buffer, 8, 2);
    const tracking = new Float32Array(buffer);
    tracking.set([1, 2, 3, 4]);
    expect(await rt.tensor(tracking).array()).to.deep.equal([1, 2, 3, 4]);
    buffer.resize(8);
    expectError(() => rt.tensor(fixed), 'InvalidArgument', /^\[tensor\]/);
    expect(await rt.tensor(tracking).array()).to.deep.equal([1, 2]);
    buffer.resize(64);
    expect(rt.tensor(tracking).shape).to.deep.equal([16]);
    // In the middle: what was measured is not what is read.
    let reads = 0;
    const shrinking = trap(2, () => {
      if (++reads > 1) buffer.resize(4);
      return tracking;
    });
    expect(errorOf(() => rt.tensor(shrinking))).to.be.instanceOf(TandemError);
  });

  it('shared buffers that grow', async () => {
    if (typeof SharedArrayBuffer === 'undefined' || !SharedArrayBuffer.prototype.grow) return;
    const buffer = new SharedArrayBuffer(8, { maxByteLength: 64 });
    const tracking = new Int32Array(buffer);
    let reads = 0;
    const growing = trap(2, () => {
      if (++reads === 2) buffer.grow(16);
      return tracking;
    });
    expect(errorOf(() => rt.tensor(growing))).to.be.instanceOf(TandemError);
    expect(rt.tensor(tracking).shape).to.deep.equal([4]);
  });

  it('typed arrays that lie about themselves', async () => {
    const longer = new Float32Array([1, 2]);
    Object.defineProperty(longer, 'length', { value: 1e6 });
    expect(await rt.tensor(longer).array()).to.deep.equal([1, 2]);
    const other = new Uint8Array([1, 2]);
    Object.defineProperty(other, Symbol.toStringTag, { value: 'Float64Array' });
    expect(rt.tensor(other).dtype).to.equal('u8');
    class Mine extends Float32Array {
      get length() {
        return 7;
      }
    }
    expect(await rt.tensor(new Mine([5, 6])).array()).to.deep.equal([5, 6]);
  });

  it('proxies that are revoked', async () => {
    const list = revoked([]);
    const object = revoked({});
    const ways = [
      () => rt.tensor(list), () => add(x, list), () => add(list, x), () => rt.zeros(list), () => rt.alloc(list),
      () => rt.tensor([1], list), () => rt.tensor([1], object), () => rt.execute('tf.AddV2', list),
      () => rt.execute(object, [x, x]), () => rt.execute('tf.AddV2', [x, x], object),
      () => rt.execute('tf.AddV2', [x, x], {}, object), () => concat(list, 0), () => concat([x, list], 0),
      () => leakyRelu(x, { alpha: list }), () => cast(x, 'i32', object), () => rt.fromImage(object), () => rt.fromImage({}, object),
      () => rt.fill([1], object), () => rt.scalar(object), () => rt.cancel(object), () => rt.keep(object),
      () => rt.scope(object), () => rt.fromGPUBuffer(object, [1]), () => rt.tensor(revoked(new Float32Array(1))),
    ];
    for (const way of ways) {
      if (String(way).includes('rt.cancel')) {
        // A reason may be anything.
        way();
        rt.restart();
      } else {
        expect(errorOf(way), String(way)).to.be.instanceOf(TandemError);
      }
    }
    expect(await rejectionOf(x.data(object))).to.be.instanceOf(TandemError);
    expect(await rejectionOf(x.data({ signal: object }))).to.be.instanceOf(TandemError);
    expect(await rejectionOf(rt.request(object, () => 1))).to.be.instanceOf(TandemError);
    expect(await rejectionOf(rt.request({}, object))).to.be.instanceOf(TandemError);
    expect(await rejectionOf(createRuntime({ onPrint: object, device: object }))).to.be.instanceOf(TandemError);
  });

  it('getters that throw', async () => {
    const boom = () => {
      throw new RangeError('boom');
    };
    const options = { get alpha() { return boom(); }, get signal() { return boom(); } };
    const list = trap(2, boom);
    for (const way of [() => rt.tensor(list), () => add(x, list), () => leakyRelu(x, options), () => rt.zeros(list),
      () => rt.tensor([1], { get shape() { return boom(); } }), () => concat(list, 0), () => reshape(x, list),
      () => rt.execute('tf.AddV2', list)]) {
      const error = errorOf(way);
      expect(error, String(way)).to.be.instanceOf(TandemError);
      expect(error.message).to.match(/boom/);
      expect(error.cause).to.be.instanceOf(RangeError);
    }
    expect(await rejectionOf(x.data(options))).to.be.instanceOf(TandemError);
    expect(await rejectionOf(rt.request(options, () => 1))).to.be.instanceOf(TandemError);
    // What it says does not matter, even if it is like a trap of the module.
    expectError(() => leakyRelu(x, { alpha: 'call stack' }), 'InvalidArgument', /call stack/);
    const recursion = () => {
      throw new TandemError('Unknown', 'too much recursion');
    };
    expectError(() => leakyRelu(x, { alpha: trap(1, recursion) }), 'Unknown', /recursion/);
  });

  it('shapes and lists that change when they are read', async () => {
    let reads = 0;
    const changing = new Proxy([2, 2], {
      get: (target, name) => (name === 'length' ? (++reads > 1 ? 30_000 : 2) : target[name] ?? 1),
    });
    expect(rt.zeros(changing).shape).to.deep.equal([2, 2]);
    reads = 0;
    expect(rt.tensor(new Float32Array(4), changing).shape).to.deep.equal([2, 2]);
    const endless = [1];
    Object.defineProperty(endless, 1, { enumerable: true, get: () => endless.push(1) && 1 });
    expect(await rt.tensor(endless).array()).to.deep.equal([1, 1]);
    const shrinking = [[1, 2], [3, 4]];
    Object.defineProperty(shrinking[0], 0, { get: () => { shrinking[1].length = 0; return 1; } });
    expectError(() => rt.tensor(shrinking), 'InvalidArgument', /values\[1\]/);
    const forever = [x, x];
    forever[Symbol.iterator] = function* iterate() {
      for (;;) yield x;
    };
    expect(concat(forever, 0).shape).to.deep.equal([4, 2]);
    const sparse = [];
    sparse.length = 2 ** 32 - 1;
    for (const way of [() => rt.tensor(sparse), () => rt.execute('tf.AddV2', sparse), () => concat(sparse, 0),
      () => rt.zeros(sparse), () => reshape(x, sparse), () => leakyRelu(x, { alpha: sparse })]) {
      expect(errorOf(way), String(way)).to.be.instanceOf(TandemError);
    }
  });

  it('sizes that are none', () => {
    const sizes = [NaN, Infinity, -Infinity, 0.5, -1, 1n, '1', null, undefined, true, [1], {}, Symbol('s'), 2 ** 53];
    for (const size of sizes) {
      for (const way of [() => rt.zeros([size]), () => rt.ones([2, size]), () => rt.fill([size], 1),
        () => rt.alloc([size]), () => rt.tensor(new Float32Array(1), [size]),
        () => rt.tensor([1], { shape: [size] })]) {
        expectError(way, 'InvalidArgument', /expected (sizes|at most|.* elements)/);
      }
    }
    expectError(() => rt.zeros([Symbol('s')]), 'InvalidArgument', /got \[symbol\]/);
    for (const size of [NaN, Infinity, 0.5, null, undefined, 2 ** 40, {}, Symbol('s')]) {
      expect(errorOf(() => reshape(x, [size, 2])), String(size)).to.be.instanceOf(TandemError);
      expect(errorOf(() => pad(x, [[size, 0], [0, 0]])), String(size)).to.be.instanceOf(TandemError);
    }
  });
});

describe('forged tensors', () => {
  let rt;
  let x;
  before(async () => {
    rt = await createRuntime();
    x = rt.tensor([1, 2]);
  });
  after(() => rt.dispose());

  it('are no arguments, and have nothing', async () => {
    const forgeries = [
      revoked(x), Object.create(Tensor.prototype), Object.create(x), new Proxy(x, {}),
      Object.assign(Object.create(Tensor.prototype), x, { ref: { pointer: 4711 } }),
      { __proto__: Tensor.prototype, engine: rt.engine, runtime: rt, ref: { pointer: 4711 } },
    ];
    for (const [i, forged] of forgeries.entries()) {
      for (const way of [() => add(forged, x), () => add(x, forged), () => add(forged, forged), () => leakyRelu(forged),
        () => concat([x, forged], 0), () => rt.execute('tf.AddV2', [x, forged]), () => rt.tensor(forged),
        () => rt.keep(forged), () => leakyRelu(x, { alpha: forged })]) {
        expect(errorOf(way), `${i}: ${way}`).to.be.instanceOf(TandemError);
      }
      // Of a revoked proxy nothing of ours is ever called.
      if (i === REVOKED) continue;
      const use = (name) => Tensor.prototype[name].call(forged);
      for (const name of ['view', 'clone', 'dispose']) expectError(() => use(name), 'InvalidArgument', /like one/);
      for (const name of ['data', 'array', 'item', 'ready', 'text', 'gpuBuffer']) {
        checkError(await rejectionOf(use(name)), 'InvalidArgument', /like one/);
      }
    }
    const bare = Object.create(Tensor.prototype);
    for (const name of ['shape', 'dtype', 'rank', 'size', 'state', 'device']) {
      expectError(() => bare[name], 'InvalidArgument', /like one/);
    }
    expect(String(bare)).to.equal('Tensor (disposed)');
    expect(await add(x, x).array()).to.deep.equal([2, 4]);
  });

  it('are not made by its constructor', () => {
    for (const way of [() => new Tensor(), () => new Tensor(rt, {}, 4711), () => new rt.constructor(),
      () => new rt.constructor({}, {})]) {
      expectError(way, 'InvalidArgument', /expected a (tensor|runtime)/);
    }
  });
});
