// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Safetensors: the files of tests/data/safetensors, made by hand after the format's description; every kind of source;
// saving, with bytes compared; damaged files, progress, signals, and what failures leave.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { add, loadSafetensors, matMul, Safetensors, saveSafetensors, TandemError, Tensor } from 'tandem-rt';
import suite from '../../tests/data/safetensors/cases.json' with { type: 'json' };
import { createRuntime } from './create_runtime.js';
import { errorOf, rejectionOf } from './errors.js';

const unhex = (hex) => Uint8Array.from({ length: hex.length / 2 }, (_, i) => parseInt(hex.slice(2 * i, 2 * i + 2), 16));
const hexOf = (array) => Array.from(new Uint8Array(array.buffer, array.byteOffset, array.byteLength),
  (byte) => byte.toString(16).padStart(2, '0')).join('');

function makeFile(header, data) {
  const text = new TextEncoder().encode(header);
  const file = new Uint8Array(8 + text.length + data.length);
  new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true);
  file.set(text, 8);
  file.set(data, 8 + text.length);
  return file;
}

const TWO = makeFile('{"__metadata__":{"format":"tandem","step":"7"},"w":{"dtype":"F32","shape":[2,1],' +
  '"data_offsets":[0,8]},"b":{"data_offsets":[8,10],"shape":[],"dtype":"I16"}}  ',
unhex('0000803f000000c03930'));  // 1, -2; 12345

/** A stream that gives so many bytes at a time; `ended` says how it came to its end. */
function streamOf(bytes, piece) {
  const state = { ended: undefined, given: 0 };
  state.stream = new ReadableStream({
    pull(controller) {
      if (state.given >= bytes.length) {
        state.ended ??= 'closed';
        controller.close();
        return;
      }
      controller.enqueue(bytes.slice(state.given, state.given + piece));
      state.given += piece;
    },
    cancel() {
      state.ended = 'cancelled';
    },
  }, { highWaterMark: 0 });
  return state;
}

