// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The editor: CodeMirror with JavaScript, and the names of ops as completions.

import { completeFromList } from '@codemirror/autocomplete';
import { indentWithTab } from '@codemirror/commands';
import { javascript, javascriptLanguage } from '@codemirror/lang-javascript';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { Prec, StateEffect, StateField } from '@codemirror/state';
import { Decoration, EditorView, keymap } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { basicSetup } from 'codemirror';

/** @type {import('@codemirror/state').StateEffectType<number | undefined>} */
const markLine = StateEffect.define();

// The line of an error, until the program is changed.
const wrongLine = StateField.define({
  create: () => Decoration.none,
  update(marks, { changes, docChanged, effects, state }) {
    let now = docChanged ? Decoration.none : marks.map(changes);
    for (const effect of effects) {
      if (!effect.is(markLine)) continue;
      const line = effect.value;
      const isThere = line !== undefined && line >= 1 && line <= state.doc.lines;
      now = isThere ? Decoration.set([Decoration.line({ class: 'cm-wrong' }).range(state.doc.line(line).from)])
        : Decoration.none;
    }
    return now;
  },
  provide: (field) => EditorView.decorations.from(field),
});

// Colors of the page, which know light and dark.
const theme = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--card)', font: 'var(--mono)' },
  '.cm-scroller': { font: 'var(--mono)', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--text)' },
  '&.cm-focused .cm-cursor, .cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--card)', color: 'var(--soft)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--active)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground':
    { background: 'var(--selection) !important' },
  '.cm-wrong': { backgroundColor: 'var(--wrong) !important' },
  '.cm-tooltip': { backgroundColor: 'var(--card)', color: 'var(--text)', border: '1px solid var(--line)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--card)' },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--selection)' },
});
const colors = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: 'var(--keyword)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--string)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--number)' },
  { tag: tags.comment, color: 'var(--soft)', fontStyle: 'italic' },
]);

export class Editor {
  #view;

  /**
   * @param {HTMLElement} parent
   * @param {{ onRun: () => void }} options
   */
  constructor(parent, { onRun }) {
    const run = () => {
      onRun();
      return true;
    };
    this.#view = new EditorView({
      parent,
      extensions: [
        Prec.highest(keymap.of([{ key: 'Mod-Enter', run }])),
        basicSetup,
        keymap.of([indentWithTab]),
        javascript(),
        wrongLine,
        theme,
        syntaxHighlighting(colors),
        EditorView.contentAttributes.of({ 'aria-label': 'Program' }),
      ],
    });
  }

  get text() {
    return this.#view.state.doc.toString();
  }

  set text(text) {
    this.#view.dispatch({ changes: { from: 0, to: this.#view.state.doc.length, insert: text }, selection: { anchor: 0 } });
  }

  /**
   * Offers these while one types.
   * @param {readonly string[]} names
   */
  complete(names) {
    const source = completeFromList(names.map((label) => ({ label, type: 'function' })));
    this.#view.dispatch({ effects: StateEffect.appendConfig.of(javascriptLanguage.data.of({ autocomplete: source })) });
  }

  /**
   * Puts a text where the cursor is, which is behind it then.
   * @param {string} text
   */
  insert(text) {
    this.#view.dispatch(this.#view.state.replaceSelection(text));
    this.#view.focus();
  }

  /**
   * Shows that an error arose on this line, from 1; none for undefined.
   * @param {number | undefined} line
   */
  markLine(line) {
    this.#view.dispatch({ effects: markLine.of(line) });
  }
}
