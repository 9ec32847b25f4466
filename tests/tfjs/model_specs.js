// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Models that are damaged, as files of them are: errors say what is wrong, and the program goes on.

import { loadGraphModel } from '@tensorflow/tfjs-converter';
import * as tf from '@tensorflow/tfjs-core';
import * as layers from '@tensorflow/tfjs-layers';
import { runSpecs as runWith } from './specs.js';

const FLOAT = { type: 'DT_FLOAT' };
const shapeOf = (...sizes) => ({ shape: { dim: sizes.map((size) => ({ size: String(size) })) } });

/** A graph of relu(x * w), or of another op in the place of relu. */
function graphModel({ last = 'Relu', weights = Float32Array.of(1, -1, 2, 3).buffer, shape = [2, 2] } = {}) {
  return {
    format: 'graph-model',
    modelTopology: {
      node: [
        { name: 'x', op: 'Placeholder', attr: { dtype: FLOAT, shape: shapeOf(-1, 2) } },
        { name: 'w', op: 'Const', attr: { dtype: FLOAT, value: { tensor: { dtype: 'DT_FLOAT', tensorShape: shapeOf(...shape).shape } } } },
        { name: 'product', op: 'MatMul', input: ['x', 'w'], attr: { T: FLOAT, transpose_a: { b: false }, transpose_b: { b: false } } },
        { name: 'y', op: last, input: ['product'], attr: { T: FLOAT } },
      ],
      library: {}, versions: { producer: 1 },
    },
    weightSpecs: [{ name: 'w', shape, dtype: 'float32' }],
    weightData: weights,
  };
}

const load = (artifacts) => loadGraphModel(tf.io.fromMemory(artifacts));

/** The artifacts of a small layers model. */
async function layersModel() {
  const model = layers.sequential({ layers: [layers.layers.dense({ units: 3, inputShape: [2] })] });
  let saved;
  await model.save(tf.io.withSaveHandler(async (artifacts) => {
    saved = artifacts;
    return { modelArtifactsInfo: {} };
  }));
  model.dispose();
  return saved;
}

async function rejectionOf(run) {
  try {
    await run();
  } catch (error) {
    return error;
  }
  throw new Error('expected a rejection, got none');
}

function defineSpecs(backend) {
  describe('damaged models', () => {
    let numTensors;
    beforeAll(() => tf.setBackend(backend));
    beforeEach(() => {
      ({ numTensors } = tf.memory());
    });
    afterEach(async () => {
      // The program goes on, and whole models load.
      const model = await load(graphModel());
      const y = tf.tidy(() => model.predict(tf.tensor2d([[1, 2]])));
      expect([...await y.data()]).toEqual([5, 5]);
      y.dispose();
      model.dispose();
      expect(tf.memory().numTensors).toBe(numTensors);
    });

    it('with an op that nobody knows', async () => {
      const model = await load(graphModel({ last: 'NoSuchOp' }));
      const error = await rejectionOf(() => tf.tidy(() => model.predict(tf.ones([1, 2]))));
      expect(error.message).toContain("Unknown op 'NoSuchOp'");
      model.dispose();
    });

    it('with an op whose kernel the backend has not', async () => {
      const model = await load(graphModel({ last: 'Acosh' }));
      const kernel = tf.getKernel('Acosh', backend);
      tf.unregisterKernel('Acosh', backend);
      try {
        const error = await rejectionOf(() => tf.tidy(() => model.predict(tf.ones([1, 2]))));
        expect(error.message).toContain(`Kernel 'Acosh' not registered for backend '${backend}'`);
      } finally {
        tf.registerKernel(kernel);
        model.dispose();
      }
    });

    it('with weights that end early', async () => {
      for (const bytes of [0, 6, 8, 15]) {
        const weights = Float32Array.of(1, -1, 2, 3).buffer.slice(0, bytes);
        const error = await rejectionOf(() => load(graphModel({ weights })));
        expect(error.message).toMatch(/should have 4 values but has|multiple of 4/);
      }
    });

    it('with weights of another shape than ops want', async () => {
      const model = await load(graphModel({ shape: [4, 1] }));
      const error = await rejectionOf(() => tf.tidy(() => model.predict(tf.ones([1, 2]))));
      expect(error.message).toContain('inner shapes (2) and (4)');
      model.dispose();
    });

    it('of layers, with weights that end early or are too few', async () => {
      // What layers leave behind of a model that they could not load.
      tf.engine().startScope();
      const saved = await layersModel();
      const short = { ...saved, weightData: saved.weightData.slice(0, 10) };
      expect((await rejectionOf(() => layers.loadLayersModel(tf.io.fromMemory(short)))).message)
        .toMatch(/should have 6 values but has|multiple of 4/);
      const few = { ...saved, weightSpecs: saved.weightSpecs.slice(0, 1), weightData: saved.weightData.slice(0, 24) };
      expect((await rejectionOf(() => layers.loadLayersModel(tf.io.fromMemory(few)))).message).toContain('bias');
      tf.disposeVariables();
      tf.engine().endScope();
    });

    it('of layers, given images of another shape', async () => {
      const model = layers.sequential({ layers: [layers.layers.dense({ units: 3, inputShape: [2] })] });
      const error = await rejectionOf(() => tf.tidy(() => model.predict(tf.ones([1, 5]))));
      expect(error.message).toContain('[null,2]');
      model.dispose();
    });
  });
}

/** As `runSpecs` of specs.js, of these. */
export const runSpecs = (options) => runWith({ ...options, load: async () => defineSpecs(options.backend) });
