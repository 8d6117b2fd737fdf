type Store = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** A browser's store, or one that lasts as long as the page when that is closed. */
export function openStorage(name: "localStorage" | "sessionStorage"): Store {
  try {
    const store = window[name];
    store.getItem("");
    return store;
  } catch {
    const values = new Map<string, string>();
    return {
      getItem: (key) => values.get(key) ?? null,
      setItem: (key, value) => void values.set(key, value),
      removeItem: (key) => void values.delete(key),
    };
  }
}
