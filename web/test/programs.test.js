// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs: loaded from anything, called, written, disposed of, and what is wrong with each.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { add, cast, loadSafetensors, matMul, mul, reshape, saveSafetensors, sum, TandemError } from 'tandem-rt';
import { createRuntime } from './create_runtime.js';
import { checkError, expectError, rejectionOf } from './errors.js';
import { checkFused, SPECIAL } from './fused_programs.js';

// That of the contract, PR-1.
const EXAMPLE = `func @example() -> !tfrt.chain {
  %cpu = corert.get_op_handler("cpu")
  %lhs = corert.executeop(%cpu) "test.create_dense_tensor"() { shape = [1, 1], values = [-1.0 : f32] }
  %rhs = corert.executeop(%cpu) "test.create_dense_tensor"() { shape = [1, 1], values = [-2.0 : f32] }
  %result = corert.executeop(%cpu) "test.add" (%lhs, %rhs)
  %ch0 = tfrt.new.chain
  %ch1 = corert.print_tensorhandle(%result, %ch0)
  tfrt.return %ch1 : !tfrt.chain
}
`;

const ARITHMETIC = `func @scaled_sum(%a: !corert.tensorhandle, %b: !corert.tensorhandle)
    -> (!corert.tensorhandle, !corert.tensorhandle) {
  %gpu = corert.get_op_handler("a device that nobody has")
  %sum = corert.executeop(%gpu) "tf.AddV2"(%a, %b)
  %scaled = corert.executeop(%gpu) "tf.Mul"(%sum, %b)
  tfrt.return %sum, %scaled : !corert.tensorhandle, !corert.tensorhandle
}
func @product(%a: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %product = corert.executeop(%cpu) "tf.MatMul"(%a, %a)
  tfrt.return %product : !corert.tensorhandle
}
`;

const WEIGHTED = `func @weighted(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %w = corert.const_dense_tensor "w" : tensor<2xf32>
  %y = corert.executeop(%cpu) "tf.Mul"(%x, %w)
  tfrt.return %y : !corert.tensorhandle
}
`;