describe('safetensors', () => {
  let rt;
  before(async () => {
    rt = await createRuntime({ device: 'cpu' });
  });
  after(() => rt.dispose());

  // May be less than before a test: the collector frees what other tests have left.
  const inUse = () => rt.memory().bytesInUse;

  describe('files made by hand', () => {
    for (const { name, file, tensors, metadata, code, text } of suite.cases) {
      it(code === undefined ? `are read: ${name}` : `are refused: ${name}`, async () => {
        const before = inUse();
        if (code !== undefined) {
          // Of a known size or not, in one piece or byte by byte.
          const sources = [() => unhex(file), () => new Response(streamOf(unhex(file), 1).stream)];
          for (const source of file.length < 4000 ? sources : sources.slice(0, 1)) {
            const error = await rejectionOf(loadSafetensors(rt, source()));
            expect(error).to.be.instanceOf(TandemError);
            expect(error.op).to.equal('loadSafetensors');
            expect(error.code, error.message).to.equal(code);
            expect(error.message).to.match(/^\[loadSafetensors\] (bytes|response): /);
            if (source === sources[0]) expect(error.message).to.include(text);
          }
        } else {
          const loaded = await loadSafetensors(rt, unhex(file));
          expect([...loaded.tensors.keys()]).to.deep.equal(tensors.map((tensor) => tensor.name));
          for (const expected of tensors) {
            const tensor = loaded.get(expected.name);
            expect(tensor.dtype).to.equal(expected.dtype);
            expect(tensor.shape).to.deep.equal(expected.shape);
            expect(hexOf(await tensor.data())).to.equal(expected.data);
          }
          expect([...loaded.metadata].sort()).to.deep.equal(Object.entries(metadata).sort());
          loaded.dispose();
        }
        expect(inUse()).to.be.at.most(before);
      });
    }
  });

  it('come from every kind of source', async () => {
    const url = URL.createObjectURL(new Blob([TWO]));
    const padded = new Uint8Array(TWO.length + 6);
    padded.set(TWO, 3);
    const sources = {
      bytes: TWO, 'ArrayBuffer': TWO.slice().buffer, part: padded.subarray(3, 3 + TWO.length),
      DataView: new DataView(padded.buffer, 3, TWO.length), blob: new Blob([TWO]),
      'a file': new File([TWO], 'weights.safetensors'), response: new Response(TWO),
      'a stream': new Response(streamOf(TWO, 7).stream), string: url, URL: new URL(url),
    };
    // The tests' pages allow no fetching of blobs.
    if (globalThis.document !== undefined || globalThis.WorkerGlobalScope !== undefined) {
      delete sources.string;
      delete sources.URL;
    }
    for (const [kind, source] of Object.entries(sources)) {
      const { tensors, metadata } = await loadSafetensors(rt, source);
      expect(await tensors.get('w').array(), kind).to.deep.equal([[1], [-2]]);
      expect(await tensors.get('b').item(), kind).to.equal(12345);
      expect(metadata.get('step')).to.equal('7');
    }
    URL.revokeObjectURL(url);
  });

  it('that are no source, options and runtimes are errors at the caller\'s line', async () => {
    for (const source of [undefined, null, 3, {}, [1], new Map(), () => 1]) {
      const error = await rejectionOf(loadSafetensors(rt, source));
      expect(error.code).to.equal('InvalidArgument');
      expect(error.message).to.match(/expected a URL, a response, a blob, or bytes that are still there, got /);
      expect(error.location).to.match(/safetensors\.test\.js|tests\.js/);
    }
    const { buffer } = TWO.slice();
    structuredClone(buffer, { transfer: [buffer] });
    expect((await rejectionOf(loadSafetensors(rt, buffer))).message).to.match(/got (0|an ArrayBuffer)|still there/);
    expect((await rejectionOf(loadSafetensors({}, TWO))).message).to.include('expected a runtime, got an object');
    for (const [options, text] of [
      [{ onprogress: () => 0 }, 'expected the options signal, onProgress, filter, got onprogress'],
      [{ onProgress: 1 }, 'expected onProgress to be a function, got number 1'],
      [{ signal: 1 }, 'expected signal to be an AbortSignal, got number 1'], [null, 'expected options to be an object'],
    ]) {
      expect((await rejectionOf(loadSafetensors(rt, TWO, options))).message).to.include(text);
    }
  });

  it('of a server that answers otherwise say what it said', async () => {
    const answer = (status, code) => async () => {
      const error = await rejectionOf(loadSafetensors(rt, new Response('no', { status, statusText: 'Why' })));
      expect(error.code).to.equal(code);
      expect(error.message).to.include(`response: expected a file, got status ${status} Why`);
    };
    await answer(404, 'NotFound')();
    await answer(503, 'Unavailable')();
    const read = new Response(TWO);
    await read.arrayBuffer();
    expect((await rejectionOf(loadSafetensors(rt, read))).code).to.equal('FailedPrecondition');
  });

  it('are refused where they are truncated, at every byte, and leave nothing', async () => {
    const before = inUse();
    for (let size = 0; size < TWO.length; ++size) {
      for (const source of [TWO.subarray(0, size), new Response(streamOf(TWO.slice(0, size), 64).stream)]) {
        const error = await rejectionOf(loadSafetensors(rt, source));
        expect(error.code, `${size}: ${error.message}`).to.equal('DataLoss');
      }
    }
    expect(inUse()).to.be.at.most(before);
  });

  // A flipped bit may give another valid file; it must never give one whose bytes do not fit its shapes.
  it('survive every flipped bit', async () => {
    const before = inUse();
    for (let bit = 0; bit < TWO.length * 8; ++bit) {
      const flipped = TWO.slice();
      flipped[bit >> 3] ^= 1 << (bit & 7);
      let loaded;
      try {
        loaded = await loadSafetensors(rt, flipped);
      } catch (error) {
        expect(error, `bit ${bit}`).to.be.instanceOf(TandemError);
        continue;
      }
      let total = 0;
      for (const tensor of loaded.tensors.values()) total += (await tensor.data()).byteLength;
      expect(total, `bit ${bit}`).to.equal(10);
      loaded.dispose();
    }
    expect(inUse()).to.be.at.most(before);
  });

  it('tell how far they are', async () => {
    for (const source of [TWO, new Response(streamOf(TWO, 5).stream)]) {
      const told = [];
      await loadSafetensors(rt, source, { onProgress: (progress) => told.push(progress) });
      expect(told.every(({ total }) => total === TWO.length)).to.equal(true);
      expect(told.at(-1).loaded).to.equal(TWO.length);
      expect(told.map(({ loaded }) => loaded)).to.deep.equal(told.map(({ loaded }) => loaded).sort((a, b) => a - b));
    }
    const mine = new Error('mine');
    const before = inUse();
    const { stream, ...state } = streamOf(TWO, 5);
    expect(await rejectionOf(loadSafetensors(rt, new Response(stream), {
      onProgress: ({ loaded }) => {
        if (loaded > TWO.length - 4) throw mine;
      },
    }))).to.equal(mine);
    expect(state.ended).to.not.equal('closed');
    expect(inUse()).to.be.at.most(before);
  });

  it('give up when their signal is aborted, with its reason, and let the server know', async () => {
    const reason = new Error('enough');
    expect(await rejectionOf(loadSafetensors(rt, TWO, { signal: AbortSignal.abort(reason) }))).to.equal(reason);
    const before = inUse();
    const controller = new AbortController();
    let cancelled;
    // Gives the first tensor, and then nothing any more.
    const stream = new ReadableStream({
      start(c) {
        c.enqueue(TWO.slice(0, TWO.length - 1));
      },
      cancel(why) {
        cancelled = why ?? true;
      },
    });
    const loading = loadSafetensors(rt, new Response(stream), {
      signal: controller.signal,
      onProgress: ({ loaded }) => {
        if (loaded === TWO.length - 1) setTimeout(() => controller.abort(reason));
      },
    });
    expect(await rejectionOf(loading)).to.equal(reason);
    expect(cancelled).to.not.equal(undefined);
    expect(inUse()).to.be.at.most(before);
  });

  it('belong to the request and the scope that they are loaded in', async () => {
    const before = inUse();
    const data = new Float32Array(1000);
    const file = await saveSafetensors({ a: rt.tensor(data) });
    const kept = await rt.scope(async () => {
      await loadSafetensors(rt, file);
      return loadSafetensors(rt, new Response(streamOf(file, 100).stream));
    });
    expect(await kept.get('a').data()).to.deep.equal(data);
    kept.dispose();
    const controller = new AbortController();
    const reason = new Error('over');
    let inner;
    const request = rt.request({ signal: controller.signal }, () => {
      const onProgress = () => controller.abort(reason);
      inner = loadSafetensors(rt, new Response(streamOf(file, 100).stream), { onProgress });
      return inner;
    });
    expect(await rejectionOf(request)).to.equal(reason);
    expect(await rejectionOf(inner)).to.equal(reason);
    expect(inUse()).to.be.at.most(before + 4096);
  });

  it('with dtypes that Tandem lacks are read but for these', async () => {
    const file = makeFile('{"s":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},' +
      '"w":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[4,6]}}', unhex('0000803f0102'));
    const error = await rejectionOf(loadSafetensors(rt, file));
    expect(error.code).to.equal('Unimplemented');
    expect(error.message).to.include('tensor "w": expected a dtype that Tandem has, got F8_E4M3');
    const { tensors } = await loadSafetensors(rt, file, { filter: (name) => name === 's' });
    expect([...tensors.keys()]).to.deep.equal(['s']);
    expect(await tensors.get('s').array()).to.deep.equal([1]);
  });

  it('too large for the runtime are an error that names the tensor', async () => {
    const small = await createRuntime({ device: 'cpu', memoryLimit: 1 << 20 });
    const file = makeFile('{"a":{"dtype":"U8","shape":[2097152],"data_offsets":[0,2097152]}}', new Uint8Array(1 << 21));
    const error = await rejectionOf(loadSafetensors(small, file));
    expect(error.code).to.equal('ResourceExhausted');
    expect(error.message).to.include('bytes: tensor "a": ');
    // The runtime goes on.
    expect(await (await loadSafetensors(small, TWO)).get('b').item()).to.equal(12345);
    await small.dispose();
    expect((await rejectionOf(loadSafetensors(small, TWO))).code).to.equal('FailedPrecondition');
  });

  it('give tensors by name, and dispose of them together', async () => {
    const loaded = await loadSafetensors(rt, TWO);
    expect(loaded).to.be.instanceOf(Safetensors);
    expect(loaded.get('w')).to.be.instanceOf(Tensor);
    const error = errorOf(() => loaded.get('v\n'));
    expect(error.code).to.equal('NotFound');
    expect(error.message).to.equal('bytes: expected a tensor "v\\n", got none of this name');
    loaded.dispose();
    expect(loaded.get('w').disposed).to.equal(true);
    loaded[Symbol.dispose]?.();
  });

  it('are saved as the bytes of the format', async () => {
    const header = '{"__metadata__":{"k":"v"},"a":{"dtype":"U16","shape":[2],"data_offsets":[0,4]}}';
    const a = rt.tensor(new Uint16Array([0x7877, 0x7a79]));
    const expected = makeFile(`${header} `, unhex('7778797a'));
    expect(await saveSafetensors({ a }, { metadata: { k: 'v' } })).to.deep.equal(expected);
    expect(await saveSafetensors(new Map([['a', a]]), { metadata: new Map([['k', 'v']]) })).to.deep.equal(expected);
    expect(await saveSafetensors({})).to.deep.equal(makeFile('{}      ', []));
  });

  it('are saved with the widest elements first, then by name', async () => {
    const file = await saveSafetensors({
      odd: rt.tensor(new Uint8Array([1, 2, 3])), wide: rt.scalar(1, 'f64'),
      b: rt.tensor(new Int16Array([4])), a: rt.tensor(new Int16Array([5])),
    });
    expect(hexOf(file.subarray(-15))).to.equal('000000000000f03f05000400010203');
    expect((file.length - 15) % 8).to.equal(0);
  });

  it('are written again as they were read', async () => {
    for (const { name, file, tensors } of suite.cases) {
      if (tensors === undefined) continue;
      const first = await loadSafetensors(rt, unhex(file));
      const once = await saveSafetensors(first.tensors, { metadata: first.metadata });
      const second = await loadSafetensors(rt, once);
      for (const expected of tensors) {
        expect(second.get(expected.name).shape, name).to.deep.equal(expected.shape);
        expect(hexOf(await second.get(expected.name).data()), name).to.equal(expected.data);
      }
      expect([...second.metadata].sort()).to.deep.equal([...first.metadata].sort());
      expect(await saveSafetensors(second.tensors, { metadata: second.metadata })).to.deep.equal(once);
      first.dispose();
      second.dispose();
    }
  });

  it('are saved when their tensors have been computed', async () => {
    const x = rt.tensor([1, 2]);
    const told = [];
    const file = await saveSafetensors({ sum: add(x, x), ones: rt.ones([3]) },
      { onProgress: (progress) => told.push(progress) });
    expect(hexOf(file.subarray(-20))).to.equal('0000803f0000803f0000803f0000004000008040');
    expect(told.at(-1)).to.deep.equal({ loaded: file.length, total: file.length });
  });

  it('say what cannot be saved', async () => {
    const x = rt.tensor([1, 2]);
    const refuse = async (tensors, text, options) => {
      const error = await rejectionOf(saveSafetensors(tensors, options));
      expect(error.code, error.message).to.equal('InvalidArgument');
      expect(error.message).to.include(`[saveSafetensors] ${text}`);
      expect(error.location).to.match(/safetensors\.test\.js|tests\.js/);
    };
    await refuse({ a: 1 }, 'tensor "a": expected a tensor, got number 1');
    await refuse([x], 'expected tensors to be an object or a Map, got an array of 1 elements');
    await refuse({ __metadata__: x }, 'tensor "__metadata__": expected another name, got the one kept for metadata');
    await refuse({ a: rt.tensor('text') }, 'tensor "a": expected a dtype of the format, got string');
    await refuse({ '\ud800': x }, 'expected the name ');
    await refuse({ x }, 'expected metadata "k" to be a string, got number', { metadata: { k: 1 } });
    await refuse({ x }, 'expected metadata to be an object or a Map, got number 3', { metadata: 3 });
    await refuse(new Map([[1, x]]), 'expected the name ');
    const disposed = rt.tensor([1]);
    disposed.dispose();
    const error = await rejectionOf(saveSafetensors({ x, disposed }));
    expect(error.code).to.equal('FailedPrecondition');
    expect(error.message).to.include('tensor "disposed": expected values, got an error: ');
    const reason = new Error('enough');
    expect(await rejectionOf(saveSafetensors({ x }, { signal: AbortSignal.abort(reason) }))).to.equal(reason);
    // Of a tensor that became an error, the cause (ER-1).
    const ones = rt.ones([600, 600]);
    let y = ones;
    for (let i = 0; i < 4; ++i) y = matMul(y, ones);
    const saving = saveSafetensors({ y });
    rt.cancel('stop');
    const failed = await rejectionOf(saving);
    rt.restart();
    expect(failed.code).to.equal('Cancelled');
    expect(failed.message).to.include('tensor "y": expected values, got an error: ');
    expect(failed.cause).to.be.instanceOf(TandemError);
  });

  it('values that code of the program makes unreadable', async () => {
    const x = rt.tensor([1]);
    const file = await saveSafetensors({ x });
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const getter = { get signal() { throw new Error('a getter that throws'); } };
    for (const calls of [
      () => saveSafetensors({ x }, proxy), () => saveSafetensors({ x }, getter), () => saveSafetensors(proxy),
      () => saveSafetensors({ x }, { metadata: proxy }), () => loadSafetensors(rt, file, proxy),
      () => loadSafetensors(rt, file, getter), () => loadSafetensors(rt, proxy), () => loadSafetensors(proxy, file),
    ]) {
      const error = await rejectionOf(calls());
      expect(error, String(calls)).to.be.instanceOf(TandemError);
      expect(error.code, String(calls)).to.equal('InvalidArgument');
      expect(error.location).to.match(/safetensors\.test\.js|tests\.js/);
    }
    // What its functions throw is its own.
    const own = new Error('mine');
    const fail = () => { throw own; };
    expect(await rejectionOf(saveSafetensors({ x }, { onProgress: fail }))).to.equal(own);
    expect(await rejectionOf(loadSafetensors(rt, file, { onProgress: fail }))).to.equal(own);
    expect(await rejectionOf(loadSafetensors(rt, file, { filter: fail }))).to.equal(own);
    x.dispose();
  });
});
