/** A plugin whose card has every handle, and a table of what happened to them. */

import { definePlugin } from '@bridge/plugin-api';

const DOT =
  'data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==';

export default definePlugin({
  id: 'every-handle',
  activate(ctx) {
    const card = ctx.ui.card('Every handle');
    const words = card.text('Nothing yet.', { live: true });
    const table = card.table('What happened', ['What', 'Value']);
    const rows: [string, string][] = [];
    const happened = (what: string, value: unknown): void => {
      rows.push([what, String(value)]);
      table.setRows(rows);
      words.set(`${what}: ${String(value)}`);
    };
    card.input('Name', {
      help: 'Anything.',
      maxLength: 10,
      changed: ({ value }) => happened('name', value),
    });
    card.number('Size', {
      min: 1,
      max: 5,
      integer: true,
      changed: ({ value }) => happened('size', value),
    });
    const away = card.button('Hide', () => away.show(false));
    const progress = card.progress('Reading', 0);
    const button = card.button('Read', () => {
      progress.set(0.5);
      button.setLabel('Read again');
      happened('read', '<b>half</b>');
    });
    card.image(DOT, 'A dot');
  },
  deactivate() {},
});
