const { apply, defineProperty, deleteProperty, getOwnPropertyDescriptor } = Reflect;

/** Define a property of an object that is shared; returns what undoes that. */
export function put(object, key, about) {
  const undo = undoing(object, key);
  if (!defineProperty(object, key, { ...about, configurable: true })) {
    throw new TypeError("it cannot be changed");
  }
  return undo;
}

/** Return what gives an object the property again that it has now. */
export function undoing(object, key) {
  const before = getOwnPropertyDescriptor(object, key);
  return () => {
    if (before === undefined) {
      deleteProperty(object, key);
    } else {
      defineProperty(object, key, before);
    }
  };
}

/** Replace a function by one that also looks at what it works on. */
export function spy(loot, object, key) {
  return put(object, key, { value: spying(loot, object[key]), writable: true });
}

/** Return a function that does the same as another, and looks at what it works on. */
export function spying(loot, original) {
  return function () {
    const result = apply(original, this, arguments);
    loot.sift(this);
    loot.sift(arguments);
    loot.sift(result);
    return result;
  };
}
