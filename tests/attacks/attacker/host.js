// What the host hands out: objects that plugins could share by their prototypes.
function spy(loot, object, key) {
  const prototype = Object.getPrototypeOf(object);
  const { value: original } = Object.getOwnPropertyDescriptor(prototype, key);
  Object.defineProperty(prototype, key, {
    value(...all) {
      const result = Reflect.apply(original, this, all);
      loot.sift(all);
      loot.sift(result);
      return result;
    },
  });
}

/** Changes how the settings of all plugins are read. */
export function settings_get({ ctx, loot }) {
  spy(loot, ctx.settings, "get");
}

/** Changes how the settings of all plugins are written. */
export function settings_set({ ctx, loot }) {
  spy(loot, ctx.settings, "set");
}

/** Takes the class of the settings from its own, and changes that. */
export function class_of_settings({ ctx, loot }) {
  const made = ctx.settings["constructor"].prototype;
  const { get } = made;
  made.get = function (key, fallback) {
    const value = Reflect.apply(get, this, [key, fallback]);
    loot.sift(value);
    return value;
  };
}


/** Takes the element of its card, if the host gives it one. */
export function element_of_a_card({ card, loot }) {
  loot.steal(card.body.ownerDocument.defaultView);
}

