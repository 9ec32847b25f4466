// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Defining ops: what a program gives, checked, and handed to the module as texts.

import type { OpSpec, ShapeRule } from '../../custom_ops.js';
import type { OpDefinition } from '../../registry.js';
import { describe } from '../../values.js';
import { OpDefLayout } from '../layout.js';
import { Scratch } from '../scratch.js';
import type { ModuleKernels, Registered } from './kernels.js';
import type { Task } from './task.js';

const NAMES = ['name', 'inputs', 'outputs', 'attrs', 'doc', 'sideEffects', 'metadata', 'kernel', 'wgsl', 'workgroup',
  'invocations', 'parameters'] as const;
const WORKGROUP = [64, 1, 1];

let nextId = 1;

// A list of texts, which numbers may be, too.
function textsOf(value: unknown, name: string, task: Task, takesNumbers = false): string[] {
  if (value === undefined) return [];
  return task.copyOf(value, name).map((text) => {
    if (typeof text === 'string' || (takesNumbers && Number.isSafeInteger(text))) return String(text);
    throw task.error('InvalidArgument', `expected ${name} to be texts, got ${describe(text)} among them`);
  });
}

function shapesOf(rules: readonly ShapeRule[], task: Task): string[] {
  return (task.copyOf(rules, 'metadata') as ShapeRule[]).map((rule) =>
    (typeof rule === 'string' ? rule : `[${textsOf(rule, 'a shape of metadata', task, true).join(', ')}]`));
}

function workgroupOf(given: unknown, task: Task): number[] {
  if (given === undefined) return WORKGROUP;
  const sizes = task.copyOf(given, 'workgroup') as number[];
  if (sizes.length < 1 || sizes.length > 3 || !sizes.every((size) => Number.isSafeInteger(size) && size > 0 &&
      size < 2 ** 16)) {
    throw task.error('InvalidArgument', 'expected workgroup to be one to three sizes from 1 on, got others');
  }
  return [...sizes, 1, 1].slice(0, 3);
}

function parametersOf(given: unknown, task: Task): string[] {
  if (given === undefined) return [];
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw task.error('InvalidArgument', `expected parameters to be rules by name, got ${describe(given)}`);
  }
  return textsOf(task.read(() => Object.entries(given)).flat(), 'parameters', task, true);
}

/** See `Runtime.registerOp`. `kernels` runs the op's kernel, if it has one. The op's name. */
export function registerOp(
  given: OpSpec, kernels: ModuleKernels, definitionOf: (name: string) => OpDefinition, task: Task,
): string {
  const { engine, engine: { heap }, exports } = task;
  const spec = task.options(given, NAMES);
  const { doc, kernel, metadata, name, sideEffects = false, wgsl } = spec;
  if (name === undefined) throw task.error('InvalidArgument', 'expected the name of an op, got none');
  task.checkText(name, 'name');
  task.checkText(doc, 'doc');
  task.checkText(wgsl, 'wgsl');
  if (kernel !== undefined && typeof kernel !== 'function') {
    throw task.error('InvalidArgument', `expected kernel to be a function, got ${describe(kernel)}`);
  }
  if (kernel === undefined && wgsl === undefined) {
    throw task.error('InvalidArgument', `expected a kernel or wgsl for ${name}, got neither`);
  }
  if (typeof sideEffects !== 'boolean') {
    throw task.error('InvalidArgument', `expected sideEffects to be true or false, got ${describe(sideEffects)}`);
  }
  const isComputed = typeof metadata === 'function';
  if (wgsl !== undefined && (isComputed || metadata === undefined)) {
    throw task.error('InvalidArgument', 'expected metadata to be a list of shapes for wgsl, got ' +
      (isComputed ? 'a function' : 'none'));
  }
  const lists: Record<'inputs' | 'outputs' | 'attrs' | 'shapes' | 'invocations' | 'parameters', string[]> = {
    inputs: textsOf(spec.inputs, 'inputs', task),
    outputs: textsOf(spec.outputs, 'outputs', task),
    attrs: textsOf(spec.attrs, 'attrs', task),
    shapes: isComputed || metadata === undefined ? [] : shapesOf(metadata, task),
    invocations: textsOf(spec.invocations, 'invocations', task, true),
    parameters: parametersOf(spec.parameters, task),
  };
  const workgroup = workgroupOf(spec.workgroup, task);
  const id = nextId++;
  const rooms: number[] = [];
  const keep = (room: number): number => {
    rooms.push(room);
    return room;
  };
  try {
    const texts = (list: readonly string[]): number =>
      (list.length === 0 ? 0 : keep(heap.newStrings(list.map((text) => `${text.replaceAll('\0', ' ')}\0`))));
    const text = (value: string | undefined): number => (value === undefined ? 0 : keep(heap.newCString(value)));
    const fields: [number, number][] = [
      [OpDefLayout.name, text(name)], [OpDefLayout.doc, text(doc)], [OpDefLayout.wgsl, text(wgsl)],
      [OpDefLayout.sideEffects, Number(sideEffects)], [OpDefLayout.hasKernel, Number(kernel !== undefined)],
      [OpDefLayout.id, id],
      [OpDefLayout.inputs, texts(lists.inputs)], [OpDefLayout.numInputs, lists.inputs.length],
      [OpDefLayout.outputs, texts(lists.outputs)], [OpDefLayout.numOutputs, lists.outputs.length],
      [OpDefLayout.attrs, texts(lists.attrs)], [OpDefLayout.numAttrs, lists.attrs.length],
      [OpDefLayout.shapes, texts(lists.shapes)], [OpDefLayout.numShapes, lists.shapes.length],
      [OpDefLayout.invocations, texts(lists.invocations)], [OpDefLayout.numInvocations, lists.invocations.length],
      [OpDefLayout.parameters, texts(lists.parameters)], [OpDefLayout.numParameters, lists.parameters.length / 2],
      ...workgroup.map((size, i): [number, number] => [OpDefLayout.workgroup + 4 * i, size]),
    ];
    if (wgsl !== undefined && engine.gpu) engine.run(() => exports.tandem_webgpu_take_shaders!(engine.js));
    engine.run((_, scratch) => {
      const at = scratch + Scratch.STRUCT;
      for (const [offset, value] of fields) heap.u32[(at + offset) >>> 2] = value;
      return exports.tandem_js_op_register(engine.js, at);
    });
  } finally {
    for (const room of rooms) engine.free(room);
  }
  const definition = definitionOf(name);
  if (kernel !== undefined) {
    const op: Registered = { definition, kernel, metadata: isComputed ? metadata : undefined };
    kernels.add(id, op);
  }
  return name;
}
