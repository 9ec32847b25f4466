// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A program that uses the public interface under tsc --strict: only compiled, in each way of finding modules.

import {
  add, argMax, concat, conv2d, createRuntime, loadSafetensors, matMul, relu, softmax, sum, TandemError, topK,
  type Capabilities, type DType, type KernelCall, type Layers, type OpSpec, type Program, type Recording, type Runtime,
  type RuntimeOptions, type ShadowReport, type Tensor, type TensorInput,
} from 'tandem-rt';

declare module 'tandem-rt' {
  interface OpFunctions {
    'my.Typed': (x: TensorInput, attrs?: { axis?: number }) => Tensor;
  }
}

type IsAny<T> = 0 extends 1 & T ? true : false;
type ArgumentsHoldAny<F extends (...parameters: never[]) => unknown> = IsAny<Parameters<F>[number]>;
const nothingIsAny: [
  IsAny<ReturnType<Runtime['tensor']>>,
  IsAny<Awaited<ReturnType<Tensor['data']>>>,
  IsAny<Awaited<ReturnType<Tensor['array']>>>,
  IsAny<Awaited<ReturnType<Tensor['item']>>>,
  IsAny<TandemError['cause']>,
  ArgumentsHoldAny<typeof matMul>,
  ArgumentsHoldAny<typeof concat>,
  ArgumentsHoldAny<Runtime['execute']>,
  ArgumentsHoldAny<Runtime['loadProgram']>,
  ArgumentsHoldAny<Runtime['registerOp']>,
  IsAny<Awaited<ReturnType<Runtime['record']>>['result']>,
] = [false, false, false, false, false, false, false, false, false, false, false];
void nothingIsAny;

const options: RuntimeOptions = {
  device: 'auto',
  threads: 2,
  memoryLimit: 2 ** 30,
  exact: true,
  layers: ['profile', 'shadow:cpu'],
  onDiagnostic: (error) => console.warn(error.code, error.op, error.location),
};

async function main(signal: AbortSignal): Promise<number> {
  const rt: Runtime = await createRuntime(options);
  const capabilities: Capabilities = rt.capabilities;
  console.log(rt.device, capabilities.threads);

  const x: Tensor = rt.tensor([[1, 2], [3, 4]]);
  const y = softmax(relu(matMul(x, x, { transposeB: true })));
  const dtype: DType = y.dtype;
  const shape: readonly number[] = y.shape;
  const operand: TensorInput = new Float32Array(4);
  const total = sum(add(y, 1), [0, 1]);
  const { values, indices } = topK(x, 1);
  const joined = concat([values, values], 0);
  const image = rt.tensor(operand, { shape: [1, 2, 2, 1], dtype: 'f32' });
  const filtered = conv2d(image, rt.ones([1, 1, 1, 1]), [1, 1, 1, 1], 'SAME');
  const best = argMax(joined, 0);
  console.log(dtype, shape.length, await indices.array(), await filtered.data({ signal }), best.size);

  const typed32: Float32Array = await sum(add(rt.tensor([[1, 2]]), 1)).data();
  const ints: Tensor<'i32'> = rt.tensor([1], { dtype: 'i32' });
  const wide: BigInt64Array = rt.tensor([1n]).dataSync();
  const data = await ints.data();
  const sure: Int32Array = data;
  // @ts-expect-error an i32 tensor has other data
  const wrongData: Float32Array = data;
  console.log(typed32, wide, sure, wrongData);

  const recording: Recording<{ values: Tensor; indices: Tensor }> =
    await rt.record((input) => topK(input, 1), { inputs: [x], name: 'top', maxInlineBytes: 64 });
  const loaded: Program = await rt.loadProgram(recording.program.toBytes(), { weights: recording.weights, signal });
  await rt.loadProgram(new URL('https://example.org/net.tdp'), {
    weights: loadSafetensors(rt, 'net.safetensors'), file: 'net', device: 'program', fuse: false,
  });
  const [top] = loaded.run('top', [[[1, 2]]]);
  console.log(await top?.item(), loaded.functions[0]?.inputs, recording.result.values.size);
  const later: Recording<Tensor[]> = await rt.record(async (a: Tensor, b: Tensor) => [await Promise.resolve(add(a, b))]);
  later.dispose();
  const spec: OpSpec = {
    name: 'my.Scale', inputs: ['x: float'], outputs: ['y: float'], metadata: ['x'],
    kernel: async ({ inputs: [x], signal }: KernelCall) => (signal.aborted ? [] : x!.data as Float32Array),
  };
  const scale = await rt.registerOp(spec);
  const scaled: Tensor = scale([1, 2], { factor: 2 });
  const typed: Tensor = rt.op('my.Typed')(scaled, { axis: 1 });
  const many: Tensor[] = rt.op<Tensor[]>('my.Many')([typed, [1]]);
  console.log(many.length);
  // @ts-expect-error there is no such attribute
  rt.op('my.Typed')(scaled, { axes: 1 });
  await rt.setLayers(['nan-guard']);
  const layers: Layers | undefined = rt.layers;
  const report: ShadowReport | undefined = layers?.shadow();
  console.log(report?.divergences[0]?.message, layers?.profile().map(({ op, results }) => [op, results.mean]));

  try {
    return Number(await total.item());
  } catch (error) {
    if (error instanceof TandemError && error.cause instanceof TandemError) console.error(error.cause.code);
    throw error;
  } finally {
    y.dispose();
    await rt.dispose();
  }
}

await main(new AbortController().signal);
// @ts-expect-error a tensor is not a number
const wrong: number = add(1, 2);
// @ts-expect-error there is no such layer
options.layers = ['fast'];
// @ts-expect-error there is no such attribute
matMul([[1]], [[1]], { transposeC: true });
void wrong;