describe('programs', () => {
  let rt;
  const printed = [];
  before(async () => {
    rt = await createRuntime({ onPrint: (text) => printed.push(text) });
  });
  after(() => rt.dispose());

  const arithmetic = () => rt.loadProgram(ARITHMETIC);

  it('PR-1: print what the example prints natively', async () => {
    printed.length = 0;
    const program = await rt.loadProgram(EXAMPLE);
    expect(program.run('example')).to.deep.equal([]);
    await rt.settled();
    expect(printed.join('')).to.equal('f32[1,1] = [-3]\n');
  });

  it('PR-5: compute a chain of element-wise ops as one, with the same results', async () => {
    const onCpu = await createRuntime({ device: 'cpu' });
    await checkFused(onCpu, SPECIAL);
    await onCpu.dispose();
  });

  it('say what functions they have', async () => {
    const program = await arithmetic();
    expect(program.functions).to.deep.equal([
      { name: 'scaled_sum', inputs: 2, results: 2 }, { name: 'product', inputs: 1, results: 1 },
    ]);
    expect(program.runtime).to.equal(rt);
  });

  it('PR-3: compute what ops compute, at once, and consume nothing', async () => {
    const program = await arithmetic();
    const [a, b] = [rt.tensor([1, 2, 3]), rt.tensor([4, 5, 6])];
    const [sum, scaled] = program.run('scaled_sum', [a, b]);
    expect(sum.shape).to.deep.equal([3]);
    expect(await sum.array()).to.deep.equal(await add(a, b).array());
    expect(await scaled.array()).to.deep.equal(await mul(add(a, b), b).array());
    expect(await add(a, b).array()).to.deep.equal([5, 7, 9]);
  });

  it('take pending tensors, and values as tensor() does', async () => {
    const program = await arithmetic();
    const large = rt.ones([1 << 18]);
    const [sum] = program.run('scaled_sum', [add(large, 1), 3]);
    expect((await sum.data())[12_345]).to.equal(5);
    const [ints] = program.run('scaled_sum', [new Int32Array([1, 2]), new Int32Array([3, 4])]);
    expect(ints.dtype).to.equal('i32');
    expect(await ints.array()).to.deep.equal([4, 6]);
  });

  it('PR-2: are read back from text and from bytes as they were', async () => {
    const program = await arithmetic();
    const again = await rt.loadProgram(program.toText());
    expect(again.toText()).to.equal(program.toText());
    const bytes = program.toBytes();
    expect(bytes).to.be.instanceOf(Uint8Array);
    for (const source of [bytes, bytes.buffer, new DataView(bytes.buffer), new Blob([bytes]), new Response(bytes)]) {
      const read = await rt.loadProgram(source);
      expect(read.toBytes()).to.deep.equal(bytes);
    }
  });

  it('run on the devices that they name, if asked to', async () => {
    const error = checkError(await rejectionOf(rt.loadProgram(ARITHMETIC, { device: 'program' })), 'NotFound',
      /a device that nobody has/);
    expect(error.location).to.equal('program:3:10');
    const program = await rt.loadProgram(WEIGHTED, { device: 'program', weights: { w: rt.tensor([2, 3]) } });
    expect(await program.run('weighted', [[1, 1]])[0].array()).to.deep.equal([2, 3]);
  });

  it('take weights by name, which stay the caller\'s', async () => {
    const w = rt.tensor([2, 3]);
    for (const weights of [{ w }, new Map([['w', w], ['other', rt.scalar(1)]])]) {
      const program = await rt.loadProgram(WEIGHTED, { weights, fuse: false });
      expect(await program.run('weighted', [[10, 100]])[0].array()).to.deep.equal([20, 300]);
    }
    const program = await rt.loadProgram(WEIGHTED, { weights: { w } });
    expect(w.disposed).to.equal(false);
    w.dispose();
    expect(await program.run('weighted', [[1, 1]])[0].array()).to.deep.equal([2, 3]);
  });

  it('take the weights of a file', async () => {
    const bytes = await saveSafetensors({ w: rt.tensor([2, 3]) });
    const loaded = await loadSafetensors(rt, bytes);
    const loading = loadSafetensors(rt, bytes);
    for (const weights of [loaded, loading]) {
      const program = await rt.loadProgram(WEIGHTED, { weights });
      expect(await program.run('weighted', [[1, 1]])[0].array()).to.deep.equal([2, 3]);
    }
    expect(loaded.get('w').disposed).to.equal(false);
    expect((await loading).get('w').disposed).to.equal(true);
    checkError(await rejectionOf(rt.loadProgram(WEIGHTED, { weights: loadSafetensors(rt, bytes.slice(0, -1)) })),
      'DataLoss', /loadSafetensors/);
  });

  it('tell errors at their place in the program', async () => {
    const error = checkError(await rejectionOf(rt.loadProgram('func @f() {\n  %a = foo\n}', { file: 'f.mlir' })),
      'InvalidArgument', /^f\.mlir:2:8: expected a kernel, got 'foo'\n {2}%a = foo\n {7}\^$/);
    expect(error.location).to.match(/(programs\.test|tests)\.js:\d+:\d+$/);
    expect(error.stack).to.include(`loadProgram (${error.location})`);
    const begin = 'func @f(%x: !corert.tensorhandle) {\n  %cpu = corert.get_op_handler("cpu")\n  ';
    const wrong = [
      ['%y = tfrt.nothing', 6, 'InvalidArgument', /expected a kernel, got 'tfrt\.nothing'/],
      ['%y = tfrt.merge.chains %y', 24, 'InvalidArgument', /expected a value that was defined before, got '%y'/],
      ['%y = tfrt.merge.chains %x', 24, 'InvalidArgument', /expected a value of type !tfrt\.chain/],
      ['%y = corert.executeop(%cpu) "tf.Neg"(%x, %x)', 6, 'InvalidArgument', /^\[tf\.Neg\] expected 1 argument, got 2/],
      ['%y = corert.executeop(%cpu) "tf.Nothing"(%x)', 6, 'NotFound', /^\[tf\.Nothing\] op tf\.Nothing is not def/],
      ['%w = corert.const_dense_tensor "w" : tensor<f32>', 6, 'NotFound', /a tensor as the weight w, got none/],
    ];
    for (const [line, column, code, message] of wrong) {
      const { message: text, location } = checkError(
        await rejectionOf(rt.loadProgram(`${begin}${line}\n  tfrt.return\n}`, { file: 'f.mlir' })), code, message);
      expect(text.endsWith(`\n  ${line}\n${' '.repeat(column + 1)}^`), text).to.equal(true);
      expect(`${text} ${location}`).to.include(`f.mlir:3:${column + 2}`);
    }
    const bytes = (await arithmetic()).toBytes();
    bytes[8] = 2;
    checkError(await rejectionOf(rt.loadProgram(bytes)), 'Unimplemented', /^program: byte 8: expected version 1/);
    const program = await rt.loadProgram(ARITHMETIC, { file: 'a.mlir' });
    const thrown = expectError(() => program.run('product', [[1, 2]]), 'InvalidArgument', /tf\.MatMul/);
    expect(thrown.op).to.equal('tf.MatMul');
    expect(thrown.location).to.equal('a.mlir:10:14');
    expect(thrown.stack).to.match(/(programs\.test|tests)\.js/);
  });

  it('give errors of values that come later', async () => {
    const program = await rt.loadProgram(`func @f(%x: !corert.tensorhandle, %s: !corert.tensorhandle)
        -> !corert.tensorhandle {
      %cpu = corert.get_op_handler("cpu")
      %y = corert.executeop(%cpu) "tf.Reshape"(%x, %s)
      tfrt.return %y : !corert.tensorhandle
    }`, { file: 'late.mlir' });
    // What takes longer than the calls do.
    const large = rt.ones([1200, 1200]);
    const size = reshape(cast(sum(matMul(large, large), [0, 1]), 'i32'), new Int32Array([1]));
    const [y] = program.run('f', [rt.ones([5]), size]);
    const error = checkError(await rejectionOf(y.data()), 'InvalidArgument', /tf\.Reshape/);
    expect(error.location).to.equal('late.mlir:4:12');
  });

  it('refuse what is no program', async () => {
    const bytes = (await arithmetic()).toBytes();
    for (let size = 1; size < bytes.length; size += 7) {
      const error = await rejectionOf(rt.loadProgram(bytes.slice(0, size)));
      // What is too short to be the binary form is text.
      checkError(error, size < 4 ? error.code : 'DataLoss', /program/);
    }
    for (const source of [undefined, null, 5, {}, [], rt.scalar(1)]) {
      checkError(await rejectionOf(rt.loadProgram(source)), 'InvalidArgument', /\[loadProgram\] expected the text/);
    }
    const detached = bytes.buffer;
    structuredClone(detached, { transfer: [detached] });
    // A view of it is as empty as it is.
    await rejectionOf(rt.loadProgram(detached)).catch(() => undefined);
    // Not the page itself, which an empty URL would be.
    for (const nothing of ['', ' \n']) {
      checkError(await rejectionOf(rt.loadProgram(nothing)), 'InvalidArgument', /\[loadProgram\] expected a URL, or/);
    }
    checkError(await rejectionOf(rt.loadProgram('http://[/')), 'InvalidArgument', /expected a URL, or a program's text/);
    checkError(await rejectionOf(rt.loadProgram(new Response('', { status: 404 }))), 'NotFound', /got status 404/);
    const read = new Response('text');
    await read.text();
    checkError(await rejectionOf(rt.loadProgram(read)), 'FailedPrecondition', /has not been read/);
  });

  it('refuse options that are wrong', async () => {
    const wrong = [
      [5, /options to be an object/], [{ what: 1 }, /weights, file, device, fuse, signal, got what/],
      [{ file: '' }, /expected file/], [{ file: 5 }, /expected file/], [{ device: 'cpu' }, /'runtime' or 'program'/],
      [{ fuse: 1 }, /fuse/], [{ weights: 5 }, /expected weights to be tensors by name/],
      [{ weights: { w: 5 } }, /weight w to be a tensor/], [{ signal: 5 }, /AbortSignal/],
      [{ get file() { throw new Error('no'); } }, /arguments that can be read, got no/],
    ];
    for (const [options, message] of wrong) {
      checkError(await rejectionOf(rt.loadProgram(WEIGHTED, options)), 'InvalidArgument', message);
    }
    checkError(await rejectionOf(rt.loadProgram(WEIGHTED)), 'NotFound', /weight w, got none/);
    checkError(await rejectionOf(rt.loadProgram(WEIGHTED, { weights: { w: rt.ones([3]) } })), 'InvalidArgument', /w/);
    const gone = rt.ones([2]);
    gone.dispose();
    checkError(await rejectionOf(rt.loadProgram(WEIGHTED, { weights: { w: gone } })), 'FailedPrecondition', /w, which is/);
  });

  it('refuse calls that are wrong', async () => {
    const program = await arithmetic();
    const x = rt.ones([2, 2]);
    expectError(() => program.run('sum', [x]), 'NotFound', /functions scaled_sum, product, got sum/);
    expectError(() => program.run(5, [x]), 'NotFound', /got number 5/);
    expectError(() => program.run('product'), 'InvalidArgument', /\[product\] expected 1 arguments, got 0/);
    expectError(() => program.run('product', [x, x]), 'InvalidArgument', /expected 1 arguments, got 2/);
    expectError(() => program.run('product', x), 'InvalidArgument', /inputs to be an array/);
    expectError(() => program.run('product', [{}]), 'InvalidArgument', /inputs\[0\]/);
    const gone = rt.ones([2]);
    gone.dispose();
    expectError(() => program.run('product', [gone]), 'FailedPrecondition', /inputs\[0\], which is/);
    // Disposed of by what reads another argument.
    const sneaky = rt.ones([2]);
    const evil = new Proxy([1, 2], { get: (target, name) => (sneaky.dispose(), target[name]) });
    expectError(() => program.run('scaled_sum', [sneaky, evil]), 'FailedPrecondition', /inputs\[0\], which is/);
    expect(await program.run('product', [x])[0].array()).to.deep.equal([[2, 2], [2, 2]]);
  });

  it('are good for nothing once disposed of', async () => {
    const program = await arithmetic();
    const [y] = program.run('product', [rt.ones([300, 300])]);
    expect(program.disposed).to.equal(false);
    program.dispose();
    program.dispose();
    expect(program.disposed).to.equal(true);
    expect((await y.data())[0]).to.equal(300);
    for (const call of [() => program.run('product', [1]), () => program.toText(), () => program.toBytes()]) {
      expectError(call, 'FailedPrecondition', /program that is not disposed of/);
    }
  });

  it('do not go to another runtime, and end with theirs', async () => {
    const other = await createRuntime({ device: 'cpu' });
    const program = await other.loadProgram(ARITHMETIC);
    expectError(() => program.run('product', [rt.ones([2, 2])]), 'InvalidArgument', /inputs\[0\] of another/);
    checkError(await rejectionOf(other.loadProgram(WEIGHTED, { weights: { w: rt.ones([2]) } })), 'InvalidArgument',
      /w is of another runtime/);
    await other.dispose();
    expect(program.disposed).to.equal(true);
    expectError(() => program.run('product', [1]), 'FailedPrecondition', /the runtime has been disposed of/);
    program.dispose();
    const error = checkError(await rejectionOf(other.loadProgram(ARITHMETIC)), 'FailedPrecondition', /disposed of/);
    expect(error.location).to.match(/\.js:\d+:\d+$/);
  });

  it('belong to scopes and requests', async () => {
    const program = await arithmetic();
    let inner;
    const kept = rt.scope(() => {
      [inner] = program.run('product', [rt.ones([2, 2])]);
      return program.run('product', [rt.ones([2, 2])]);
    });
    expect(inner.disposed).to.equal(true);
    expect(await kept[0].array()).to.deep.equal([[2, 2], [2, 2]]);
    const controller = new AbortController();
    const reason = new Error('enough');
    const request = rt.request({ signal: controller.signal }, () => {
      const [y] = program.run('product', [rt.ones([400, 400])]);
      controller.abort(reason);
      return y.data();
    });
    expect(await rejectionOf(request)).to.equal(reason);
  });

  it('stop loading when the signal says so', async () => {
    const reason = new Error('enough');
    expect(await rejectionOf(rt.loadProgram(EXAMPLE, { signal: AbortSignal.abort(reason) }))).to.equal(reason);
    const controller = new AbortController();
    const never = new Response(new ReadableStream());
    const loading = rt.loadProgram(never, { signal: controller.signal });
    setTimeout(() => controller.abort(reason));
    expect(await rejectionOf(loading)).to.equal(reason);
  });

  it('leave no memory behind', async () => {
    const other = await createRuntime({ device: 'cpu' });
    const constant = Array.from({ length: 4096 }, (_, i) => `${i}.0`).join(', ');
    const text = `func @f(%x: !corert.tensorhandle) -> !corert.tensorhandle {
      %cpu = corert.get_op_handler("cpu")
      %w = corert.const_dense_tensor dense<[${constant}]> : tensor<4096xf32>
      %y = corert.executeop(%cpu) "tf.AddV2"(%x, %w)
      tfrt.return %y : !corert.tensorhandle
    }`;
    let before;
    for (let i = 0; i < 20; ++i) {
      const program = await other.loadProgram(text);
      const [y] = program.run('f', [1]);
      expect((await y.data())[4095]).to.equal(4096);
      y.dispose();
      program.dispose();
      await rejectionOf(other.loadProgram(text.replace('"tf.AddV2"', '"tf.None"')));
      if (i === 3) before = other.memory();
    }
    expect(other.memory().bytesInUse).to.equal(before.bytesInUse);
    expect(other.memory().wasmBytes).to.equal(before.wasmBytes);
    await other.dispose();
  });

  it('know their caller\'s line where locations are tracked', async () => {
    const tracking = await createRuntime({ device: 'cpu', trackLocations: true });
    const program = await tracking.loadProgram(ARITHMETIC);
    const error = expectError(() => program.run('product', [[1, 2]]), 'InvalidArgument', /tf\.MatMul/);
    expect(error).to.be.instanceOf(TandemError);
    expect(error.location).to.match(/^program:10:/);
    expect(await program.run('product', [[[2]]])[0].item()).to.equal(4);
    await tracking.dispose();
  });
});
