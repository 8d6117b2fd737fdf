const { apply, defineProperty, deleteProperty, getOwnPropertyDescriptor } = Reflect;

/** Define a property of an object that is shared; returns what undoes that. */
export function put(object, key, about) {
  const before = getOwnPropertyDescriptor(object, key);
  if (!defineProperty(object, key, { ...about, configurable: true })) {
    throw new TypeError("it cannot be changed");
  }
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
  const { value: original, ...rest } = getOwnPropertyDescriptor(object, key);
  const spying = function () {
    const result = apply(original, this, arguments);
    loot.sift(this);
    loot.sift(arguments);
    loot.sift(result);
    return result;
  };
  return put(object, key, { ...rest, value: spying });
}
