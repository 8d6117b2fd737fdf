import { spy } from "./common/replacing.js";

// What the host hands out: objects that plugins could share by their prototypes.

/** Changes how the settings of all plugins are read. */
export function settings_get({ ctx, loot }) {
  return spy(loot, Object.getPrototypeOf(ctx.settings), "get");
}

/** Changes how the settings of all plugins are written. */
export function settings_set({ ctx, loot }) {
  return spy(loot, Object.getPrototypeOf(ctx.settings), "set");
}

/** Takes the class of the settings from its own, and changes that. */
export function class_of_settings({ ctx, loot }) {
  return spy(loot, ctx.settings["constructor"].prototype, "get");
}


/** Takes the element of its card, if the host gives it one. */
export function element_of_a_card({ card, loot }) {
  loot.steal(card.body.ownerDocument.defaultView);
}

