// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Takes the ops that a list does not name out of a module. What tandem-trim.json says is told in
// bindings/wasm/trim_data.py.

import { bitsOf } from './op_list.mjs';

const CUSTOM = 0;
const EXPORTS = 7;
const ELEMENTS = 9;
const DATA = 11;
const FUNCTION = 0;
const I32_CONST = 0x41;
const END = 0x0b;

function readLeb(bytes, at) {
  let value = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++];
    value |= (byte & 127) << shift;
    if (byte < 128) return [value >>> 0, at];
  }
}

function lebBytes(value, largestLast) {
  const bytes = [];
  for (; value > largestLast; value >>>= 7) bytes.push((value & 127) | 128);
  return [...bytes, value];
}

const leb = (value) => lebBytes(value, 127);
// Of a number from 0 on, whose last byte must not look like that of a negative one.
const signedLeb = (value) => lebBytes(value, 63);

/**
 * The module with some sections changed: `change` has functions, by the section's number, from bytes to bytes. A section
 * without bytes is left out.
 */
function withSections(module, change) {
  const parts = [module.subarray(0, 8)];
  for (let at = 8; at < module.length;) {
    const kind = module[at];
    const [size, body] = readLeb(module, at + 1);
    const end = body + size;
    const changed = change[kind]?.(module.slice(body, end));
    if (changed === undefined) parts.push(module.subarray(at, end));
    else if (changed.length > 0) parts.push(Uint8Array.from([kind, ...leb(changed.length), ...changed]));
    at = end;
  }
  return new Uint8Array(Buffer.concat(parts));
}

function withoutExports(body, names) {
  const kept = [];
  let [count, at] = readLeb(body, 0);
  for (; count > 0; --count) {
    const [length, text] = readLeb(body, at);
    const [, end] = readLeb(body, text + length + 1);
    const isDropped = body[text + length] === FUNCTION &&
      names.has(new TextDecoder().decode(body.subarray(text, text + length)));
    if (!isDropped) kept.push(body.subarray(at, end));
    at = end;
  }
  return Uint8Array.from([...leb(kept.length), ...kept.flatMap((entry) => [...entry])]);
}

/** The table with nothing but the functions at these places. */
function withSlots(body, slots) {
  const functions = [];
  let [count, at] = readLeb(body, 0);
  for (; count > 0; --count) {
    if (body[at] !== 0 || body[at + 1] !== I32_CONST) throw new Error('expected the module that tandem-rt came with');
    let slot, length;
    [slot, at] = readLeb(body, at + 2);
    [length, at] = readLeb(body, at + 1);
    for (; length > 0; --length, ++slot) {
      let index;
      [index, at] = readLeb(body, at);
      if (slots.has(slot)) functions.push([slot, index]);
    }
  }
  const segments = [];
  for (const [slot, index] of functions) {
    const last = segments.at(-1);
    if (last && last.first + last.indexes.length === slot) last.indexes.push(index);
    else segments.push({ first: slot, indexes: [index] });
  }
  return Uint8Array.from([...leb(segments.length), ...segments.flatMap(({ first, indexes }) => [
    0, I32_CONST, ...signedLeb(first), END, ...leb(indexes.length), ...indexes.flatMap(leb)])]);
}

function withZeros(body, addresses, ranges) {
  let [count, at] = readLeb(body, 0);
  let rest = addresses.length;
  for (; count > 0; --count) {
    if (body[at] !== 0 || body[at + 1] !== I32_CONST) throw new Error('expected the module that tandem-rt came with');
    let first, size;
    [first, at] = readLeb(body, at + 2);
    [size, at] = readLeb(body, at + 1);
    for (const address of addresses) {
      // The zeros at a number's end may be in no segment.
      if (address < first || address >= first + size) continue;
      body.fill(0, at + address - first, at + Math.min(address - first + 4, size));
      --rest;
    }
    for (const [address, length] of ranges) {
      const from = Math.max(address, first), to = Math.min(address + length, first + size);
      if (from < to) body.fill(0, at + from - first, at + to - first);
    }
    at += size;
  }
  if (rest !== 0) throw new Error('expected the module that tandem-trim.json is of');
  return body;
}

