import { definePlugin } from '@bridge/plugin-api';

export default definePlugin({
  id: '%s',
  activate(ctx) {
    ctx.ui.card('Marker of %s');
  },
});
