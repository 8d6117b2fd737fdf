/** A plugin with settings of each type, and a button that needs a permission. */

import { definePlugin } from '@bridge/plugin-api';

export default definePlugin({
  id: 'speaker-box',
  settings: {
    volume: { type: 'number', label: 'Volume', default: 40, min: 0, max: 100 },
    loud: { type: 'boolean', label: 'Loud', default: false },
    mode: {
      type: 'choice',
      label: 'Mode',
      default: 'a',
      options: [{ value: 'a', label: 'Quick' }, { value: 'b', label: 'Thorough' }],
    },
    'volume-help': { type: 'text', label: 'Its help', default: '' },
    words: { type: 'text', label: 'Words', default: '', multiline: true },
  },
  activate(ctx) {
    ctx.ui.card('Speaker').button('Send', async () => {
      await ctx.native.notify({ title: 'hello' });
    });
  },
  deactivate() {},
});