/** Ranges of addresses, [first, size] each, as one list in order without overlaps. */
function mergeRanges(ranges) {
  const merged = [];
  for (const [first, size] of ranges.sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last && first <= last[0] + last[1]) last[1] = Math.max(last[1], first + size - last[0]);
    else merged.push([first, size]);
  }
  return merged;
}

/** The ranges of constants that nothing refers to any more. */
function unusedConstants({ all, base, programs, slots: ofSlots, ops }, slots, selected, withPrograms) {
  const used = mergeRanges([
    ...base, ...(withPrograms ? programs : []), ...[...slots].flatMap((slot) => ofSlots[slot] ?? []),
    ...[...selected.keys()].flatMap((op) => ops[op] ?? []),
  ]);
  const unused = [];
  let next = 0;
  for (const [first, size] of all) {
    let at = first;
    while (next < used.length && used[next][0] + used[next][1] <= at) ++next;
    for (let i = next; i < used.length && used[i][0] < first + size; ++i) {
      if (used[i][0] > at) unused.push([at, used[i][0] - at]);
      at = Math.max(at, used[i][0] + used[i][1]);
    }
    if (at < first + size) unused.push([at, first + size - at]);
  }
  return unused;
}

/** Whether a record of the module's data is for an op of the list. */
function isWanted({ ops: names, dtypes }, { ops, users }, selected) {
  if (dtypes === null) return names.some((name) => selected.has(name));
  return names.flatMap((name) => [name, ...(users[name] ?? [])]).some((name) => {
    if (!selected.has(name)) return false;
    const all = bitsOf(ops[name].dtypes);
    return (dtypes & all) === 0 || (dtypes & bitsOf(selected.get(name) ?? ops[name].dtypes)) !== 0;
  });
}

/** The module without what only ops that are not selected need, before anything is optimised. */
export function withoutOps(module, data, selected, { programs }) {
  const zeros = [];
  const slots = new Set(data.base);
  const rest = programs ? [...data.programs] : [];
  for (const record of data.records) {
    if (isWanted(record, data, selected)) rest.push(...record.slots);
    else zeros.push(...record.zero);
  }
  for (let slot; (slot = rest.pop()) !== undefined;) {
    if (slots.has(slot)) continue;
    slots.add(slot);
    rest.push(...(data.needs[slot] ?? []));
  }
  const unused = new Set([...data.unused_exports, ...(programs ? [] : data.programs_exports)]);
  const isRelaxed = data.relaxed.some((slot) => slots.has(slot));
  return withSections(module, {
    // There is no section of another name but that of relaxed SIMD.
    [CUSTOM]: (body) => (isRelaxed ? body : new Uint8Array()),
    [EXPORTS]: (body) => withoutExports(body, unused),
    [ELEMENTS]: (body) => withSlots(body, slots),
    [DATA]: (body) => withZeros(body, zeros, unusedConstants(data.constants, slots, selected, programs)),
  });
}

/** The same, optimised by Binaryen. */
export function trimModule(binaryen, module, data, selected, options) {
  const trimmed = binaryen.readBinary(withoutOps(module, data, selected, options));
  try {
    const { Features } = binaryen;
    trimmed.setFeatures(Features.SIMD128 | Features.BulkMemory | Features.SignExt | Features.NontrappingFPToInt |
      Features.MutableGlobals);
    binaryen.setOptimizeLevel(2);
    binaryen.setShrinkLevel(1);
    // As the module that it is of (bindings/wasm/split_module.py).
    binaryen.setOneCallerInlineMaxSize(60);
    binaryen.setLowMemoryUnused(true);
    binaryen.setZeroFilledMemory?.(true);
    trimmed.runPasses(['remove-unused-module-elements']);
    trimmed.optimize();
    return trimmed.emitBinary();
  } finally {
    trimmed.dispose();
  }
}
